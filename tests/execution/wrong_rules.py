"""Rules that are wrong, each put in the place of the right one: the random tests must find it.

Most are those that INTERVAL_RULES names. Run `python -m tests.execution.wrong_rules` for the
number of cases that each needs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Final

import numpy as np
import pytest

from headrace.execution.aggregates import counts, doubles, groups, integers
from headrace.execution.operators import join as joins
from headrace.execution.operators import latest_time, limit, minus, optional, scan, unmatched
from headrace.execution.output import changes
from headrace.execution.relation import (
    coalesce,
    compatible,
    epochs,
    halving,
    keys,
    meeting,
    pieces,
    slots,
)
from headrace.execution.relation.arrays import EMPTY, Ids, rank_within, run_starts
from headrace.execution.relation.coalesce import Pieces
from headrace.execution.relation.least_cover import find_least_ranks
from headrace.execution.relation.relation import NO_TIME, Relation, concat_relations
from tests.execution import checks, group_checks, plan_checks

Check = Callable[[Random], None]
Put = Callable[[pytest.MonkeyPatch], None]

MOST_CASES: Final = 3000


@dataclass(frozen=True)
class WrongRule:
    """A wrong rule, how it is put in, and the check that must find it."""

    name: str
    put: Put
    check: Check


def count_cases(rule: WrongRule, most: int = MOST_CASES) -> int | None:
    """Return how many cases its check needs to find a wrong rule; none if it does not."""
    with pytest.MonkeyPatch.context() as patch:
        rule.put(patch)
        for number in range(most):
            try:
                rule.check(Random(f"{rule.name} {number}"))
            except AssertionError:
                return number + 1
    return None


def instead_of(right: Callable[..., Any], wrong: Callable[..., Any]) -> Put:
    """Replace a function in every module that has imported it."""

    def put(patch: pytest.MonkeyPatch) -> None:
        for name, module in list(sys.modules.items()):
            if name.startswith(("headrace.execution", "tests.execution")):
                for attribute, value in list(vars(module).items()):
                    if value is right and module.__name__ != __name__:
                        patch.setattr(module, attribute, wrong)

    return put


def instead_of_method(owner: type, name: str, wrong: object) -> Put:
    return lambda patch: patch.setattr(owner, name, wrong)


# -- coalescing, packing, state ---------------------------------------------------------------


def _unite_nothing(key: Ids, first: Ids, last: Ids) -> Pieces:
    order = keys.order_rows(key, first)
    return Pieces(order, first[order], last[order])


def _unite_with_the_last(key: Ids, first: Ids, last: Ids) -> Pieces:
    """Compare a piece with the one before it only, not with the greatest end so far."""
    order = keys.order_rows(key, first)
    key, begin, end = key[order], first[order], last[order]
    fresh = np.ones(key.size, np.bool_)
    fresh[1:] = (key[1:] != key[:-1]) | (begin[1:] > end[:-1] + 1)
    starts = np.flatnonzero(fresh)
    ends = np.maximum.reduceat(end, starts) if starts.size else EMPTY
    return Pieces(order[starts], begin[starts], ends)


def _unite_over_gaps(key: Ids, first: Ids, last: Ids) -> Pieces:
    """Take a statement for one interval, from its first instant to its last."""
    order = keys.order_rows(key, first)
    starts = run_starts(key[order])
    ends = np.maximum.reduceat(last[order], starts) if starts.size else EMPTY
    return Pieces(order[starts], first[order][starts], ends)


def _pack_without_netting(key: Ids, first: Ids, last: Ids) -> Pieces:
    order = np.argsort(key, kind="stable")
    return Pieces(order, first[order], last[order])


def _scan_projected(
    contents: Sequence[Relation], _identity: Sequence[str], names: Sequence[str], instants: int
) -> Relation:
    every = concat_relations([each.select(names) for each in contents], instants)
    return coalesce.coalesce(every)


def _scan_without_times(
    contents: Sequence[Relation], _identity: Sequence[str], names: Sequence[str], instants: int
) -> Relation:
    every = concat_relations([each.select(checks.STATEMENT) for each in contents], instants)
    return coalesce.coalesce(every).select(names)


def _scan_without_coalescing(
    contents: Sequence[Relation], identity: Sequence[str], names: Sequence[str], instants: int
) -> Relation:
    return concat_relations([each.select(identity) for each in contents], instants).select(names)


def _arrived_as_it_is(arrived: Relation, *_: object) -> Relation:
    return coalesce.coalesce(arrived)


def _unknown_statements(arrived: Relation, known: Relation, *_: object) -> Relation:
    """Drop a statement that is known at any instant, with all of its pieces."""
    seen = set(zip(*(known[name].tolist() for name in arrived.names), strict=True))
    rows = zip(*(arrived[name].tolist() for name in arrived.names), strict=True)
    return coalesce.coalesce(arrived.filter(np.array([row not in seen for row in rows], np.bool_)))


def _number_apart(columns: Sequence[Ids], height: int) -> Ids:
    """Give rows without columns no common key."""
    return _number_rows(columns, height) if columns else np.arange(height)


_number_rows = keys.number_rows


def _always_now(relation: Relation, instants: int) -> Relation:
    """Take "always" for the first instant."""
    found = _over(relation, instants)
    return replace(found, last=found.first) if relation.holds_always else found


_over = Relation.over


def _epochs_of_beginnings(relations: Sequence[Relation], instants: int) -> epochs.Epochs:
    points = [np.zeros(1, np.int64), *(each.bounds[0] for each in relations if each.intervals)]
    return epochs.Epochs(np.unique(np.concatenate(points)), instants)


def _epochs_of_one(relations: Sequence[Relation], instants: int) -> epochs.Epochs:
    """Forget all relations but the first."""
    return _epochs_of(relations[:1], instants)


_epochs_of = epochs.Epochs.of


# -- joins --------------------------------------------------------------------------------------


def _split_nothing(relation: Relation, names: Sequence[str]) -> list[tuple[list[str], Ids]]:
    """Compare unbound values like others: null = null."""
    return [(list(names), np.arange(relation.height))]


def _split_bound(relation: Relation, names: Sequence[str]) -> list[tuple[list[str], Ids]]:
    """Drop rows in which a shared variable is unbound."""
    bound = np.ones(relation.height, np.bool_)
    for name in names:
        bound &= relation.is_bound(name)
    return [(list(names), np.flatnonzero(bound))]


def _bucket_pairs(
    left: meeting.Keyed, right: meeting.Keyed, width: int, every: bool
) -> set[tuple[int, int, int]]:
    """Pair the rows of one bucket and key that meet, with the number of the bucket."""

    def buckets(first: int, last: int) -> set[int]:
        ends = {first // width, last // width}
        return set(range(first // width, last // width + 1)) if every else ends

    rows = [list(zip(*map(np.ndarray.tolist, side), strict=True)) for side in (left, right)]
    return {
        (i, j, bucket)
        for i, (key, first, last) in enumerate(rows[0])
        for j, (other, begin, end) in enumerate(rows[1])
        if key == other and first <= end and begin <= last
        for bucket in buckets(first, last) & buckets(begin, end)
    }


def _pair_by_ends(left: meeting.Keyed, right: meeting.Keyed, *_: object) -> meeting.RowPairs:
    """Put a row into the bucket of its first and of its last instant, and no other."""
    pairs = sorted({pair[:2] for pair in _bucket_pairs(left, right, 2, every=False)})
    return _columns(pairs)


def _pair_by_bucket(left: meeting.Keyed, right: meeting.Keyed, *_: object) -> meeting.RowPairs:
    """Repeat rows in all buckets, and find a pair in each of them."""
    return _columns([pair[:2] for pair in sorted(_bucket_pairs(left, right, 3, every=True))])


def _pair_later_only(left: meeting.Keyed, right: meeting.Keyed, *_: object) -> meeting.RowPairs:
    """Find only right rows that begin within a left one."""
    pairs = _bucket_pairs(left, right, 2**40, every=True)
    first, other = left[1].tolist(), right[1].tolist()
    return _columns(sorted(pair[:2] for pair in pairs if first[pair[0]] <= other[pair[1]]))


def _pair_begins_at_once(left: meeting.Keyed, right: meeting.Keyed, *_: object) -> meeting.RowPairs:
    """Look up on both sides with the beginning included: what begins at once is found twice."""
    pairs = sorted(pair[:2] for pair in _bucket_pairs(left, right, 2**40, every=True))
    first, other = left[1].tolist(), right[1].tolist()
    return _columns([*pairs, *(pair for pair in pairs if first[pair[0]] == other[pair[1]])])


def _columns(pairs: Sequence[tuple[int, ...]]) -> meeting.RowPairs:
    array = np.array(pairs, np.int64).reshape(-1, 2)
    return array[:, 0], array[:, 1]


def _earlier_time(name: str, left: Relation, right: Relation, pairs: compatible.Pairs) -> Ids:
    if name in left.columns and name in right.columns and name.startswith("time of "):
        return np.minimum(left[name][pairs.left], right[name][pairs.right])
    return _merge_column(name, left, right, pairs)


_merge_column = joins._merge_column


def _united_interval(left: Relation, rows: Ids, right: Relation, others: Ids) -> tuple[Ids, ...]:
    """Let a pair hold as long as its left row."""
    return _intersect(left, rows, right, others) and (
        tuple(each[rows] for each in left.intervals) or _intersect(left, rows, right, others)
    )


_intersect = compatible._intersect


# -- OPTIONAL, MINUS, EXISTS, limits, times -------------------------------------------------------


def _optional_before_the_condition(
    left: Relation,
    right: Relation,
    instants: int,
    condition: optional.Condition | None = None,
    *_: object,
) -> Relation:
    """Remove all matches, also those that do not pass the condition."""
    joined = joins.join(left, right)
    kept = joined if condition is None else condition(joined)
    pairs = compatible.pair_compatible(left, right)
    matches = unmatched.match_pieces(pairs.left, pairs.intervals, instants)
    return concat_relations([kept, _remove_matches(left, matches, instants)], instants)


_remove_matches = unmatched.remove_matches


def _remove_whole_rows(left: Relation, matches: Pieces, _instants: int) -> Relation:
    """Remove a row that has a match at any instant."""
    return left.filter(~np.isin(np.arange(left.height), matches.row))


def _remove_by_value(left: Relation, matches: Pieces, instants: int) -> Relation:
    """Take equal left rows for one."""
    return coalesce.coalesce(_remove_matches(left, matches, instants))


def _look_once(relation: Relation, instants: int, *_: object) -> Relation:
    """Look at NOW() once for each interval."""
    return relation.over(instants)


def _pair_disjoint_too(left: Relation, right: Relation, **_: object) -> compatible.Pairs:
    """Take a shared column for a shared variable, whether or not the row binds it."""
    if not compatible.share_variables(left, right):
        return compatible.Pairs(EMPTY, EMPTY, (EMPTY, EMPTY))
    return _pair_compatible(left, right)


_pair_compatible = compatible.pair_compatible


def _always_in_order(_relation: Relation, _same: object) -> bool:
    return True


def _static_is_latest(
    relation: Relation, statement: Sequence[str], time: str, instants: int
) -> Relation:
    """Take "no time" for the greatest of times."""
    late = np.where(relation[time] == NO_TIME, 10**9, relation[time])
    found = _keep_latest(relation.with_column(time, late), statement, time, instants)
    return found.with_column(time, np.where(found[time] == 10**9, NO_TIME, found[time]))


_keep_latest = latest_time.keep_latest_times


def _limit_all(
    relation: Relation, rank: Ids, _instants: int, bounds: tuple[int, int | None], *_: object
) -> Relation:
    """Rank rows among all, not among what else holds then."""
    offset, most = bounds
    rows = np.argsort(rank, kind="stable")[offset:]
    return relation.take(rows if most is None else rows[:most])


# -- groups -------------------------------------------------------------------------------------


def _find_slots_without_netting(key: Ids, first: Ids, last: Ids) -> slots.Slots:
    """Make every beginning and end a change point of its own."""
    every, instants = np.concatenate([key, key]), np.concatenate([first, last + 1])
    order = keys.order_rows(every, instants)
    slot = np.empty(order.size, np.int64)
    slot[order] = np.arange(order.size)
    return slots.Slots(every[order], instants[order], slot[: key.size], slot[key.size :])


def _form_without_gaps(
    relation: Relation, names: Sequence[str], instants: int, presence: Relation | None = None
) -> groups.Grouping:
    """Let a group without keys live where a row holds."""
    return _form_groups(relation, names, instants, presence or Relation.empty(names))


def _form_without_presence(
    relation: Relation, names: Sequence[str], instants: int, _: Relation | None = None
) -> groups.Grouping:
    return _form_groups(relation, names, instants)


_form_groups = groups.form_groups


def _accumulate_for_ever(self: slots.Slots, weights: Ids) -> Ids:
    """Add what begins, and never take back what ends; each key begins anew."""
    added = np.zeros(self.count, np.int64)
    np.add.at(added, self.begin, weights)
    total = np.cumsum(added)
    starts = run_starts(self.key)
    before = (total - added)[starts]
    return total - np.repeat(before, np.diff(starts, append=self.count))


def _bridge_gaps(found: slots.Slots) -> Ids:
    """Let a group live from its first row to its last."""
    return np.flatnonzero(np.append(found.key[1:] == found.key[:-1], False)[: found.count])


def _count_for_ever(grouping: groups.Grouping, flags: Ids) -> Ids:
    weights = np.zeros(grouping.slots.begin.size, np.int64)
    weights[: flags.size] = flags
    return _accumulate_for_ever(grouping.slots, weights)[grouping.live]


def _keep_all(self: groups.Grouping, _columns: object, wanted: Ids) -> groups.Grouping:
    """Count each row, also where its value is there already."""
    rows = np.flatnonzero(wanted)
    begin, end = self.slots.begin[rows], self.slots.end[rows]
    return replace(
        self,
        slots=replace(self.slots, begin=begin, end=end),
        key=self.key[rows],
        members=self.members.take(rows).with_column(groups.ORIGINAL, rows),
    )


def _sum_as_doubles(grouping: groups.Grouping, values: Ids) -> list[int]:
    return [int(each) for each in _run_doubles(grouping, values.astype(np.float64))]


def _run_doubles(grouping: groups.Grouping, values: doubles.Doubles) -> doubles.Doubles:
    """Keep running sums of doubles."""
    found, height = grouping.slots, grouping.members.height
    changes_of_sums = np.zeros(found.count, np.float64)
    np.add.at(changes_of_sums, found.begin[:height], values)
    np.subtract.at(changes_of_sums, found.end[:height], values)
    return np.cumsum(changes_of_sums)[grouping.live]


def _run_specials(grouping: groups.Grouping, values: doubles.Doubles) -> doubles.Doubles:
    """Add infinities to the running sums."""
    if np.isfinite(values).all():
        return _sum_doubles(grouping, values)
    with np.errstate(invalid="ignore", over="ignore"):
        return _run_doubles(grouping, values)


_sum_doubles = doubles.sum_doubles


def _least_at_the_beginning(begin: Ids, _end: Ids, rank: Ids, count: int) -> Ids:
    """Keep the least so far: it does not leave."""
    least = np.full(count, np.iinfo(np.int64).max)
    np.minimum.at(least, begin, rank)
    return np.minimum.accumulate(least)


def _least_of_one_stretch(begin: Ids, end: Ids, rank: Ids, count: int) -> Ids:
    """Cover only the first of the two stretches of a row."""
    level = np.frexp(end - begin)[1] - 1
    return _find_least(begin, begin + (1 << level), rank, count)


_find_least = find_least_ranks


# -- emission -----------------------------------------------------------------------------------


def _find_beginnings(answers: Relation, _before: changes.Answer, instants: int) -> changes.Changes:
    """Emit what begins; DSTREAM: what has ended."""
    answers = answers.over(instants)
    first, last = answers.bounds
    rows = concat_relations([answers, answers], instants)
    instant = np.concatenate([first, last + 1])
    ones = np.ones(answers.height, np.int64)
    within = np.flatnonzero(instant < instants)
    found = Pieces(within, instant[within], instant[within])
    net = np.concatenate([ones, -ones])[within]
    return changes.Changes(coalesce.take_pieces(rows, found), net)


def _find_changes_of_sets(
    answers: Relation, before: changes.Answer, instants: int
) -> changes.Changes:
    """Coalesce answers first: copies are lost."""
    once = changes.Answer(before.rows, np.ones_like(before.counts))
    return _find_changes(coalesce.coalesce(answers), once, instants)


_find_changes = changes.find_changes


def _forget_answer(answers: Relation, _before: changes.Answer, _: int) -> changes.Answer:
    return changes.Answer.nothing(answers.names)


def _forget_without_instants(
    answers: Relation, before: changes.Answer, instants: int
) -> changes.Answer:
    """Take a step without an evaluated instant for one with an empty answer."""
    return (
        _find_last(answers, before, instants) if instants else changes.Answer.nothing(answers.names)
    )


_find_last = changes.find_last_answer


def _number_then_skip(relation: Relation, evaluated: Ids) -> Relation:
    """Drop rows that begin at an instant that is skipped."""
    if relation.holds_always:
        return relation
    first, last = relation.bounds
    begin = np.searchsorted(evaluated, first, "left")
    end = np.searchsorted(evaluated, last, "right") - 1
    kept = np.isin(first, evaluated) | (first < (evaluated[0] if evaluated.size else 0))
    return relation.with_intervals(begin, end).filter(kept & (begin <= end))


def _cut_off_by_one(relation: Relation, instants: Ids) -> Relation:
    """Cut after the instants instead of before."""
    return _cut(relation, instants + 1)


_cut = pieces.cut


def _number_among_all(single: Relation) -> Ids:
    """Number the equal rows of all instants."""
    return rank_within(coalesce.key_rows(single))


def _halve_instants(relations: Sequence[Relation], instants: int) -> int | None:
    """Take the middle of the instants, however long the rows are."""
    return instants // 2 if instants > 1 and any(each.height for each in relations) else None


def _clip_the_last(relation: Relation, first: int, last: int) -> Relation:
    """Clip to what begins within the instants."""
    found = relation.over(last + 1)
    inside = (found.bounds[0] >= first) & (found.bounds[0] <= last)
    begin, end = found.bounds
    return found.with_intervals(begin, np.minimum(end, last)).filter(inside)


RULES: Final = (
    WrongRule(
        "nothing is coalesced",
        instead_of(scan.scan_statements, _scan_without_coalescing),
        checks.check_scan,
    ),
    WrongRule(
        "coalesced on projected columns",
        instead_of(scan.scan_statements, _scan_projected),
        checks.check_scan,
    ),
    WrongRule(
        "time is not of the identity",
        instead_of(scan.scan_statements, _scan_without_times),
        checks.check_scan,
    ),
    WrongRule(
        "pieces are not united",
        instead_of(coalesce.unite_pieces, _unite_nothing),
        checks.check_distinct,
    ),
    WrongRule(
        "pieces are compared with the one before",
        instead_of(coalesce.unite_pieces, _unite_with_the_last),
        checks.check_coalesce,
    ),
    WrongRule(
        "a statement has one interval",
        instead_of(coalesce.unite_pieces, _unite_over_gaps),
        checks.check_coalesce,
    ),
    WrongRule(
        "pack as the rule of sets",
        instead_of(coalesce.pack_pieces, coalesce.unite_pieces),
        checks.check_pack,
    ),
    WrongRule(
        "pack without netting",
        instead_of(coalesce.pack_pieces, _pack_without_netting),
        checks.check_pack,
    ),
    WrongRule(
        "rows without columns are different",
        instead_of(keys.number_rows, _number_apart),
        checks.check_distinct,
    ),
    WrongRule(
        "always is the first instant",
        instead_of_method(Relation, "over", _always_now),
        checks.check_minus,
    ),
    WrongRule(
        "raw re-arrival in state",
        instead_of(coalesce.find_uncovered, _arrived_as_it_is),
        checks.check_delta_join,
    ),
    WrongRule(
        "known at one instant is known",
        instead_of(coalesce.find_uncovered, _unknown_statements),
        checks.check_uncovered,
    ),
    WrongRule(
        "paths known at one instant are known",
        instead_of(coalesce.find_uncovered, _unknown_statements),
        checks.check_closure,
    ),
    WrongRule(
        "epochs begin at beginnings only",
        instead_of_method(epochs.Epochs, "of", _epochs_of_beginnings),
        checks.check_epochs,
    ),
    WrongRule(
        "epochs forget a relation",
        instead_of_method(epochs.Epochs, "of", _epochs_of_one),
        plan_checks.check_plans_by_epoch,
    ),
    WrongRule(
        "cut one instant too late", instead_of(pieces.cut, _cut_off_by_one), checks.check_cutting
    ),
    WrongRule(
        "parts have what begins in them",
        instead_of(pieces.clip, _clip_the_last),
        plan_checks.check_plans_in_parts,
    ),
    WrongRule(
        "copies are numbered among all instants",
        instead_of(pieces.number_copies, _number_among_all),
        checks.check_copies,
    ),
    WrongRule(
        "the middle instant halves rows",
        instead_of(halving.find_halving, _halve_instants),
        checks.check_halving,
    ),
    WrongRule(
        "MINUS takes the number of the query for a variable",
        lambda patch: patch.setattr(compatible, "MEMBER", "no column"),
        plan_checks.check_plans_of_several_queries,
    ),
    WrongRule(
        "LIMIT among the rows of all queries",
        lambda patch: patch.setattr(limit, "MEMBER", "no column"),
        plan_checks.check_plans_of_several_queries,
    ),
    WrongRule(
        "null = null", instead_of(compatible._split_by_bound, _split_nothing), checks.check_join
    ),
    WrongRule(
        "rows with nulls join nothing",
        instead_of(compatible._split_by_bound, _split_bound),
        checks.check_join,
    ),
    WrongRule(
        "buckets of first and last only",
        instead_of(meeting.find_meeting_rows, _pair_by_ends),
        checks.check_join,
    ),
    WrongRule(
        "rows repeated in buckets",
        instead_of(meeting.find_meeting_rows, _pair_by_bucket),
        checks.check_join,
    ),
    WrongRule(
        "only right rows begin later",
        instead_of(meeting.find_meeting_rows, _pair_later_only),
        checks.check_join,
    ),
    WrongRule(
        "equal beginnings are found twice",
        instead_of(meeting.find_meeting_rows, _pair_begins_at_once),
        checks.check_join,
    ),
    WrongRule(
        "single instants without the instant",
        instead_of(compatible._add_instants, Relation.without_intervals),
        plan_checks.check_plans_at_single_instants,
    ),
    WrongRule(
        "the earlier of times", instead_of(joins._merge_column, _earlier_time), checks.check_join
    ),
    WrongRule(
        "a pair holds as long as its left row",
        instead_of(compatible._intersect, _united_interval),
        checks.check_join,
    ),
    WrongRule(
        "OPTIONAL before its condition",
        instead_of(optional.optional, _optional_before_the_condition),
        checks.check_optional,
    ),
    WrongRule(
        "OPTIONAL by value",
        instead_of(unmatched.remove_matches, _remove_by_value),
        checks.check_optional,
    ),
    WrongRule(
        "a match at one instant is one at all",
        instead_of(unmatched.remove_matches, _remove_whole_rows),
        checks.check_optional,
    ),
    WrongRule(
        "NOW once for an interval", instead_of(pieces.expand, _look_once), checks.check_optional
    ),
    WrongRule(
        "MINUS by columns",
        lambda patch: patch.setattr(minus, "pair_compatible", _pair_disjoint_too),
        checks.check_minus,
    ),
    WrongRule(
        "EXISTS repeats rows",
        instead_of(unmatched.unite_matches, lambda matches: matches),
        checks.check_exists,
    ),
    WrongRule(
        "until its triple comes again",
        instead_of(latest_time._expires_in_order, _always_in_order),
        checks.check_latest_time,
    ),
    WrongRule(
        "static data are the latest",
        instead_of(latest_time.keep_latest_times, _static_is_latest),
        checks.check_latest_time,
    ),
    WrongRule("LIMIT among all rows", instead_of(limit.limit_rows, _limit_all), checks.check_limit),
    WrongRule(
        "change points are not netted",
        instead_of_method(slots.Slots, "of", _find_slots_without_netting),
        group_checks.check_counts,
    ),
    WrongRule(
        "no group in gaps",
        instead_of(groups.form_groups, _form_without_gaps),
        group_checks.check_counts,
    ),
    WrongRule(
        "no group in an empty graph",
        instead_of(groups.form_groups, _form_without_presence),
        group_checks.check_counts,
    ),
    WrongRule(
        "a group lives on",
        instead_of(groups.find_live_slots, _bridge_gaps),
        group_checks.check_members,
    ),
    WrongRule(
        "COUNT DISTINCT counts rows",
        instead_of_method(groups.Grouping, "keep_distinct", _keep_all),
        group_checks.check_counts,
    ),
    WrongRule(
        "a double stays in the kind",
        instead_of(counts.count_flagged, _count_for_ever),
        group_checks.check_kinds,
    ),
    WrongRule(
        "integers as doubles",
        instead_of(integers.sum_integers, _sum_as_doubles),
        group_checks.check_integers,
    ),
    WrongRule(
        "running doubles", instead_of(doubles._sum_finite, _run_doubles), group_checks.check_doubles
    ),
    WrongRule(
        "infinities in running sums",
        instead_of(doubles.sum_doubles, _run_specials),
        group_checks.check_doubles,
    ),
    WrongRule(
        "the least stays",
        instead_of(find_least_ranks, _least_at_the_beginning),
        group_checks.check_extremes,
    ),
    WrongRule(
        "the least of one stretch",
        instead_of(find_least_ranks, _least_of_one_stretch),
        group_checks.check_extremes,
    ),
    WrongRule(
        "ISTREAM is beginnings",
        instead_of(changes.find_changes, _find_beginnings),
        group_checks.check_changes,
    ),
    WrongRule(
        "changes of sets",
        instead_of(changes.find_changes, _find_changes_of_sets),
        group_checks.check_changes,
    ),
    WrongRule(
        "the last answer is forgotten",
        instead_of(changes.find_last_answer, _forget_answer),
        group_checks.check_changes,
    ),
    WrongRule(
        "no instants are an empty answer",
        instead_of(changes.find_last_answer, _forget_without_instants),
        group_checks.check_changes,
    ),
    WrongRule(
        "numbered before instants are skipped",
        instead_of(epochs.number_evaluated, _number_then_skip),
        group_checks.check_changes,
    ),
)

if __name__ == "__main__":
    for each in RULES:
        print(f"{each.name}: {count_cases(each)}")  # noqa: T201
