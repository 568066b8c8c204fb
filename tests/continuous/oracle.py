"""What a continuous query means, moment by moment, straight from the definitions.

Plain loops over small integers: every moment of a stream is looked at, every window is filled anew
at every instant, and pyoxigraph answers the query over it. Nothing here is shared with the kernel.
Times have any unit, as long as all have the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Final, Literal, NamedTuple

from headrace.rdf import terms as rdf
from tests.continuous.snapshots import Row, Statements, answers

Frame = tuple[int | None, int | None]
Key = tuple[int, str, int]
"""The order of elements, and of instants among them: time, stream, position in the stream."""

END: Final = "~"
"""Sorts after the name of every stream: an instant that comes after all elements of its time."""


class Event(NamedTuple):
    """An element of a stream; one without statements is a heartbeat."""

    time: int
    quads: tuple[rdf.Quad, ...] = ()


@dataclass(frozen=True, slots=True)
class Window:
    """A window over a stream; for count windows `width` and `slide` are the size and the step."""

    name: str
    stream: str
    kind: Literal["time", "triples", "elements", "now", "all"]
    width: int = 0
    slide: int | None = None
    in_default: bool = False

    @property
    def closes_by_time(self) -> bool:
        return self.kind == "time" and self.slide is not None

    @property
    def counts(self) -> bool:
        return self.kind in {"triples", "elements"}


@dataclass(frozen=True, slots=True)
class Continuous:
    """A continuous query, as data; how its body is written is said in snapshots.py."""

    windows: tuple[Window, ...]
    body: str
    report: Literal["on-close", "every", "on-change", "on-arrival"] = "on-close"
    period: int = 0
    emit: Literal["rstream", "istream", "dstream"] = "rstream"
    bounds: Literal["(]", "[)", "[]"] = "(]"
    align: Literal["close", "open"] = "close"
    t0: int | Literal["first"] = 0
    contents: Literal["set", "timed"] = "set"
    non_empty: Literal["off", "content", "answer"] = "off"
    pick: Literal["latest", "strict"] = "latest"
    delays: Mapping[str, int] = field(default_factory=dict)
    max_ahead: int | None = None
    static: tuple[rdf.Quad, ...] = ()

    @property
    def streams(self) -> set[str]:
        return {window.stream for window in self.windows}


class Seen(NamedTuple):
    """An element that was not rejected, and its stream's watermark when it came."""

    time: int
    stream: str
    position: int
    quads: tuple[rdf.Quad, ...]
    mark: int | None

    @property
    def key(self) -> Key:
        return (self.time, self.stream, self.position)

    @property
    def behind(self) -> bool:
        return self.mark is not None and self.time < self.mark


class Reported(NamedTuple):
    """What is reported at an instant; frames only of the windows that hold something."""

    at: int
    seq: int
    rows: Counter[Row]
    frames: Mapping[str, Frame]


class Outcome(NamedTuple):
    """All that a run gives."""

    reported: list[Reported]
    late: list[tuple[str, Event]]
    rejected: list[tuple[str, Event]]


