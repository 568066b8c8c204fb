"""Which queries at work are evaluated as one, and what becomes of those that cannot be any more."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence

import polars as pl

from headrace.kernel.group import Group
from headrace.kernel.members import MEMBER
from headrace.kernel.standing import Standing
from headrace.planning.sharing import Lifted, together


def gathered(queries: Sequence[Standing], may: Callable[[Standing], bool]) -> list[Standing]:
    """Queries with those of one shape as one, if all that they remember is the same.

    Args:
        queries: some of which may be groups already.
        may: whether one that is alone may be evaluated with others.
    """
    found: dict[Hashable, list[Standing]] = {}
    for number, query in enumerate(queries):
        alone = isinstance(query, Group) or not may(query) or not query.members
        found.setdefault(number if alone else _state(query), []).append(query)
    return [each for same in found.values() for each in joined(same)]


def _state(query: Standing) -> Hashable:
    """What queries must have in common to be evaluated as one."""
    return (
        query.members[0].shape,
        query.since,
        query.progress,
        query.pace,
        query.previous is None,
        query.failure,
        query.waits,
    )


def joined(queries: Sequence[Standing]) -> Sequence[Standing]:
    """Queries of one shape and in one state as one; as they were if that cannot be."""
    if len(queries) == 1 or queries[0].failure is not None or queries[0].waits:
        return queries
    pieces = [piece for query in queries for piece in _pieces(query)]
    group = _group([member for member, _ in pieces], queries[0])
    if group is None:
        return queries
    group.since = min(query.since for query in queries)
    group.previous = _numbered([previous for _, previous in pieces])
    return [group]


def taken_apart(group: Group, tell: Callable[[Standing], None]) -> Iterator[Standing]:
    """The members of a group that has failed, in halves, until those are found that fail alone.

    Args:
        group: as it was before it failed.
        tell: evaluates some of them.
    """
    pieces = list(_pieces(group))
    middle = (len(pieces) + 1) // 2
    for half in (pieces[:middle], pieces[middle:]):
        for part in _parts(half, group):
            tell(part)
            if isinstance(part, Group) and part.failure is not None:
                yield from taken_apart(part, tell)
            else:
                yield part


def singles(group: Group) -> list[Standing]:
    """Return the members of a group, each for itself."""
    return [part for piece in _pieces(group) for part in _parts([piece], group)]


def without(queries: Sequence[Standing], name: str) -> list[Standing]:
    """Queries without one of them; a group that has lost half of its members is made anew."""
    found: list[Standing] = []
    for query in queries:
        if isinstance(query, Group) and name in query.plan.members:
            found += _parts(list(_pieces(query)), query) if query.leave(name) else [query]
        elif query.plan.name != name:
            found.append(query)
    return found


_Piece = tuple[Lifted, pl.DataFrame | None]


def _pieces(query: Standing) -> Iterator[_Piece]:
    """The members of a group that have not left it, with their last answers."""
    for member, (_, previous) in zip(_staying(query), query.answered(), strict=True):
        yield member, previous


def _staying(query: Standing) -> list[Lifted]:
    left = query.left if isinstance(query, Group) else ()
    return [each for number, each in enumerate(query.members) if number not in left]


def _parts(pieces: Sequence[_Piece], like: Standing) -> list[Standing]:
    """Members as a group, or each alone if there is only one or they cannot be one."""
    if len(pieces) > 1:
        group = _group([member for member, _ in pieces], like)
        if group is not None:
            group.previous = _numbered([previous for _, previous in pieces])
            return [group]
    found = []
    for member, previous in pieces:
        alone = Standing(member.plan)
        alone.begin_like(like)
        alone.previous = previous
        found.append(alone)
    return found


def _group(members: Sequence[Lifted], like: Standing) -> Group | None:
    plan = together(members)
    return None if plan is None else Group(members, plan, like)


def _numbered(previous: Sequence[pl.DataFrame | None]) -> pl.DataFrame | None:
    """The last answers of members in one frame."""
    frames = [
        frame.with_columns(pl.lit(number, pl.Int64).alias(MEMBER))
        for number, frame in enumerate(previous)
        if frame is not None
    ]
    return pl.concat(frames) if frames else None
