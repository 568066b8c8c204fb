"""Which rows are alike: equal ones get the same number, by hashes that are looked at again.

Rows are told apart by a hash of all columns. Where two that differ have the same, they are put in
order by what they say instead, so that no answer depends on luck.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from headrace.kernel.table import Ids, Table, mixed


def alike(table: Table, names: Sequence[str]) -> tuple[Ids, Ids]:
    """A number for each row, the same for equal ones, and a row for each number.

    >>> table = Table.of({"a": np.array([7, 8, 7]), "b": np.array([1, 1, 1])})
    >>> same, row = alike(table, ["a", "b"])
    >>> bool(same[0] == same[2] != same[1]), len(row)
    (True, 2)
    """
    if not names or table.height == 0:
        return np.zeros(table.height, np.int64), np.zeros(min(1, table.height), np.int64)
    return _numbered(mixed(table, names), [table[name] for name in names])


def numbers(frame: pl.DataFrame, names: Sequence[str]) -> tuple[Ids, Ids]:
    """A number for each row, the same for equal ones, and a row for each number.

    >>> frame = pl.DataFrame({"a": [7, 8, 7, None], "b": [1, 1, 1, 1]})
    >>> same, row = numbers(frame, ["a", "b"])
    >>> bool(same[0] == same[2]), len(set(same.tolist())), sorted(row.tolist())
    (True, 3, [0, 1, 3])
    """
    if not names or frame.height == 0:
        return np.zeros(frame.height, np.int64), np.zeros(min(1, frame.height), np.int64)
    columns = [array for name in names for array in _arrays(frame[name])]
    hashes = columns[0] if len(columns) == 1 else frame.select(names).hash_rows().to_numpy()
    return _numbered(hashes, columns)


def _numbered(hashes: npt.NDArray[np.integer], columns: Sequence[Ids]) -> tuple[Ids, Ids]:
    """The same by hashes of rows, which are looked at again."""
    ordered = np.sort(hashes)
    if not (ordered[1:] == ordered[:-1]).any():
        every = np.arange(hashes.size)
        return every, every
    order = np.argsort(hashes)
    begins = np.concatenate([[True], ordered[1:] != ordered[:-1]])
    rows, same = order[begins], np.empty(hashes.size, np.int64)
    same[order] = np.cumsum(begins) - 1
    first = rows[same]
    if all(np.array_equal(each, each[first]) for each in columns):
        return same, rows
    _, rows, same = np.unique(np.stack(columns), axis=1, return_index=True, return_inverse=True)
    return same.reshape(-1), rows


def _arrays(column: pl.Series) -> list[Ids]:
    """A column as arrays that are equal where it is."""
    if column.null_count() == 0:
        return [column.to_numpy()]
    return [column.fill_null(0).to_numpy(), column.is_null().cast(pl.Int64).to_numpy()]
