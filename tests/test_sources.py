"""Files of every format are streams of the runner in this process."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from headrace import Engine
from headrace.pipeline.streams import files_of
from headrace.results.ndjson import ndjson_lines

PROV = "<http://www.w3.org/ns/prov#generatedAtTime>"
NODES = "SELECT ?x ?y FROM STREAM <s> [RANGE 5s STEP 5s] WHERE { ?x <x:p> ?y }"
WINDOWS = "FROM NAMED WINDOW <w> ON <s> [RANGE 5s STEP 5s] { WINDOW <w> { ?a <x:p> ?b } }"


def answers(source: Path | str, query: str = NODES, **settings: str) -> list[tuple[int, list[str]]]:
    """The instants of a run in seconds, each with its rows."""
    engine = Engine(settings=settings)
    engine.stream("s", source=str(source))
    registered = engine.register(query)
    engine.run(once=True)
    assert not engine.rejected
    return [
        (each.at // 1_000_000, sorted(" ".join(map(str, row)) for row in each.rows))
        for each in registered.results()
    ]


def envelope(time: int, data: str, **more: str) -> str:
    return json.dumps({"time": time, "data": data, **more}) + "\n"


@pytest.mark.parametrize("name", ["a.ndjson", "a.jsonl", "a.ndjson.gz"])
def test_ndjson_is_a_source(tmp_path: Path, name: str) -> None:
    text = envelope(1000, "<x:a> <x:p> <x:b> .") + envelope(6000, "<x:a> <x:p> <x:c> .")
    path = tmp_path / name
    data = text.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    assert files_of(str(tmp_path)) == [path]
    assert answers(path) == [(5, ["<x:a> <x:b>"]), (10, ["<x:a> <x:c>"])]


def test_the_results_of_one_run_are_the_stream_of_the_next(tmp_path: Path) -> None:
    (tmp_path / "first.tnq").write_text("1000\t<x:a> <x:p> <x:b> .\n12000\t<x:c> <x:p> <x:d> .\n")
    engine = Engine()
    engine.stream("s", source=str(tmp_path / "first.tnq"))
    made = engine.register(f"CONSTRUCT {{ _:n <x:p> ?a . _:n <x:q> ?b }} {WINDOWS}", name="made")
    engine.run(once=True)
    lines = [line for each in made.results() for line in ndjson_lines(each)]
    assert any('"row": null' in line for line in lines)
    path = tmp_path / "second.ndjson"
    path.write_text("\n".join(lines), "utf-8")
    joined = "SELECT ?a ?b FROM STREAM <s> [RANGE 5s STEP 5s] WHERE { ?n <x:p> ?a ; <x:q> ?b }"
    assert answers(path, joined) == [(5, ["<x:a> <x:b>"]), (10, []), (15, ["<x:c> <x:d>"])]


@pytest.mark.parametrize(("blank_nodes", "nodes"), [("element", 3), ("stream", 1)])
def test_blank_nodes_of_files_are_apart_unless_the_stream_is_one(
    tmp_path: Path, blank_nodes: str, nodes: int
) -> None:
    (tmp_path / "a.nt").write_text(f'_:x <x:p> "a" .\n<x:a> {PROV} "1000" .\n')
    (tmp_path / "b.ndjson").write_text(envelope(1000, '_:x <x:p> "b" .'))
    (tmp_path / "c.tnq").write_text('1000\t_:x <x:p> "c" .\n')
    [(_, rows)] = answers(tmp_path, blank_nodes=blank_nodes)
    assert len(rows) == 3
    assert len({row.split()[0] for row in rows}) == nodes


@pytest.mark.parametrize("blank_nodes", ["element", "stream"])
def test_anonymous_nodes_are_always_apart(tmp_path: Path, blank_nodes: str) -> None:
    for name in "ab":
        (tmp_path / f"{name}.ttl").write_text(f'[] <x:p> "{name}" ; {PROV} "1000" .')
    turtle = envelope(1000, '[] <x:p> "c" .', type="text/turtle")
    (tmp_path / "c.ndjson").write_text(turtle + turtle.replace('\\"c', '\\"d'))
    [(_, rows)] = answers(tmp_path, blank_nodes=blank_nodes)
    assert len({row.split()[0] for row in rows}) == 4


def test_what_is_wrong_is_told_with_its_file_and_line(tmp_path: Path) -> None:
    good = envelope(1000, "<x:a> <x:p> <x:b> .")
    for name in ("a", "b"):
        (tmp_path / f"{name}.ndjson").write_text(good + "oops\n" + envelope(1000, "oops") + good)
    engine = Engine()
    engine.stream("s", source=str(tmp_path))
    engine.register(NODES)
    engine.run(once=True)
    told = [each.reason.replace(f"{tmp_path}/", "").split(": ")[0] for each in engine.rejected]
    assert told == ["a.ndjson:2:1", "a.ndjson:3", "b.ndjson:2:1", "b.ndjson:3"]
    counters = engine.counters["s"]
    assert (counters.elements, counters.rejected) == (8, 4)
