"""Who gets no rows is told why: a table of silences, on every front end."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.silences.situations import HEARING, Situation, situations

SITUATIONS = situations()
SHORT = {"predicate-case", "all-late", "named-graphs-only"}
"""Those that `make test` tries on Spark too."""


def of(front_end: str) -> list[Situation]:
    return [each for each in SITUATIONS if front_end in each.only]


def check(situation: Situation, front_end: str, folder: Path) -> None:
    heard = HEARING[front_end](situation, folder)
    assert heard.notes == situation.notes(front_end)
    if front_end in {"cli", "spark"}:
        assert heard.exit == situation.expected["exit"]


@pytest.mark.parametrize("situation", of("cli"), ids=lambda each: each.name)
def test_the_command_line_says_why(situation: Situation, tmp_path: Path) -> None:
    check(situation, "cli", tmp_path)


@pytest.mark.parametrize("situation", of("python"), ids=lambda each: each.name)
def test_an_engine_says_why(situation: Situation, tmp_path: Path) -> None:
    check(situation, "python", tmp_path)


@pytest.mark.parametrize("situation", of("http"), ids=lambda each: each.name)
def test_a_server_says_why(situation: Situation, tmp_path: Path) -> None:
    check(situation, "http", tmp_path)


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(
    "situation",
    [
        pytest.param(each, marks=[] if each.name in SHORT else [pytest.mark.long])
        for each in of("spark")
    ],
    ids=lambda each: each.name,
)
def test_spark_says_why(situation: Situation, tmp_path: Path) -> None:
    check(situation, "spark", tmp_path)


def test_every_silence_has_a_text_of_its_own() -> None:
    """So exchanging two causes makes a test fail."""
    texts: dict[str, str] = {}
    for each in SITUATIONS:
        notes = "\n".join(each.expected["notes"])
        if notes:
            assert texts.setdefault(notes, each.name) == each.name, (texts[notes], each.name)
    assert len(texts) >= 20
