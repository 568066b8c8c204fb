"""Fair shares: cheap queries are evaluated first, and each query is evaluated in the end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import pairwise

import pytest

from headrace.dialects import parse
from headrace.kernel.fair_share import FairShare, Unit, connected_units
from headrace.kernel.slices import MOST_INSTANTS
from headrace.kernel.standing import Standing
from headrace.planning.plan import make_plan


class Clock:
    """A clock that a test advances."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@cache
def query(name: str, reads: str = "s", makes: str | None = None) -> Standing:
    begin = f"REGISTER STREAM <{makes}> AS CONSTRUCT {{ ?a <x:q> ?c }}" if makes else "SELECT *"
    source = f"FROM NAMED WINDOW <x:w> ON <{reads}> [RANGE 1s STEP 1s] WHERE {{ WINDOW <x:w>"
    text = f"{begin} {source} {{ ?a <x:p> ?c }} }}"
    return Standing(make_plan(parse(text, "rspql").query, name))


class Batch:
    """Batches of queries, each of which takes some seconds."""

    def __init__(self, seconds: Mapping[str, float], limit: float = 1.0) -> None:
        self.seconds = seconds
        self.clock = Clock()
        self.share = FairShare(limit, self.clock)

    def evaluated(self, names: Iterable[str], number: int = 1) -> list[str]:
        """Return the queries that a batch evaluates, in their order."""
        self.share.begin()
        found = []
        for unit, waits in self.share.turns([(query(name),) for name in names]):
            for each in unit if not waits else ():
                found.append(each.name)
                with self.share.measure(each, number):
                    self.clock.now += self.seconds[each.name]
        return found


def test_cheap_queries_are_evaluated_in_each_batch_and_expensive_ones_in_turn() -> None:
    batch = Batch({"x": 5, "y": 5, "z": 5, "a": 0.1, "b": 0.2})
    names = ["x", "y", "a", "z", "b"]
    found = [batch.evaluated(names) for _ in range(20)]
    assert found[0] == ["x"]  # nothing is known of any of them
    # The others are looked at, one expensive query in each batch, until their costs are known.
    assert found[1] == ["y"]
    assert found[2] == ["a", "z"]
    # From then on every second batch is committed as soon as the cheap ones have their answers.
    in_turn = [name for each in found[3:] for name in each if name in "xyz"]
    assert in_turn[:6] == ["x", "y", "z", "x", "y", "z"]
    for one, other in pairwise(found[4:]):
        assert sorted([len(one), len(other)]) == [2, 3]
        assert one[:2] == other[:2] == ["a", "b"]


def test_the_query_that_waited_longest_is_evaluated_also_where_cheap_ones_take_all_time() -> None:
    batch = Batch({"a": 0.9, "b": 0.9, "c": 3})
    found = [batch.evaluated("abc") for _ in range(9)]
    assert all({"a", "b"} <= set(each) for each in found[3:])
    assert sum("c" in each for each in found[3:]) == 3


def test_many_hostile_queries_leave_a_harmless_one_its_turn() -> None:
    hostile = [f"h{number}" for number in range(30)]
    batch = Batch({"harmless": 0.01, **dict.fromkeys(hostile, 10)})
    assert batch.evaluated(["harmless"]) == ["harmless"]
    done: list[str] = []
    for number in range(2 * len(hostile)):  # each is stopped once it has exceeded its limit
        first, *others = batch.evaluated(
            ["harmless", *(each for each in hostile if each not in done)]
        )
        assert first == "harmless"
        assert len(others) == number % 2
        assert batch.share.is_used_up  # so that the batch is committed
        done += others
    assert sorted(done) == sorted(hostile)


def test_new_queries_do_not_take_the_turn_of_one_that_waits() -> None:
    new = [f"new{number}" for number in range(24)]
    batch = Batch({"cheap": 0.1, "old": 3, **dict.fromkeys(new, 1.5)})
    batch.evaluated(["cheap"])
    found = [batch.evaluated(["cheap", "old", *new[: number + 1]]) for number in range(24)]
    assert sum("old" in each for each in found) >= 2


def test_a_query_of_which_nothing_is_due_makes_no_batch_end() -> None:
    batch = Batch({"a": 0.1, "b": 0.1})
    batch.share.note_idle(query("silent"))
    batch.evaluated("ab")
    for _ in range(4):
        batch.share.begin()
        turns = list(batch.share.turns([(query(name),) for name in ("a", "b", "silent")]))
        assert [(unit[0].name, waits) for unit, waits in turns] == [
            ("a", False),
            ("b", False),
            ("silent", False),
        ]
        assert not batch.share.is_used_up


def test_slices_have_as_many_instants_as_the_time_suffices_for() -> None:
    batch = Batch({"a": 0.0})
    a = query("a")
    sizes = []
    for _ in range(5):
        sizes.append(batch.share.most_instants(a))
        batch.evaluated("a", sizes[-1])
    assert sizes == [1_000, 8_000, 64_000, MOST_INSTANTS, MOST_INSTANTS]
    batch.evaluated("a", 1)  # it says nothing about more
    assert batch.share.most_instants(a) == MOST_INSTANTS
    slow = Batch({"a": 10.0})
    slow.evaluated("a", 1_000)
    assert slow.share.most_instants(a) == 100
    slow.seconds = {"a": 0.25}
    slow.evaluated("a", 100)
    assert slow.share.most_instants(a) == 400
    slow.seconds = {"a": 10.0}
    slow.evaluated("a", 1)
    assert slow.share.most_instants(a) == 1


def named(units: Iterable[Unit]) -> list[list[str]]:
    return [[each.name for each in unit] for unit in units]


@pytest.mark.parametrize(
    ("queries", "units"),
    [
        ([query("a"), query("b")], [["a"], ["b"]]),
        ([query("m", makes="t"), query("a"), query("r", "t")], [["m", "r"], ["a"]]),
        (
            [query("m", makes="t"), query("n", "t", "u"), query("a"), query("r", "u")],
            [["m", "n", "r"], ["a"]],
        ),
        ([query("m", makes="t"), query("r", "t"), query("v", "t")], [["m", "r", "v"]]),
    ],
)
def test_queries_that_read_each_other_are_evaluated_together(
    queries: Sequence[Standing], units: list[list[str]]
) -> None:
    assert named(connected_units(queries)) == units


def test_costs_of_removed_queries_are_forgotten() -> None:
    names = [f"q{number}" for number in range(1_100)]
    batch = Batch(dict.fromkeys(names, 0.0))
    batch.evaluated(names, 1_000)
    before = [batch.share.most_instants(query(name)) for name in ("q5", "q500")]
    batch.evaluated(names[:10], 1_000)
    assert before == [8_000, 8_000]
    assert [batch.share.most_instants(query(name)) for name in ("q5", "q500")] == [8_000, 1_000]
