"""Which way new matches take through what is known."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.planning.routing import Leg, Router, Start, cheapest, cost_of

NAMES = "abcd"


@st.composite
def legs(draw: st.DrawFn) -> list[Leg]:
    found = []
    for _ in range(draw(st.integers(1, 5))):
        names = frozenset(draw(st.sets(st.sampled_from(NAMES), min_size=1, max_size=2)))
        number = draw(st.sampled_from([0.0, 0.1, 1.0, 3.0, 40.0]))
        look = draw(st.sampled_from([0.0, 10.0, 1000.0]))
        found.append(Leg(names, lambda _, number=number: number, look))  # type: ignore[misc]  # one for each
    return found


@given(legs(), st.integers(1, 50))
def test_no_other_order_costs_less(legs: list[Leg], rows: int) -> None:
    start = Start(frozenset("a"), rows)
    best = cheapest(start, legs)
    assert sorted(best.legs) == list(range(len(legs)))
    assert best.cost == pytest.approx(cost_of(start, legs, best.legs))
    least = min(cost_of(start, legs, each) for each in permutations(range(len(legs))))
    assert best.cost == pytest.approx(least)


def leg(names: str, fan_out: float) -> Leg:
    return Leg(frozenset(names), lambda _: fan_out)


def test_what_these_very_matches_meet_goes_before_averages() -> None:
    """Figure 3: who has written nothing is looked up first, who knows many is not."""
    range_, coauthors = leg("pl", 20.0), leg("pq", 10.0)
    somewhere = frozenset("ql")
    none = Start(somewhere, 1, {0: 20.0, 1: 0.0})
    many = Start(somewhere, 1, {0: 20.0, 1: 5_000.0})
    assert cheapest(none, [range_, coauthors]).legs == (1, 0)
    assert cheapest(many, [range_, coauthors]).legs == (0, 1)


def test_a_route_is_left_only_for_one_that_is_clearly_better() -> None:
    router = Router()
    start = frozenset("a")
    legs = [leg("ab", 10.0), leg("ac", 10.0)]
    assert router.route(0, Start(start, 1, {0: 10.0, 1: 12.0}), legs) == (0, 1)
    assert router.route(0, Start(start, 1, {0: 11.0, 1: 10.0}), legs) == (0, 1)
    assert router.changes == []
    assert router.route(0, Start(start, 1, {0: 90.0, 1: 1.0}), legs) == (1, 0)
    [change] = router.changes
    assert (change.before.legs, change.after.legs) == ((0, 1), (1, 0))
    assert change.after.cost < change.before.cost
    assert (router.changed, change.rows, change.met) == (1, 1, (1.0, 90.0))


def test_many_legs_are_chosen_one_by_one() -> None:
    legs = [leg(f"a{number}", float(number)) for number in range(9, 0, -1)]
    assert cheapest(Start(frozenset("a"), 1), legs).legs == tuple(range(8, -1, -1))


def test_a_router_that_does_not_adapt_goes_as_it_is_written() -> None:
    router = Router(adapts=False)
    legs = [leg("ab", 90.0), leg("ac", 1.0), leg("d", 1.0), leg("bd", 1.0)]
    assert router.route(0, Start(frozenset("a"), 1, {0: 90.0, 1: 1.0}), legs) == (0, 1, 3, 2)
    assert router.changes == []
