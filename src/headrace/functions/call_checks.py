"""Checks of calls: those that can never have a result are found before a query runs.

A call is looked at if what decides is constant: the pattern of REGEX, a distribution, two limits.
The pattern of a SERVICE is evaluated by its endpoint, whose functions may differ: only names of
functions are looked at there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from headrace.algebra.expressions import (
    BuiltIn,
    Expression,
    FunctionCall,
    Operation,
)
from headrace.algebra.operators import Operator, Service, Values
from headrace.algebra.uncertainty import ARITIES
from headrace.algebra.walk import everywhere, expressions, parts
from headrace.errors import (
    QueryError,
    Source,
    Span,
    UnsupportedError,
    listing,
    nearest,
)
from headrace.functions.errors import ExpressionError
from headrace.functions.table import OPERATORS, Functions
from headrace.rdf.terms import Iri, Literal, Term
from headrace.rdf.vocabulary import RSPU, RSPU_DISTRIBUTION

_PATTERN_FUNCTIONS: Final = ("REGEX", "REPLACE")
_SHOWN: Final = 60

_OLD_NAMES: Final = {"sum": "add", "difference": "subtract"}
"""Functions of the RSPU engine by the names that they had in its first version."""


@dataclass(frozen=True, slots=True)
class CallProblem:
    """A call or a constant that can never have a value.

    Attributes:
        problem: the reason, in one line.
        span: where it stands, if that is known.
        hint: what to do about it.
        certain: whether no program can change it; one may define a function that is unknown.
        kind: the error to raise.
        literal: a constant that is looked for in the text, if there is no span.
    """

    problem: str
    span: Span | None = None
    hint: str | None = None
    certain: bool = True
    kind: type[QueryError] = QueryError
    literal: str | None = None

    def error(self, source: Source | None) -> QueryError:
        """Build the error, with its place in the query."""
        span = self.span
        if span is None and source is not None and self.literal:
            start = source.text.find(self.literal)
            span = None if start < 0 else Span(start, start + len(self.literal))
        return self.kind(self.problem, source, span, self.hint)


def find_call_problems(pattern: Operator, functions: Functions) -> Iterator[CallProblem]:
    """Find the calls and constants of a pattern that can never have a value."""
    every = list(everywhere(pattern))
    remote = {
        id(below)
        for service in every
        if isinstance(service, Service)
        for below in everywhere(service.input)
    }
    for operator in every:
        is_local = id(operator) not in remote
        if is_local and isinstance(operator, Values):
            cells = (cell for row in operator.rows for cell in row if isinstance(cell, Literal))
            yield from _unreadable(cells)
        for part in (part for each in expressions(operator) for part in parts(each)):
            match part:
                case FunctionCall():
                    yield from _of_function(part, functions, is_local=is_local)
                case BuiltIn(name) if name in _PATTERN_FUNCTIONS and is_local:
                    yield from _of_pattern(part)
                case Literal() if is_local:
                    yield from _unreadable([part])
                case _:
                    pass


def _of_function(
    call: FunctionCall, functions: Functions, *, is_local: bool
) -> Iterator[CallProblem]:
    problem = functions.problem(call)
    name = call.function.value
    if problem is not None:
        if name.startswith(RSPU) and functions.find(name) is None:
            yield _no_such_function(name.removeprefix(RSPU), call.span)
        else:
            unknown = functions.find(name) is None
            yield CallProblem(problem, call.span, certain=not unknown, kind=UnsupportedError)
    elif name in ARITIES and is_local:
        yield from _of_constants(call)


def _no_such_function(name: str, span: Span | None) -> CallProblem:
    names = sorted(iri.removeprefix(RSPU) for iri in ARITIES)
    near = _OLD_NAMES.get(name) or nearest(name, names)
    meant = f"; did you mean rspu:{near}?" if near else ""
    hint = f"the functions of this namespace are {listing(names, 'and')}"
    return CallProblem(
        f"there is no function rspu:{name}{meant}", span, hint, kind=UnsupportedError
    )


def _unreadable(literals: Iterator[Literal] | list[Literal]) -> Iterator[CallProblem]:
    """Find the distributions that cannot be read."""
    for literal in literals:
        if literal.datatype == RSPU_DISTRIBUTION:
            from headrace.functions.uncertainty.literals import (  # noqa: PLC0415 - it takes time to load
                distribution_of,
            )

            try:
                distribution_of(literal)
            except ExpressionError as error:
                yield CallProblem(str(error), literal=literal.lexical)


# -- uncertainty functions -----------------------------------------------------------------------


def _of_constants(call: FunctionCall) -> Iterator[CallProblem]:
    # What it needs takes as long to load as everything else together, and few queries ask for it.
    from headrace.functions.uncertainty.constants import constants_problem  # noqa: PLC0415

    name = call.function.value.removeprefix(RSPU)
    try:
        constants = [_constant(argument) for argument in call.arguments]
    except ExpressionError as error:
        yield CallProblem(f"rspu:{name}(): an argument has no value: {error}", call.span)
        return
    problem = constants_problem(name, constants)
    if problem is not None:
        yield CallProblem(f"rspu:{name}(): {problem}", call.span)


def _constant(expression: Expression) -> Term | None:
    """Evaluate an expression without variables; None if it has some, or calls functions.

    Raises:
        ExpressionError: it can have no value.
    """
    match expression:
        case Iri() | Literal():
            return expression
        case Operation(symbol, arguments) if symbol in OPERATORS:
            values = [_constant(each) for each in arguments]
            known = [value for value in values if value is not None]
            return OPERATORS[symbol](*known) if len(known) == len(values) else None
        case _:
            return None


# -- patterns ------------------------------------------------------------------------------------


def _of_pattern(call: BuiltIn) -> Iterator[CallProblem]:
    from headrace.functions.patterns import PatternError, check_pattern  # noqa: PLC0415

    try:
        _, pattern, *others = (_constant(argument) for argument in call.arguments)
        replacement = others.pop(0) if call.name == "REPLACE" else None
        flags = others.pop(0) if others else Literal("")
        check_pattern(pattern, flags, replacement, replaces=call.name == "REPLACE")
    except PatternError as error:
        yield CallProblem(f"{call.name}(): {error}", call.span, error.hint)
    except ExpressionError as error:  # text that is no UTF-8
        yield CallProblem(f"{call.name}(): {error}", call.span)


def refuse_certain_problems(pattern: Operator, functions: Functions, source: Source | None) -> None:
    """Refuse a query with a call or a constant that can never have a value.

    Raises:
        QueryError: saying which, where, and what to do.
    """
    for problem in find_call_problems(pattern, functions):
        if problem.certain:
            raise problem.error(source)
