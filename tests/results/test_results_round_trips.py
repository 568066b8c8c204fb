from __future__ import annotations

import pyoxigraph as ox
import pytest
from hypothesis import given

from headrace.errors import DataError, SettingError
from headrace.rdf.formats import Format
from headrace.rdf.reading import read
from headrace.rdf.terms import BlankNode, Iri, Literal, Quad, QuotedTriple, Term
from headrace.rdf.vocabulary import RDF_TYPE, XSD_BOOLEAN, XSD_INTEGER
from headrace.results.csv_format import flattened
from headrace.results.formats import ResultFormat
from headrace.results.json_format import term_from_json, term_to_json
from headrace.results.reading import read_result
from headrace.results.table import Table
from headrace.results.writing import graph_text, result_text
from tests.results.values import tables, xml_texts

ROWS = [ResultFormat.JSON, ResultFormat.XML, ResultFormat.CSV, ResultFormat.TSV]


@given(tables())
def test_json_keeps_everything(table: Table) -> None:
    text = result_text(table, ResultFormat.JSON)
    assert read_result(text, ResultFormat.JSON) == table
    assert read_result(text.encode(), ResultFormat.JSON) == table


@given(tables(xml_texts))
def test_xml_keeps_everything_that_xml_can_write(table: Table) -> None:
    assert read_result(result_text(table, ResultFormat.XML), ResultFormat.XML) == table


@given(tables())
def test_tsv_keeps_everything(table: Table) -> None:
    assert read_result(result_text(table, ResultFormat.TSV), ResultFormat.TSV) == table


@given(tables())
def test_csv_keeps_the_text_of_terms(table: Table) -> None:
    # A literal that looks like a blank node is read as one: CSV cannot tell them apart.
    flat = flattened(table)
    looks_blank = any(
        isinstance(term, Literal) and term.lexical.startswith("_:")
        for row in flat.rows
        for term in row
    )
    if not looks_blank:
        assert read_result(result_text(table, ResultFormat.CSV), ResultFormat.CSV) == flat


@given(tables())
def test_the_terminal_shows_every_row_on_a_line(table: Table) -> None:
    lines = result_text(table, ResultFormat.TABLE).split("\n")
    assert len(lines) == 2 + len(table.rows) + 2


@pytest.mark.parametrize("syntax", [ResultFormat.JSON, ResultFormat.XML])
@pytest.mark.parametrize("answer", [True, False])
def test_yes_and_no_come_back(syntax: ResultFormat, answer: bool) -> None:
    assert read_result(result_text(answer, syntax), syntax) is answer


@pytest.mark.parametrize("syntax", [ResultFormat.CSV, ResultFormat.TSV, ResultFormat.TURTLE])
def test_formats_without_a_place_for_yes_or_no_say_so(syntax: ResultFormat) -> None:
    with pytest.raises(SettingError, match="write json, xml"):
        result_text(True, syntax)


@pytest.mark.parametrize("syntax", ROWS)
def test_tables_of_no_columns_keep_the_number_of_rows(syntax: ResultFormat) -> None:
    table = Table((), ((), (), ()))
    assert read_result(result_text(table, syntax), syntax) == table


@given(tables(xml_texts))
def test_pyoxigraph_reads_what_we_write(table: Table) -> None:
    if any(_has_quoted(term) for row in table.rows for term in row):
        return  # it knows triple terms of RDF 1.2 only
    formats = {
        ResultFormat.JSON: ox.QueryResultsFormat.JSON,
        ResultFormat.XML: ox.QueryResultsFormat.XML,
        ResultFormat.TSV: ox.QueryResultsFormat.TSV,
    }
    for ours, theirs in formats.items():
        if ours is ResultFormat.TSV and not table.variables:
            continue  # it expects a column
        found = ox.parse_query_results(result_text(table, ours).encode(), theirs)
        assert isinstance(found, ox.QuerySolutions)
        assert [variable.value for variable in found.variables] == list(table.variables)
        assert [tuple(map(_value, row)) for row in found] == [
            tuple(map(_value, row)) for row in table.rows
        ]


