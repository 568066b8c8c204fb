"""Which stream a query waits for, and the note that names it."""

from __future__ import annotations

import pytest

from headrace import Engine
from headrace.diagnosis.waiting import remedies, slowest_stream
from headrace.dialects import parse
from headrace.planning.plan import Plan, make_plan
from headrace.rdf.terms import Iri

S, T = Iri("s"), Iri("t")
TWO = (
    "SELECT ?a FROM STREAM <s> [RANGE 5s STEP 5s] FROM STREAM <t> [RANGE 5s STEP 5s]"
    " { ?a <x:p> ?c }"
)
SECOND = 1_000_000


def plan(text: str = TWO, **settings: str) -> Plan:
    return make_plan(parse(text, settings=settings).query, "q", delays={"t": 2 * SECOND})


@pytest.mark.parametrize(
    ("s", "t", "slowest"),
    [
        (11, 5, T),
        (11, 12, T),  # it has a delay of 2 s, so that the close at 10 s waits for it
        (11, 13, None),
        (9, 20, S),
        (9, 8, None),  # no window closes between
        (10, 8, None),  # the close at 10 s waits for both
        (None, 5, S),
        (5, None, T),
        (None, None, None),
    ],
)
def test_the_slowest_is_named_if_a_close_waits_for_it(
    s: int | None, t: int | None, slowest: Iri | None
) -> None:
    highs = {S: None if s is None else s * SECOND, T: None if t is None else t * SECOND}
    assert slowest_stream(plan(), highs) == slowest


def test_on_arrival_every_element_waits_unless_they_are_taken_as_they_come() -> None:
    highs = {S: 9 * SECOND, T: 8 * SECOND}
    assert slowest_stream(plan(report="on-arrival"), highs) == T
    assert slowest_stream(plan(report="on-arrival", order="arrival"), highs) is None
    assert remedies(plan(report="on-arrival"), T).endswith("; --set order=arrival does not wait")
    assert "order" not in remedies(plan(), T)


def test_where_closes_are_not_known_beforehand_a_whole_step_has_to_lie_between() -> None:
    assert slowest_stream(plan(t0="first"), {S: 9 * SECOND, T: 10 * SECOND}) is None
    assert slowest_stream(plan(t0="first"), {S: 9 * SECOND, T: 6 * SECOND}) == T


def test_nothing_waits_for_an_only_stream() -> None:
    one = TWO.replace(" FROM STREAM <t> [RANGE 5s STEP 5s]", "")
    assert slowest_stream(plan(one), {S: 5}) is None


def test_a_query_that_has_given_rows_says_what_it_waits_for() -> None:
    """Also one whose other stream goes on; the note is another one when the slowest goes on."""
    engine = Engine(live=True, settings={"report": "on-arrival"})
    streams = [engine.stream(iri) for iri in ("s", "t")]
    query = engine.register(TWO)
    streams[0].push("<x:a> <x:p> <x:b> .", at=1_000)
    streams[1].push("<x:a> <x:q> <x:b> .", at=1_500)
    streams[0].push("<x:c> <x:p> <x:b> .", at=30_000)
    engine.step()
    assert any(each.rows for each in query.results())
    [note] = query.notes
    assert (note.code, note.severity, note.stream) == ("waiting-for-stream", "info", "t")
    assert note.text == (
        "'q1' waits for <t>, which has come to 1970-01-01T00:00:01.5Z, and another of its streams"
        " to 1970-01-01T00:00:30Z: push an element or a heartbeat to it, or give it an idle"
        " time-out (--set idle.t=30s); --set order=arrival does not wait"
    )
    streams[1].push("<x:a> <x:q> <x:b> .", at=2_000)
    engine.step()
    assert [each.key == note.key for each in query.notes] == [False]
    streams[1].heartbeat(at=30_000)
    engine.step()
    assert query.notes == ()
