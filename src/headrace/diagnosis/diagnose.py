"""From facts to notes: one rule for all front ends, and at most one cause for each silent query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from headrace.algebra.reporting import Every, OnClose
from headrace.algebra.windows import Counted, CountWindow, TimeWindow, WindowFrame
from headrace.diagnosis.facts import Facts, FarTime, QueryFacts, StreamFacts
from headrace.diagnosis.name_suggestions import iri, similar_name
from headrace.diagnosis.note import Code, Note, Severity
from headrace.diagnosis.pattern_notes import PatternDiagnosis
from headrace.diagnosis.probes import Probe
from headrace.diagnosis.time_texts import duration_text, time_text
from headrace.diagnosis.waiting import remedies, slowest_stream
from headrace.errors import counted, listing
from headrace.planning.plan import Plan
from headrace.rdf.terms import Iri
from headrace.rdf.times import plausible_unit

_MILLISECOND: Final = 1_000
_MOST_LATE: Final = 2


def diagnose(facts: Facts) -> tuple[Note, ...]:
    """Make notes from facts about a run, those about streams first."""
    return tuple(dict.fromkeys(_Diagnosis(facts).notes()))


class _Diagnosis:
    """The facts about a run, with what is looked up in them again and again."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.makers = {
            query.plan.stream.value: query.plan
            for query in facts.queries
            if query.plan.stream is not None
        }
        self.states = {query.plan.name: query for query in facts.queries}
        self.read = {stream.value for query in facts.queries for stream in query.plan.streams}
        self.mute = [query for query in facts.queries if _is_mute(query)]

    def notes(self) -> Iterator[Note]:
        for stream in self.facts.streams.values():
            yield from self._of_stream(stream)
        for query in self.facts.queries:
            yield from self._of_query(query)

    # -- streams ---------------------------------------------------------------------------

    def _of_stream(self, stream: StreamFacts) -> Iterator[Note]:
        if stream.iri not in self.read:
            yield self._unread(stream)
            return
        silence = self._silence(stream)
        if silence is not None:
            yield silence
            return
        unit = _time_unit(stream)
        if unit is not None:
            yield unit
        if stream.far is not None:
            yield _far_ahead(stream, stream.far)
        elif self._is_all_late(stream) and any(
            Iri(stream.iri) in query.plan.streams for query in self.mute
        ):
            yield _all_late(stream)

    def _unread(self, stream: StreamFacts) -> Note:
        near = similar_name(iri(stream.iri), map(iri, sorted(self.read)))
        hint = f"did you mean {near}?" if near else "name it in a query, or leave it out"
        text = f"{iri(stream.iri)} is declared, and no query reads it: {hint}"
        return Note(Code.UNREAD_STREAM, Severity.INFO, text, stream=stream.iri)

    def _silence(self, stream: StreamFacts) -> Note | None:
        """Make the note on a stream without accepted elements."""
        name, place = iri(stream.iri), {"stream": stream.iri}
        sources = f" from {listing(stream.sources, 'and')}" if stream.sources else ""
        subject = stream.sources[0] if stream.sources else None
        if stream.elements and stream.accepted == 0:
            those = _every(stream.elements)
            were = "was" if stream.elements == 1 else "were"
            reason = f": {stream.reason}" if stream.reason else ""
            text = (
                f"{those} of {name} {were} rejected{reason}; correct the source, or declare its"
                " format"
            )
            any_accepted = any(each.accepted for each in self.facts.streams.values())
            severity = Severity.WARNING if any_accepted else Severity.ERROR
            return Note(Code.ALL_REJECTED, severity, text, subject=subject, **place)
        if stream.elements:
            return None
        if stream.high is not None and self.facts.ended:  # a live run makes heartbeats of its own
            text = (
                f"{name} has had heartbeats and no elements: a line that has only a time is a"
                " heartbeat, so write a tab and a statement after the time"
            )
            return Note(Code.ONLY_HEARTBEATS, Severity.WARNING, text, subject=subject, **place)
        ended = self.facts.ended
        if not ended and any(self._waits(query, stream) for query in self.facts.queries):
            return None
        remedy = "check that it is the right source" if stream.sources else "push elements to it"
        what = "had no elements" if ended else "has had no elements yet"
        text = f"{name} {what}: nothing was read{sources}; {remedy}"
        if not stream.sources:
            text = f"{name} {what}: {remedy}"
        severity = Severity.WARNING if ended else Severity.INFO
        return Note(Code.NO_ELEMENTS, severity, text, subject=subject, **place)

    def _waits(self, query: QueryFacts, stream: StreamFacts) -> bool:
        """Test whether a query waits for a stream while its other streams go on."""
        own = self._streams_of(query)
        return stream.high is None and stream in own and any(each.accepted for each in own)

    @staticmethod
    def _is_all_late(stream: StreamFacts) -> bool:
        return stream.accepted > 0 and stream.late >= stream.accepted

    # -- queries ---------------------------------------------------------------------------

    def _of_query(self, query: QueryFacts) -> Iterator[Note]:
        yield from self._no_static_graph(query.plan)
        if query.outside and query.offered and query.outside < query.offered:
            yield _skipped(query)
        silent = (
            self._silent_streams,
            self._empty_windows,
            self._only_gaps,
            self._not_closed,
            self._patterns,
            self._waiting,
            self._times_apart,
            self._mostly_late,
        )
        for cause in silent if _is_mute(query) else (self._waiting,):
            found = cause(query)
            if found is not None:
                if isinstance(found, Note):
                    yield found
                return

    def _no_static_graph(self, plan: Plan) -> Iterator[Note]:
        dataset = plan.query.dataset
        for graph in (*dataset.default, *dataset.named):
            if graph.value not in self.facts.static.graphs:
                name = iri(graph.value)
                text = (
                    f"FROM {name} names no static graph: load it with --static {graph.value}=FILE"
                )
                subject = name
                near = similar_name(name, map(iri, sorted(self.facts.static.graphs)))
                text = f"{text}; did you mean {near}?" if near else text
                yield Note(Code.NO_STATIC_GRAPH, Severity.WARNING, text, plan.name, subject=subject)

    def _empty_input(self, query: QueryFacts, stream: str) -> Note:
        """Make the note on a query that reads the empty stream of another query."""
        maker, name = self.makers[stream].name, query.plan.name
        if self.states[maker].failed:
            why = "has stopped: correct that query first"
        else:
            why = "has given nothing: look at that query first"
        text = f"'{name}' reads the stream that '{maker}' makes, which {why}"
        return Note(Code.EMPTY_INPUT_STREAM, Severity.WARNING, text, name, stream, maker)

    def _streams_of(self, query: QueryFacts) -> list[StreamFacts]:
        """Return the streams of a query that are read from outside."""
        names = [stream.value for stream in query.plan.streams]
        return [self.facts.streams[name] for name in names if name in self.facts.streams]

    def _silent_streams(self, query: QueryFacts) -> Note | bool | None:
        """Find streams without elements, whose own notes explain the query too."""
        own = self._streams_of(query)
        silent = [each for each in own if not each.accepted]
        if own and len(own) == len(query.plan.streams):
            if len(silent) == len(own):
                return True
            if all(not each.accepted or self._is_all_late(each) for each in own):
                return True
        unheard = [each for each in silent if each.high is None]
        if unheard and self.facts.live and not query.began:
            name, stream = query.plan.name, unheard[0].iri
            text = (
                f"'{name}' waits for {iri(stream)}, of which nothing has come:"
                f" {remedies(query.plan, Iri(stream))}"
            )
            return Note(Code.WAITING_FOR_STREAM, Severity.WARNING, text, name, stream)
        needed = self._found(query).required_streams if silent else frozenset()
        return True if any(each.iri in needed for each in silent) else None

    def _waiting(self, query: QueryFacts) -> Note | None:
        """Another of its streams has come further than the slowest, and something waits."""
        own = {Iri(each.iri): each for each in self._streams_of(query)}
        highs = {stream: each.high for stream, each in own.items()}
        stream = slowest_stream(query.plan, highs)
        high = None if stream is None else highs.get(stream)
        if self.facts.ended or query.failed or stream is None or high is None:
            return None
        furthest = max(each for each in highs.values() if each is not None)
        name, reached = query.plan.name, time_text(high)
        text = (
            f"'{name}' waits for {iri(stream.value)}, which has come to {reached}, and another of"
            f" its streams to {time_text(furthest)}: {remedies(query.plan, stream)}"
        )
        # With the time it is another note once the stream goes on, so that only one that stands
        # still is reported.
        return Note(
            Code.WAITING_FOR_STREAM, Severity.INFO, text, name, stream.value, subject=reached
        )

    def _only_gaps(self, query: QueryFacts) -> Note | None:
        if not query.outside or query.outside != query.offered:
            return None
        name, width = query.plan.name, duration_text(_gapped(query.plan)[0].width)
        lie = "lies" if query.outside == 1 else "lie"
        text = (
            f"windows of '{name}' are {_gap(query)}, and {_every(query.outside)} {lie} between"
            f" them: a STEP of {width} or less leaves no gap"
        )
        return Note(Code.ONLY_IN_GAPS, Severity.WARNING, text, name)

    def _not_closed(self, query: QueryFacts) -> Note | None:
        """Make the note on a query none of whose windows has closed."""
        report = query.plan.semantics.report
        if isinstance(report, OnClose):
            found = self._too_few(query)
            if found is not None:
                return found
        if query.began or self.facts.ended or not isinstance(report, OnClose | Every):
            return None
        return self._open(query)

    def _too_few(self, query: QueryFacts) -> Note | None:
        """Make the note on a count window that had too few elements to close."""
        name, found = query.plan.name, list[Note]()
        for window in query.plan.windows:
            stream, frame = self.facts.streams.get(window.stream.value), window.frame
            number = None if stream is None else _number_of(stream, frame)
            if number is None or not isinstance(frame, CountWindow) or number >= frame.step:
                return None
            text = (
                f"no window of '{name}' has closed: it closes after {frame.step:,} {frame.counted},"
                f" and {iri(window.stream.value)} had {number:,}; a smaller STEP closes it sooner"
            )
            place = window.stream.value
            found.append(Note(Code.COUNT_NOT_REACHED, Severity.WARNING, text, name, place))
        return found[0] if found else None

    def _open(self, query: QueryFacts) -> Note | None:
        """Make the note on the open first window of a live run."""
        own = self._streams_of(query)
        reached = [
            (each.high - query.plan.delay(Iri(each.iri)), each)
            for each in own
            if each.high is not None
        ]
        if not reached or len(reached) < len(query.plan.streams):
            return None
        name = query.plan.name
        watermark, slowest = min(reached, key=lambda pair: (pair[0], pair[1].iri))
        until = "" if query.first is None else f" the first one closes at {time_text(query.first)},"
        text = (
            f"no window of '{name}' has closed:{until} and {iri(slowest.iri)} has come to"
            f" {time_text(watermark)}; a later element or a heartbeat on it closes the window"
        )
        return Note(Code.NO_WINDOW_CLOSED, Severity.INFO, text, name, slowest.iri)

    def _found(self, query: QueryFacts) -> PatternDiagnosis:
        idle = {name for name, plan in self.makers.items() if not self.states[plan.name].rows}
        return PatternDiagnosis(self.facts, query.needs, self.makers, frozenset(idle))

    def _patterns(self, query: QueryFacts) -> Note | bool | None:
        """Make the note on a statement that the query needs and that cannot be found."""
        found = self._found(query)
        if found.missing is None:
            return None
        if found.missing.scope.window is None and any(self._no_static_graph(query.plan)):
            return True  # it may stand in the graph that is not loaded, which has a note
        idle = [name for name in found.streams(found.missing) if name in found.idle]
        if idle:
            return self._empty_input(query, idle[0])
        return found.note(found.missing) or True

    def _times_apart(self, query: QueryFacts) -> Note | None:
        """Make the note on two streams whose elements are never in windows together."""
        widths = [w.frame.width for w in query.plan.windows if isinstance(w.frame, TimeWindow)]
        if len(widths) < len(query.plan.windows) or query.needs.always_answers:
            return None
        spans = []
        for stream in sorted(self._found(query).required_streams):
            known = self.facts.streams.get(stream)
            if known is None or known.tally.partial or known.tally.least is None:
                return None
            if known.high is None or not known.accepted:
                return None
            spans.append((known.tally.least, known.high, known))
        spans.sort(key=lambda span: span[:2])
        reach = _reach(query.plan)
        for one, other in pairwise(spans):
            if reach is not None and other[0] - one[1] > reach:
                return self._apart(query.plan, one, other)
        return None

    @staticmethod
    def _apart(
        plan: Plan, one: tuple[int, int, StreamFacts], other: tuple[int, int, StreamFacts]
    ) -> Note:
        first, second = iri(one[2].iri), iri(other[2].iri)
        text = (
            f"'{plan.name}' reads {first} and {second}, and no window holds both: {first} ends"
            f" at {time_text(one[1])}, and {second} begins at {time_text(other[0])}; check the"
            " times of both, or use wider windows"
        )
        return Note(Code.TIMES_APART, Severity.WARNING, text, plan.name, other[2].iri)

    def _empty_windows(self, query: QueryFacts) -> Note | None:
        """Make the note on a query since whose registration no element has come."""
        own = self._streams_of(query)
        if query.offered != 0 or len(own) < len(query.plan.streams):
            return None
        name, streams = query.plan.name, listing((iri(each.iri) for each in own), "and")
        text = (
            f"windows of '{name}' close empty: no element has come on {streams} since it was"
            " registered, and it does not see earlier ones; push more elements"
        )
        return Note(Code.EMPTY_WINDOWS, Severity.WARNING, text, name)

    def _mostly_late(self, query: QueryFacts) -> Note | bool | None:
        """Make the note on a stream most of whose elements missed a window."""
        for stream in query.plan.streams:
            known = self.facts.streams.get(stream.value)
            if known is None or query.needs.always_answers:
                continue
            if self._is_all_late(known) or known.far is not None:
                return True  # a note about the stream says so
            if known.late and _MOST_LATE * known.late >= known.accepted:
                name, elements = query.plan.name, counted(known.accepted, "element")
                text = (
                    f"{known.late:,} of {elements} of {iri(known.iri)} came after windows of"
                    f" '{name}' had closed: {_wait(known)}"
                )
                return Note(Code.MOSTLY_LATE, Severity.WARNING, text, name, known.iri)
        return None


