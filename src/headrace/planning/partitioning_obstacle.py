"""The obstacle that keeps a query from being evaluated in parts, in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from headrace.algebra.expressions import TriplePattern, Variable
from headrace.algebra.operators import (
    Annotate,
    Graph,
    Group,
    LeftJoin,
    Minus,
    Operator,
    OrderBy,
    Project,
    Slice,
    Temporal,
    Union,
    Window,
)
from headrace.algebra.paths import PathPattern

Pattern = TriplePattern | PathPattern


@dataclass(frozen=True, slots=True)
class Obstacle:
    """The operator at which parts would be wrong.

    Attributes:
        operator: the operator.
        is_kept_by_times: whether its input could be evaluated in parts, if no part above used the
            timestamps of solutions.
    """

    operator: Operator
    is_kept_by_times: bool = False


def describe_obstacle(
    patterns: Sequence[Pattern],
    keys: Sequence[Variable],
    find_obstacle: Callable[[Variable], Obstacle | None],
) -> str:
    """Name the pattern or operator at which parts would be wrong.

    Args:
        patterns: those that read streams.
        keys: the variables of its patterns.
        find_obstacle: the operator at which parts by a variable would be wrong.
    """
    if not patterns:
        return "no pattern of it reads a stream"
    if any(isinstance(each, PathPattern) for each in patterns):
        return "a property path over windows or named graphs is not followed in parts"
    shared = [key for key in keys if all(key in _terms(each) for each in patterns)]
    for key in shared:
        at = find_obstacle(key)
        if at is not None:
            name = "the blank node" if key.is_anonymous else f"?{key.name}"
            if at.is_kept_by_times:
                return (
                    "the operators above its parts use timestamps of solutions, which parts do "
                    "not report"
                )
            return f"its patterns are joined on {name}, but {_describe(at.operator, name)}"
    return "its patterns are not all joined on one variable"


def _terms(pattern: Pattern) -> tuple[object, ...]:
    if isinstance(pattern, PathPattern):
        return ()
    return (pattern.subject, pattern.predicate, pattern.object)


def _describe(operator: Operator, key: str) -> str:
    """Write the reason why parts cannot evaluate an operator."""
    match operator:
        case Group() | Annotate():
            return f"{key} is no key of an aggregation in it"
        case Project():
            return f"a subquery does not select {key}"
        case OrderBy() | Slice():
            return "a subquery has ORDER BY or LIMIT, which are about all of its solutions"
        case LeftJoin() | Temporal():
            return "what an optional pattern is added to reads no stream"
        case Minus():
            return "what MINUS takes away from reads no stream"
        case Union():
            return "not every branch of a UNION reads a stream"
        case Graph() | Window():
            return "a pattern without triples counts the graphs that there are"
        case _:
            return "an EXISTS reads streams and the pattern around it does not"
