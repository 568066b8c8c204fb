"""`headrace run` in this process: files in, results out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from headrace.cli import app

STREAM = (
    "1000\t<x:a> <x:p> <x:b> .\n6000.5\t<x:a> <x:p> << <x:b> <x:q> <x:c> >> .\n"
    "2000\t<x:late> <x:p> <x:c> .\nbad\n13000\t<x:a> <x:q> 'no' .\n16000\n"
)
COUNT = (
    "REGISTER QUERY n AS SELECT (COUNT(*) AS ?n) FROM STREAM <s> [RANGE 10s STEP 5s] { ?a ?b ?c }"
)


@pytest.fixture
def stream(tmp_path: Path) -> Path:
    path = tmp_path / "s.tnq"
    path.write_text(STREAM)
    return path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["run", *arguments, "--runner", "inline", "--once"])


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_results_are_a_json_object_a_line(stream: Path, tmp_path: Path) -> None:
    out, late, rejected = (tmp_path / f"{name}.ndjson" for name in ("out", "late", "rejected"))
    text = "REGISTER QUERY q AS SELECT ?a ?c FROM STREAM <s> [RANGE 5s STEP 5s] { ?a <x:p> ?c }"
    result = run(
        text,
        "--stream",
        f"s={stream}",
        "--out",
        str(out),
        "--late",
        str(late),
        "--rejected",
        str(rejected),
    )
    assert result.exit_code == 0, result.stderr
    head = {"query": "q", "seq": 0}
    a, b = {"type": "uri", "value": "x:a"}, {"type": "uri", "value": "x:b"}
    parts = {
        "subject": b,
        "predicate": {"type": "uri", "value": "x:q"},
        "object": {"type": "uri", "value": "x:c"},
    }
    quoted = {"type": "triple", "value": parts}
    assert lines(out) == [
        {**head, "at": 5000, "windows": {"s": [0, 5000]}, "row": {"a": a, "c": b}},
        {**head, "at": 10000, "windows": {"s": [5000, 10000]}, "row": {"a": a, "c": quoted}},
    ]
    assert lines(late) == [{"stream": "s", "time": "2000", "quad": "<x:late> <x:p> <x:c> ."}]
    assert [each["stream"] for each in lines(rejected)] == ["s", "s"]
    assert "<s>: 5 elements, 1 late, 2 rejected" in result.stderr


def test_every_form_has_its_key(stream: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.ndjson"
    window = "FROM STREAM <s> [RANGE 5s STEP 5s]"
    queries = [
        f"REGISTER QUERY ask AS ASK {window} {{ <x:a> <x:p> <x:b> }}",
        f"REGISTER QUERY graph AS CONSTRUCT {{ ?a <x:made> ?c }} {window} WHERE {{ ?a <x:p> ?c }}",
        f"REGISTER QUERY none AS SELECT ?a {window} {{ ?a <x:nothing> ?c }}",
    ]
    result = run(*queries, "--stream", f"s={stream}", "--out", str(out))
    assert result.exit_code == 0, result.stderr
    found = {each["query"]: each for each in lines(out) if each.get("at") == 5000}
    assert found["ask"]["boolean"] is True
    assert [part["value"] for part in found["graph"]["triple"]] == ["x:a", "x:made", "x:b"]
    assert found["none"]["row"] is None


def test_queries_read_files_settings_and_static_data(stream: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.ndjson"
    static, named = tmp_path / "d.ttl", tmp_path / "n.ttl"
    static.write_text("<x:a> <x:is> <x:known> .")
    named.write_text("<x:a> <x:in> <x:graph> .")
    query = tmp_path / "mine.csparql"
    query.write_text(
        "SELECT ?k ?g FROM STREAM <s> [RANGE 5s STEP 5s]"
        " { ?a <x:p> <x:b> . ?a <x:is> ?k GRAPH <x:g> { ?a <x:in> ?g } }"
    )
    result = run(
        str(query),
        *("--stream", f"s={stream}", "--out", str(out)),
        *("--static", str(static), "--static", f"x:g={named}"),
        *("--set", "non_empty=answer"),
    )
    assert result.exit_code == 0, result.stderr
    [found] = lines(out)
    assert found["query"] == "mine"
    assert found["row"]["k"]["value"] == "x:known"
    assert found["row"]["g"]["value"] == "x:graph"


def test_without_a_file_answers_are_tables(stream: Path) -> None:
    result = run(COUNT, "--stream", f"s={stream}")
    assert result.stdout.startswith(
        "n at 1970-01-01T00:00:05Z, s from 1969-12-31T23:59:55Z\nn\n-\n1\n"
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--stream", "s"], "expected --stream IRI=SOURCE, found 's'"),
        (["--stream", "s=/nowhere.tnq"], "there is no file, folder or pattern '/nowhere.tnq'"),
        (["--stream", "s=kafka://b/t"], "is read on Spark only: leave out --runner"),
        (["--set", "bound=x"], "unknown setting 'bound'; did you mean 'bounds'?"),
        (["--stream", "s=s.tnq", "--out", "x.docx"], "found 'x.docx'"),
        ([], "reads <s>, which is no declared stream"),
    ],
)
def test_a_wrong_option_is_explained(
    arguments: list[str], said: str, stream: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(stream.parent)
    result = run(COUNT, *arguments)
    assert result.exit_code == 2
    assert said in result.stderr


def test_a_query_that_stops_makes_a_failed_run(stream: Path) -> None:
    result = run(
        "SELECT * FROM STREAM <s> [RANGE 5s STEP 5s] { ?a ?b ?c SERVICE ?a { ?d ?e ?f } }",
        *("--stream", f"s={stream}"),
    )
    assert "error" in result.stdout


def test_values_that_could_not_be_read_are_named_at_the_end(tmp_path: Path) -> None:
    source, metrics = tmp_path / "s.tnq", tmp_path / "metrics.txt"
    datatype = "http://w3id.org/rsp/rspu#distribution"
    values = ["N(1)", "N(0, 1)", "M(0, 1)"]
    source.write_text(
        "".join(f'{number}\t<x:{number}> <x:is> "{value}"^^<{datatype}> .\n'
                for number, value in enumerate(values, 1))
    )  # fmt: skip
    text = (
        "PREFIX rspu: <http://w3id.org/rsp/rspu#> REGISTER QUERY q AS SELECT ?s "
        "FROM STREAM <s> [RANGE 10s STEP 10s] "
        "{ ?s <x:is> ?d FILTER(rspu:lessThan(?d, 5) > 0.5) }"
    )
    out = str(tmp_path / "out.ndjson")
    result = run(text, "--stream", f"s={source}", "--out", out, "--metrics", str(metrics))
    assert result.exit_code == 0, result.stderr
    assert (
        f"note: 'q': 2 values of <{datatype}> could not be read; the first: "
        "'N(1)' is no distribution: expected N(mean, variance)\n"
    ) in result.stderr
    labels = f'query="q",cause="value",subject="{datatype}"'
    assert f"headrace_value_failures_total{{{labels}}} 2\n" in metrics.read_text()


def test_a_run_of_readable_values_has_no_such_note(stream: Path, tmp_path: Path) -> None:
    result = run(COUNT, "--stream", f"s={stream}", "--out", str(tmp_path / "out.ndjson"))
    assert "could not be read" not in result.stderr
