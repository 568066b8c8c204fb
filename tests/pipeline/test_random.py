"""Random queries over random streams: a pipeline gives what the engine gives, in any parts."""

from __future__ import annotations

import tempfile
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from headrace.pipeline.local import LocalRunner
from headrace.results.evaluations import Evaluation
from headrace.scenarios import Scenario, ScenarioQuery
from headrace.testing import Played, play
from tests.continuous.generators import Case, cases
from tests.continuous.ways import play_every_way, sibling_of
from tests.fuzzing import repeat
from tests.pipeline.scenarios import Deployed

pytestmark = pytest.mark.slow


def deployed(case: Case, lines: int, pieces: int, partitions: int) -> Played:
    scenario = Scenario(
        "case",
        "a random case",
        queries=tuple(ScenarioQuery(name, case.dialect, text) for name, text in like(case).items()),
        settings=case.settings,
        static=case.static or {},
        streams={iri: tuple(text.splitlines()) for iri, text in case.inputs.items()},
    )
    with tempfile.TemporaryDirectory() as name:
        several = Deployed([scenario], Path(name), lines, partitions)
        return several.played(lambda b, s: LocalRunner(b, s, pieces).run())["case"]


def like(case: Case) -> dict[str, str]:
    """A query, and one of equal shape: a deployment evaluates them as one."""
    return {"q1": case.text, "q2": sibling_of(case.text)}


def told(played: Played) -> list[str]:
    """What was late and what was rejected, in one order: a pipeline tells of it batch by batch."""
    late = [
        f"late {each.stream} {each.element.time} {quad}"
        for each in played.late
        for quad in each.element.quads
    ]
    rejected = [
        f"rejected {each.stream} {each.element and each.element.time}" for each in played.rejected
    ]
    return sorted(late + rejected)


def of_query(played: Played, name: str) -> list[Evaluation]:
    return [each for each in played.evaluations if each.query == name]


@repeat(50, share=1 / 2)
@given(
    cases(),
    st.sampled_from([(0, 0), (1, 1), (1, 1), (3, 2)]),
    st.sampled_from([1, 2, 3]),
    st.sampled_from([0, 2, 25]),
)
def test_a_pipeline_gives_what_the_engine_gives(
    case: Case, cut: tuple[int, int], partitions: int, most_panes: int
) -> None:
    assume(any(case.inputs.values()))
    expected = play(
        like(case),
        case.inputs,
        static=case.static,
        settings=case.settings,
        dialect=case.dialect,
    )
    with patch("headrace.pipeline.batches._MOST_PANES", most_panes):
        found = deployed(case, *cut, partitions)
    alone = play_every_way(
        case.text,
        case.inputs,
        static=case.static,
        settings=case.settings,
        dialect=case.dialect,
    )
    assert of_query(found, "q1") == alone.evaluations
    assert of_query(found, "q2") == of_query(expected, "q2")
    assert found.counters == expected.counters
    assert told(found) == told(expected)
