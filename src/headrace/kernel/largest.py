"""The query with the largest windows, which is stopped when the process uses too much memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from headrace.errors import LimitError
from headrace.kernel.gathering import singles
from headrace.kernel.group import Group
from headrace.kernel.standing import Standing

_LARGE: Final = 100_000
"""Windows of fewer statements are not what uses up the memory."""


def stop_largest(
    queries: Sequence[Standing], size: Callable[[Standing], int], excess: str
) -> dict[Standing, Sequence[Standing]]:
    """Stop the running query with the largest windows, if they are large.

    Args:
        queries: all queries.
        size: counts the statements that the windows of a query may still need.
        excess: how much memory the process uses, for the error.

    Returns:
        The query that was stopped, with itself or its members, which have stopped; nothing if
        there is none.
    """
    sizes = {query: size(query) for query in queries if query.failure is None}
    largest = max(sizes, key=sizes.__getitem__, default=None)
    if largest is None or sizes[largest] < _LARGE:
        return {}
    problem = (
        f"{excess}, and no query has larger windows: {sizes[largest]:,} statements; "
        "make them narrower"
    )
    parts = singles(largest) if isinstance(largest, Group) else [largest]
    for part in parts:
        part.failure = str(LimitError("memory", problem))
    return {largest: parts}
