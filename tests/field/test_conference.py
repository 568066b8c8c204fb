"""The instances that the benchmark of the CQELS paper registers, and how many of them can match."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.shared import ROOT

TRIPLES, RATE = 6_000, 40


def benchmark(name: str) -> ModuleType:
    folder = str(ROOT / "benchmarks")
    if folder not in sys.path:
        sys.path.append(folder)
    return import_module(name)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder: Path = tmp_path_factory.mktemp("conference")
    return benchmark("_cqels").made(TRIPLES, RATE, 40, folder)


def test_there_are_no_more_instances_than_authors(world: Any) -> None:
    many = benchmark("_many")
    authors = many.authors_of(world, 10 * world.graph.authors)
    assert sorted(authors) == list(range(world.graph.authors))
    assert many.authors_of(world, RATE) == world.people


@pytest.mark.parametrize("query", ["q1p", "q2p", "q3p", "q4p"])
def test_those_match_whose_people_are_all_in_the_stream(query: str, world: Any) -> None:
    """Let all people meet in one room: an instance that can match does, and no other does."""
    many, systems = benchmark("_many"), benchmark("_systemx")
    heard = sorted(set(world.updates.people.tolist()))
    authors = many.authors_of(world, world.graph.authors)
    system = systems.many(query, world.graph, authors)
    matched: set[int] = set()
    for time, person in enumerate(heard * 2, start=1):
        new = system.take(time, systems.author(person), systems.room(0))
        matched.update(int(place) for place in np.flatnonzero([bool(each) for each in new]))
    found = many.matching(query, authors, world)
    assert found == len(matched)
    assert 0 < found < len(authors)


def test_what_is_printed_has_both_numbers(world: Any, capsys: pytest.CaptureFixture[str]) -> None:
    many = benchmark("_many")
    asked = many.Asked((100_000,), (50,), 1, 10, 0)
    [figure] = many.inline("q1p", world, TRIPLES, asked)
    assert (figure.asked, figure.number) == (100_000, world.graph.authors)
    assert figure.matching == len(set(world.updates.people.tolist()))
    printed = capsys.readouterr().out
    assert f"there are only {figure.number:,} authors" in printed
    assert f"Q1'  {figure.number:9,} {figure.matching:9,}" in printed
