"""Waits of a Python whose locks wait until a time of the clock, which is set back by a day."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.clock.set_clock import DAY, SettableClock

WAITS = {
    "event": "wait_for_event(threading.Event(), 1.5)",
    "set event": "wait_for_event(event, 60.0)",
    "futures": "wait_for_futures([Future()], 1.5)",
    "done future": "wait_for_futures([future], 60.0)",
    "condition": "while time.monotonic() < began + 1.5: wait_for_change(condition, 1.5)",
    "a lock of Python": "threading.Event().wait(1.5)",
}
SCRIPT = """
import threading, time
from concurrent.futures import Future
from headrace.timed_waits import wait_for_change, wait_for_event, wait_for_futures

event, future, condition = threading.Event(), Future(), threading.Condition()

def end():
    time.sleep(0.5)
    print("ready", flush=True)
    time.sleep(0.7)
    event.set()
    future.set_result(None)

threading.Thread(target=end, daemon=True).start()
began = time.monotonic()
with condition:
    {wait}
print(time.monotonic() - began)
"""


@pytest.mark.parametrize("wait", [each for each in WAITS if "lock" not in each])
def test_a_wait_ends_where_the_clock_is_set_back(wait: str, clock: SettableClock) -> None:
    with started(wait, clock) as process:
        clock.set(-DAY)
        said, _ = process.communicate(timeout=60)
    assert float(said) < 10


def test_a_lock_of_such_a_python_waits_for_a_day(clock: SettableClock) -> None:
    with started("a lock of Python", clock) as process:
        clock.set(-DAY)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(3)
        clock.set(0.0)
        assert process.wait(60) == 0


def started(wait: str, clock: SettableClock) -> subprocess.Popen[str]:
    """A process that has begun to wait."""
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT.format(wait=WAITS[wait])],
        env=os.environ | clock.environment_of_old_python,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process
