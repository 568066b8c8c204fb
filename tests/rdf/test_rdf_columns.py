"""Timed N-Quads read as columns are what they are read line by line, errors and all."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.errors import DataError
from headrace.rdf import columns_lines
from headrace.rdf.columns import TimedColumns, read_timed_columns
from headrace.rdf.columns_lines import TERMS, distinct_terms
from headrace.rdf.columns_terms import read_times
from headrace.rdf.columns_tokens import blocks
from headrace.rdf.elements import Element
from headrace.rdf.ids import term_id
from headrace.rdf.lines import LineReader
from headrace.rdf.options import DEFAULT_OPTIONS, Limits, ReadOptions, StarMode
from headrace.rdf.scopes import Scope
from headrace.rdf.terms import Quad, canonical
from headrace.rdf.timed import read_timed
from headrace.rdf.times import microseconds

XSD = "http://www.w3.org/2001/XMLSchema#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"

# -- the oracle ----------------------------------------------------------------------------


def check(  # noqa: PLR0913 - all but the first have a default
    data: bytes,
    *,
    seed: int = 0,
    prefix: str = "",
    per_stream: bool = False,
    options: ReadOptions = DEFAULT_OPTIONS,
    first_byte: int = 0,
    first_line: int = 1,
) -> TimedColumns:
    """Read a text in both ways and compare all there is to compare."""
    told, expected_told = list[DataError](), list[DataError]()
    found = read_timed_columns(
        data,
        seed=seed,
        prefix=prefix,
        per_stream=per_stream,
        name="s.tnq",
        options=options,
        on_error=told.append,
        first_byte=first_byte,
        first_line=first_line,
    )
    elements = list(
        read_timed(
            data,
            name="s.tnq",
            scope=Scope(prefix) if per_stream else None,
            prefix=prefix,
            options=options,
            on_error=expected_told.append,
            first_byte=first_byte,
            first_line=first_line,
        )
    )
    assert [vars(error) for error in told] == [vars(error) for error in expected_told]
    assert found.elements.rows() == [(each.time, len(each.quads)) for each in elements]
    assert found.statements.rows() == list(statements(elements, seed))
    texts = {
        term_id(term, seed): canonical(term)
        for element in elements
        for quad in element.quads
        for term in (quad.graph, quad.subject, quad.predicate, quad.object)
        if term is not None
    }
    assert sorted(found.terms.rows()) == sorted(texts.items())
    assert found.statements.schema == pl.Schema(
        dict.fromkeys(("position", "time", "graph", "subject", "predicate", "object"), pl.Int64)
    )
    assert found.elements.schema == pl.Schema({"time": pl.Int64, "size": pl.Int64})
    assert found.terms.schema == pl.Schema({"id": pl.Int64, "text": pl.String})
    return found


def statements(elements: list[Element], seed: int) -> Iterator[tuple[int | None, ...]]:
    for position, element in enumerate(elements):
        for quad in element.quads:
            graph = None if quad.graph is None else term_id(quad.graph, seed)
            triple = (term_id(term, seed) for term in (quad.subject, quad.predicate, quad.object))
            yield position, element.time, graph, *triple


# -- random texts --------------------------------------------------------------------------

PLAIN_IRIS = ["<x:a>", "<http://e.org/a/b?c#d>", "<urn:x-y:1>", "<http://e.org:80/%4F>", "<x:>"]
ODD_IRIS = [
    "<x:\u00e9>",
    "<x:\\u00e9>",
    "<x:\\u0020>",
    "<a>",
    "<>",
    "<x:a b>",
    "<x:%4>",
    "<x:@a--b>",
    "<x:a#b#c>",
    "<http://[::1]/>",
    "<http://a:b/>",
    "<x:a>b",
    "<x:string>",
    "<http://e/\U0001f600>",
]
BLANKS = ["_:a", "_:b.c", "_:genid-0", "_:0", "_:a-", "_:a.", "_:-a", "_:\u00e9", "_:", "_:a_:b"]
PLAIN_LITERALS = [
    '""',
    '"a"',
    '"a b"',
    '"a <b"',
    '"a <x:b>"',
    '"a _:b"',
    '"caf\u00e9 \u2028 \U0001f600"',
    '"<< a"',
    '"a@b--c"',
    '"a . # b"',
    '"a"@en',
    '"a b"@de-at',
    f'"1.5"^^<{XSD}double>',
    f'"1"^^<{XSD}integer>',
    '"((((a"^^<x:t>',
]
ODD_LITERALS = [
    f'"a"^^<{XSD}string>',
    f'"a"^^<{RDF}langString>',
    f'"a"^^<{RDF}dirLangString>',
    '"a"^^<b>',
    '"a"^^<x:\u00e9>',
    '"a"^^<x:\\u0061>',
    '"a"^^',
    '"a" ^^<x:t>',
    '"a"@EN-gb',
    '"a"@zh-hant',
    '"a"@a',
    '"a"@en--ltr',
    '"a"@',
    '"a\\tb"',
    '"a\tb"',
    '"a\\"b"',
    '"a"b"',
    '"\\u00e9"',
    '"\\ud800"',
    '"\x01\x7f"',
    '"\x00"',
    '"a',
    "'a'",
    '"a"<x:b>',
]
QUOTED = [
    "<< <x:a> <x:b> _:a >>",
    '<< _:b <x:b> << <x:a> <x:b> "<<" >> >>',
    "<<<x:a> <x:b> <x:c>>>",
    "<< <x:a> <x:b> >>",
    "<<( <x:a> <x:b> <x:c> )>>",
    '<< <x:a> <x:b> "a"@EN >>',
]
ODD_GAPS = ["", "  ", "\t", " \t", "\t ", "\x0b", "\x00", "\x1f", "\u00a0", "\u3000"]
ODD_ENDS = ["", ". ", ".\t", ". # c", ".#", ".x", "x", "..", ". .", ".<x:g>", "<x:g>.", "\x0b."]
TIMES = ["0", "1", "1", "1", "1", "2", "-3", "1.0", "1.5", "007", "-0", "1970-01-01T00:00:00.001Z"]
ODD_TIMES = ["", " ", "x", "+1", "1e3", " 1", "1 ", "9999999999999999", "1.0001", "#1", "\u0661"]
ODD_LINES = [
    "",
    " ",
    "\t",
    "# a",
    " # b",
    "#\tc",
    "1",
    "2\t",
    " 3 ",
    "4\t# d",
    "x",
    "1 <x:a>",
    "<x:a>",
]


def mostly(usual: list[str], odd: list[str], *, out_of: int = 8) -> st.SearchStrategy[str]:
    """One of the usual, or once in a while something odd."""
    return st.integers(1, out_of).flatmap(
        lambda drawn: st.sampled_from(odd if drawn == 1 else usual)
    )


@st.composite
def lines(draw: st.DrawFn) -> str:
    if draw(st.integers(0, 5)) == 0:
        return draw(st.sampled_from(ODD_LINES))
    iris = mostly(PLAIN_IRIS, ODD_IRIS)
    nodes = iris | mostly(BLANKS[:5], [*BLANKS[5:], *QUOTED])
    literals = mostly(PLAIN_LITERALS, ODD_LITERALS, out_of=4)
    terms = [draw(nodes | literals if draw(st.integers(0, 20)) == 0 else nodes), draw(iris)]
    terms.append(draw(nodes | literals))
    if draw(st.booleans()):
        terms.append(
            draw(mostly(["<x:g>", "<x:g>", "<x:h>", "_:g"], [*ODD_IRIS, '"g"', QUOTED[0]]))
        )
    space = mostly([" "], ODD_GAPS, out_of=30)
    text = draw(mostly(TIMES, ODD_TIMES, out_of=16))
    text += draw(mostly(["\t"], ["\t ", " ", "\t\t", ""], out_of=16))
    for term in terms:
        text += term + draw(space)
    return text + draw(mostly(["."], ODD_ENDS, out_of=16))


@st.composite
def texts(draw: st.DrawFn) -> bytes:
    """Lines, some of which are damaged in one place."""
    end = st.sampled_from([b"\n", b"\n", b"\n", b"\r\n", b"\r"])
    data = b"\xef\xbb\xbf" if draw(st.integers(0, 9)) == 0 else b""
    for line in draw(st.lists(lines(), max_size=12)):
        written = line.encode()
        if draw(st.integers(0, 9)) == 0:
            at = draw(st.integers(0, len(written)))
            damage = draw(
                st.sampled_from([b"", b" ", b"\t", b"\xff", b"\xc3", b'"', b"\\", b"<", b"#"])
            )
            written = written[:at] + damage + written[at + draw(st.integers(0, 1)) :]
        data += written + draw(end)
    return data.removesuffix(b"\n") if draw(st.booleans()) else data


OPTIONS = [
    DEFAULT_OPTIONS,
    DEFAULT_OPTIONS,
    ReadOptions(star=StarMode.RDF12),
    ReadOptions(limits=Limits(size=30, literal=3, quoted=1, nested=2)),
]


@settings(max_examples=150, deadline=None)
@given(
    texts(),
    st.integers(0, 2**64 - 1),
    st.sampled_from(["", "", "f00.7"]),
    st.booleans(),
    st.sampled_from(OPTIONS),
    st.integers(1, 3),
)
def test_columns_are_what_lines_are(
    data: bytes, seed: int, prefix: str, per_stream: bool, options: ReadOptions, first_line: int
) -> None:
    check(
        data,
        seed=seed,
        prefix=prefix,
        per_stream=per_stream,
        options=options,
        first_byte=70 * (first_line - 1),
        first_line=first_line,
    )


@settings(max_examples=30, deadline=None)
@given(texts())
def test_the_first_bad_line_is_raised_where_nobody_is_told(data: bytes) -> None:
    told = list[DataError]()
    read_timed_columns(data, name="s", on_error=told.append)
    if told:
        with pytest.raises(DataError) as raised:
            read_timed_columns(data, name="s")
        assert str(raised.value) == str(told[0])
    else:
        read_timed_columns(data, name="s")


@pytest.mark.parametrize("size", [500, 3000])
def test_blocks_do_not_show(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(columns_lines, "blocks", partial(blocks, size=size))
    check("\n".join(EVERY_LINE).encode())
    check("\r\n".join(EVERY_LINE).encode(), prefix="f", per_stream=True, seed=7)


EVERY_TOKEN = [*PLAIN_IRIS, *ODD_IRIS, *BLANKS, *PLAIN_LITERALS, *ODD_LITERALS, *QUOTED]
GAPS = [
    "1|<x:a> <x:b> <x:c> .",
    "1\t<x:a>|<x:b> <x:c> <x:g> .",
    "1\t<x:a> <x:b>|<x:c> <x:g> .",
    "1\t<x:a> <x:b> <x:c>|<x:g> .",
    "1\t<x:a> <x:b> <x:c>|.",
    '1\t<x:a> <x:b> "a b"|.',
]
EVERY_LINE = [
    *ODD_LINES,
    *(f"1\t{token} <x:b> <x:c> ." for token in EVERY_TOKEN),
    *(f"1\t<x:a> {token} <x:c> ." for token in EVERY_TOKEN),
    *(f"1\t<x:a> <x:b> {token} ." for token in EVERY_TOKEN),
    *(f"1\t<x:a> <x:b> {token} <x:g> ." for token in EVERY_TOKEN),
    *(f"1\t<x:a> <x:b> <x:c> {token} ." for token in EVERY_TOKEN),
    *(f'1\t{token} <x:b> "<<" .' for token in EVERY_TOKEN),
    *(f"1\t<x:@a--> <x:b> {token} ." for token in EVERY_TOKEN),
    *(f"{time}\t<x:a> <x:b> <x:c> ." for time in (*TIMES, *ODD_TIMES)),
    *TIMES,
    *ODD_TIMES,
    *(line.replace("|", gap) for line in GAPS for gap in ODD_GAPS),
    *(f'1\t<x:a> <x:b> "a b" {end}' for end in ODD_ENDS),
]


@pytest.mark.parametrize("options", OPTIONS[1:], ids=["usual", "RDF 1.2", "small limits"])
def test_every_token_at_every_place(options: ReadOptions) -> None:
    check("\n".join(EVERY_LINE).encode(), options=options, prefix="f")


def test_every_character_in_strings_and_iris() -> None:
    characters = [chr(code) for code in (*range(0x180), 0x2028, 0xFEFF, 0xFFFE, 0x1F600, 0xE0001)]
    forms = ('<x:a> <x:b> "a{}b"', "<x:a{}b> <x:b> <x:c>", "<x:{}> <x:b> <x:c>", "<{}> <x:b> <x:c>")
    more = ("<x{}:a> <x:b> <x:c>", "<http://a{}b/> <x:b> <x:c>", "_:{} <x:b> _:a{} _:a{}b")
    check("".join(f"1\t{f.format(c, c, c)} .\n" for f in forms + more for c in characters).encode())


# -- pointed examples ----------------------------------------------------------------------


def read_lines_by(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the reader of lines is asked from now on."""
    asked, statement = list[str](), LineReader.statement

    def asked_for(self: LineReader, line: str) -> Quad | None:
        asked.append(line)
        return statement(self, line)

    monkeypatch.setattr(LineReader, "statement", asked_for)
    return asked


