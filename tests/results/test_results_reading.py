"""Answers that are not what they should be, and ones that are unusual but right."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import DataError, InternalError, SettingError
from headrace.rdf.scopes import Scope
from headrace.rdf.terms import BlankNode, Iri, Literal, QuotedTriple
from headrace.rdf.vocabulary import XSD_BOOLEAN, XSD_DECIMAL, XSD_DOUBLE, XSD_INTEGER
from headrace.results.formats import ResultFormat, format_named, format_of_media_type
from headrace.results.reading import read_result
from headrace.results.table import ResultLimits, Table

JSON, XML, CSV, TSV = ResultFormat.JSON, ResultFormat.XML, ResultFormat.CSV, ResultFormat.TSV
ROOT = '<sparql xmlns="http://www.w3.org/2005/sparql-results#">'


def in_json(term: Any, names: Any = ("x",)) -> str:
    return json.dumps({"head": {"vars": list(names)}, "results": {"bindings": [{"x": term}]}})


def in_xml(term: str) -> str:
    row = f'<result><binding name="x">{term}</binding></result>'
    return f'{ROOT}<head><variable name="x"/></head><results>{row}</results></sparql>'


def quoted_json(levels: int) -> Any:
    term: Any = {"type": "uri", "value": "x:o"}
    iri = {"type": "uri", "value": "x:s"}
    for _ in range(levels):
        value = {"subject": iri, "predicate": iri, "object": term}
        term = {"type": "triple", "value": value}
    return term


def quoted_xml(levels: int) -> str:
    iri = "<uri>x:s</uri>"
    start = f"<triple><subject>{iri}</subject><predicate>{iri}</predicate><object>"
    return start * levels + iri + "</object></triple>" * levels


BAD_JSON = {
    "": "expected JSON",
    "nonsense": "expected JSON",
    '{"head": {"vars": []}, "results": {"bindings": [': "expected JSON",
    "[]": "expected an object of JSON for an answer, found '[]'",
    "{}": "expected 'results' or 'boolean' in the answer, found neither",
    '{"boolean": "true"}': "expected true or false as the answer, found 'true'",
    '{"results": {"bindings": []}}': "expected 'head' in the answer",
    '{"head": 1, "results": {"bindings": []}}': "object of JSON for 'head'",
    '{"head": {}, "results": {"bindings": []}}': "expected 'vars' in 'head'",
    '{"head": {"vars": "x"}, "results": {"bindings": []}}': "array of JSON for 'vars'",
    '{"head": {"vars": [1]}, "results": {"bindings": []}}': "string of JSON for a variable",
    '{"head": {"vars": [""]}, "results": {"bindings": []}}': "expected the name of a variable",
    '{"head": {"vars": ["x", "x"]}, "results": {"bindings": []}}': "found 'x' twice",
    '{"head": {"vars": ["x"]}, "results": {}}': "expected 'bindings' in 'results'",
    '{"head": {"vars": ["x"]}, "results": {"bindings": [[]]}}': "object of JSON for a row",
    '{"head": {"vars": ["x"]}, "results": {"bindings": [{"y": {}}]}}': "variables of the head",
    in_json(None): "object of JSON for a term, found 'None'",
    in_json({"type": "uri"}): "expected 'value' in a term",
    in_json({"value": "x"}): "expected a term of type",
    in_json({"type": "url", "value": "x"}): "expected a term of type",
    in_json({"type": ["uri"], "value": "x"}): "expected a term of type",
    in_json({"type": "uri", "value": 1}): "string of JSON for an IRI, found '1'",
    in_json({"type": "uri", "value": "a b"}): "expected an IRI, found 'a b'",
    in_json({"type": "uri", "value": "x:a> <x:b"}): "expected an IRI",
    in_json({"type": "uri", "value": "x:\ud800"}): "expected a character, found the half of one",
    in_json({"type": "literal", "value": "\udfff"}): "expected a character, found the half of one",
    in_json({"type": "literal", "value": {}}): "string of JSON for the text of a literal",
    in_json({"type": "literal", "value": "", "datatype": 5}): "string of JSON for a datatype",
    in_json({"type": "literal", "value": "", "datatype": "a b"}): "expected an IRI",
    in_json({"type": "literal", "value": "", "xml:lang": "e n"}): "expected a language",
    in_json({"type": "literal", "value": "", "xml:lang": ""}): "expected a language",
    in_json({"type": "literal", "value": "", "xml:lang": "en", "datatype": "x:d"}): "no datatype",
    in_json({"type": "literal", "value": "", "its:dir": "rtl", "xml:lang": "en"}): "base direction",
    in_json({"type": "triple", "value": 1}): "object of JSON for a triple",
    in_json({"type": "triple", "value": {}}): "expected 'subject' in a triple",
    in_json(quoted_json(17)): "at most 16 levels of triples within triples",
    in_json(quoted_json(400)): "levels of JSON, found more",
    "[" * 100_000: "levels of JSON, found more",
    '{"a":' * 100_000: "levels of JSON, found more",
    '{"boolean": ' + "1" * 5_000 + "}": "expected JSON: Exceeds the limit",
}
BAD_XML = {
    "": "expected XML: no element found",
    "nonsense": "expected XML: syntax error",
    "<html></html>": "expected 'sparql' of http",
    '<sparql xmlns="x"></sparql>': "expected 'sparql' of http",
    ROOT + "<head/>": "expected XML: no element found",
    ROOT + "<head/></sparql>": "found neither",
    ROOT + "<boolean>maybe</boolean></sparql>": "expected true or false as the answer",
    ROOT + "<results/><boolean>true</boolean></sparql>": "found both",
    ROOT + "<rows/></sparql>": "expected no 'sparql/rows' in the answer",
    ROOT + "<head><variable/></head><results/></sparql>": "expected 'name' on 'variable'",
    ROOT + "<results><result><b/></result></results></sparql>": "expected 'binding' in a row",
    ROOT + "<results><result><binding/></result></results></sparql>": "expected 'name'",
    ROOT + '<results><result><binding name="y"/></result></results></sparql>': "of the head",
    in_xml(""): "expected one term in 'binding', found 0",
    in_xml("<uri>x:a</uri><uri>x:b</uri>"): "expected one term in 'binding', found 2",
    in_xml("<uri>a b</uri>"): "expected an IRI, found 'a b'",
    in_xml("<uri>a<b/></uri>"): "expected only text in 'uri'",
    in_xml("<unbound/>"): "expected 'uri', 'bnode', 'literal' or 'triple' as a term",
    in_xml('<literal xml:lang="e n">a</literal>'): "expected a language",
    in_xml("<triple/>"): "expected subject, predicate and object in a triple",
    in_xml(quoted_xml(17)): "at most 16 levels of triples within triples",
    in_xml("<literal>&lol;</literal>"): "expected XML: undefined entity",
    ROOT + "<a>" * 200_000: "levels of XML, found more",
    '<?xml version="1.0" encoding="utf-16"?>' + ROOT + "</sparql>": "expected XML in UTF-8",
    '<!DOCTYPE a [<!ENTITY b "c">]>' + ROOT + "</sparql>": "DOCTYPE or an ENTITY is refused",
    '<!doctype a SYSTEM "file:///etc/passwd">' + ROOT + "</sparql>": "is refused",
}
BAD_TSV = {
    "x\n": "expected a variable such as '?x', found 'x'",
    "?x\t?x\n": "found 'x' twice",
    "?x\t?y\n<x:a>\n": "expected 2 cells, found 1",
    "?x\n<x:a> <x:b>\n": "expected one term in a cell, found '<x:b>' after it",
    "?x\n<x:a\n": "expected a term, found '<x:a'",
    "?x\nx:a\n": "expected a term, found 'x:a'",
    "?x\n>>\n": "expected a term, found '>>'",
    '?x\n"a\n': "expected a term",
    '?x\n"\\q"\n': "expected a term",
    '?x\n"\\uD800"\n': "the half of one",
    '?x\n"\\UFFFFFFFF"\n': "expected a character, found",
    '?x\n"a"@1--\n': "expected a language, found '1--'",
    "?x\n<< <x:s> <x:p> <x:o>\n": "expected a term, found ''",
    "?x\n<< <x:s> <x:p> <x:o> <x:q> >>\n": "expected '>>' after the object",
    "?x\n<< 1 <x:p> <x:o> >>\n": "expected the subject of a triple",
    '?x\n<< <x:s> "p" <x:o> >>\n': "expected an IRI as predicate",
    "?x\n" + "<< <x:s> <x:p> " * 20: "at most 16 levels",
}
BAD_CSV = {
    "x,x\r\n": "found 'x' twice",
    "x,y\r\na\r\n": "expected 2 cells in row 1, found 1",
    "x\r\na,b\r\n": "expected 1 cells in row 1, found 2",
    'x\r\n"a\r\n': "expected a cell of CSV",
    'x\r\n"a"b\r\n': "expected a cell of CSV",
    'x\r\na"b\r\n': "expected a cell of CSV",
}
BAD = [
    (syntax, text, problem)
    for syntax, cases in ((JSON, BAD_JSON), (XML, BAD_XML), (TSV, BAD_TSV), (CSV, BAD_CSV))
    for text, problem in cases.items()
]


@pytest.mark.parametrize(
    ("syntax", "text", "problem"), BAD, ids=[f"{each[0]}-{n}" for n, each in enumerate(BAD)]
)
def test_malformed_answers_say_what_is_wrong(syntax: ResultFormat, text: str, problem: str) -> None:
    with pytest.raises(DataError) as caught:
        read_result(text, syntax, name="answer")
    assert problem in str(caught.value)
    assert str(caught.value).startswith("answer")
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("syntax", [JSON, XML, CSV, TSV])
def test_bytes_that_are_no_utf8_are_refused(syntax: ResultFormat) -> None:
    with pytest.raises(DataError, match="expected UTF-8, found the byte 0xFF"):
        read_result(b"\xff", syntax)


@given(st.text(max_size=60), st.sampled_from([JSON, XML, CSV, TSV]))
def test_any_text_is_an_answer_or_a_data_error(text: str, syntax: ResultFormat) -> None:
    with suppress(DataError):
        assert isinstance(read_result(text, syntax), Table | bool)


small = ResultLimits(size=500, rows=2, columns=2, literal=20)


@pytest.mark.parametrize(
    ("syntax", "text", "problem"),
    [
        (JSON, " " * 501, "at most 500 bytes"),
        (CSV, "x\r\n" + "a\r\n" * 3, "at most 2 rows"),
        (TSV, "?x\n" + "1\n" * 3, "at most 2 rows"),
        (XML, ROOT + "<results>" + "<result/>" * 3 + "</results></sparql>", "at most 2 rows"),
        (JSON, '{"head":{"vars":[]},"results":{"bindings":[{},{},{}]}}', "at most 2 rows"),
        (TSV, "?x\t?y\t?z\n", "at most 2 variables"),
        (CSV, "x\r\n" + "a" * 21, "at most 20 characters"),
        (XML, in_xml("<uri>x:" + "a" * 20 + "</uri>"), "at most 20 characters"),
    ],
)
def test_answers_that_are_too_large_are_refused(
    syntax: ResultFormat, text: str, problem: str
) -> None:
    with pytest.raises(DataError, match=problem):
        read_result(text, syntax, limits=small)


def only(text: str, syntax: ResultFormat, scope: str = "") -> object:
    table = read_result(text, syntax, scope=Scope(scope))
    assert isinstance(table, Table)
    [[term]] = table.rows
    return term


def test_old_and_foreign_ways_to_say_the_same_are_read() -> None:
    iri = {"type": "uri", "value": "x:s"}
    typed = {"type": "typed-literal", "value": "1", "datatype": XSD_INTEGER}
    assert only(in_json(typed), JSON) == Literal("1", XSD_INTEGER)
    rdf4j = {"type": "triple", "value": {"s": iri, "p": iri, "o": typed}}
    assert only(in_json(rdf4j), JSON) == QuotedTriple(
        Iri("x:s"), Iri("x:s"), Literal("1", XSD_INTEGER)
    )
    assert only("\ufeff" + in_json(iri), JSON) == Iri("x:s")
    assert only(in_xml("\n <uri> x:s\n</uri> "), XML) == Iri("x:s")
    assert only(in_xml("<literal> <![CDATA[<&]]>\n</literal>"), XML) == Literal(" <&\n")
    assert only("$x\r\n'it''\r\n".replace("''", "'"), TSV) == Literal("it")
    assert only('x\n"a ""b"""', CSV) == Literal('a "b"')


