"""Generated readings are the same however they are asked for."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from headrace.errors import SettingError
from headrace.ingest.rate import Rate, parse_rate, rate_text
from headrace.rdf.terms import Iri, Literal
from headrace.rdf.timed import read_timed
from headrace.rdf.vocabulary import XSD_DOUBLE

rates = st.builds(
    Rate,
    st.integers(1, 5_000_000),
    st.integers(1, 1_000),
    st.integers(-(10**12), 2 * 10**15),
)


def test_a_source_says_what_it_asks_for() -> None:
    assert parse_rate("rate:1000") == Rate(1_000, 100, 0)
    asked = parse_rate("rate:5?subjects=3&start=1970-01-01T00:00:01Z")
    assert asked == Rate(5, 3, 1_000_000)
    assert parse_rate("rate:5?start=1970-01-01T01:00:01%2B01:00") == Rate(5, 100, 1_000_000)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("rate:", "expected a number of elements a second"),
        ("rate:0", "found '0'"),
        ("rate:-5", "found '-5'"),
        ("rate:1e3", "found '1e3'"),
        ("rate:10?subjects=0", "expected a number of subjects"),
        ("rate:10?subject=5", "did you mean 'subjects'"),
        ("rate:10?start=soon", "found 'soon'"),
        ("rate:" + "9" * 5_000, "from 1 to 1,000,000,000"),
    ],
)
def test_what_is_wrong_is_said(text: str, problem: str) -> None:
    with pytest.raises(SettingError, match=problem):
        parse_rate(text)


@given(spec=rates, first=st.integers(0, 10**13), count=st.integers(0, 50))
def test_elements_are_readings_at_their_times(spec: Rate, first: int, count: int) -> None:
    assume(spec.start + (first + count) * 1_000_000 // spec.rate < 2**63)  # else no time is left
    elements = list(read_timed(rate_text(spec, first, first + count)))
    numbers = range(first, first + count)
    assert [each.time for each in elements] == [
        spec.start + number * 1_000_000 // spec.rate for number in numbers
    ]
    for number, element in zip(numbers, elements, strict=True):
        (quad,) = element.quads
        assert quad.subject == Iri(f"urn:headrace:sensor/{number % spec.subjects}")
        assert quad.predicate == Iri("urn:headrace:value")
        assert isinstance(quad.object, Literal)
        assert quad.object.datatype == XSD_DOUBLE
        assert 10 < float(quad.object.lexical) < 40


@given(spec=rates, cuts=st.lists(st.integers(0, 100), min_size=2, max_size=6))
def test_pieces_are_those_of_the_whole(spec: Rate, cuts: list[int]) -> None:
    cuts.sort()
    pieces = [rate_text(spec, *piece) for piece in pairwise(cuts)]
    assert b"".join(pieces) == rate_text(spec, cuts[0], cuts[-1])


def test_readings_are_always_the_same() -> None:
    text = rate_text(Rate(3, subjects=2, start=1_500), 1_000_000, 1_000_003)
    readings = [line.split('"')[:2] for line in text.decode().splitlines()]
    assert readings == [
        ["333333334.833\t<urn:headrace:sensor/0> <urn:headrace:value> ", "15.91"],
        ["333333668.166\t<urn:headrace:sensor/1> <urn:headrace:value> ", "20.96"],
        ["333334001.500\t<urn:headrace:sensor/0> <urn:headrace:value> ", "15.96"],
    ]


def test_readings_of_a_sensor_differ() -> None:
    text = rate_text(Rate(1_000, subjects=1), 0, 1_000)
    assert len({line.split(b"\t")[1] for line in text.splitlines()}) > 50
