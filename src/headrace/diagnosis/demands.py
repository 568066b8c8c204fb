"""Demands: the statements that a query needs before it can have any solution."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias, assert_never

from headrace.algebra.expressions import Exists, PatternTerm, TriplePattern, Variable
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
from headrace.algebra.paths import (
    Alternative,
    Inverse,
    NegatedSet,
    OneOrMore,
    Path,
    PathPattern,
    Sequence,
    ZeroOrMore,
    ZeroOrOne,
)
from headrace.algebra.query import Ask
from headrace.algebra.walk import conjuncts
from headrace.diagnosis.probes import Constant, Probe
from headrace.planning.plan import Plan
from headrace.rdf.terms import Iri, Literal


@dataclass(frozen=True, slots=True)
class Scope:
    """The place where a pattern is matched.

    Attributes:
        window: the name of a window, or a variable for each of them; None is outside of windows.
        graph: the name of a graph, or a variable for each of them; None is the default graph.
    """

    window: Variable | Iri | None = None
    graph: Variable | Iri | None = None


@dataclass(frozen=True, slots=True)
class Statement:
    """At least one statement that matches a probe."""

    probe: Probe
    scope: Scope


@dataclass(frozen=True, slots=True)
class AllOf:
    """Every part is needed; with no parts, nothing is."""

    parts: tuple[Demand, ...] = ()


@dataclass(frozen=True, slots=True)
class AnyOf:
    """One part is enough."""

    parts: tuple[Demand, ...]


Demand: TypeAlias = Statement | AllOf | AnyOf


@dataclass(frozen=True)
class Needs:
    """The demands of a query, computed once for each plan.

    Attributes:
        plan: the query.
    """

    plan: Plan

    @cached_property
    def demand(self) -> Demand:
        """The statements without which its patterns cannot match."""
        return demand_of(self.plan)

    @cached_property
    def always_answers(self) -> bool:
        """True if the query gives a row even if nothing matches."""
        return always_answers(self.plan)


def demand_of(plan: Plan) -> Demand:
    """Return the statements that a query needs before its patterns can match."""
    return _of(_strip_modifiers(plan.query.pattern), Scope())


def always_answers(plan: Plan) -> bool:
    """Tell ASK and aggregates without GROUP BY, which always give a row, from other queries."""
    operator = plan.query.pattern
    while isinstance(operator, Project | Distinct | Reduced | OrderBy | Extend | Slice):
        operator = operator.input
    alone = isinstance(operator, Group) and not operator.keys
    return alone or isinstance(plan.query.form, Ask)


def statements_of(demand: Demand) -> Iterator[Statement]:
    """Yield the statements of a demand, in the order of the query."""
    match demand:
        case Statement():
            yield demand
        case AllOf(parts) | AnyOf(parts):
            for part in parts:
                yield from statements_of(part)
        case _:
            assert_never(demand)


def required_statements(demand: Demand) -> Iterator[Statement]:
    """Return the statements that are needed in any case."""
    match demand:
        case Statement():
            yield demand
        case AllOf(parts):
            for part in parts:
                yield from required_statements(part)
        case AnyOf():
            return
        case _:
            assert_never(demand)


def _strip_modifiers(operator: Operator) -> Operator:
    """Return the pattern below the solution modifiers and the grouping of the whole query."""
    while isinstance(
        operator, Project | Distinct | Reduced | OrderBy | Extend | Slice | Filter | Annotate
    ):
        if isinstance(operator, Filter) and not _above_group(operator):
            return operator
        operator = operator.input
    return operator.input if isinstance(operator, Group) else operator


def _above_group(operator: Operator) -> bool:
    while isinstance(operator, Filter | Extend):
        operator = operator.input
    return isinstance(operator, Group)


def _of(operator: Operator, scope: Scope) -> Demand:
    match operator:
        case Bgp(patterns):
            return _all(_of_pattern(each, scope) for each in patterns)
        case Join(left, right):
            return _all(_of(each, scope) for each in (left, right))
        case Temporal(left, right, optional=optional):
            return _all(_of(each, scope) for each in ((left,) if optional else (left, right)))
        case LeftJoin(left) | Minus(left):
            return _of(left, scope)
        case Union(branches):
            return AnyOf(tuple(_of(each, scope) for each in branches))
        case Filter(condition, source):
            tests = [
                _of(each.pattern, scope)
                for each in conjuncts(condition)
                if isinstance(each, Exists) and not each.negated
            ]
            return _all([_of(source, scope), *tests])
        case Graph(name, source):
            return _of(source, Scope(scope.window, name))
        case Window(name, source):
            return _of(source, Scope(name))
        case Group(source, keys):
            return _of(source, scope) if keys else AllOf()
        case Values() | Service():
            return AllOf()
        case (
            Extend(source)
            | Annotate(source)
            | OrderBy(source)
            | Project(source)
            | Distinct(source)
            | Reduced(source)
            | Slice(source)
        ):
            return _of(source, scope)
        case _:
            assert_never(operator)


def _all(parts: Iterator[Demand] | list[Demand]) -> AllOf:
    return AllOf(tuple(parts))


def _of_pattern(pattern: TriplePattern | PathPattern, scope: Scope) -> Demand:
    if isinstance(pattern, PathPattern):
        return _of_path(pattern.path, scope)
    terms = (pattern.subject, pattern.predicate, pattern.object)
    return _statement(scope, *map(_constant, terms))


def _of_path(path: Path, scope: Scope) -> Demand:
    """Return the properties that a path cannot do without."""
    match path:
        case Iri():
            return _statement(scope, None, path, None)
        case Inverse(inner) | OneOrMore(inner):
            return _of_path(inner, scope)
        case Sequence(steps):
            return _all(_of_path(each, scope) for each in steps)
        case Alternative(choices):
            return AnyOf(tuple(_of_path(each, scope) for each in choices))
        case ZeroOrOne() | ZeroOrMore() | NegatedSet():
            return AllOf()
        case _:
            assert_never(path)


def _statement(
    scope: Scope, subject: Constant, predicate: Constant, object_: Constant
) -> Statement:
    graph = scope.graph if isinstance(scope.graph, Iri) else None
    return Statement(Probe(scope.graph is not None, graph, subject, predicate, object_), scope)


def _constant(term: PatternTerm) -> Constant:
    return term if isinstance(term, Iri | Literal) else None
