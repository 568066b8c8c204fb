"""Which queries of one shape that began at different times can be evaluated as one by now."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from headrace.algebra.reporting import OnArrival
from headrace.kernel.gathering import joined
from headrace.kernel.progress import Progress
from headrace.kernel.standing import Standing
from headrace.planning.sharing import Shape

See = Callable[[Standing, Standing], bool]
"""Whether two queries see the same in their windows from now on."""


def rejoined(queries: Sequence[Standing], most: Mapping[Shape, int], see: See) -> list[Standing]:
    """Queries with those put together that have come to the same state.

    One is put to another only if that is at most twice as large: so each is put together with
    others a few times only, and of one shape there are never many groups.

    Args:
        queries: those at work.
        most: how many of a shape may be one, where that is known to be limited.
        see: whether two of them see the same.
    """
    by_shape: dict[Shape, list[Standing]] = {}
    found: list[Standing] = []
    for query in queries:
        if query.members and query.failure is None and not query.waits:
            by_shape.setdefault(query.members[0].shape, []).append(query)
        else:
            found.append(query)
    for shape, same in by_shape.items():
        found += _put_together(same, most.get(shape), see) if len(same) > 1 else same
    return found


def _put_together(queries: Sequence[Standing], most: int | None, see: See) -> list[Standing]:
    found: list[Standing] = []
    for query in sorted(queries, key=_size):
        small = found[-1] if found else None
        if small is not None and _fit(small, query, most) and see(small, query):
            found[-1:] = joined([query, small] if query.since <= small.since else [small, query])
        else:
            found.append(query)
    return found


def _size(query: Standing) -> int:
    return len(query.members)


def _fit(small: Standing, large: Standing, most: int | None) -> bool:
    """Whether two may be one, as far as their sizes and what they remember go."""
    size = _size(small) + _size(large)
    return (
        2 * _size(small) >= _size(large)
        and (most is None or size <= most)
        and small.pace == large.pace
        and (small.previous is None) == (large.previous is None)
        and _goes_on(small) == _goes_on(large)
    )


def _goes_on(query: Standing) -> Progress:
    """What of its progress decides what is due next."""
    progress, arrives = query.progress, isinstance(query.plan.semantics.report, OnArrival)
    first, reported = progress.first, progress.reported
    passed = first is not None and reported is not None and first <= reported + 1
    if progress.origin is not None and (arrives or passed):
        return replace(progress, first=None, earliest=None)
    return progress
