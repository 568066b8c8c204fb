"""Timed N-Quads: what is one element, at which time, and where the errors are."""

from __future__ import annotations

import pytest

from headrace.errors import DataError
from headrace.rdf.elements import Element
from headrace.rdf.options import ReadOptions, StarMode
from headrace.rdf.scopes import UNSCOPED, Scope
from headrace.rdf.terms import BlankNode, Iri, Literal, Quad, QuotedTriple
from headrace.rdf.timed import read_timed, to_timed
from headrace.rdf.times import microseconds

A, B, C, G = Iri("x:a"), Iri("x:b"), Iri("x:c"), Iri("x:g")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", 0),
        ("1", 1_000),
        ("-1", -1_000),
        ("-0", 0),
        ("0.1", 100),
        ("0.001", 1),
        ("-1.5", -1_500),
        ("1700000000000.123", 1_700_000_000_000_123),
        ("9007199254740.993", 9_007_199_254_740_993),  # not a float
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T00:00:00", 0),
        ("1970-01-01T00:00", 0),
        ("1970-01-01", 0),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1970-01-01T01:00:00+0100", 0),
        ("1970-01-01T01:00:00+01", 0),
        ("1969-12-31T23:59:59.999999Z", -1),
        ("2000-02-29T12:00:00.5-05:30", 951_845_400_500_000),
        ("2024-12-31T24:00:00Z", 1_735_689_600_000_000),
        ("0001-01-01T00:00:00Z", -62_135_596_800_000_000),
        ("0000-12-31T00:00:00Z", -62_135_683_200_000_000),
        ("-0001-12-31T00:00:00Z", -62_167_305_600_000_000),
        ("12024-01-01T00:00:00Z", 317_273_587_200_000_000),
    ],
)
def test_times(text: str, expected: int) -> None:
    assert microseconds(text) == expected


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("1.0001", "as fine as a microsecond"),
        ("1970-01-01T00:00:00.0000001Z", "as fine as a microsecond"),
        ("", "expected a time"),
        ("1e3", "expected a time"),
        ("+1", "expected a time"),
        (".5", "expected a time"),
        ("1.", "expected a time"),
        ("\u0661", "expected a time"),
        ("9" * 5000, "expected a time"),
        ("9999999999999999", "too far from 1970"),
        ("290000-01-01T00:00:00Z", None),
        ("999999-01-01T00:00:00Z", "too far from 1970"),
        ("2023-02-29", "there is no day 2023-02-29"),
        ("2023-13-01", "there is no day"),
        ("2023-01-01T24:00:01Z", "an hour of at most 23"),
        ("2023-01-01T23:60:00Z", "at most 59"),
        ("2023-01-01T23:59:60Z", "at most 59"),
        ("2023-01-01T00:00:00+15:00", "a time zone of at most 14:00"),
        ("2023-01-01T00:00:00+01:60", "a time zone"),
        ("2023-1-1", "expected a time"),
        ("now", "expected a time"),
    ],
)
def test_what_is_no_time(text: str, problem: str | None) -> None:
    if problem is None:
        microseconds(text)
        return
    with pytest.raises(ValueError, match=problem):
        microseconds(text)


def test_each_line_is_an_element() -> None:
    text = "1\t<x:a> <x:b> <x:c> .\n1\t<x:a> <x:b> <x:b> .\n"
    first, second = Quad(A, B, C), Quad(A, B, B)
    assert list(read_timed(text)) == [Element(1000, (first,)), Element(1000, (second,))]


def test_adjacent_lines_of_one_time_and_graph_are_one_element() -> None:
    text = """\
1\t<x:a> <x:b> <x:c> <x:g> .
1.000\t<x:a> <x:b> <x:b> <x:g> .

# a comment between them
1970-01-01T00:00:00.001Z\t<x:a> <x:b> <x:a> <x:g> . # the same time
1\t<x:a> <x:b> <x:a> <x:h> .
2\t<x:a> <x:b> <x:a> <x:h> .
1\t<x:a> <x:b> <x:c> <x:g> .
"""
    found = list(read_timed(text))
    assert [element.time for element in found] == [1000, 1000, 2000, 1000]
    assert found[0].quads == (Quad(A, B, C, G), Quad(A, B, B, G), Quad(A, B, A, G))


def test_a_heartbeat_is_a_time_alone_and_parts_elements() -> None:
    line = "1\t<x:a> <x:b> <x:c> <x:g> .\n"
    found = list(read_timed(f"{line}1\n{line}2\t \n 3\t"[:-3] + "4"))
    assert [element.is_heartbeat for element in found] == [False, True, False, True, True]
    assert [element.time for element in found] == [1000, 1000, 1000, 2000, 4000]


def test_blank_nodes_are_scoped_to_their_element() -> None:
    text = "1\t_:a <x:b> _:a _:g .\n1\t<< _:a <x:b> <x:c> >> <x:b> _:b _:g .\n1\t_:a <x:b> _:a .\n"
    first, second = read_timed(text)
    a, b, g = BlankNode("0.a"), BlankNode("0.b"), BlankNode("0.g")
    assert first.quads == (Quad(a, B, a, g), Quad(QuotedTriple(a, B, C), B, b, g))
    third = f"{text.rindex('1' + chr(9))}.a"
    assert second.quads == (Quad(BlankNode(third), B, BlankNode(third)),)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_scope_is_named_after_the_byte_at_which_its_element_begins(end: str, mark: str) -> None:
    lines = [
        '1\t<x:a> <x:b> "\u00e9" .',
        "# \U0001f600",
        "2\t_:a <x:b> _:a _:g .",
        "3\t_:a <x:b> _:a .",
    ]
    text = mark + end.join(lines)
    starts = [text.encode().index(f"{number}\t".encode()) for number in (2, 3)]
    expected = [BlankNode(f"p.{start + 100}.a") for start in starts]
    for data in (text, text.encode()):
        found = list(read_timed(data, prefix="p", first_byte=100))
        assert [element.quads[0].subject for element in found[1:]] == expected


