"""Live runs whose clock is set by a day, ahead and back: nothing is lost, and windows go on."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path

import pytest

from tests.clock.set_clock import DAY, SettableClock
from tests.clock.workload import (
    PACE,
    QUERIES,
    SECOND,
    Pulse,
    check_answers,
    expected_answers,
    hold,
    logged_times,
    statement,
    written_answers,
)
from tests.live import LiveRun, live_run
from tests.memory import MB, peak_of

pytestmark = pytest.mark.slow

RUNNERS = {
    "inline": ("--runner", "inline"),
    "inline in parts": ("--runner", "inline", "--partitions", "2"),
    "spark": ("--runner", "spark", "--master", "local[2]", "--partitions", "2"),
}
PATIENCE = {"inline": 10.0, "inline in parts": 10.0, "spark": 20.0}
"""Seconds without a result; others may be at work on the same machine."""
SHORT = ((0.0, 1.5), (-DAY, 2.5))
LONG = ((0.0, 3.0), (DAY, 14.0), (0.0, 5.0), (-DAY, 5.0), (0.0, 14.0))
"""Times of arrival follow a clock that was set ahead after ten seconds."""
CALM = tuple((0.0, seconds) for _, seconds in LONG)

IN_A_FILE = 30
"""So many elements are in each file of the folder of those that say their times."""
Phases = Sequence[tuple[float, float]]
"""By how many seconds the clock is wrong, and for how long."""


class Feeder:
    """Sends elements of both streams that go by arrival, and writes those that say their time."""

    def __init__(self, said: Path) -> None:
        self._servers = [socket.create_server(("127.0.0.1", 0)) for _ in "ab"]
        self._connections: list[socket.socket] = []
        self._said = said
        self._began = round(time.time()) * SECOND
        self.said_times: dict[int, int] = {}
        self.sent = 0

    @property
    def sources(self) -> list[str]:
        """The options of the streams."""
        options = "type=application/n-triples&time=source"
        ports = [each.getsockname()[1] for each in self._servers]
        own = [
            f"--stream=x:{name}=tcp://127.0.0.1:{port}?{options}"
            for name, port in zip("ab", ports, strict=True)
        ]
        return [*own, f"--stream=x:said={self._said}"]

    def connect(self) -> None:
        """Wait until the run is connected to both."""
        for each in self._servers:
            each.settimeout(240)
            self._connections.append(each.accept()[0])

    def feed(self) -> None:
        """Send an element of each stream, and wait a little."""
        number = self.sent
        for stream, connection in zip("ab", self._connections, strict=True):
            connection.sendall(statement(stream, number).encode())
        moment = self._began + round(number * PACE * SECOND)
        with (self._said / f"{number // IN_A_FILE:04}.tnq").open("a") as file:
            file.write(f"{moment // 1000}\t{statement('said', number)}")
        self.said_times[number] = moment
        self.sent += 1
        time.sleep(PACE)

    def close(self) -> None:
        for each in [*self._connections, *self._servers]:
            each.close()


@contextmanager
def feeding(said: Path) -> Iterator[Feeder]:
    feeder = Feeder(said)
    try:
        yield feeder
    finally:
        feeder.close()


def played(
    folder: Path, clock: SettableClock, runner: str, phases: Phases, **environment: str
) -> int:
    """Play phases, check the answers, and return how much memory the run needed, in bytes."""
    folder.mkdir()
    (folder / "said").mkdir()
    out = folder / "out.ndjson"
    kept = [f"--checkpoint={folder / 'checkpoint'}", f"--out={out}"]
    clock.set(0.0)
    with feeding(folder / "said") as feeder:
        asked = [*QUERIES.values(), *feeder.sources, *kept, *RUNNERS[runner]]
        with (
            live_run(folder / "log", *asked, environment=clock.environment | environment) as run,
            peak_of(run.process.pid) as peak,
        ):
            feeder.connect()
            longest = play(run, feeder, clock, phases, out)
            run.until(lambda: is_complete(out, feeder.sent))
            assert run.stop() == 0, run.said()
        assert longest < PATIENCE[runner], run.said()
        logged = logged_times(folder / "checkpoint" / "logs")
        a, b = logged["a"], logged["b"]
        assert len(a) == len(b) == feeder.sent
        expected = expected_answers(a, b, feeder.said_times)
        for query, answers in written_answers(out).items():
            check_answers(query, answers, expected[query])
        assert " 0 late, 0 rejected" in run.said(), run.said()
        clocks = [wrong for wrong, _ in phases]
        jumps = sum(before != after for before, after in pairwise(clocks))
        assert run.said().count("the clock is 1 day") == jumps, run.said()
    return peak.bytes


def play(run: LiveRun, feeder: Feeder, clock: SettableClock, phases: Phases, out: Path) -> float:
    """Feed while the clock is set, and return the longest time without a result, in seconds."""

    def has_results() -> bool:
        feeder.feed()
        return out.exists() and out.stat().st_size > 0

    run.until(has_results)
    pulse = Pulse()

    def work() -> None:
        feeder.feed()
        pulse.note(out.stat().st_size)

    for wrong, seconds in phases:
        clock.set(wrong)
        hold(seconds, work)
    return pulse.longest


def is_complete(out: Path, sent: int) -> bool:
    """Test whether every element that goes by arrival is in the answers."""
    found = written_answers(out)
    counted = [each for each in found["tumbling"].values() if isinstance(each, int)]
    return sum(counted) >= sent and len(numbers_of(out)) >= sent


def numbers_of(out: Path) -> set[str]:
    """The elements of the windows that have begun to hold them."""
    lines = map(json.loads, out.read_text().split("\n")[:-1])
    return {
        each["row"]["v"]["value"]
        for each in lines
        if each.get("query") == "begun" and each.get("row")
    }


@pytest.mark.parametrize("python", ["old", "new"])
def test_a_clock_that_is_set_back_by_a_day_changes_nothing(
    python: str, clock: SettableClock, tmp_path: Path
) -> None:
    environment = clock.environment_of_old_python if python == "old" else {}
    played(tmp_path / "run", clock, "inline", SHORT, **environment)


@pytest.mark.long
@pytest.mark.parametrize("runner", RUNNERS)
def test_a_clock_that_is_set_by_a_day_changes_nothing(
    runner: str, clock: SettableClock, tmp_path: Path
) -> None:
    calm = played(tmp_path / "calm", clock, runner, CALM)
    jumped = played(tmp_path / "jumped", clock, runner, LONG)
    assert jumped < 1.3 * calm + 50 * MB


@pytest.mark.long
def test_spark_goes_on_where_all_heartbeats_of_tasks_look_old(
    clock: SettableClock, tmp_path: Path
) -> None:
    settings = tmp_path / "settings"
    settings.mkdir()
    # Spark looks for old heartbeats between the jump and the next one, and gives up soon.
    (settings / "spark-defaults.conf").write_text(
        "spark.network.timeoutInterval 200ms\n"
        "spark.executor.heartbeatInterval 2s\n"
        "spark.executor.heartbeat.maxFailures 2\n"
    )
    phases = ((0.0, 3.0), (DAY, 15.0))
    played(tmp_path / "run", clock, "spark", phases, SPARK_CONF_DIR=str(settings))


@pytest.mark.parametrize("restarts", [False, True])
def test_no_time_is_too_far_ahead_of_a_clock_that_was_set_back(
    restarts: bool, clock: SettableClock, tmp_path: Path
) -> None:
    source, out = tmp_path / "said.tnq", tmp_path / "out.ndjson"
    source.touch()
    kept = [f"--checkpoint={tmp_path / 'checkpoint'}", f"--out={out}", "--runner=inline"]
    asked = [QUERIES["said"], f"--stream=x:said={source}", *kept]
    first = round(time.time())

    def write(*seconds: int) -> None:
        with source.open("a") as file:
            file.writelines(f"{each}000\t<x:{each}> <x:p> <x:o> .\n" for each in seconds)

    with ExitStack() as stack:
        run = stack.enter_context(begun(tmp_path, asked, clock))
        write(first, first + 1)
        run.until(lambda: len(written_answers(out)["said"]) == 1)
        if restarts:
            assert run.stop() == 0
        clock.set(-2 * DAY)
        if restarts:
            run = stack.enter_context(begun(tmp_path, asked, clock))
        write(first + 60, first + 61)
        run.until(lambda: len(written_answers(out)["said"]) == 4)
        assert run.stop() == 0
        assert "<x:said>: 4 elements, 0 late, 0 rejected" in run.said(), run.said()


@contextmanager
def begun(folder: Path, asked: Sequence[str], clock: SettableClock) -> Iterator[LiveRun]:
    with live_run(folder / "log", *asked, environment=clock.environment) as run:
        yield run


def test_silence_is_not_measured_by_the_clock(clock: SettableClock, tmp_path: Path) -> None:
    out = tmp_path / "out.ndjson"
    sources = {"quick": "300ms", "slow": "1h"}
    asked = [f"--checkpoint={tmp_path / 'checkpoint'}", f"--out={out}", "--runner=inline"]
    for name, idle in sources.items():
        (tmp_path / f"{name}.tnq").write_text("300\t<x:a> <x:p> <x:o> .\n")
        asked += [
            f"REGISTER QUERY {name} AS SELECT ?x FROM STREAM <x:{name}> [RANGE 1s STEP 1s] "
            "WHERE { ?x <x:p> ?v }",
            f"--stream=x:{name}={tmp_path / name}.tnq",
            f"--set=idle.x:{name}={idle}",
        ]
    with begun(tmp_path, asked, clock) as run:
        run.until(lambda: out.exists() and out.stat().st_size > 0)
        for wrong in (DAY, -DAY):
            clock.set(wrong)
            with (tmp_path / "quick.tnq").open("a") as file:
                file.write(f"{2300 if wrong > 0 else 4300}\t<x:b> <x:p> <x:o> .\n")
            instant = 3000 if wrong > 0 else 5000
            run.until(lambda instant=instant: instant in instants(out))  # type: ignore[misc]
        assert run.stop() == 0
    found = map(json.loads, out.read_text().split("\n")[:-1])
    assert {each["query"] for each in found if each.get("row")} == {"quick"}


def instants(out: Path) -> set[int]:
    """The instants at which there are rows."""
    lines = map(json.loads, out.read_text().split("\n")[:-1])
    return {each["at"] for each in lines if each.get("row")}
