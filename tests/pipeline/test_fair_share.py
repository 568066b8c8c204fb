"""Queries that wait for a later batch give the same answers, also after a restart in between."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from headrace.kernel.fair_share import FairShare
from headrace.pipeline.batches import Batches
from headrace.pipeline.local import LocalRunner
from headrace.pipeline.manifest import Manifest
from headrace.pipeline.pieces import SourceLog
from headrace.pipeline.streams import Sources
from headrace.results.evaluations import Evaluation
from headrace.scenarios import Scenario, ScenarioQuery
from headrace.testing import Played, play
from tests.continuous.generators import Case, cases
from tests.fuzzing import repeat
from tests.pipeline.scenarios import Deployed, Run
from tests.pipeline.test_random import like, of_query, told
from tests.pipeline.test_scenarios import GROUPS, differences, to_its_end

pytestmark = pytest.mark.slow


def erratic_clock(random: Random, often: float) -> Callable[[], float]:
    """Return a clock by which evaluations take no time, or at times more than they may."""
    now = 0.0

    def clock() -> float:
        nonlocal now
        now += random.choice([0.4, 2]) if random.random() < often else 0
        return now

    return clock


def in_turns(
    open_again: Callable[[Batches, Sources], Batches],
    pieces: int,
    random: Random,
    often: float = 0.4,
) -> Run:
    """Return a run in which queries wait at random, and which is restarted at random."""
    share = FairShare(1.0, erratic_clock(random, often))

    def shared(batches: Batches) -> Batches:
        batches.setup = replace(batches.setup, share=share)
        return batches

    def run(batches: Batches, sources: Sources) -> Manifest:
        batches = shared(batches)
        log = SourceLog(batches.layout.source_log)
        sources.look(log, complete=True)
        while batches.last().pieces < log.count or batches.last().is_behind:
            runner = LocalRunner(batches, sources, pieces)
            assert runner.step(log) or runner.pass_time()
            if random.random() < 0.2:
                batches = shared(open_again(batches, sources))
        return batches.last() if batches.setup.live else batches.finish()

    return run


@repeat(40, share=1 / 2)
@given(cases(), cases(), st.sampled_from([0, 1, 3]), st.integers(0, 1_000_000))
def test_queries_that_wait_give_the_same_answers(
    case: Case, other: Case, lines: int, seed: int
) -> None:
    assume(any(case.inputs.values()))
    queries = like(case)
    alike = (other.dialect, other.settings) == (case.dialect, case.settings)
    if alike and other.inputs.keys() <= case.inputs.keys():  # else it reads an undeclared stream
        queries["q3"] = other.text
    expected = play(
        queries,
        case.inputs,
        static=case.static,
        settings=case.settings,
        dialect=case.dialect,
    )
    scenario = Scenario(
        "case",
        "a random case",
        queries=tuple(ScenarioQuery(name, case.dialect, text) for name, text in queries.items()),
        settings=case.settings,
        static=case.static or {},
        streams={iri: tuple(text.splitlines()) for iri, text in case.inputs.items()},
    )
    with tempfile.TemporaryDirectory() as name:
        deployed = Deployed([scenario], Path(name), lines)
        again = lambda b, s: deployed.batches(b.deployment, s)  # noqa: E731
        found = deployed.played(in_turns(again, 1, Random(seed)))["case"]
    for each in queries:
        assert of_query(found, each) == of_query(expected, each), each
    assert found.counters == expected.counters
    assert found.errors == expected.errors
    assert told(found) == told(expected)


def makes_streams(scenario: Scenario) -> bool:
    return any("REGISTER STREAM" in " ".join(query.text.split()) for query in scenario.queries)


STREAMS_OF_STREAMS = [each for group in GROUPS for each in group if makes_streams(each)]


@pytest.mark.parametrize("scenario", STREAMS_OF_STREAMS, ids=[s.name for s in STREAMS_OF_STREAMS])
def test_queries_wait_together_with_those_that_read_them(
    scenario: Scenario, tmp_path: Path
) -> None:
    live = replace(scenario, live=True)  # else a reader waits for what windows hold
    expected = Deployed([live], tmp_path / "at once", 1).played(partial(to_its_end, pieces=1))
    for seed in range(5):
        deployed = Deployed([live], tmp_path / str(seed), 1)

        def again(batches: Batches, sources: Sources, deployed: Deployed = deployed) -> Batches:
            return deployed.batches(batches.deployment, sources)

        found = deployed.played(in_turns(again, 1, Random(seed)))
        for query in scenario.queries:
            assert by_query(found, query.name) == by_query(expected, query.name)


def by_query(played: Mapping[str, Played], name: str) -> list[Evaluation]:
    [one] = played.values()
    return of_query(one, name)


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.long)])
def test_scenarios_give_the_same_answers_in_turns(seed: int, tmp_path: Path) -> None:
    for number, group in enumerate(GROUPS):
        deployed = Deployed(group[::3] if seed == 1 else group, tmp_path / str(number), 1)

        def again(batches: Batches, sources: Sources, deployed: Deployed = deployed) -> Batches:
            return deployed.batches(batches.deployment, sources)

        pieces, often = (60, 0.005) if len(group) > 1 else (1, 0.2)
        assert differences(deployed, in_turns(again, pieces, Random(seed), often)) == {}
