"""Processor time of process trees: nothing of it is lost, however their processes end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from textwrap import dedent

import pytest
from _processor_time import Measurement, measure_command

from tests.shared import ROOT

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")

USED = 0.3
"""Processor seconds that a process of these tests uses."""
BURN = f"""
import os, signal, subprocess, sys, time
def burn():
    until = time.process_time() + {USED}
    while time.process_time() < until:
        pass
"""


def measured(script: str, folder: Path, *arguments: str) -> Measurement:
    command = [sys.executable, "-c", BURN + dedent(script), *arguments]
    found = measure_command(command, os.environ, folder, folder / "output.txt")
    assert found is not None, (folder / "output.txt").read_text()
    return found


def test_the_command_itself(tmp_path: Path) -> None:
    found = measured("burn(); print('a'); print('b', file=sys.stderr); sys.exit(3)", tmp_path)
    assert found.exit_code == 3
    assert found.processor >= USED
    assert found.wall > 0
    assert found.others >= 0
    assert found.ended == 0
    assert sorted((tmp_path / "output.txt").read_text().split()) == ["a", "b"]


def test_a_command_that_is_killed(tmp_path: Path) -> None:
    found = measured("os.kill(os.getpid(), signal.SIGKILL)", tmp_path)
    assert found.exit_code == -9


def test_a_child_that_nobody_waits_for(tmp_path: Path) -> None:
    found = measured(
        """
        if os.fork() == 0:
            burn()
            os._exit(0)
        """,
        tmp_path,
    )
    assert found.processor >= USED


def test_a_grandchild_that_outlives_its_parent_and_the_command(tmp_path: Path) -> None:
    found = measured(
        """
        if os.fork() == 0:
            os.setsid()
            middle = os.getpid()
            if os.fork() == 0:
                while os.getppid() == middle:
                    time.sleep(0.01)
                burn()
                open(sys.argv[1], "w").close()
                os._exit(0)
            os._exit(0)
        """,
        tmp_path,
        str(tmp_path / "burnt"),
    )
    assert (tmp_path / "burnt").exists()
    assert found.processor >= USED
    assert found.ended == 0


def test_children_of_a_process_that_ignores_their_end(tmp_path: Path) -> None:
    """As the daemon of PySpark does: the system drops what its workers used."""
    script = """
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        if os.fork() == 0:
            burn()
            time.sleep(1)  # a worker waits for its next task
            os._exit(0)
        try:
            os.wait()
        except ChildProcessError:
            pass
        import resource
        print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime)
        """
    found = measured(script, tmp_path)
    assert float((tmp_path / "output.txt").read_text()) == 0, "the premise of this test"
    assert found.processor >= USED - 0.02  # the system counts in hundredths of a second


def test_time_is_not_counted_twice(tmp_path: Path) -> None:
    """A child of a process that ignores its end, but that outlives this process."""
    used = measured(
        """
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        middle = os.getpid()
        if os.fork() == 0:
            burn()
            open(sys.argv[1], "w").close()
            while os.getppid() == middle:
                time.sleep(0.01)
            with open(sys.argv[2], "w") as file:
                file.write(str(sum(os.times()[:2])))
            os._exit(0)
        while not os.path.exists(sys.argv[1]):
            time.sleep(0.01)
        time.sleep(0.5)
        with open(sys.argv[3], "w") as file:
            file.write(str(sum(os.times()[:2])))
        """,
        tmp_path,
        *(str(tmp_path / name) for name in ("burnt", "child", "parent")),
    ).processor
    own = sum(float((tmp_path / name).read_text()) for name in ("child", "parent"))
    assert used < own + USED


def test_a_process_that_does_not_end_is_ended() -> None:
    script = BURN + dedent("""
        started = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        print(started.pid, flush=True)
        """)
    program = """
        import json, sys
        from dataclasses import asdict
        from _processor_time import measure
        print(json.dumps(asdict(measure(sys.argv[1:], grace=0))))
        """
    done = subprocess.run(
        [sys.executable, "-c", dedent(program), sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": str(ROOT / "benchmarks")},
        capture_output=True,
        text=True,
        check=True,
    )
    process, found = done.stdout.splitlines()
    assert json.loads(found)["ended"] == 1
    assert json.loads(found)["exit_code"] == 0
    assert not Path("/proc", process).exists()


def test_an_interruption_ends_all_processes(tmp_path: Path) -> None:
    script = """
        started = subprocess.Popen(["sleep", "600"], start_new_session=True)
        with open("draft", "w") as file:
            file.write(f"{os.getppid()} {os.getpid()} {started.pid}")
        os.rename("draft", "processes")
        started.wait()
        """
    program = """
        import os, sys
        from pathlib import Path
        from _processor_time import measure_command
        measure_command(sys.argv[1:], os.environ, Path.cwd(), Path("output.txt"))
        """
    command = [sys.executable, "-c", BURN + dedent(script)]
    with subprocess.Popen(
        [sys.executable, "-c", dedent(program), *command],
        env={**os.environ, "PYTHONPATH": str(ROOT / "benchmarks")},
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    ) as outer:
        while outer.poll() is None and not (tmp_path / "processes").exists():
            time.sleep(0.01)
        outer.send_signal(signal.SIGINT)
        _, errors = outer.communicate()
    assert "KeyboardInterrupt" in errors
    processes = (tmp_path / "processes").read_text().split()
    assert len(processes) == 3
    assert not any(Path("/proc", process).exists() for process in processes)


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    output = tmp_path / "output.txt"
    assert measure_command([str(tmp_path / "none")], os.environ, tmp_path, output) is None
    assert "No such file" in output.read_text()
