"""What functions on columns have given in one evaluation: no call is made twice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import polars as pl

from headrace.functions.errors import ExpressionError
from headrace.functions.uncertainty.calls import FUNCTIONS
from headrace.functions.uncertainty.columns import Operands, Shelf, Vectorised
from headrace.functions.uncertainty.families import Point
from headrace.functions.uncertainty.literals import literal
from headrace.functions.value_failures import Cause, Recorder, ValueFailure
from headrace.functions.values import literal_of

_ROW: Final = "row"


@dataclass
class KeptColumns:
    """Inputs and results of each function.

    Attributes:
        cached: whether no call is made twice.
        count: told how many calls are made of a function.
        failures: counts the calls that have no result.
        shelf: where distributions stand that need more than two numbers.
    """

    cached: bool
    count: Callable[[str, int], None]
    failures: Recorder = field(default_factory=Recorder)
    shelf: Shelf = field(default_factory=Shelf)
    _known: dict[str, tuple[pl.DataFrame, Operands]] = field(default_factory=dict)

    def results(
        self,
        iri: str,
        function: Vectorised,
        arguments: Sequence[Operands],
    ) -> Operands:
        """Call a function on columns, and return its results row by row."""
        if not len(arguments[0]):
            return arguments[0]
        if not self.cached:
            self.count(iri, len(arguments[0]))
            made = function(arguments, self.shelf)
            self._note(iri, arguments, made)
            return made
        rows = pl.DataFrame([part for n, each in enumerate(arguments) for part in each.frame(n)])
        names = rows.columns
        distinct = rows.with_row_index(_ROW).unique(names, keep="first", maintain_order=True)
        known = self._known.get(iri)
        if known is None:
            new, earlier = distinct, 0
        else:
            earlier = known[0].height
            new = distinct.join(known[0], on=names, how="anti", maintain_order="left")
        if new.height:
            picked = new[_ROW].to_numpy().astype(np.intp)
            self.count(iri, new.height)
            given = [each.at(picked) for each in arguments]
            made = function(given, self.shelf)
            self._note(iri, given, made)
            if known is None and new.height == rows.height:
                self._known[iri] = (new.select(names).with_row_index(_ROW), made)
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
            self._known[iri] = known
        assert known is not None, "something was made now or before"
        places = rows.join(known[0], on=names, how="left", maintain_order="left")[_ROW]
        return known[1].at(places.to_numpy().astype(np.intp))

    def _note(self, iri: str, arguments: Sequence[Operands], made: Operands) -> None:
        """Count calls with complete arguments and without a result."""
        failed = ~made.there
        for each in arguments:
            failed &= each.there
        if not self.failures.is_on or not failed.any():
            return
        first = int(np.flatnonzero(failed)[0])
        values = [argument.value(first, self.shelf) for argument in arguments]
        terms = [
            literal_of(float(each.value)) if isinstance(each, Point) else literal(each)
            for each in values
            if each is not None
        ]
        try:
            example = f"the result for {', '.join(map(str, terms))} is too large for a double"
            FUNCTIONS[iri](*terms)
        except ExpressionError as error:
            example = str(error)
        self.failures.count(ValueFailure(Cause.CALL, iri, int(failed.sum()), example))


def _together(one: Operands, other: Operands) -> Operands:
    return type(one)(
        np.concatenate([one.codes, other.codes]),
        np.concatenate([one.first, other.first]),
        np.concatenate([one.second, other.second]),
    )
