"""Queries that ask for more than there is, as users run them: each is stopped, and says why."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.hostile import HOSTILE, MANY_ROWS, TWO, Hostile, circle
from tests.memory import MB, peak_of

STREAM = "http://example.org/s"
MEMORY = 1_200
QUICK = ("closure of alternatives", "product", "texts that quadruple", "a long text in every row")
LIMITS = ("seconds=3", "rows=5000000", "bytes=500MB", f"memory={MEMORY}MB")
OPTIONS = [part for each in LIMITS for part in ("--limit", each)]
EACH = [
    pytest.param(name, marks=() if name in QUICK else pytest.mark.long, id=name.replace(" ", "-"))
    for name in HOSTILE
]


def ended(*arguments: str | Path) -> tuple[int, str, int]:
    """The exit code of a command, what it said, and the most memory that it used."""
    command = [sys.executable, "-m", "headrace", *map(str, arguments)]
    started = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    with peak_of(started.pid) as peak:
        said, _ = started.communicate(timeout=300)
    return started.returncode, said, peak.bytes


@pytest.mark.parametrize("name", EACH)
def test_a_run_stops_the_query_within_its_limits(name: str, tmp_path: Path) -> None:
    harmless = tmp_path / "harmless.csparql"
    harmless.write_text(
        f"SELECT (COUNT(*) AS ?n) FROM STREAM <{STREAM}> [RANGE 10s STEP 1s] WHERE {{ ?s ?p ?o }}"
    )
    hostile = tmp_path / "hostile.csparql"
    hostile.write_text(HOSTILE[name].continuous(STREAM))
    lines = circle(300).splitlines()
    elements = [f"{number * 10}\t{line}\n" for number, line in enumerate(lines)]
    stream = tmp_path / "stream.tnq"
    stream.write_text("".join(elements) + "20000\t<x:a> <x:b> <x:c> .\n")
    out = tmp_path / "out.ndjson"
    code, said, peak = ended(
        "run", harmless, hostile, "--stream", f"{STREAM}={stream}", "--once", "--out", out,
        "--runner", "inline", *OPTIONS,
    )  # fmt: skip
    assert code == 1, said
    assert "query 'hostile' stopped" in said
    assert "(limit '" in said
    assert "Traceback" not in said
    assert peak < MEMORY * MB
    counted = [line for line in out.read_text().splitlines() if '"harmless"' in line]
    assert len(counted) == 30


@pytest.mark.parametrize("name", EACH)
def test_a_plain_query_is_stopped_within_its_limits(name: str, tmp_path: Path) -> None:
    data, query = tmp_path / "circle.nt", tmp_path / "hostile.rq"
    data.write_text(circle(300))
    query.write_text(HOSTILE[name].plain())
    code, said, peak = ended("query", query, "--data", data, "--format",
        "ntriples" if HOSTILE[name].construct else "csv", *OPTIONS)  # fmt: skip
    assert code != 0, said[:1_000]
    assert "(limit '" in said
    assert "Traceback" not in said
    assert peak < MEMORY * MB


@pytest.mark.long
def test_the_answers_of_many_instants_stay_within_the_memory(tmp_path: Path) -> None:
    query, stream = tmp_path / "hostile.csparql", tmp_path / "stream.tnq"
    query.write_text(Hostile("*", TWO).continuous(STREAM, "RANGE 10s STEP 1ms"))
    lines = circle(1_500).splitlines()
    stream.write_text("".join(f"{number * 2}\t{line}\n" for number, line in enumerate(lines)))
    code, said, peak = ended(
        "run", query, "--stream", f"{STREAM}={stream}", "--once", "--runner", "inline",
        "--out", tmp_path / "out.ndjson", *OPTIONS,
    )  # fmt: skip
    assert code == 1, said
    assert "(limit '" in said
    assert peak < MEMORY * MB


def test_limits_have_names(tmp_path: Path) -> None:
    query = tmp_path / "q.rq"
    query.write_text("ASK {}")
    code, said, _ = ended("query", query, "--limit", "second=1")
    assert code == 2
    assert "did you mean 'seconds'?" in said
    code, said, _ = ended("query", query, "--limit", "memory=much")
    assert code == 2
    assert "expected a positive number in --limit memory=" in said
    code, said, _ = ended("query", query, "--limit", "rows")
    assert code == 2
    assert "expected a value in --limit rows=VALUE, found 'rows'" in said
    assert ended("query", query, "--limit", "seconds=1min", "--limit", "memory=1.5GB")[0] == 0


@pytest.mark.parametrize("name", [
    pytest.param(name, marks=() if name in {"count", "order"} else pytest.mark.long)
    for name in MANY_ROWS
])  # fmt: skip
def test_hashing_and_sorting_stay_within_the_memory(name: str, tmp_path: Path) -> None:
    data, query = tmp_path / "circle.nt", tmp_path / "hostile.rq"
    data.write_text(circle(2_000))
    query.write_text(MANY_ROWS[name].plain())
    limits = ("seconds=60", "rows=5000000", "bytes=500MB", "memory=800MB")
    options = [part for each in limits for part in ("--limit", each)]
    code, said, peak = ended("query", query, "--data", data, *options)
    assert code == 1, said[:1_000]
    assert "(limit 'memory')" in said
    assert peak < 800 * MB
