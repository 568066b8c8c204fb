from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from headrace.cli import app
from headrace.version import __version__

QUERY = """REGISTER QUERY Cars AS
SELECT (COUNT(?car) AS ?n) FROM STREAM <http://ex.org/s> [RANGE 10m STEP 1m]
WHERE { ?gate <http://ex.org/registers> ?car }
"""


def headrace(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, list(arguments), input=stdin)


@pytest.fixture
def query(tmp_path: Path) -> Path:
    path = tmp_path / "cars.rq"
    path.write_text(QUERY)
    return path


def test_version() -> None:
    assert headrace("--version").output == f"headrace {__version__}\n"


def test_help_names_every_command() -> None:
    result = headrace("--help")
    assert result.exit_code == 0
    assert all(name in result.output for name in ("demo", "check", "explain", "doctor", "bench"))


def test_check_says_what_a_query_runs_with(query: Path) -> None:
    result = headrace("check", str(query))
    assert result.exit_code == 0
    assert result.output == (
        f"{query}: ok, csparql, the last 10m, every 1m; bounds (], reports on-close,"
        " emits rstream\n"
    )


def test_check_takes_a_text_and_standard_input() -> None:
    assert headrace("check", "ASK { ?s ?p ?o }").output == "query: ok, sparql, no streams\n"
    assert headrace("check", "-", stdin=QUERY).exit_code == 0


def test_check_shows_every_wrong_query_and_ends_with_2(query: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.rq"
    wrong.write_text("SELECT ?x WHER { ?x ?y ?z }")
    result = headrace("check", str(wrong), str(query))
    assert result.exit_code == 2
    assert "wrong.rq, line 1, column 11" in result.stderr
    assert "did you mean 'WHERE'?" in result.stderr
    assert "1 of 2 wrong" in result.stderr
    assert "cars.rq: ok" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["check", "missing.rq"], "cannot read missing.rq: No such file or directory"),
        (["check", "ASK {}", "--dialect", "cqel"], "unknown dialect 'cqel'; did you mean 'cqels'?"),
        (
            ["check", "ASK {}", "--set", "bound=x"],
            "unknown setting 'bound'; did you mean 'bounds'?",
        ),
        (["check", "ASK {}", "--set", "bounds"], "expected --set KEY=VALUE, found 'bounds'"),
        (["check", "ASK {}", "--set", "profile=x"], "'profile' is sparql, csparql"),
        (["explain", "ASK {"], "the query ends too early"),
        (
            ["explain", "ASK {}", "--format", "json", "--graph", "operators"],
            "--graph goes with --format text, mermaid or svg, not with json",
        ),
        (
            ["bench", "nothing"],
            "unknown benchmark 'nothing'; known are acqua, compare, cqels, csparql,",
        ),
    ],
)
def test_a_wrong_option_is_explained(arguments: list[str], problem: str) -> None:
    result = headrace(*arguments)
    assert result.exit_code == 2
    assert problem in result.stderr


def test_benchmarks_are_listed() -> None:
    result = headrace("bench")
    assert result.exit_code == 0
    listed = [line.split(maxsplit=1) for line in result.stdout.splitlines()]
    assert {"windows", "sparkwave"} <= {name for name, _ in listed}
    assert all(about for _, about in listed)


def test_help_on_a_benchmark_lists_its_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", list(sys.argv))
    monkeypatch.setattr("sys.path", list(sys.path))
    result = headrace("bench", "kernel", "--help")
    assert result.exit_code == 0
    assert "--triples" in result.stdout
    own = headrace("bench", "--help")
    assert own.exit_code == 0
    assert "Which one; without it, they are listed." in own.stdout


def test_all_behind_the_name_of_a_benchmark_reaches_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", list(sys.argv))
    monkeypatch.setattr("sys.path", list(sys.path))
    monkeypatch.setattr("runpy.run_path", lambda *_, **__: None)
    options = ["--lines", "4", "--json", "a", "--", "--json", "b"]
    assert headrace("bench", "decode", *options).exit_code == 0
    assert sys.argv == ["decode", *options]


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bad.rq"
    path.write_bytes(b"ASK { \xff }")
    result = headrace("check", str(path))
    assert result.exit_code == 2
    assert "is not UTF-8" in result.stderr


def test_settings_go_before_the_profile(query: Path) -> None:
    result = headrace("check", str(query), "--set", "bounds=[)", "--set", "report=every:5s")
    assert "bounds [), reports every:5s" in result.output


def test_explain_shows_profile_windows_and_algebra(query: Path) -> None:
    output = headrace("explain", str(query)).output
    assert "Cars (registered as a query)" in output
    assert "<http://ex.org/s>: the last 10m, every 1m, also in the default graph" in output
    assert "report          on-close" in output
    assert "(group" in output


def test_explain_as_json(query: Path) -> None:
    explained = json.loads(headrace("explain", str(query), "--format", "json").output)
    assert explained["name"] == "Cars"
    assert explained["windows"] == [
        {
            "name": "http://ex.org/s",
            "stream": "http://ex.org/s",
            "in_default_graph": True,
            "kind": "time",
            "width": 600_000,
            "slide": 60_000,
        }
    ]
    assert explained["semantics"]["bounds"] == "(]"
    assert explained["variables"] == {"certain": ["n"], "possible": ["n"]}
    assert explained["stages"][0]["stage"] == "parsed"