def test_plain_lines_are_not_read_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = [
        *(f"1\t{iri} {iri} {iri} ." for iri in PLAIN_IRIS),
        *(f"1\t{label} <x:b> {label} {label} ." for label in BLANKS[:5]),
        *(f"1970-01-01T00:00:00Z\t<x:a> <x:b> {text} <x:g> ." for text in PLAIN_LITERALS),
        "2.5",
        "",
        "# a comment",
    ]
    asked = read_lines_by(monkeypatch)
    found = read_timed_columns("\n".join(plain).encode())
    assert found.statements.height == len(plain) - 3
    assert not asked


def test_an_odd_token_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = read_lines_by(monkeypatch)
    found = read_timed_columns(b'1\t<x:a> <x:b> "a\\tb"@EN-gb .\n' * 5)
    assert found.terms["text"].sort().to_list() == ['"a\\tb"@en-gb', "<x:a>", "<x:b>"]
    assert found.statements.height == 5
    assert asked == ['<x:s> <x:p> "a\\tb"@EN-gb .']


def test_an_element_goes_on_in_the_next_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns_lines, "blocks", partial(blocks, size=1))
    found = check(b"1\t_:a <x:b> _:a <x:g> .\n# a comment\n" * 3 + b"bad\n2")
    assert found.elements.rows() == [(1000, 3), (2000, 0)]


