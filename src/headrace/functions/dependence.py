"""What the value of an expression depends on besides the solution it is computed for."""

from __future__ import annotations

from headrace.algebra.expressions import BuiltIn, Exists, Expression, FunctionCall, Timestamp
from headrace.algebra.walk import parts
from headrace.functions.evaluate import is_volatile
from headrace.functions.table import is_cast


def depends_on_instant(expression: Expression) -> bool:
    """Whether an expression may differ between instants for the same inputs."""
    looks = any(isinstance(part, Exists | Timestamp) for part in parts(expression))
    return looks or uses_time(expression) or is_volatile(expression)


def is_local(expression: Expression) -> bool:
    """Whether its value on a solution follows from the terms of the solution alone."""
    return not depends_on_instant(expression)


def uses_time(expression: Expression) -> bool:
    """Whether it asks for the time of the evaluation."""
    return any(isinstance(part, BuiltIn) and part.name == "NOW" for part in parts(expression))


def is_costly(expression: Expression) -> bool:
    """Whether it calls an uncertainty function, or one that was added: those may cost anything."""
    return any(isinstance(part, FunctionCall) and not is_cast(part) for part in parts(expression))
