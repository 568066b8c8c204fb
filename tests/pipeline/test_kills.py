"""Runs that are killed at random moments, workers that die, and disks that are really full."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from .jobs import Place, Written, write_streams
from .kill_run import killed_runs

pytestmark = pytest.mark.slow

KILLS = int(os.environ.get("HEADRACE_KILLS", "3"))
SIZE = 200_000 if KILLS >= 20 else 4_000
"""How many elements are replayed: so many that each kill finds something to interrupt."""


@pytest.mark.parametrize(
    "runner", ["inline", pytest.param("spark", marks=[pytest.mark.spark, pytest.mark.long])]
)
def test_killed_runs_write_what_a_calm_one_writes(runner: str, tmp_path: Path) -> None:
    found = killed_runs(tmp_path, KILLS, SIZE, 5 * KILLS, runner)
    assert found.same
    assert found.kills


@pytest.fixture
def on_spark(tmp_path: Path) -> tuple[Place, Written]:
    """A run on Spark that has not begun, and what a calm one writes."""
    streams = write_streams(tmp_path / "streams", 2_000, 20)
    calm = Place(streams, tmp_path / "calm").prepared()
    assert calm.run().exit_code == 0
    return Place(streams, tmp_path / "run", 2, "spark").prepared(), calm.written()


@pytest.mark.spark
def test_a_worker_that_is_killed_is_replaced(on_spark: tuple[Place, Written]) -> None:
    place, calm = on_spark
    process = place.started()
    killed = 0
    while process.poll() is None:
        if (place.checkpoint / "manifest" / f"{3 * killed + 1}.json").exists():
            killed += _kill_workers(process.pid)
        time.sleep(0.02)
    assert process.communicate()[1].count("Traceback") == 0
    assert process.returncode == 0
    assert killed
    found = place.written()
    assert found.lines == calm.lines
    assert found.rows.equals(calm.rows)


@pytest.mark.spark
@pytest.mark.long
def test_a_java_process_that_is_killed_is_missed(on_spark: tuple[Place, Written]) -> None:
    place, calm = on_spark
    process = place.started()
    while not (place.checkpoint / "manifest" / "3.json").exists():
        assert process.poll() is None
        time.sleep(0.02)
    _kill(int(pid) for pid, _, arguments in _processes(process.pid) if "/bin/java" in arguments)
    _, said = process.communicate()
    assert process.returncode == 1
    assert "Spark has gone" in said.splitlines()[-1]
    assert place.run().exit_code == 0
    assert place.written().lines == calm.lines


def _processes(session: int) -> list[list[str]]:
    """The id, the parent's id and the arguments of each process of a session."""
    listed = subprocess.run(
        ["ps", "-o", "pid=,ppid=,args=", "-s", str(session)],
        capture_output=True,
        text=True,
        check=False,
    ).stdout.splitlines()
    return [line.split(maxsplit=2) for line in listed]


def _kill_workers(session: int) -> bool:
    """Kill the workers that Spark has forked in a session, and say whether there were any."""
    rows = _processes(session)
    daemons = {pid for pid, _, arguments in rows if "-m pyspark.daemon" in arguments}
    workers = [int(pid) for pid, parent, _ in rows if parent in daemons]
    _kill(workers)
    return bool(workers)


def _kill(processes: Iterable[int]) -> None:
    for each in processes:
        with suppress(ProcessLookupError):  # it was done
            os.kill(each, signal.SIGKILL)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of its own, of a size that can be changed."""
    disk = tmp_path / "disk"
    disk.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=100k", "tmpfs", str(disk)],
        capture_output=True,
        check=False,
    )
    if made.returncode:
        pytest.skip("only root can make a disk")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.parametrize("size", [60, 140])
def test_a_full_disk_is_named_and_the_run_goes_on(
    size: int, small_disk: Path, tmp_path: Path
) -> None:
    streams = write_streams(tmp_path / "streams", 300, 20)
    calm = Place(streams, tmp_path / "calm").prepared()
    assert calm.run().exit_code == 0
    _resize(small_disk, f"{size}k")
    place = Place(streams, small_disk / "run")
    process = place.started()  # in this process, maps of its files would keep the disk busy
    said = process.communicate()[1]
    assert process.returncode == 1, said
    assert "Traceback" not in said
    problem, found, remedy = said.partition("No space left on device")
    assert found
    assert str(small_disk) in problem
    assert "run" in remedy
    _resize(small_disk, "100m")
    process = place.started()
    said = process.communicate()[1]
    assert process.returncode == 0, said
    assert place.written() == calm.written()


def _resize(disk: Path, size: str) -> None:
    subprocess.run(["mount", "-o", f"remount,size={size}", str(disk)], check=True)
