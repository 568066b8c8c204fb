"""Which queries can be evaluated in parts, each with its own share of the data.

A part sees the statements whose key, the term that one variable is bound to, falls to it. That is
enough if that variable stands in every pattern over a stream, and in every key that solutions are
put together by.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import assert_never

from headrace.algebra.expressions import Exists, Expression, Timestamp, TriplePattern, Variable
from headrace.algebra.operators import (
    Annotate,
    Bgp,
    Distinct,
    Extend,
    Filter,
    Graph,
    Group,
    Join,
    LeftJoin,
    Minus,
    Operator,
    OrderBy,
    Project,
    Reduced,
    Service,
    Slice,
    Temporal,
    Union,
    Values,
    Window,
)
from headrace.algebra.paths import PathPattern
from headrace.algebra.query import Construct, Select
from headrace.algebra.reporting import Every, OnClose
from headrace.algebra.scope import possible, possible_in_order
from headrace.algebra.walk import everywhere, expressions, inputs, parts, with_inputs
from headrace.functions.evaluate import is_volatile
from headrace.planning.partitioning_obstacle import Obstacle, describe_obstacle
from headrace.planning.plan import Plan
from headrace.planning.splitting import Split, is_kept_by_times, splits
from headrace.rdf.terms import Iri
from headrace.rewrite.branches import branches_of

PLACES = ("subject", "predicate", "object")


@dataclass(frozen=True, slots=True)
class Partitioning:
    """How a query is evaluated in parts.

    Attributes:
        key: the variable that says which part a solution falls to; none if it must be whole.
        places: where it stands in patterns.
        reason: why the query must be evaluated as a whole.
        branches: how many branches of a union fall to parts, if there is no such variable.
        split: what of it is evaluated in parts; all, if it is not cut.
    """

    key: Variable | None
    places: tuple[str, ...] = ()
    reason: str = ""
    branches: int = 0
    split: Split | None = None

    @property
    def is_whole(self) -> bool:
        """Whether the query must be evaluated as a whole."""
        return self.key is None and not self.branches


def partitioning(plan: Plan, made: Sequence[Iri] = ()) -> Partitioning:
    """Plan the evaluation of a query in parts; return the obstacle if there is one.

    Args:
        plan: the query.
        made: the streams that queries make; what reads them follows those queries.
    """
    reason = _hindrance(plan, made)
    if reason:
        return Partitioning(None, reason=reason)
    sees, keys = _sees_windows(plan), list(_candidates(plan))
    for key in keys:
        if _Keyed(key, sees).is_answer(plan.query.pattern):
            return Partitioning(key, _places(plan.query.pattern, key))
    for split in splits(plan.pattern):
        cut = None if split.is_all else split
        for key in keys:
            if _Keyed(key, sees).is_answer(split.core):
                return Partitioning(key, _places(plan.query.pattern, key), split=cut)
        if _is_by_stream(plan, split.core):
            return Partitioning(None, branches=len(branches_of(split.core)), split=cut)
    return Partitioning(None, reason=_reason(plan, sees, keys))


def _reason(plan: Plan, sees: bool, keys: Sequence[Variable]) -> str:
    """Describe the obstacle of a query as it is written."""
    *_, last = splits(plan.query.pattern)

    def find_obstacle(key: Variable) -> Obstacle | None:
        found = _Keyed(key, sees).find_obstacle(last.core)
        return None if found is None else Obstacle(found, is_kept_by_times(last.core, found))

    return describe_obstacle(list(_read(last.core, sees)), keys, find_obstacle)


def _read(operator: Operator, sees: bool) -> Iterator[TriplePattern | PathPattern]:
    """Yield the patterns that may read windows, also those in EXISTS."""
    if isinstance(operator, Bgp):
        yield from operator.patterns if sees else ()
    for below, inside in _below(operator, sees):
        yield from _read(below, inside)


def _below(operator: Operator, sees: bool) -> Iterator[tuple[Operator, bool]]:
    """Yield the operators below one, in its EXISTS too, and whether they may see windows."""
    inside = sees or isinstance(operator, Graph | Window)
    yield from ((each, inside) for each in inputs(operator))
    yield from ((part.pattern, sees) for part in _parts(operator) if isinstance(part, Exists))


def part_of(plan: Plan, how: Partitioning, part: int, parts: int) -> Plan:
    """What is left of a plan for a part: below a cut, and the branches that fall to it."""
    if how.split is None and how.key is not None:
        return plan
    split = how.split or next(splits(plan.pattern))
    below = split.below
    if how.key is None:
        mine = branches_of(split.core)[part::parts]
        nothing = Values(possible_in_order(split.core), ())
        core = Union(mine) if mine else nothing
        below = core if split.below is split.core else with_inputs(split.below, (core,))
    form = plan.query.form if split.is_all else Select(split.hole.variables)
    return replace(plan, query=replace(plan.query, form=form), rewritten=below)


def streams_of(plan: Plan) -> frozenset[Iri]:
    """The streams that a plan reads by the names of windows."""
    names = {each.name for each in everywhere(plan.pattern) if isinstance(each, Window)}
    return frozenset(window.stream for window in plan.windows if window.name in names)


def _is_by_stream(plan: Plan, core: Operator) -> bool:
    """Whether an operator is a union of branches that each read windows of their own, by name."""
    branches = branches_of(core)
    operators = list(everywhere(core))
    named = [each.name for each in operators if isinstance(each, Window)]
    tested = any(isinstance(part, Exists) for each in operators for part in _parts(each))
    return (
        len(branches) > 1
        and len(set(named)) > 1
        and all(isinstance(name, Iri) for name in named)
        and not tested
        and not (_sees_windows(plan) and any(map(_has_default_patterns, branches)))
    )


def _has_default_patterns(operator: Operator) -> bool:
    """Whether triple patterns stand outside any GRAPH and WINDOW."""
    match operator:
        case Bgp(patterns):
            return bool(patterns)
        case Graph() | Window():
            return False
        case _:
            return any(map(_has_default_patterns, inputs(operator)))


def _hindrance(plan: Plan, made: Sequence[Iri]) -> str:
    """What keeps a query whole, whatever its pattern."""
    pattern, report = plan.query.pattern, plan.semantics.report
    everything = [part for each in everywhere(pattern) for part in _parts(each)]
    problems = {
        f"consumption={plan.semantics.consumption} chooses among all matches": (
            plan.semantics.consumes
        ),
        "it is evaluated as elements come": not isinstance(report, OnClose | Every),
        "a window of it does not slide over time": any(w.slide is None for w in plan.windows),
        "it reads what another query makes": any(stream in made for stream in plan.streams),
        "only rows and constructed triples are put together from parts": not isinstance(
            plan.query.form, Select | Construct
        ),
        "it asks a remote endpoint": plan.asks_services,
        "it uses chance": any(is_volatile(each) for each in everything),
        "it asks for the times of single triples": any(
            isinstance(each, Timestamp) and len(each.arguments) > 1 for each in everything
        ),
    }
    return next((reason for reason, present in problems.items() if present), "")


def _parts(operator: Operator) -> Iterator[Expression]:
    for expression in expressions(operator):
        yield from parts(expression)


def _sees_windows(plan: Plan) -> bool:
    return any(window.in_default_graph for window in plan.windows)


def _candidates(plan: Plan) -> Iterator[Variable]:
    """The variables of patterns, each once, in the order of the query."""
    found: dict[Variable, None] = {}
    for operator in everywhere(plan.query.pattern):
        for pattern in operator.patterns if isinstance(operator, Bgp) else ():
            if isinstance(pattern, TriplePattern):
                terms = (getattr(pattern, place) for place in PLACES)
                found |= {term: None for term in terms if isinstance(term, Variable)}
    yield from found


def _places(pattern: Operator, key: Variable) -> tuple[str, ...]:
    """Where a variable stands in the patterns of a query."""
    found = {
        place
        for operator in everywhere(pattern)
        if isinstance(operator, Bgp)
        for each in operator.patterns
        if isinstance(each, TriplePattern)
        for place in PLACES
        if getattr(each, place) == key
    }
    return tuple(sorted(found))


class _Kind(Enum):
    """What a part finds of an operator's solutions."""

    KEYED = "those whose key falls to it"
    STATIC = "all of them, as every part does"
    BROKEN = "neither"


