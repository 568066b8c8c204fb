"""A gap of fifty years in event time: the answers are those without it, and memory stays flat."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.serve.clients import TIMED, process, until
from tests.shared import ROOT

pytestmark = pytest.mark.slow

GAP = 50 * 365 * 86_400_000
"""Fifty years in milliseconds: a multiple of every step below."""
NEAR = 120_000
"""A gap that is evaluated instant by instant, with room for every window to become empty."""
SECONDS = 20
_READ = "FROM NAMED WINDOW <x:w> ON <x:s> [{}] "
_IN = "WINDOW <x:w> {{ {} }}"
QUERIES = {
    "counted": "SELECT (COUNT(*) AS ?n) FROM STREAM <x:s> [RANGE 2s STEP 2s] { ?x <x:p> ?v }",
    "sliding": "SELECT ?x ?v FROM STREAM <x:s> [RANGE 6s STEP 1s] { ?x <x:p> ?v }",
    "grouped": "SELECT ?v (COUNT(?x) AS ?n) FROM STREAM <x:s> [RANGE 4s STEP 2s] "
    "{ ?x <x:p> ?v } GROUP BY ?v",
    "begun": "REGISTER ISTREAM begun AS SELECT ?x "
    "FROM NAMED WINDOW <x:w> ON <x:s> [RANGE 3s STEP 1s] WHERE { WINDOW <x:w> { ?x <x:p> ?v } }",
    "ended": "REGISTER DSTREAM ended AS SELECT ?x "
    "FROM NAMED WINDOW <x:w> ON <x:s> [RANGE 3s STEP 1s] WHERE { WINDOW <x:w> { ?x <x:p> ?v } }",
    "joined": "SELECT ?x ?l FROM STREAM <x:s> [RANGE 3s STEP 1s] { ?x <x:p> ?v . ?v <x:l> ?l }",
    "both": "SELECT ?x ?y FROM NAMED WINDOW <x:w> ON <x:s> [RANGE 2s STEP 1s] "
    "FROM NAMED WINDOW <x:v> ON <x:t> [RANGE 6s STEP 3s] "
    "WHERE { WINDOW <x:w> { ?x <x:p> ?v } WINDOW <x:v> { ?y <x:p> ?v } }",
    "latest": "REGISTER QUERY latest COMPUTED EVERY 1s AS SELECT ?x "
    "FROM NAMED WINDOW <x:w> ON <x:s> [TRIPLES 3] WHERE { WINDOW <x:w> { ?x <x:p> ?v } }",
    "asked": "ASK FROM STREAM <x:s> [RANGE 1s STEP 1s] { ?x <x:p> <x:1> }",
    "made": "REGISTER STREAM made AS CONSTRUCT { ?x <x:was> ?v } "
    "FROM NAMED WINDOW <x:w> ON <x:s> [RANGE 2s STEP 1s] WHERE { WINDOW <x:w> { ?x <x:p> ?v } }",
    "read": "SELECT (COUNT(*) AS ?n) FROM STREAM <made> [RANGE 5s STEP 5s] { ?x <x:was> ?v }",
}
ALWAYS = ("counted", "latest", "asked", "read")
"""These have an answer at each instant, with elements or without."""
STEPS = {"counted": 2_000, "grouped": 2_000, "read": 5_000}
STATIC = "<x:0> <x:l> <x:zero> . <x:1> <x:l> <x:one> ."


def lines(stream: str, gap: int) -> str:
    """An element in the midst of each second, before and after a gap."""
    times = [1_000 * at + 500 for at in range(SECONDS)]
    return "".join(
        f"{time + shift}\t<x:{stream}{time + after}> <x:p> <x:{time // 1_000 % 3}> .\n"
        for shift, after in ((0, 0), (gap, 1))
        for time in times
    )


Said = Mapping[tuple[str, int], list[str]]


def said_by(objects: Iterator[dict[str, Any]], gap: int) -> tuple[Said, Mapping[str, int]]:
    """What was said, with times as if there were a gap of two minutes, and all instants."""
    found: dict[tuple[str, int], list[str]] = {}
    instants: dict[tuple[str, int], int] = {}
    for each in objects:
        query, at = each["query"], each["at"]
        instants[query, at] = each.get("instants", 1)
        within = 1_000 * SECONDS < at < gap
        said = [each.get(name) for name in ("row", "boolean", "triple", "error")]
        if within and (query in ALWAYS or said == [None] * 4):
            continue  # of a gap, one evaluation stands for many
        place = at if at < gap // 2 else at - gap + NEAR
        found.setdefault((query, place), []).append(json.dumps(said, sort_keys=True))
    total: dict[str, int] = {}
    for (query, _), number in instants.items():
        total[query] = total.get(query, 0) + number
    return {key: sorted(texts) for key, texts in found.items()}, total


def prepared(folder: Path, gap: int) -> Path:
    folder.mkdir()
    for stream in ("s", "t"):
        (folder / f"{stream}.tnq").write_text(lines(stream, gap))
    (folder / "static.ttl").write_text(STATIC)
    return folder


MEASURED = """
import resource, sys
from headrace.cli import app
try:
    app(sys.argv[1:])
