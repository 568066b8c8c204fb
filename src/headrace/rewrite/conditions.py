"""What must hold before an expression or an operator may be moved, copied or left out."""

from __future__ import annotations

from headrace.algebra.expressions import (
    BuiltIn,
    Exists,
    Expression,
    FunctionCall,
    Timestamp,
    Variable,
)
from headrace.algebra.operators import Operator, Service, Temporal
from headrace.algebra.scope import certain, mentioned, possible
from headrace.algebra.walk import everywhere, expressions, parts
from headrace.functions.evaluate import is_volatile


def is_movable(expression: Expression) -> bool:
    """Whether an expression says the same of a solution wherever it is evaluated.

    RAND and its like follow from the whole row, EXISTS from the data it stands over, and the
    interval of a solution from all that it has been joined with so far.
    """
    return not is_volatile(expression) and not any(
        isinstance(part, Exists) or (isinstance(part, Timestamp) and part.moment is not None)
        for part in parts(expression)
    )


def is_fixed(operator: Operator) -> bool:
    """Whether an operator has the same solutions however often it is evaluated, and wherever.

    What contains RAND or its like, or asks a remote endpoint, is left as it stands.
    """
    for each in everywhere(operator):
        if isinstance(each, Service) or any(map(is_volatile, expressions(each))):
            return False
    return True


def asks_times(operator: Operator) -> bool:
    """Whether something in an operator asks when the triples of a solution happened."""
    return any(
        isinstance(each, Temporal)
        or any(isinstance(part, Timestamp) for asked in expressions(each) for part in parts(asked))
        for each in everywhere(operator)
    )


def timed_variables(expression: Expression) -> frozenset[Variable]:
    """The variables whose times an expression asks for: a join can change those."""
    return frozenset(
        variable
        for part in parts(expression)
        if isinstance(part, Timestamp)
        for variable in mentioned(part)
    )


def is_about(expression: Expression, operator: Operator, *others: Operator) -> bool:
    """Whether an expression reads what an operator always binds, and nothing others may bind."""
    variables = mentioned(expression)
    return (
        is_movable(expression)
        and variables <= certain(operator)
        and all(variables.isdisjoint(possible(other)) for other in others)
    )


def cost(expression: Expression) -> int:
    """How dear an expression is to evaluate for a solution, roughly.

    Comparisons are done on whole columns; functions by name one distinct input at a time; what
    others have written may cost anything; EXISTS looks at the data.
    """
    total = 0
    for part in parts(expression):
        match part:
            case Exists():
                total += _EXISTS
            case FunctionCall():
                total += _EXTENSION
            case BuiltIn() | Timestamp():
                total += _FUNCTION
            case _:
                total += 1
    return total


_FUNCTION, _EXTENSION, _EXISTS = 20, 200, 1_000
