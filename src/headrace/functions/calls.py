"""Calls of functions by IRI within one evaluation: each made once, and counted.

Only what is called by IRI and is no cast: such a function may cost anything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import polars as pl

from headrace.functions.errors import ExpressionError
from headrace.rdf.terms import Term

if TYPE_CHECKING:  # what it needs takes time to load
    from headrace.functions.uncertainty.columns import Operands, Shelf

Arguments: TypeAlias = tuple[Term, ...]
_ROW = "row"


@dataclass
class Calls:
    """What functions have given in one evaluation.

    Attributes:
        cached: whether no call is made twice.
        tally: how many calls were made of each function; shared with who wants to know.
    """

    cached: bool = True
    tally: Counter[str] | None = None
    _results: dict[tuple[str, Arguments], Term | ExpressionError] = field(default_factory=dict)
    _columns: dict[str, tuple[pl.DataFrame, Operands]] = field(default_factory=dict)
    _shelf: Shelf | None = None

    def result(self, iri: str, function: Callable[..., Term], arguments: Arguments) -> Term:
        """What a function gives for some terms.

        Raises:
            ExpressionError: it has no result.
        """
        if not self.cached:
            self._count(iri, 1)
            return function(*arguments)
        key = (iri, arguments)
        found = self._results.get(key)
        if found is None:
            self._count(iri, 1)
            try:
                found = function(*arguments)
            except ExpressionError as error:
                found = error
            self._results[key] = found
        if isinstance(found, ExpressionError):
            raise found
        return found

    def _count(self, iri: str, calls: int) -> None:
        if self.tally is not None:
            self.tally[iri] += calls

    @property
    def shelf(self) -> Shelf:
        """Where distributions stand that need more than two numbers."""
        if self._shelf is None:
            from headrace.functions.uncertainty.columns import Shelf  # noqa: PLC0415 - slow to load

            self._shelf = Shelf()
        return self._shelf

    def results(
        self,
        iri: str,
        function: Callable[[Sequence[Operands], Shelf], Operands],
        arguments: Sequence[Operands],
    ) -> Operands:
        """What a function on columns gives for each row."""
        if not len(arguments[0]):
            return arguments[0]
        if not self.cached:
            self._count(iri, len(arguments[0]))
            return function(arguments, self.shelf)
        rows = pl.DataFrame([part for n, each in enumerate(arguments) for part in each.frame(n)])
        names = rows.columns
        distinct = rows.with_row_index(_ROW).unique(names, keep="first", maintain_order=True)
        known = self._columns.get(iri)
        if known is None:
            new, earlier = distinct, 0
        else:
            earlier = known[0].height
            new = distinct.join(known[0], on=names, how="anti", maintain_order="left")
        if new.height:
            picked = new[_ROW].to_numpy().astype(np.intp)
            self._count(iri, new.height)
            made = function([each.at(picked) for each in arguments], self.shelf)
            if known is None and new.height == rows.height:
                self._columns[iri] = (new.select(names).with_row_index(_ROW), made)
                return made
            keys = new.select(names).with_row_index(_ROW, offset=earlier)
            known = (
                (keys, made)
                if known is None
                else (
                    pl.concat([known[0], keys]),
                    _together(known[1], made),
                )
            )
            self._columns[iri] = known
        assert known is not None, "something was made now or before"
        places = rows.join(known[0], on=names, how="left", maintain_order="left")[_ROW]
        return known[1].at(places.to_numpy().astype(np.intp))


def _together(one: Operands, other: Operands) -> Operands:
    return type(one)(
        np.concatenate([one.codes, other.codes]),
        np.concatenate([one.first, other.first]),
        np.concatenate([one.second, other.second]),
    )
