"""What the runtime is asked to do: a plan, a value that can be pickled and shipped to tasks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from hashlib import sha256
from typing import Any, Final

from headrace.algebra.expressions import Aggregate, TriplePattern, Variable
from headrace.algebra.operators import (
    Annotate,
    Bgp,
    Distinct,
    Filter,
    Graph,
    Group,
    Join,
    LeftJoin,
    Minus,
    Operator,
    OrderBy,
    Project,
    Service,
    Slice,
    Union,
    Values,
    Window,
)
from headrace.algebra.query import Dataset, Query, Registered, Select
from headrace.algebra.reporting import BlankNodes, Semantics, Strategy
from headrace.algebra.windows import TimeWindow
from headrace.errors import UnsupportedError
from headrace.rdf.terms import Iri, QuotedTriple


@dataclass(frozen=True, slots=True)
class Plan:
    """One query over one sliding time window. Durations and times in microseconds.

    Attributes:
        pattern: what is evaluated at each close of the window.
        variables: the columns of an answer.
        stream: the stream the window is on.
        width: how much of the past the window holds.
        slide: how far apart its closes are.
        origin: one of its closes.
        delay: how far the watermark stays behind the latest event.
        blank_nodes: within what equal blank node labels are the same node.
    """

    pattern: Operator
    variables: tuple[Variable, ...]
    stream: Iri
    width: int
    slide: int
    origin: int = 0
    delay: int = 0
    blank_nodes: BlankNodes = BlankNodes.ELEMENT

    @property
    def digest(self) -> str:
        """What tells this plan from any other, also in another process."""
        return sha256(repr(self).encode()).hexdigest()


def make_plan(query: Query) -> Plan:
    """Plan a query, or say which part of it cannot be run yet.

    Raises:
        UnsupportedError: the query needs something that this version cannot run.
    """
    if not isinstance(query.form, Select):
        raise _unsupported(f"{type(query.form).__name__.upper()} queries")
    if query.dataset != Dataset():
        raise _unsupported("static graphs and schemas")
    if query.registration and query.registration.kind is not Registered.QUERY:
        raise _unsupported("queries registered as a stream")
    _check_semantics(query.semantics)
    _check_operator(query.pattern)
    stream, frame = _only_window(query)
    return Plan(
        pattern=query.pattern,
        variables=query.form.variables,
        stream=stream,
        width=frame.width,
        slide=frame.slide or frame.width,
        origin=int(query.semantics.t0),
        delay=dict(query.semantics.stream_delays).get(stream.value, query.semantics.delay),
        blank_nodes=query.semantics.blank_nodes,
    )


def _only_window(query: Query) -> tuple[Iri, TimeWindow]:
    if len(query.windows) != 1:
        raise _unsupported("queries without exactly one window")
    [window] = query.windows
    if not isinstance(window.stream, Iri):
        raise _unsupported("windows on every stream")
    if not window.in_default_graph:
        raise _unsupported("windows outside the default graph")
    if not isinstance(window.frame, TimeWindow) or window.frame.slide is None:
        raise _unsupported("windows other than time windows with a slide")
    return window.stream, window.frame


# What may differ from the defaults: the first three are run, the others make no difference to a
# query that is evaluated when its one window closes.
_FREE: Final = {"delay", "stream_delays", "blank_nodes", "order", "pick"}


def _check_semantics(semantics: Semantics) -> None:
    default = Semantics()
    for name in (field.name for field in fields(Semantics)):
        chosen: Any = getattr(semantics, name)
        if name in _FREE or chosen == getattr(default, name):
            continue
        if name == "strategy" and chosen is Strategy.SNAPSHOT:
            continue
        if name == "t0" and isinstance(chosen, int):
            continue
        raise _unsupported(f"{name} = {chosen}")


_CLAUSES: Final[dict[type, str]] = {
    Join: "joins of groups",
    LeftJoin: "OPTIONAL",
    Union: "UNION",
    Minus: "MINUS",
    Filter: "FILTER",
    Values: "VALUES",
    Graph: "GRAPH",
    Window: "WINDOW",
    Service: "SERVICE",
    OrderBy: "ORDER BY",
    Slice: "LIMIT and OFFSET",
}


def _check_operator(operator: Operator) -> None:
    match operator:
        case Bgp(patterns):
            for pattern in patterns:
                _check_pattern(pattern)
            if not patterns:
                raise _unsupported("an empty pattern")
        case Annotate(source, annotations):
            _check_operator(source)
            _check_aggregates(each.aggregate for each in annotations)
        case Group(source, _, aggregates):
            _check_operator(source)
            _check_aggregates(aggregate for _, aggregate in aggregates)
        case Project(source, _) | Distinct(source):
            _check_operator(source)
        case _:
            kind = type(operator)
            raise _unsupported(_CLAUSES.get(kind, kind.__name__.upper()))


def _check_pattern(pattern: object) -> None:
    if not isinstance(pattern, TriplePattern):
        raise _unsupported("property paths")
    terms = (pattern.subject, pattern.predicate, pattern.object)
    if any(isinstance(term, TriplePattern | QuotedTriple) for term in terms):
        raise _unsupported("quoted triples in patterns")


def _check_aggregates(aggregates: Iterator[Aggregate]) -> None:
    for aggregate in aggregates:
        if aggregate.function != "COUNT":
            raise _unsupported(f"the aggregate {aggregate.function}")
        if aggregate.argument is None and aggregate.distinct:
            raise _unsupported("COUNT(DISTINCT *)")
        if not isinstance(aggregate.argument, Variable | None):
            raise _unsupported("COUNT of an expression")


def _unsupported(what: str) -> UnsupportedError:
    return UnsupportedError(
        f"this version cannot run {what}",
        hint="it runs SELECT over triple patterns in one time window, with COUNT and DISTINCT",
    )
