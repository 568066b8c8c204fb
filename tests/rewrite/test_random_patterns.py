"""Random patterns over random data: rewritten, they have the solutions that they had.

`make fuzz` runs ten thousand of them.
"""

from __future__ import annotations

import os
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.algebra.notation import show
from headrace.algebra.operators import Operator
from headrace.algebra.query import Dataset, Query, Select
from headrace.algebra.windows import TimeWindow, WindowDeclaration
from headrace.rdf.terms import Iri
from headrace.rewrite.optimise import optimised
from tests.rewrite.choosing import EVERY, Rules
from tests.rewrite.naive import World, bag
from tests.rewrite.patterns import patterns
from tests.rewrite.worlds import PROPERTIES, WINDOWS, kernel_bag, random_world

CASES = int(os.environ.get("HEADRACE_FUZZ", "300"))
WORLDS = 2

often = settings(max_examples=CASES, deadline=None, suppress_health_check=list(HealthCheck))


def asked(pattern: Operator, *, in_default: bool) -> Query:
    windows = tuple(
        WindowDeclaration(name, stream, TimeWindow(10, 10), in_default) for name, stream in WINDOWS
    )
    return Query(Select(()), pattern, Dataset((Iri("x:static"),)), windows)


def worlds(seed: int, *, in_default: bool) -> list[World]:
    names = [name for name, _ in WINDOWS] if in_default else []
    return [random_world(Random(f"{seed} {number}"), names) for number in range(WORLDS)]


def rewritten(query: Query, rules: Rules) -> Operator:
    """The pattern after some rules, where one of the properties is known to be static."""
    return optimised(query, frozenset(PROPERTIES[:1]), rules=rules)


@often
@given(patterns(), st.booleans(), st.integers(0, 1_000))
def test_all_rules_together_keep_the_solutions(
    pattern: Operator, in_default: bool, seed: int
) -> None:
    made = rewritten(asked(pattern, in_default=in_default), EVERY)
    for world in worlds(seed, in_default=in_default):
        assert bag(made, world) == bag(pattern, world), show(made)


@often
@given(patterns(), st.booleans(), st.integers(0, 1_000))
def test_each_rule_alone_keeps_the_solutions(
    pattern: Operator, in_default: bool, seed: int
) -> None:
    data = worlds(seed, in_default=in_default)
    before = [bag(pattern, world) for world in data]
    for rule in EVERY:
        made = rewritten(asked(pattern, in_default=in_default), (rule,))
        if made != pattern:
            found = [bag(made, world) for world in data]
            assert found == before, f"{rule.name}\n{show(made)}"


@pytest.mark.slow
@settings(parent=often, max_examples=CASES // 3)
@given(patterns(), st.booleans(), st.integers(0, 1_000))
def test_the_kernel_finds_them_too(pattern: Operator, in_default: bool, seed: int) -> None:
    made = rewritten(asked(pattern, in_default=in_default), EVERY)
    world = worlds(seed, in_default=in_default)[0]
    assert kernel_bag(made, world) == bag(pattern, world), show(made)
