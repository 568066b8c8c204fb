"""A gap in event time costs nothing, and one evaluation stands for all instants of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import combinations
from math import prod
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace import Engine, Evaluation
from headrace.dialects import parse
from headrace.kernel import stretches
from headrace.kernel.grid import Grid
from headrace.kernel.stretches import Contents, Intervals, due_instants, first_of_due
from headrace.launching import RunnerKind
from headrace.rdf.terms import Literal
from headrace.results.ndjson import ndjson_lines
from headrace.running import Job, Voice, run_job
from headrace.testing import play
from tests.fuzzing import repeat

S = "http://x/s"
T = "http://x/t"
YEARS = 50 * 365 * 86_400_000
"""Fifty years in milliseconds."""
grids = st.builds(Grid, st.integers(1, 7), st.integers(-3, 3))
intervals = st.lists(st.tuples(st.integers(0, 300), st.integers(0, 30)), max_size=5)


@repeat(200)
@given(st.lists(grids, min_size=1, max_size=3, unique=True), intervals, st.integers(0, 400))
def test_stretches_are_the_instants_that_they_stand_for(
    lines: list[Grid], busy: list[tuple[int, int]], last: int
) -> None:
    starts = np.array([start for start, _ in busy], np.int64)
    ends = np.array([start + width for start, width in busy], np.int64)
    every = np.unique(np.concatenate([grid.between(0, last) for grid in lines]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stretches, "FEW", 3)
        contents = Contents(Intervals.of(starts, ends))
        found = due_instants(lines, contents, 0, last)
        number, end = first_of_due(lines, contents, 0, last, 10**6)
    left_out = set[int]()
    for stretch in found.stretches:
        meant = every[(every >= stretch.since) & (every <= stretch.last)]
        assert stretch.count == meant.size
        assert {stretch.since, stretch.last} <= set(meant.tolist())
        assert not any(
            start <= time <= end for time in meant for start, end in zip(starts, ends, strict=True)
        )
        left_out |= set(meant.tolist()) - {stretch.last}
    assert sorted({*found.times.tolist()} | left_out) == every.tolist()
    assert not left_out & set(found.times.tolist())
    assert end is None
    assert number >= found.times.size


def gap(text: str, streams: dict[str, str], **settings: str) -> list[Evaluation]:
    played = play({"q": text}, streams, settings=settings)
    assert not played.errors
    return played.evaluations


def lines(*times: int) -> str:
    integer = "http://www.w3.org/2001/XMLSchema#integer"
    return "".join(f'{time}\t<x:a{time}> <x:p> "{time}"^^<{integer}> .\n' for time in times)


QUERIES = [
    "SELECT ?x FROM STREAM <http://x/s> [RANGE 4s STEP 1s] WHERE { ?x <x:p> ?o }",
    "SELECT (COUNT(*) AS ?n) FROM STREAM <http://x/s> [RANGE 3s STEP 2s] WHERE { ?x <x:p> ?o }",
    "REGISTER QUERY q COMPUTED EVERY 3s AS SELECT (SUM(?o) AS ?n) "
    "FROM STREAM <http://x/s> [RANGE 4s STEP 2s] WHERE { ?x <x:p> ?o }",
    "REGISTER ISTREAM q AS SELECT (COUNT(*) AS ?n) "
    "FROM NAMED WINDOW <x:w> ON <http://x/s> [RANGE 2s STEP 1s] "
    "WHERE { WINDOW <x:w> { ?x <x:p> ?o } }",
    "REGISTER DSTREAM q AS SELECT ?x FROM NAMED WINDOW <x:w> ON <http://x/s> [RANGE 2s STEP 1s] "
    "WHERE { WINDOW <x:w> { ?x <x:p> ?o } }",
    "ASK FROM STREAM <http://x/s> [RANGE 2s STEP 1s] WHERE { ?x <x:p> ?o }",
    "SELECT ?x ?y FROM NAMED WINDOW <x:w> ON <http://x/s> [RANGE 2s STEP 2s] "
    "FROM NAMED WINDOW <x:v> ON <http://x/t> [RANGE 9s STEP 3s] "
    "WHERE { WINDOW <x:w> { ?x <x:p> ?o } WINDOW <x:v> { ?y <x:p> ?u } }",
]


def shown(evaluation: Evaluation) -> object:
    return list(evaluation.rows), evaluation.quads, evaluation.boolean, evaluation.error


@pytest.mark.parametrize("strategy", ["auto", "snapshot"])
@pytest.mark.parametrize("text", QUERIES)
@repeat(15)
@given(
    times=st.lists(st.integers(0, 600), min_size=1, max_size=8),
    others=st.lists(st.integers(0, 600), min_size=1, max_size=4),
    few=st.integers(1, 20),
    many=st.integers(1, 30),
)
def test_a_stretch_has_the_answer_of_each_of_its_instants(
    text: str, strategy: str, times: list[int], others: list[int], few: int, many: int
) -> None:
    streams = {S: lines(*[100 * each for each in times])}
    if T in text:
        streams[T] = lines(*[100 * each for each in others])
    whole = gap(text, streams, strategy=strategy)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stretches, "FEW", few)
        patch.setattr(stretches, "MANY", many)
        found = gap(text, streams, strategy=strategy)
    check_same(found, whole)


def check_same(found: Sequence[Evaluation], whole: Sequence[Evaluation]) -> None:
    left = list(whole)
    for each in found:
        meant = [left.pop(0) for _ in range(each.instants)]
        since = each.at if each.since is None else each.since
        assert (meant[-1].at, meant[0].at) == (each.at, since)
        assert all(shown(one) == shown(each) for one in meant)
        assert meant[-1].windows == each.windows
    assert not left


@pytest.mark.parametrize("text", QUERIES)
def test_a_gap_of_years_is_one_evaluation(text: str) -> None:
    streams = {S: lines(1_000, 2_500, YEARS + 1_000)}
    if T in text:
        streams[T] = lines(1_000, YEARS + 2_000)
    found = gap(text, streams)
    assert len(found) < 60
    far = [each for each in found if each.since is not None]
    assert len(far) == 1
    assert far[0].instants > 100_000_000
    assert [each.at for each in found] == sorted(each.at for each in found)
    near = gap(text, {iri: each.replace(str(YEARS)[:-4], "") for iri, each in streams.items()})
    assert near  # the same text runs without the gap too


def test_a_gap_does_not_depend_on_the_size_of_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stretches, "FEW", 5)
    text, script = QUERIES[1], lines(1_000, 2_500, 90_000, 91_000, 300_000)
    whole = gap(text, {S: script})
    engine = Engine()
    query, stream = engine.register(text), engine.stream(S)
    cut: list[Evaluation] = []
    query.on_result(cut.append)
    for line in script.splitlines(keepends=True):
        stream.feed_timed(line)
        engine.step()
        stream.feed_timed(f"{int(line.split()[0]) + 500}\n")
        engine.step()
    engine.finish()
    assert sum(each.instants for each in cut) == sum(each.instants for each in whole)
    early = [[shown(each) for each in run if each.at < 6_000_000] for run in (cut, whole)]
    assert early[0] == early[1]


GROUPED = (
    "SELECT ?x (COUNT(*) AS ?n) FROM STREAM <http://x/s> [RANGE 4s STEP 1s] "
    "WHERE { ?x <x:p> ?o } GROUP BY ?x"
)


@pytest.mark.parametrize("partitions", [1, 2])
def test_a_line_of_a_stretch_says_what_it_stands_for(partitions: int, tmp_path: Path) -> None:
    streams = {S: lines(1_000, YEARS)}
    found = next(each for each in gap(GROUPED, streams) if each.since is not None)
    said = json.loads(next(ndjson_lines(found)))
    assert said["since"] == found.since // 1000 if found.since else False
    assert said["instants"] == found.instants
    assert said["row"] is None
    (tmp_path / "s.tnq").write_text(streams[S])
    out = tmp_path / "out.ndjson"
    job = Job(
        [parse(GROUPED, name=found.query)],
        {S: [str(tmp_path / "s.tnq")]},
        outs=[str(out)],
        checkpoint=tmp_path / "checkpoint",
        runner=RunnerKind.INLINE,
        partitions=partitions,
    )
    run_job(job, Voice(lambda _: None, lambda _: None))
    assert said in [json.loads(line) for line in out.read_text().splitlines()]


COUNTS = (
    f"REGISTER STREAM counts AS SELECT (COUNT(*) AS ?n) FROM STREAM <{S}> "
    "[RANGE 2s STEP 1s] WHERE { ?x <x:p> ?o }"
)
OF_COUNTS = "SELECT (COUNT(*) AS ?n) FROM STREAM <counts> [RANGE 1h STEP 1h] WHERE { ?s ?p ?n }"


def number(evaluation: Evaluation) -> str:
    [[term]] = evaluation.rows
    assert isinstance(term, Literal)
    return term.lexical


def test_a_stream_with_an_element_at_each_instant_of_a_gap_has_all_of_them() -> None:
    day = 86_400_000
    played = play({"counts": COUNTS, "q": OF_COUNTS}, {S: lines(1_000, 3 * day)})
    assert not played.errors
    found = [each for each in played.evaluations if each.query == "q"]
    counts = [int(number(each)) for each in found]
    assert counts[:-1] == [3_600] * (len(counts) - 1)
    assert sum(counts) == 3 * 86_400 + 1
    assert any(each.instants > 10_000 for each in played.evaluations if each.query == "counts")


def test_a_query_with_too_many_elements_in_a_gap_stops_alone() -> None:
    engine = Engine()
    stream = engine.stream(S)
    counts, reader = engine.register(COUNTS), engine.register(OF_COUNTS)
    other = engine.register(QUERIES[0])
    stream.feed_timed(lines(1_000, YEARS))
    engine.finish()
    assert counts.error is not None
    assert "would have 1,576,7" in counts.error
    assert "--set max_ahead=1d" in counts.error
    assert reader.error is None
    assert sum(each.instants for each in other.results()) > 10**9


EVERYTHING = (
    "SELECT ?x FROM NAMED WINDOW <x:w> ON <http://x/s> [{}] "
    "WHERE {{ WINDOW <x:w> {{ ?x <x:p> ?o }} }}"
)


@pytest.mark.parametrize("window", ["ALL", "TRIPLES 2", "ELEMENTS 2 STEP 2"])
@pytest.mark.parametrize("emit", ["rstream", "istream"])
def test_a_window_that_keeps_its_elements_costs_nothing_in_a_gap(window: str, emit: str) -> None:
    streams = {S: lines(1_000, 2_500, YEARS + 1_000, YEARS + 1_500)}
    found = gap(EVERYTHING.format(window), streams, report="every:1s", emit=emit)
    assert len(found) < 20
    [far] = [each for each in found if each.since is not None]
    assert far.instants > 10**9
    assert len(far.rows) == (2 if emit == "rstream" else 0)


def test_a_condition_on_the_time_is_tested_at_each_instant(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stretches, "FEW", 10)
    monkeypatch.setattr(stretches, "MANY", 10)
    text = EVERYTHING.format("ALL").replace("?o }", "?o FILTER(SECONDS(NOW()) < 3) }")
    found = gap(text, {S: lines(1_000, 100_000)}, report="every:1s")
    assert [each.at // 1_000_000 for each in found if each.rows] == [1, 2, 60, 61, 62]
    assert not any(each.since for each in found)


def test_what_came_late_enters_a_window_of_everything_within_a_gap(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stretches, "FEW", 5)
    monkeypatch.setattr(stretches, "MANY", 5)
    script = lines(1_000, 90_000) + lines(2_000) + lines(200_000)
    found = gap(EVERYTHING.format("ALL"), {S: script}, report="every:1s")
    assert sum(each.instants for each in found) == 200
    sizes = {each.at // 1_000_000: len(each.rows) for each in found}
    assert {at: sizes[at] for at in (89, 90, 92, 199, 200)} == {89: 1, 90: 3, 92: 3, 199: 3, 200: 4}


@repeat(200)
@given(
    st.lists(grids, min_size=1, max_size=4, unique=True), st.integers(0, 50), st.integers(1, 900)
)
def test_instants_of_several_grids_are_counted_once(
    lines: list[Grid], first: int, width: int
) -> None:
    every = np.unique(np.concatenate([grid.between(first, first + width) for grid in lines]))
    assert stretches._distinct(lines, first, first + width) == every.size


def test_a_gap_over_grids_with_little_in_common_costs_nothing() -> None:
    text = "SELECT ?x FROM NAMED WINDOW <x:a> ON <http://x/s> [RANGE 1s STEP 997ms] " + (
        "FROM NAMED WINDOW <x:b> ON <http://x/s> [RANGE 1s STEP 1009ms] "
        "FROM NAMED WINDOW <x:c> ON <http://x/s> [RANGE 1s STEP 1013ms] "
        "WHERE { WINDOW <x:a> { ?x <x:p> ?o } WINDOW <x:b> { ?x <x:p> ?o } "
        "WINDOW <x:c> { ?x <x:p> ?o } }"
    )
    found = gap(text, {S: lines(1_000, YEARS)})
    assert len(found) < 60
    primes = (997, 1009, 1013)
    once = sum(YEARS // step for step in primes)
    twice = sum(YEARS // (one * other) for one, other in combinations(primes, 2))
    assert abs(sum(each.instants for each in found) - (once - twice + YEARS // prod(primes))) < 10


def test_windows_of_years_are_not_evaluated_for_each_instant() -> None:
    text = "SELECT ?x FROM STREAM <http://x/s> [RANGE 18250d STEP 1ms] WHERE { ?x <x:p> ?o }"
    found = gap(text, {S: lines(1_000, 2_000, 400_000_000, YEARS)})
    assert len(found) < 10_000
    far = [(len(each.rows), each.instants) for each in found if each.since is not None]
    assert [rows for rows, _ in far] == [2, 3, 2, 1]
    assert sum(each.instants for each in found) == 2 * YEARS - 1_000


def test_a_window_with_elements_is_evaluated_at_each_of_a_few_instants() -> None:
    text = "SELECT ?x FROM STREAM <http://x/s> [RANGE 1m STEP 1ms] WHERE { ?x <x:p> ?o }"
    found = gap(text, {S: lines(1_000, 1_000_000)})
    assert all(not each.rows for each in found if each.since is not None)
    assert sum(len(each.rows) for each in found) == 2 * 60_000
