"""The counterexamples of the design, one by one, with their numbers."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from headrace.errors import InternalError, LimitError
from headrace.execution.aggregates.counts import count_flagged, count_rows
from headrace.execution.aggregates.doubles import average, sum_doubles
from headrace.execution.aggregates.groups import form_groups, list_members
from headrace.execution.aggregates.integers import sum_integers
from headrace.execution.operators.closure import close_edges
from headrace.execution.operators.distinct import distinct
from headrace.execution.operators.exists import keep_existing, mark_exists
from headrace.execution.operators.join import join
from headrace.execution.operators.latest_time import keep_latest_times
from headrace.execution.operators.limit import limit_rows
from headrace.execution.operators.minus import minus
from headrace.execution.operators.optional import optional
from headrace.execution.operators.scan import scan_statements
from headrace.execution.operators.union import union
from headrace.execution.output.changes import Answer, find_changes, find_last_answer, list_answers
from headrace.execution.relation.coalesce import coalesce, find_uncovered, pack
from headrace.execution.relation.epochs import Epochs
from headrace.execution.relation.relation import Relation, relation_of
from headrace.metering import EvaluationLimits, Meter, metered

TIME = "time of a statement"


def pieces(relation: Relation) -> list[tuple[int, ...]]:
    """Rows with their intervals, in order."""
    columns = [*relation.columns.values(), *relation.intervals]
    return sorted(zip(*(each.tolist() for each in columns), strict=True))


# -- scan and state -----------------------------------------------------------------------------


def test_statements_are_coalesced_before_columns_are_dropped() -> None:  # trap 1
    contents = relation_of({"s": [7, 7], "o": [1, 2]}, [(0, 5), (3, 9)])
    assert pieces(scan_statements([contents], ["s", "o"], ["s"], 10)) == [(7, 0, 5), (7, 3, 9)]


def test_the_time_goes_back_where_the_later_occurrence_leaves_first() -> None:  # trap 2
    again = relation_of({"s": [7, 7], TIME: [1, 6]}, [(1, 4), (2, 2)])
    found = keep_latest_times(again, ["s"], TIME, 9)
    assert pieces(found) == [(7, 1, 1, 1), (7, 1, 3, 4), (7, 6, 2, 2)]


def test_static_statements_have_a_time_while_a_window_has_them() -> None:  # trap 2, static below
    found = keep_latest_times(
        relation_of({"s": [7, 7], TIME: [1, -(2**63)]}, [(1, 2), (0, 4)]), ["s"], TIME, 5
    )
    assert pieces(found) == [(7, -(2**63), 0, 0), (7, -(2**63), 3, 4), (7, 1, 1, 2)]


def test_static_data_and_windows_are_one_set() -> None:  # trap 3
    static, window = relation_of({"s": [7]}), relation_of({"s": [7]}, [(3, 5)])
    assert pieces(scan_statements([static, window], ["s"], ["s"], 9)) == [(7, 0, 8)]


def test_a_statement_may_have_gaps() -> None:  # trap 4
    windows = relation_of({"s": [7, 7, 7]}, [(0, 2), (7, 8), (9, 9)])
    assert pieces(coalesce(windows)) == [(7, 0, 2), (7, 7, 9)]


def test_what_is_new_is_what_was_not_covered() -> None:  # trap 16
    known, again = relation_of({"s": [7]}, [(5, 15)]), relation_of({"s": [7]}, [(10, 20)])
    assert pieces(find_uncovered(again, known)) == [(7, 16, 20)]


# -- joins ----------------------------------------------------------------------------------------


def test_long_rows_meet_short_ones() -> None:  # trap 6
    long, short = relation_of({"a": [7]}, [(0, 35)]), relation_of({"a": [7]}, [(15, 16)])
    assert pieces(join(long, short)) == [(7, 15, 16)]
    assert pieces(join(short, long)) == [(7, 15, 16)]


def test_unbound_values_join_everything() -> None:  # trap 8
    left = relation_of({"a": [7, 7], "b": [0, 8]}, [(0, 2), (3, 5)])
    right = relation_of({"b": [9]}, [(0, 5)])
    assert pieces(join(left, right)) == [(7, 9, 0, 2)]


def test_relations_that_hold_always_stay_so() -> None:  # trap 19
    left, right = relation_of({"a": [7, 8]}), relation_of({"a": [7]})
    for found in (join(left, right), optional(left, right, 5), minus(left, right, 5)):
        assert found.holds_always
    assert keep_existing(left, right, 5).holds_always
    assert mark_exists(left, right, "true", 5).holds_always


def test_the_number_of_pairs_is_known_before_one_is_made() -> None:  # section 4
    asked: list[int] = []

    def check(rows: int, _operator: str) -> None:
        asked.append(rows)

    left = relation_of({"a": [7] * 3}, [(0, 1), (2, 5), (4, 6)])
    right = relation_of({"a": [7, 7]}, [(1, 2), (8, 9)])
    assert join(left, right, check).height == asked[-1] == 2
    by_values = join(left.without_intervals(), right.without_intervals(), check)
    assert by_values.height == asked[-1] == 6


def test_pairs_of_all_parts_count_together() -> None:  # trap 8
    asked: list[int] = []
    left = relation_of({"a": [7, 0]}, [(0, 5), (0, 5)])
    right = relation_of({"a": [7, 0, 8]}, [(0, 5), (0, 5), (0, 5)])
    found = join(left, right, lambda rows, _: asked.append(rows))
    assert found.height == asked[-1] == 5


def test_too_many_pairs_are_refused_before_they_are_made() -> None:  # trap 27
    many = relation_of({"a": [7] * 200_000}, [(0, 5)] * 200_000)
    with metered(Meter(EvaluationLimits(rows=1000))), pytest.raises(LimitError, match="40,000,000"):
        join(many, many)


def test_too_many_instants_are_refused_before_rows_are_repeated() -> None:  # trap 27
    with metered(Meter(EvaluationLimits(rows=1000))), pytest.raises(LimitError, match="the answer"):
        list_answers(relation_of({"a": [7]}, [(0, 10**12)]), 2 * 10**12)


def test_rows_that_never_meet_are_within_every_budget() -> None:  # trap 27
    left = relation_of({"a": [7] * 2000}, [(0, 1)] * 2000)
    right = relation_of({"a": [7] * 2000}, [(2, 3)] * 2000)
    with metered(Meter(EvaluationLimits(rows=1))):
        assert join(left, right).height == 0


def test_minus_removes_from_the_instant_at_which_a_variable_is_bound() -> None:  # trap 10
    left = relation_of({"a": [7]}, [(0, 5)])
    right = relation_of({"a": [0, 7], "c": [1, 1]}, [(0, 2), (3, 5)])
    assert pieces(minus(left, right, 6)) == [(7, 0, 2)]


def test_exists_does_not_repeat_rows() -> None:  # trap 10
    left, right = relation_of({"a": [7]}, [(0, 9)]), relation_of({"a": [7, 7]}, [(1, 3), (2, 5)])
    marked = mark_exists(left, right, "true", 10)
    assert pieces(marked) == [(7, 0, 0, 0), (7, 0, 6, 9), (7, 1, 1, 5)]


def test_packing_keeps_copies() -> None:  # trap 11
    rows = relation_of({"a": [7, 7, 7]}, [(0, 3), (4, 9), (2, 5)])
    assert pieces(pack(rows)) == [(7, 0, 5), (7, 2, 9)]
    assert pieces(distinct(rows)) == [(7, 0, 9)]


# -- emission and epochs ----------------------------------------------------------------------


def test_a_row_that_begins_where_it_ends_is_not_new() -> None:  # trap 12
    answers = relation_of({"x": [7, 7]}, [(0, 4), (5, 9)])
    found = find_changes(answers, Answer.nothing(("x",)), 12)
    assert pieces(found.insertions()) == [(7, 0, 0)]
    assert pieces(found.deletions()) == [(7, 10, 10)]


def test_the_last_answer_survives_a_step_without_instants() -> None:  # trap 13
    answer = find_last_answer(relation_of({"x": [7]}, [(0, 4)]), Answer.nothing(("x",)), 5)
    nothing = Relation.empty(["x"]).over(0)
    assert find_last_answer(nothing, answer, 0) is answer
    found = find_changes(relation_of({"x": [7, 7]}, [(0, 1), (0, 0)]), answer, 2)
    assert pieces(found.insertions()) == [(7, 0, 0)]
    assert pieces(found.deletions()) == [(7, 1, 1)]


def test_a_gap_of_years_is_two_numbers() -> None:  # trap 29
    year = 365 * 86_400
    contents = relation_of({"s": [7, 8]}, [(0, 5), (year, year + 5)])
    epochs = Epochs.of([contents], 2 * year)
    assert epochs.starts.tolist() == [0, 6, year, year + 6]
    assert pieces(epochs.number(contents)) == [(7, 0, 0), (8, 2, 2)]
    assert pieces(epochs.restore(epochs.number(contents))) == pieces(contents)


# -- groups ---------------------------------------------------------------------------------------


def test_a_group_lives_where_a_row_of_it_lives() -> None:  # trap 21
    rows = relation_of({"g": [7, 7]}, [(0, 2), (5, 6)])
    grouping = form_groups(rows, ["g"], 9)
    assert pieces(grouping.pieces) == [(7, 0, 2), (7, 5, 6)]
    assert sum_integers(grouping, np.array([1, -1])).tolist() == [1, -1]  # type: ignore[union-attr]


def test_a_group_without_keys_is_there_at_every_instant() -> None:  # trap 21
    grouping = form_groups(relation_of({"g": [7]}, [(2, 3)]), [], 6)
    assert pieces(grouping.pieces) == [(0, 1), (2, 3), (4, 5)]
    assert count_rows(grouping).tolist() == [0, 1, 0]
    assert form_groups(Relation.empty(["g"]), [], 6).pieces.holds_always
    assert form_groups(Relation.empty(["g"]), ["g"], 6).pieces.height == 0


def test_groups_of_what_holds_always_hold_always() -> None:
    grouping = form_groups(relation_of({"g": [7, 8, 7]}), ["g"], 6)
    assert grouping.pieces.holds_always
    assert grouping.pieces["g"].tolist() == [7, 8]
    assert count_rows(grouping).tolist() == [2, 1]


def test_changes_of_one_instant_are_one_change() -> None:  # trap 22
    grouping = form_groups(relation_of({"g": [7, 7]}, [(0, 4), (5, 9)]), ["g"], 10)
    assert pieces(grouping.pieces) == [(7, 0, 4), (7, 5, 9)]
    assert count_rows(grouping).tolist() == [1, 1]


def test_an_error_leaves_with_its_value() -> None:  # trap 23
    grouping = form_groups(relation_of({"g": [7, 7]}, [(0, 9), (3, 4)]), ["g"], 10)
    assert count_flagged(grouping, np.array([False, True])).tolist() == [0, 1, 0]


def test_sums_of_doubles_leave_nothing_behind() -> None:  # trap 24
    rows = relation_of({"g": [7] * 3}, [(0, 9), (0, 9), (0, 4)])
    values = np.array([1.0, 1e16, -1e16])
    sums = sum_doubles(form_groups(rows, ["g"], 10), values)
    assert sums.tolist() == [1.0, 1e16 + 1]
    assert average(sums, np.array([3, 2])).tolist() == [1 / 3, (1e16 + 1) / 2]


def test_sums_of_doubles_are_those_of_fsum() -> None:
    rng = np.random.default_rng(5)
    bits = rng.integers(0, 2**64, 400, dtype=np.uint64)
    values = bits.view(np.float64)
    values = values[np.isfinite(values) & (np.abs(values) < 1e300)]
    rows = relation_of({"g": [7] * values.size}, [(0, place) for place in range(values.size)])
    sums = sum_doubles(form_groups(rows, ["g"], values.size), values)
    assert sums.tolist() == [math.fsum(values[place:]) for place in range(values.size)]
    assert float(sum(map(Fraction, values.tolist()))) == sums[0]


def test_a_sum_of_doubles_may_be_too_large() -> None:
    grouping = form_groups(relation_of({"g": [7, 7]}, [(0, 1), (0, 0)]), ["g"], 2)
    assert sum_doubles(grouping, np.array([-1.7e308, -1.7e308])).tolist() == [-math.inf, -1.7e308]


def test_sums_of_integers_may_exceed_64_bits() -> None:
    grouping = form_groups(relation_of({"g": [7, 7, 7]}, [(0, 2), (0, 1), (0, 0)]), ["g"], 3)
    greatest = 2**63 - 1
    found = sum_integers(grouping, np.full(3, greatest))
    assert found == [3 * greatest, 2 * greatest, greatest]


def test_members_are_listed_at_each_change() -> None:  # trap 26
    grouping = form_groups(relation_of({"g": [7, 7]}, [(0, 4), (3, 9)]), ["g"], 10)
    piece, row = list_members(grouping)
    assert piece.tolist() == [0, 1, 1, 2]
    assert row.tolist() == [0, 0, 1, 1]


# -- steps without instants, relations without columns ---------------------------------------


def test_a_step_may_have_no_instants() -> None:
    static, nothing = relation_of({"a": [7]}), relation_of({"a": [], "b": []}, [])
    found = [
        join(static, nothing),
        union([static, nothing], 0),
        optional(static, nothing, 0),
        optional(static, static, 0),
        minus(nothing, static, 0),
        mark_exists(nothing, static, "true", 0),
        limit_rows(nothing, nothing["a"], 0, (1, 2)),
        form_groups(nothing, [], 0).pieces,
        keep_latest_times(nothing, ["a"], TIME, 0),
        close_edges(nothing, "a", "b", 0),
        find_changes(nothing, Answer.nothing(("a", "b")), 0).insertions(),
    ]
    assert not any(each.over(0).height for each in found)


def test_relations_without_columns_have_rows() -> None:  # trap 31
    rows = relation_of({}, [(0, 3), (2, 5)])
    assert pieces(coalesce(rows)) == [(0, 5)]
    assert pieces(join(rows, Relation.unit())) == [(0, 3), (2, 5)]
    assert count_rows(form_groups(rows, [], 7)).tolist() == [1, 2, 1, 0]


def test_columns_have_one_height() -> None:
    with pytest.raises(InternalError, match="different heights"):
        Relation({"a": np.zeros(2, np.int64)}, 1)
    with pytest.raises(InternalError, match="has no intervals"):
        assert Relation.unit().bounds


def test_columns_are_renamed_and_dropped() -> None:
    rows = relation_of({"a": [7], "b": [8], TIME: [1]}, [(0, 3)])
    assert rows.rename({"a": "c"}).names == ("c", "b", TIME)
    assert rows.drop(["a"]).variables == ("b",)
    assert rows["absent"].tolist() == [0]
