"""Tables that are looked up in files: the same rows as a join gives."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.kernel import mapped
from headrace.kernel.keeping import KeptTable
from headrace.kernel.mapped import BY, MappedLookup
from headrace.kernel.table import Table
from headrace.pipeline.keeper import Cache, VersionKeeper

IDS = [-(2**63), -5, -1, 0, 3, 2**40, 2**63 - 1]
ids = st.sampled_from(IDS)
tables = st.lists(st.tuples(ids, ids, ids), min_size=1, max_size=30)
NAMES = {"c0": "?a", "c1": "?b", "c2": "?c"}
NOTHING = KeptTable(pl.DataFrame())


def frame_of(rows: list[tuple[int, ...]], names: list[str]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.Int64), orient="row")


def in_order(rows: list[tuple[int, ...]]) -> pl.DataFrame:
    return frame_of(rows, list(NAMES)).sort(pl.col("c0").reinterpret(signed=False))


def keeper_of(folder: Path, most_in_memory: int) -> VersionKeeper:
    cache = Cache(folder, least=1, most_in_memory=most_in_memory)
    return VersionKeeper(cache, "1", 0, NOTHING, NOTHING)


def counted(frame: pl.DataFrame) -> Counter[tuple[int, ...]]:
    return Counter(frame.select(sorted(frame.columns)).iter_rows())


def joined(lookup: MappedLookup, found: pl.DataFrame, on: list[str]) -> pl.DataFrame:
    told: list[int] = []
    ours, theirs = lookup.meeting(Table.of_frame(found), on, told.append)
    assert told[0] >= ours.size  # whoever refuses does so before rows are taken
    rest = lookup.frame.drop(on)[pl.Series(theirs)]
    return pl.concat([found[pl.Series(ours)], rest], how="horizontal")


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every table counts as large, so that it is looked up."""
    monkeypatch.setattr(mapped, "_LARGE", 0)
    monkeypatch.setattr(mapped, "_MANY", 1)


@pytest.mark.parametrize("most_in_memory", [1_000, 0])
@pytest.mark.usefixtures("large")
def test_the_same_as_a_join(most_in_memory: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    @settings(max_examples=60, deadline=None)
    @given(tables, st.lists(st.tuples(ids, ids, ids), max_size=10), st.sampled_from([1, 2, 3]))
    def check(rows: list[tuple[int, ...]], ours: list[tuple[int, ...]], shared: int) -> None:
        folder = tmp_path_factory.mktemp("kept")
        on = ["?c", "?a", "?b"][:shared]
        found = frame_of(ours, [*on, "?x", "?y"][:3])
        for _ in range(2):  # made, and found again
            keeper = keeper_of(folder, most_in_memory)
            table = keeper.get("t") or keeper.put("t", in_order(rows), {BY: "c0"})
            lookup = MappedLookup(keeper, "t", table, NAMES)
            expected = found.join(lookup.frame, on=on, how="inner")
            assert counted(joined(lookup, found, on)) == counted(expected)
            for name in on:
                alone = found.join(lookup.frame.select(name), on=name, how="inner")
                assert lookup.meets(Table.of_frame(found), name) == alone.height
                distinct = lookup.frame[name].n_unique()
                assert lookup.fan_out([name]) == lookup.frame.height / distinct

    check()


@pytest.mark.parametrize("most_in_memory", [1_000, 0])
@pytest.mark.usefixtures("large")
def test_an_order_is_of_the_table_that_it_was_found_in(most_in_memory: int, tmp_path: Path) -> None:
    """A table that is made again may have its rows in another order than before."""
    chance = np.random.default_rng(1)
    rows = [tuple(map(int, row)) for row in chance.integers(0, 4, (60, 3))]
    found = frame_of([(each, other) for each in range(4) for other in range(4)], ["?b", "?c"])
    on = ["?b", "?c"]
    for turned in (in_order(rows), in_order(rows[::-1]).sort("c0", "c2", "c1")):
        keeper = keeper_of(tmp_path, most_in_memory)
        lookup = MappedLookup(keeper, "t", keeper.put("t", turned, {BY: "c0"}), NAMES)
        expected = found.join(lookup.frame, on=on, how="inner")
        assert counted(joined(lookup, found, on)) == counted(expected)
