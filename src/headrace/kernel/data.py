"""What patterns are matched against: statements as columns, and which graph of them is active."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import polars as pl

from headrace.algebra.expressions import Variable
from headrace.kernel.columns import FIRST, GRAPH, LAST, OBJECT, QUADS, SUBJECT
from headrace.rdf.ids import TermId


@dataclass(frozen=True, slots=True)
class Quads:
    """Statements: the same at every instant, or each in the windows between two closes.

    Attributes:
        frame: graph, subject, predicate and object; also `first` and `last` if it is keyed.
        instants: the instants at which it is looked at, if it differs between them.
    """

    frame: pl.DataFrame
    instants: range | None = None

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
    """

    quads: Quads = NO_QUADS
    default: tuple[TermId | None, ...] = (None,)
    named: tuple[TermId, ...] | None = None
    active: Active = field(default_factory=DefaultGraph)

    def within(self, active: Active) -> Data:
        """The same data, matched in another graph."""
        return replace(self, active=active)

    def graph_names(self) -> Sequence[TermId]:
        """The names of the graphs that GRAPH ranges over, in a fixed order."""
        present = self.quads.frame[GRAPH].drop_nulls().unique().sort().to_list()
        if self.named is None:
            return present
        # A graph that is named but empty is still there to be looked into.
        return sorted(set(self.named))

    def selected(self) -> tuple[pl.DataFrame, bool]:
        """The statements of the active graph, and whether equal triples must be made one."""
        frame = self.quads.frame
        match self.active:
            case DefaultGraph():
                return frame.filter(_among(self.default)), len(self.default) > 1
            case NamedGraph(name):
                visible = self.named is None or name in self.named
                return (frame.filter(pl.col(GRAPH) == name) if visible else frame.clear()), False
            case EachNamedGraph():
                named = pl.col(GRAPH).is_not_null()
                if self.named is not None:
                    named = pl.col(GRAPH).is_in(list(self.named))
                return frame.filter(named), False

    def nodes(self) -> pl.DataFrame:
        """Every subject and object of the active graph, for paths of no length."""
        frame, _ = self.selected()
        key = self.quads.key
        graph = [GRAPH] if isinstance(self.active, EachNamedGraph) else []
        return pl.concat(
            [frame.select(*key, *graph, pl.col(name).alias(SUBJECT)) for name in (SUBJECT, OBJECT)]
        ).unique()


def _among(graphs: tuple[TermId | None, ...]) -> pl.Expr:
    names = [graph for graph in graphs if graph is not None]
    unnamed = pl.col(GRAPH).is_null()
    if not names:
        return unnamed if None in graphs else pl.lit(value=False)
    among = pl.col(GRAPH).is_in(names)
    return among | unnamed if None in graphs else among
