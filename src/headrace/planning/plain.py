"""What a plain query cannot ask for, because it is about streams and what runs over them."""

from __future__ import annotations

from headrace.algebra.expressions import Timestamp
from headrace.algebra.operators import Service, Temporal
from headrace.algebra.query import Query
from headrace.algebra.walk import everywhere, expressions, parts
from headrace.errors import Source, UnsupportedError


def check_plain(query: Query, source: Source | None = None) -> None:
    """Refuse what has a meaning beside a stream only, rather than answer as if it were not there.

    Raises:
        UnsupportedError: the query has a SERVICE with a budget, blocks in time or timestamps.
    """
    for operator in everywhere(query.pattern):
        if isinstance(operator, Service) and operator.budget is not None:
            problem = "a SERVICE with a budget is not supported here yet"
            raise UnsupportedError(problem, source, operator.span)
        if isinstance(operator, Temporal):
            problem = f"{operator.relation.upper()} is about streams, and here are none"
            raise UnsupportedError(problem, source, operator.span)
        for part in (part for each in expressions(operator) for part in parts(each)):
            if isinstance(part, Timestamp):
                problem = f"{part.called} is about streams, and here are none"
                raise UnsupportedError(problem, source, part.span)
