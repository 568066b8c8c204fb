from __future__ import annotations

from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.algebra.expressions import Aggregate, TriplePattern, Variable
from headrace.algebra.operators import Annotate, Annotation, Bgp, Distinct, Group, Project
from headrace.algebra.query import Select
from headrace.errors import DataError
from headrace.kernel.arrivals import Arrivals
from headrace.kernel.columns import ARRIVALS, ID, TERMS, TEXT
from headrace.kernel.dictionary import Dictionary
from headrace.kernel.evaluations import evaluations
from headrace.kernel.log import Elements
from headrace.planning.plan import make_plan
from headrace.rdf.ids import term_id
from headrace.rdf.terms import Iri, Literal
from tests.fuzzing import repeat

from .streams import (
    CAR,
    PASSAGES,
    PASSES,
    REGISTERS,
    STREAM,
    TOLLGATE,
    Answers,
    Feed,
    Passage,
    count,
    iri,
    passages,
    run,
    select,
    terms,
    tollgate_query,
)


def counts(*batches: list[Passage], width: int = 10, slide: int = 5, delay: int = 0) -> Answers:
    return run(tollgate_query(width, slide, delay), *(passages(batch) for batch in batches))


def test_a_window_holds_its_close_but_not_its_opening() -> None:
    assert counts([(10, "g", "a"), (15, "g", "b"), (20, "g", "c")], width=10, slide=10) == [
        (10, [count("g", 1)]),
        (20, [count("g", 2)]),
    ]


def test_an_element_is_in_every_window_that_overlaps() -> None:
    assert counts([(3, "g", "a")], width=10, slide=5) == [
        (5, [count("g", 1)]),
        (10, [count("g", 1)]),
    ]


def test_a_window_is_reported_when_a_later_element_comes_and_not_before() -> None:
    feed = Feed(make_plan(tollgate_query(10, 10)))
    assert feed.push(passages([(10, "g", "a")])) == []
    assert feed.push(passages([(10, "g", "b")])) == []
    assert feed.push(passages([(11, "g", "c")])) == [(10, [count("g", 2)])]


def test_windows_between_two_elements_are_reported_empty() -> None:
    assert counts([(1, "g", "a"), (35, "g", "b")], width=10, slide=10) == [
        (10, [count("g", 1)]),
        (20, []),
        (30, []),
        (40, [count("g", 1)]),
    ]


def test_windows_with_gaps_between_them_drop_what_falls_into_a_gap() -> None:
    assert counts(
        [(3, "g", "gap"), (9, "g", "a"), (13, "g", "gap"), (20, "g", "b")], width=2, slide=10
    ) == [
        (10, [count("g", 1)]),
        (20, [count("g", 1)]),
    ]
    assert counts([(3, "g", "gap")], width=2, slide=10) == []


def test_equal_triples_of_a_window_are_one() -> None:
    assert counts([(1, "g", "a"), (4, "g", "a"), (9, "g", "b")], width=10, slide=10) == [
        (10, [count("g", 2)])
    ]


def test_rows_are_in_the_order_of_their_terms() -> None:
    [(_, rows)] = counts([(time, gate, "x") for time, gate in enumerate("dbca", 1)], slide=10)
    assert rows == [count(gate, 1) for gate in "abcd"]


def test_times_before_the_epoch() -> None:
    assert counts([(-13, "g", "a")], width=10, slide=5) == [
        (-10, [count("g", 1)]),
        (-5, [count("g", 1)]),
    ]


def test_a_late_element_is_counted_and_only_in_windows_still_open() -> None:
    feed = Feed(make_plan(tollgate_query(10, 5)))
    answers = feed.push(passages([(3, "g", "a"), (6, "g", "b"), (4, "g", "late")]))
    assert answers + feed.finish() == [
        (5, [count("g", 1)]),
        (10, [count("g", 3)]),
        (15, [count("g", 1)]),
    ]
    assert feed.late == 1


def test_a_delay_keeps_windows_open() -> None:
    assert counts([(3, "g", "a"), (6, "g", "b"), (4, "g", "late")], slide=10, delay=5) == [
        (10, [count("g", 3)])
    ]
    feed = Feed(make_plan(tollgate_query(10, 5, delay=5)))
    assert feed.push(passages([(3, "g", "a"), (10, "g", "b")])) == []
    assert feed.push(passages([(11, "g", "c")])) == [(5, [count("g", 1)])]


