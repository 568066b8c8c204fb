"""SERVICE under a budget in deployed runs: in parts, in batches, on Spark, killed and restarted."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from typer.testing import CliRunner

from headrace.cli import app
from headrace.pipeline.deployment import open_deployment
from headrace.pipeline.layout import Layout
from headrace.pipeline.manifest import batches_of
from tests.shared import ROOT

from .endpoint_server import Endpoint, Handler, serving

STREAM = "http://example.org/s"
SEED = 7
USERS = 12
FILES = 12
LONGEST = 300
"""Seconds that a run may take; one that hangs is a failure too."""


@dataclass
class Counts:
    """An endpoint that knows how often it was asked for each user, and may tell it.

    Attributes:
        told: whether a count says how often it was asked for, so that it depends on the past.
    """

    told: bool
    asked: Counter[int] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, handler: Handler) -> bool:
        named = {int(each) for each in re.findall(r"<u:(\d+)>", handler.asked)}
        with self.lock:
            self.asked.update(named)
            users = named or range(USERS)
            rows = [_row(user, 100 * user + self.told * self.asked[user]) for user in users]
        body = {"head": {"vars": ["u", "n"]}, "results": {"bindings": rows}}
        return handler.answer(json.dumps(body).encode())


def _row(user: int, count: int) -> dict[str, dict[str, str]]:
    integer = "http://www.w3.org/2001/XMLSchema#integer"
    value = {"type": "literal", "datatype": integer, "value": str(count)}
    return {"u": {"type": "uri", "value": f"u:{user}"}, "n": value}


@pytest.fixture
def streams(tmp_path: Path) -> Path:
    """A stream in many files, a schema and static data."""
    folder = tmp_path / "s"
    folder.mkdir()
    for number in range(FILES):
        lines = []
        for step in range(10):
            place = 10 * number + step
            user = (place * place + 3 * place) % USERS
            lines.append(f"{400 * place + 100}\t<u:{user}> <p:mentioned> <post:{place}> .\n")
        (folder / f"{number:03}.tnq").write_text("".join(lines))
    (tmp_path / "schema.ttl").write_text(
        "<p:mentioned> <http://www.w3.org/2000/01/rdf-schema#subPropertyOf> <p:seen> ."
    )
    teams = "".join(f"<u:{user}> <p:of> <t:{user % 3}> .\n" for user in range(USERS - 2))
    (tmp_path / "static.nt").write_text(teams)
    return tmp_path


def text_of(endpoint: Endpoint, name: str, contract: str) -> str:
    return (
        f"REGISTER QUERY {name} AS SELECT ?team ?u ?n FROM STREAM <{STREAM}> [RANGE 4s STEP 1s]"
        " WHERE { ?u <p:seen> ?post . ?u <p:of> ?team"
        f" SERVICE <{endpoint.iri}> {contract} {{ ?u <p:n> ?n }} }}"
    )


@dataclass(frozen=True, slots=True)
class Run:
    """A run of the command line."""

    inputs: Path
    directory: Path
    endpoint: Endpoint
    queries: Sequence[str]
    runner: str = "inline"
    partitions: int = 1
    batch: int = 2
    once: bool = True
    settings: Sequence[str] = ()

    @property
    def arguments(self) -> list[str]:
        inputs, out = self.inputs, self.directory / "out.ndjson"
        return [
            *("run", *self.queries, "--runner", self.runner, "--out", str(out)),
            *("--batch", str(self.batch), "--partitions", str(self.partitions)),
            *("--stream", f"{STREAM}={inputs / 's'}", "--static", str(inputs / "static.nt")),
            *("--schema", str(inputs / "schema.ttl"), "--checkpoint", str(self.checkpoint)),
            *("--service-allow", self.endpoint.iri, "--service-private", "127.0.0.1"),
            *(["--once"] if self.once else []),
            *(part for each in self.settings for part in ("--set", each)),
        ]

    @property
    def checkpoint(self) -> Path:
        return self.directory / "checkpoint"

    @property
    def committed(self) -> int:
        return max(batches_of(Layout(self.checkpoint)), default=-1)

    def prepared(self) -> Run:
        self.directory.mkdir(exist_ok=True)
        open_deployment(self.checkpoint, SEED).close()
        return self

    def done(self) -> bytes:
        """Run it in this process, and give what it has written."""
        found = CliRunner().invoke(app, self.prepared().arguments)
        assert found.exit_code == 0, found.output
        return self.written()

    def started(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "headrace", *self.arguments],
            env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def written(self) -> bytes:
        return (self.directory / "out.ndjson").read_bytes()


def lines_of(written: bytes) -> list[dict[str, object]]:
    return [json.loads(line) for line in written.splitlines()]


def users_of(written: bytes) -> list[str]:
    """When each row was reported, and of whom."""
    rows = [(each["at"], each["row"]) for each in lines_of(written)]
    return [f"{at} {json.dumps(row['u'] if isinstance(row, dict) else None)}" for at, row in rows]


# -- the same answers everywhere ------------------------------------------------------------------


def budgeted(streams: Path, runner: str, partitions: int, batch: int, budget: int = 2) -> bytes:
    with serving() as server:
        server.always = Counts(told=True)
        text = text_of(server, "some", f"[BUDGET {budget}]")
        name = f"{runner}-{partitions}-{batch}"
        found = Run(streams, streams / name, server, [text], runner, partitions, batch).done()
        evaluations = {each["at"] for each in lines_of(found)}
        assert len(server.seen) <= 1 + budget * len(evaluations)
        assert len(server.seen) > budget * len(evaluations) // 2
    return found


def test_answers_depend_on_no_batch_and_no_part(streams: Path) -> None:
    first = budgeted(streams, "inline", 1, 1)
    lines = lines_of(first)
    assert len(lines) > 150
    assert {each["accuracy"] for each in lines} > {1.0}, "and some are below"
    for partitions, batch in ((1, 5), (3, 2), (2, 100)):
        assert budgeted(streams, "inline", partitions, batch) == first


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_answers_on_spark_are_those_in_this_process(streams: Path) -> None:
    first = budgeted(streams, "inline", 1, 3)
    for partitions, batch in ((1, 2), (2, 4), (3, 100)):
        assert budgeted(streams, "spark", partitions, batch) == first


# -- everything combined --------------------------------------------------------------------------


def test_everything_combined(streams: Path) -> None:
    combined(streams, "inline")


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_everything_combined_on_spark(streams: Path) -> None:
    combined(streams, "spark")


def combined(streams: Path, runner: str) -> None:
    """Without a limit as a plain SERVICE; with one, within it, and as accurate as can be."""
    with serving() as server:
        server.always = Counts(told=False)
        contracts = (("plain", ""), ("all", "[POLICY WBM]"), ("some", "[ACCURACY 0.2 BUDGET 2]"))
        texts = [text_of(server, name, contract) for name, contract in contracts]
        lines = lines_of(Run(streams, streams / "run", server, texts, runner, 2, 3).done())
    rows = {
        name: [(each["at"], each["row"]) for each in lines if each["query"] == name]
        for name, _ in contracts
    }
    assert len(rows["plain"]) > 150
    assert rows["all"] == rows["plain"]
    assert rows["some"] == rows["plain"], "nothing has changed at the endpoint"
    told = {name: [each for each in lines if each["query"] == name] for name, _ in contracts}
    assert all("accuracy" not in each for each in told["plain"])
    assert {each["accuracy"] for each in told["all"]} == {1.0}
    accuracies = [float(str(each["accuracy"])) for each in told["some"]]
    assert all(0.2 <= each <= 1 for each in accuracies)
    assert min(accuracies) < 1


# -- crashes --------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "runner", ["inline", pytest.param("spark", marks=[pytest.mark.spark, pytest.mark.long])]
)
def test_a_killed_run_goes_on_with_the_view_as_it_was(streams: Path, runner: str) -> None:
    """Counts never change, so all that accuracies depend on is what was refreshed when."""
    budget = 2
    with serving() as server:
        server.always = Counts(told=False)
        text = text_of(server, "some", f"[BUDGET {budget}]")
        calm = Run(streams, streams / "calm", server, [text], batch=1).done()
        asked_for = len(server.seen)

        run = Run(streams, streams / "killed", server, [text], runner, batch=1).prepared()
        server.seen.clear()
        server.always = _slow()
        kills = 0
        for batch in (1, 4, 7):
            process = run.started()
            while process.poll() is None and run.committed < batch:
                time.sleep(0.01)
            assert process.poll() is None, process.communicate()[1]
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            kills += 1
        _, said = run.started().communicate(timeout=LONGEST)
        assert "Traceback" not in said
        assert run.written() == calm
        # What was in the air when a process died is asked for again, and nothing committed is.
        evaluations = -(-len({each["at"] for each in lines_of(calm)}) // FILES) + 1
        assert asked_for <= len(server.seen) <= asked_for + kills * budget * evaluations


@pytest.mark.slow
def test_what_was_asked_between_evaluations_is_never_asked_anew_for_a_committed_batch(
    streams: Path,
) -> None:
    """Counts say how often they were asked for: another reply would be another answer."""
    with serving() as server:
        server.always = _slow(told=True)
        text = text_of(server, "some", "[WITHIN 40ms BUDGET 4 POLICY LRU]")
        rate = ("service.rate=100",)
        run = Run(streams, streams / "killed", server, [text], batch=1, settings=rate).prepared()
        seen: list[bytes] = []
        for batch in (2, 5, 8):
            process = run.started()
            while process.poll() is None and run.committed < batch:
                time.sleep(0.01)
            assert process.poll() is None, process.communicate()[1]
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            written = run.written()
            seen.append(written[: written.rfind(b"\n") + 1])
        _, said = run.started().communicate(timeout=LONGEST)
        assert "Traceback" not in said
    whole = run.written()
    for part in seen:
        assert part
        assert whole.startswith(part), "what was published stays as it was"
    with serving() as server:
        server.always = Counts(told=False)
        plain = Run(streams, streams / "plain", server, [text_of(server, "some", "")]).done()
    found, expected = Counter(users_of(whole)), Counter(users_of(plain))
    late = {each for each in found if each.endswith("null")}  # before the view was filled
    assert found.total() > 50
    assert all(found[each] <= expected[each] for each in found.keys() - late), "none twice"
    assert {each["at"] for each in lines_of(whole)} == {each["at"] for each in lines_of(plain)}
    counts = {json.dumps(each["row"]) for each in lines_of(whole)}
    refreshed = [each for each in counts if re.search(r"\"\d*0[1-9]\"|0[1-9]\b", each)]
    assert refreshed, "some were refreshed, which takes longer than an evaluation may"


def _slow(*, told: bool = False) -> Counts:
    """So slow that a process is killed in the middle of something."""

    class Slow(Counts):
        def __call__(self, handler: Handler) -> bool:
            time.sleep(0.05)
            return super().__call__(handler)

    return Slow(told)


# -- an endpoint that dies ------------------------------------------------------------------------


def test_an_endpoint_dies_and_comes_back_during_a_run(streams: Path) -> None:
    """Answers go on; the alert is raised once and cleared once, in the log."""
    with serving() as server:
        server.always = Counts(told=False)
        port = server.server_address[1]
        text = text_of(server, "some", "[BUDGET 2]")
        source = streams / "s"
        files = sorted(source.iterdir())
        contents = [each.read_text() for each in files]
        for each in files:
            each.unlink()
        run = Run(streams, streams / "run", server, [text], once=False).prepared()
        process = run.started()
        feed = _Feed(run, source, contents, process)
        feed.some(4)
        assert server.seen
    feed.some(4)
    with serving(port=port) as again:
        again.always = Counts(told=False)
        feed.some(4)
        assert again.seen
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=LONGEST)
    assert said.count("cannot meet its contract") == 1, said
    assert said.count("meets its contract") == 1, said
    assert said.index("cannot meet") < said.index("meets its contract")
    found = lines_of(run.written())
    assert all("error" not in each for each in found)
    assert {each["at"] for each in found} >= set(range(1000, 45_000, 1000))


@dataclass
class _Feed:
    """Files that come one by one, each when the one before has been answered."""

    run: Run
    source: Path
    contents: list[str]
    process: subprocess.Popen[str]
    number: int = 0

    def some(self, files: int) -> None:
        for _ in range(files):
            path = self.source / f"{self.number:03}.tnq"
            hidden = path.with_suffix(".part")
            hidden.write_text(self.contents[self.number])
            hidden.rename(path)
            self.number += 1
            close = 4000 * self.number - 1000
            while not self._answered(close):
                assert self.process.poll() is None, self.process.communicate()[1]
                time.sleep(0.02)

    def _answered(self, close: int) -> bool:
        out = self.run.directory / "out.ndjson"
        return out.exists() and f'"at": {close},' in out.read_text()
