"""When the stream triples behind a solution happened: what timestamp() gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl

from headrace.algebra.expressions import Moment, Timestamp, Variable
from headrace.kernel.columns import (
    END,
    INSTANT,
    OBJECT,
    PREDICATE,
    START,
    STREAM,
    SUBJECT,
    TIME,
    column,
    time_of,
)
from headrace.kernel.data import Quads
from headrace.kernel.dictionary import Dictionary
from headrace.kernel.interval_rows import single_instant_rows
from headrace.kernel.solutions import Solutions
from headrace.rdf.terms import Iri

_TRIPLE: Final = (SUBJECT, PREDICATE, OBJECT)
_LATEST: Final = "latest"


@dataclass(frozen=True, slots=True)
class Stamps:
    """Times of triples and of what they bound.

    Attributes:
        streams: the streams of the query, by number.
        contents: what its windows hold.
    """

    streams: tuple[Iri, ...] = ()
    contents: tuple[Quads, ...] = ()

    def of_variable(
        self, call: Timestamp, solutions: Solutions, dictionary: Dictionary
    ) -> pl.Series:
        """The latest time of the stream triples that bound a variable in each solution."""
        [variable] = call.arguments
        assert isinstance(variable, Variable), "the parser lets nothing else through"
        frame = solutions.frame
        found = [pl.lit(None, pl.Int64)]
        for number, stream in enumerate(self.streams):
            name = time_of(column(variable), number)
            if name not in frame.columns or not _may_be(call.stream, stream):
                continue
            if isinstance(call.stream, Variable):
                if not solutions.has(call.stream):
                    continue
                is_it = pl.col(column(call.stream)) == dictionary.encode(stream)
                found.append(pl.when(is_it).then(pl.col(name)))
            else:
                found.append(pl.col(name))
        latest = pl.max_horizontal(found).alias(_LATEST)
        return frame.select(INSTANT, latest)[_LATEST]

    def of_solution(self, call: Timestamp, solutions: Solutions) -> pl.Series:
        """The start, the end or the length of each solution's interval; null if it has none."""
        frame = solutions.frame
        if END not in frame.columns:
            return pl.Series(_LATEST, [None], pl.Int64).new_from_index(0, frame.height)
        match call.moment:
            case Moment.START:
                return -frame[START]
            case Moment.END:
                return frame[END]
            case _:
                return frame[END] + frame[START]

    def of_triple(
        self, call: Timestamp, solutions: Solutions, parts: Sequence[pl.Series]
    ) -> pl.Series:
        """The latest time of a triple in the windows at each solution's instant."""
        asked = pl.DataFrame([part.alias(name) for part, name in zip(parts, _TRIPLE, strict=True)])
        asked = asked.with_columns(solutions.frame[INSTANT])
        found = [self._held(quads, asked, call) for quads in self.contents]
        key = [INSTANT, *_TRIPLE]
        every = pl.concat(found) if found else asked.with_columns(pl.lit(0).alias(TIME)).clear()
        latest = every.group_by(key).agg(pl.col(TIME).max().alias(_LATEST))
        return asked.join(latest, on=key, how="left", maintain_order="left")[_LATEST]

    def _held(self, quads: Quads, asked: pl.DataFrame, call: Timestamp) -> pl.DataFrame:
        wanted = quads.frame.join(asked.select(_TRIPLE).unique(), on=_TRIPLE, how="semi")
        if isinstance(call.stream, Iri):
            number = self.streams.index(call.stream) if call.stream in self.streams else -1
            wanted = wanted.filter(pl.col(STREAM) == number)
        return single_instant_rows(wanted).select(INSTANT, *_TRIPLE, TIME)


def _may_be(asked: Variable | Iri | None, stream: Iri) -> bool:
    return not isinstance(asked, Iri) or asked == stream