def test_elements_that_match_nothing_still_move_time() -> None:
    unrelated = [(time, iri("a"), iri("p"), iri("b")) for time in (1, 25)]
    assert run(tollgate_query(10, 10), unrelated) == [(10, []), (20, []), (30, [])]


def test_nothing_in_nothing_out() -> None:
    assert counts([]) == []


times = st.integers(-30, 60)
streams = st.lists(st.tuples(times, st.sampled_from("gh"), st.sampled_from("abcd")), max_size=30)
widths = st.integers(1, 25)
delays = st.integers(0, 12)
often = repeat(100)


def oracle(stream: list[Passage], width: int, slide: int, delay: int) -> Answers:
    """The definition, moment by moment: no frames, no batches, no arithmetic on closes."""
    windows: dict[int, set[tuple[str, str]]] = {}
    high: int | None = None
    for time, gate, car in stream:
        for close in range(time, time + width):
            passed = high is not None and close < high - delay
            if close % slide == 0 and not passed:
                windows.setdefault(close, set()).add((gate, car))
        high = time if high is None else max(high, time)
    if not windows or high is None:
        return []
    answers: Answers = []
    for close in range(min(windows), max(windows) + 1, slide):
        held = windows.get(close, set())
        gates = sorted({gate for gate, _ in held})
        answers.append((close, [count(g, sum(gate == g for gate, _ in held)) for g in gates]))
    return answers


@often
@given(streams, widths, widths, delays)
def test_the_kernel_agrees_with_the_definition(
    stream: list[Passage], width: int, slide: int, delay: int
) -> None:
    expected = oracle(stream, width, slide, delay)
    assert counts(stream, width=width, slide=slide, delay=delay) == expected


@often
@given(streams, widths, widths, delays, st.sets(st.integers(0, 30)))
def test_answers_do_not_depend_on_how_the_stream_is_cut_into_batches(
    stream: list[Passage], width: int, slide: int, delay: int, cuts: set[int]
) -> None:
    edges = [0, *sorted(cuts), len(stream)]
    batches = [stream[start:end] for start, end in pairwise(edges)]
    whole = counts(stream, width=width, slide=slide, delay=delay)
    assert counts(*batches, width=width, slide=slide, delay=delay) == whole
    one_by_one = [[passage] for passage in stream]
    assert counts(*one_by_one, width=width, slide=slide, delay=delay) == whole


def test_patterns_join_within_a_window_only() -> None:
    owner = Variable("owner")
    owns = iri("owns")
    pattern = Bgp((TriplePattern(TOLLGATE, REGISTERS, CAR), TriplePattern(owner, owns, CAR)))
    query = select((TOLLGATE, owner), Project(pattern, (TOLLGATE, owner)), 10, 10)
    ann = (1, iri("ann"), owns, iri("a"))
    assert run(query, [ann, *passages([(1, "g", "a"), (11, "g", "a")])]) == [
        (10, [(str(iri("g")), str(iri("ann")))]),
        (20, []),
    ]


def test_a_variable_used_twice_must_be_the_same_term() -> None:
    query = select((CAR,), Project(Bgp((TriplePattern(CAR, REGISTERS, CAR),)), (CAR,)), 10, 10)
    assert run(query, passages([(1, "a", "a"), (2, "a", "b")])) == [(10, [(str(iri("a")),)])]


def test_constants_of_a_pattern_are_looked_up_as_terms() -> None:
    pattern = Bgp((TriplePattern(Variable("s"), iri("p"), Literal("1")),))
    query = select((Variable("s"),), Project(pattern, (Variable("s"),)), 10, 10)
    stream = [(1, iri("a"), iri("p"), Literal("1")), (2, iri("b"), iri("p"), Literal("2"))]
    assert run(query, stream) == [(10, [(str(iri("a")),)])]


def test_group_without_keys_counts_nothing_as_zero() -> None:
    query = select((PASSAGES,), Group(PASSES, (), ((PASSAGES, Aggregate("COUNT")),)), 10, 10)
    answers = run(query, passages([(1, "g", "a"), (25, "g", "b")]))
    assert [rows for _, rows in answers] == [[count("g", n)[1:]] for n in (1, 0, 1)]


