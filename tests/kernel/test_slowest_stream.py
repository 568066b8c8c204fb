"""The sentence that names the stream a query waits for."""

from __future__ import annotations

from headrace.dialects import parse
from headrace.kernel.slowest_stream import describe_wait
from headrace.planning.plan import Plan, make_plan
from headrace.rdf.terms import Iri

S, T = Iri("s"), Iri("t")
TWO = (
    "SELECT ?a FROM STREAM <s> [RANGE 5s STEP 5s] FROM STREAM <t> [RANGE 5s STEP 5s]"
    " { ?a <x:p> ?c }"
)


def plan(text: str = TWO, **settings: str) -> Plan:
    return make_plan(parse(text, settings=settings).query, "q", delays={"t": 2_000_000})


def test_the_slowest_is_named_with_how_far_it_has_come() -> None:
    assert describe_wait(plan(), {S: 10_000_000, T: 5_000_000}) == (
        "query 'q' waits for stream <t>, which has only reached 1970-01-01T00:00:05Z; "
        "a heartbeat or --set idle.t=30s lets it go on"
    )


def test_a_delay_counts() -> None:
    found = describe_wait(plan(), {S: 10_000_000, T: 11_000_000})
    assert found is not None
    assert "waits for stream <t>" in found
    assert describe_wait(plan(), {S: 10_000_000, T: 12_000_000}) is None


def test_one_that_has_not_begun_is_named_first() -> None:
    found = describe_wait(plan(), {S: 10_000_000, T: None})
    assert found is not None
    assert "stream <t>, which has not begun;" in found


def test_where_elements_are_evaluated_as_they_come_nothing_is_waited_for() -> None:
    highs = {S: 10_000_000, T: None}
    found = describe_wait(plan(report="on-arrival"), highs)
    assert found is not None
    assert found.endswith("lets it go on, and so does --set order=arrival")
    assert describe_wait(plan(report="on-arrival", order="arrival"), highs) is None


def test_nothing_is_said_of_one_stream_or_before_anything_came() -> None:
    one = TWO.replace(" FROM STREAM <t> [RANGE 5s STEP 5s]", "")
    assert describe_wait(plan(one), {S: 5}) is None
    assert describe_wait(plan(), {S: None, T: None}) is None
