"""What patterns are matched against: statements as columns, and which graph of them is active."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from headrace.algebra.expressions import Variable
from headrace.kernel.columns import FIRST, GRAPH, LAST, OBJECT, PREDICATE, QUADS, SUBJECT
from headrace.kernel.dictionary import Dictionary
from headrace.kernel.keeping import Keeper
from headrace.kernel.solutions import Solutions
from headrace.kernel.values import KIND, NUMBER, Kind
from headrace.rdf.ids import TermId
from headrace.rdf.terms import Iri

_WORTH_AN_INDEX: Final = 50_000
"""So many statements are put apart by predicate, so that a pattern looks at few of them."""
_MANY_RUNS: Final = 10_000
"""With more changes of the predicate than these, statements do not stand in its order."""


@dataclass(frozen=True)
class Quads:
    """Statements: the same at every instant, or each at those from one to another.

    Attributes:
        frame: graph, subject, predicate and object; also `first` and `last` if it is keyed, and
            `time` and `stream` if they are in a window.
        instants: the instants at which it is looked at, if it differs between them.
        timed: whether equal statements of different times each match on their own.
        keeper: keeps what follows from static data.
        lasting: whether a dictionary knows their terms for as long as they are static.
    """

    frame: pl.DataFrame
    instants: range | None = None
    timed: bool = False
    keeper: Keeper | None = None
    lasting: bool = False

    def with_predicate(
        self, predicate: TermId | None, names: Sequence[str] | None = None
    ) -> pl.DataFrame:
        """The statements with a predicate, or all of them; large static data are put apart once.

        Args:
            predicate: what they have in common.
            names: the columns that are asked for; there may be others.
        """
        if predicate is None:
            return self.frame
        if self.keyed or not self.is_indexed:  # what windows hold is looked at few times
            rows = pl.Series(np.flatnonzero(self._predicates == predicate))
            return pl.DataFrame([self.frame[name].gather(rows) for name in self._some(names)])
        return self._by_predicate.get((predicate,), self.frame.clear())

    def with_values(self, predicate: TermId, dictionary: Dictionary) -> pl.DataFrame:
        """The same with the kinds and numbers of the objects, which are looked up only once."""
        if predicate not in self._valued:
            statements = self.with_predicate(predicate)
            worth = dictionary.values_of(statements[OBJECT]).select(KIND, NUMBER)
            valued = statements.hstack(worth)
            # By number, so that a range of them is a slice.
            self._valued[predicate] = valued if self.keyed else valued.sort(NUMBER, nulls_last=True)
        return self._valued[predicate]

    def _some(self, names: Sequence[str] | None) -> Sequence[str]:
        """Those of some columns that there are, or all."""
        columns = self.frame.columns
        return columns if names is None else [name for name in columns if name in names]

    def has_only_plain_numbers(self, predicate: TermId) -> bool:
        """Whether all objects of a predicate are numbers that compare as doubles do.

        Their values must have been looked up.
        """
        if predicate not in self._plain:
            valued = self._valued[predicate]
            floats = (valued[KIND] == Kind.FLOAT).any()
            self._plain[predicate] = not floats and not valued[NUMBER].has_nulls()
        return self._plain[predicate]

    @cached_property
    def _plain(self) -> dict[TermId, bool]:
        return {}

    def chosen(
        self, statements: pl.DataFrame, graphs: tuple[TermId | None, ...], predicate: TermId
    ) -> pl.DataFrame:
        """The statements with a predicate that are in some graphs; of static data only once."""
        if self.keyed or not self.is_indexed:
            return statements.filter(_among(graphs))
        place = (predicate, graphs, tuple(statements.columns))
        if place not in self._chosen:
            self._chosen[place] = statements.filter(_among(graphs))
        return self._chosen[place]

    @cached_property
    def _chosen(self) -> dict[Hashable, pl.DataFrame]:
        return {}

    @property
    def is_indexed(self) -> bool:
        """Whether the statements are put apart by predicate."""
        return self.frame.height >= _WORTH_AN_INDEX

    def is_functional(self, predicate: TermId) -> bool:
        """Whether no subject has two objects of a predicate; known of large data only."""
        if not self.is_indexed or self.keyed:
            return False
        if predicate not in self._functional:
            subjects = self.with_predicate(predicate)[SUBJECT]
            self._functional[predicate] = subjects.n_unique() == subjects.len()
        return self._functional[predicate]

    @cached_property
    def _predicates(self) -> npt.NDArray[np.int64]:
        return self.frame[PREDICATE].to_numpy()

    def has_predicate(self, predicate: TermId) -> bool:
        """Whether some statement has a predicate."""
        if predicate not in self._present:
            self._present[predicate] = bool((self._predicates == predicate).any())
        return self._present[predicate]

    @cached_property
    def _present(self) -> dict[TermId, bool]:
        return {}

    @cached_property
    def remembered(self) -> dict[Hashable, list[Solutions]]:
        """What was found in these statements, if they are the same at every instant."""
        return {}

    @cached_property
    def _functional(self) -> dict[TermId, bool]:
        return {}

    @cached_property
    def _valued(self) -> dict[TermId, pl.DataFrame]:
        return {}

    @cached_property
    def _by_predicate(self) -> dict[tuple[object, ...], pl.DataFrame]:
        if self.frame.is_empty():
            return {}
        places = np.flatnonzero(self._predicates[1:] != self._predicates[:-1]) + 1
        if places.size > _MANY_RUNS:
            return self.frame.partition_by(PREDICATE, as_dict=True)
        starts = [0, *places.tolist(), self.frame.height]
        found = self._predicates[starts[:-1]].tolist()
        if len(set(found)) < len(found):
            return self.frame.partition_by(PREDICATE, as_dict=True)
        slices = (self.frame[start:stop] for start, stop in pairwise(starts))
        return {(each,): part for each, part in zip(found, slices, strict=True)}

    @cached_property
    def has_named_graphs(self) -> bool:
        """Whether some statement stands in a named graph."""
        return self.frame[GRAPH].null_count() < self.frame.height

    @property
    def keyed(self) -> bool:
        """Whether it differs from instant to instant."""
        return self.instants is not None

    @property
    def key(self) -> list[str]:
        """The columns besides the statement."""
        return [FIRST, LAST] if self.keyed else []


NO_QUADS = Quads(QUADS.to_frame())


@dataclass(frozen=True, slots=True)
class WindowContents:
    """What a window holds at each instant, the window's name and its stream."""

    name: Iri
    stream: Iri
    quads: Quads


