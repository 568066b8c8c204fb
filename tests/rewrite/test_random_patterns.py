"""Random patterns over random data: rewritten, they have the solutions that they had.

`make fuzz` runs ten thousand of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.algebra.expressions import Expression, FunctionCall, Operation
from headrace.algebra.notation import show
from headrace.algebra.operators import Filter, Operator
from headrace.algebra.query import Dataset, Query, Select
from headrace.algebra.walk import inputs, with_inputs
from headrace.algebra.windows import TimeWindow, WindowDeclaration
from headrace.functions.costs import Cost, Costs
from headrace.functions.table import Functions
from headrace.rdf.terms import Iri
from headrace.rdf.vocabulary import RSPU
from headrace.rewrite.optimise import optimised
from headrace.rewrite.sources import KnownPredicates
from tests.fuzzing import repeat
from tests.rewrite.choosing import EVERY, Rules
from tests.rewrite.naive import World, bag
from tests.rewrite.patterns import patterns
from tests.rewrite.worlds import (
    NUMBERS,
    PROPERTIES,
    UNCERTAIN_OBJECTS,
    WINDOWS,
    kernel_bag,
    random_world,
)

WORLDS = 2

often = repeat(300)


def asked(pattern: Operator, *, in_default: bool) -> Query:
    windows = tuple(
        WindowDeclaration(name, stream, TimeWindow(10, 10), in_default) for name, stream in WINDOWS
    )
    return Query(Select(()), pattern, Dataset((Iri("x:static"),)), windows)


def worlds(seed: int, *, in_default: bool) -> list[World]:
    names = [name for name, _ in WINDOWS] if in_default else []
    return [
        random_world(Random(f"{seed} {number}"), names, UNCERTAIN_OBJECTS)
        for number in range(WORLDS)
    ]


def rewritten(query: Query, rules: Rules) -> Operator:
    """The pattern after some rules, where one of the properties is known to be static."""
    return optimised(
        query, KnownPredicates.of_static(PROPERTIES[:1], query.dataset.default), rules=rules
    )


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
@repeat(100, share=1 / 3)
@given(patterns(), st.booleans(), st.integers(0, 1_000))
def test_the_kernel_finds_them_too(pattern: Operator, in_default: bool, seed: int) -> None:
    made = rewritten(asked(pattern, in_default=in_default), EVERY)
    world = worlds(seed, in_default=in_default)[0]
    assert kernel_bag(made, world) == bag(pattern, world), show(made)


@dataclass
class Known(Costs):
    """Costs that are known beforehand, whatever is seen."""

    known: Cost = field(default_factory=Cost)

    def of(self, condition: Expression) -> Cost:  # noqa: ARG002 - all cost the same
        return self.known


def dear(operator: Operator) -> Operator:
    """The same, with filters that call a function, which changes nothing."""
    below = with_inputs(operator, tuple(map(dear, inputs(operator))))
    if not isinstance(below, Filter):
        return below
    less = FunctionCall(Iri(f"{RSPU}lessThan"), (NUMBERS[1], NUMBERS[0]))
    never = Operation(">", (less, NUMBERS[0]))
    return Filter(Operation("||", (below.condition, never)), below.input)


costs = st.builds(
    Cost,
    st.sampled_from([0.0, 1.0]),
    st.just(0.5),
    st.sampled_from([0, 0.5, 1]),
    st.sampled_from([1, 9]),
)
ways = st.tuples(*[st.booleans()] * 4)
"""Whether all filters may be dear, rules are applied, calls are made once, static data known."""


@repeat(100, share=1 / 3)
@given(patterns(), st.booleans(), ways, st.integers(0, 1_000), costs)
def test_the_kernel_finds_them_whenever_conditions_are_tested(
    pattern: Operator, in_default: bool, way: tuple[bool, ...], seed: int, cost: Cost
) -> None:
    all_dear, rewrites, cached, precomputes = way
    asks = dear(pattern) if all_dear else pattern
    made = rewritten(asked(asks, in_default=in_default), EVERY) if rewrites else asks
    for world in worlds(seed, in_default=in_default):
        functions = replace(Functions(), costs=Known(known=cost))
        found = kernel_bag(made, world, functions, cached=cached, precomputes=precomputes)
        assert found == bag(pattern, world), show(made)