def test_a_file_cut_between_elements_says_the_same() -> None:
    line = '1\t_:a <x:b> _:a _:g .\n1\t_:b <x:b> "\u00e9" _:g .\n2\t_:a <x:b> _:a .\nbad\n'
    data = (line * 3).encode()
    whole, told = list[DataError](), list[DataError]()
    expected = list(read_timed(data, on_error=whole.append))
    ends = [at for at in range(len(data)) if data[:at].endswith((b"bad\n", b"_:g .\n2"))]
    for end in [each - data[:each].endswith(b"2") for each in ends]:
        line_number = data[:end].count(b"\n") + 1
        told.clear()
        found = list(read_timed(data[:end], on_error=told.append))
        found += read_timed(
            data[end:], on_error=told.append, first_byte=end, first_line=line_number
        )
        assert found == expected
        assert [vars(error) for error in told] == [vars(error) for error in whole]


def test_blank_nodes_of_a_stream_are_the_same_in_all_its_elements() -> None:
    text = "1\t_:a <x:b> <x:c> .\n2\t_:a <x:b> <x:c> .\n"
    assert {e.quads[0].subject for e in read_timed(text, scope=UNSCOPED)} == {BlankNode("a")}
    assert {e.quads[0].subject for e in read_timed(text, scope=Scope("s"))} == {BlankNode("s.a")}


@pytest.mark.parametrize(
    ("line", "column", "problem"),
    [
        ("12 <x:a> <x:b> <x:c> .", 1, "expected a tab after the time '12'"),
        ("x\t<x:a> <x:b> <x:c> .", 1, "expected a time in milliseconds or in ISO 8601, found 'x'"),
        ("\t<x:a> <x:b> <x:c> .", 1, "expected a time"),
        ("1000\t<x:a> <x:b> bad .", 18, "found 'bad'"),
        ("1000\t<< <x:a> <x:b> bad >> <x:b> <x:c> .", 21, "expected an object"),
        ("1000\t<x:a> <x:b> <x:c>", 23, "followed by a dot"),
        ("1000\t# nothing", 6, "found a comment"),
        ("1000\t<x:a> <x:b> <x:c> . <x:a> <x:b> <x:c> .", 26, "single triple"),
        ("1000\t<x:a> <x:b> <x:c> <x:g> <x:h> .", 30, "dot"),
        ("1000\t<x:a> <x:b> <x:c> << <x:a> <x:b> <x:c> >> .", 24, "expected a graph"),
    ],
)
def test_a_bad_line_is_told_and_the_others_are_read(line: str, column: int, problem: str) -> None:
    good = "1\t<x:a> <x:b> <x:c> <x:g> .\n"
    problems = list[DataError]()
    found = list(read_timed(f"{good}{line}\n{good}", name="s.tnq", on_error=problems.append))
    assert found == [Element(1000, (Quad(A, B, C, G), Quad(A, B, C, G)))]
    [told] = problems
    assert (told.name, told.line, told.column) == ("s.tnq", 2, column)
    assert problem in told.problem
    with pytest.raises(DataError) as raised:
        list(read_timed(f"{good}{line}\n{good}", name="s.tnq"))
    assert str(raised.value) == str(told)


def test_bad_bytes_spoil_only_their_line() -> None:
    data = b'1\t<x:a> <x:b> <x:c> .\n2\t<x:a> <x:b> "\xc3\x28" .\r\n3\t<x:a> <x:b> "\xc3\xa9" .'
    problems = list[DataError]()
    found = list(read_timed(data, on_error=problems.append))
    assert [element.time for element in found] == [1000, 3000]
    assert found[1].quads[0].object == Literal("é")
    assert str(problems[0]) == "2:16: expected UTF-8, found the byte 0xC3"


def test_a_byte_order_mark_is_passed_over() -> None:
    assert [element.time for element in read_timed("\ufeff1\n".encode())] == [1000]
    assert [element.time for element in read_timed("\ufeff1\n")] == [1000]


def test_rdf12_statements_in_their_own_mode() -> None:
    options = ReadOptions(star=StarMode.RDF12)
    text = "1\t<x:a> <x:b> <<( <x:a> <x:b> <x:c> )>> ."
    [element] = read_timed(text, options=options)
    assert element.quads == (Quad(A, B, QuotedTriple(A, B, C)),)
    with pytest.raises(DataError, match="expected an object"):
        list(read_timed(text))


def test_what_cannot_be_read_back_is_not_written() -> None:
    several = Element(1, (Quad(A, B, C), Quad(A, B, B)))
    with pytest.raises(DataError, match="one statement, or all of them in one named graph"):
        to_timed([several])
    with pytest.raises(DataError, match="one named graph"):
        to_timed([Element(1, (Quad(A, B, C, G), Quad(A, B, C, C)))])
    same = Element(1, (Quad(A, B, C, G),))
    with pytest.raises(DataError, match="read again they would be one"):
        to_timed([same, same])
    assert to_timed([same, Element(1), same]).count("\n") == 3


def test_elements_are_written() -> None:
    elements = [Element(1_500, (Quad(A, B, Literal("c\n", language="en"), G),)), Element(-1)]
    assert to_timed(elements) == '1.5\t<x:a> <x:b> "c\\n"@en <x:g> .\n-0.001\n'
