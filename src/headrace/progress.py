"""How far a run has come, for who waits for it: a line that changes, or a line now and then.

All of it goes to standard error; standard output is for results.
"""

from __future__ import annotations

import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from headrace.pipeline.metrics import Figures

if TYPE_CHECKING:
    from rich.console import Console
    from rich.spinner import Spinner

OFTEN: Final = 5.0
"""Seconds from line to line where lines cannot change."""
_RECENT: Final = 10.0
"""Rates are those of so many seconds."""
_SECOND: Final = 1.0
_SIZES: Final = ("B", "kB", "MB", "GB", "TB")
_THOUSAND: Final = 1000
_TIMES: Final = ((86_400, "d"), (3_600, "h"), (60, "min"))


@dataclass(frozen=True, slots=True)
class _Work:
    """A batch: when it began, and what it brought."""

    began: float
    elements: int
    rows: int


@dataclass
class Account:
    """What is said of a run, after each batch.

    Attributes:
        live: whether it follows the clock, so that being behind it means something.
    """

    live: bool = False
    _before: Figures | None = None
    _recent: deque[_Work] = field(default_factory=deque)

    def line(self, figures: Figures, moment: float, now: float) -> str:
        """How a run stands, in one line.

        Args:
            figures: after the batch that has just ended.
            moment: seconds of a clock that never goes back.
            now: seconds since the epoch.
        """
        self._take(figures, moment)
        streams = figures.manifest.streams.values()
        late, rejected = sum(s.late for s in streams), sum(s.rejected for s in streams)
        lag = figures.lag(now) if self.live else None
        parts = [f"{figures.elements:,} elements", *self._rates(moment)]
        parts += [] if lag is None else [f"lag {_time(lag)}"]
        parts += [f"batch {_time(figures.batch_seconds)}", f"state {_size(figures.state)}"]
        parts += [f"{late:,} late", f"{rejected:,} rejected"]
        return ", ".join(parts + ([f"{figures.skipped:,} skipped"] if figures.skipped else []))

    def _take(self, figures: Figures, moment: float) -> None:
        before = self._before or Figures()
        new = figures.manifest.label != before.manifest.label
        # What an earlier run has brought is told first, and took no time in this one.
        if new and figures.seconds:
            elements, rows = figures.elements - before.elements, figures.rows - before.rows
            self._recent.append(_Work(moment - figures.batch_seconds, elements, rows))
        while len(self._recent) > 1 and self._recent[0].began < moment - _RECENT:
            self._recent.popleft()
        self._before = figures

    def _rates(self, moment: float) -> list[str]:
        if not self._recent or (took := moment - self._recent[0].began) <= 0:
            return []
        elements = sum(each.elements for each in self._recent) / took
        rows = sum(each.rows for each in self._recent) / took
        return [f"{elements:,.0f}/s in", f"{rows:,.0f} rows/s out"]


def _time(seconds: float) -> str:
    """A time as people say it.

    >>> _time(0.25), _time(42.0), _time(7_300)
    ('0.25 s', '42.0 s', '2.0 h')
    """
    for length, unit in _TIMES:
        if seconds >= 2 * length:
            return f"{seconds / length:,.1f} {unit}"
    return f"{seconds:.2f} s" if seconds < _SECOND else f"{seconds:.1f} s"


def _size(size: float) -> str:
    """A size as people say it.

    >>> _size(999), _size(1_250_000)
    ('999 B', '1.2 MB')
    """
    units = iter(_SIZES)
    unit = next(units)
    for following in units:
        if size < _THOUSAND:
            break
        size, unit = size / _THOUSAND, following
    return f"{size:.0f} {unit}" if unit == _SIZES[0] else f"{size:.1f} {unit}"


# -- where it is said --------------------------------------------------------------------------


class Display(Protocol):
    """Where a user is told what happens."""

    def say(self, text: str) -> None:
        """Tell what is to stay."""

    def note(self, text: str, *, is_error: bool = False) -> None:
        """Show a note; in a quiet run only if it is an error."""

    def phase(self, text: str) -> None:
        """Tell what is being waited for."""

    def show(self, figures: Figures) -> None:
        """Tell how a run stands, if it is time to."""


class Quiet:
    """Only what is to stay is told."""

    def __init__(self, write: Callable[[str], object]) -> None:
        """Write whole lines with a function."""
        self._write = write

    def say(self, text: str) -> None:
        """Tell it."""
        self._write(f"{text}\n")

    def note(self, text: str, *, is_error: bool = False) -> None:
        """Show errors."""
        if is_error:
            self.say(f"error: {text}")

    def phase(self, text: str) -> None:
        """Tell nothing."""

    def show(self, figures: Figures) -> None:
        """Tell nothing."""


class Plain(Quiet):
    """A line every few seconds."""

    def __init__(
        self,
        write: Callable[[str], object],
        account: Account,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Write whole lines with a function, and say what an account says."""
        super().__init__(write)
        self._account = account
        self._clock = clock
        self._last = clock()

    def note(self, text: str, *, is_error: bool = False) -> None:
        """Show it."""
        self.say(f"{'error' if is_error else 'note'}: {text}")

    def phase(self, text: str) -> None:
        """Tell it once."""
        self.say(text)

    def show(self, figures: Figures) -> None:
        """Tell it if the last line is some time ago."""
        moment = self._clock()
        line = self._account.line(figures, moment, time.time())
        if moment - self._last >= OFTEN:
            self._last = moment
            self.say(line)


class Changing(Quiet):
    """One line at the bottom of a terminal, which changes."""

    def __init__(self, console: Console, line: Spinner, account: Account) -> None:
        """Change a line that a console shows."""
        super().__init__(lambda text: console.print(text, end="", markup=False, highlight=False))
        self._line = line
        self._account = account

    def note(self, text: str, *, is_error: bool = False) -> None:
        """Show it above the line."""
        self.say(f"{'error' if is_error else 'note'}: {text}")

    def phase(self, text: str) -> None:
        """Put it into the line."""
        from rich.text import Text  # noqa: PLC0415

        self._line.update(text=Text(text))

    def show(self, figures: Figures) -> None:
        """Put it into the line."""
        self.phase(self._account.line(figures, time.monotonic(), time.time()))


@contextmanager
def displaying(*, live: bool, quiet: bool = False, shared: bool = False) -> Iterator[Display]:
    """Tell a user of this process what happens.

    Args:
        live: whether the run follows the clock.
        quiet: whether only what is to stay is told.
        shared: whether results may go to the same terminal, where a line that changes would be
            in their way.
    """
    if quiet:
        yield Quiet(_to_stderr)
        return
    account = Account(live)
    if shared or not sys.stderr.isatty():
        yield Plain(_to_stderr, account)
        return
    from rich.console import Console  # noqa: PLC0415
    from rich.live import Live  # noqa: PLC0415
    from rich.spinner import Spinner  # noqa: PLC0415

    # Its own handle, because standard error goes to a file of ours while Spark starts.
    with os.fdopen(os.dup(sys.stderr.fileno()), "w", encoding="utf-8") as terminal:
        console = Console(file=terminal)
        if not console.is_interactive:
            yield Plain(_to_stderr, account)
            return
        line = Spinner("dots", "starting", style="green")
        # Standard output is not for the console to take: results go there.
        with Live(line, console=console, transient=True, redirect_stdout=False):
            yield Changing(console, line, account)


def _to_stderr(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()
