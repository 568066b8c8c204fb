"""Which statements of a piece some query may ask for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from headrace.kernel.columns import ID, OBJECT, PREDICATE, SUBJECT, TEXT
from headrace.kernel.dictionary import in_id_order
from headrace.kernel.index import IdIndex
from headrace.kernel.values import KIND, NUMBER, Kind, values
from headrace.planning.limits import Limit
from headrace.planning.wanted import Shape
from headrace.rdf.columns_tokens import Flags
from headrace.rdf.ids import term_id

_FEW_SHAPES: Final = 8
"""So many are looked for one by one; more are looked up."""

Floats = npt.NDArray[np.float64] | npt.NDArray[np.float32]
_COMPARED: Final[dict[str, Callable[[Floats, float], Flags]]] = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "=": np.equal,
}


def wanted(
    statements: pl.DataFrame, terms: pl.DataFrame, shapes: Sequence[Shape], seed: int
) -> Flags:
    """Which statements are of one of some shapes.

    Args:
        statements: as ids.
        terms: the terms in them.
        shapes: what is looked for.
        seed: of the ids.
    """
    chosen = np.zeros(statements.height, np.bool_)
    for places, ids in _by_places([each for each in shapes if not each.limits], seed).items():
        chosen |= _equal(statements, places, ids)
    limited = [each for each in shapes if each.limits]
    if limited:
        numbers = _Numbers(statements, terms)
        for shape in limited:
            [(places, ids)] = _by_places([shape], seed).items()
            rows = np.flatnonzero(_equal(statements, places, ids) & ~chosen)
            chosen[rows[numbers.meet(rows, shape.limits)]] = True
    return chosen


def _by_places(shapes: Sequence[Shape], seed: int) -> dict[tuple[str, ...], list[tuple[int, ...]]]:
    """The ids that are looked for, by the places where they must stand."""
    found: dict[tuple[str, ...], list[tuple[int, ...]]] = {}
    for shape in shapes:
        terms = {SUBJECT: shape.subject, PREDICATE: shape.predicate, OBJECT: shape.object}
        fixed = {name: term_id(term, seed) for name, term in terms.items() if term is not None}
        found.setdefault(tuple(fixed), []).append(tuple(fixed.values()))
    return found


def _equal(
    statements: pl.DataFrame, places: tuple[str, ...], ids: Sequence[tuple[int, ...]]
) -> Flags:
    """Which statements have one of some combinations of ids in some places."""
    if not places:
        return np.ones(statements.height, np.bool_)
    columns = [statements[name].to_numpy() for name in places]
    if len(places) == 1:
        return np.isin(columns[0], np.array(ids).ravel())
    chosen = np.zeros(statements.height, np.bool_)
    if len(ids) <= _FEW_SHAPES:
        for each in ids:
            equal = (column == term for column, term in zip(columns, each, strict=True))
            chosen |= reduce(np.logical_and, equal)
    else:
        known = pl.DataFrame(ids, schema=dict.fromkeys(places, pl.Int64), orient="row").unique()
        found = statements.select(*places).with_row_index().join(known, on=places, how="semi")
        chosen[found["index"].to_numpy()] = True
    return chosen


class _Numbers:
    """The numbers that stand as objects."""

    def __init__(self, statements: pl.DataFrame, terms: pl.DataFrame) -> None:
        self._objects = statements[OBJECT].to_numpy()
        self._terms = in_id_order(terms)
        self._index = IdIndex(self._terms[ID].to_numpy())

    def meet(self, rows: npt.NDArray[np.int64], limits: Sequence[Limit]) -> Flags:
        """Which rows have an object that meets limits, or that is no plain number."""
        places = self._index.positions(self._objects[rows])
        worth = values(self._terms[TEXT].gather(places))
        numbers = worth[NUMBER].to_numpy()  # what is none is not a number
        single = worth[KIND].to_numpy() == Kind.FLOAT
        kept = np.ones(rows.size, np.bool_)
        for limit in limits:
            compared = _COMPARED[limit.symbol]
            meets = compared(numbers, limit.number)
            if not limit.double and single.any():
                floats = numbers[single].astype(np.float32)
                meets[single] = compared(floats, float(np.float32(limit.number)))
            kept &= meets
        kept |= np.isnan(numbers)
        return kept
