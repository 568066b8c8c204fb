"""Live runs that are killed while time alone makes something due: each result is there once."""

from __future__ import annotations

import itertools
import json
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

import pytest

from headrace.pipeline.faults import VARIABLE
from tests.live import LiveRun, lines_of, live_run, results

pytestmark = pytest.mark.slow

WINDOW: Final = "SELECT ?a FROM STREAM <s> [RANGE 1s STEP 1s] { ?a <x:p> ?c }"
ARRIVING: Final = "SELECT ?a FROM STREAM <s> [RANGE 1s STEP] { ?a <x:p> ?c }"
POINTS: Final = ("stepped", "manifest", "manifest-committed", "sink-written", "published")
RUNNERS: Final = (
    "inline",
    pytest.param("spark", marks=[pytest.mark.spark, pytest.mark.long]),
)


@contextmanager
def begun(folder: Path, source: str, *arguments: str, **fault: str) -> Iterator[LiveRun]:
    place = ("--stream", f"s={source}", "--out", str(folder / "out.ndjson"))
    kept = ("--checkpoint", str(folder / "checkpoint"))
    with live_run(folder / "log", *arguments, *place, *kept, environment=fault) as run:
        yield run


def rows(folder: Path) -> list[tuple[int, str]]:
    """The instants with rows, in the order in which they were written."""
    found = [json.loads(line) for line in lines_of(folder / "out.ndjson")]
    return [(each["at"], each["row"]["a"]["value"]) for each in found if each["row"]]


@pytest.mark.parametrize("runner", RUNNERS)
@pytest.mark.parametrize("point", POINTS)
def test_a_window_that_silence_closes_is_there_once(
    tmp_path: Path, point: str, runner: str
) -> None:
    source = tmp_path / "s.tnq"
    source.write_text("300\t<x:a> <x:p> <x:o> .\n")
    asked = (str(source), WINDOW, "--runner", runner, "--set", "idle=300ms")
    # The first batch reads the element, the second one is that of the silence.
    with begun(tmp_path, *asked, **{VARIABLE: f"{point} kill 2"}) as run:
        assert run.ended() == -signal.SIGKILL
    with begun(tmp_path, *asked) as run:
        run.until(lambda: len(rows(tmp_path)) == 1)
        with source.open("a") as file:
            file.write("500\t<x:late> <x:p> <x:o> .\n1500\t<x:b> <x:p> <x:o> .\n")
        run.until(lambda: len(rows(tmp_path)) == 2)
        assert run.stop() == 0
        assert "<s>: 3 elements, 1 late" in run.said()
    assert rows(tmp_path) == [(1000, "x:a"), (2000, "x:b")]


@pytest.mark.parametrize("runner", RUNNERS)
@pytest.mark.parametrize("point", POINTS)
def test_an_element_that_is_released_when_it_is_read_is_there_once(
    tmp_path: Path, point: str, runner: str
) -> None:
    source = tmp_path / "s.tnq"
    source.write_text("300\t<x:a> <x:p> <x:o> .\n")
    asked = (str(source), ARRIVING, "--runner", runner, "--set", "emit=istream")
    with begun(tmp_path, *asked, **{VARIABLE: f"{point} kill 1"}) as run:
        assert run.ended() == -signal.SIGKILL
    with begun(tmp_path, *asked) as run:
        run.until(lambda: len(rows(tmp_path)) == 1)
        with source.open("a") as file:
            file.write("300\t<x:b> <x:p> <x:o> .\n")
        run.until(lambda: len(rows(tmp_path)) == 2)
        assert run.stop() == 0
    found = results(lines_of(tmp_path / "out.ndjson"))
    assert [(each["at"], each["seq"]) for each in found] == [(300, 0), (300, 1)]
    assert rows(tmp_path) == [(300, "x:a"), (300, "x:b")]


@pytest.mark.parametrize("runner", RUNNERS)
@pytest.mark.parametrize("point", POINTS)
def test_a_window_that_the_clock_closes_is_there_once(
    tmp_path: Path, point: str, runner: str
) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        threading.Thread(target=serve, args=(server,), daemon=True).start()
        port = server.getsockname()[1]
        source = f"tcp://127.0.0.1:{port}?type=application/n-quads&time=source"
        asked = (source, WINDOW, "--runner", runner)
        with begun(tmp_path, *asked, **{VARIABLE: f"{point} kill 3"}) as run:
            assert run.ended() == -signal.SIGKILL
        with begun(tmp_path, *asked) as run:
            before = len(lines_of(tmp_path / "out.ndjson"))
            run.until(lambda: len(lines_of(tmp_path / "out.ndjson")) > before + 2)
            assert run.stop() == 0
            assert "<s>: 1 element, 0 late" in run.said()
    assert [name for _, name in rows(tmp_path)] == ["x:a"]
    times = [json.loads(line)["at"] for line in lines_of(tmp_path / "out.ndjson")]
    assert times == [times[0] + 1000 * number for number in range(len(times))]


def serve(server: socket.socket) -> None:
    """Send one element to the first who connects, and nothing to the others."""
    connections = []
    for number in itertools.count():
        try:
            connections.append(server.accept()[0])
        except OSError:
            return
        if number == 0:
            connections[0].sendall(b"<x:a> <x:p> <x:o> .\n")