@pytest.mark.parametrize(
    ("cell", "datatype"),
    [
        ("1", XSD_INTEGER),
        ("-1", XSD_INTEGER),
        ("1.5", XSD_DECIMAL),
        (".5", XSD_DECIMAL),
        ("1e9", XSD_DOUBLE),
        ("1.E-9", XSD_DOUBLE),
        ("true", XSD_BOOLEAN),
    ],
)
def test_tsv_has_the_numbers_of_turtle(cell: str, datatype: str) -> None:
    assert only(f"?x\n{cell}\n", TSV) == Literal(cell, datatype)


def test_blank_nodes_live_in_their_scope() -> None:
    text = in_json({"type": "bnode", "value": "b0"})
    assert only(text, JSON, "a") == BlankNode("a.b0")
    assert only(text, JSON, "a") != only(text, JSON, "b")


def test_labels_that_no_format_could_write_are_encoded_apart() -> None:
    labels = ["nodeID://b1", "nodeID://b2", "a b", "b.", "hex-61", "a", ""]
    nodes = {only(in_json({"type": "bnode", "value": label}), JSON, "s") for label in labels}
    assert len(nodes) == len(labels)
    assert all(str(node).isascii() and " " not in str(node) for node in nodes)


def test_a_table_is_rectangular() -> None:
    with pytest.raises(InternalError, match="two columns"):
        Table(("x", "x"))
    with pytest.raises(InternalError, match="a row of 2 terms in a table of 1"):
        Table(("x",), ((None, None),))


def test_formats_are_known_by_name_and_media_type() -> None:
    assert [format_named(each.value) for each in ResultFormat] == list(ResultFormat)
    assert [format_of_media_type(each.media_type) for each in ResultFormat] == list(ResultFormat)
    assert format_of_media_type("Application/JSON; charset=utf-8") is JSON
    assert format_of_media_type("text/html") is None
    assert {each for each in ResultFormat if each.is_graph} == {"turtle", "ntriples", "nquads"}
    with pytest.raises(SettingError, match="did you mean 'turtle'"):
        format_named("turtel")