def test_group_by_a_key_has_a_row_for_each_group() -> None:
    aggregates = ((PASSAGES, Aggregate("COUNT", CAR, distinct=True)),)
    query = select((TOLLGATE, PASSAGES), Group(PASSES, (TOLLGATE,), aggregates), 10, 10)
    stream = passages([(1, "g", "a"), (2, "g", "b"), (3, "h", "a"), (25, "g", "b")])
    assert run(query, stream) == [
        (10, [count("g", 2), count("h", 1)]),
        (20, []),
        (30, [count("g", 1)]),
    ]


def test_annotations_keep_every_solution_and_do_not_see_each_other() -> None:
    total, both = Variable("total"), (Annotation(PASSAGES, Aggregate("COUNT"), (TOLLGATE,)),)
    clauses = (*both, Annotation(total, Aggregate("COUNT", PASSAGES), ()))
    query = select((CAR, PASSAGES, total), Annotate(PASSES, clauses), 10, 10)
    two, zero = count("g", 2)[1], count("g", 0)[1]
    assert run(query, passages([(1, "g", "a"), (2, "g", "b")])) == [
        (10, [(str(iri("a")), two, zero), (str(iri("b")), two, zero)])
    ]


def test_a_variable_that_nothing_binds_is_unbound() -> None:
    query = select((Variable("nobody"),), Distinct(Project(PASSES, (Variable("nobody"),))), 10, 10)
    assert run(query, passages([(1, "g", "a"), (2, "g", "b")])) == [(10, [(None,)])]


def test_a_restored_kernel_goes_on_where_the_other_stopped() -> None:
    stream = passages([(3, "g", "a"), (12, "g", "b"), (17, "h", "c"), (24, "g", "d")])
    feed = Feed(make_plan(tollgate_query(10, 5)))
    whole = feed.push(stream) + feed.finish()
    first = Feed(make_plan(tollgate_query(10, 5)))
    before = first.push(stream[:2])
    second = Feed(make_plan(tollgate_query(10, 5)))
    second.push(stream[:2])
    second.kernel.queries[0].progress = first.kernel.queries[0].progress
    assert before + second.push(stream[2:]) + second.finish() == whole


def test_terms_leave_the_dictionary_with_the_windows_that_held_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("headrace.kernel.step._FORGET_FROM", 1)
    feed = Feed(make_plan(tollgate_query(10, 10)))
    feed.push(passages([(1, "g", "old"), (100, "g", "new")]))
    dictionary = feed.kernel.around.dictionary
    known = set(dictionary.known[TEXT])
    assert str(iri("new")) in known
    assert str(iri("old")) not in known


def test_two_terms_with_one_id_are_an_error() -> None:
    dictionary = Dictionary()
    dictionary.learn(terms([Iri("x:a")]))
    again = pl.DataFrame({ID: dictionary.known[ID], TEXT: ["<x:b>"]}, schema=TERMS)
    with pytest.raises(DataError, match="<x:a> and <x:b> have the same id"):
        dictionary.learn(again)


def test_a_query_that_began_later_sees_nothing_from_before() -> None:
    """Also if as many statements have been dropped since as there were before."""
    feed = Feed(make_plan(select((TOLLGATE,), PASSES, 10, 10), "first"))
    feed.push(passages([(1, "a", "car"), (2, "b", "car")]))
    feed.kernel.register(make_plan(select((TOLLGATE,), PASSES, 5, 5), "second"))
    feed.kernel.around.dictionary.learn(terms([iri("c"), iri("d")]))
    times, highs = np.array([6, 7, 8, 9]), np.array([2, 6, 7, 8])
    elements = Elements(np.arange(4), times, highs, np.ones(4, np.int64))
    wanted = {1: "c", 3: "d"}
    rows = [
        (place, times[place], highs[place], None, *map(term_id, (iri(gate), REGISTERS, iri("car"))))
        for place, gate in wanted.items()
    ]
    statements = pl.DataFrame(rows, schema=ARRIVALS, orient="row")
    feed.kernel.step({STREAM: Arrivals(statements, 9, elements)})
    [second] = [each for each in feed.kernel.finish().reports if each.query == "second"]
    found = evaluations(second, Select((TOLLGATE,)))
    assert [row for each in found for row in each.rows] == [(iri("c"),), (iri("d"),)]