def _value(term: object) -> str | None:
    match term:
        case Iri(value) | BlankNode(value) | Literal(value):
            return value.strip(" \t\r\n")  # which it strips from what it reads as XML
        case ox.NamedNode() | ox.BlankNode() | ox.Literal():
            return term.value.strip(" \t\r\n")
        case _:
            return None


def _has_quoted(term: Term | None) -> bool:
    return isinstance(term, QuotedTriple)


def test_terms_go_through_json_one_by_one() -> None:
    term = QuotedTriple(BlankNode("b"), Iri("x:p"), Literal("x", language="en"))
    assert term_from_json(term_to_json(term)) == term


def test_xml_says_what_it_cannot_write() -> None:
    table = Table(("x",), ((Literal("a\x00b"),),))
    with pytest.raises(DataError, match=r"XML cannot write the character U\+0000"):
        result_text(table, ResultFormat.XML)


# -- graphs --------------------------------------------------------------------------------

QUOTED = QuotedTriple(
    BlankNode("b"), Iri("http://a/p"), QuotedTriple(Iri("x:s"), Iri("x:p"), Literal("é\n"))
)
GRAPH = [
    Quad(Iri("http://a/s"), Iri(RDF_TYPE), Iri("http://a/C")),
    Quad(Iri("http://a/s"), Iri("http://a/p"), Literal("1", XSD_INTEGER)),
    Quad(Iri("http://a/s"), Iri("http://a/p"), Literal("one", XSD_INTEGER)),
    Quad(Iri("http://a/s"), Iri("http://a/p"), Literal("true", XSD_BOOLEAN)),
    Quad(Iri("http://a/s"), Iri("http://a/p"), Literal("yes", XSD_BOOLEAN)),
    Quad(Iri("http://a/s"), Iri("http://a/p"), Literal('a"\t\\', language="en")),
    Quad(Iri("http://a/s"), Iri("http://a/x.y/"), Literal("2.50", "http://a/d")),
    Quad(BlankNode("b"), Iri("http://a/p"), QUOTED),
    Quad(QUOTED, Iri("http://a/p"), BlankNode("b")),
    Quad(Iri("http://a/1"), Iri("http://a/b/c"), Iri("http://a/")),
]
SYNTAXES = {
    ResultFormat.TURTLE: Format.TURTLE,
    ResultFormat.NTRIPLES: Format.N_TRIPLES,
    ResultFormat.NQUADS: Format.N_QUADS,
}


@pytest.mark.parametrize("syntax", SYNTAXES)
@pytest.mark.parametrize("prefixes", [{}, {"": "http://a/", "b": "http://a/b/", "z": "http://z/"}])
def test_graphs_come_back(syntax: ResultFormat, prefixes: dict[str, str]) -> None:
    text = graph_text(GRAPH, syntax, prefixes)
    assert set(read(text, SYNTAXES[syntax])) == set(GRAPH)


def test_turtle_groups_what_is_said_of_a_subject() -> None:
    text = graph_text(GRAPH[:4], ResultFormat.TURTLE, {"": "http://a/", "z": "http://z/"})
    assert text == '@prefix : <http://a/> .\n\n:s a :C ;\n    :p 1, "one"^^{}, true .\n'.format(
        "<http://www.w3.org/2001/XMLSchema#integer>"
    )


def test_named_graphs_need_nquads() -> None:
    quad = Quad(Iri("x:s"), Iri("x:p"), Iri("x:o"), Iri("x:g"))
    assert graph_text([quad], ResultFormat.NQUADS) == "<x:s> <x:p> <x:o> <x:g> .\n"
    for syntax in (ResultFormat.TURTLE, ResultFormat.NTRIPLES):
        with pytest.raises(DataError, match="write N-Quads"):
            graph_text([quad], syntax)


def test_a_graph_is_no_table() -> None:
    with pytest.raises(SettingError, match="write turtle"):
        graph_text(GRAPH, ResultFormat.CSV)
    with pytest.raises(SettingError, match="is for graphs"):
        result_text(Table(()), ResultFormat.NQUADS)
    with pytest.raises(SettingError, match="not as turtle"):
        read_result("", ResultFormat.TURTLE)
