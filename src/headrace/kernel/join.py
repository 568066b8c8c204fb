"""Which solutions of two patterns belong together: join, OPTIONAL, MINUS and UNION.

Two solutions are compatible if they agree on every variable that both bind. Where no value is
unbound that is an ordinary hash join. Where some are, the rows are split by which values are
unbound, and each pair of parts is joined on what both have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np
import polars as pl

from headrace.execution.relation.coalesce import Pieces
from headrace.kernel.budget import Budget, check_hashing
from headrace.kernel.columns import CHANCE, FIRST, INSTANT, LAST
from headrace.kernel.interval_rows import (
    coalesced_rows,
    intervals_of,
    joined_rows,
    meeting_rows,
    remaining_rows,
)
from headrace.kernel.solutions import Solutions, complete

_UNNAMED: Final = "?_:."
"""How the columns of variables begin that translation and evaluation made."""
_ROW = "?_:.row"  # named as a variable, so that it is carried along like one
_OTHER = "instant of the other side"
_TOO = " on the other side"
_NUMBER: Final = 8
"""Bytes of an id."""

Condition = Callable[[Solutions], pl.Series]
"""Which of some solutions are kept: a column of truth values, null where it is an error."""


def join(left: Solutions, right: Solutions, budget: Budget) -> Solutions:
    """Join compatible solutions.

    Repeats of a set stay until they can be removed from the result. A multiset has equal solutions
    of its own, so what it is joined with has none but those that count.
    """
    if not (left.is_set and right.is_set):
        left, right = left.without_repeats(), right.without_repeats()
    if left.keyed != right.keyed:
        # What is the same at every instant has no say in which instant a solution is of.
        left, right = (left, right) if left.keyed else (right, left)
    if right.keyed and (left.has_intervals or right.has_intervals):
        left, right = left.with_intervals(()), right.with_intervals(())
    shared = shared_names(left, right)
    both_keyed = right.keyed and not right.has_intervals
    on = [*(left.key if both_keyed else []), *shared]
    others = right.frame if right.keyed else right.frame.rename({INSTANT: _OTHER})
    stamps = [name for name in left.stamps if name in others.columns]
    if stamps:
        others = others.rename({name: f"{name}{_TOO}" for name in stamps})
    known = {name for name in left.frame.columns if name not in {INSTANT, FIRST, LAST, *on}}
    if not known.isdisjoint(others.columns):  # values that the left side has brought along too
        others = others.drop(known, strict=False)
    if not _any_unbound(left.frame, shared) and not _any_unbound(others, shared):
        key = [INSTANT, *on] if right.keyed else on
        by_left, by_right = _identifies(left, key), _identifies(right, key)
        found = _matched(left.frame, others, on, budget, is_key=by_left or by_right)
        identified = _identified_by(left, right, by_left=by_left, by_right=by_right)
        found = _latest(found.drop(_OTHER) if _OTHER in found.columns else found, stamps)
        repeated = left.repeated or right.repeated
        return Solutions(found, left.keyed, identified, repeated=repeated)
    if left.repeated or right.repeated:
        return join(left.without_repeats(), right.without_repeats(), budget)
    parts = [
        _coalesced(one, other, shared, on, budget)
        for one in _by_unbound(left.frame, shared)
        for other in _by_unbound(others, shared)
    ]
    names = _all_columns(left, right)
    return left.with_frame(
        pl.concat([complete(_latest(part, stamps), names) for part in parts])
        if parts
        else complete(left.frame.clear(), names)
    )


def _all_columns(*parts: Solutions) -> list[str]:
    """The variables of some solutions, and their stream times."""
    return list(dict.fromkeys(name for part in parts for name in (*part.names, *part.stamps)))


def _latest(joined: pl.DataFrame, stamps: list[str]) -> pl.DataFrame:
    """A join in which a variable that both sides bound has the later of its times.

    Of two chances that come from the same view, the smaller one counts.
    """
    if not stamps:
        return joined
    later = [
        (pl.min_horizontal if name.startswith(CHANCE) else pl.max_horizontal)(
            name, f"{name}{_TOO}"
        ).alias(name)
        for name in stamps
    ]
    return joined.with_columns(later).drop([f"{name}{_TOO}" for name in stamps])


def left_join(
    left: Solutions,
    right: Solutions,
    condition: Condition | None,
    instants: Sequence[int],
    budget: Budget,
) -> Solutions:
    """OPTIONAL: every left solution, with each right one that fits and meets the condition."""
    if left.has_intervals or right.has_intervals:
        left = left.with_intervals(instants)
    elif right.keyed:
        left = left.expanded(instants)
    numbered = left.with_frame(left.frame.with_row_index(_ROW).cast({_ROW: pl.Int64}))
    matched = join(numbered, right, budget)
    if condition is not None:
        kept = condition(matched.with_frame(matched.frame.drop(_ROW)))
        matched = matched.with_frame(matched.frame.filter(kept.fill_null(value=False)))
    if left.has_intervals:
        pieces = Pieces(matched.frame[_ROW].to_numpy(), *intervals_of(matched.frame))
        alone = remaining_rows(numbered.frame, pieces)
    else:
        alone = numbered.frame.join(matched.frame.select(_ROW).unique(), on=_ROW, how="anti")
    names = [name for name in _all_columns(left, right) if name != _ROW]
    return left.with_frame(pl.concat([complete(matched.frame, names), complete(alone, names)]))


def minus(left: Solutions, right: Solutions, instants: Sequence[int]) -> Solutions:
    """The left solutions that no right one is compatible with and shares a variable with."""
    shared = shared_names(left, right)
    if not shared:
        return left
    if right.keyed and (left.has_intervals or right.has_intervals):
        left, right = left.with_intervals(instants), right.with_intervals(instants)
        return _without_pieces(left, right, shared)
    if right.keyed:
        left = left.expanded(instants)
    numbered = left.frame.with_row_index(_ROW)
    key = [INSTANT] if right.keyed else []
    removed = [
        _matching(one, other, [*key, *common]).select(_ROW)
        for one in _by_unbound(numbered, shared)
        for other in _by_unbound(right.frame, shared)
        if (common := [name for name in shared if _bound(one, name) and _bound(other, name)])
    ]
    if not removed:
        return left
    check_hashing(sum(map(len, removed)), "minus", columns=1)
    gone = pl.concat(removed).unique()
    return left.with_frame(numbered.join(gone, on=_ROW, how="anti").drop(_ROW))


def _without_pieces(left: Solutions, right: Solutions, shared: list[str]) -> Solutions:
    """The left solutions at the instants at which no right one removes them."""
    numbered = left.frame.with_row_index(_ROW)
    others = coalesced_rows(right.frame.select(FIRST, LAST, *shared), shared)
    budget = Budget.current()
    gone = [
        Pieces(one[_ROW].to_numpy().astype(np.int64)[rows], first, last)
        for one in _by_unbound(numbered, shared)
        for other in _by_unbound(others, shared)
        if (common := _common(one, other, shared))
        for (rows, _), (first, last) in [
            meeting_rows(one, other, common, lambda number: budget.check(number, "minus"))
        ]
    ]
    if not gone:
        return left
    every = Pieces(*(np.concatenate(each) for each in zip(*gone, strict=True)))
    return left.with_frame(remaining_rows(left.frame, every))


def union(branches: Sequence[Solutions], instants: Sequence[int]) -> Solutions:
    """The solutions of all branches."""
    keyed = any(branch.keyed for branch in branches)
    if any(branch.has_intervals for branch in branches):
        parts = [branch.with_intervals(instants) for branch in branches]
    else:
        parts = [branch.expanded(instants) if keyed else branch for branch in branches]
    names = _all_columns(*parts)
    Budget.current().check(sum(part.height for part in parts), "a union", len(names) + 1)
    return Solutions(pl.concat([complete(part.frame, names) for part in parts]), keyed)


def semi_join(left: Solutions, right: Solutions, instants: Sequence[int]) -> pl.Series:
    """Which left solutions are compatible with a right one."""
    left = left.expanded(instants) if right.keyed and not left.keyed else left
    shared = shared_names(left, right)
    numbered = left.frame.with_row_index(_ROW)
    key = [INSTANT] if right.keyed else []
    rows = [
        _compatible_rows(one, other, [*key, *_common(one, other, shared)])
        for one in _by_unbound(numbered, shared)
        for other in _by_unbound(right.frame, shared)
    ]
    found = pl.concat(rows).unique() if rows else numbered.select(_ROW).clear()
    return numbered.select(pl.col(_ROW).is_in(found[_ROW].implode())).to_series()


def _compatible_rows(one: pl.DataFrame, other: pl.DataFrame, on: list[str]) -> pl.DataFrame:
    if on:
        return _matching(one, other, on).select(_ROW)
    return one.select(_ROW) if other.height else one.select(_ROW).clear()


def _matching(one: pl.DataFrame, other: pl.DataFrame, on: list[str]) -> pl.DataFrame:
    """The rows of one part that agree with a row of another on some columns."""
    check_hashing((one.height + other.height) // 2, "a semi-join", len(on))
    return one.join(other, on=on, how="semi")


def _common(one: pl.DataFrame, other: pl.DataFrame, shared: list[str]) -> list[str]:
    return [name for name in shared if _bound(one, name) and _bound(other, name)]


def shared_names(left: Solutions, right: Solutions) -> list[str]:
    """The variables that both may bind."""
    return [name for name in left.names if name in right.frame.columns]


def _any_unbound(frame: pl.DataFrame, names: list[str]) -> bool:
    return any(frame[name].null_count() for name in names)


def _bound(frame: pl.DataFrame, name: str) -> bool:
    """Whether a column has values, in a part whose rows are all bound or all unbound in it."""
    return frame[name].null_count() == 0


def _by_unbound(frame: pl.DataFrame, names: list[str]) -> Iterator[pl.DataFrame]:
    """The rows of a frame, apart by which of the names are unbound."""
    partial = [name for name in names if frame[name].null_count()]
    if not partial:
        if frame.height:
            yield frame
        return
    flags = [pl.col(name).is_null().alias(f"{name} unbound") for name in partial]
    marked = frame.with_columns(flags)
    marks = [f"{name} unbound" for name in partial]
    yield from marked.partition_by(marks, maintain_order=True, include_key=False)


def _coalesced(
    one: pl.DataFrame, other: pl.DataFrame, shared: list[str], on: list[str], budget: Budget
) -> pl.DataFrame:
    """The join of two parts; where only one side binds a shared variable, its value counts."""
    common = _common(one, other, shared)
    keys = [name for name in on if name not in shared or name in common]
    dropped = [name for name in shared if name not in common]
    ours = one.drop([name for name in dropped if not _bound(one, name)])
    theirs = other.drop([name for name in dropped if name in ours.columns])
    return _matched(ours, theirs, keys, budget)


def _matched(
    left: pl.DataFrame, right: pl.DataFrame, on: list[str], budget: Budget, *, is_key: bool = False
) -> pl.DataFrame:
    if FIRST in right.columns and INSTANT not in left.columns:
        columns = left.width + right.width - len(on)
        what = _describe_join(on)
        return joined_rows(left, right, on, lambda rows: budget.check(rows, what, columns))
    _check_size(left, right, on, budget, is_key=is_key)
    return left.join(right, on=on, how="inner") if on else left.join(right, how="cross")


def _identified_by(
    left: Solutions, right: Solutions, *, by_left: bool, by_right: bool
) -> frozenset[str] | None:
    """Return columns that identify the rows of a join, where some are known."""
    # A row that meets at most one other one is still told from the rest by the same columns.
    if by_right:
        return left.identified_by
    if by_left:
        return right.identified_by
    if left.identified_by is None or right.identified_by is None:
        return None
    return left.identified_by | right.identified_by


def _identifies(solutions: Solutions, on: list[str]) -> bool:
    """Whether some columns are known to tell all rows apart."""
    return solutions.identified_by is not None and solutions.identified_by <= set(on)


def _check_size(
    left: pl.DataFrame, right: pl.DataFrame, on: list[str], budget: Budget, *, is_key: bool = False
) -> None:
    """Refuse a join that makes too much.

    Args:
        left: one side.
        right: the other one.
        on: the columns that both have.
        budget: what it may make.
        is_key: whether no two rows of a side agree on these columns.
    """
    columns = left.width + right.width - len(on)
    rows = left.height * right.height
    if not on:
        budget.check(rows, "a join without a shared variable", columns)
        return
    check_hashing((left.height + right.height) // 2, "a join", len(on))
    most = min(budget.rows, budget.bytes // (_NUMBER * columns))
    if rows > most and not is_key:
        check_hashing(max(left.height, right.height), "a join", len(on))
        is_key = _is_key(right, on) or _is_key(left, on)
    if is_key:
        rows = min(rows, max(left.height, right.height))
    if rows > most or not budget.meter.has_room(_NUMBER * rows * columns):
        budget.check(_size(left, right, on), _describe_join(on), columns)
    else:
        budget.check(0, "a join")


def _describe_join(on: list[str]) -> str:
    """Name a join for an error."""
    names = [name for name in on if name != INSTANT]
    return f"a join on {_shown(names)}" if names else "a join without a shared variable"


def _shown(names: list[str]) -> str:
    """List variables as the query names them."""
    shown = [name for name in names if not name.startswith(_UNNAMED)]
    if len(shown) < len(names):
        shown.append("what has no name in the query, such as a blank node or a step of a path")
    return ", ".join(shown)


def join_size(left: Solutions, right: Solutions) -> int | None:
    """How many solutions without instants a join makes; None if it is no plain join of columns."""
    shared = shared_names(left, right)
    if not shared or _any_unbound(left.frame, shared) or _any_unbound(right.frame, shared):
        return None
    return _size(left.frame, right.frame, shared)


def _is_key(frame: pl.DataFrame, on: list[str]) -> bool:
    """Whether no two rows agree on some columns, so that a join with them makes few rows."""
    return frame.select(on).n_unique() == frame.height


def _size(left: pl.DataFrame, right: pl.DataFrame, on: list[str]) -> int:
    """How many rows a join makes, from how often each key stands on either side."""
    ours = left.group_by(on).len(name="ours")
    theirs = right.group_by(on).len(name="theirs")
    pairs = ours.join(theirs, on=on, how="inner")
    return int(pairs.select((pl.col("ours").cast(pl.Int64) * pl.col("theirs")).sum()).item())
