"""Whether what is about streams stands where it can say something.

Both blocks of a temporal operator must have times, and no remote endpoint sees a stream.
"""

from __future__ import annotations

from collections.abc import Iterator

from headrace.algebra.expressions import Expression, Timestamp, TriplePattern
from headrace.algebra.operators import (
    Annotate,
    Bgp,
    Budget,
    Extend,
    Filter,
    Graph,
    Join,
    LeftJoin,
    Minus,
    Operator,
    Service,
    Temporal,
    Union,
    Window,
)
from headrace.algebra.query import Query
from headrace.algebra.walk import everywhere, expressions, inputs, parts
from headrace.errors import Source, UnsupportedError


def check_blocks(query: Query, source: Source | None = None) -> None:
    """Refuse a temporal operator that can never hold, or that stands where it cannot be evaluated.

    Raises:
        UnsupportedError: saying which, and where.
    """
    seen = any(window.in_default_graph for window in query.windows)
    for operator in everywhere(query.pattern):
        if isinstance(operator, Service):
            _check_remote(operator, source)
        elif isinstance(operator, Temporal):
            _check(operator, seen or _is_inside(operator, query.pattern), source)


def _check(operator: Temporal, seen: bool, source: Source | None) -> None:
    word = operator.relation.upper()
    for side, block in (("left", operator.left), ("right", operator.right)):
        if not has_times(block, seen):
            raise UnsupportedError(
                f"the block on the {side} of {word} has no time",
                source,
                operator.span,
                hint="only what triple patterns find in a stream has one: not static data, "
                "nor what subqueries, aggregates and property paths give",
            )


def _check_remote(service: Service, source: Source | None) -> None:
    out = "move it out of the SERVICE"
    what: str | None
    for below in everywhere(service.input):
        match below:
            case Temporal():
                what, place = below.relation.upper(), below.span
            case Window():
                what, place = "a window", service.span
            case Service(budget=Budget()):
                problem = "a SERVICE with a budget inside another is not ours to ask"
                raise UnsupportedError(problem, source, below.span, f"{out}, or leave the budget")
            case _:
                stamps = (each for each in _parts_of(below) if isinstance(each, Timestamp))
                stamp = next(stamps, None)
                what = None if stamp is None else stamp.called
                place = service.span if stamp is None else stamp.span or service.span
        if what is not None:
            problem = f"{what} is about streams, which no remote endpoint sees"
            raise UnsupportedError(problem, source, place, out)


def _parts_of(operator: Operator) -> Iterator[Expression]:
    return (part for each in expressions(operator) for part in parts(each))


def has_times(operator: Operator, seen: bool) -> bool:
    """Whether some solution of an operator may have an interval.

    Args:
        operator: what is looked at.
        seen: whether triple patterns outside any WINDOW in it see what windows hold.
    """
    match operator:
        case Bgp(patterns):
            return seen and any(isinstance(each, TriplePattern) for each in patterns)
        case Window(_, source):
            return has_times(source, seen=True)
        case Join() | LeftJoin() | Union():
            return any(has_times(each, seen) for each in inputs(operator))
        case Minus(source) | Temporal(source):
            return has_times(source, seen)
        case Filter(_, source) | Extend(source) | Graph(_, source) | Annotate(source):
            return has_times(source, seen)
        case _:
            return False


def _is_inside(operator: Operator, pattern: Operator) -> bool:
    """Whether an operator stands within WINDOW."""
    return any(
        isinstance(each, Window) and any(below is operator for below in everywhere(each.input))
        for each in everywhere(pattern)
    )
