"""Expressions that say the same of every solution."""

from __future__ import annotations

from typing import Final

from headrace.algebra.expressions import (
    Aggregate,
    BuiltIn,
    Expression,
    FunctionCall,
    Membership,
    Operation,
    Timestamp,
    TriplePattern,
    Variable,
)
from headrace.algebra.operators import Extend, Filter, Operator, Values
from headrace.algebra.scope import possible_in_order
from headrace.algebra.walk import parts, rewritten
from headrace.functions.errors import ExpressionError
from headrace.functions.evaluate import EvaluationContext, evaluate
from headrace.functions.logic import truth as truth_of
from headrace.rdf.terms import Literal
from headrace.rdf.vocabulary import XSD_DATE_TIME
from headrace.rewrite.conditions import is_movable


def fold_constants(operator: Operator) -> Operator:
    """What follows from constants is computed once; a filter that always holds is none.

    P FILTER (1 + 1 = 2)  ->  P        P FILTER (1 = 2)  ->  nothing
    """
    match operator:
        case Filter(condition, source):
            folded = rewritten(condition, _folded)
            truth = _truth(folded)
            if truth is not None:
                return source if truth else Values(possible_in_order(source), ())
            return operator if folded == condition else Filter(folded, source)
        case Extend(source, variable, expression):
            folded = rewritten(expression, _folded)
            return operator if folded == expression else Extend(source, variable, folded)
        case _:
            return operator


def _folded(expression: Expression) -> Expression | None:
    """The value of an expression without variables; None if it must be left."""
    if not isinstance(expression, Operation | BuiltIn | Membership) or not _is_constant(expression):
        return None
    try:
        return evaluate(expression, {}, EvaluationContext(NOWHEN))
    except ExpressionError:
        return None  # an error is told, or made into false, where it happens


def _is_constant(expression: Expression) -> bool:
    return is_movable(expression) and not any(
        isinstance(part, Variable | FunctionCall | Timestamp | TriplePattern | Aggregate)
        or (isinstance(part, BuiltIn) and part.name in _UNLIKE)
        for part in parts(expression)
    )


def _truth(condition: Expression) -> bool | None:
    """Whether a constant condition holds."""
    if isinstance(condition, Literal):
        try:
            return truth_of(condition)
        except ExpressionError:
            return False
    return None


_UNLIKE: Final = frozenset({"NOW", "IRI", "URI", "BOUND", "COALESCE"})
"""What depends on more than its arguments, or asks whether they have a value."""
NOWHEN: Final = Literal("1970-01-01T00:00:00Z", XSD_DATE_TIME)
