"""The names of the uncertainty functions, and how many arguments each takes."""

from __future__ import annotations

from typing import Final, TypeGuard

from headrace.algebra.expressions import Expression, FunctionCall
from headrace.rdf.vocabulary import RSPU

ARITIES: Final = {
    RSPU + name: arity
    for name, arity in {
        "add": (2, 3),
        "subtract": (2, 3),
        "lessThan": (2, 2),
        "lessThanOrEqual": (2, 2),
        "greaterThan": (2, 2),
        "greaterThanOrEqual": (2, 2),
        "between": (3, 3),
        "mean": (1, 1),
        "variance": (1, 1),
        "quantile": (2, 2),
        "pdf": (2, 2),
        "cdf": (2, 2),
    }.items()
}
"""The least and the greatest number of arguments; the third of a sum is an approximation."""

COLUMNAR: Final = {
    RSPU + name: arguments
    for name, arguments in {
        "add": 2,
        "subtract": 2,
        "lessThan": 2,
        "lessThanOrEqual": 2,
        "greaterThan": 2,
        "greaterThanOrEqual": 2,
        "between": 3,
        "mean": 1,
        "variance": 1,
    }.items()
}
"""Those that are computed for whole columns, with so many arguments."""


def is_columnar(expression: Expression) -> TypeGuard[FunctionCall]:
    """Whether an expression is a call that can be computed for whole columns."""
    return isinstance(expression, FunctionCall) and COLUMNAR.get(expression.function.value) == len(
        expression.arguments
    )