def _is_mute(query: QueryFacts) -> bool:
    """Test whether a query has given no rows, or gives rows whatever its patterns match."""
    return not query.failed and (query.rows == 0 or query.needs.always_answers)


def _number_of(stream: StreamFacts, frame: WindowFrame) -> int | None:
    """Count the triples or elements of a stream for a count window, at most."""
    if not isinstance(frame, CountWindow):
        return None
    if frame.counted is Counted.ELEMENTS:
        return stream.accepted
    counts = [stream.tally.count(Probe()), stream.tally.count(Probe(named=True))]
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def _every(number: int) -> str:
    few = {1: "the only element", 2: "both elements"}
    return few.get(number, f"all {number:,} elements")


def _all_late(stream: StreamFacts) -> Note:
    those = f"{_every(stream.accepted)} of {iri(stream.iri)}"
    text = f"{those} came after windows had closed: {_wait(stream)}"
    return Note(Code.ALL_LATE, Severity.WARNING, text, stream=stream.iri)


def _far_ahead(stream: StreamFacts, far: FarTime) -> Note:
    text = (
        f"one time of stream {iri(stream.iri)} is more than a day ahead of the rest, and"
        f" {counted(far.late, 'element')} after it {'is' if far.late == 1 else 'are'} late:"
        f" {far.where} has the time {time_text(far.time)}; correct it, or reject such times with"
        " --set max_ahead=1d"
    )
    return Note(Code.TIME_FAR_AHEAD, Severity.WARNING, text, stream=stream.iri, subject=far.where)


