"""What a run makes of its input: counted, named if it was rejected, and never lost."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

import polars as pl
import pytest
from typer.testing import CliRunner, Result

from headrace import DataError, Engine, HeadraceError, SettingError
from headrace.acceptance import RejectionLimit
from headrace.cli import app
from headrace.errors import MachineError
from headrace.kernel.stream_counters import Counters
from headrace.pipeline.manifest import StreamState, _stream
from headrace.spark.kafka import check_topics

QUERY: Final = "REGISTER QUERY q AS SELECT ?a FROM STREAM <x:s> [RANGE 5s STEP 5s] { ?a <x:p> ?b }"
PROV: Final = "<http://www.w3.org/ns/prov#generatedAtTime>"
GOOD: Final = "1000\t<x:a> <x:p> <x:b> .\n"
RUNNERS: Final = [
    None,
    "inline",
    pytest.param("spark", marks=pytest.mark.spark),
]


def run(*arguments: str, query: str = QUERY) -> Result:
    return CliRunner().invoke(app, ["run", query, *arguments, "--runner", "inline", "--once"])


def envelope(**members: object) -> str:
    return json.dumps(members) + "\n"


FILES: Final = {
    "lines.tnq": (
        f"{GOOD}9000\t<x:a> <x:p> <x:b> .\n2000\t<x:late> <x:p> <x:b> .\nbad\n12000\n# nothing\n",
        Counters(4, 1, 1, 5, 1, 1),
    ),
    "lines.ndjson": (
        envelope(time=1000, data="<x:a> <x:p> <x:b> .")
        + envelope(time=1500, data='{"a": 1}', type="application/ld+json")
        + envelope(time=1600, data="# nothing", type="text/turtle")
        + envelope(time=1700, data="", type="text/turtle")
        + envelope(time=1800)
        + envelope(a=1)
        + '{"@graph": [], "time": 5}\n',
        Counters(5, 0, 4, 7, 2, 4),
    ),
    "plain.jsonld": ('{"sensor": 7, "value": 1}', Counters(1, 0, 1, 1, 0, 1)),
    "empty.ttl": ("", Counters(1, 0, 1, 1, 0, 1)),
    "comment.ttl": ("# nothing\n@prefix : <x:> .\n", Counters(1, 0, 1, 1, 0, 1)),
    "untimed.ttl": ("<x:a> <x:p> <x:b> .", Counters(1, 0, 1, 1, 0, 1)),
    "timed.ttl": (f"<x:a> <x:p> <x:b> ; {PROV} '1000' .", Counters(1, 0, 0, 1, 0, 0)),
    "graphs.trig": (
        f"<x:g> {PROV} '1' . <x:h> {PROV} '2' . <x:g> {{ <x:a> <x:p> <x:b> }}"
        " <x:h> { <x:a> <x:p> <x:b> } <x:i> { <x:a> <x:p> <x:b> }",
        Counters(3, 0, 1, 1, 0, 0),
    ),
}


@pytest.mark.parametrize("runner", RUNNERS)
def test_every_message_and_every_element_is_counted_once(
    runner: str | None, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """On Spark all formats are streams of one run, because each start of a run takes seconds."""
    if runner == "spark":
        request.getfixturevalue("spark")
    engine = Engine()
    for name, (text, _) in FILES.items():
        (tmp_path / name).write_text(text)
        engine.stream(f"x:{name}", source=tmp_path / name)
        engine.register(f"SELECT ?a FROM STREAM <x:{name}> [RANGE 5s STEP 5s] {{ ?a <x:p> ?b }}")
    engine.run(once=True, runner=runner)
    for name, (_, expected) in FILES.items():
        assert engine.counters[f"x:{name}"] == expected, name
    for each in engine.counters.values():
        assert each.messages == each.accepted + each.heartbeats + each.rejected_messages
        assert each.elements == each.on_time + each.late + each.rejected


def test_count_windows_have_late_elements_too(tmp_path: Path) -> None:
    text = "1000\t<x:a> <x:p> <x:b> .\n3000\t<x:a> <x:p> <x:c> .\n2000\t<x:a> <x:p> <x:d> .\n"
    (tmp_path / "a.tnq").write_text(text)
    query = "REGISTER QUERY q AS SELECT ?b FROM STREAM <x:s> [RANGE TRIPLES 2] { ?a <x:p> ?b }"
    said = run("--stream", f"x:s={tmp_path}", query=query)
    assert "<x:s>: 3 elements, 1 late, 0 rejected, 2 on time; 3 messages, 3 acc" in said.stderr


def test_pushes_are_counted() -> None:
    engine = Engine(settings={"max_ahead": "1m"})
    stream = engine.stream("x:s")
    engine.register(QUERY)
    stream.push("<x:a> <x:p> <x:b> .", at=1000)
    stream.heartbeat(at=2000)
    stream.push("<x:far> <x:p> <x:b> .", at=1_000_000)
    stream.heartbeat(at=2_000_000)
    stream.feed_timed("9000\t<x:a> <x:p> <x:b> .\nbad\n3000\t<x:late> <x:p> <x:b> .\n")
    engine.finish()
    assert engine.counters["x:s"] == Counters(5, 1, 2, 7, 1, 3)
    assert len(engine.rejected) == 3


def test_a_checkpoint_of_the_version_before_has_counted_elements_only() -> None:
    before = {"highs": {"": 5}, "elements": 7, "late": 2, "rejected": 1, "lines": {"a.tnq": 7}}
    state = _stream(dict(before))
    expected = StreamState({"": 5}, 7, 2, 1, {"a.tnq": 7}, messages=7, rejected_messages=1)
    assert state == expected
    assert (state.counters.accepted, state.counters.on_time, state.jump) == (6, 4, None)


# -- how a run ends ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "options", "code", "said"),
    [
        ("", [], 0, "note: <x:s> had no elements: nothing was read from {source}; check that"),
        (GOOD, [], 0, ""),
        ("bad\nworse\n", [], 1, "error: both elements of <x:s> were rejected: {source}:1:1: exp"),
        ("bad\n1000\n", [], 1, "error: the only element of <x:s> was rejected: {source}:1:1: exp"),
        (
            "1000\n",
            [],
            0,
            "note: <x:s> has had heartbeats and no elements: a line that has only a time",
        ),
        (f"{GOOD}bad\n", [], 0, ""),
        (f"{GOOD}bad\n", ["--max-rejected", "1"], 0, ""),
        (f"{GOOD}bad\n", ["--max-rejected", "50%"], 0, ""),
        (
            f"{GOOD}bad\n",
            ["--max-rejected", "0"],
            1,
            "error: stream <x:s>: 1 of 2 messages rejected, which exceeds the limit of 0",
        ),
        (
            f"{GOOD}bad\n",
            ["--max-rejected", "49.5%"],
            1,
            "error: stream <x:s>: 1 of 2 messages rejected, which exceeds the limit of 49.5%",
        ),
        (GOOD, ["--max-rejected", "some"], 2, "expected a number or a percentage"),
        (GOOD, ["--max-rejected", "-1"], 2, "expected a number or a percentage"),
        (GOOD, ["--max-rejected", "101%"], 2, "expected a number or a percentage"),
        (GOOD, ["--fail-on-empty"], 0, ""),
        ("", ["--fail-on-empty"], 1, "error: nothing was read"),
        (
            GOOD.replace("x:p", "x:other"),
            ["--fail-on-empty"],
            1,
            "error: query 'q' gave no rows, which --fail-on-empty requires",
        ),
    ],
)
def test_the_exit_code_says_whether_input_was_accepted(
    text: str, options: list[str], code: int, said: str, tmp_path: Path
) -> None:
    source = tmp_path / "s.tnq"
    source.write_text(text)
    result = run("--stream", f"x:s={source}", *options)
    assert result.exit_code == code, result.stderr
    assert said.format(source=source) in result.stderr
    if not said:
        assert "note: " not in result.stderr
        assert "error: " not in result.stderr
    if code == 1 and "bad" in text:
        assert f"{source}:{text.splitlines().index('bad') + 1}:1: expected a time" in result.stderr


def test_a_stream_of_which_all_is_rejected_is_noted_if_another_was_read(tmp_path: Path) -> None:
    (tmp_path / "a.tnq").write_text(GOOD)
    (tmp_path / "b.tnq").write_text("bad\n")
    other = ("--stream", f"x:t={tmp_path / 'b.tnq'}")
    both = QUERY.replace(
        "FROM STREAM <x:s>", "FROM STREAM <x:t> [RANGE 1s STEP 1s] FROM STREAM <x:s>"
    )
    result = run("--stream", f"x:s={tmp_path / 'a.tnq'}", *other, query=both)
    assert result.exit_code == 0
    assert (
        f"note: the only element of <x:t> was rejected: {tmp_path / 'b.tnq'}:1:1" in result.stderr
    )


def test_a_run_that_goes_on_is_judged_by_what_is_new(tmp_path: Path) -> None:
    source = tmp_path / "s.tnq"
    source.write_text("bad\n")
    where = ("--stream", f"x:s={source}", "--checkpoint", str(tmp_path / "run"))
    assert run(*where).exit_code == 1
    again = run(*where, "--max-rejected", "0")
    assert again.exit_code == 0, again.stderr
    assert "note: nothing new to read: stream <x:s> has no new message in" in again.stderr
    with source.open("a") as file:
        file.write(GOOD)
    assert run(*where).exit_code == 0


@pytest.mark.parametrize("runner", RUNNERS)
def test_python_raises_if_too_much_is_rejected(
    runner: str | None, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if runner == "spark":
        request.getfixturevalue("spark")
    (tmp_path / "s.tnq").write_text(f"{GOOD}bad\n")
    engine = Engine()
    engine.stream("x:s", source=tmp_path)
    query = engine.register(QUERY)
    with pytest.raises(DataError, match="1 of 2 messages rejected, which exceeds the limit of 10%"):
        engine.run(once=True, runner=runner, max_rejected="10%")
    assert [len(each.rows) for each in query.results()] == [1]


@pytest.mark.parametrize("runner", [None, "inline"])
def test_python_is_told_what_was_not_read(
    runner: str | None, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "s.tnq").write_text("bad\n")
    for source, said in (
        (tmp_path / "s.tnq", "the only element of <x:s> was rejected: "),
        (tmp_path / "none", "<x:s> had no elements: nothing was read from "),
    ):
        (tmp_path / "none").mkdir(exist_ok=True)
        engine = Engine()
        engine.stream("x:s", source=source)
        engine.register(QUERY)
        caplog.clear()
        engine.run(once=True, runner=runner)
        [message] = caplog.messages
        assert message.startswith(said)


def test_a_live_run_ends_when_too_much_is_rejected(tmp_path: Path) -> None:
    for number in range(300):
        (tmp_path / f"{number:03}.tnq").write_text("bad\n" if number % 10 == 0 else GOOD)
    arguments = ["--runner", "inline", "--max-rejected", "5%", "--batch", "1", "--interval", "0.05"]
    result = CliRunner().invoke(app, ["run", QUERY, "--stream", f"x:s={tmp_path}", *arguments])
    assert result.exit_code == 1
    assert "<x:s>: 100 elements, 0 late, 10 rejected" in result.stderr
    assert (
        "error: stream <x:s>: 10 of 100 messages rejected, which exceeds the limit of 5%"
        in result.stderr
    )


@pytest.mark.parametrize(
    ("limit", "counters", "exceeded"),
    [
        ("0", Counters(2, 0, 1, 1, 0, 0), True),  # a part of a document
        ("0", Counters(1, 0, 0, 2, 0, 1), True),  # a heartbeat far ahead
        ("10%", Counters(10, 0, 1, 10, 0, 1), False),
        ("9.9%", Counters(10, 0, 1, 10, 0, 1), True),
        ("0%", Counters(), False),
        ("100%", Counters(1, 0, 1, 1, 0, 1), False),
    ],
)
def test_limits_are_exact(limit: str, counters: Counters, exceeded: bool) -> None:
    assert RejectionLimit.parse(limit).is_exceeded(counters) is exceeded


# -- sources -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ({"a": 1}, "as the source of stream <x:s>, found a dict; statements are pushed instead"),
        (pl.DataFrame({"a": [1]}), "found a polars.DataFrame"),
        (b"a.tnq", "found a bytes"),
        (7, "found an int"),
        (None, "found None"),
        ([], "as the source of stream <x:s>, found none in a list"),
        (iter(()), "as the source of stream <x:s>, found none in a tuple_iterator"),
        (io.StringIO("1000\t<x:a> <x:b> <x:c> .\n"), "found a _io.StringIO"),
        ("", "as source 1 of stream <x:s>, found an empty text"),
        (["a.tnq", 7], "as source 2 of stream <x:s>, found an int"),
        ([["a.tnq"]], "as source 1 of stream <x:s>, found a list"),
        ("ftp://host/a.tnq", "stream <x:s>: expected a file or mqtt"),
        ("kafka://", "stream <x:s>: expected kafka://BROKER"),
        ("rate:fast", "stream <x:s>: expected a number of elements a second"),
    ],
)
def test_what_is_no_source_is_refused_when_it_is_declared(source: object, said: str) -> None:
    with pytest.raises(SettingError) as refused:
        Engine().stream("x:s", source=source)  # type: ignore[arg-type]  # it is wrong
    assert said in str(refused.value)


@pytest.mark.parametrize("name", ["level.csv", "level.parquet"])
def test_a_file_that_is_no_rdf_is_refused_when_it_is_declared(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("time,level\n1,2\n")
    with pytest.raises(SettingError, match=rf"stream <x:s>: expected a name .* found '.*{name}'"):
        Engine().stream("x:s", source=tmp_path / name)


def test_a_broker_that_does_not_answer_is_named_at_the_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("confluent_kafka")
    monkeypatch.setattr("headrace.spark.kafka.check_topics", partial(check_topics, timeout=1.0))
    engine = Engine()
    engine.stream("x:s", source="kafka://127.0.0.1:1/t")
    engine.register(QUERY)
    with pytest.raises(MachineError, match=r"no broker of kafka://127\.0\.0\.1:1/t answers"):
        engine.start()


@pytest.mark.parametrize("runner", [None, "inline", "spark"])
@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("/nowhere/a.tnq", "stream <x:s>: there is no file, folder or pattern '/nowhere/a.tnq'"),
        ("/nowhere/*.nt", "stream <x:s>: there is no file, folder or pattern '/nowhere/*.nt'"),
        ("rate:5", "stream <x:s>: 'rate:5' has no end"),
        ("tcp://127.0.0.1:1", "stream <x:s>: 'tcp://127.0.0.1:1' has no end"),
        ("http-log:/nowhere", "stream <x:s>: there is no folder '/nowhere' with a log in it"),
    ],
)
def test_what_cannot_be_read_is_named_by_every_runner(
    source: str, said: str, runner: str | None
) -> None:
    engine = Engine()
    engine.stream("x:s", source=source)
    engine.register(QUERY)
    with pytest.raises(SettingError) as refused:
        engine.run(once=True, runner=runner)
    assert said in str(refused.value)


@pytest.mark.parametrize("runner", [None, "inline"])
def test_kafka_needs_spark(runner: str | None) -> None:
    engine = Engine()
    engine.stream("x:s", source="kafka://127.0.0.1:1/t")
    engine.register(QUERY)
    with pytest.raises(SettingError, match="is read on Spark only"):
        engine.run(once=True, runner=runner)


STEPS: Final[dict[str, Callable[[Engine], None]]] = {
    "step": Engine.step,
    "finish": Engine.finish,
    "start": Engine.start,
}


@pytest.mark.parametrize("called", STEPS)
def test_a_missing_file_is_named_whatever_is_called(called: str) -> None:
    engine = Engine()
    engine.stream("x:s", source="/nowhere/a.tnq")
    engine.register(QUERY)
    with pytest.raises(SettingError, match=r"no file, folder or pattern '/nowhere/a\.tnq'"):
        STEPS[called](engine)


@pytest.mark.parametrize("called", ["step", "finish"])
def test_a_source_that_only_run_reads_is_not_passed_over(called: str, tmp_path: Path) -> None:
    (tmp_path / "a.tnq").write_text(GOOD)
    engine = Engine()
    stream = engine.stream("x:s", source=tmp_path / "a.tnq")
    engine.register(QUERY)
    with pytest.raises(SettingError, match=rf"which {called}\(\) does not read: call run\(once="):
        STEPS[called](engine)
    stream.feed_timed(GOOD)  # in place of the source
    STEPS[called](engine)


def test_plain_json_is_never_said_to_be_json_ld(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"a": 1}')
    (tmp_path / "b.jsonld").write_text('{"a": 1}')
    lines = envelope(time=1, type="application/json", data="{}") + envelope(a=1)
    (tmp_path / "c.ndjson").write_text(lines)
    said = [
        run("--stream", f"x:s={tmp_path / name}").stderr
        for name in ("a.json", "b.jsonld", "c.ndjson")
    ]
    engine = Engine()
    with pytest.raises(HeadraceError) as refused:
        engine.stream("x:s").push("{}", syntax="application/json")
    with pytest.raises(HeadraceError) as by_type:
        engine.stream("x:t", source="kafka://b/t?type=application/json")
    for text in (*said, str(refused.value), str(by_type.value)):
        assert "'@context'" in text
        assert "ld+json" not in text
        assert "did you mean" not in text


# -- times that are far ahead ------------------------------------------------------------------

FAR: Final = (
    "1767225600000\t<x:a> <x:p> <x:b> .\n2026-01-01T00:00:01Z\t<x:a> <x:p> <x:b> .\n"
    "2050-01-01T00:00:00Z\t<x:bad> <x:p> <x:b> .\n"
    "1767225602000\t<x:a> <x:p> <x:b> .\n1767225612000\t<x:a> <x:p> <x:b> .\n"
)
DAYS: Final = QUERY.replace("5s", "1d")


@pytest.mark.parametrize("options", [[], ["--batch", "1"], ["--set", "max_ahead=30d"]])
def test_one_time_far_ahead_is_named(options: list[str], tmp_path: Path) -> None:
    source = tmp_path / "s.tnq"
    source.write_text(FAR)
    result = run("--stream", f"x:s={source}", *options, query=DAYS)
    assert result.exit_code == 0
    if options[:1] == ["--set"]:
        assert "5 elements, 0 late, 1 rejected" in result.stderr
        assert "note: " not in result.stderr
        return
    assert "5 elements, 2 late, 0 rejected" in result.stderr
    assert result.stderr.count("note: ") == 1
    assert (
        "note: one time of stream <x:s> is more than a day ahead of the rest, and 2 elements after "
        f"it are late: {source}, line 3 has the time 2050-01-01T00:00:00Z; correct it"
    ) in result.stderr


@pytest.mark.parametrize("lines", [FAR.splitlines()[2:], FAR.splitlines()])
def test_a_time_far_ahead_is_named_for_pushes(lines: list[str]) -> None:
    """Also if it is the first."""
    engine = Engine()
    stream = engine.stream("x:s")
    query = engine.register(DAYS)
    for line in lines:
        at, _, statement = line.partition("\t")
        stream.push(statement, at=int(at) if at.isdigit() else at)
        engine.step()
    engine.finish()
    [note] = query.notes
    assert (note.code, note.stream) == ("time-far-ahead", "x:s")
    assert f"late: message {len(lines) - 2} has the time 2050-01-01T00:00:00Z" in note.text


def test_a_gap_of_days_is_no_mistake(tmp_path: Path) -> None:
    """After the gap the stream goes on there; what is late then is late for another reason."""
    lines = ["1000\t<x:a> <x:p> <x:b> ."]
    lines += [f"{900_000_000 + 1000 * each}\t<x:a> <x:p> <x:b> ." for each in range(20)]
    lines += ["5000\t<x:late> <x:p> <x:b> ."] * 3
    source = tmp_path / "s.tnq"
    source.write_text("\n".join(lines) + "\n")
    result = run("--stream", f"x:s={source}", query=DAYS)
    assert "24 elements, 3 late, 0 rejected" in result.stderr
    assert "note: " not in result.stderr


@pytest.mark.parametrize("options", [[], ["--batch", "1"]])
def test_a_jump_of_years_is_named_and_costs_nothing(options: list[str], tmp_path: Path) -> None:
    source, out = tmp_path / "s.tnq", tmp_path / "out.ndjson"
    source.write_text(FAR)
    result = run("--stream", f"x:s={source}", "--out", str(out), *options)
    assert result.exit_code == 0, result.stderr
    assert f"late: {source}, line 3 has the time 2050-01-01T00:00:00Z" in result.stderr
    lines = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    instants = {each["at"]: each.get("instants", 1) for each in lines if "row" in each}
    assert len(instants) < 20
    assert sum(instants.values()) == 24 * 365.25 * 86_400 / 5 + 1


def test_a_jump_of_years_with_a_window_that_holds_everything_costs_nothing(tmp_path: Path) -> None:
    source, out = tmp_path / "s.tnq", tmp_path / "out.ndjson"
    source.write_text(FAR)
    everything = """REGISTER QUERY q COMPUTED EVERY 5s AS SELECT ?x
        FROM NAMED WINDOW <x:w> ON <x:s> [ALL] WHERE { WINDOW <x:w> { ?x <x:p> ?y } }"""
    result = run("--stream", f"x:s={source}", "--out", str(out), query=everything)
    assert result.exit_code == 0, result.stderr
    lines = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    [far] = [each for each in lines if "instants" in each]
    assert far["instants"] > 24 * 365 * 86_400 / 5
    assert far["row"], "what was there before the gap is still in the window"


# -- a source that one connects to in the middle -------------------------------------------------

LATER: Final = 1_767_600_000_000
LINES: Final = {
    "tnq": "".join(f'{LATER + at * 1000}\t<x:a> <x:p> "é{at}" .\n' for at in range(12)),
    "ndjson": "".join(
        envelope(time=LATER + at * 1000, data=f'<x:a> <x:p> "é{at}" .') for at in range(12)
    ),
    "jsonl": "".join(
        json.dumps({"@id": "x:a", "x:p": at, PROV[1:-1]: f"2026-01-05T08:00:{at:02}Z"}) + "\n"
        for at in range(12)
    ),
}


@pytest.mark.parametrize("kind", list(LINES))
def test_a_cut_first_line_takes_no_other_with_it(kind: str, tmp_path: Path) -> None:
    """At every byte of it: what is left of it is rejected, or read if it is a line by itself."""
    lines = LINES[kind].encode()
    first = lines.index(b"\n")
    file = tmp_path / f"stream.{kind}"
    for cut in range(1, first, 3):
        file.write_bytes(lines[cut:])
        engine = Engine(clock=None)
        engine.stream("x:s", source=str(file))
        engine.register(QUERY)
        engine.run(once=True, runner="inline")
        counters = engine.counters["x:s"]
        assert counters.on_time == 11 + (counters.rejected == 0), (cut, counters)
        assert counters.elements == 12


def test_a_first_time_that_is_cut_is_named_where_it_makes_all_others_too_far_ahead(
    tmp_path: Path,
) -> None:
    file = tmp_path / "stream.tnq"
    file.write_text(LINES["tnq"][5:])
    whole = run("--stream", f"x:s={file}")
    assert whole.exit_code == 0
    result = run("--stream", f"x:s={file}", "--set", "max_ahead=1d")
    assert result.exit_code == 1
    assert "only the first message of stream <x:s> was accepted, and 11 after it" in result.stderr
    assert "remove that line" in result.stderr
