"""Queries that cannot keep up: what is skipped, what is told, and what stays as it was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.algebra.reporting import SECOND, Every, Keep, OnArrival, OnChange, Semantics, Skip
from headrace.dialects import parse
from headrace.dialects.settings import applied
from headrace.errors import SettingError
from headrace.kernel.arrivals import Arrivals
from headrace.kernel.columns import ARRIVALS
from headrace.kernel.data import NO_QUADS
from headrace.kernel.dictionary import Dictionary
from headrace.kernel.evaluation import Around
from headrace.kernel.evaluations import evaluations
from headrace.kernel.grid import Times
from headrace.kernel.memory import memory_of, recall
from headrace.kernel.overload import MOST, Pace, Paces, warning
from headrace.kernel.reports import Report
from headrace.kernel.step import Kernel
from headrace.planning.plan import Plan, make_plan
from headrace.rdf.ids import term_id
from headrace.rdf.terms import Iri, canonical
from headrace.results.evaluations import Evaluation

from .streams import terms

S = Iri("s")
SKIP = Semantics(overload=Skip(5 * SECOND))
LONG, SHORT = 3_600 * SECOND, 1
SLIDING = "SELECT ?a FROM STREAM <s> [RANGE 4s STEP 1s] { ?a <x:p> ?c }"

# -- the policy --------------------------------------------------------------------------------


def due(number: int, covered: int) -> Times:
    """So many instants, of which the last is so long after the one before the first."""
    return np.arange(1, number + 1) * (covered // max(number, 1))


@pytest.mark.parametrize(
    ("number", "covered", "took", "stride"),
    [
        (10, 10 * SECOND, 10 * SECOND + 1, 8),  # longer than what it covers
        (10, 10 * SECOND, 10 * SECOND, 4),
        (10, SECOND, 5 * SECOND + 1, 8),  # longer than the patience too
        (10, SECOND, 5 * SECOND, 4),
        (1, SECOND, 60 * SECOND, 4),  # the last is evaluated in any case
        (0, 0, 60 * SECOND, 4),
        (0, 0, 0, 4),
        (10, 10 * SECOND, 10 * SECOND // 4, 4),
        (10, 10 * SECOND, 10 * SECOND // 4 - 1, 2),
        (1, SECOND, SECOND, 2),
        (10, 10 * SECOND, None, 4),  # nobody knows
    ],
)
def test_how_long_a_batch_took_decides_how_many_instants_are_evaluated(
    number: int, covered: int, took: int | None, stride: int
) -> None:
    found = Pace(4, overloaded=True, until=0).after(due(number, covered), took, SKIP)
    assert found.stride == stride


def test_the_stride_doubles_up_to_a_limit_and_halves_down_to_one() -> None:
    strides, found = [], Pace()
    for took in [LONG] * 8 + [SHORT] * 8:
        found = replace(found, until=0).after(due(9, 9 * SECOND), took, SKIP)
        strides.append(found.stride)
        assert found.overloaded == (found.stride > 1)
    assert strides == [2, 4, 8, 16, 32, 64, MOST, MOST, 32, 16, 8, 4, 2, 1, 1, 1]


@pytest.mark.parametrize(
    "semantics",
    [
        Semantics(),
        replace(SKIP, report=Every(SECOND)),
        replace(SKIP, report=OnChange()),
        replace(SKIP, report=OnArrival()),
    ],
)
def test_queries_that_must_not_skip_are_only_said_to_be_overloaded(semantics: Semantics) -> None:
    behind = Pace().after(due(9, SECOND), LONG, semantics)
    assert (behind.stride, behind.overloaded) == (1, True)
    assert not behind.after(SECOND + due(9, SECOND), SHORT, semantics).overloaded
    before = Pace(16, overloaded=True, until=7)  # it may have been told so only now
    assert before.allowed(semantics) == Pace(until=7)
    assert before.allowed(SKIP) == before


def test_times_are_counted_from_the_last_instant_that_was_due() -> None:
    took = 8 * SECOND
    first = np.array([8, 9]) * SECOND
    assert Pace().after(first, took, SKIP) == Pace(2, True, 9 * SECOND)
    assert Pace(until=0).after(first, took, SKIP) == Pace(1, False, 9 * SECOND)


def test_each_change_is_told_once() -> None:
    skips, says = plan(SLIDING), plan(SLIDING, every=True)
    paces = Paces()

    def told(found: Plan, *after: Pace) -> list[str]:
        return [text for each in after for text in paces.changes([found], {found.name: each})]

    two, four = Pace(2, True), Pace(4, True)
    assert told(skips, Pace(), two, two, four, two, Pace(), Pace()) == [
        "query 'q' cannot keep up with its streams: one of 2 due instants is evaluated, and the "
        "others are reported as skipped",
        "query 'q' cannot keep up with its streams: one of 4 due instants is evaluated, and the "
        "others are reported as skipped",
        "query 'q' can keep up with more: one of 2 due instants is evaluated",
        "query 'q' keeps up again: every instant is evaluated",
    ]
    assert told(says, Pace(1, True), Pace(1, True), Pace()) == [
        "query 'q' cannot keep up with its streams: its answers are late, and none is skipped: it "
        "says when they are due",
        "query 'q' keeps up again: every instant is evaluated",
    ]
    kept = warning(plan(SLIDING, overload="keep"), Pace(), Pace(1, True))
    assert kept is not None
    assert kept.endswith("its answers are late; --set overload=skip skips some instead")


# -- the setting -------------------------------------------------------------------------------


def test_overload_is_keep_or_skip_with_a_patience() -> None:
    def given(text: str) -> object:
        return applied(Semantics(), {"overload": text}).overload

    assert [given("keep"), given("skip"), given("skip:200ms"), given("skip:0s")] == [
        Keep(),
        Skip(5 * SECOND),
        Skip(SECOND // 5),
        Skip(0),
    ]
    for text in ("keep", "skip:7s", "skip:1500us"):
        assert str(given(text)) == text
    with pytest.raises(SettingError, match="'overload' is keep, skip or skip:5s, not 'drop'"):
        given("drop")
    with pytest.raises(SettingError, match="expected a duration"):
        given("skip:")


def test_what_a_run_is_told_about_overload_does_not_make_another_query() -> None:
    digests = {plan(SLIDING, overload=each).digest for each in ("keep", "skip", "skip:1s")}
    assert len(digests) == 1
    assert plan(SLIDING, every=True).digest not in digests


# -- in the kernel -----------------------------------------------------------------------------


@cache
def plan(text: str, *, overload: str = "skip:0s", every: bool = False, name: str = "q") -> Plan:
    given = {"overload": overload} | ({"report": "every:2s"} if every else {})
    return make_plan(parse(text, "csparql", settings=given).query, name)


class Feed:
    """A live kernel, to which elements are given by their times in seconds."""

    def __init__(self, *plans: Plan) -> None:
        self.kernel = Kernel(plans, Around(Dictionary(), NO_QUADS), live=True)
        self.high: int | None = None
        self.pushed = 0

    def push(self, *times: float, took: int | None = None) -> list[Report]:
        """Give elements, of which each has another subject, and step."""
        rows = []
        for position, second in enumerate(times):
            said = (Iri(f"x:{self.pushed % 5}"), Iri("x:p"), Iri(f"x:o{self.pushed}"))
            self.kernel.around.dictionary.learn(terms(said))
            time = int(second * SECOND)
            rows.append((position, time, self.high, None, *map(term_id, said)))
            self.high = time if self.high is None else max(self.high, time)
            self.pushed += 1
        frame = pl.DataFrame(rows, schema=ARRIVALS, orient="row")
        results = self.kernel.step({S: Arrivals(frame, self.high)})
        self.kernel.keep_pace(took)
        return list(results.reports)

    def all(self, reports: Sequence[Report], query: str = "q") -> list[Evaluation]:
        """The evaluations of a query."""
        forms = {each.plan.name: each.plan.query.form for each in self.kernel.queries}
        found = [report for report in reports if report.query == query]
        return [each for report in found for each in evaluations(report, forms[query])]

    def restarted(self) -> Feed:
        """Another one that goes on, as after a crash."""
        other = Feed(*(query.plan for query in self.kernel.queries))
        other.high, other.pushed = self.high, self.pushed
        log = self.kernel.logs[S]
        other.kernel.around.dictionary.learn(self.kernel.around.dictionary.known)
        held = Arrivals(log.statements, log.high, log.elements)
        recall(other.kernel, memory_of(self.kernel), {S: held})
        return other


def shown(found: Sequence[Evaluation]) -> list[tuple[int, list[str] | None]]:
    """Seconds, and the rows; none if it was skipped."""
    return [
        (
            each.at // SECOND,
            None if each.skipped else [canonical(row[0]) for row in each.rows if row[0]],
        )
        for each in found
    ]


def test_every_so_many_instants_are_evaluated_and_always_the_last() -> None:
    feed, kept = Feed(plan(SLIDING)), Feed(plan(SLIDING, overload="keep"))
    found, expected = [], []
    for number, took in enumerate([LONG, LONG, SHORT, SHORT, SHORT]):
        times = range(7 * number, 7 * number + 7)
        found.append(shown(feed.all(feed.push(*times, took=took))))
        expected.append(shown(kept.all(kept.push(*times, took=took))))
    skipped = [[at for at, rows in step if rows is None] for step in found]
    assert skipped == [[], [7, 9, 11], [13, 14, 16, 17, 18], [21, 23, 25], []]
    for step, whole in zip(found, expected, strict=True):
        assert [at for at, _ in step] == [at for at, _ in whole]
        assert all(rows in (None, all_) for (_, rows), (_, all_) in zip(step, whole, strict=True))
        assert step[-1][1] is not None


def test_a_frequency_that_was_declared_is_kept() -> None:
    feed, kept = Feed(plan(SLIDING, every=True)), Feed(plan(SLIDING, overload="keep", every=True))
    for number in range(4):
        times = range(9 * number, 9 * number + 9)
        found = shown(feed.all(feed.push(*times, took=LONG)))
        assert found == shown(kept.all(kept.push(*times)))
    assert feed.kernel.queries[0].pace.overloaded


@pytest.mark.parametrize("emit", ["ISTREAM", "DSTREAM"])
def test_differences_are_to_the_last_answer(emit: str) -> None:
    text = SLIDING.replace("SELECT", f"SELECT {emit}")
    feed, whole = Feed(plan(text)), Feed(plan(SLIDING, overload="keep"))
    before: list[str] = []
    for number in range(5):
        times = range(6 * number, 6 * number + 6)
        found = shown(feed.all(feed.push(*times, took=LONG)))
        answers = dict(shown(whole.all(whole.push(*times))))
        for at, rows in found:
            if rows is None:
                continue
            now = answers[at]
            assert now is not None
            new, old = (now, before) if emit == "ISTREAM" else (before, now)
            surplus = list(new)
            for each in old:
                if each in surplus:
                    surplus.remove(each)
            assert sorted(rows) == sorted(surplus)
            before = now
    assert feed.kernel.queries[0].pace.stride > 1


def test_a_skipped_instant_is_told_even_where_empty_answers_are_not() -> None:
    made = plan(SLIDING)
    semantics = applied(made.semantics, {"non_empty": "answer"})
    made = replace(made, query=replace(made.query, semantics=semantics))
    feed = Feed(made)
    feed.push(0, 1, 2, took=LONG)
    feed.push(3, 4, took=LONG)
    found = shown(feed.all(feed.push(20)))
    assert [each for each in found if each[1] is not None] == [(7, ["<x:4>"])]
    assert {at for at, _ in found} == set(range(4, 20)) - {11, 15, 19}


def test_instants_of_count_windows_are_skipped_too() -> None:
    feed = Feed(plan("SELECT ?a FROM STREAM <s> [TRIPLES 2 STEP 1] { ?a <x:p> ?c }"))
    feed.push(0, 1, 1, 2, took=LONG)
    feed.push(3, 3, 3, 4, took=LONG)
    found = feed.all(feed.push(5, 5, 5, 6))
    assert [(each.at // SECOND, each.seq, each.skipped) for each in found] == [
        (5, 0, True),
        (5, 1, True),
        (5, 2, True),
        (6, 0, False),
    ]


def test_a_derived_stream_has_no_elements_of_skipped_instants_and_goes_on() -> None:
    made = plan(
        "REGISTER STREAM <d> AS CONSTRUCT { ?a <x:q> ?c } FROM STREAM <s> [RANGE 1s STEP 1s]"
        " { ?a <x:p> ?c }",
        name="d",
    )
    reader = plan(
        "SELECT (COUNT(*) AS ?n) FROM STREAM <d> [RANGE 8s STEP 8s] { ?a <x:q> ?c }",
        overload="keep",
    )
    feed = Feed(made, reader)
    found: list[Report] = []
    for number in range(4):
        found += feed.push(*range(8 * number, 8 * number + 8), took=LONG)
    skipped = {each.at // SECOND for each in feed.all(found, "d") if each.skipped}
    assert skipped
    counted = dict(shown(feed.all(found)))
    assert list(counted) == [0, 8, 16, 24]
    for at, rows in counted.items():
        elements = [second for second in range(at - 7, at + 1) if second >= 0]
        number = len(set(elements) - skipped)
        assert rows == [f'"{number}"^^<http://www.w3.org/2001/XMLSchema#integer>']


def test_a_query_that_stops_tells_nothing_of_later_instants() -> None:
    feed = Feed(plan(SLIDING))
    feed.push(*range(6), took=LONG)
    feed.push(*range(6, 12), took=LONG)
    budget = feed.kernel.around.budget

    def none() -> object:
        return replace(budget(), rows=0)

    feed.kernel.around = replace(feed.kernel.around, budget=none)  # type: ignore[arg-type]  # a budget
    [report] = feed.push(*range(12, 18))
    found = feed.all([report])
    assert [each.skipped for each in found] == [True] * (len(found) - 1) + [False]
    assert found[-1].error is not None
    assert len(found) < 6


batches = st.lists(
    st.tuples(
        st.lists(st.integers(0, 40), min_size=1, max_size=12),
        st.sampled_from([None, LONG, LONG, SHORT]),
    ),
    min_size=1,
    max_size=8,
)
texts = st.sampled_from(
    [
        SLIDING,
        "SELECT ?a FROM STREAM <s> [RANGE 3s STEP 2s] FROM STREAM <s> [TRIPLES 3 STEP 2]"
        " { ?a <x:p> ?c }",
        "SELECT ?a ?c FROM STREAM <s> [RANGE 6s STEP 3s] { ?a <x:p> ?c }",
    ]
)


@settings(max_examples=60, deadline=None)
@given(texts, batches, st.integers(0, 7))
def test_what_is_not_skipped_is_as_if_nothing_were(
    text: str, given: list[tuple[list[int], int | None]], restart: int
) -> None:
    feed, kept, calm = Feed(plan(text)), Feed(plan(text, overload="keep")), Feed(plan(text))
    start = 0
    for number, (steps, took) in enumerate(given):
        if number == restart:
            feed = feed.restarted()
        times = (start + np.cumsum(steps) / 8).tolist()
        start = times[-1]
        [found, expected, undisturbed] = [
            each.all(each.push(*times, took=took)) for each in (feed, kept, calm)
        ]
        assert found == undisturbed
        assert [(each.at, each.seq, each.windows) for each in found] == [
            (each.at, each.seq, each.windows) for each in expected
        ]
        for one, other in zip(found, expected, strict=True):
            assert one.skipped or one == other
        assert not found or not found[-1].skipped
        assert feed.kernel.queries[0].progress == kept.kernel.queries[0].progress
