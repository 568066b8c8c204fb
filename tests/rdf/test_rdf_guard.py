"""Bombs are refused before a parser sees them, and nothing harmless is."""

from __future__ import annotations

import time
from itertools import product

import pytest

from headrace.errors import DataError
from headrace.rdf.formats import Format
from headrace.rdf.guard import check_document
from headrace.rdf.options import FILE_LIMITS, Limits, ReadOptions, StarMode
from headrace.rdf.reading import read

PREFIX = "PREFIX : <http://e/>\n:a :b "
SIZES = (129, 10**4, 10**5, 10**6)
TURTLE_LEVELS = ("<< ", "<<( ", "<< :a :b ", "<<( :a :b ", "[ :b ", "[", "( ", ":c {| :p ", "[(")
LINE_LEVELS = ("<< ", "<<( ", "<< <x:a> <x:b> ", "<<( <x:a> <x:b> ")
JSON_LEVELS = ("[", '{"http://e/a":', '[{"@list":')
XML_LEVELS = ("<a>", "<x:a xmlns:x='http://e/'>", '<a b=">">')

DOCTYPES = {
    "billion laughs": '<!DOCTYPE r [<!ENTITY a "lol"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>',
    "quadratic blow-up": f'<!DOCTYPE r [<!ENTITY a "{"a" * 50_000}">]>',
    "file": '<!DOCTYPE r [<!ENTITY a SYSTEM "file:///etc/passwd">]>',
    "http": '<!DOCTYPE r [<!ENTITY a SYSTEM "http://127.0.0.1:9/">]>',
    "external DTD": '<!DOCTYPE r SYSTEM "http://127.0.0.1:9/x.dtd">',
    "parameter entity": '<!DOCTYPE r [<!ENTITY % p SYSTEM "http://127.0.0.1:9/"> %p;]>',
    "lower case": "<!doctype r []>",
    "white space": "<! DOCTYPE r []>",
}
RDF_XML = (
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/">'
    '<rdf:Description rdf:about="http://e/s"><e:p>&lt;&amp;<!-- <a> --></e:p></rdf:Description>'
    "</rdf:RDF>"
)
WITH_XML = ReadOptions(rdf_xml=True)


def bombs() -> list[tuple[str, Format]]:
    """Every construct that has levels, at every size of RELIABILITY.md S1."""
    found = list[tuple[str, Format]]()
    for size in SIZES:
        found += [
            (PREFIX + level * size, syntax)
            for level, syntax in product(TURTLE_LEVELS, (Format.TURTLE, Format.TRIG))
        ]
        lines = (Format.N_TRIPLES, Format.N_QUADS)
        found += [("<x:a> <x:b> " + level * size, s) for level, s in product(LINE_LEVELS, lines)]
        found += [("1\t<x:a> <x:b> " + level * size, Format.TIMED_N_QUADS) for level in LINE_LEVELS]
        found += [(level * size, Format.JSON_LD) for level in JSON_LEVELS]
        found += [(level * size, Format.RDF_XML) for level in XML_LEVELS]
    return [(text[: 2 * 10**6], syntax) for text, syntax in found]


@pytest.mark.parametrize("star", StarMode)
def test_every_depth_bomb_is_refused(star: StarMode) -> None:
    for text, syntax in bombs():
        problems = list[DataError]()
        options = ReadOptions(star=star, rdf_xml=True)
        assert not list(read(text, syntax, options=options, on_error=problems.append))
        assert problems, (syntax, text[:80])


def slowest_refusals() -> list[tuple[float, str]]:
    """How long each bomb takes, the slowest first; run this file to see."""
    taken = list[tuple[float, str]]()
    for text, syntax in bombs():
        start = time.perf_counter()
        list(read(text, syntax, options=WITH_XML, on_error=lambda _: None))
        taken.append((time.perf_counter() - start, f"{syntax.value} {len(text)} {text[:40]!r}"))
    return sorted(taken, reverse=True)


@pytest.mark.parametrize(
    ("text", "syntax", "problem", "line", "column"),
    [
        (PREFIX + "<<" * 17, Format.TURTLE, "at most 16 levels of triples", 2, 39),
        (PREFIX + "[ :b " * 65, Format.TRIG, "at most 64 levels of blank nodes", 2, 327),
        ("{" + '"a":[' * 65, Format.JSON_LD, "at most 64 levels of JSON", 1, 321),
        ("<a>\n" * 65, Format.RDF_XML, "at most 64 levels of XML", 65, 1),
        ("<a:a> <a:b> " + "<<" * 17, Format.N_TRIPLES, "at most 16 levels", 1, 45),
    ],
)
def test_a_refusal_says_where(
    text: str, syntax: Format, problem: str, line: int, column: int
) -> None:
    with pytest.raises(DataError, match=problem) as raised:
        list(read(text, syntax, options=WITH_XML))
    assert (raised.value.line, raised.value.column) == (line, column)


def nested(open_: str, close: str, depth: int) -> str:
    return f"{PREFIX}{open_ * depth} 1 {close * depth} ."


def test_what_is_as_deep_as_allowed_is_read() -> None:
    assert list(read(nested("[ :p ", "]", 64), Format.TURTLE))
    assert list(read(nested("( ", ")", 64), Format.TURTLE))
    [quad] = read(nested("<< :s :p ", " >>", 16), Format.TURTLE)
    assert str(quad.object).count("<<") == 16
    assert list(read(quad_line := f"<x:s> <x:p> {quad.object} .", Format.N_TRIPLES)), quad_line