def test_explain_draws_graphs(query: Path, tmp_path: Path) -> None:
    assert headrace("explain", str(query), "--format", "svg").output.startswith("<svg ")
    chart = headrace("explain", str(query), "--format", "mermaid", "--graph", "denotational")
    assert chart.output.startswith("flowchart LR")
    assert "Stream: ex:s" in headrace("explain", str(query), "--graph", "operators").output
    file = tmp_path / "query.mmd"
    written = headrace("explain", str(query), "--format", "mermaid", "--out", str(file))
    assert (written.exit_code, written.output) == (0, "")
    assert file.read_text("utf-8").startswith("flowchart BT")
    failed = headrace("explain", str(query), "--out", str(tmp_path))
    assert failed.exit_code == 1
    assert f"cannot write {tmp_path}: Is a directory" in failed.stderr


def test_notes_are_shown() -> None:
    result = headrace("check", "ASK { ?s ?p ?o FILTER (?x > 1) }")
    assert "note: ?x is never bound in the group of this FILTER" in result.output


def test_check_refuses_what_run_refuses() -> None:
    window = "FROM STREAM <http://example.org/s> [RANGE 10s STEP 5s]"
    stamped = (
        f"SELECT ?s {window} {{ ?s ?p ?o FILTER EXISTS {{ ?s ?q ?o FILTER (timestamp(?s) > 3) }} }}"
    )
    result = headrace("check", stamped)
    assert result.exit_code == 2
    assert "timestamp() inside EXISTS is not supported" in result.stderr
    assert "line 1, column 110" in result.stderr
    # What a program may define before it registers the query is only remarked on, at its place.
    unknown = headrace(
        "check", f"SELECT (<http://example.org/f>(?s) AS ?x) {window} {{ ?s ?p ?o }}"
    )
    assert unknown.exit_code == 0
    assert "note: there is no function <http://example.org/f>\n  query, line 1, column 9" in (
        unknown.output
    )


def test_check_refuses_what_never_has_a_value() -> None:
    wrong = headrace("check", 'SELECT ?s { ?s ?p ?o FILTER REGEX(?o, "a(?=b)") }')
    assert wrong.exit_code == 2
    assert "a look-ahead, (?=, at character 2" in wrong.stderr
    assert "line 1, column 29" in wrong.stderr
    call = "<http://w3id.org/rsp/rspu#lesthan>(?o, 1)"
    unknown = headrace("check", f"SELECT ?s {{ ?s ?p ?o FILTER({call} > 0.5) }}")
    assert unknown.exit_code == 2
    assert "there is no function rspu:lesthan; did you mean rspu:lessThan?" in unknown.stderr


@pytest.mark.parametrize("command", [["--help"], ["check", "ASK { ?s ?p ?o }"]])
def test_quick_commands_load_nothing_heavy(command: list[str]) -> None:
    """The time budget in terms that a busy machine cannot change: what is not imported."""
    script = (
        "import sys; from headrace.cli import main; sys.argv = ['headrace', *sys.argv[1:]]\n"
        "try:\n    main()\nexcept SystemExit: pass\n"
        "heavy = {'pyspark', 'pandas', 'polars', 'pyarrow', 'numpy', 'scipy', 'pyoxigraph'}\n"
        "sys.exit(', '.join(sorted(heavy & set(sys.modules))) or None)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *command], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_query_answers_over_files(tmp_path: Path) -> None:
    path = tmp_path / "data.ttl"
    path.write_text("<http://ex/ann> <http://ex/age> 41 . wrong .")
    result = headrace("query", "SELECT ?a { ?s ?p ?a }", "--data", str(path), "--format", "csv")
    assert result.exit_code == 1, "not all of the data could be read"
    assert result.stdout.split() == ["a", "41"]
    assert "not read:" in result.stderr
    as_graph = headrace("query", "DESCRIBE <http://ex/ann>", "--data", str(path))
    assert "<http://ex/ann> <http://ex/age> 41 ." in as_graph.stdout


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("SELECT ?s { ?s ?p ?o FILTER(timestamp(?o) > 3) }", "timestamp() is about streams"),
        (
            "SELECT ?s { ?s ?p ?o SERVICE <http://e.x/> [BUDGET 3] { ?s ?q ?z } }",
            "a SERVICE with a budget is not supported here yet",
        ),
    ],
)
def test_check_refuses_plain_queries_that_query_refuses(text: str, problem: str) -> None:
    for command in ("check", "query"):
        refused = headrace(command, text)
        assert refused.exit_code == 2
        assert problem in refused.stderr
        assert "column" in refused.stderr


def test_query_says_what_it_could_not_compute(tmp_path: Path) -> None:
    path = tmp_path / "data.ttl"
    path.write_text("<x:a> <x:p> 'b' ; <x:pattern> '(b' .")
    text = "SELECT ?s { ?s <x:p> ?o ; <x:pattern> ?f FILTER(REGEX(?o, ?f)) }"
    result = headrace("query", text, "--data", str(path))
    assert result.exit_code == 0
    assert "note: 1 pattern of REGEX could not be used; the first: " in result.stderr


def test_query_refuses_streams_and_unknown_formats() -> None:
    stream = headrace("query", "SELECT * FROM STREAM <s> [RANGE 1s STEP 1s] { ?s ?p ?o }")
    assert stream.exit_code == 2
    assert "reads a stream" in stream.stderr
    assert headrace("query", "ASK {}", "--format", "jsn").exit_code == 2