def test_a_line_for_another_reader_is_read_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = read_lines_by(monkeypatch)
    read_timed_columns('1\t<x:\u00e9> <x:b> "<<" .\n2\t<x:a> <x:b> "<<" .'.encode())
    assert asked == ["<x:\u00e9> <x:p> <x:o> .", '<x:\u00e9> <x:b> "<<" .']


def test_nothing_says_nothing() -> None:
    for data in (b"", b"\n", b"\xef\xbb\xbf", b"\r\n\r\n", b"# a", b"x"):
        found = check(data)
        assert (found.statements.height, found.elements.height, found.terms.height) == (0, 0, 0)


def test_elements_are_lines_of_one_time_and_graph() -> None:
    line = "1\t<x:a> <x:b> _:c <x:g> .\n"
    text = f"{line}bad\n# comment\n\n{line}1\n{line}1\t<x:a> <x:b> _:c .\n" + 2 * line
    found = check(text.encode())
    assert found.elements["size"].to_list() == [2, 0, 1, 1, 2]
    assert found.statements["position"].to_list() == [0, 0, 2, 3, 4, 4]
    first = len(line) + len("bad\n# comment\n\n") + len(line)
    starts = [0, first + 2, first + 2 + len(line), first + 2 + 2 * len(line) - len(" <x:g>")]
    labels = sorted(f"_:{start}.c" for start in starts)
    assert (
        found.terms.filter(pl.col("text").str.starts_with("_"))["text"].sort().to_list() == labels
    )


