"""How the input is cut, and in what order it comes within the delay, makes no difference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from headrace.rdf import terms as rdf
from headrace.rdf.elements import Element
from headrace.testing import Played, play
from tests.continuous.described import Event
from tests.continuous.generators import XSD, Case, cases, lines, timed
from tests.continuous.ways import NAME, play_every_way
from tests.fuzzing import repeat

pytestmark = pytest.mark.slow
S = "http://x/s"
COUNT = f"""
SELECT (COUNT(*) AS ?n) (SUM(?v) AS ?sum)
FROM NAMED WINDOW <http://x/w> ON <{S}> [RANGE 5ms STEP 5ms]
WHERE {{ WINDOW <http://x/w> {{ ?x <http://x/p> ?v }} }}
"""
Steps = Sequence[Sequence[tuple[str, int]]]

often = repeat(100)


def played(case: Case, batches: Steps | int | None = None, *, live: bool = False) -> Played:
    return play(
        {NAME: case.text},
        case.inputs,
        static=case.static,
        settings=case.settings,
        dialect=case.dialect,
        batches=batches,
        live=live,
    )


def by_stream(found: Played) -> dict[str, tuple[list[Element], list[Element | None]]]:
    """What was late and what was rejected, in the order of each stream."""
    streams = {each.stream for each in found.late} | {each.stream for each in found.rejected}
    return {
        stream: (
            [each.element for each in found.late if each.stream == stream],
            [each.element for each in found.rejected if each.stream == stream],
        )
        for stream in streams
    }


def same_run(one: Played, other: Played) -> None:
    assert one.evaluations == other.evaluations
    assert by_stream(one) == by_stream(other)
    # A stream of which nothing has come need not be counted.
    one_counted, other_counted = (
        {stream: each for stream, each in run.counters.items() if each.elements}
        for run in (one, other)
    )
    assert one_counted == other_counted


def played_every_way(case: Case, *, live: bool = False) -> Played:
    return play_every_way(
        case.text,
        case.inputs,
        static=case.static,
        settings=case.settings,
        dialect=case.dialect,
        live=live,
    )


@st.composite
def steps(draw: st.DrawFn, case: Case) -> Steps:
    """Any cuts between elements and any interleaving that keeps the order of each stream."""
    left = {
        stream: [len(lines(event)) for event in found] for stream, found in case.streams.items()
    }
    cut = list[list[tuple[str, int]]]([[]])
    while any(left.values()):
        stream = draw(st.sampled_from([name for name, sizes in left.items() if sizes]))
        number = draw(st.integers(1, len(left[stream])))
        cut[-1].append((stream, sum(left[stream][:number])))
        left[stream] = left[stream][number:]
        if draw(st.booleans()):
            cut.append([])
    return cut


@often
@given(cases(), st.booleans(), st.data())
def test_any_cut_and_any_interleaving_give_the_same(
    case: Case, live: bool, more: st.DataObject
) -> None:
    cuts = st.one_of(steps(case), steps(case), st.integers(1, 4))
    same_run(played(case, more.draw(cuts), live=live), played_every_way(case, live=live))


@often
@given(cases())
def test_disorder_within_the_delay_makes_no_difference(case: Case) -> None:
    delays = {stream: disorder(found) for stream, found in case.streams.items()}
    query = replace(case.query, delays=delays, max_ahead=None, order="event-time")
    ordered = {s: sorted(found, key=lambda e: e.time) for s, found in case.streams.items()}
    graphs = [(e.time, e.quads[0].graph) for f in case.streams.values() for e in f if e.quads]
    # Elements of one graph and one time would be read as one when they come to stand together.
    assume(all(graph is None or graphs.count((at, graph)) == 1 for at, graph in graphs))
    found = played_every_way(Case(query, case.dialect, case.streams))
    assert found.late == []
    assert found.rejected == []
    assert found.evaluations == played(Case(query, case.dialect, ordered)).evaluations


def disorder(found: Sequence[Event]) -> int:
    """How far an element is behind the latest before it, at most."""
    high = found[0].time if found else 0
    furthest = 0
    for event in found:
        high = max(high, event.time)
        furthest = max(furthest, high - event.time)
    return furthest


moves = st.lists(st.integers(-12, 20), max_size=25)


@often
@given(moves, st.integers(0, 8), st.integers(10, 30), st.integers(1, 7))
def test_every_element_is_used_or_late_or_rejected(
    steps: list[int], delay: int, max_ahead: int, batch: int
) -> None:
    """Elements of their own number, in windows of 5 ms: each is in one or nowhere."""
    times = [sum(steps[: at + 1]) for at in range(len(steps))]
    used, late, rejected = set[int](), set[int](), set[int]()
    high: int | None = None
    for number, time in enumerate(times):
        close = next(moment for moment in range(time, time + 5) if moment % 5 == 0)
        if high is not None and time > high + max_ahead:
            rejected.add(number)
            continue
        (late if high is not None and close < high - delay else used).add(number)
        high = time if high is None else max(high, time)
    stream = [Event(time, (numbered(number),)) for number, time in enumerate(times)]
    found = play_every_way(
        COUNT,
        {S: timed(stream)},
        settings={"delay": f"{delay}ms", "max_ahead": f"{max_ahead}ms"},
        dialect="rspql",
        batches=batch,
    )
    assert [number_of(each.element) for each in found.late] == sorted(late)
    assert [number_of(each.element) for each in found.rejected] == sorted(rejected)
    rows = [tuple(map(value, row)) for each in found.evaluations for row in each.rows]
    assert sum(count for count, _ in rows) == len(used)
    assert sum(total for _, total in rows) == sum(used)
    if times:
        counters = found.counters[S]
        counted = (counters.elements, counters.late, counters.rejected)
        assert counted == (len(times), len(late), len(rejected))


def numbered(number: int) -> rdf.Quad:
    value = rdf.Literal(str(number), f"{XSD}integer")
    return rdf.Quad(rdf.Iri("http://x/a"), rdf.Iri("http://x/p"), value)


def number_of(element: Element | None) -> int:
    assert element is not None
    return value(element.quads[0].object)


def value(term: rdf.Term | None) -> int:
    assert isinstance(term, rdf.Literal)
    return int(term.lexical)


def test_what_a_count_window_has_not_counted_is_kept() -> None:
    """Between windows with gaps, a triple is forgotten only when it has been counted."""
    query = f"""
    SELECT ?x FROM NAMED WINDOW <http://x/w> ON <{S}> [RANGE 3ms STEP 4ms]
    FROM NAMED WINDOW <http://x/v> ON <{S}> [TRIPLES 1 STEP 3]
    WHERE {{
      WINDOW <http://x/w> {{ ?x <http://x/p> ?y }}
      WINDOW <http://x/v> {{ ?x <http://x/p> ?y }}
    }}
    """
    stream = timed([Event(time, (numbered(time),)) for time in range(2, 18, 2)])
    one, other = (
        play([query], {S: stream}, settings={"report": "every:12ms"}, batches=batches).evaluations
        for batches in (None, 1)
    )
    assert one == other
    assert [each.windows["http://x/v"] for each in one] == [(12_000, 12_000)]
