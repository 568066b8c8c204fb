"""Union, packing, subtraction and netting of pieces.

A key is a small number for the rows that count as equal. Pieces hold from `first` to `last`, both
included. Pieces that touch (`[0, 3]` and `[4, 9]`) leave no gap.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from headrace.execution.relation.arrays import EMPTY, Ids, run_starts, sum_runs
from headrace.execution.relation.keys import (
    are_equal,
    combine_keys,
    count_keys,
    fit_instants,
    hash_rows,
    number_both,
    number_rows,
    order_rows,
)
from headrace.execution.relation.meeting import find_meeting_rows
from headrace.execution.relation.relation import Relation
from headrace.execution.relation.row_budget import SizeCheck, check_rows

_INSTANT_BITS: Final = 22
"""So many bits of a number may be those of an instant; the others are those of a hash."""


class Pieces(NamedTuple):
    """Pieces of rows: the number of a row that each is like, and its interval."""

    row: Ids
    first: Ids
    last: Ids


def unite_pieces(key: Ids, first: Ids, last: Ids) -> Pieces:
    """Unite the pieces of each key (the rule of sets): disjoint and maximal, by key and first.

    >>> two = np.array([0, 0])
    >>> unite_pieces(two, np.array([0, 4]), np.array([3, 9]))[1:]
    (array([0]), array([9]))
    """
    if not key.size:
        return Pieces(EMPTY, EMPTY, EMPTY)
    span, (begin, end) = fit_instants(count_keys(key), first, last + 1)
    order = np.argsort(combine_keys(key, begin, span))
    key, begin, end = key[order], begin[order], end[order]
    reach = np.maximum.accumulate(combine_keys(key, end, span)) - key * span
    fresh = np.ones(key.size, np.bool_)
    fresh[1:] = (key[1:] != key[:-1]) | (begin[1:] > reach[:-1])
    starts = np.flatnonzero(fresh)
    return Pieces(order[starts], first[order[starts]], np.maximum.reduceat(last[order], starts))


def unite_rows(columns: Sequence[Ids], first: Ids, last: Ids) -> Pieces:
    """Unite the pieces of rows that are equal in some columns.

    Rows are sorted once, by a hash and the first instant in one number. Where different rows have
    the same hash, or there are many instants, they are numbered first.
    """
    low, high = (int(first.min()), int(last.max())) if first.size else (0, 0)
    bits = (high - low + 1).bit_length()
    if not columns or bits > _INSTANT_BITS:
        return unite_pieces(number_rows(columns, first.size), first, last)
    points = (hash_rows(columns) & -(1 << bits)) | (first - low)
    order = np.argsort(points)
    hashes = points[order] >> bits
    equal = hashes[1:] == hashes[:-1]
    if not are_equal(columns, order[1:][equal], order[:-1][equal]):
        return unite_pieces(number_rows(columns, first.size), first, last)
    begin, end = first[order] - low, last[order] - low + 1
    run = np.zeros(order.size, np.int64)
    np.cumsum(~equal, out=run[1:])
    reach = np.maximum.accumulate((run << bits) + end) - (run << bits)
    fresh = np.ones(order.size, np.bool_)
    fresh[1:] = ~equal | (begin[1:] > reach[:-1])
    starts = np.flatnonzero(fresh)
    if starts.size == order.size:  # no row is there twice
        return Pieces(order, first[order], last[order])
    return Pieces(order[starts], first[order[starts]], np.maximum.reduceat(last[order], starts))


def net_changes(key: Ids, instant: Ids, weight: Ids) -> tuple[Ids, Ids]:
    """Sum the weights of each key at each instant.

    Returns:
        the number of a row with the key and instant, by key and instant, and the sum, never 0.
    """
    order = order_rows(key, instant)
    starts = run_starts(key[order], instant[order])
    net = sum_runs(weight[order], starts)
    changed = net != 0
    return order[starts[changed]], net[changed]


def pack_pieces(key: Ids, first: Ids, last: Ids) -> Pieces:
    """Join the pieces of each key that touch (the rule of bags): as many copies at each instant.

    Beginnings and ends at one instant cancel out. What is left of both is as many for each key,
    and the i-th beginning goes with the i-th end.

    >>> one = np.array([0, 0, 0])
    >>> pack_pieces(one, np.array([0, 4, 2]), np.array([3, 9, 5]))[1:]
    (array([0, 2]), array([5, 9]))
    """
    rows = np.arange(key.size)
    ones = np.ones(key.size, np.int64)
    instant = np.concatenate([first, last + 1])
    example, net = net_changes(np.concatenate([key, key]), instant, np.concatenate([ones, -ones]))
    begin = np.repeat(example, np.maximum(net, 0))
    end = np.repeat(example, np.maximum(-net, 0))
    return Pieces(np.concatenate([rows, rows])[begin], instant[begin], instant[end] - 1)


def subtract_pieces(first: Ids, last: Ids, covered: Pieces) -> Pieces:
    """Remove pieces from the rows that they name, within whose intervals they lie.

    What is left of a row begins with the row or after a covered piece, and ends with the row or
    before one: the i-th beginning of a row goes with its i-th end.
    """
    united = unite_pieces(*covered)
    row = covered.row[united.row]
    every = np.arange(first.size)
    owner = np.concatenate([every, row])
    begin = np.concatenate([first, united.last + 1])
    end = np.concatenate([last + 1, united.first])
    by_begin, by_end = order_rows(owner, begin), order_rows(owner, end)
    begin, end = begin[by_begin], end[by_end]
    kept = begin < end
    return Pieces(owner[by_begin][kept], begin[kept], end[kept] - 1)


def key_rows(relation: Relation, names: Sequence[str] | None = None) -> Ids:
    """Number the rows that are equal in some columns; in all if none are named."""
    names = relation.names if names is None else names
    return number_rows([relation[name] for name in names], relation.height)


def take_pieces(relation: Relation, pieces: Pieces) -> Relation:
    """Return a row for each piece, with the interval of the piece."""
    return relation.take(pieces.row).with_intervals(pieces.first, pieces.last)


def coalesce(relation: Relation) -> Relation:
    """Make equal rows one, with disjoint and maximal pieces: the rule of sets."""
    if relation.holds_always:
        key = key_rows(relation)
        order = np.argsort(key, kind="stable")
        return relation.take(order[run_starts(key[order])])
    return take_pieces(relation, unite_rows(list(relation.columns.values()), *relation.bounds))


def pack(relation: Relation) -> Relation:
    """Join touching pieces of equal rows, and keep copies: the rule of bags."""
    if relation.holds_always:
        return relation
    return take_pieces(relation, pack_pieces(key_rows(relation), *relation.bounds))


def find_uncovered(arrived: Relation, known: Relation, check: SizeCheck = check_rows) -> Relation:
    """Return the pieces of arrived rows at which no equal row is known yet.

    Both are sets of pieces with intervals and the same columns. Only these pieces are new: a
    statement that comes again while it holds is no new match of a pattern.
    """
    arrived = coalesce(arrived)
    ours, theirs = number_both(
        list(arrived.columns.values()),
        [known[name] for name in arrived.names],
        arrived.height,
        known.height,
    )
    (first, last), (known_first, known_last) = arrived.bounds, known.bounds
    mine, other = find_meeting_rows((ours, first, last), (theirs, known_first, known_last), check)
    covered = Pieces(
        mine,
        np.maximum(first[mine], known_first[other]),
        np.minimum(last[mine], known_last[other]),
    )
    return take_pieces(arrived, subtract_pieces(first, last, covered))
