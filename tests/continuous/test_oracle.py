"""Random queries over random streams: the engine and the definitions must agree.

`make fuzz` runs thousands of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.rdf.elements import Element
from headrace.rdf.terms import Literal
from headrace.results.evaluations import Evaluation
from tests.continuous.described import Event
from tests.continuous.generators import Case, as_registered, cases
from tests.continuous.oracle import Frame, Oracle, Reported
from tests.continuous.snapshots import Row
from tests.continuous.ways import play_every_way
from tests.fuzzing import repeat
from tests.w3c.isomorphism import same

pytestmark = pytest.mark.slow
BOOLEAN = "http://www.w3.org/2001/XMLSchema#boolean"


def micros(milliseconds: int | None) -> int | None:
    return None if milliseconds is None else 1_000 * milliseconds


def rows(evaluation: Evaluation) -> list[Row]:
    if evaluation.boolean is not None:
        return [(Literal("true" if evaluation.boolean else "false", BOOLEAN),)]
    if evaluation.quads:
        return [(quad.subject, quad.predicate, quad.object) for quad in evaluation.quads]
    return list(evaluation.rows)


def agree(ours: Evaluation, theirs: Reported, case: Case) -> None:
    assert ours.error is None
    # Sums and means may be written with more or fewer digits.
    assert same(rows(ours), theirs.rows.elements()), (theirs.at, rows(ours), dict(theirs.rows))
    if case.dialect == "rspql":
        bounds = {name: ours.windows[name] for name in theirs.frames}
        assert bounds == {name: _micros(frame) for name, frame in theirs.frames.items()}, theirs.at


def _micros(frame: Frame) -> Frame:
    return micros(frame[0]), micros(frame[1])


def events(found: Iterable[tuple[str, Event]]) -> Counter[object]:
    return Counter((stream, micros(event.time), frozenset(event.quads)) for stream, event in found)


def elements(found: Iterable[tuple[str, Element | None]]) -> Counter[object]:
    return Counter(
        (stream, element.time, frozenset(element.quads)) for stream, element in found if element
    )


def compare(case: Case, *, live: bool = False) -> None:
    theirs = Oracle(case.query, case.streams).run(live=live)
    ours = play_every_way(
        case.text,
        case.inputs,
        static=case.static,
        settings=case.settings,
        dialect=case.dialect,
        live=live,
    )
    instants = [(each.at, each.seq) for each in ours.evaluations]
    assert instants == [(micros(each.at), each.seq) for each in theirs.reported]
    for evaluation, reported in zip(ours.evaluations, theirs.reported, strict=True):
        agree(evaluation, reported, case)
    # As long as t0 is not known, nobody can say what is late.
    if not (live and case.query.t0 == "first"):
        assert elements((each.stream, each.element) for each in ours.late) == events(theirs.late)
    rejected = elements((each.stream, each.element) for each in ours.rejected)
    assert rejected == events(theirs.rejected)


@repeat(100)
@given(cases(), st.booleans())
def test_the_engine_agrees_with_the_definitions(case: Case, live: bool) -> None:
    compare(case, live=live)


@repeat(30, share=1 / 4)
@given(cases().map(as_registered))
def test_it_does_so_by_what_the_text_and_the_profile_say(case: Case) -> None:
    compare(case)
