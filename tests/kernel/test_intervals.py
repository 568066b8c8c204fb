"""How intervals lie to each other: Allen's thirteen relations, moments included."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations_with_replacement, product

import polars as pl
import pytest

from headrace.algebra.operators import Relation
from headrace.kernel.intervals import relation

MOMENTS = range(5)
INTERVALS = list(combinations_with_replacement(MOMENTS, 2))
PAIRS = list(product(INTERVALS, INTERVALS))

# The interval from a to b, and the one from c to d.
MEANINGS: dict[Relation, Callable[[int, int, int, int], bool]] = {
    Relation.BEFORE: lambda _a, b, c, _d: b < c,
    Relation.AFTER: lambda a, _b, _c, d: d < a,
    Relation.MEETS: lambda a, b, c, d: a < b == c < d,
    Relation.METBY: lambda a, b, c, d: c < d == a < b,
    Relation.OVERLAPS: lambda a, b, c, d: a < c < b < d,
    Relation.OVERLAPPEDBY: lambda a, b, c, d: c < a < d < b,
    Relation.STARTS: lambda a, b, c, d: a == c and b < d,
    Relation.STARTEDBY: lambda a, b, c, d: a == c and d < b,
    Relation.DURING: lambda a, b, c, d: c < a and b < d,
    Relation.CONTAINS: lambda a, b, c, d: a < c and d < b,
    Relation.FINISHES: lambda a, b, c, d: c < a and b == d,
    Relation.FINISHEDBY: lambda a, b, c, d: a < c and b == d,
    Relation.EQUALS: lambda a, b, c, d: a == c and b == d,
}


def held(name: Relation) -> list[bool]:
    rows = [(*one, *other) for one, other in PAIRS]
    frame = pl.DataFrame(rows, schema=["a", "b", "c", "d"], orient="row")
    test = relation(name, (pl.col("a"), pl.col("b")), (pl.col("c"), pl.col("d")))
    return frame.select(test).to_series().to_list()


def test_there_are_thirteen() -> None:
    assert list(MEANINGS) == list(Relation)
    assert len(MEANINGS) == 13


@pytest.mark.parametrize("name", Relation)
def test_a_relation_holds_where_its_definition_says(name: Relation) -> None:
    assert held(name) == [MEANINGS[name](*one, *other) for one, other in PAIRS]
    assert any(held(name))


def test_of_any_two_intervals_exactly_one_relation_holds() -> None:
    columns = [held(name) for name in Relation]
    assert [sum(row) for row in zip(*columns, strict=True)] == [1] * len(PAIRS)


@pytest.mark.parametrize(
    ("one", "other", "name"),
    [
        ((1, 1), (2, 2), Relation.BEFORE),
        ((1, 1), (1, 1), Relation.EQUALS),
        ((1, 1), (1, 3), Relation.STARTS),
        ((2, 2), (1, 3), Relation.DURING),
        ((3, 3), (1, 3), Relation.FINISHES),
        ((1, 3), (1, 1), Relation.STARTEDBY),
        ((1, 3), (2, 2), Relation.CONTAINS),
        ((1, 3), (3, 3), Relation.FINISHEDBY),
        ((1, 2), (2, 3), Relation.MEETS),
    ],
)
def test_what_a_moment_is_to_an_interval(
    one: tuple[int, int], other: tuple[int, int], name: Relation
) -> None:
    assert held(name)[PAIRS.index((one, other))]


def test_nothing_is_known_of_what_has_no_interval() -> None:
    none = (pl.lit(None, pl.Int64), pl.lit(None, pl.Int64))
    some = (pl.lit(1), pl.lit(2))
    for name, pair in product(Relation, [(none, some), (some, none), (none, none)]):
        assert pl.select(relation(name, *pair)).item() is None
