"""Arguments of calls on columns that differ between solutions with equal inputs."""

from __future__ import annotations

import pytest

from headrace.rdf.terms import Literal
from headrace.results.table import Table
from headrace.store import Store
from headrace.testing import play

PREFIX = "PREFIX rspu: <http://w3id.org/rsp/rspu#>\n"
THREE = "VALUES (?x ?y) { (1 1) (2 1) (3 1) }"
SEVEN = '"7"^^<http://www.w3.org/2001/XMLSchema#integer>'
STREAM = "".join(f"{1000 * n + 500}\t<x:a{n}> <x:v> {SEVEN} .\n" for n in range(6))
SWITCHES = ("on", "off")


def written(text: str) -> list[str]:
    """The last column of an answer."""
    with Store() as store:
        answer = store.query(PREFIX + text)
    assert isinstance(answer, Table)
    return [row[-1].lexical for row in answer.rows if isinstance(row[-1], Literal)]


def column(text: str) -> list[float]:
    """The same as numbers."""
    return [float(each) for each in written(text)]


def found(where: str, cached: str, batches: int | None = None) -> dict[int, list[float]]:
    """The values of ?a at each instant, of windows of four seconds every two."""
    text = f"""{PREFIX}SELECT ?x ?a FROM NAMED WINDOW <x:w> ON <x:s> [RANGE 4s STEP 2s]
    WHERE {{ {where} }}"""
    settings = {"rules.cache_calls": cached}
    played = play([text], {"x:s": STREAM}, settings=settings, batches=batches)
    return {
        each.at // 1000: [float(row[1].lexical) for row in each.rows if isinstance(row[1], Literal)]
        for each in played.evaluations
    }


@pytest.mark.parametrize("cached", SWITCHES)
@pytest.mark.parametrize("batches", [None, 1, 2])
@pytest.mark.parametrize(
    "call", ["rspu:add(?v, SECONDS(NOW()))", "0 + rspu:add(?v, SECONDS(NOW()))"]
)
def test_the_time_is_that_of_the_instant(call: str, batches: int | None, cached: str) -> None:
    where = f"WINDOW <x:w> {{ ?x <x:v> ?v BIND({call} AS ?a) }}"
    assert found(where, cached, batches) == {
        2000: [9.0] * 2,
        4000: [11.0] * 4,
        6000: [13.0] * 4,
        8000: [15.0] * 2,
    }


@pytest.mark.parametrize("cached", SWITCHES)
def test_a_test_for_a_pattern_is_made_in_each_window(cached: str) -> None:
    where = """WINDOW <x:w> { ?x <x:v> ?v }
    BIND(rspu:add(?v, IF(EXISTS { WINDOW <x:w> { <x:a3> <x:v> ?z } }, 10, 20)) AS ?a)"""
    assert found(where, cached) == {
        2000: [27.0] * 2,
        4000: [17.0] * 4,
        6000: [17.0] * 4,
        8000: [27.0] * 2,
    }


@pytest.mark.parametrize(
    "call",
    [
        "rspu:add(?y, RAND())",
        "rspu:add(0, RAND())",
        "rspu:add(RAND(), 0) - rspu:add(RAND(), 0)",
        "rspu:subtract(RAND(), RAND())",
        "rspu:quantile('U(0, 1)'^^rspu:distribution, RAND())",
    ],
)
def test_chance_differs_for_each_solution_and_each_place(call: str) -> None:
    answers = column(f"SELECT ?x ?a {{ {THREE} BIND({call} AS ?a) }}")
    assert len(set(answers)) == len(answers) == 3
    assert 0.0 not in answers


@pytest.mark.parametrize("cached", SWITCHES)
def test_chance_is_the_same_whether_calls_are_remembered(cached: str) -> None:
    for call in ("rspu:add(?v, RAND())", "rspu:quantile('U(0, 1)'^^rspu:distribution, RAND())"):
        where = f"WINDOW <x:w> {{ ?x <x:v> ?v }} BIND({call} AS ?a)"
        answers = found(where, cached)
        assert all(len(set(each)) == len(each) for each in answers.values())
        assert answers == found(where, "on")


def test_two_sides_of_a_comparison_are_two_numbers() -> None:
    test = "rspu:add(RAND(), 0) = rspu:add(RAND(), 0)"
    assert column(f"SELECT ?x {{ {THREE} FILTER({test}) }}") == []


def test_a_pattern_is_tested_for_each_solution() -> None:
    call = "rspu:add(?y, IF(EXISTS { VALUES ?x { 1 3 } }, 10, 20))"
    assert column(f"SELECT ?x ?a {{ {THREE} BIND({call} AS ?a) }}") == [11.0, 21.0, 11.0]


def test_zeros_are_written_as_one_number() -> None:
    zeros = "VALUES ?x { -0.0e0 0.0 0 }"
    assert written(f"SELECT (rspu:mean(?x) AS ?a) {{ {zeros} }}") == ["0.0E0"] * 3