def test_blank_nodes_are_told_apart_by_prefix_and_byte() -> None:
    data = b"1\t_:a <x:b> << _:a <x:b> << _:b <x:b> <x:c> >> >> _:g .\n2\t_:a <x:b> _:a .\n"
    for prefix in ("", "f00.7"):
        for per_stream in (False, True):
            check(data, prefix=prefix, per_stream=per_stream, first_byte=5)
    found = read_timed_columns(data, prefix="f", first_byte=5)
    assert "<< _:f.5.a <x:b> << _:f.5.b <x:b> <x:c> >> >>" in found.terms["text"].to_list()
    assert f"_:f.{5 + data.index(b'2')}.a" in found.terms["text"].to_list()


def test_limits_hold_to_the_character() -> None:
    lines = [
        '1\t<x:a> <x:b> "abcd"@en .',
        '1\t<x:a> <x:b> "abcde" .',
        '1\t<x:a> <x:b> "\u00e9\u00e9\u00e9\u00e9" .',
        '1\t<x:a> <x:b> "abcd"^^<x:> .',
        '1\t<x:a> <x:b> "abcd"^^<x:a> .',
        "# a comment that is too long",
        "<< << <x:a> <x:b> <x:c> >> <x:b> <x:c> >> <x:b> <x:c> .",
    ]
    limits = Limits(size=len(lines[3]), literal=4, quoted=1)
    found = check("\n".join(lines).encode(), options=ReadOptions(limits=limits))
    assert found.statements.height == 3


