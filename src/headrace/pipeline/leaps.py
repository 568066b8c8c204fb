"""Find the one element of a replay whose time is far ahead of the rest, so that others are late."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from headrace.algebra.reporting import DAY
from headrace.errors import DataError, listing
from headrace.kernel.counting import counted
from headrace.kernel.grid import NEVER, Times
from headrace.kernel.holding import Flags
from headrace.kernel.schedule import JumpError
from headrace.rdf.formats import Format
from headrace.rdf.times import iso_text, milliseconds

_MOST_READ: Final = 64 << 20
"""In more bytes than these no line is looked for."""


@dataclass(frozen=True, slots=True)
class Leap:
    """An element, or a heartbeat, whose time is more than a day after all times before it.

    Attributes:
        time: its time.
        where: its source and line, or its position.
        near: how many elements came after it that are less than a day behind it.
        far: how many late elements came after it that are more than a day behind it.
    """

    time: int
    where: str
    near: int = 0
    far: int = 0

    @property
    def is_alone(self) -> bool:
        """Whether most of what came after it is late because of it."""
        return self.far > self.near

    def text(self, stream: str) -> str:
        """Name the element, for the user."""
        return (
            f"one time of stream <{stream}> is more than a day ahead of the rest, and "
            f"{counted(self.far, 'element')} after it {'is' if self.far == 1 else 'are'} late: "
            f"{self.where} has the time {iso_text(self.time)}Z; correct it, or reject such times "
            "with --set max_ahead=1d"
        )

    def followed_by(self, times: Times, late: Flags) -> Leap:
        """Count what comes after it."""
        is_near = times >= self.time - DAY
        near = self.near + int(np.count_nonzero(is_near & ~late))
        return replace(self, near=near, far=self.far + int(np.count_nonzero(late & ~is_near)))


def follow_leap(
    leap: Leap | None,
    times: Times,
    before: int | None,
    late: Flags,
    where: Callable[[int], str],
) -> Leap | None:
    """Take note of more elements and heartbeats of a stream.

    >>> day, times = DAY, np.array([0, 9 * DAY, 5, 6])
    >>> late = np.array([False, False, True, True])
    >>> follow_leap(None, times, None, late, "element {}".format)
    Leap(time=777600000000, where='element 1', near=0, far=2)

    Args:
        leap: the latest one so far.
        times: in the order in which they came.
        before: the greatest time before them; none if there is none.
        late: which of them are late.
        where: describes one by its place among them.
    """
    if not times.size:
        return leap
    start = NEVER if before is None else before
    reached = np.maximum.accumulate(np.concatenate(([start], times)))[:-1]
    places = np.flatnonzero((reached == NEVER) | (times > reached + DAY))
    first = places[0] if places.size else times.size
    if leap is not None:
        leap = leap.followed_by(times[:first], late[:first])
    if leap is not None and leap.is_alone:
        return leap.followed_by(times[first:], late[first:])
    if not places.size:
        return leap
    owners = np.unique(np.searchsorted(places, np.flatnonzero(late), side="right") - 1)
    ends = np.append(places[1:], times.size)
    for number in (*owners[owners >= 0].tolist(), places.size - 1):
        place, end = int(places[number]), int(ends[number])
        found = Leap(int(times[place]), "")
        leap = found.followed_by(times[place + 1 : end], late[place + 1 : end])
        if leap.is_alone or number == places.size - 1:
            whole = found.followed_by(times[place + 1 :], late[place + 1 :])
            return replace(whole, where=where(place))
    return leap


def line_of(data: bytes, form: Format, time: int) -> int | None:
    r"""Find the line with a time, counted from one; none if it is not plain to see.

    >>> line_of(b"1\t<x:a> <x:b> <x:c> .\n2.5\n", Format.TIMED_N_QUADS, 2500)
    2
    >>> line_of(b'{"time": 1}\n{"data": "", "time": 7}\n', Format.NDJSON, 7000)
    2
    """
    written = (milliseconds(time), f"{iso_text(time)}Z")
    match form:
        case Format.TIMED_N_QUADS:
            shapes = [f"\n{text}{end}" for text in written for end in "\t\n"]
        case Format.NDJSON:
            keys = ('"time":', '"time": ', '"at":', '"at": ')
            values = [f"{text}{end}" for text in (written[0],) for end in ",}"]
            shapes = [f"{key}{value}" for key in keys for value in (*values, f'"{written[1]}"')]
        case _:
            return None
    if len(data) > _MOST_READ:
        return None
    text = b"\n" + data
    found = [at for at in (text.find(shape.encode()) for shape in shapes) if at >= 0]
    return text.count(b"\n", 0, min(found) + 1) if found else None


def named(error: JumpError, leaps: Mapping[str, Leap]) -> DataError:
    """Add to an error the elements that may have made time jump, by stream."""
    found = [f"{leap.where} of <{iri}>" for iri, leap in leaps.items()]
    return DataError(f"{error}; look at {listing(found, 'and')}") if found else error