@dataclass(frozen=True, slots=True)
class _Keyed:
    """Whether operators can be evaluated in parts by a key.

    Attributes:
        key: the variable.
        streams: whether patterns see what is in windows, or static data only.
    """

    key: Variable
    streams: bool

    def is_answer(self, pattern: Operator) -> bool:
        """Whether what the parts find, put together, is what the whole would find."""
        match pattern:
            case Project(source) | Reduced(Project(source)):
                return self.kind(source) is _Kind.KEYED
            case Distinct(Project(source, variables)):
                return self.key in variables and self.kind(source) is _Kind.KEYED
            case _:
                return self.kind(pattern) is _Kind.KEYED

    def kind(self, operator: Operator) -> _Kind:
        """What a part finds of an operator's solutions."""
        found, tests = self._kind(operator), self._tests(operator)
        if _Kind.BROKEN in tests or (_Kind.KEYED in tests and found is not _Kind.KEYED):
            return _Kind.BROKEN
        return found

    def find_obstacle(self, operator: Operator) -> Operator | None:
        """Find the lowest operator that no part finds its share of."""
        for below, streams in _below(operator, self.streams):
            found = _Keyed(self.key, streams).find_obstacle(below)
            if found is not None:
                return found
        return operator if self.kind(operator) is _Kind.BROKEN else None

    def _kind(self, operator: Operator) -> _Kind:
        keyed, static, broken = _Kind.KEYED, _Kind.STATIC, _Kind.BROKEN
        match operator:
            case Bgp():
                return self._bgp(operator)
            case Values():
                return static
            case Join(left, right):
                kinds = {self.kind(left), self.kind(right)}
                return broken if broken in kinds else keyed if keyed in kinds else static
            case Temporal(left, right, optional=False):
                return self.kind(Join(left, right))
            case LeftJoin(left, right) | Minus(left, right) | Temporal(left, right):
                outer, inner = self.kind(left), self.kind(right)
                return outer if inner is static or (inner is outer is keyed) else broken
            case Union(branches):
                kinds = {self.kind(branch) for branch in branches}
                return kinds.pop() if len(kinds) == 1 else broken
            case Filter(_, source) | Extend(source) | Reduced(source):
                return self.kind(source)
            case Graph(name, source) | Window(name, source):
                inside = _Keyed(self.key, streams=True).kind(source)
                # What an empty pattern finds in each graph depends on which graphs there are.
                return broken if isinstance(name, Variable) and inside is static else inside
            case Group(source, keys):
                return self._grouped(source, keys)
            case Annotate(source, annotations):
                together = {self._grouped(source, each.keys) for each in annotations}
                return together.pop() if len(together) == 1 else broken
            case Distinct(source):
                return self.kind(source)
            case Project(source, variables):
                return self._grouped(source, variables)
            case OrderBy() | Slice() | Service():
                return broken
            case _:
                assert_never(operator)

    def _bgp(self, bgp: Bgp) -> _Kind:
        if not self.streams or not bgp.patterns:
            return _Kind.STATIC
        joined = all(
            isinstance(each, TriplePattern)
            and self.key in (each.subject, each.predicate, each.object)
            for each in bgp.patterns
        )
        return _Kind.KEYED if joined else _Kind.BROKEN

    def _grouped(self, source: Operator, kept: Sequence[Variable]) -> _Kind:
        """What becomes of solutions of which only some variables are kept.

        A variable of the same name that is not kept is another one, and no key.
        """
        hidden = self.key not in kept and self.key in possible(source)
        return _Kind.BROKEN if hidden else self.kind(source)

    def _tests(self, operator: Operator) -> set[_Kind]:
        """What a part finds of the patterns of EXISTS in an operator's expressions."""
        return {
            self.kind(part.pattern)
            for expression in expressions(operator)
            for part in parts(expression)
            if isinstance(part, Exists)
        }