def united(parts: Sequence[Quads]) -> Quads:
    """The statements of several windows as those of one."""
    if len(parts) == 1:
        return parts[0]
    return Quads(pl.concat([part.frame for part in parts]), parts[0].instants, parts[0].timed)


@dataclass(frozen=True, slots=True)
class DefaultGraph:
    """The graph that patterns outside GRAPH are matched in."""


@dataclass(frozen=True, slots=True)
class NamedGraph:
    """One named graph."""

    name: TermId


@dataclass(frozen=True, slots=True)
class EachNamedGraph:
    """Every named graph, with a variable that says which."""

    variable: Variable


Active = DefaultGraph | NamedGraph | EachNamedGraph


@dataclass(frozen=True, slots=True)
class Data:
    """A dataset and the part of it that is active.

    Attributes:
        quads: the statements.
        default: the graphs that make up the default graph; None is the unnamed one.
        named: the named graphs that GRAPH sees; None is all there are.
        active: which graph patterns are matched in.
        beneath: other data that patterns see too: what is static, below what is in windows.
    """

    quads: Quads = NO_QUADS
    default: tuple[TermId | None, ...] = (None,)
    named: tuple[TermId, ...] | None = None
    active: Active = field(default_factory=DefaultGraph)
    beneath: Data | None = None

    def within(self, active: Active) -> Data:
        """The same data, matched in another graph."""
        beneath = None if self.beneath is None else self.beneath.within(active)
        return replace(self, active=active, beneath=beneath)

    @property
    def keyed(self) -> bool:
        """Whether it may differ from instant to instant."""
        return self.quads.keyed

    def graph_names(self) -> Sequence[TermId]:
        """The names of the graphs that GRAPH ranges over, in a fixed order."""
        own = self._own_graph_names()
        below = () if self.beneath is None else self.beneath.graph_names()
        return sorted({*own, *below})

    def _own_graph_names(self) -> Sequence[TermId]:
        if self.named is None:
            return self.quads.frame[GRAPH].drop_nulls().unique().to_list()
        # A graph that is named but empty is still there to be looked into.
        return self.named

    @property
    def merges(self) -> bool:
        """Whether equal triples of several graphs must be made one."""
        return isinstance(self.active, DefaultGraph) and len(self.default) > 1

    def active_part(
        self, statements: pl.DataFrame, predicate: TermId | None
    ) -> tuple[pl.DataFrame, list[pl.Expr]]:
        """Statements of the active graph, by what is left to be asked of them.

        Args:
            statements: those with a predicate, or all.
            predicate: the predicate.
        """
        conditions = self.conditions()
        if predicate is None or not conditions or not isinstance(self.active, DefaultGraph):
            return statements, conditions
        return self.quads.chosen(statements, self.default, predicate), []

    def conditions(self) -> list[pl.Expr]:
        """What makes a statement one of the active graph."""
        match self.active:
            case DefaultGraph():
                if self.default == (None,) and not self.quads.has_named_graphs:
                    return []
                return [_among(self.default)]
            case NamedGraph(name):
                visible = self.named is None or name in self.named
                return [pl.col(GRAPH) == name if visible else pl.lit(value=False)]
            case EachNamedGraph():
                if self.named is None:
                    return [pl.col(GRAPH).is_not_null()]
                return [pl.col(GRAPH).is_in(list(self.named))]

    def statements(self) -> pl.DataFrame:
        """All statements of the active graph."""
        return self.quads.frame.filter(*self.conditions())

    def nodes(self) -> pl.DataFrame:
        """Every subject and object of the active graph, for paths of no length."""
        frame = self.statements()
        key = self.quads.key
        graph = [GRAPH] if isinstance(self.active, EachNamedGraph) else []
        return pl.concat(
            [frame.select(*key, *graph, pl.col(name).alias(SUBJECT)) for name in (SUBJECT, OBJECT)]
        ).unique()

    def fixed_names(self) -> frozenset[TermId]:
        """The names of the graphs that are there at every instant."""
        if self.beneath is not None:
            return frozenset(self.beneath.graph_names())
        return frozenset() if self.keyed and self.named is None else frozenset(self.graph_names())


def _among(graphs: tuple[TermId | None, ...]) -> pl.Expr:
    names = [graph for graph in graphs if graph is not None]
    unnamed = pl.col(GRAPH).is_null()
    if not names:
        return unnamed if None in graphs else pl.lit(value=False)
    among = pl.col(GRAPH).is_in(names)
    return among | unnamed if None in graphs else among
