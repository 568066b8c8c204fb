from __future__ import annotations

from headrace.rdf.terms import BlankNode, Iri, Literal, QuotedTriple
from headrace.rdf.vocabulary import XSD_DATE_TIME, XSD_DECIMAL
from headrace.results.evaluations import Evaluation
from headrace.results.formats import ResultFormat
from headrace.results.table import Table
from headrace.results.terminal import evaluation_text, short, terminal_parts
from headrace.results.writing import result_text

TABLE = Table(
    ("sensor", "value", "名前"),
    (
        (
            Iri("http://example.org/s1"),
            Literal("20.5", XSD_DECIMAL),
            Literal("温度計", language="ja"),
        ),
        (BlankNode("b0"), Literal("7", XSD_DECIMAL), None),
    ),
)


def test_columns_are_aligned_by_what_the_terminal_shows() -> None:
    assert result_text(TABLE, ResultFormat.TABLE) == (
        "sensor                   value  名前\n"
        "-----------------------  -----  -----------\n"
        '<http://example.org/s1>   20.5  "温度計"@ja\n'
        "_:b0                         7\n"
        "2 rows\n"
    )


def test_yes_and_no() -> None:
    assert result_text(True, ResultFormat.TABLE) == "yes\n"
    assert result_text(False, ResultFormat.TABLE) == "no\n"


def test_one_row_is_one_row() -> None:
    assert list(terminal_parts(Table((), ((),))))[-1] == "1 row\n"


def test_wide_cells_are_cut() -> None:
    assert short(Literal("a" * 100), 10) == '"aaaaaaaa…'
    assert short(Literal("温" * 100), 10) == '"温温温温…'
    assert short(Literal("1" * 100, XSD_DECIMAL), 5) == "1111…"
    quoted = QuotedTriple(Iri("http://example.org/" + "a" * 50), Iri("x:p"), Literal("b" * 50))
    assert len(short(quoted)) < 60


def test_datatypes_are_short() -> None:
    assert (
        short(Literal("2030-01-01T00:00:00Z", XSD_DATE_TIME)) == '"2030-01-01T00:00:00Z"^^dateTime'
    )
    assert short(Literal("a", "urn:d:")) == '"a"^^urn:d:'


def test_what_a_terminal_would_obey_is_not_sent_to_it() -> None:
    assert (
        short(Literal("\x1b[31mred\r\n\u202eevil\x9b"))
        == '"\\u001B[31mred\\r\\n\\u202Eevil\\u009B"'
    )
    table = Table(("a\x07",), ((None,),))
    assert "\x07" not in result_text(table, ResultFormat.TABLE)


def test_a_skipped_instant_is_not_said_to_have_no_answer() -> None:
    skipped = Evaluation("q", 5_000_000, skipped=True)
    assert evaluation_text(skipped) == "q at 1970-01-01T00:00:05Z: skipped\n"
    assert not skipped.is_empty
