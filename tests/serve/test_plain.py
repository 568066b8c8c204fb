from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headrace.rdf.formats import Format
from headrace.rdf.reading import read
from headrace.rdf.streams import read_stream
from headrace.rdf.timed import read_timed
from headrace.serve.plain import plain_statements, plain_timed

IRIS = st.one_of(
    st.from_regex(r"<(https?://)?[a-z0-9.:@/#?%!$&'()*+,;=~\[\]-]{0,12}>", fullmatch=True),
    st.from_regex(r"<[a-z]{1,4}:[A-Za-z0-9._~/#-]{0,8}>", fullmatch=True),
)
LITERALS = st.from_regex(r'"[^"\n\r]{0,6}"(@[a-zA-Z-]{1,9}|\^\^<x:[a-z]{1,3}>)?', fullmatch=True)
STATEMENTS = st.builds("{} {} {} .".format, IRIS, IRIS, st.one_of(IRIS, LITERALS))


@given(st.lists(STATEMENTS, min_size=1, max_size=4), st.sampled_from(["", "\n"]))
def test_what_is_plain_is_right(statements: list[str], end: str) -> None:
    data = ("\n".join(statements) + end).encode()
    number = plain_statements(data)
    if number:
        for form in (Format.N_TRIPLES, Format.N_QUADS, Format.TURTLE, Format.TRIG):
            found = list(read(data, form))
            assert len(found) == number == len(statements)
            assert all(quad.graph is None for quad in found)


@given(
    st.lists(st.tuples(st.integers(0, 10**13), STATEMENTS), min_size=1, max_size=4),
    st.sampled_from(["", "\n"]),
)
def test_what_is_plain_and_timed_is_right(lines: list[tuple[int, str]], end: str) -> None:
    data = ("\n".join(f"{time}\t{text}" for time, text in lines) + end).encode()
    number = plain_timed(data)
    if number:
        assert len(list(read_timed(data))) == number == len(lines)
        assert read_stream(data, Format.TIMED_N_QUADS).elements.height == number


def test_most_lines_of_sensors_are_plain() -> None:
    xsd = "http://www.w3.org/2001/XMLSchema#"
    line = f'<http://e.x/sensor/7> <http://www.w3.org/ns/sosa/result> "1.5"^^<{xsd}double> .'
    assert plain_statements(line.encode()) == 1
    assert plain_timed(f"1700000000000\t{line}\n".encode() * 3) == 3
    assert plain_statements(b"") == plain_timed(b"") == plain_timed(b"\n") == 0
    assert plain_timed(b"1\t<x:a> <x:b> <x:c> <x:g> .") == 0
