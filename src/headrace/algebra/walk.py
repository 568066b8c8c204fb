"""Moving over algebra values: their parts, in order, and the same value with other parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import assert_never

from headrace.algebra.expressions import (
    Aggregate,
    BuiltIn,
    Exists,
    Expression,
    FunctionCall,
    Membership,
    Operation,
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
from headrace.rdf.terms import BlankNode, Iri, Literal, QuotedTriple


def inputs(operator: Operator) -> tuple[Operator, ...]:
    """The operators that an operator reads, left to right."""
    match operator:
        case Bgp() | Values():
            return ()
        case Join(left, right) | LeftJoin(left, right) | Minus(left, right) | Temporal(left, right):
            return (left, right)
        case Union(branches):
            return branches
        case (
            Filter(_, source)
            | Extend(source)
            | Graph(_, source)
            | Window(_, source)
            | Service(_, source)
            | Group(source)
            | Annotate(source)
            | OrderBy(source)
            | Project(source)
            | Distinct(source)
            | Reduced(source)
            | Slice(source)
        ):
            return (source,)
        case _:
            assert_never(operator)


def with_inputs(operator: Operator, sources: tuple[Operator, ...]) -> Operator:
    """The same operator over other inputs, of which there are as many; itself if they are its own.

    >>> with_inputs(Distinct(Bgp()), (Values((), ()),))
    Distinct(input=Values(variables=(), rows=()))
    """
    if all(new is old for new, old in zip(sources, inputs(operator), strict=True)):
        return operator
    match operator:
        case Join() | LeftJoin() | Minus() | Temporal():
            left, right = sources
            return replace(operator, left=left, right=right)
        case Union():
            return Union(sources)
        case Bgp() | Values():
            return operator
        case _:
            (source,) = sources
            return replace(operator, input=source)


def expressions(operator: Operator) -> tuple[Expression, ...]:
    """The expressions that an operator itself evaluates."""
    match operator:
        case Filter(condition, _):
            return (condition,)
        case LeftJoin(_, _, condition):
            return () if condition is None else (condition,)
        case Extend(_, _, expression):
            return (expression,)
        case Group(_, _, aggregates):
            return tuple(aggregate for _, aggregate in aggregates)
        case Annotate(_, annotations):
            return tuple(annotation.aggregate for annotation in annotations)
        case OrderBy(_, keys):
            return tuple(key.expression for key in keys)
        case _:
            return ()


def arguments(expression: Expression) -> tuple[Expression, ...]:
    """The expressions inside an expression; the pattern of EXISTS is not one of them."""
    match expression:
        case Variable() | Iri() | BlankNode() | Literal() | QuotedTriple() | Exists():
            return ()
        case TriplePattern(subject, predicate, object_):
            return (subject, predicate, object_)
        case Operation(_, inner) | BuiltIn(_, inner) | FunctionCall(_, inner) | Timestamp(inner):
            return inner
        case Membership(value, candidates):
            return (value, *candidates)
        case Aggregate(_, argument):
            return () if argument is None else (argument,)
        case _:
            assert_never(expression)


def conjuncts(condition: Expression) -> tuple[Expression, ...]:
    """The conditions that must all hold for a condition to hold."""
    match condition:
        case Operation("&&", arguments_):
            return tuple(part for each in arguments_ for part in conjuncts(each))
        case _:
            return (condition,)


def rewritten(
    expression: Expression, change: Callable[[Expression], Expression | None]
) -> Expression:
    """Replace the parts of an expression that `change` has an answer for, outermost first."""
    changed = change(expression)
    if changed is not None:
        return changed
    match expression:
        case Operation(symbol, inner):
            return Operation(symbol, tuple(rewritten(part, change) for part in inner))
        case BuiltIn(name, inner, place, span):
            return BuiltIn(name, tuple(rewritten(part, change) for part in inner), place, span)
        case FunctionCall(function, inner, span):
            return FunctionCall(function, tuple(rewritten(part, change) for part in inner), span)
        case Membership(value, candidates, negated):
            return Membership(
                rewritten(value, change),
                tuple(rewritten(part, change) for part in candidates),
                negated,
            )
        case Timestamp(inner):
            return replace(expression, arguments=tuple(rewritten(part, change) for part in inner))
        case Aggregate(function, argument, distinct, separator) if argument is not None:
            return Aggregate(function, rewritten(argument, change), distinct, separator)
        case _:
            return expression


def within(operator: Operator) -> Iterator[Operator]:
    """An operator and all below it, each before what it reads; not those inside EXISTS."""
    stack = [operator]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(reversed(inputs(current)))


def everywhere(operator: Operator) -> Iterator[Operator]:
    """An operator and all below it, those inside EXISTS too."""
    stack = [operator]
    while stack:
        for current in within(stack.pop()):
            yield current
            for expression in expressions(current):
                stack += [part.pattern for part in parts(expression) if isinstance(part, Exists)]


def reads_default_graph(operator: Operator) -> bool:
    """Search a pattern, its EXISTS too, for patterns outside GRAPH, WINDOW and SERVICE."""
    match operator:
        case Bgp(patterns):
            return bool(patterns)
        case Graph() | Window() | Service():
            return False
        case _:
            tests = [
                part.pattern
                for expression in expressions(operator)
                for part in parts(expression)
                if isinstance(part, Exists)
            ]
            return any(map(reads_default_graph, (*inputs(operator), *tests)))


def parts(expression: Expression) -> Iterator[Expression]:
    """An expression and all inside it, each before its arguments."""
    stack = [expression]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(reversed(arguments(current)))


def exists_in(expression: Expression) -> tuple[Operator, ...]:
    """Yield the patterns of EXISTS in an expression."""
    return tuple(part.pattern for part in parts(expression) if isinstance(part, Exists))


def constants(operator: Operator) -> Iterator[Iri | Literal]:
    """The names and literals that a pattern looks for or compares with."""
    for each in everywhere(operator):
        terms = list(expressions(each))
        if isinstance(each, Bgp):
            terms += [pattern for pattern in each.patterns if isinstance(pattern, TriplePattern)]
        for term in terms:
            yield from (part for part in parts(term) if isinstance(part, Iri | Literal))


def depth(operator: Operator) -> int:
    """How many values lie on the longest way down, through expressions and EXISTS too."""
    deepest = 0
    stack: list[tuple[Operator | Expression, int]] = [(operator, 1)]
    while stack:
        current, level = stack.pop()
        deepest = max(deepest, level)
        below: tuple[Operator | Expression, ...]
        if isinstance(current, Operator):
            below = (*inputs(current), *expressions(current))
        elif isinstance(current, Exists):
            below = (current.pattern,)
        else:
            below = arguments(current)
        stack.extend((part, level + 1) for part in below)
    return deepest
