"""A run on Spark, seen from outside: what it opens, what it leaves, and how it ends."""

from __future__ import annotations

import socket
import time
from collections import Counter
from pathlib import Path
from urllib.request import urlopen

import pytest
from typer.testing import CliRunner

from headrace.cli import app
from headrace.errors import MachineError
from headrace.pipeline.stopping import ECHO
from headrace.spark.java import find_java
from tests.operating import PATIENCE, count, elements, rows, running
from tests.spark.ports import family, listening
from tests.test_operation import private_and_plain

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.fixture(autouse=True)
def java() -> None:
    try:
        find_java()
    except MachineError as error:
        pytest.skip(str(error))


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def metrics(port: int) -> bytes:
    with urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        return bytes(answer.read())


def wait_for_the_end_of(processes: set[int]) -> None:
    """Java and the workers end soon after the run, each by itself."""
    give_up = time.monotonic() + PATIENCE
    while left := [each for each in processes if Path(f"/proc/{each}").exists()]:
        assert time.monotonic() < give_up, left
        time.sleep(0.05)


def test_a_run_is_closed_and_private_and_ends_when_it_is_told(tmp_path: Path) -> None:
    source, out, folder = tmp_path / "s.tnq", tmp_path / "out.ndjson", tmp_path / "run"
    source.write_text(elements(0, 60))
    port, mark = free_port(), tmp_path / "stalled"
    options = ("--stream", f"x:s={source}", "--out", str(out), "--checkpoint", str(folder))
    same = (count("q"), *options, "--metrics", str(port))

    with running(tmp_path, *same) as live:
        live.until(lambda: any(row["at"] >= 50_000 for row in rows(out)))
        assert "starting Spark" in live.said
        found = listening(live.process.pid)
        live.until(lambda: b'headrace_elements_total{stream="x:s"} 60\n' in metrics(port))
        processes = family(live.process.pid)
        assert private_and_plain(folder) > 8
        live.interrupt()
        code, said = live.ended()
    assert (code, "Traceback" in said) == (0, False), said
    assert "stopped; the same command goes on" in said
    wait_for_the_end_of(processes)
    # The metrics, what Java calls Python back by, what Python calls Java by, and what the parts
    # of Spark find each other by: two of them, commands and blocks.
    assert all(each.address.is_loopback for each in found), found
    kinds = Counter((each.program.split()[0].rstrip("0123456789."), each.kind) for each in found)
    assert kinds == {("python", "tcp"): 2, ("java", "tcp"): 3}, found
    assert port in {each.port for each in found if "headrace" in each.program}

    with source.open("a") as file:
        file.write(elements(60, 120))
    fault = {"HEADRACE_FAULT": "stepped stall", "HEADRACE_FAULT_ONCE": str(mark)}
    with running(tmp_path, *same, environment=fault) as live:
        live.until(mark.exists)  # in the midst of a batch
        processes = family(live.process.pid)
        live.interrupt()
        live.until(lambda: "Ctrl-C again stops now" in live.said)
        time.sleep(2 * ECHO)
        live.interrupt()
        code, said = live.ended()
    assert (code, "Traceback" in said) == (130, False), said
    wait_for_the_end_of(processes)

    with running(tmp_path, *same, "--once") as again:
        code, said = again.ended()
    assert code == 0, said
    whole = tmp_path / "whole.ndjson"
    alone = [count("q"), "--stream", f"x:s={source}", "--out", str(whole), "--once"]
    assert CliRunner().invoke(app, ["run", *alone, "--runner", "inline"]).exit_code == 0
    assert rows(out) == rows(whole)
