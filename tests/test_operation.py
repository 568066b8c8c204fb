"""How a run is watched, stopped, changed and gone on with."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import stat
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from headrace.cli import app
from headrace.dialects import parse
from headrace.errors import HeadraceError, MachineError, SettingError
from headrace.kernel.progress import Progress
from headrace.launching import RunnerKind
from headrace.pipeline.deployment import open_deployment
from headrace.pipeline.manifest import Manifest, QueryState, StreamState
from headrace.pipeline.metrics import Figures, Metrics, exposition, measures, serving, write_metrics
from headrace.pipeline.stopping import ECHO, stopping
from headrace.progress import Account, Plain, Quiet
from headrace.running import Job, Outcome, Voice, run_job

from .operating import command, count, elements, rows, running
from .spark.ports import listening_addresses

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]

# The text format of Prometheus, as strict as its documentation.
SAMPLE = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)')
ESCAPED = {"\\n": "\n", '\\"': '"', "\\\\": "\\"}


def samples(text: str) -> Samples:
    assert text.endswith("\n")
    found: Samples = {}
    types: dict[str, str] = {}
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name not in types
            types[name] = kind
        elif not line.startswith("# HELP "):
            sample = SAMPLE.fullmatch(line)
            assert sample, line
            name, inner, value = sample.groups()
            labels = LABEL.findall(inner or "")
            assert "".join(f'{key}="{each}",' for key, each in labels)[:-1] == (inner or "")
            assert types[name] == ("counter" if name.endswith("_total") else "gauge")
            key = tuple((label, _unescaped(each)) for label, each in labels)
            assert (name, key) not in found
            found[name, key] = float(value)
    return found


def _unescaped(text: str) -> str:
    return re.sub(r'\\["\\n]', lambda found: ESCAPED[found[0]], text)


def figures(elements: int = 0, batch: int = 0, seconds: float = 0.5, row_count: int = 0) -> Figures:
    streams = {"x:s": StreamState({"": 7_000_000}, elements, 3, 2)}
    queries = {"q": QueryState("", Progress(), evaluations=4, failed=1, rows=row_count)}
    manifest = Manifest(batch, streams=streams, queries=queries)
    return Figures(manifest, {"decode": seconds} if seconds else {}, 1_500)


# -- metrics -----------------------------------------------------------------------------------


def test_metrics_can_be_parsed() -> None:
    awkward = 'a"b\\c\nd\\n'
    states = {awkward: StreamState({"": 5_500_000}, 10, 2, 1), "new": StreamState()}
    query = QueryState("", Progress(), failure="it cannot", evaluations=7, failed=3, rows=11)
    manifest = Manifest(4, streams=states, queries={"q": query})
    every = Figures(manifest, {"decode": 1, "sink": 2}, 99, {"q": 6})
    found = samples(exposition(measures(every, now=7.0)))
    stream = (("stream", awkward),)
    assert found["headrace_elements_total", stream] == 10
    assert found["headrace_late_total", stream] == 2
    assert found["headrace_rejected_total", stream] == 1
    assert found["headrace_high_seconds", stream] == 5.5
    assert found["headrace_lag_seconds", stream] == 1.5
    assert ("headrace_high_seconds", (("stream", "new"),)) not in found
    assert found["headrace_evaluations_total", (("query", "q"),)] == 7
    assert found["headrace_failures_total", (("query", "q"),)] == 3
    assert found["headrace_rows_total", (("query", "q"),)] == 11
    assert found["headrace_stopped", (("query", "q"),)] == 1
    assert found["headrace_batches_total", ()] == 5
    assert found["headrace_batch_seconds", ()] == 3
    assert found["headrace_stage_seconds", (("stage", "sink"),)] == 2
    assert found["headrace_state_bytes", ()] == 99
    assert found["headrace_route_changes_total", (("query", "q"),)] == 6


def test_metrics_are_served_on_this_machine_only() -> None:
    metrics = Metrics(clock=lambda: 8.0)
    with serving(0, metrics) as port:
        metrics.hear(figures(elements=5))
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
            assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
            found = samples(answer.read().decode())
        assert found["headrace_elements_total", (("stream", "x:s"),)] == 5
        assert found["headrace_lag_seconds", (("stream", "x:s"),)] == 1
        with pytest.raises(urllib.error.HTTPError) as wrong:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/")
        wrong.value.close()
        assert wrong.value.code == 404
        assert all(address.is_loopback for address in listening_addresses())
        assert ip_address("127.0.0.1") in listening_addresses()
        with pytest.raises(SettingError, match=f"cannot serve metrics on port {port}"):
            serving(port, metrics).__enter__()


def test_a_metrics_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "m.prom"
    metrics = Metrics()
    for number in (1, 2):
        metrics.hear(figures(elements=number))
        write_metrics(path, metrics)
        assert samples(path.read_text())["headrace_elements_total", (("stream", "x:s"),)] == number
    assert [each.name for each in tmp_path.iterdir()] == ["m.prom"]
    with pytest.raises(MachineError, match="cannot write"):
        write_metrics(tmp_path / "missing" / "m.prom", metrics)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["run", *arguments, "--runner", "inline"])


def test_a_run_writes_its_metrics(tmp_path: Path) -> None:
    source, query = tmp_path / "s.tnq", tmp_path / 'a"b\\c.csparql'
    source.write_text(elements(0, 30) + "bad\n")
    query.write_text(
        "SELECT ?b (COUNT(*) AS ?n) FROM STREAM <x:s> [RANGE 10s STEP 5s] { ?a ?b ?c } GROUP BY ?b"
    )
    out, file = tmp_path / "out.ndjson", tmp_path / "m.prom"
    result = run(
        *(str(query), "--stream", f"x:s={source}", "--once"),
        *("--out", str(out), "--metrics", str(file), "--metrics", "0"),
    )
    assert result.exit_code == 0, result.stderr
    assert "note: metrics are at http://127.0.0.1:" in result.stderr
    found = samples(file.read_text())
    assert found["headrace_elements_total", (("stream", "x:s"),)] == 31
    assert found["headrace_rejected_total", (("stream", "x:s"),)] == 1
    name = (("query", 'a"b\\c'),)
    assert found["headrace_rows_total", name] == len(rows(out))
    assert found["headrace_evaluations_total", name] == len({each["at"] for each in rows(out)})
    wrong = run(
        *(str(query), "--stream", f"x:s={source}", "--once"),
        *("--metrics", str(tmp_path / "missing" / "m.prom")),
    )
    assert wrong.exit_code == 2
    assert "for --metrics" in wrong.stderr


def test_a_python_listener_hears_of_each_batch(tmp_path: Path) -> None:
    source = tmp_path / "s.tnq"
    source.write_text(elements(0, 30))
    heard: list[Figures] = []
    outcome = job_run(tmp_path, [count("q")], {"x:s": source}, watch=heard.append)
    assert [each.elements for each in heard] == [30, 30]
    assert [each.manifest.final for each in heard] == [False, True]
    assert heard[0].state > 0
    assert heard[-1].rows == len(rows(tmp_path / "out.ndjson"))
    assert heard[0].batch_seconds > 0
    assert outcome.ended


# -- progress ----------------------------------------------------------------------------------


def test_a_line_says_rates_lag_batch_state_late_and_rejected() -> None:
    account = Account(live=True)
    earlier = figures(elements=1_000, batch=7, seconds=0, row_count=50)
    assert "/s" not in account.line(earlier, moment=100.0, now=9.0)
    after = figures(elements=3_000, batch=8, seconds=0.5, row_count=60)
    assert account.line(after, moment=200.0, now=9.0) == (
        "3,000 elements, 4,000/s in, 20 rows/s out, lag 2.0 s, batch 0.50 s, state 1.5 kB, "
        "3 late, 2 rejected"
    )
    later = figures(elements=4_000, batch=9, seconds=0.5, row_count=60)
    assert "1,000/s in, 3 rows/s out" in account.line(later, moment=202.5, now=9.0)
    assert "1,000/s in, 0 rows/s out" in account.line(
        figures(elements=5_000, batch=10, seconds=1.0, row_count=60), moment=300.0, now=9.0
    )
    assert "lag" not in Account(live=False).line(after, moment=1.0, now=9.0)
    skipping = {"q": QueryState("", Progress(), skipped=1_234)}
    behind = replace(after, manifest=replace(after.manifest, queries=skipping))
    assert Account().line(behind, moment=1.0, now=9.0).endswith("2 rejected, 1,234 skipped")


def test_lines_come_every_few_seconds_and_not_if_quiet() -> None:
    said: list[str] = []
    clock = iter([0.0, 1.0, 5.5, 6.0, 11.0])
    plain = Plain(said.append, Account(), lambda: next(clock))
    plain.phase("starting")
    for number in range(4):
        plain.show(figures(elements=number, batch=number))
    assert [each.split(",")[0].rstrip() for each in said] == [
        "starting",
        "1 elements",
        "3 elements",
    ]
    said.clear()
    quiet = Quiet(said.append)
    quiet.phase("starting")
    quiet.show(figures(elements=1))
    quiet.say("note")
    assert said == ["note\n"]


@pytest.mark.parametrize("colour", [True, False])
def test_on_a_terminal_a_line_changes_and_results_stay_apart(tmp_path: Path, colour: bool) -> None:
    source = tmp_path / "s.tnq"
    source.write_text(elements(0, 30))
    ours, theirs = pty.openpty()
    environment = {key: each for key, each in os.environ.items() if key != "NO_COLOR"}
    environment |= {"TERM": "xterm-256color"} | ({} if colour else {"NO_COLOR": "1"})
    arguments = ("--stream", f"x:s={source}", "--once", "--runner", "inline", "--out", "-")
    try:
        done = subprocess.run(
            command(count("q"), *arguments),
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=theirs,
            text=True,
            check=True,
        )
        said = os.read(ours, 1 << 16).decode()
    finally:
        os.close(ours)
        os.close(theirs)
    assert "\x1b" not in done.stdout
    assert done.stdout.startswith("q at ")
    assert "/s in" not in done.stdout
    assert "\x1b[2K" in said  # a line was taken back
    assert said.rstrip().endswith("; 30 messages, 30 accepted, 0 heartbeats, 0 rejected")
    assert bool(re.search(r"\x1b\[[\d;]*m", said)) == colour


# -- stopping ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_run_ends_well_and_goes_on(tmp_path: Path, kind: signal.Signals) -> None:
    source, out, folder = tmp_path / "s.tnq", tmp_path / "out.ndjson", tmp_path / "run"
    whole = tmp_path / "whole.ndjson"
    source.write_text(elements(0, 60))
    options = ("--stream", f"x:s={source}", "--runner", "inline")
    same = (count("q"), *options, "--out", str(out), "--checkpoint", str(folder))
    for stop in (50, 110):
        with running(tmp_path, *same) as live:
            live.until(lambda: any(row["at"] >= stop * 1000 for row in rows(out)))  # noqa: B023
            if kind is signal.SIGINT:
                live.interrupt()
            else:
                live.process.terminate()
            code, said = live.ended()
        assert (code, "Traceback" in said) == (0, False), said
        assert "stopped; the same command goes on" in said
        with source.open("a") as file:
            file.write(elements(stop + 10, stop + 70))
    assert run(*same, "--once").exit_code == 0
    assert run(count("q"), *options, "--out", str(whole), "--once").exit_code == 0
    assert rows(out) == rows(whole)


def test_a_second_interrupt_ends_at_once_and_the_checkpoint_stays_good(tmp_path: Path) -> None:
    source, out, folder = tmp_path / "s.tnq", tmp_path / "out.ndjson", tmp_path / "run"
    source.write_text(elements(0, 60))
    mark = tmp_path / "stalled"
    options = ("--stream", f"x:s={source}", "--runner", "inline", "--once")
    same = (count("q"), *options, "--out", str(out), "--checkpoint", str(folder))
    fault = {"HEADRACE_FAULT": "stepped stall", "HEADRACE_FAULT_ONCE": str(mark)}
    with running(tmp_path, *same, environment=fault) as live:
        live.until(mark.exists)  # in the midst of a batch
        live.interrupt()
        live.until(lambda: "Ctrl-C again stops now" in live.said)
        time.sleep(2 * ECHO)
        live.interrupt()
        code, said = live.ended()
    assert (code, "Traceback" in said) == (130, False), said
    assert not rows(out)
    assert run(*same).exit_code == 0
    assert len(rows(out)) > 30


class Told:
    """Something that runs, and counts how often it is told to end."""

    def __init__(self) -> None:
        self.times = 0
        self.once = threading.Event()

    def stop(self) -> None:
        self.times += 1
        self.once.set()


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_is_heard_twice_is_one_wish(kind: signal.Signals) -> None:
    # timeout(1) tells a process, and then its group.
    told, now = Told(), [100.0]
    notes: list[str] = []
    with stopping(told, notes.append, lambda: now[0]) as stopped:
        for now[0] in (100.0, 100.01, 100.0 + ECHO):
            os.kill(os.getpid(), kind)
        assert stopped.is_set()
        assert told.once.wait(60)
    assert (told.times, len(notes)) == (1, 1)


def test_an_echo_after_the_end_is_the_same_wish() -> None:
    told = Told()
    with stopping(told, lambda _note: None):
        os.kill(os.getpid(), signal.SIGINT)
        assert told.once.wait(60)
        # The run ends at once; whoever tells the group of processes is slower.
        late = threading.Timer(ECHO / 5, os.kill, (os.getpid(), signal.SIGINT))
        late.start()
    late.join()
    assert told.times == 1


def test_who_insists_is_heard() -> None:
    told, now = Told(), [100.0]
    with stopping(told, lambda _note: None, lambda: now[0]):
        os.kill(os.getpid(), signal.SIGINT)
        now[0] += ECHO + 0.01
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)


# -- changing ----------------------------------------------------------------------------------


def job_run(  # noqa: PLR0913 - each is of interest to one test only
    folder: Path,
    queries: Sequence[str],
    streams: dict[str, Path],
    *,
    until: int | None = None,
    pieces: int = 16,
    notes: list[str] | None = None,
    watch: object = None,
) -> Outcome:
    """Run queries in this process, to the end of the input or until so many elements have come."""
    said = [] if notes is None else notes

    def stop(figures: Figures) -> None:
        if until is not None and figures.elements >= until and figures.seconds:
            os.kill(os.getpid(), signal.SIGINT)
        if callable(watch):
            watch(figures)

    job = Job(
        [parse(each, "csparql") for each in queries],
        {iri: [str(path)] for iri, path in streams.items()},
        outs=[str(folder / "out.ndjson")],
        checkpoint=folder / "run",
        once=until is None,
        runner=RunnerKind.INLINE,
        pieces=pieces,
        interval=0.05,
    )
    return run_job(job, Voice(said.append, lambda _text: None, watch=stop))


def test_queries_come_and_go_and_the_others_do_not_notice(tmp_path: Path) -> None:
    source, alone = tmp_path / "s.tnq", tmp_path / "alone"
    alone.mkdir()
    source.write_text(elements(0, 180))
    job_run(alone, [count("stays")], {"x:s": source})
    source.write_text(elements(0, 60))
    streams = {"x:s": source}
    job_run(tmp_path, [count("stays"), count("goes"), count("changes")], streams, until=60)
    with source.open("a") as file:
        file.write(elements(60, 120))
    notes: list[str] = []
    changed = count("changes").replace("10s", "20s")
    job_run(tmp_path, [count("comes"), count("stays"), changed], streams, until=120, notes=notes)
    assert notes[:3] == [
        "query 'comes' is new: it sees what comes from now on",
        "query 'changes' has changed: it begins anew with what comes from now on",
        "query 'goes' is no longer run: what it remembered is forgotten",
    ]
    with source.open("a") as file:
        file.write(elements(120, 180))
    notes.clear()
    job_run(tmp_path, [count("comes"), count("stays"), changed], streams, notes=notes)
    assert not notes
    out = tmp_path / "out.ndjson"
    assert rows(out, "stays") == rows(alone / "out.ndjson", "stays")
    assert min(row["at"] for row in rows(out, "comes")) >= 60_000
    assert max(row["at"] for row in rows(out, "goes")) <= 60_000
    wide = [row for row in rows(out, "changes") if row["windows"]["x:s"][1] == row["at"]]
    assert {row["at"] - row["windows"]["x:s"][0] for row in wide} == {10_000, 20_000}


def test_queries_cannot_change_before_all_is_told(tmp_path: Path) -> None:
    source = tmp_path / "s.tnq"
    source.write_text(elements(0, 60))
    job_run(tmp_path, [count("q"), count("r")], {"x:s": source}, until=60)
    (tmp_path / "run" / "settled.json").unlink()  # as after a crash
    with pytest.raises(SettingError, match="query 'r' had found, which has changed or is gone"):
        job_run(tmp_path, [count("q")], {"x:s": source})
    before = rows(tmp_path / "out.ndjson")
    job_run(tmp_path, [count("q"), count("r")], {"x:s": source})
    assert rows(tmp_path / "out.ndjson")[: len(before)] == before


def test_streams_come_and_go_and_the_others_do_not_notice(tmp_path: Path) -> None:
    source, other, third = (tmp_path / f"{name}.tnq" for name in ("s", "other", "third"))
    alone = tmp_path / "alone"
    alone.mkdir()
    source.write_text(elements(0, 120))
    job_run(alone, [count("stays")], {"x:s": source})
    source.write_text(elements(0, 60))
    other.write_text(elements(0, 60, "b"))
    queries = [count("stays"), count("goes", "x:other")]
    job_run(tmp_path, queries, {"x:s": source, "x:other": other}, until=120)
    with source.open("a") as file:
        file.write(elements(60, 120))
    third.write_text(elements(0, 50, "c"))
    queries = [count("stays"), count("comes", "x:third")]
    notes: list[str] = []
    job_run(tmp_path, queries, {"x:s": source, "x:third": third}, notes=notes)
    assert "stream <x:third> is new" in notes
    assert "stream <x:other> is no longer read: what windows held of it is forgotten" in notes
    out = tmp_path / "out.ndjson"
    assert rows(out, "stays") == rows(alone / "out.ndjson", "stays")
    assert sum(int(row["row"]["n"]["value"]) for row in rows(out, "comes")) == 2 * 50


def test_what_was_found_of_a_stream_that_is_gone_is_not_read(tmp_path: Path) -> None:
    source, other = tmp_path / "s.tnq", tmp_path / "other"
    other.mkdir()
    source.write_text(elements(0, 60))
    for number in range(9):
        (other / f"{number}.tnq").write_text(elements(number * 10, number * 10 + 10, "b"))
    queries = [count("stays"), count("goes", "x:other")]
    job_run(tmp_path, queries, {"x:s": source, "x:other": other}, until=1, pieces=1)
    out = tmp_path / "out.ndjson"
    assert len((tmp_path / "run" / "source.log").read_text().splitlines()) == 10
    job_run(tmp_path, queries[:1], {"x:s": source}, pieces=1)
    assert max(row["at"] for row in rows(out, "stays")) >= 60_000


# -- the checkpoint ----------------------------------------------------------------------------


def test_a_checkpoint_that_cannot_be_used_says_why(tmp_path: Path) -> None:
    source = tmp_path / "s.tnq"
    source.write_text(elements(0, 60))
    streams = {"x:s": source}

    def problem() -> str:
        with pytest.raises(HeadraceError) as found:
            job_run(tmp_path, [count("q")], streams)
        return str(found.value)

    with open_deployment(tmp_path / "run"):
        assert "is in use by another run" in problem()
    identity = tmp_path / "run" / "deployment.json"
    record = json.loads(identity.read_bytes())
    identity.write_text(json.dumps(record | {"format": 999}))
    assert "has format 999, and this version of Headrace reads format" in problem()
    identity.unlink()
    (tmp_path / "run" / "mine.txt").write_text("precious")
    assert "is no checkpoint of Headrace" in problem()
    assert (tmp_path / "run" / "mine.txt").read_text() == "precious"


def test_what_a_checkpoint_keeps_is_private_and_no_code(tmp_path: Path) -> None:
    source = tmp_path / "s.tnq"
    source.write_text(elements(0, 60) + "bad\n")
    before = os.umask(0o022)
    try:
        job_run(tmp_path, [count("q")], {"x:s": source}, until=60)
    finally:
        os.umask(before)
    assert private_and_plain(tmp_path / "run") > 5


def private_and_plain(folder: Path) -> int:
    """How many files there are in a checkpoint, if all are for their owner's eyes and no code."""
    number = 0
    for path in (folder, *folder.rglob("*")):
        try:
            mode = stat.S_IMODE(path.stat().st_mode)
            content = path.read_bytes() if path.is_file() else None
        except FileNotFoundError:
            continue  # a run that goes on renames what it has written, and removes what is old
        assert mode & 0o077 == 0, f"{path} has mode {mode:o}"
        if content is not None:
            number += 1
            assert not re.match(rb"\x80[\x02-\x05]", content), f"{path} is a pickle"
            assert b"\xac\xed\x00\x05" not in content, f"{path} has Java objects in it"
            assert not re.search(rb"cloudpickle|copyreg|__reduce__", content), path
    return number