class Oracle:
    """A query over streams that are known as a whole."""

    def __init__(self, query: Continuous, streams: Mapping[str, Sequence[Event]]) -> None:
        self.query = query
        self.seen = list[Seen]()
        self.rejected = list[tuple[str, Event]]()
        self.marks = dict[str, int | None]()
        for stream in sorted(query.streams):
            self._arrive(stream, streams.get(stream, ()))
        firsts = [self._first(stream) for stream in query.streams]
        first = min((time for time in firsts if time is not None), default=0)
        self.origin = first if query.t0 == "first" else query.t0
        reach = max(window.width + (window.slide or 0) for window in query.windows) + query.period
        moments = [each.time for each in self.seen] + [m for m in self.marks.values() if m]
        self.moments = range(min(moments, default=0) - reach, max(moments, default=0) + reach + 1)

    def _arrive(self, stream: str, events: Sequence[Event]) -> None:
        high: int | None = None
        ahead, delay = self.query.max_ahead, self.query.delays.get(stream, 0)
        for position, event in enumerate(events):
            if high is not None and ahead is not None and event.time > high + ahead:
                self.rejected.append((stream, event))
                continue
            mark = None if high is None else high - delay
            if event.quads:
                self.seen.append(Seen(event.time, stream, position, event.quads, mark))
            high = event.time if high is None else max(high, event.time)
        self.marks[stream] = None if high is None else high - delay

    def _first(self, stream: str) -> int | None:
        """The least event time of a stream until its watermark has passed it."""
        first: int | None = None
        for each in self.seen:
            if each.stream == stream and (first is None or each.mark is None or each.mark <= first):
                first = each.time if first is None else min(first, each.time)
        return first

    # -- windows -----------------------------------------------------------------------------

    def _inside(self, opens: int, time: int, closes: int) -> bool:
        after = opens <= time if self.query.bounds[0] == "[" else opens < time
        return after and (time <= closes if self.query.bounds[1] == "]" else time < closes)

    def _closed(self, close: int, mark: int | None) -> bool:
        """Whether a watermark has passed a close."""
        reached = self.query.bounds == "[)" and self.query.report in {"on-close", "every"}
        return mark is not None and (close <= mark if reached else close < mark)

    def _closes(self, window: Window) -> list[int]:
        if window.slide is None:
            return self._ticks()
        shift = self.origin + (window.width if self.query.align == "open" else 0)
        return [moment for moment in self.moments if (moment - shift) % window.slide == 0]

    def _ticks(self) -> list[int]:
        """The instants of `every`, at which a window without a slide closes too."""
        return [m for m in self.moments if (m - self.origin) % self.query.period == 0]

    def _count_closes(self, window: Window) -> Iterator[tuple[Key, list[Seen]]]:
        """Each close of a count window and the elements that it holds then.

        Reports that do not wait for closes see it after every element.
        """
        step = (window.slide or 1) if self.query.report in {"on-close", "every"} else 1
        taken, total = list[Seen](), 0
        mine = (each for each in self.seen if each.stream == window.stream and not each.behind)
        for each in sorted(mine, key=lambda each: each.key):
            taken.append(each)
            before, total = total, total + _size(window, each)
            if total // step > before // step:
                held = list[Seen]()
                for latest in reversed(taken):
                    if sum(_size(window, other) for other in held) < window.width:
                        held.insert(0, latest)
                yield each.key, held

    def held(self, window: Window, upto: Key) -> tuple[list[Seen], Frame]:
        """What a window holds at an instant, and from when to when it is."""
        time, cause, _ = upto
        strict = self.query.report == "every" and self.query.pick == "strict"
        mine = [each for each in self.seen if each.stream == window.stream and each.key <= upto]
        mine = [each for each in mine if not self._closed(time, each.mark)]
        if window.kind == "all":
            return mine, (None, time)
        if window.kind == "now":
            caused = cause in {END, window.stream}
            return [each for each in mine if caused and each.time == time], (time, time)
        if window.counts:
            picked = list[Seen]()
            for key, held in self._count_closes(window):
                if key[0] < time if strict else key <= upto:
                    picked = held
            return picked, (picked[0].time, picked[-1].time) if picked else (None, None)
        return self._held_by_time(window, upto, mine, strict=strict)

    def _held_by_time(
        self, window: Window, upto: Key, mine: list[Seen], *, strict: bool
    ) -> tuple[list[Seen], Frame]:
        time, width = upto[0], window.width
        opens: int | None = time - width
        if self.query.report in {"on-close", "every"}:
            close = time
            if window.closes_by_time:
                keys = [(moment, END, 0) for moment in self._closes(window)]
                before = [key for key in keys if (key[0] < time if strict else key <= upto)]
                if not before:
                    return [], (None, None)
                close = max(before)[0]
            opens = close - width
            mine = [each for each in mine if not self._closed(close, each.mark)]
            return [each for each in mine if self._inside(opens, each.time, close)], (opens, close)
        if self.query.report == "on-change" and window.closes_by_time:
            around = [c - width for c in self._closes(window) if self._inside(c - width, time, c)]
            opens = min(around, default=None)
        if opens is None:
            return [], (None, None)
        closed = self.query.bounds[0] == "["
        return [e for e in mine if opens < e.time or (closed and opens == e.time)], (opens, time)

    # -- instants ----------------------------------------------------------------------------

    def instants(self, *, live: bool = False) -> list[Key]:
        """Every instant, in order."""
        match self.query.report:
            case "on-arrival":
                return sorted(each.key for each in self.seen if not each.behind)
            case "on-change":
                return sorted(
                    {(e.time, END, 0) for e in self.seen if not e.behind and self._enters(e)}
                )
            case "on-close":
                every, holding = self._all_closes()
            case "every":
                every = [(tick, END, 0) for tick in self._ticks()]
                holding = [k for k in every if any(self.held(w, k)[0] for w in self.query.windows)]
        if not holding:
            return []
        last = max(holding)
        marks = list(self.marks.values())
        if live and None not in marks:
            passed = min(mark for mark in marks if mark is not None)
            last = max([last, *(key for key in every if self._closed(key[0], passed))])
        return sorted({key for key in every if min(holding) <= key <= last})

    def _all_closes(self) -> tuple[list[Key], list[Key]]:
        """The closes of all windows, and those whose window holds an element."""
        every, holding = list[Key](), list[Key]()
        for window in self.query.windows:
            if window.counts:
                keys = [key for key, _ in self._count_closes(window)]
                every, holding = every + keys, holding + keys
            elif window.closes_by_time:
                keys = [(close, END, 0) for close in self._closes(window)]
                every += keys
                holding += [key for key in keys if self.held(window, key)[0]]
        return every, holding

    def _enters(self, each: Seen) -> bool:
        upto = (each.time, END, 0)
        return any(
            window.counts or each in self.held(window, upto)[0]
            for window in self.query.windows
            if window.stream == each.stream
        )

    def is_late(self, each: Seen) -> bool:
        """Whether a window that should have held an element was closed when it came."""
        for window in self.query.windows:
            if window.stream != each.stream:
                continue
            moves = window.kind in {"time", "now"} and self.query.report == "every"
            if self.query.report in {"on-close", "every"} and (window.closes_by_time or moves):
                now, width, closes = window.kind == "now", window.width, self._closes(window)
                holding = [
                    close
                    for close in closes
                    if (
                        close == each.time if now else self._inside(close - width, each.time, close)
                    )
                ]
                if holding and self._closed(min(holding), each.mark):
                    return True
            elif each.behind:
                return True
        return False

    # -- answers -----------------------------------------------------------------------------

    def run(self, *, live: bool = False) -> Outcome:
        """All that is reported, and what was late or rejected."""
        query, reported = self.query, list[Reported]()
        previous = Counter[Row]()
        sequence: Mapping[int, Iterator[int]] = {time: count() for time in self.moments}
        for upto in self.instants(live=live):
            seq = next(sequence[upto[0]])
            held = [(window, *self.held(window, upto)) for window in query.windows]
            if query.non_empty == "content" and not any(each for _, each, _ in held):
                continue
            contents = [_statements(window, each) for window, each, _ in held]
            answer = answers(query.body, contents, query.static, timed=query.contents == "timed")
            emitted = {
                "rstream": answer,
                "istream": answer - previous,
                "dstream": previous - answer,
            }[query.emit]
            previous = answer
            if emitted or query.non_empty != "answer":
                frames = {window.name: frame for window, each, frame in held if each}
                reported.append(Reported(upto[0], seq, emitted, frames))
        late = [(e.stream, Event(e.time, e.quads)) for e in self.seen if self.is_late(e)]
        return Outcome(reported, late, self.rejected)


def _size(window: Window, each: Seen) -> int:
    return len(each.quads) if window.kind == "triples" else 1


def _statements(window: Window, held: list[Seen]) -> Statements:
    timed = {(each.time, quad) for each in held for quad in each.quads}
    return Statements(window.name, timed, window.in_default)
