"""Every scenario comes out as it says, however its input is cut and whatever runs it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from headrace.errors import DataError, QueryError, SettingError
from headrace.rdf.terms import BlankNode, Iri, Literal, Quad, Term
from headrace.scenarios import Scenario, problems, read_scenario

if TYPE_CHECKING:
    from headrace.testing import Played

FOLDER = Path(__file__).parent / "scenarios"
FILES = sorted(FOLDER.glob("*.scenario"))

Runner = Callable[[Scenario, int | None], "Played"]


def inline(scenario: Scenario, batches: int | None) -> Played:
    """Play a scenario in this process; `batches` is how many lines of each stream are a step."""
    from headrace.testing import play

    return play(
        {query.name: query.text for query in scenario.queries},
        scenario.streams,
        static=scenario.static,
        settings=scenario.settings,
        batches=batches,
        dialect=scenario.dialect,
        live=scenario.live,
    )


RUNNERS: Final[Mapping[str, Runner]] = {"inline": inline}
CUTS: Final[Mapping[str, int | None]] = {"at once": None, "line by line": 1, "by threes": 3}


@cache
def scenario_of(path: Path) -> Scenario:
    return read_scenario(path.read_text("utf-8"), path.name, path.parent)


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("runner", RUNNERS)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_scenario_comes_out_as_it_says(path: Path, runner: str, cut: str) -> None:
    scenario = scenario_of(path)
    if scenario.refused:
        with pytest.raises((QueryError, SettingError)) as raised:
            RUNNERS[runner](scenario, CUTS[cut])
        assert [text for text in scenario.refused if text not in str(raised.value)] == []
        return
    differences = problems(scenario, RUNNERS[runner](scenario, CUTS[cut]))
    assert not differences, f"{scenario.title}\n" + "\n".join(differences)


# -- The format ---------------------------------------------------------------------------------


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_scenario_says_what_it_shows_and_what_it_expects(path: Path) -> None:
    scenario = scenario_of(path)
    assert len(scenario.title.split()) > 3
    assert bool(scenario.emits) != bool(scenario.refused)
