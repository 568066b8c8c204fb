"""Each rule makes of a pattern what its file says, and both have the same solutions."""

from __future__ import annotations

import re
from random import Random
from typing import Final

import pytest

from headrace.algebra.expressions import VOLATILE, BuiltIn, FunctionCall
from headrace.algebra.notation import show
from headrace.algebra.operators import Operator, Service
from headrace.algebra.walk import everywhere, expressions, parts
from headrace.rewrite.rules import RULES
from tests.rewrite.cases import FOLDER, Case, cases
from tests.rewrite.naive import World, bag
from tests.rewrite.worlds import kernel_bag, random_world

BY_NAME: Final = {rule.name: rule for rule in RULES}
CASES: Final = [case for rule in RULES for case in cases(rule.name)]
NAIVE_WORLDS, KERNEL_WORLDS = 20, 2


def has_a_meaning(pattern: Operator) -> bool:
    """Whether its solutions follow from the data: not from chance, nor from what others run."""
    calls = [
        part
        for operator in everywhere(pattern)
        for expression in expressions(operator)
        for part in parts(expression)
    ]
    chance = any(isinstance(part, BuiltIn) and part.name in VOLATILE for part in calls)
    foreign = any(isinstance(part, FunctionCall) for part in calls)
    return not (chance or foreign or any(isinstance(each, Service) for each in everywhere(pattern)))


def worlds(case: Case, number: int) -> list[World]:
    shown = [window.name for window in case.known.windows if window.in_default_graph]
    return [random_world(Random(f"{case.id} {place}"), shown) for place in range(number)]


every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
MEANT: Final = [case for case in CASES if has_a_meaning(case.before)]
each_with_a_meaning = pytest.mark.parametrize("case", MEANT, ids=lambda case: case.id)


@every_case
def test_a_rule_makes_what_its_file_says(case: Case) -> None:
    made = BY_NAME[case.rule].rewrite(case.before, case.known)
    assert made == case.after, f"\n{show(made)}\nis not\n{show(case.after)}"


@each_with_a_meaning
def test_both_have_the_same_solutions(case: Case) -> None:
    for world in worlds(case, NAIVE_WORLDS):
        assert bag(case.before, world) == bag(case.after, world)


@each_with_a_meaning
def test_the_kernel_finds_them(case: Case) -> None:
    for world in worlds(case, KERNEL_WORLDS):
        expected = bag(case.before, world)
        assert kernel_bag(case.before, world) == expected
        assert kernel_bag(case.after, world) == expected


def test_the_worlds_show_something() -> None:
    """Most patterns have solutions in some world; else their comparison would say nothing."""
    empty = [
        case.id
        for case in MEANT
        if not any(bag(case.before, w) for w in worlds(case, NAIVE_WORLDS))
    ]
    assert len(empty) < len(MEANT) / 5, empty


@pytest.mark.parametrize("name", BY_NAME)
def test_a_rule_has_cases_where_it_applies_and_where_it_must_not(name: str) -> None:
    found = [case for case in CASES if case.rule == name]
    assert len(found) >= 6
    assert any(case.is_same for case in found)
    assert not all(case.is_same for case in found)


def test_every_file_is_of_a_rule() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == set(BY_NAME)


@pytest.mark.parametrize("name", BY_NAME)
def test_a_rule_says_its_equation(name: str) -> None:
    # The order of patterns is an order and no equation.
    assert re.search(r"\S  ->  \S| < \(", BY_NAME[name].equation)


def test_names_of_rules_are_unique() -> None:
    assert len(BY_NAME) == len(RULES)
