"""Time jumps of a replay: an element far ahead of the others, after which they are late."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from headrace.algebra.reporting import DAY
from headrace.diagnosis import FarTime
from headrace.kernel.grid import NEVER, Times
from headrace.kernel.holding import Flags
from headrace.rdf.formats import Format
from headrace.rdf.options import DEFAULT_OPTIONS, ReadOptions
from headrace.rdf.times import iso_text, milliseconds

_MOST_READ: Final = 64 << 20
"""The size of a file above which no line is searched for."""


@dataclass(frozen=True, slots=True)
class TimeJump:
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
        """True if most elements after it are late because of it."""
        return self.far > self.near

    @property
    def fact(self) -> FarTime | None:
        """What a note says of it; none if most of what came after it is on time."""
        return FarTime(self.time, self.where, self.far) if self.is_alone else None

    def count_followers(self, times: Times, late: Flags) -> TimeJump:
        """Count the elements after it, near and far."""
        is_near = times >= self.time - DAY
        near = self.near + int(np.count_nonzero(is_near & ~late))
        return replace(self, near=near, far=self.far + int(np.count_nonzero(late & ~is_near)))


def follow_time_jump(
    jump: TimeJump | None,
    times: Times,
    before: int | None,
    late: Flags,
    where: Callable[[int], str],
) -> TimeJump | None:
    """Find the latest time jump in a stream, given more elements and heartbeats.

    >>> day, times = DAY, np.array([0, 9 * DAY, 5, 6])
    >>> late = np.array([False, False, True, True])
    >>> follow_time_jump(None, times, None, late, "element {}".format)
    TimeJump(time=777600000000, where='element 1', near=0, far=2)

    Args:
        jump: the latest one so far.
        times: in the order in which they came.
        before: the greatest time before them; none if there is none.
        late: which of them are late.
        where: describes one by its place among them.
    """
    if not times.size:
        return jump
    start = NEVER if before is None else before
    reached = np.maximum.accumulate(np.concatenate(([start], times)))[:-1]
    places = np.flatnonzero((reached == NEVER) | (times > reached + DAY))
    first = places[0] if places.size else times.size
    if jump is not None:
        jump = jump.count_followers(times[:first], late[:first])
    if jump is not None and jump.is_alone:
        return jump.count_followers(times[first:], late[first:])
    if not places.size:
        return jump
    owners = np.unique(np.searchsorted(places, np.flatnonzero(late), side="right") - 1)
    ends = np.append(places[1:], times.size)
    for number in (*owners[owners >= 0].tolist(), places.size - 1):
        place, end = int(places[number]), int(ends[number])
        found = TimeJump(int(times[place]), "")
        jump = found.count_followers(times[place + 1 : end], late[place + 1 : end])
        if jump.is_alone or number == places.size - 1:
            whole = found.count_followers(times[place + 1 :], late[place + 1 :])
            return replace(whole, where=where(place))
    return jump


def find_line(data: bytes, form: Format, time: int) -> int | None:
    r"""Find the line with a time, counted from one; None if no line has it literally.

    >>> find_line(b"1\t<x:a> <x:b> <x:c> .\n2.5\n", Format.TIMED_N_QUADS, 2500)
    2
    >>> find_line(b'{"time": 1}\n{"data": "", "time": 7}\n', Format.NDJSON, 7000)
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


@dataclass(frozen=True, slots=True)
class Place:
    """Where some bytes of a stream stand.

    Attributes:
        name: the file, or the stream if it is none.
        file: which of the files of its stream it is.
        byte: the first of them.
        line: the line they begin at.
        modified: when the file was written last.
        options: how it is read.
    """

    name: str
    file: int = 0
    byte: int = 0
    line: int = 1
    modified: int | None = None
    options: ReadOptions = DEFAULT_OPTIONS


@dataclass(frozen=True, slots=True)
class Came:
    """The elements and heartbeats of a push: their positions, their times, and what they are of."""

    positions: Times
    times: Times
    before: int | None
    first: int
    of: tuple[Place, bytes, Format] | None

    def where(self, place: int) -> str:
        """Describe the place of an element by its number."""
        if self.of is None:
            return f"message {self.first + place:,}"
        at, data, form = self.of
        line = find_line(data, form, int(self.times[place]))
        if line is not None:
            return f"{at.name}, line {line + at.line - 1:,}"
        return at.name if len(self.times) == 1 else f"{at.name}, element {place + 1:,}"
