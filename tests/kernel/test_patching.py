"""A table that is mended is the one that would be made anew, and so are its orders."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from headrace.kernel.patching import patch_of
from headrace.kernel.table import Table, mixed

Row = tuple[int, int]
ids = st.sampled_from([-(2**63), -7, -1, 0, 5, 2**62, 2**63 - 1])
rows = st.tuples(ids, ids)
NAMES = ["a", "b"]


def frame_of(some: list[Row]) -> pl.DataFrame:
    return pl.DataFrame(some, schema=dict.fromkeys(NAMES, pl.Int64), orient="row")


def in_order(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.sort(pl.col("a").reinterpret(signed=False))


@given(st.sets(rows, min_size=1), st.data())
def test_mended_is_made_anew(there: set[Row], data: st.DataObject) -> None:
    old = in_order(frame_of(sorted(there)))
    gone = data.draw(st.sets(st.sampled_from(sorted(there))))
    come = data.draw(st.sets(rows).map(lambda found: found - (there - gone)))
    both = data.draw(st.lists(rows, max_size=3))  # found and lost again
    # What comes and goes in one has no say in what becomes of the table.
    found = patch_of(old, "a", frame_of([*come, *both]), frame_of([*gone, *both]), repeated=False)
    assert found is not None
    patch, new = found
    columns = {name: patch.of_column(old[name].to_numpy(), new[name].to_numpy()) for name in NAMES}
    mended = pl.DataFrame(columns)
    assert sorted(mended.rows()) == sorted((there - gone) | come)
    assert mended["a"].reinterpret(signed=False).is_sorted()
    for on in (["b"], ["a", "b"]):
        before = np.argsort(mixed(Table.of_frame(old), on).view(np.uint64))
        keys = mixed(Table.of_frame(mended), on)
        order = patch.of_order(before.astype(np.int32), keys)
        assert sorted(order.tolist()) == list(range(mended.height))
        assert (np.diff(keys.view(np.uint64)[order].astype(object)) >= 0).all()


def test_what_is_there_twice_or_not_at_all_is_not_plain() -> None:
    old = in_order(frame_of([(1, 1), (2, 2)]))
    nothing = frame_of([])
    assert patch_of(old, "a", frame_of([(1, 1)]), nothing, repeated=False) is None
    assert patch_of(old, "a", frame_of([(3, 3), (3, 3)]), nothing, repeated=False) is None
    assert patch_of(old, "a", nothing, frame_of([(3, 3)]), repeated=False) is None
    assert patch_of(old, "a", nothing, frame_of([(1, 1), (1, 1)]), repeated=False) is None
    assert patch_of(old, "a", frame_of([(1, 1)]), frame_of([(1, 1)]), repeated=False) is not None


@given(st.lists(rows, min_size=1), st.lists(rows), st.data())
def test_rows_that_are_there_several_times_are_counted(
    there: list[Row], come: list[Row], data: st.DataObject
) -> None:
    old = in_order(frame_of(there))
    places = st.sets(st.integers(0, len(there) - 1))
    gone = [there[place] for place in data.draw(places)]
    found = patch_of(old, "a", frame_of(come), frame_of(gone), repeated=True)
    assert found is not None
    patch, new = found
    columns = {name: patch.of_column(old[name].to_numpy(), new[name].to_numpy()) for name in NAMES}
    expected = Counter(there)
    expected.update(come)
    expected.subtract(gone)
    assert Counter(pl.DataFrame(columns).rows()) == +expected
    assert patch_of(old, "a", frame_of([]), frame_of([*there, *there]), repeated=True) is None
