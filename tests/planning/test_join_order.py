"""The order of joins, against its definition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hypothesis import given
from hypothesis import strategies as st

from headrace.planning.join_order import Estimate, greedy

ESTIMATES = st.lists(
    st.builds(Estimate, st.frozensets(st.sampled_from("abcdefgh"), max_size=3), st.integers(0, 4)),
    max_size=9,
)


def by_definition(estimates: Sequence[Estimate]) -> Iterator[int]:
    """Always the smallest of those that share a variable with what came before, if any does."""
    remaining = set(range(len(estimates)))
    bound: frozenset[str] = frozenset()
    while remaining:
        connected = {each for each in remaining if estimates[each].variables & bound}
        chosen = min(connected or remaining, key=lambda each: (estimates[each].rows, each))
        remaining.remove(chosen)
        bound |= estimates[chosen].variables
        yield chosen


@given(ESTIMATES)
def test_the_order_is_that_of_the_definition(estimates: list[Estimate]) -> None:
    assert list(greedy(estimates)) == list(by_definition(estimates))


def test_thousands_of_patterns_are_ordered() -> None:
    chain = [Estimate(frozenset({f"{n}", f"{n + 1}"}), 1) for n in range(50_000)]
    assert list(greedy(chain)) == list(range(50_000))