def test_bad_bytes_spoil_only_their_line() -> None:
    good = '1\t<x:\u00e9> <x:b> "\u00e9" .\n'.encode()
    bad = b'2\t<x:a> <x:b> "\xc3" .\n# \xff\n3\t<x:a> <x:b> "\xed\xa0\x80" .\n\xc3\n'
    assert check(good + bad + good).statements.height == 2


def test_times_at_the_ends_of_time() -> None:
    times = ["9223372036854775", "9223372036854775.807", "-9223372036854775.807"]
    beyond = ["9223372036854776", "-9223372036854775.808", "99999999999999999"]
    lines = [f"{time}\t<x:a> <x:b> <x:c> ." for time in times + beyond]
    assert check("\n".join([*lines, *times, *beyond]).encode()).elements.height == 2 * len(times)


def test_two_terms_with_one_id_are_a_loud_error() -> None:
    terms = pl.DataFrame({"id": [1, 2, 1], "text": ["<x:a>", "<x:b>", "<x:a>"]}, schema=TERMS)
    assert sorted(distinct_terms(terms).rows()) == [(1, "<x:a>"), (2, "<x:b>")]
    other = pl.DataFrame({"id": [1], "text": ["<x:c>"]}, schema=TERMS)
    with pytest.raises(DataError, match="<x:a> and <x:c> have the same id"):
        distinct_terms(pl.concat([terms, other]))


@given(
    st.lists(
        st.one_of(
            st.datetimes().map(lambda each: each.isoformat() + "Z"),
            st.datetimes().map(lambda each: each.isoformat()),
            st.from_regex(
                r"[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-6][0-9]:[0-6][0-9](\.[0-9]{1,7})?Z?",
                fullmatch=True,
            ).filter(str.isascii),
            st.sampled_from([*TIMES, *ODD_TIMES, "0000-01-01T00:00:00Z", "1970-01-01T24:00:00Z"]),
        ),
        unique=True,
    )
)
def test_columns_of_times_are_what_each_is(tokens: list[str]) -> None:
    def one(token: str) -> int | None:
        try:
            return microseconds(token)
        except ValueError:
            return None

    found = read_times(pl.Series(tokens, dtype=pl.String))
    assert found.to_list() == [one(token) for token in tokens]
