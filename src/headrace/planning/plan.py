"""What the runtime is asked to do: a plan, a value that can be pickled and shipped to tasks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256

from headrace.algebra.expressions import Exists, Timestamp
from headrace.algebra.operators import Operator, Service
from headrace.algebra.query import Ask, Query, Registered
from headrace.algebra.reporting import (
    DAY,
    Align,
    Bounds,
    Every,
    Keep,
    OnArrival,
    OnChange,
    OnClose,
    Order,
    Scope,
    Semantics,
    Strategy,
)
from headrace.algebra.walk import everywhere, expressions, parts
from headrace.algebra.windows import (
    CountWindow,
    NowWindow,
    TimeWindow,
    WindowDeclaration,
)
from headrace.errors import SettingError, Source, UnsupportedError
from headrace.functions.dependence import uses_time
from headrace.functions.evaluate import is_volatile
from headrace.planning.apart import to_be_evaluated
from headrace.planning.consuming import Consuming, consuming_of
from headrace.planning.contracts import Contract, contracts_of
from headrace.planning.matching import Matching, matching_of
from headrace.planning.planned import PlannedWindow
from headrace.planning.templates import Filled, Templates
from headrace.planning.temporal import check_blocks
from headrace.rdf.terms import Iri
from headrace.rewrite.rules.pull_costly_filters import pull_costly_filters
from headrace.rewrite.sources import KnownPredicates


@dataclass(frozen=True)
class Plan:
    """One continuous query over the streams of a deployment.

    Attributes:
        name: what its answers are called.
        query: what is evaluated, and when.
        windows: its windows; one on every stream has become one for each.
        delays: how far the watermark of each of its streams stays behind the latest event.
        rewritten: the pattern that is evaluated in place of the query's own, which means the same.
        members: the names of the queries that are evaluated by it as one, if it is that of several
            (:mod:`headrace.planning.sharing`).
        schema: what tells the schema that it reads its data under from others; none if empty.
        filled: the template that the rewritten pattern was made of.
        registration_id: what tells its registration from others under the same name; none if empty.
    """

    name: str
    query: Query
    windows: tuple[PlannedWindow, ...]
    delays: tuple[tuple[str, int], ...] = ()
    rewritten: Operator | None = None
    members: tuple[str, ...] = ()
    schema: str = ""
    filled: Filled | None = field(default=None, compare=False, repr=False)
    registration_id: str = field(default="", compare=False)

    @property
    def pattern(self) -> Operator:
        """What is evaluated."""
        return self.query.pattern if self.rewritten is None else self.rewritten

    def applies(self, rule: str) -> bool:
        """Whether a rule of how queries are evaluated is on."""
        return dict(self.semantics.switched_rules).get(rule, True)

    @property
    def late(self) -> bool:
        """Whether filters that may be dear are tested as late as possible, whatever that costs."""
        return dict(self.semantics.switched_rules).get(pull_costly_filters.__name__, False)

    @property
    def semantics(self) -> Semantics:
        """When it is evaluated and what it emits."""
        return self.query.semantics

    @cached_property
    def streams(self) -> tuple[Iri, ...]:
        """The streams that it reads, in the order in which equal times are taken."""
        return tuple(sorted({window.stream for window in self.windows}, key=lambda s: s.value))

    def delay(self, stream: Iri) -> int:
        """How far the watermark of a stream stays behind."""
        return dict(self.delays).get(stream.value, 0)

    @property
    def stream(self) -> Iri | None:
        """The stream that it is for others, if it is registered as one."""
        registration = self.query.registration
        if registration is None or registration.kind is not Registered.STREAM:
            return None
        # The truth of an ASK is no element.
        return None if isinstance(self.query.form, Ask) else Iri(registration.name)

    @cached_property
    def asks_services(self) -> bool:
        """Whether an evaluation asks a remote endpoint."""
        return any(isinstance(each, Service) for each in everywhere(self.query.pattern))

    @cached_property
    def looks_at_time(self) -> bool:
        """Whether its answer may differ between instants at which its windows hold the same."""
        found = (each for operator in everywhere(self.pattern) for each in expressions(operator))
        return any(uses_time(each) or is_volatile(each) for each in found)

    @cached_property
    def contracts(self) -> tuple[Contract, ...]:
        """The contracts of the SERVICEs under a budget."""
        return contracts_of(self.pattern, self.windows, report=self.semantics.report)

    @cached_property
    def matching(self) -> Matching:
        """What of it can be matched element by element."""
        return matching_of(self.query, self.pattern, self.windows)

    @cached_property
    def consuming(self) -> Consuming | None:
        """Which triples make its matches; none if all do."""
        return consuming_of(self.query, self.pattern, self.windows)

    @cached_property
    def digest(self) -> str:
        """The identity of the plan, also in another process.

        A run may be told anew what to do about overload, by which rules to rewrite and how to
        evaluate, and goes on with what windows hold.
        """
        # A limit that is not set is a day in a live run; checkpoints know it as that.
        ahead = DAY if self.semantics.max_ahead is None else self.semantics.max_ahead
        semantics = replace(
            self.semantics,
            overload=Keep(),
            switched_rules=(),
            strategy=Strategy.AUTO,
            max_ahead=ahead,
        )
        same = replace(self.query, semantics=semantics)
        under = (self.schema,) if self.schema else ()
        consumed = (str(semantics.consumption),) if semantics.consumes else ()
        kept = ("keeps-default",) if self.query.dataset.keeps_default else ()
        own = (("registered", self.registration_id),) if self.registration_id else ()
        shown = (self.name, same, self.windows, self.delays, *under, *consumed, *kept, *own)
        return sha256(repr(shown).encode()).hexdigest()


def make_plan(  # noqa: PLR0913 - all but the first have a default
    query: Query,
    name: str = "query",
    streams: tuple[Iri, ...] = (),
    delays: Mapping[str, int] | None = None,
    source: Source | None = None,
    rewriting: Templates | None = None,
    *,
    schema: str = "",
    known: KnownPredicates | None = None,
) -> Plan:
    """Plan a query, or refuse the part of it that cannot be run.

    Args:
        query: what to run.
        name: what its answers are called.
        streams: the streams of the deployment, for windows on every stream.
        delays: what the streams declare; settings of the query go before it.
        source: its text, for errors.
        rewriting: by which rules, and how queries like it were rewritten before.
        schema: what tells the schema that it reads its data under from others; none if empty.
        known: which predicates occur in static data and in streams.

    Raises:
        UnsupportedError: it asks for something that has no meaning together.
        SettingError: it switches a rule that there is not.
    """
    if not query.windows:
        raise UnsupportedError(
            f"'{name}' reads no stream, so it has one answer and nothing to wait for",
            source,
            hint="ask it with `headrace query`, in Python with headrace.store.Store",
        )
    _check(query, source)
    windows = tuple(each for window in query.windows for each in _planned(window, streams))
    own = dict(query.semantics.stream_delays)
    chosen = {
        window.stream.value: own.get(
            window.stream.value,
            query.semantics.delay or (delays or {}).get(window.stream.value, 0),
        )
        for window in windows
    }
    filled = (rewriting or Templates()).filled(query, known)
    delayed = tuple(sorted(chosen.items()))
    plan = Plan(name, query, windows, delayed, filled.pattern, schema=schema, filled=filled)
    if plan.consuming is not None and plan.consuming.obstacle is not None:
        obstacle = plan.consuming.obstacle
        raise UnsupportedError(obstacle.problem, source, query.windows[0].span, obstacle.hint)
    if query.semantics.strategy is Strategy.INCREMENTAL and plan.matching.obstacle is not None:
        raise SettingError(
            f"strategy=incremental cannot be had for '{name}': {plan.matching.obstacle}; "
            "leave strategy=auto, which is incremental where that can be had"
        )
    return plan


def sketch_of(query: Query, known: KnownPredicates | None = None) -> Plan:
    """Plan a query for inspection only: a window on every stream is one on any."""
    windows = tuple(each for window in query.windows for each in _planned(window, (_ANY,)))
    return Plan("", query, windows, rewritten=to_be_evaluated(query, known=known))


_ANY = Iri("urn:every-stream")


def _planned(window: WindowDeclaration, streams: tuple[Iri, ...]) -> list[PlannedWindow]:
    over = [window.stream] if isinstance(window.stream, Iri) else list(streams)
    return [
        PlannedWindow(window.name, stream, window.frame, window.in_default_graph) for stream in over
    ]


def _check(query: Query, source: Source | None) -> None:
    semantics, first = query.semantics, query.windows[0].span
    inside = next(_stamps_inside_exists(query.pattern), None)
    if inside is not None:
        problem = f"{inside.called} inside EXISTS is not supported"
        raise UnsupportedError(problem, source, inside.span or first)
    check_blocks(query, source)
    if semantics.scope is Scope.MATCH:
        _check_match(query, source)
    now = any(isinstance(window.frame, NowWindow) for window in query.windows)
    arrivals = semantics.order is Order.ARRIVAL and isinstance(semantics.report, OnArrival)
    if now and arrivals and len({window.stream for window in query.windows}) > 1:
        raise UnsupportedError(
            "order=arrival and [NOW] beside another stream have no meaning together",
            source,
            first,
            hint="leave order=event-time, so that equal times have an order",
        )
    contracts_of(query.pattern, query.windows, source, semantics.report)


def _stamps_inside_exists(pattern: Operator) -> Iterator[Timestamp]:
    tests = [
        part
        for operator in everywhere(pattern)
        for expression in expressions(operator)
        for part in parts(expression)
        if isinstance(part, Exists)
    ]
    return (
        part
        for test in tests
        for operator in everywhere(test.pattern)
        for expression in expressions(operator)
        for part in parts(expression)
        if isinstance(part, Timestamp)
    )


def _check_match(query: Query, source: Source | None) -> None:
    """Where the span of a match is bounded, a match is found when its last triple comes."""
    if not isinstance(query.semantics.report, OnArrival):
        raise UnsupportedError(
            "scope=match bounds the span of a match, which is looked at on arrival only",
            source,
            query.windows[0].span,
            hint="set report=on-arrival, or scope=window",
        )
    for window in query.windows:
        if not isinstance(window.frame, TimeWindow):
            problem = "scope=match needs a window of time, such as [RANGE 10s]"
            raise UnsupportedError(problem, source, window.span)


def bounds_of(semantics: Semantics) -> Bounds:
    """Which ends belong to a window; the span of a match has only one that may."""
    if semantics.scope is Scope.MATCH and semantics.bounds is not Bounds.CLOSED:
        return Bounds.OPEN_CLOSED
    return semantics.bounds


def reports_arrivals(plan: Plan) -> bool:
    """Whether some instant of a query is caused by a single element, not by time alone."""
    match plan.semantics.report:
        case OnArrival():
            return True
        case OnClose():
            return any(isinstance(window.frame, CountWindow) for window in plan.windows)
        case Every() | OnChange():
            return False


def takes_arrivals_as_they_come(plan: Plan) -> bool:
    """Whether elements are evaluated as they come, so that none can be late."""
    semantics = plan.semantics
    return semantics.order is Order.ARRIVAL and isinstance(semantics.report, OnArrival)


def releases_settled_elements(plan: Plan) -> bool:
    """Test whether an element is released as soon as no other can come before it in order.

    Where windows close on a grid as well, instants of equal times are one, and wait for time.
    """
    if not reports_arrivals(plan) or takes_arrivals_as_they_come(plan):
        return False
    by_elements = isinstance(plan.semantics.report, OnArrival)
    return by_elements or not any(
        isinstance(window.frame, TimeWindow) and window.frame.slide is not None
        for window in plan.windows
    )


def opens_on_grid(plan: Plan) -> bool:
    """Whether the openings of its windows lie on the grid, and not the closes."""
    return plan.semantics.align is Align.OPEN
