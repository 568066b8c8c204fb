"""Statements that are new in windows, and which of them match a pattern."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from headrace.algebra.expressions import TriplePattern, Variable
from headrace.kernel.columns import (
    CONTENTS,
    FIRST,
    GRAPH,
    INSTANT,
    LAST,
    OBJECT,
    PREDICATE,
    STREAM,
    SUBJECT,
    TIME,
    column,
)
from headrace.kernel.data import Active, Data, DefaultGraph, EachNamedGraph, NamedGraph, Quads
from headrace.kernel.dictionary import Dictionary
from headrace.kernel.scan import scan
from headrace.kernel.table import Flags, Ids, Table
from headrace.planning.matching import Scanned
from headrace.rdf.terms import Iri, Literal


@dataclass(frozen=True)
class Arrived:
    """Statements that are new in some windows, with how long each of them lasts there.

    Attributes:
        lasting: `begin`, `end` and `turn`.
        frames: the time and the terms of each, in pieces.
    """

    lasting: Table
    frames: Sequence[pl.DataFrame]

    def matching(self, scanned: Scanned, dictionary: Dictionary) -> Table:
        """What matches a pattern, with how long it lasts; the times of statements come along."""
        plain = _plainly(scanned)
        if plain is not None:
            return self._chosen(scanned.pattern, plain, dictionary)
        data = Data(self._quads).within(active_graph(scanned.graph, dictionary))
        found = scan(data, scanned.pattern, dictionary).frame
        terms = {name: found[name].to_numpy() for name in found.columns if name.startswith("?")}
        others = self.lasting.with_columns({TIME: self._times}).taken(found[INSTANT].to_numpy())
        return others.with_columns(terms)

    def _chosen(
        self, pattern: TriplePattern, places: dict[str, str], dictionary: Dictionary
    ) -> Table:
        """What matches a pattern that only compares terms with others that it names."""
        terms = {SUBJECT: pattern.subject, PREDICATE: pattern.predicate, OBJECT: pattern.object}
        kept = self._in_default_graph
        for place, term in terms.items():
            if isinstance(term, Iri | Literal):
                kept = kept & (self._ids[place] == dictionary.encode(term))
        columns = {name: self._ids[place] for name, place in places.items()}
        return self.lasting.with_columns({TIME: self._times, **columns}).where(kept)

    @cached_property
    def _in_default_graph(self) -> Flags:
        graphs = [frame[GRAPH] for frame in self.frames]
        if all(each.null_count() == each.len() for each in graphs):
            return np.ones(self.lasting.height, np.bool_)
        return np.concatenate([each.is_null().to_numpy() for each in graphs])

    @cached_property
    def _times(self) -> Ids:
        return self._column(TIME)

    @cached_property
    def _ids(self) -> Mapping[str, Ids]:
        return {place: self._column(place) for place in (SUBJECT, PREDICATE, OBJECT)}

    def _column(self, name: str) -> Ids:
        arrays = [frame[name].to_numpy() for frame in self.frames]
        return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)

    @cached_property
    def _quads(self) -> Quads:
        """Each statement as if it were of an instant of its own."""
        number = self.lasting.height
        rows = pl.int_range(number, dtype=pl.Int64, eager=True)
        none = pl.lit(0, pl.Int64).alias(STREAM)
        statements = pl.concat(self.frames, rechunk=True)
        numbered = statements.with_columns(rows.alias(FIRST), rows.alias(LAST), none)
        return Quads(numbered.select(*CONTENTS), range(number))


def _plainly(scanned: Scanned) -> dict[str, str] | None:
    """Where the variables of a pattern stand, if each stands once, and in the default graph."""
    pattern = scanned.pattern
    places: dict[str, str] = {}
    terms = {SUBJECT: pattern.subject, PREDICATE: pattern.predicate, OBJECT: pattern.object}
    for place, term in terms.items():
        if isinstance(term, Variable) and column(term) not in places:
            places[column(term)] = place
        elif not isinstance(term, Iri | Literal):
            return None
    return places if scanned.graph is None else None


def active_graph(graph: Variable | Iri | None, dictionary: Dictionary) -> Active:
    """The graph that a pattern is looked for in."""
    if graph is None:
        return DefaultGraph()
    return (
        EachNamedGraph(graph)
        if isinstance(graph, Variable)
        else NamedGraph(dictionary.encode(graph))
    )
