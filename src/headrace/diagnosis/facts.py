"""Facts about streams and queries, from which notes follow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from headrace.diagnosis.demands import Needs
from headrace.diagnosis.probes import Probe, Tally
from headrace.planning.plan import Plan
from headrace.rdf.terms import Iri


@dataclass(frozen=True, slots=True)
class FarTime:
    """The one time of a replayed stream that is far ahead of the rest, so that others are late.

    Attributes:
        time: in microseconds.
        where: the source and line of the element or heartbeat that has it, or its position.
        late: how many elements after it are late.
    """

    time: int
    where: str
    late: int


@dataclass(frozen=True, slots=True)
class StreamFacts:
    """The facts about a stream.

    Attributes:
        iri: its name.
        sources: the files or addresses that it is read from.
        elements: how many elements have come, rejected ones included.
        late: how many of them were late for a window.
        rejected: how many of them were rejected.
        high: the greatest event time; heartbeats count.
        reason: why the first of them was rejected, if that is known.
        tally: what was counted of its statements.
        far: the time that is far ahead of all others, if there is one.
    """

    iri: str
    sources: tuple[str, ...] = ()
    elements: int = 0
    late: int = 0
    rejected: int = 0
    high: int | None = None
    reason: str | None = None
    tally: Tally = field(default_factory=Tally)
    far: FarTime | None = None

    @property
    def accepted(self) -> int:
        """The number of elements that were not rejected."""
        return self.elements - self.rejected


@dataclass(frozen=True, slots=True)
class QueryFacts:
    """The facts about a query.

    Attributes:
        needs: the query, and what it needs.
        evaluations: how many evaluations were reported.
        rows: how much they have emitted.
        failed: whether it has stopped, or all of its evaluations have failed.
        offered: how many elements of its streams it has seen; None if that is not known.
        outside: how many of them lie between its windows.
        began: whether an instant has been due.
        first: the first instant whose windows hold an element, if that is known.
        counted: how many triples or elements each of its windows has counted.
    """

    needs: Needs
    evaluations: int = 0
    rows: int = 0
    failed: bool = False
    offered: int | None = None
    outside: int = 0
    began: bool = False
    first: int | None = None
    counted: tuple[int, ...] = ()

    @property
    def plan(self) -> Plan:
        """The query."""
        return self.needs.plan


class StaticData(Protocol):
    """The interface of static data for the diagnosis."""

    def has(self, probe: Probe, graphs: Sequence[Iri | None] | None) -> bool:
        """Test whether a statement in some graphs matches a probe.

        Args:
            probe: what is looked for.
            graphs: where; None in it is the unnamed graph. None is all named ones.
        """

    @property
    def graphs(self) -> frozenset[str]:
        """The names of the static graphs."""

    @property
    def predicates(self) -> Sequence[str]:
        """Predicates of static statements, in angle brackets; not all if they are many."""


class NoStaticData:
    """Static data without statements."""

    graphs: frozenset[str] = frozenset()
    predicates: Sequence[str] = ()

    def has(self, probe: Probe, graphs: Sequence[Iri | None] | None) -> bool:  # noqa: ARG002
        """Find nothing."""
        return False


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts about a run.

    Attributes:
        streams: the streams that are read from outside, by IRI.
        queries: the queries.
        live: whether the run follows the clock.
        ended: whether its input has ended and all windows are closed.
        static: the static data.
    """

    streams: Mapping[str, StreamFacts] = field(default_factory=dict)
    queries: Sequence[QueryFacts] = ()
    live: bool = False
    ended: bool = True
    static: StaticData = field(default_factory=NoStaticData)
