from __future__ import annotations

import csv
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given

from headrace.algebra.expressions import Variable
from headrace.algebra.query import Ask, Construct, Form, Select
from headrace.errors import MachineError, SettingError
from headrace.functions.values import FALSE, TRUE
from headrace.kernel.evaluations import evaluations
from headrace.kernel.reports import Report
from headrace.rdf.terms import BlankNode, Iri, Literal, QuotedTriple, Term
from headrace.rdf.times import milliseconds
from headrace.rdf.vocabulary import XSD_INTEGER
from headrace.results.csv_format import csv_text
from headrace.results.evaluations import Evaluation
from headrace.sinks.csv import CsvSink
from tests.sinks.reports import SELECT, formed_reports, report

A, B = Iri("x:a"), Iri("x:b")


def written(forms: dict[str, Form], found: Sequence[Report]) -> str:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "out.csv"
        sink = CsvSink(path, forms)
        sink.recover(None)
        sink.write("0", found)
        sink.close()
        return path.read_bytes().decode()


def test_all_queries_share_one_table() -> None:
    forms: dict[str, Form] = {
        "rows": SELECT,
        "more": Select((Variable("y"), Variable("z"))),
        "graph": Construct(()),
        "ask": Ask(),
    }
    found = [
        report(
            SELECT,
            [1_000_000, 2_000_000],
            [(0, (A, Literal("7", XSD_INTEGER))), (1, (None, B))],
            query="rows",
        ),
        report(forms["more"], [2_500], [(0, (B, Literal("z", language="en")))], query="more"),
        report(
            forms["graph"],
            [0],
            [(0, (A, B, BlankNode("b"), A)), (0, (A, B, B, None))],
            query="graph",
        ),
        report(Ask(), [0], [(0, (TRUE,))], query="ask", seqs=[3]),
    ]
    assert written(forms, found).split("\r\n") == [
        "query,at,seq,x,y,z,subject,predicate,object,graph,boolean,error",
        "rows,1000,0,x:a,7,,,,,,,",
        "rows,2000,0,,x:b,,,,,,,",
        "more,2.5,0,,x:b,z,,,,,,",
        "graph,0,0,,,,x:a,x:b,_:b,x:a,,",
        "graph,0,0,,,,x:a,x:b,x:b,,,",
        "ask,0,3,,,,,,,,true,",
        "",
    ]


def test_what_a_cell_cannot_hold_is_quoted() -> None:
    quoted = QuotedTriple(A, B, Literal('"', language="en"))
    found = report(
        SELECT,
        [0, 1_000, 2_000],
        [(0, (Literal('a "b", c\r\n'), quoted)), (0, (Literal("<x:a>"), Literal("\\t")))],
        query='a, "b"',
        errors={2: 'no "such", thing\n'},
    )
    assert written({'a, "b"': SELECT}, [found]).removeprefix("query,at,seq,x,y,error\r\n") == (
        '"a, ""b""",0,0,"a ""b"", c\r\n","<< <x:a> <x:b> ""\\""""@en >>",\r\n'
        '"a, ""b""",0,0,<x:a>,\\t,\r\n'
        '"a, ""b""",2,0,,,"no ""such"", thing\n"\r\n'
    )


def test_a_skipped_instant_says_so_where_errors_stand() -> None:
    found = report(SELECT, [0, 1_000, 2_000], [(2, (A, B))], errors={1: "no"}, skipped=[0])
    assert written({"q": SELECT}, [found]).split("\r\n")[1:] == [
        "q,0,0,,,skipped",
        "q,1,0,,,no",
        "q,2,0,x:a,x:b,",
        "",
    ]


def test_a_variable_like_a_column_of_the_table_keeps_its_question_mark() -> None:
    form = Select(tuple(map(Variable, ("query", "seq", "error", "x"))))
    found = report(form, [0], [(0, (A, B, None, A))])
    assert written({"q": form}, [found]) == (
        "query,at,seq,?query,?seq,?error,x,error\r\nq,0,0,x:a,x:b,,x:a,\r\n"
    )


def test_a_run_without_results_has_a_header() -> None:
    assert written({"q": SELECT}, [report(SELECT, [0, 1])]) == "query,at,seq,x,y,error\r\n"


def cells(evaluation: Evaluation) -> list[dict[str, str]]:
    head = {
        "query": evaluation.query,
        "at": milliseconds(evaluation.at),
        "seq": str(evaluation.seq),
        "error": "skipped" if evaluation.skipped else evaluation.error or "",
    }
    if evaluation.error is not None or evaluation.skipped:
        return [head]
    rows: list[dict[str, Term | None]] = [dict(each) for each in evaluation.bindings()]
    for quad in evaluation.quads:
        names = ("subject", "predicate", "object", "graph")
        rows.append({name: getattr(quad, name) for name in names})
    if evaluation.boolean is not None:
        rows = [{"boolean": TRUE if evaluation.boolean else FALSE}]
    own = {"query", "at", "seq", "error"}
    return [
        head
        | {
            f"?{name}" if name in own else name: csv_text(term)
            for name, term in row.items()
            if term
        }
        for row in rows
    ]


@given(formed_reports())
def test_cells_are_those_of_sparql(case: tuple[Report, Form]) -> None:
    found, form = case
    text = written({found.query: form}, [found])
    header, *lines = csv.reader(StringIO(text, newline=""))
    expected = [row for each in evaluations(found, form) for row in cells(each)]
    assert [dict(zip(header, line, strict=True)) for line in lines] == [
        dict.fromkeys(header, "") | row for row in expected
    ]


def test_a_file_goes_on_only_with_the_columns_that_it_has(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    sink = CsvSink(path, {"q": SELECT})
    sink.recover(None)
    mark = sink.mark()
    sink.write("0", [report(SELECT, [0], [(0, (A, B))])])
    sink.close()
    before = path.read_bytes()
    sink = CsvSink(path, {"q": SELECT, "ask": Ask()})
    with pytest.raises(SettingError, match=r"out\.csv was begun with other columns"):
        sink.recover(mark)
    assert path.read_bytes() == before
    path.write_bytes(b"")
    with pytest.raises(MachineError, match="has 0 bytes"):
        sink.recover(mark)
    sink.recover(None)
    sink.close()
    assert path.read_text() == "query,at,seq,x,y,boolean,error\n"