@pytest.mark.parametrize("levels", ["<<", "[", "(", "{|"])
def test_brackets_within_strings_iris_and_comments_do_not_count(levels: str) -> None:
    many = levels * 1000
    text = f'{PREFIX} "{many}" , \'{many}\' , \'\'\'\n{many}\'\'\' , """\\"{many}""" . # {many}\n'
    assert len(list(read(text, Format.TURTLE))) == 4
    line = f'<x:a> <x:b> "{many}" . # {many}'
    for star in StarMode:
        assert list(read(line, Format.N_TRIPLES, options=ReadOptions(star=star)))
    assert list(read(f'{{"http://e/a": "{many}{{[\\""}}', Format.JSON_LD))


def test_brackets_that_are_closed_do_not_count() -> None:
    text = PREFIX + ", ".join(["[ :p (1) ]", "<< :a :b [] >>", "[]"] * 500) + " ."
    assert len(list(read(text, Format.TURTLE))) == 500 * (1 + 1 + 2 + 1 + 1)


def test_a_string_that_is_not_closed_hides_nothing() -> None:
    text = f'{PREFIX} "x\n {"<<( :a :b " * 20_000}'
    with pytest.raises(DataError, match="is not closed, and what follows it") as raised:
        check_document(text, Format.TURTLE, FILE_LIMITS)
    assert (raised.value.line, raised.value.column) == (2, 8)


def test_what_follows_an_escape_in_a_name_is_looked_at() -> None:
    with pytest.raises(DataError, match="16 levels"):
        check_document(f"{PREFIX} :c\\' , {'<<( :a :b ' * 20_000}", Format.TURTLE, FILE_LIMITS)


@pytest.mark.parametrize("kind", DOCTYPES)
def test_xml_with_entities_is_refused(kind: str) -> None:
    text = f'<?xml version="1.0"?>\n{DOCTYPES[kind]}<r>&b;</r>'
    with pytest.raises(DataError, match="DOCTYPE") as raised:
        list(read(text, Format.RDF_XML, options=WITH_XML))
    assert raised.value.line == 2


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32", "cp037"])
def test_entities_cannot_hide_in_another_encoding(encoding: str) -> None:
    text = f'<?xml version="1.0" encoding="{encoding}"?>{DOCTYPES["file"]}<r>&a;</r>'
    with pytest.raises(DataError):
        list(read(text.encode(encoding), Format.RDF_XML, options=WITH_XML))
    with pytest.raises(DataError, match="expected RDF/XML in UTF-8"):
        list(read(text, Format.RDF_XML, options=WITH_XML))


def test_rdf_xml_is_off_unless_switched_on() -> None:
    with pytest.raises(DataError, match="switched on"):
        list(read(RDF_XML, Format.RDF_XML))
    [quad] = read(RDF_XML, Format.RDF_XML, options=WITH_XML)
    assert str(quad.object) == '"<&"'


@pytest.mark.parametrize("text", ["<r><", "<r><!-- x", "<r><![CDATA[ x", "<r><? x", "<r a='x>"])
def test_xml_that_is_cut_off_is_refused(text: str) -> None:
    with pytest.raises(DataError):
        list(read(text, Format.RDF_XML, options=WITH_XML))


def test_xinclude_is_only_a_statement() -> None:
    text = RDF_XML.replace(
        "</rdf:RDF>",
        '<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="file:///etc/passwd"/></rdf:RDF>',
    )
    with pytest.raises(DataError):
        list(read(text, Format.RDF_XML, options=WITH_XML))


@pytest.mark.parametrize(
    "context", ['"http://127.0.0.1:9/c"', '["http://127.0.0.1:9/c"]', '{"@import": "http://e/c"}']
)
def test_contexts_are_never_fetched(context: str) -> None:
    with pytest.raises(DataError, match="copy it into the document"):
        list(read(f'{{"@context": {context}, "a": 1}}', Format.JSON_LD))


def test_large_data_are_refused() -> None:
    small = ReadOptions(limits=Limits(size=100, literal=10))
    text = "<x:a> <x:b> <x:c> .\n" * 6
    for syntax in (Format.N_TRIPLES, Format.TURTLE):
        with pytest.raises(DataError, match="at most 100 bytes, found 120"):
            list(read(text, syntax, options=small))
    timed = "1\t<x:a> <x:b> <x:c> .\n" * 6
    assert len(list(read(timed, Format.TIMED_N_QUADS, options=small))) == 6
    with pytest.raises(DataError, match="at most 100 bytes"):
        list(read(f"1\t<x:a> <x:b> <x:{'c' * 100}> .", Format.TIMED_N_QUADS, options=small))


@pytest.mark.parametrize("syntax", [Format.N_TRIPLES, Format.TURTLE, Format.N_QUADS])
def test_long_literals_are_refused_and_the_rest_is_read(syntax: Format) -> None:
    options = ReadOptions(limits=Limits(literal=10))
    problems = list[DataError]()
    text = (
        '<x:a> <x:b> "0123456789" .\n<x:a> <x:b> "0123456789a" .\n'
        '<< <x:a> <x:b> "0123456789a" >> <x:b> <x:c> .\n<x:a> <x:b> "c" .\n'
    )
    found = list(read(text, syntax, options=options, on_error=problems.append))
    assert len(found) == 2
    assert len(problems) == 2
    assert all("at most 10 characters in a literal" in str(problem) for problem in problems)


if __name__ == "__main__":
    for seconds, what in slowest_refusals()[:10]:
        print(f"{seconds * 1000:7.1f} ms  {what}")  # noqa: T201  # this is what it is run for
