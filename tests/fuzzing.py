"""How many random runs there are, which seed they have, and how far they have come.

`make fuzz RUNS=N SEED=S` sets both for all random tests.
"""

from __future__ import annotations

import functools
import os
import random
import sys
import time
from collections.abc import Callable
from typing import Any, Final, TypeVar

from hypothesis import HealthCheck, settings

RUNS: Final = "HEADRACE_FUZZ"
SEED: Final = "HEADRACE_SEED"
RUN: Final = "HEADRACE_RUN"
"""Which of the random groups is made, by its index; all of them if it is not set."""
_OFTEN: Final = 10.0
"""Seconds between two lines that report progress."""

Test = TypeVar("Test", bound=Callable[..., Any])


def is_fuzzing() -> bool:
    """Whether somebody has asked for a number of runs."""
    return RUNS in os.environ


def runs(default: int, share: float = 1) -> int:
    """Return how many runs a random test has.

    Args:
        default: how many it has in `make test`.
        share: of the number that was asked for, where a run takes longer than others.
    """
    asked = os.environ.get(RUNS)
    return default if asked is None else max(1, int(int(asked) * share))


def seed() -> int:
    """Return the seed of all random tests; one is chosen if none was given."""
    return int(os.environ.setdefault(SEED, str(random.SystemRandom().randrange(1_000_000))))


def header() -> str:
    """Say how the random tests of this run can be repeated."""
    number = f"RUNS={os.environ[RUNS]} " if is_fuzzing() else ""
    return f"random tests: {number}SEED={seed()} (repeat with make fuzz {number}SEED={seed()})"


class Progress:
    """Reports now and then how far a test has come, where that takes long."""

    def __init__(self, name: str, total: int) -> None:
        """Start to count."""
        self._name, self._total, self._done = name, total, 0
        self._began = self._reported = time.monotonic()

    @property
    def is_open(self) -> bool:
        """Whether there are runs left to make."""
        return self._done < self._total

    def add(self, number: int = 1) -> None:
        """Count runs."""
        self._done += number
        now = time.monotonic()
        if is_fuzzing() and now - self._reported >= _OFTEN:
            self._reported = now
            seconds = now - self._began
            print(
                f"{self._name}: {self._done} of {self._total} runs in {seconds:.0f} s",
                file=sys.__stderr__,
                flush=True,
            )


def repeat(default: int, share: float = 1) -> Callable[[Test], Test]:
    """Repeat a test of hypothesis as often as was asked for, and report how far it has come."""
    number = runs(default, share)
    checks = list(HealthCheck)
    chosen = settings(max_examples=number, deadline=None, suppress_health_check=checks)
    if is_fuzzing():  # what has failed before is not part of a run that a seed repeats
        chosen = settings(chosen, database=None, print_blob=True)

    def decorate(test: Test) -> Test:
        inner = test.hypothesis.inner_test  # type: ignore[attr-defined]  # `given` has set it
        progress: list[Progress] = []

        @functools.wraps(inner)
        def counted(*args: object, **kwargs: object) -> object:
            if not progress:
                progress.append(Progress(test.__name__, number))
            progress[0].add()
            return inner(*args, **kwargs)

        test.hypothesis.inner_test = counted  # type: ignore[attr-defined]
        return chosen(test)

    return decorate
