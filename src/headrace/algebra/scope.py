"""Which variables a pattern may bind (pVars) and which it always binds (cVars)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import assert_never

from headrace.algebra.expressions import (
    Exists,
    Expression,
    PatternTerm,
    Timestamp,
    TriplePattern,
    Variable,
)
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
from headrace.algebra.walk import expressions, parts, within
from headrace.rdf.terms import Iri, Literal

Variables = frozenset[Variable]


def possible(operator: Operator) -> Variables:
    """The variables that some solution of an operator may bind."""
    return frozenset(possible_in_order(operator))


def possible_in_order(operator: Operator) -> tuple[Variable, ...]:
    """The same, in the order in which the query mentions them: the columns of SELECT *."""
    return tuple(dict.fromkeys(_possible(operator)))


def _possible(operator: Operator) -> Iterable[Variable]:
    match operator:
        case Bgp():
            return _of_bgp(operator)
        case Join(left, right) | LeftJoin(left, right) | Temporal(left, right):
            return (*_possible(left), *_possible(right))
        case Minus(source, _) | Filter(_, source):
            return _possible(source)
        case Union(branches):
            return [variable for branch in branches for variable in _possible(branch)]
        case Extend(source, variable):
            return (*_possible(source), variable)
        case Values(variables):
            return variables
        case Graph(name, source) | Service(name, source):
            named = (name,) if isinstance(name, Variable) else ()
            return (*named, *_possible(source))
        case Window(name, source, stream):
            bound = [each for each in (name, stream) if isinstance(each, Variable)]
            return (*bound, *_possible(source))
        case Group(_, keys, aggregates):
            return (*keys, *(variable for variable, _ in aggregates))
        case Annotate(source, annotations):
            return (*_possible(source), *(annotation.variable for annotation in annotations))
        case Project(_, variables):
            return variables
        case OrderBy(source) | Distinct(source) | Reduced(source) | Slice(source):
            return _possible(source)
        case _:
            assert_never(operator)


def certain(operator: Operator) -> Variables:
    """The variables that every solution of an operator binds."""
    match operator:
        case Bgp():
            return frozenset(_of_bgp(operator))
        case Join(left, right):
            return certain(left) | certain(right)
        case Temporal(left, right, optional=False):
            return certain(left) | certain(right)
        case LeftJoin(source, _) | Minus(source, _) | Temporal(source, _) | Filter(_, source):
            return certain(source)
        case Extend(source, variable, expression):
            below = certain(source)
            known = isinstance(expression, Iri | Literal) or expression in below
            return below | {variable} if known else below
        case Union(branches):
            return frozenset.intersection(*map(certain, branches)) if branches else frozenset()
        case Values(variables, rows):
            return frozenset(
                variable
                for column, variable in enumerate(variables)
                if all(row[column] is not None for row in rows)
            )
        case Graph(name, source):
            return certain(source) | ({name} if isinstance(name, Variable) else set())
        case Window(name, source, stream):
            return certain(source) | {each for each in (name, stream) if isinstance(each, Variable)}
        case Service(_, source, silent):
            # A silent failure is one solution that binds nothing.
            return frozenset() if silent else certain(source)
        case Group(source, keys, aggregates):
            counts = {variable for variable, call in aggregates if call.function == "COUNT"}
            return (certain(source) & frozenset(keys)) | counts
        case Annotate(source, annotations):
            counts = {each.variable for each in annotations if each.aggregate.function == "COUNT"}
            return certain(source) | counts
        case Project(source, variables):
            return certain(source) & frozenset(variables)
        case OrderBy(source) | Distinct(source) | Reduced(source) | Slice(source):
            return certain(source)
        case _:
            assert_never(operator)


def _of_bgp(bgp: Bgp) -> Iterator[Variable]:
    for pattern in bgp.patterns:
        if isinstance(pattern, TriplePattern):
            yield from of_term(pattern)
        else:
            yield from of_term(pattern.subject)
            yield from of_term(pattern.object)


def of_term(term: PatternTerm) -> Iterator[Variable]:
    """The variables of a term of a pattern; only a quoted triple pattern has several."""
    if isinstance(term, Variable):
        yield term
    elif isinstance(term, TriplePattern):
        yield from of_term(term.subject)
        yield from of_term(term.predicate)
        yield from of_term(term.object)


def mentioned(expression: Expression) -> Variables:
    """The variables that an expression reads, those inside its EXISTS patterns included."""
    found: set[Variable] = set()
    for part in parts(expression):
        if isinstance(part, Variable):
            found.add(part)
        elif isinstance(part, Exists):
            for operator in within(part.pattern):
                found |= possible(operator)
                found |= frozenset().union(*map(mentioned, expressions(operator)))
        elif isinstance(part, Timestamp) and isinstance(part.stream, Variable):
            found.add(part.stream)
    return frozenset(found)