except SystemExit as exit:
    if exit.code:
        raise
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, file=sys.stderr)
"""
IN_PROCESS = """
import json, resource, sys
from pathlib import Path
from headrace import Engine
from headrace.results.ndjson import ndjson_lines
folder, live, queries = Path(sys.argv[1]), sys.argv[2] == "live", json.loads(sys.argv[3])
engine = Engine(live=live)
engine.static.load(folder / "static.ttl")
streams = {name: engine.stream(f"x:{name}") for name in ("s", "t")}
with (folder / "out.ndjson").open("w") as out:
    for name, text in queries.items():
        query = engine.register(text) if "REGISTER" in text else engine.register(text, name=name)
        query.on_result(lambda each: out.writelines(f"{line}\\n" for line in ndjson_lines(each)))
    both = zip(*((folder / f"{name}.tnq").read_text().splitlines(True) for name in streams))
    for pair in both:
        for line, stream in zip(pair, streams.values()):
            stream.feed_timed(line)
        engine.step()
    engine.finish()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, file=sys.stderr)
"""


def ran(*arguments: str) -> int:
    """Run Python, and return how much memory it needed at most, in megabytes."""
    done = subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return int(done.stderr.split()[-1])


def with_command(folder: Path, *options: str) -> int:
    texts = [
        text if "REGISTER" in text else f"REGISTER QUERY {name} AS {text}"
        for name, text in QUERIES.items()
    ]
    streams = [f"--stream=x:{name}={folder / f'{name}.tnq'}" for name in ("s", "t")]
    out = [f"--static={folder / 'static.ttl'}", f"--out={folder / 'out.ndjson'}", "--quiet"]
    return ran("-c", MEASURED, "run", *texts, *streams, *out, "--once", *options)


RUNNERS = {
    "engine": lambda folder: ran("-c", IN_PROCESS, str(folder), "once", json.dumps(QUERIES)),
    "live engine": lambda folder: ran("-c", IN_PROCESS, str(folder), "live", json.dumps(QUERIES)),
    "inline": lambda folder: with_command(folder, "--runner", "inline"),
    "inline in parts": lambda folder: with_command(
        folder, "--runner", "inline", "--partitions", "2"
    ),
    "spark": lambda folder: with_command(folder, "--runner", "spark", "--master", "local[2]"),
}


def check(near: tuple[Said, Mapping[str, int]], far: tuple[Said, Mapping[str, int]]) -> None:
    assert near[0]
    assert far[0] == near[0]
    for query, number in near[1].items():
        step, rest = divmod(GAP, far[1][query] - number)
        assert (query, step, rest) == (query, STEPS.get(query, 1_000), 0)


@pytest.mark.parametrize("runner", RUNNERS)
def test_a_gap_of_years_changes_nothing(runner: str, tmp_path: Path) -> None:
    found, memory = [], []
    for gap in (NEAR, NEAR + GAP):
        folder = prepared(tmp_path / str(gap), gap)
        memory.append(RUNNERS[runner](folder))
        objects = map(json.loads, (folder / "out.ndjson").read_text().splitlines())
        found.append(said_by((each for each in objects if "at" in each), gap))
    check(*found)
    assert memory[1] < 1.3 * memory[0] + 50


def test_a_gap_of_years_changes_nothing_on_a_server(tmp_path: Path) -> None:
    found, memory = [], []
    for gap in (NEAR, NEAR + GAP):
        folder = prepared(tmp_path / str(gap), gap)
        with process(folder) as server, server.client() as client:
            for name in ("s", "t"):
                made = client.put(f"/streams/{name}", json={"iri": f"x:{name}", "time": "said"})
                made.raise_for_status()
            turtle = {"Content-Type": "text/turtle"}
            client.put("/store?default", content=STATIC, headers=turtle).raise_for_status()
            for name, text in QUERIES.items():
                made = client.post("/queries", json={"text": text, "name": name})
                made.raise_for_status()
            for name in ("s", "t"):
                body = (folder / f"{name}.tnq").read_text()
                pushed = client.post(
                    f"/streams/{name}", content=body, headers={"Content-Type": TIMED}
                )
                pushed.raise_for_status()
            last = gap + 1_000 * SECONDS
            objects: list[dict[str, Any]] = []
            for name in QUERIES:
                path = f"/queries/{name}/results"

                def evaluated(path: str = path, last: int = last) -> list[dict[str, Any]]:
                    every = client.get(path, params={"last": 1000}).json()["evaluations"]
                    done = every and max(each["at"] for each in every) >= last - 6_000
                    return list(every) if done else []

                objects += until(evaluated)
            for line in Path(f"/proc/{server.process.pid}/status").read_text().splitlines():
                if line.startswith("VmHWM"):
                    memory.append(int(line.split()[1]) // 1024)
            found.append(said_by(map(one_by_one, objects), gap))
    check(*found)
    assert memory[1] < 1.3 * memory[0] + 50


def one_by_one(each: dict[str, Any]) -> dict[str, Any]:
    """An evaluation of a server, with all of its rows as one."""
    row = each.get("rows") or each.get("triples") or None
    return {**each, "row": row and sorted(map(json.dumps, row))}
