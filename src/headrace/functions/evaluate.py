"""What an expression gives on a solution.

An expression is first made into a function of the solution, so that names are looked up once and
not for each row; `evaluate` does both for a single use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final, TypeAlias, assert_never

from headrace.algebra.expressions import (
    VOLATILE,
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
from headrace.algebra.operators import Operator
from headrace.algebra.walk import parts
from headrace.errors import InternalError
from headrace.functions import chance
from headrace.functions.calls import Calls
from headrace.functions.comparison import is_member
from headrace.functions.errors import ExpressionError
from headrace.functions.logic import conjunction, disjunction, truth
from headrace.functions.patterns import PatternError
from headrace.functions.table import BUILT_INS, OPERATORS, Extension, Function, Functions, is_cast
from headrace.functions.terms import iri, triple
from headrace.functions.value_failures import Cause
from headrace.functions.values import FALSE, TRUE
from headrace.metering import current
from headrace.rdf.terms import BlankNode, Iri, Literal, QuotedTriple, Term

Solution: TypeAlias = Mapping[Variable, Term]
"""The bindings of a solution; a variable that is missing is unbound."""


def _no_exists(_pattern: Operator, _solution: Solution) -> bool:
    raise InternalError("EXISTS stands where no data can be looked at")


def _no_timestamp(_call: Timestamp, _solution: Solution) -> Term | None:
    return None


@dataclass(frozen=True, slots=True)
class EvaluationContext:
    """What an expression depends on besides the solution.

    Attributes:
        now: the instant, as NOW() gives it.
        base: the base of the query, for calls of IRI() that carry none.
        seed: bytes made from (query, instant, row); RAND() and its like follow from them.
        exists: whether a pattern has a solution compatible with this one.
        timestamp: the value of timestamp(), None if it has none.
        functions: the functions that can be called by IRI.
        calls: what they have given in this evaluation.
    """

    now: Literal
    base: str | None = None
    seed: bytes = b""
    exists: Callable[[Operator, Solution], bool] = _no_exists
    timestamp: Callable[[Timestamp, Solution], Term | None] = _no_timestamp
    functions: Functions = field(default_factory=Functions)
    calls: Calls = field(default_factory=Calls)


Evaluator: TypeAlias = Callable[[Solution, EvaluationContext], Term]
"""Gives the value of one expression, or raises ExpressionError."""


def is_volatile(expression: Expression) -> bool:
    """Whether solutions with equal inputs may get different values, outside EXISTS."""
    return any(isinstance(part, BuiltIn) and part.name in VOLATILE for part in parts(expression))


def evaluate(expression: Expression, solution: Solution, context: EvaluationContext) -> Term:
    """The value of an expression on one solution.

    Raises:
        ExpressionError: it has none, as when a variable is unbound.
    """
    return evaluator(expression, context.functions)(solution, context)


def holds(condition: Evaluator, solution: Solution, context: EvaluationContext) -> bool:
    """Whether a FILTER keeps a solution: its condition is true, not false and no error."""
    try:
        return truth(condition(solution, context))
    except ExpressionError:
        return False


def evaluator(expression: Expression, functions: Functions) -> Evaluator:
    """The function from solutions to values that an expression is."""
    match expression:
        case Variable():
            return _variable(expression)
        case Iri() | BlankNode() | Literal() | QuotedTriple():
            return lambda _solution, _context: expression
        case TriplePattern(subject, predicate, object_):
            return _strict(triple, _all((subject, predicate, object_), functions))
        case Operation(symbol, arguments):
            return _operation(symbol, _all(arguments, functions))
        case Membership(value, candidates, negated):
            first, *others = _all((value, *candidates), functions)
            return _membership(first, others, negated)
        case BuiltIn():
            return _built_in(expression, functions)
        case FunctionCall(_, arguments):
            return _call(expression, functions, _all(arguments, functions))
        case Timestamp():
            return _timestamp(expression)
        case Exists(pattern, negated):
            return lambda solution, context: _as_term(
                context.exists(pattern, solution) is not negated
            )
        case Aggregate():
            raise InternalError(f"the aggregate {expression.function} stands outside a group")
        case _:
            assert_never(expression)


def _all(arguments: tuple[Expression, ...], functions: Functions) -> list[Evaluator]:
    return [evaluator(argument, functions) for argument in arguments]


def _as_term(value: bool) -> Literal:
    return TRUE if value else FALSE


def _variable(variable: Variable) -> Evaluator:
    def value(solution: Solution, _context: EvaluationContext) -> Term:
        term = solution.get(variable)
        if term is None:
            raise ExpressionError(f"?{variable.name} is unbound")
        return term

    return value


def _strict(function: Function, arguments: list[Evaluator]) -> Evaluator:
    """A function that has a result only if all its arguments have one."""
    match arguments:
        case [one]:
            return lambda solution, context: function(one(solution, context))
        case [one, other]:
            return lambda solution, context: function(
                one(solution, context), other(solution, context)
            )
        case _:
            return lambda solution, context: function(
                *[argument(solution, context) for argument in arguments]
            )


# -- forms whose arguments may be errors -------------------------------------------------------


def _operation(symbol: str, arguments: list[Evaluator]) -> Evaluator:
    match symbol:
        case "||":
            return lambda solution, context: _as_term(
                disjunction(partial(argument, solution, context) for argument in arguments)
            )
        case "&&":
            return lambda solution, context: _as_term(
                conjunction(partial(argument, solution, context) for argument in arguments)
            )
        case _:
            return _strict(OPERATORS[symbol], arguments)


def _membership(value: Evaluator, candidates: list[Evaluator], negated: bool) -> Evaluator:
    return lambda solution, context: _as_term(
        is_member(
            value(solution, context),
            (partial(candidate, solution, context) for candidate in candidates),
        )
        is not negated
    )


def _if(condition: Evaluator, then: Evaluator, otherwise: Evaluator) -> Evaluator:
    return lambda solution, context: (
        then(solution, context)
        if truth(condition(solution, context))
        else otherwise(solution, context)
    )


def _coalesce(*arguments: Evaluator) -> Evaluator:
    def first(solution: Solution, context: EvaluationContext) -> Term:
        for argument in arguments:
            try:
                return argument(solution, context)
            except ExpressionError:
                continue
        raise ExpressionError("COALESCE() has no argument with a value")

    return first


_FORMS: Final[dict[str, Callable[..., Evaluator]]] = {"IF": _if, "COALESCE": _coalesce}


# -- functions ---------------------------------------------------------------------------------


def _built_in(call: BuiltIn, functions: Functions) -> Evaluator:
    name, arguments = call.name, call.arguments
    if name == "BOUND":
        (variable,) = arguments
        return lambda solution, _context: _as_term(variable in solution)
    evaluators = _all(arguments, functions)
    if name in _FORMS:
        return _FORMS[name](*evaluators)
    if name in _FROM_CONTEXT and not evaluators:
        make, place = _FROM_CONTEXT[name], str(call.place).encode()
        return lambda _solution, context: make(context, place)
    if name == "BNODE":
        (label,) = evaluators
        return lambda solution, context: chance.labelled_blank_node(
            context.seed, label(solution, context)
        )
    if name == "IRI" and len(evaluators) == 1:
        (relative,) = evaluators
        return lambda solution, context: iri(
            relative(solution, context), None if context.base is None else Iri(context.base)
        )
    if name in _OF_PATTERNS:
        return _count_pattern_errors(name, BUILT_INS[name], evaluators)
    return _strict(BUILT_INS[name], evaluators)


_OF_PATTERNS: Final = frozenset({"REGEX", "REPLACE"})


def _count_pattern_errors(name: str, function: Function, arguments: list[Evaluator]) -> Evaluator:
    """Wrap a function so that unusable patterns are counted."""

    def value(solution: Solution, context: EvaluationContext) -> Term:
        terms = [argument(solution, context) for argument in arguments]
        current().check(name)
        try:
            return function(*terms)
        except PatternError as error:
            context.calls.failures.note(Cause.PATTERN, name, str(error))
            raise

    return value


_FROM_CONTEXT: Final[dict[str, Callable[[EvaluationContext, bytes], Term]]] = {
    "NOW": lambda context, _place: context.now,
    "RAND": lambda context, place: chance.random_number(context.seed, place),
    "UUID": lambda context, place: chance.uuid_iri(context.seed, place),
    "STRUUID": lambda context, place: chance.uuid_text(context.seed, place),
    "BNODE": lambda context, place: chance.blank_node(context.seed, place),
}


def _call(call: FunctionCall, functions: Functions, arguments: list[Evaluator]) -> Evaluator:
    problem = functions.problem(call)
    found = functions.find(call.function.value)
    if problem is None and found is not None:
        return _strict(found.function, arguments) if is_cast(call) else _counted(found, arguments)

    def fail(_solution: Solution, _context: EvaluationContext) -> Term:
        raise ExpressionError(problem)

    return fail


def _counted(extension: Extension, arguments: list[Evaluator]) -> Evaluator:
    """A function that may be dear: it is called once for the same terms."""
    return lambda solution, context: context.calls.result(
        extension.iri,
        extension.function,
        tuple([argument(solution, context) for argument in arguments]),
    )


def _timestamp(call: Timestamp) -> Evaluator:
    def value(solution: Solution, context: EvaluationContext) -> Term:
        moment = context.timestamp(call, solution)
        if moment is None:
            raise ExpressionError(f"{call.called} has no value here")
        return moment

    return value
