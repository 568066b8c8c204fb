"""What `headrace explain` says of a query together with data."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from headrace.cli import app

QUERY = """
REGISTER QUERY Named AS
SELECT ?x ?name FROM STREAM <http://x/s> [RANGE 2s STEP 2s]
WHERE { ?x <http://x/at> ?place . ?x <http://x/name> ?name }
"""
STREAM = "".join(f"{time}\t<http://x/{time % 3}> <http://x/at> <http://x/p> .\n" for time in
                 range(100, 4_100, 100))  # fmt: skip
STATIC = "".join(f'<http://x/{number}> <http://x/name> "{number}" .\n' for number in range(7))


@pytest.fixture
def data(tmp_path: Path) -> list[str]:
    (tmp_path / "s.tnq").write_text(STREAM)
    (tmp_path / "static.ttl").write_text(STATIC)
    stream, static = tmp_path / "s.tnq", tmp_path / "static.ttl"
    return ["--stream", f"http://x/s={stream}", "--static", str(static)]


def explained(*arguments: str, query: str = QUERY) -> str:
    result = CliRunner().invoke(app, ["explain", query, *arguments])
    assert result.exit_code == 0, result.output
    return result.output


def operators(*arguments: str) -> dict[str, dict[str, object]]:
    shown = json.loads(explained("--format", "json", *arguments))
    return {each["operator"]: each for each in shown["operators"]}


NAMED = "(triple ?x <http://x/name> ?name)"
PLACED = "(triple ?x <http://x/at> ?place)"


def test_what_was_seen_stands_beside_what_was_estimated(data: list[str]) -> None:
    found = operators(*data)
    assert found[PLACED]["seen"] == 3 + 3  # three of them in each of two windows
    assert found[NAMED]["estimated"] == 7
    assert "seen" in explained(*data)


def test_routes_are_shown_of_what_is_matched_as_it_comes(data: list[str]) -> None:
    arriving = ("--set", "report=on-arrival", *data)
    query = QUERY.replace("?x <http://x/at> ?place", "?x <http://x/at> ?place, ?other")
    shown = explained(*arriving, query=query)
    assert "routes of what is new" in shown
    start = "from (triple ?x <http://x/at> ?place) in <http://x/s>: "
    [line] = [line.strip() for line in shown.splitlines() if line.strip().startswith(start)]
    assert "(triple ?x <http://x/name> ?name) in <http://x/s>" in line
    assert json.loads(explained("--format", "json", *arriving, query=query))["routes"]
    assert "routes of what is new" not in explained(*data, query=query)


def test_static_data_alone_are_counted(data: list[str]) -> None:
    found = operators(*data[2:])
    assert (found[NAMED]["estimated"], found[NAMED]["seen"]) == (7, None)
    assert "passes" not in explained(*data[2:])


def test_without_data_nothing_is_known() -> None:
    assert operators()[NAMED]["estimated"] == 1_000


def test_what_was_not_looked_at_is_said(data: list[str], tmp_path: Path) -> None:
    (tmp_path / "s.tnq").write_text(f"{STREAM}5000\tno statement\n")
    assert "1 elements were rejected" in explained(*data)


def test_a_graph_goes_by_the_data(data: list[str]) -> None:
    result = CliRunner().invoke(app, ["explain", QUERY, "--graph", "operators", *data])
    assert result.exit_code == 0
    assert "(static)" in result.output
    without = CliRunner().invoke(app, ["explain", QUERY, "--graph", "operators"])
    assert "(static or stream)" in without.output


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        ((), "incremental in a live run"),
        (("strategy=snapshot",), "as it was told to"),
        (("strategy=incremental",), "incremental: a match is found when its last triple comes"),
        (("report=on-arrival",), "incremental: a match is found when its last triple comes"),
        (("report=on-change",), "because report=on-change"),
        (("report=on-change", "strategy=incremental"), "a run is refused"),
    ],
)
def test_the_strategy_and_its_reason_are_shown(settings: tuple[str, ...], wanted: str) -> None:
    assert wanted in explained(*(part for each in settings for part in ("--set", each)))


def test_json_has_the_strategy_and_the_parts() -> None:
    shown = json.loads(explained("--format", "json"))
    assert shown["strategy"].startswith("snapshot")
    assert shown["evaluated"]


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("?x <http://x/at> ?p . FILTER(?p > 1)", ["streaming view", "comprehensive"]),
        ("{ ?x <http://x/at> ?p } UNION { ?x <http://x/on> ?p }", []),
        ("?x <http://x/at> ?p OPTIONAL { ?x <http://x/name> ?n }", []),
        ("?x <http://x/at> ?p MINUS { ?x <http://x/name> ?n }", []),
    ],
)
def test_only_conjunctions_have_the_pieces_of_the_paper(body: str, wanted: list[str]) -> None:
    text = f"SELECT * FROM STREAM <http://x/s> [RANGE 2s STEP 2s] WHERE {{ {body} }}"
    result = CliRunner().invoke(app, ["explain", text, "--format", "json"])
    assert [each["piece"] for each in json.loads(result.output)["pieces"]] == wanted
