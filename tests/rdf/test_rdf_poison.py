"""Nothing in the data raises anything but DataError, and nothing ends the process."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from headrace.errors import DataError
from headrace.rdf.formats import Format
from headrace.rdf.options import Limits, ReadOptions, StarMode
from headrace.rdf.reading import read
from headrace.rdf.scopes import UNSCOPED
from headrace.rdf.statements import StarStatement
from headrace.rdf.terms import Quad
from tests.rdf.test_rdf_guard import DOCTYPES

WORDS = r"""
    << >> <<( )>> {| |} " ' ''' \ \u \uD800 \U00110000 ~ . ; , [ ] ( ) { } < > @ @en @en--ltr
    @prefix @base PREFIX BASE VERSION "1.2" _: _:a : a ^^ # - % %4 1 1.5 true <x:a> <x:b> x: :a "c"
    <!DOCTYPE &x; <r> </r> {"@context": "@id" null 1000 2024-01-01T00:00:00Z
"""
TOKENS = [*WORDS.split(), *"\t\n\r \0\ufeff\U0001f600\u2028", '"' * 3]

LINE_TOKENS = [
    *(
        "<x:a> ",
        "<x:b>",
        "<x:\\u00e9>",
        "<y>",
        "_:a",
        "_:b.",
        "_:\u00e9\u00b7",
        '"c"',
        '"\\t\\u0041"',
    ),
    *("@en", "@EN-gb", "^^", "^^<x:t>", " ", "\t", ".", " . ", "#", "'", '"', "\\", ":", "-", "\0"),
]

S = "<x:a> <x:b> "
POISON: list[tuple[str | bytes, Format]] = [
    *(
        (text, Format.N_TRIPLES)
        for text in (
            f'{S}"\\uDFFF" .',
            f'{S}"\\U00110000" .',
            f'{S}"\\x" .',
            f"{S}<\\u0020> .",
            f"{S}<x:\\u00zz> .",
            f"{S}<relative> .",
            f"{S}<x:%zz> .",
            f"{S}<x:{{}}> .",
            f'{S}"c"@ .',
            f'{S}"c"@en- .',
            f'{S}"c"^^"t" .',
            f'{S}"c"^^<t> .',
            f"{S}_: .",
            f"{S}_:-a .",
            f"{S}\0 .",
            f"{S}",
            f"{S}<x:c>",
            f'"a" {S}.',
            f"{S}<x:c> <x:d> .",
            "<x:a> _:b <x:c> .",
            f"{S}'c' .",
            f"{S}1 .",
            f"{S}:c .",
            f"{S}<x:c> . {S}<x:c> .",
            f"<< {S}<x:c> >> .",
            f"<< {S}>> {S}.",
            f"<< {S}<x:c> {S}.",
            f"<<{S}<x:c>>> <x:b> << .",
            f"{S}<< {S}<x:c> > .",
            f'<< {S}"\\uD83D" >> {S}.',
            "<<<<<<<<",
            ">>>>",
        )
    ),
    *(
        (text, Format.TURTLE)
        for text in (
            "@prefix",
            "@prefix : <x y> .",
            "PREFIX :",
            ":a :b :c .",
            f"{S}'''c",
            f'{S}"c\n" .',
            f"{S}[ .",
            f"{S}( .",
            f"{S}<< {S}",
            f"{S}{{| |}} .",
            f"{S}<x:c> {{| .",
            "<< >> .",
            "[] .",
            "()",
            "{",
            "}",
            f"{S}1.e .",
            f"{S}<x:c>",
            "a a a .",
            "@base <> .",
            f"{S}\\ .",
            "\\",
            "%",
            "_:",
            "@",
            "^^",
            "~",
        )
    ),
    *(
        (text, Format.TRIG)
        for text in (
            "<x:g> {",
            "<x:g> { <x:a> }",
            "GRAPH { }",
            "{ { } }",
            "} {",
        )
    ),
    *(
        (text, Format.TIMED_N_QUADS)
        for text in (
            f"x\t{S}<x:c> .",
            f"{'9' * 30}\t{S}<x:c> .",
            f"1.0001\t{S}<x:c> .",
            f"2024-02-30\t{S}<x:c> .",
            f"2024-01-01T25:00:00Z\t{S}<x:c> .",
            f"\t{S}<x:c> .",
            "1\t\0",
            f"1 {S}<x:c> .",
            f"NaN\t{S}<x:c> .",
        )
    ),
    *(
        (text, Format.JSON_LD)
        for text in (
            "",
            "{",
            "[",
            '"',
            "nul",
            "{]",
            '{"@context": "http://127.0.0.1:9/"}',
            '{"@id": 1}',
            '{"a":1}}',
            '{"x:a": "\\ud800"}',
            '{"@context": {"@vocab": 5}}',
            '{"x:a": {"@value": {}}}',
            '{"@context": {"a": {"@id": "@type", "@container": "@none"}}, "a": 1}',
        )
    ),
    *(
        (text, Format.RDF_XML)
        for text in ("<", "<a>", "<a></b>", "x", "<a/>", "&x;", *DOCTYPES.values())
    ),
    *(
        (data, form)
        for data in (b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf8\x88\x80\x80\x80", b"\xfe\xff\0<")
        for form in Format
    ),
]


@pytest.mark.parametrize(("data", "syntax"), POISON)
def test_poison_is_told_and_survived(data: str | bytes, syntax: Format) -> None:
    assert_only_data_errors(data, syntax)
    with pytest.raises(DataError):
        list(read(data, syntax, options=ReadOptions(rdf_xml=True)))


def assert_only_data_errors(data: str | bytes, syntax: Format) -> None:
    for star in StarMode:
        options = ReadOptions(star=star, rdf_xml=True)
        first, problems = collected(data, syntax, options)
        again, _ = collected(data, syntax, options)
        assert first == again
        for problem in problems:
            assert "\n" not in str(problem)
            assert not re.match(r"[A-Z][a-z ]", problem.problem)
        if not problems:
            assert list(read(data, syntax, options=options)) == first
        else:
            with pytest.raises(DataError):
                list(read(data, syntax, options=options))


def collected(
    data: str | bytes, syntax: Format, options: ReadOptions
) -> tuple[list[Quad], list[DataError]]:
    problems = list[DataError]()
    return list(read(data, syntax, options=options, on_error=problems.append)), problems


@given(st.text(), st.sampled_from(Format))
def test_any_text(text: str, syntax: Format) -> None:
    assert_only_data_errors(text, syntax)


@given(st.binary(), st.sampled_from(Format))
def test_any_bytes(data: bytes, syntax: Format) -> None:
    assert_only_data_errors(data, syntax)


@given(st.lists(st.sampled_from(TOKENS), max_size=30), st.sampled_from(["", " "]), st.data())
def test_any_tokens(tokens: list[str], between: str, data: st.DataObject) -> None:
    syntax = data.draw(st.sampled_from(Format))
    start = "1\t" if syntax is Format.TIMED_N_QUADS else ""
    assert_only_data_errors(start + "<x:a> <x:b> " + between.join(tokens), syntax)


@given(st.lists(st.sampled_from(LINE_TOKENS), max_size=12).map("".join))
def test_our_own_line_reader_agrees_with_the_parser(line: str) -> None:
    def read_by_us() -> Quad | None:
        try:
            return StarStatement(line, UNSCOPED, Limits()).quad(graphs=True)
        except DataError:
            return None

    plain, _ = collected(line, Format.N_QUADS, ReadOptions(star=StarMode.RDF12))
    assume(not line.strip(" \t").startswith("#"))
    assert read_by_us() == (plain[0] if plain else None)


def test_an_element_of_a_million_statements_is_refused_by_its_size() -> None:
    text = "<x:subject> <x:predicate> <x:object> .\n" * 10**6
    for syntax in (Format.TURTLE, Format.N_TRIPLES):
        with pytest.raises(DataError, match="at most 16,000,000 bytes"):
            list(read(text, syntax))
