"""What a continuous query means, moment by moment, straight from the definitions.

Plain loops over small integers: every moment of a stream is looked at, every window is filled anew
at every instant, and pyoxigraph answers the query over it. Nothing here is shared with the kernel.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Final, NamedTuple

from headrace.rdf import terms as rdf
from tests.continuous.described import Continuous, Event, Window
from tests.continuous.snapshots import Row, Statements, asking

Frame = tuple[int | None, int | None]
Key = tuple[int, str, int]
"""The order of elements, and of instants among them: time, stream, position in the stream."""

START: Final = ""
END: Final = "~"
"""Before and after every name of a stream: an instant apart from the elements of its time."""


class Seen(NamedTuple):
    """An element that was not rejected, and its stream's watermark when it came.

    Its rank is its time in the order of instants: its own, or with `order=arrival` the greatest
    of its stream so far, heartbeats included.
    """

    time: int
    stream: str
    position: int
    quads: tuple[rdf.Quad, ...]
    mark: int | None
    rank: int

    @property
    def key(self) -> Key:
        return (self.rank, self.stream, self.position)

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
        # A [) window closes before the elements of its time, the others after them.
        self.edge = START if query.bounds == "[)" and query.waits else END
        self.as_they_come = query.order == "arrival" and query.report == "on-arrival"
        self.seen = list[Seen]()
        self.rejected = list[tuple[str, Event]]()
        self.marks = dict[str, int | None]()
        for stream in query.streams:
            self._arrive(stream, streams.get(stream, ()))
        timely = [each.time for each in self.seen if each.mark is None or each.time >= each.mark]
        self.first = min(timely, default=None)
        self.origin = (self.first or 0) if query.t0 == "first" else query.t0
        reach = max(window.width + (window.slide or 0) for window in query.windows) + query.period
        moments = [each.time for each in self.seen] + [m for m in self.marks.values() if m]
        self.moments = range(min(moments, default=0) - reach, max(moments, default=0) + reach + 1)

    def _arrive(self, stream: str, events: Sequence[Event]) -> None:
        high: int | None = None
        ahead, delay = self.query.max_ahead, self.query.delays.get(stream, 0)
        for position, (time, quads) in enumerate(events):
            if high is not None and ahead is not None and time > high + ahead:
                self.rejected.append((stream, Event(time, quads)))
                continue
            mark = None if high is None or self.as_they_come else high - delay
            high = time if high is None else max(high, time)
            if quads:
                rank = high if self.as_they_come else time
                self.seen.append(Seen(time, stream, position, quads, mark, rank))
        self.marks[stream] = None if high is None else high - delay

    def _of(self, stream: str) -> list[Seen]:
        return [each for each in self.seen if each.stream == stream]

    # -- windows -----------------------------------------------------------------------------

    def _at(self, time: int) -> Key:
        return (time, self.edge, -1)

    def _closed(self, key: Key, mark: int | None) -> bool:
        """Whether a watermark has passed an instant: no element before it can come."""
        return mark is not None and (mark, START, -1) >= key

    @property
    def settles(self) -> bool:
        """Whether an instant of an element is over when no element can come before it in order."""
        grids = any(each.slides for each in self.query.windows)
        by_elements = any(each.counts for each in self.query.windows)
        on_close = self.query.report == "on-close" and by_elements and not grids
        return not self.as_they_come and (self.query.report == "on-arrival" or on_close)

    def _missed_instant(self, upto: Key, each: Seen) -> bool:
        """Whether an element came when an instant was over, so that it is not in its windows.

        Of the instants at its watermark, those of elements that come before it in order were.
        """
        if not self.settles or each.mark is None:
            return self._closed(upto, each.mark)
        return upto < (each.mark, each.stream, each.position)

    def _inside(self, opens: int, time: int, closes: int) -> bool:
        return self._opened(opens, time) and (
            time <= closes if self.query.bounds[1] == "]" else time < closes
        )

    def _opened(self, opens: int, time: int) -> bool:
        return opens <= time if self.query.bounds[0] == "[" else opens < time

    def _closes(self, window: Window) -> list[int]:
        assert window.slide is not None
        shift = self.origin + (window.width if self.query.align == "open" else 0)
        return [moment for moment in self.moments if (moment - shift) % window.slide == 0]

    def _ticks(self) -> list[int]:
        """The instants of `every`."""
        return [m for m in self.moments if (m - self.origin) % self.query.period == 0]

    def _count_closes(self, window: Window) -> Iterator[tuple[Key, list[Seen]]]:
        """Each close of a count window and the elements that it holds then.

        Reports that do not wait for closes see it after every element.
        """
        step = (window.slide or 1) if self.query.waits else 1
        taken, total = list[Seen](), 0
        mine = [each for each in self._of(window.stream) if not each.behind]
        for each in sorted(mine, key=lambda each: each.key):
            taken.append(each)
            before, total = total, total + _size(window, each)
            if total // step > before // step:
                held = list[Seen]()
                for latest in reversed(taken):
                    if sum(_size(window, other) for other in held) < window.width:
                        held.append(latest)
                yield each.key, held

    def held(self, window: Window, upto: Key) -> tuple[list[Seen], Frame]:
        """What a window holds at an instant, and from when to when it is."""
        time, cause, _ = upto
        if window.slides and self.query.waits:
            return self._latest(window, time)
        if window.counts:
            return self._latest_count(window, upto)
        mine = [each for each in self._of(window.stream) if each.key <= upto]
        mine = [each for each in mine if not self._missed_instant(upto, each)]
        if window.kind == "all":
            return mine, (None, time)
        if window.kind == "now":
            caused = cause in {START, END, window.stream}
            return [each for each in mine if caused and each.time == time], (time, time)
        opens: int | None = time - window.width
        if window.slides and self.query.report == "on-change":
            opens = min(self._openings(window, time), default=None)
        if opens is None:
            return [], (None, None)
        return [each for each in mine if self._opened(opens, each.time)], (opens, time)

    def _latest(self, window: Window, time: int) -> tuple[list[Seen], Frame]:
        """A time window at its latest close."""
        closes = [close for close in self._closes(window) if self._picked(close, time)]
        if not closes:
            return [], (None, None)
        opens, close = max(closes) - window.width, max(closes)
        mine = [each for each in self._of(window.stream) if self._inside(opens, each.time, close)]
        return [e for e in mine if not self._closed(self._at(close), e.mark)], (opens, close)

    def _picked(self, close: int, time: int) -> bool:
        strict = self.query.report == "every" and self.query.pick == "strict"
        return close < time if strict else close <= time

    def _latest_count(self, window: Window, upto: Key) -> tuple[list[Seen], Frame]:
        """A count window at its latest close."""
        latest = list[Seen]()
        for key, held in self._count_closes(window):
            if key <= upto and self._picked(key[0], upto[0]):
                latest = held
        times = [each.time for each in latest]
        return latest, (min(times), max(times)) if times else (None, None)

    def _openings(self, window: Window, time: int) -> list[int]:
        """Where the windows open that hold a moment."""
        opens = [close - window.width for close in self._closes(window)]
        return [each for each in opens if self._inside(each, time, each + window.width)]

    # -- instants ----------------------------------------------------------------------------

    def instants(self, *, live: bool = False) -> list[Key]:
        """Every instant, in order; in a live run those that the query's watermark has passed."""
        every, holding = self._candidates()
        if live and not self.as_they_come:
            every = [key for key in every if self._known() and self._passed(key)]
        elif holding:
            every = [key for key in every if key <= max(holding)]
        counted = {key[0] for key in every if key[1] not in {START, END}}
        # Equal closes are one evaluation: that of a count window is also that of a time window.
        every = [key for key in every if key[1] != END or key[0] not in counted]
        return sorted({key for key in every if holding and min(holding) <= key})

    def _passed(self, key: Key) -> bool:
        """Whether nothing can come before an instant any more, nor in it if it is not of one."""
        if self.settles:
            reached = [(mark, stream) for stream, mark in self.marks.items() if mark is not None]
            return len(reached) == len(self.marks) and key[:2] <= min(reached)
        return all(self._closed(key, mark) for mark in self.marks.values())

    def _known(self) -> bool:
        """Whether t0 is known: no stream can bring a lesser one."""
        slides = any(each.slides for each in self.query.windows)
        grids = self.query.report == "every" or (slides and self.query.report != "on-arrival")
        return (
            self.query.t0 != "first"
            or not grids
            or all(
                mark is not None and self.first is not None and self.first < mark
                for mark in self.marks.values()
            )
        )

    def _candidates(self) -> tuple[list[Key], list[Key]]:
        """Moments at which the query may report, and those that it has a reason to report."""
        match self.query.report:
            case "on-close":
                return self._all_closes()
            case "every":
                return self._all_ticks()
            case "on-change":
                keys = [(e.time, END, 0) for e in self.seen if not e.behind and self._enters(e)]
            case "on-arrival":
                keys = [each.key for each in self.seen if not each.behind]
        return keys, keys

    def _all_closes(self) -> tuple[list[Key], list[Key]]:
        """The closes of all windows, and those whose window holds an element."""
        every, holding = list[Key](), list[Key]()
        for window in self.query.windows:
            if window.counts:
                keys = [key for key, _ in self._count_closes(window)]
                every, holding = every + keys, holding + keys
            elif window.slides:
                keys = [self._at(close) for close in self._closes(window)]
                every += keys
                holding += [key for key in keys if self.held(window, key)[0]]
        return every, holding

    def _all_ticks(self) -> tuple[list[Key], list[Key]]:
        """The instants of `every`, and those whose windows hold an element.

        What ALL and count windows hold they hold for ever; of them something new is asked.
        """
        every = [self._at(tick) for tick in self._ticks()]
        holding = list[Key]()
        for window in self.query.windows:
            before = list[Seen]()
            for key in every:
                now = self.held(window, key)[0]
                new = now != before if window.counts or window.kind == "all" else bool(now)
                holding += [key] if new else []
                before = now
        return every, holding

    def _enters(self, each: Seen) -> bool:
        mine = [window for window in self.query.windows if window.stream == each.stream]
        return any(not window.slides or self._openings(window, each.time) for window in mine)

    # -- late --------------------------------------------------------------------------------

    def is_late(self, each: Seen) -> bool:
        """Whether a window that should have held an element was closed when it came."""
        mine = [window for window in self.query.windows if window.stream == each.stream]
        return any(self._missed(window, each) for window in mine)

    def _missed(self, window: Window, each: Seen) -> bool:
        if self.as_they_come:
            return window.kind == "time" and each not in self.held(window, each.key)[0]
        if window.counts or not self.query.waits:
            return each.behind
        if window.slides:
            closes = self._closes(window)
            holding = [c for c in closes if self._inside(c - window.width, each.time, c)]
        elif self.query.report == "every":
            holding = [tick for tick in self._ticks() if self._holds(window, each.time, tick)]
        else:
            return each.behind
        return bool(holding) and self._closed(self._at(min(holding)), each.mark)

    def _holds(self, window: Window, time: int, tick: int) -> bool:
        """Whether a window without closes of its own would hold a moment at an instant."""
        match window.kind:
            case "now":
                return time == tick
            case "all":
                return (time, START, 0) < self._at(tick)
            case _:
                return self._inside(tick - window.width, time, tick)

    # -- answers -----------------------------------------------------------------------------

    def run(self, *, live: bool = False) -> Outcome:
        """All that is reported, and what was late or rejected."""
        [reported] = self.reports([self.query.body], live=live)
        late = [(e.stream, Event(e.time, e.quads)) for e in self.seen if self.is_late(e)]
        return Outcome(reported, late, self.rejected)

    def reports(self, bodies: Sequence[str], *, live: bool = False) -> list[list[Reported]]:
        """All that is reported of queries that differ from this one in their bodies only."""
        query, found = self.query, [list[Reported]() for _ in bodies]
        previous = [Counter[Row]() for _ in bodies]
        sequence: Mapping[int, Iterator[int]] = {time: count() for time in self.moments}
        for upto in self.instants(live=live):
            seq = next(sequence[upto[0]])
            held = [(window, *self.held(window, upto)) for window in query.windows]
            if query.non_empty == "content" and not any(each for _, each, _ in held):
                continue
            frames = {window.name: frame for window, each, frame in held if each}
            contents = [_statements(window, each) for window, each, _ in held]
            ask = asking(contents, query.static, timed=query.contents == "timed")
            for number, body in enumerate(bodies):
                answer = ask(body)
                emitted = {
                    "rstream": answer,
                    "istream": answer - previous[number],
                    "dstream": previous[number] - answer,
                }[query.emit]
                previous[number] = answer
                if query.made is not None:
                    emitted = _made(emitted, query.made)
                if emitted or query.non_empty != "answer":
                    found[number].append(Reported(upto[0], seq, emitted, frames))
        return found


def _size(window: Window, each: Seen) -> int:
    return len(each.quads) if window.kind == "triples" else 1


def _statements(window: Window, held: list[Seen]) -> Statements:
    timed = {(each.time, quad) for each in held for quad in each.quads}
    return Statements(window.name, timed, window.in_default)


def _made(rows: Counter[Row], template: tuple[int, rdf.Iri, int]) -> Counter[Row]:
    """The graph that a template makes of some rows."""
    subject, predicate, object_ = template
    made = {(row[subject], predicate, row[object_]) for row in rows}
    return Counter([m for m in made if isinstance(m[0], rdf.Iri) and m[2] is not None])