def _wait(stream: StreamFacts) -> str:
    """Suggest a delay that would have waited for the late elements of a stream."""
    least, high = stream.tally.least, stream.high
    if least is None or high is None or stream.tally.partial:
        return "a longer delay waits for them, as in --set delay=10s"
    needed = duration_text(high - least)
    return f"event time had reached {time_text(high)} before; --set delay={needed} waits for them"


def _time_unit(stream: StreamFacts) -> Note | None:
    """Make the note on times that look like another unit than milliseconds."""
    least, high = stream.tally.least, stream.high
    if least is None or high is None:
        return None
    unit = plausible_unit(least // _MILLISECOND)
    if unit is None or unit is not plausible_unit(high // _MILLISECOND):
        return None
    number, year = least // _MILLISECOND, time_text(least).partition("-")[0]
    text = (
        f"the times of {iri(stream.iri)} are in the year {year}, and would be of our days if they"
        f" were {unit} since the epoch: a number is read as milliseconds, such as {number}, so"
        f" {unit.remedy}"
    )
    return Note(Code.TIME_UNIT, Severity.WARNING, text, stream=stream.iri, subject=str(unit))


def _gapped(plan: Plan) -> Sequence[TimeWindow]:
    """Return the frames of windows that leave gaps."""
    return [
        window.frame
        for window in plan.windows
        if isinstance(window.frame, TimeWindow)
        and window.frame.slide is not None
        and window.frame.slide > window.frame.width
    ]


def _gap(query: QueryFacts) -> str:
    frame = _gapped(query.plan)[0]
    return f"{duration_text(frame.width)} wide and {duration_text(frame.slide or 0)} apart"


def _skipped(query: QueryFacts) -> Note:
    name = query.plan.name
    width = duration_text(_gapped(query.plan)[0].width)
    text = (
        f"windows of '{name}' are {_gap(query)}, so {query.outside:,} of"
        f" {counted(query.offered or 0, 'element')} are in none of them: a STEP of {width} or less"
        " leaves no gap"
    )
    return Note(Code.SKIPPED_BY_WINDOWS, Severity.WARNING, text, name)


def _reach(plan: Plan) -> int | None:
    """Compute how far apart two elements of one evaluation may be."""
    frames = [w.frame for w in plan.windows if isinstance(w.frame, TimeWindow)]
    slides = [frame.slide or 0 for frame in frames]
    # A window that is taken at its latest close is behind by its slide at most.
    return max(frame.width for frame in frames) + max(slides) if frames else None
