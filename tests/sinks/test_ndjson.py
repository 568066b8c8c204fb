from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings

from headrace.algebra.expressions import Variable
from headrace.algebra.query import Construct, Form, Select
from headrace.kernel.evaluations import evaluations
from headrace.kernel.grid import NEVER
from headrace.kernel.reports import Report
from headrace.rdf.terms import BlankNode, Iri, Literal, QuotedTriple, Term
from headrace.rdf.vocabulary import XSD_INTEGER
from headrace.results.ndjson import ndjson_lines
from headrace.sinks import texts
from headrace.sinks.ndjson import NdjsonSink, ndjson_text
from tests.sinks.reports import SELECT, formed_reports, report

A, B = Iri("x:a"), Iri("x:b")


def defined(found: Report, form: Form) -> list[str]:
    return [line for each in evaluations(found, form) for line in ndjson_lines(each)]


@settings(max_examples=200)
@given(formed_reports())
def test_lines_are_those_of_the_definition(case: tuple[Report, Form]) -> None:
    assert ndjson_text(*case) == defined(*case)


def test_rows_empty_evaluations_and_errors_stand_in_the_order_of_the_instants() -> None:
    found = report(
        SELECT,
        [1_000_000, 2_000_500, 3_000_000],
        [(0, (A, None)), (0, (B, Literal("7", XSD_INTEGER)))],
        windows=[("w", [0, NEVER, 0], [1_000_000, 2_000_500, NEVER])],
        errors={2: 'the "service" failed'},
    )
    a, b = '{"type": "uri", "value": "x:a"}', '{"type": "uri", "value": "x:b"}'
    seven = f'{{"type": "literal", "value": "7", "datatype": "{XSD_INTEGER}"}}'
    first = '{"query": "q", "at": 1000, "seq": 0, "windows": {"w": [0, 1000]}, "row": '
    assert ndjson_text(found, SELECT) == [
        f'{first}{{"x": {a}}}}}',
        f'{first}{{"x": {b}, "y": {seven}}}}}',
        '{"query": "q", "at": 2000.5, "seq": 0, "windows": {"w": [null, 2000.5]}, "row": null}',
        '{"query": "q", "at": 3000, "seq": 0, "windows": {"w": [0, null]}, '
        '"error": "the \\"service\\" failed"}',
    ]


def test_a_skipped_instant_is_a_line_that_says_so() -> None:
    found = report(
        SELECT,
        [1_000_000, 2_000_000],
        [(1, (A, None))],
        windows=[("w", [0, 0], [0, 0])],
        skipped=[0],
    )
    lines = ndjson_text(found, SELECT)
    assert lines == defined(found, SELECT)
    assert lines[0] == (
        '{"query": "q", "at": 1000, "seq": 0, "windows": {"w": [0, 0]}, "skipped": true}'
    )


@pytest.mark.parametrize(
    "term",
    [
        Iri("http://example.org/é😀"),
        Iri("x:with space and \\ and <"),
        BlankNode("b0"),
        Literal(""),
        Literal('quote " and \\ and \n and \t and \x00 and \x7f and \u2028'),
        Literal("😀 \U0001d4b3"),
        Literal("@en"),
        Literal("^^<x:d>"),
        Literal("a", language="en-GB"),
        Literal("<x:a>", "x:datatype"),
        Literal("a", "x:data type"),
        Literal("$1 ${1} {} %s"),
        QuotedTriple(A, B, QuotedTriple(A, B, Literal('"x"', language="de"))),
    ],
)
def test_every_kind_of_term_is_as_defined(term: Term) -> None:
    form = Select((Variable("x"),))
    found = report(form, [0], [(0, (term,))])
    assert ndjson_text(found, form) == defined(found, form)


def test_windows_of_one_name_are_one() -> None:
    windows = [("w", [5_000, NEVER], [9_000, NEVER]), ("w", [4_000, 0], [8_000, 7_000])]
    found = report(SELECT, [0, 1], windows=windows)
    assert ndjson_text(found, SELECT) == defined(found, SELECT)
    assert '"windows": {"w": [4, 9]}' in ndjson_text(found, SELECT)[0]


def test_lines_do_not_depend_on_how_many_are_made_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = [(place // 3, (A, Literal(str(place)))) for place in range(30)]
    found = report(SELECT, list(range(20)), rows, errors={13: "no"})
    monkeypatch.setattr(texts, "_BLOCK", 4)
    assert ndjson_text(found, SELECT) == defined(found, SELECT)


def test_a_file_holds_the_lines_of_all_reports(tmp_path: Path) -> None:
    path = tmp_path / "out.ndjson"
    construct = Construct(())
    one = report(SELECT, [0, 1], [(1, (A, B))], query="one")
    other = report(construct, [5], [(0, (A, B, Literal("é"), None))], query="other")
    sink = NdjsonSink(path, {"one": SELECT, "other": construct})
    sink.recover(None)
    sink.write("0", [one, other])
    sink.write("1", [])
    sink.write("2", [one])
    sink.close()
    expected = [*defined(one, SELECT), *defined(other, construct), *defined(one, SELECT)]
    assert path.read_bytes() == "".join(f"{line}\n" for line in expected).encode()
