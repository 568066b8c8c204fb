"""Limits of an evaluation, and the meter that stops it where it exceeds them.

Every thread has a current meter. Operators report their rows and bytes to it, and loops report
their steps, so that work that no operator can foresee is stopped too.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from headrace.errors import LimitError

MEGABYTE: Final = 1_000_000
_STEPS: Final = 16
"""Steps of a loop between two looks at the clock."""
_SAMPLING: Final = 0.02
"""Seconds between two measurements of the memory of the process."""
_RELEASING: Final = 1.0
"""Seconds between two attempts to return free memory."""
_CONTAINER_LIMITS: Final = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)
_LEAST_SHARE: Final = 8
"""An evaluation that has added less than an eighth of the memory is not the cause."""
_SHARE_OF_SEVERAL: Final = 4
"""Several instants at once may take a quarter of the time that is left."""
BATCH_SECONDS: Final = 1.0
"""How long a live batch evaluates queries before the others wait for the next one."""
SECONDS: Final = "seconds"
"""The name of the limit of time."""
CANCELLED: Final = "cancelled"
"""The name under which an evaluation is stopped that is not wanted any more."""
T = TypeVar("T")
K = TypeVar("K")


@dataclass(frozen=True, slots=True)
class EvaluationLimits:
    """What one evaluation of a query may use.

    Attributes:
        rows: rows that any operator may make.
        bytes: bytes that any operator may make, and all texts that expressions make together.
        seconds: seconds until there is an answer for an instant; no limit if none.
    """

    rows: int = 20_000_000
    bytes: int = 2_000 * MEGABYTE
    seconds: float | None = None

    def __post_init__(self) -> None:
        """Refuse limits under which nothing can be evaluated."""
        if self.rows < 1 or self.bytes < 1 or (self.seconds is not None and self.seconds < 0):
            raise ValueError("a limit of an evaluation is a positive number")


@dataclass(frozen=True, slots=True)
class RunLimits(EvaluationLimits):
    """What the evaluations of a run may use, and its process.

    Attributes:
        seconds: seconds until there is an answer for an instant.
        memory: bytes of the process that controls the run; most of the machine's if none.
        batch_seconds: how long a live batch evaluates queries before the others wait.
    """

    seconds: float | None = 600.0
    memory: int | None = None
    batch_seconds: float = BATCH_SECONDS


class MemoryGauge:
    """The memory of this process, measured now and then, and its limit."""

    def __init__(self) -> None:
        """Begin without a limit."""
        self.limit: int | None = None
        self.reserved = 0
        self.used = 0
        self._measured = 0.0
        self._released = 0.0
        self._measure: Callable[[], int] | None = None

    def start(
        self, limit: int | None, measure: Callable[[], int] | None = None, reserved: int = 0
    ) -> None:
        """Set the limit in bytes, and how the memory of the process is measured.

        Args:
            limit: bytes that the process may use; no limit if none.
            measure: returns the bytes that it uses; those of the operating system if not given.
            reserved: bytes of the limit that belong to other processes.
        """
        self.limit, self.reserved = limit, reserved
        self._measure = measure or resident_bytes
        self._measured = 0.0
        self.used = self._measure() if limit is not None else 0

    @contextmanager
    def limited(self, limit: int | None) -> Iterator[None]:
        """Limit the memory of this process until the end of the block.

        Args:
            limit: bytes that it may use; most of those of the machine if none.
        """
        self.start(machine_bytes() * 4 // 5 if limit is None else limit)
        try:
            yield
        finally:
            self.start(None)

    def sample(self, now: float) -> int:
        """Return the bytes in use; a measurement is reused for some milliseconds."""
        if self._measure is not None and now - self._measured >= _SAMPLING:
            self._measured = now
            self.used = self._measure()
        return self.used

    @property
    def allowed(self) -> int | None:
        """The bytes that this process may use."""
        return None if self.limit is None else max(self.limit - self.reserved, 0)

    def excess(self) -> str | None:
        """Say how the limit is exceeded, after free memory was returned; none if it is not."""
        if self.allowed is None or self._measure is None:
            return None
        self.used = self._measure()
        if self.used > self.allowed and time.monotonic() - self._released > _RELEASING:
            release_memory()
            self._released = time.monotonic()
            self.used = self._measure()
        if self.used <= self.allowed:
            return None
        return f"the process uses {megabytes(self.used)} of {megabytes(self.allowed)}"


MEMORY: Final = MemoryGauge()
"""The memory of this process."""


class Meter:
    """What an evaluation has used of its limits."""

    __slots__ = (
        "_began",
        "_cancelled",
        "_clock",
        "_grown_from",
        "_limits",
        "_made",
        "_memory",
        "_steps",
    )

    def __init__(
        self,
        limits: EvaluationLimits,
        clock: Callable[[], float] = time.monotonic,
        memory: MemoryGauge = MEMORY,
    ) -> None:
        """Begin now."""
        self._limits, self._clock, self._memory = limits, clock, memory
        self._steps = 0
        self._cancelled: str | None = None
        self.restart()

    def stop(self, reason: str) -> None:
        """Stop the evaluation at its next check; another thread may ask for it."""
        self._cancelled = reason

    def restart(self) -> None:
        """Begin the evaluation of the next instants."""
        self._began = self._clock()
        self._made = 0
        self._grown_from = 0 if self._memory.limit is None else self._memory.sample(self._began)

    def step(self, what: str = "an expression") -> None:
        """Count a step of a loop; check the time now and then.

        Args:
            what: what is at work, for the error.

        Raises:
            LimitError: there is no time or memory left.
        """
        self._steps += 1
        if self._steps % _STEPS == 0:
            self.check(what)

    def check(self, what: str, size: int = 0) -> None:
        """Check the time, and the memory of the process.

        Args:
            what: the part of the evaluation that checks, for the error.
            size: bytes that it is going to make.

        Raises:
            LimitError: there is no time or memory left.
        """
        if self._cancelled is not None:
            raise LimitError(CANCELLED, self._cancelled)
        now, seconds = self._clock(), self._limits.seconds
        if seconds is not None and now - self._began > seconds:
            raise LimitError(
                SECONDS, f"the evaluation took longer than {seconds:g} s; it stopped at {what}"
            )
        if self._memory.limit is not None:
            self._check_memory(now, what, size)

    @property
    def seconds_left(self) -> float:
        """How long the evaluation may still take; infinite without a limit."""
        seconds = self._limits.seconds
        if seconds is None:
            return float("inf")
        return max(seconds - (self._clock() - self._began), 0.0)

    def has_room(self, size: int) -> bool:
        """Test whether the memory of the process has room for so many bytes."""
        allowed = self._memory.allowed
        return allowed is None or self._memory.sample(self._clock()) + size <= allowed

    def _check_memory(self, now: float, what: str, size: int) -> None:
        used, allowed = self._memory.sample(now) + size, self._memory.allowed
        if allowed is None or used <= allowed:
            return
        grown = used - self._grown_from
        if grown * _LEAST_SHARE > allowed:
            raise LimitError(
                "memory",
                f"the process would use {megabytes(used)}, of which this evaluation has added "
                f"{megabytes(grown)}, and may use {megabytes(allowed)}; it stopped at {what}",
            )

    def make_text(self, size: int, what: str = "an expression") -> None:
        """Count text that an expression or a result makes.

        Args:
            size: bytes or characters of it.
            what: what makes it, for the error.

        Raises:
            LimitError: there is too much of it.
        """
        self._made += size
        if self._made > self._limits.bytes:
            raise LimitError(
                "bytes",
                f"{what} made {megabytes(self._made)} of text, and a query may make "
                f"{megabytes(self._limits.bytes)}; shorten it, or group fewer solutions",
            )
        if size > MEGABYTE:
            self.check(what)

    def steps(self, values: Iterable[T]) -> Iterator[T]:
        """Yield values, and count each as a step."""
        for each in values:
            self.step()
            yield each

    def count_calls(self, function: Callable[[T], K]) -> Callable[[T], K]:
        """Return a function that counts each of its calls as a step."""

        def counted(value: T) -> K:
            self.step()
            return function(value)

        return counted

    def for_several(self) -> Meter:
        """Return a meter for several instants at once, which may use a part of the time left.

        Where they take too long together, there is time left for each of them alone.
        """
        seconds = self._limits.seconds
        if seconds is not None:
            seconds = self.seconds_left / _SHARE_OF_SEVERAL
        limits = EvaluationLimits(self._limits.rows, self._limits.bytes, seconds)
        return Meter(limits, self._clock, self._memory)

    def for_one(self) -> Meter:
        """Return this same meter for one instant, and forget the texts of attempts before."""
        self._made = 0
        return self

    @property
    def limits(self) -> EvaluationLimits:
        """The limits of the evaluation."""
        return self._limits


def release_memory() -> None:
    """Return memory that is free to the operating system, where it can be asked to."""
    import ctypes  # noqa: PLC0415 - it takes time to load, and few processes need it
    import gc  # noqa: PLC0415

    gc.collect()
    with suppress(OSError, AttributeError):  # another C library has no such function
        ctypes.CDLL(None).malloc_trim(0)


def machine_bytes() -> int:
    """Return the memory of the machine, or of the container that this process is in."""
    import psutil  # noqa: PLC0415 - it takes time to load

    found = int(psutil.virtual_memory().total)
    for path in _CONTAINER_LIMITS:
        with suppress(OSError, ValueError):  # there is none, or it is "max"
            found = min(found, int(path.read_text("ascii")))
    return found


def megabytes(size: int) -> str:
    """Return a size in megabytes, as errors show it."""
    return f"{size / MEGABYTE:,.0f} MB" if size >= MEGABYTE else f"{size:,} bytes"


def resident_bytes() -> int:
    """Measure the memory of this process."""
    import psutil  # noqa: PLC0415 - it takes time to load, and few processes measure

    return int(psutil.Process().memory_info().rss)


# -- the meter of a thread -----------------------------------------------------------------------

UNLIMITED: Final = Meter(
    EvaluationLimits(rows=1 << 62, bytes=1 << 62), clock=lambda: 0.0, memory=MemoryGauge()
)
"""The meter of what must not be stopped."""


class _Thread(threading.local):
    """The current meter of each thread."""

    meter: Meter = UNLIMITED


_THREAD: Final = _Thread()


def current() -> Meter:
    """Return the meter of this thread; one without limits where no evaluation is running."""
    return _THREAD.meter


@contextmanager
def metered(meter: Meter) -> Iterator[Meter]:
    """Make a meter the current one of this thread until the end of the block."""
    before, _THREAD.meter = _THREAD.meter, meter
    try:
        yield meter
    finally:
        _THREAD.meter = before
