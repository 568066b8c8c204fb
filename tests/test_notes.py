"""Notes: never false, not repeated, kept over restarts, and the same wherever they are shown."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from typer.testing import CliRunner, Result

from headrace import Engine
from headrace.cli import app
from headrace.diagnosis import Code, Facts, Note, NoteReporter, Severity
from headrace.diagnosis.pattern_notes import PatternDiagnosis
from headrace.diagnosis.probes import Probe
from headrace.pipeline.deployment import open_deployment
from headrace.pipeline.deployment_diagnosis import StaticLookup
from headrace.pipeline.manifest import latest
from headrace.rdf.terms import Iri
from headrace.testing import static_quads
from tests.continuous.generators import Case, cases
from tests.live import live_run
from tests.serve.clients import CARS, passages, push, register, served, socket, until, with_cars
from tests.shared import ROOT

CASES = int(os.environ.get("HEADRACE_FUZZ", "200"))
QUERY = "SELECT ?x FROM STREAM <s> [RANGE 5s STEP 5s] WHERE { ?x <x:P> ?y }"
LINES = "".join(f"{at * 1000}\t<x:a> <x:p> <x:{at}> .\n" for at in range(1, 40))


def codes(notes: Any) -> list[str]:
    return [str(note.code) for note in notes]


# -- what they say is true ---------------------------------------------------------------------


@pytest.mark.slow
@settings(max_examples=CASES, deadline=None, suppress_health_check=list(HealthCheck))
@given(cases())
def test_a_query_with_rows_is_never_said_to_miss_a_statement(case: Case) -> None:
    engine = Engine(settings=case.settings)
    for graph, text in (case.static or {}).items():
        engine.static.add(static_quads(text, graph))
    streams = {iri: engine.stream(iri) for iri in case.inputs}
    query = engine.register(case.text, dialect=case.dialect)
    for iri, text in case.inputs.items():
        streams[iri].feed_timed(text)
    engine.finish()
    known, queries = engine.runner.facts()
    static = StaticLookup(engine.static.statements, engine.static.dictionary)
    [facts] = queries
    found = PatternDiagnosis(Facts(known, queries, static=static), facts.needs, {})
    if found.missing is not None and not facts.needs.always_answers:
        assert all(not each.rows and not each.quads for each in query.results())
    for note in engine.notes:
        assert note.text
        assert "\n" not in note.text


def test_statements_are_counted_alike_one_by_one_and_in_columns() -> None:
    """A few statements take another way through the counter than many."""
    lines = LINES + "".join(f"{at * 1000}\t<x:a> <x:q> <x:b> <x:g> .\n" for at in range(40, 60))
    texts = [
        "SELECT * FROM STREAM <s> [RANGE 5s STEP 5s] { ?a <x:p> <x:7> . <x:b> <x:q> ?c }",
        "SELECT * FROM NAMED WINDOW <w> ON <s> [RANGE 5s STEP 5s]"
        " { WINDOW <w> { GRAPH <x:g> { ?a ?b ?c } GRAPH <x:h> { ?a <x:q> ?d } } }",
    ]
    tallies = []
    for batches in (lines.splitlines(keepends=True), [lines]):
        engine = Engine()
        stream = engine.stream("s")
        for text in texts:
            engine.register(text)
        for batch in batches:
            stream.feed_timed(batch)
            engine.step()
        [facts] = engine.runner.facts()[0].values()
        tallies.append(facts.tally)
    assert tallies[0] == tallies[1]
    assert tallies[0].count(Probe(predicate=Iri("x:p"), object=Iri("x:7"))) == 1
    assert tallies[0].count(Probe(named=True, graph=Iri("x:g"))) == 20
    assert tallies[0].count(Probe(named=True, graph=Iri("x:h"))) == 0
    assert tallies[0].graphs == ("<x:g>",)
    assert tallies[0].predicates == ("<x:p>", "<x:q>")


def test_what_follows_from_a_schema_counts(tmp_path: Path) -> None:
    schema = tmp_path / "schema.ttl"
    rdfs = "http://www.w3.org/2000/01/rdf-schema#"
    schema.write_text(f"<x:p> <{rdfs}subPropertyOf> <x:P> .")
    engine = Engine(schema=schema)
    stream = engine.stream("s")
    query = engine.register(QUERY.replace("{ ?x", "{ ?x <x:P> <x:none> . ?x"))
    stream.feed_timed(LINES)
    engine.finish()
    assert codes(query.notes) == ["unknown-term"]  # the predicate is there, entailed


# -- live runs ---------------------------------------------------------------------------------


def test_a_live_query_says_which_stream_its_window_waits_for() -> None:
    engine = Engine(live=True)
    streams = [engine.stream(iri) for iri in ("s", "t")]
    text = (
        "SELECT * FROM NAMED WINDOW <w> ON <s> [RANGE 5s STEP 5s]"
        " FROM NAMED WINDOW <v> ON <t> [RANGE 5s STEP 5s]"
        " { WINDOW <w> { ?x <x:p> ?y } WINDOW <v> { ?x <x:p> ?z } }"
    )
    query = engine.register(text)
    streams[0].push("<x:a> <x:p> <x:b> .", at=1_000)
    engine.step()
    assert [note.text for note in query.notes] == [
        "'q1' waits for <t>, of which nothing has come: push an element or a heartbeat to it, or"
        " give it an idle time-out (--set idle.t=30s)"
    ]
    streams[1].heartbeat(at=500)  # as streams have that go by arrival
    engine.step()
    texts = [note.text for note in query.notes]
    assert texts == ["<t> has had no elements yet: push elements to it"]
    streams[1].push("<x:a> <x:p> <x:c> .", at=2_000)
    engine.step()
    assert [note.text for note in query.notes] == [
        "no window of 'q1' has closed: the first one closes at 1970-01-01T00:00:05Z, and <s> has"
        " come to 1970-01-01T00:00:01Z; a later element or a heartbeat on it closes the window"
    ]
    for stream in streams:
        stream.heartbeat(at=6_000)
    engine.step()
    assert query.notes == ()
    assert any(each.rows for each in query.results())


def test_a_query_that_is_registered_late_says_that_nothing_has_come_since() -> None:
    engine = Engine(live=True)
    stream = engine.stream("s")
    engine.register(QUERY.replace("x:P", "x:p"), name="first")
    stream.push("<x:a> <x:p> <x:b> .", at=1_000)
    engine.step()
    late = engine.register(QUERY.replace("x:P", "x:p"), name="late")
    stream.heartbeat(at=20_000)
    engine.step()
    assert codes(late.notes) == ["empty-windows"]
    stream.push("<x:a> <x:p> <x:b> .", at=21_000)
    stream.heartbeat(at=30_000)
    engine.step()
    assert late.notes == ()


def test_a_note_is_reported_once_and_after_a_while() -> None:
    told: list[str] = []
    now = [0.0]
    reporter = NoteReporter(lambda note: told.append(note.text), lambda: now[0], grace=5)

    def note(text: str) -> Note:
        return Note(Code.SKIPPED_BY_WINDOWS, Severity.WARNING, text, "q")

    reporter.update([note("1 of 2")])
    assert told == []
    now[0] = 5
    reporter.update([note("2 of 4")])
    now[0] = 60
    reporter.update([note("20 of 40")])  # another count is no news
    assert told == ["2 of 4"]
    reporter.update([])
    reporter.update([note("30 of 60")])
    now[0] = 70
    reporter.update([note("30 of 60")])  # it was resolved in between
    assert told == ["2 of 4", "30 of 60"]


# -- runs ----------------------------------------------------------------------------------------


def run(*arguments: str, query: str = QUERY) -> Result:
    return CliRunner().invoke(
        app, ["run", query, "--runner", "inline", "--once", *arguments], env={"COLUMNS": "500"}
    )


def test_batches_and_partitions_do_not_change_the_notes(tmp_path: Path) -> None:
    folder = tmp_path / "stream"
    folder.mkdir()
    for number, line in enumerate(LINES.splitlines(keepends=True)):
        (folder / f"{number:02}.tnq").write_text(line)
    outs = []
    for batch, partitions in ((0, 1), (1, 1), (3, 2)):
        out = tmp_path / f"{batch}-{partitions}.ndjson"
        arguments = ["--batch", str(batch), "--partitions", str(partitions), "--out", str(out)]
        result = run("--stream", f"s={folder}", *arguments)
        assert result.exit_code == 0, result.stderr
        outs.append(out.read_text())
    assert outs[0] == outs[1] == outs[2]
    assert json.loads(outs[0].splitlines()[-1])["notes"][0]["code"] == "unknown-predicate"


def test_a_restart_goes_on_counting(tmp_path: Path) -> None:
    """What came before a restart counts, so no note is false after it."""
    folder, checkpoint = tmp_path / "stream", tmp_path / "checkpoint"
    folder.mkdir()
    query = QUERY.replace("<x:P> ?y", "<x:p> ?y FILTER(?y = <x:none>)")
    for part in (0, 1):
        lines = LINES.splitlines(keepends=True)
        text = "".join(lines[:20]) if part == 0 else "".join(lines[20:]).replace("x:p", "x:other")
        (folder / f"{part}.tnq").write_text(text)
        with open_deployment(checkpoint) as deployment:
            layout = deployment.layout
        arguments = ["--stream", f"s={folder}", "--checkpoint", str(checkpoint)]
        result = run(*arguments, query=query)
        if part == 0:
            assert "note:" not in result.stderr, result.stderr
            for final in layout.manifests.glob("*.final.json"):
                final.unlink()  # as if it was killed before the end of its input
            layout.settled.unlink(missing_ok=True)
    assert result.exit_code == 0, result.stderr
    assert "note:" not in result.stderr
    tally = latest(layout).streams["s"].tally
    assert tally is not None
    assert tally.count(Probe(predicate=Iri("x:p"))) == 20


def test_a_checkpoint_of_an_older_version_says_nothing_that_may_be_false(tmp_path: Path) -> None:
    """It has counted nothing, so nobody knows which predicates came."""
    source, checkpoint = tmp_path / "s.tnq", tmp_path / "checkpoint"
    source.write_text(LINES)
    arguments = ["--stream", f"s={source}", "--checkpoint", str(checkpoint)]
    assert "note: 'q1' looks for <x:P>" in run(*arguments).stderr
    with open_deployment(checkpoint) as deployment:
        layout = deployment.layout
    _write_as_before(layout)
    again = run(*arguments)
    assert again.exit_code == 0, again.stderr
    assert "looks for" not in again.stderr


def _write_as_before(layout: Any) -> None:
    from headrace.pipeline.records import sealed, unsealed

    for path in layout.manifests.glob("*.json"):
        record = unsealed(path.read_bytes(), path)
        for stream in record["streams"].values():
            del stream["tally"], stream["reason"]
        for queries in record["queries"]:
            queries["of"] = {name: own[:5] for name, own in queries["of"].items()}
        for pane in record["panes"]:
            pane.pop("tally", None)
        path.write_bytes(sealed(record))
    layout.settled.unlink(missing_ok=True)


def test_quiet_runs_show_errors_only(tmp_path: Path) -> None:
    good, bad = tmp_path / "s.tnq", tmp_path / "bad.tnq"
    good.write_text(LINES)
    bad.write_text("this is nothing\n")
    assert "note: 'q1' looks for <x:P>" in run("--stream", f"s={good}").stderr
    quiet = run("--stream", f"s={good}", "-q")
    assert quiet.exit_code == 0
    assert "note:" not in quiet.stderr
    failed = run("--stream", f"s={bad}", "-q")
    assert failed.exit_code == 1
    assert "error: the only element of <s> was rejected: " in failed.stderr


def test_notes_are_a_metric(tmp_path: Path) -> None:
    source, metrics = tmp_path / "s.tnq", tmp_path / "metrics.prom"
    source.write_text(LINES)
    run("--stream", f"s={source}", "--metrics", str(metrics))
    wanted = 'headrace_notes{code="unknown-predicate",query="q1",stream="s"} 1'
    assert wanted in metrics.read_text().splitlines()


def test_results_with_notes_are_read_as_a_stream(tmp_path: Path) -> None:
    source, out = tmp_path / "s.tnq", tmp_path / "out.ndjson"
    source.write_text(LINES)
    made = QUERY.replace("SELECT ?x", "CONSTRUCT { ?x <x:made> ?y }").replace("WHERE", " WHERE")
    run("--stream", f"s={source}", "--out", str(out), query=made)
    assert json.loads(out.read_text().splitlines()[-1]).keys() == {"query", "notes"}
    result = run("--stream", f"s={out}", query=QUERY.replace("x:P", "x:made"))
    assert "0 rejected" in result.stderr
    assert "<s> has had heartbeats and no elements" in result.stderr


def test_a_live_run_says_once_what_is_wrong_while_it_goes_on(tmp_path: Path) -> None:
    source, log = tmp_path / "s.tnq", tmp_path / "log"
    source.write_text(LINES)
    note = "note: 'q1' looks for <x:P>, which is the predicate of no statement in <s>"
    arguments = (QUERY, "--stream", f"s={source}", "--runner", "inline", "--out", "-")
    with live_run(log, *arguments) as live:
        live.until(lambda: note in live.said())
        with source.open("a") as file:  # more of the same is no news
            file.write("40000\t<x:a> <x:p> <x:b> .\n")
        assert live.said().count(note) == 1
        assert live.stop() == 0
        assert live.said().count(note) == 2  # and once in the conclusion


# -- over HTTP -------------------------------------------------------------------------------------


def test_followers_are_sent_the_notes_when_they_change(tmp_path: Path) -> None:
    text = (
        f"PREFIX : <http://example.org/> SELECT * FROM STREAM <{CARS}> [RANGE 5s STEP 5s]"
        " { ?gate :register ?car }"
    )
    with served(tmp_path) as client:
        with_cars(client)
        name = register(client, text)["name"]
        with socket(client, f"/queries/{name}/socket") as follower:
            assert follower.receive_json()["type"] == "head"
            first = follower.receive_json()
            assert first["type"] == "notes"
            assert [each["code"] for each in first["notes"]] == ["no-elements"]
            push(client, passages(0, 20))
            found: list[list[str]] = []
            while not found or found[-1] != ["unknown-predicate"]:
                said = follower.receive_json()
                if said["type"] == "notes":
                    found.append([each["code"] for each in said["notes"]])
            assert len(found) <= 2  # not with each window
        shown = client.get("/status").json()["queries"][0]["notes"]
        assert [each["text"] for each in shown] == [
            f"'{name}' looks for <http://example.org/register>, which is the predicate of no"
            f" statement in <{CARS}>: did you mean <http://example.org/registers>?"
        ]
        pattern = re.compile(r'^headrace_notes\{code="unknown-predicate",query="q1"', re.M)
        until(lambda: pattern.search(client.get("/metrics").text))


# -- the reference ---------------------------------------------------------------------------------


def test_the_page_lists_every_code() -> None:
    page = (ROOT / "docs" / "howto" / "nothing-comes-out.md").read_text("utf-8")
    listed = re.findall(r"^\| `([a-z-]+)` \|", page, re.M)
    assert listed == [str(code) for code in Code]
