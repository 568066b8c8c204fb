from __future__ import annotations

import json
from pathlib import Path

import polars as pl

from headrace.inline import LateElement, RejectedElement
from headrace.rdf.elements import Element
from headrace.rdf.terms import Iri, Literal, Quad
from headrace.rdf.writing import nquads_statement
from headrace.sinks.rejects import (
    LinesFile,
    late_lines,
    late_lines_of,
    rejected_lines,
    rejected_lines_of,
)

A, B = Iri("x:a"), Iri("x:b")
ELEMENT = Element(1_500, (Quad(A, B, Literal("é\n")), Quad(A, B, A, B)))
LATE = [LateElement("s", ELEMENT), LateElement("t", Element(2_000))]
REJECTED = [
    RejectedElement("s", ELEMENT, "too far"),
    RejectedElement("s", None, "s.tnq:3: expected a time"),
]


def test_late_elements_are_a_line_for_each_statement() -> None:
    assert "".join(late_lines(LATE)) == (
        '{"stream": "s", "time": "1.5", "quad": "<x:a> <x:b> \\"é\\\\n\\" ."}\n'
        '{"stream": "s", "time": "1.5", "quad": "<x:a> <x:b> <x:a> <x:b> ."}\n'
    )


def test_rejected_elements_are_a_line_with_a_reason() -> None:
    assert "".join(rejected_lines(REJECTED)) == (
        '{"stream": "s", "reason": "too far", "time": "1.5", '
        '"quads": ["<x:a> <x:b> \\"é\\\\n\\" .", "<x:a> <x:b> <x:a> <x:b> ."]}\n'
        '{"stream": "s", "reason": "s.tnq:3: expected a time"}\n'
    )


def test_columns_give_the_same_lines() -> None:
    quads = [nquads_statement(quad) for quad in ELEMENT.quads]
    late = pl.DataFrame({"stream": ["s", "s"], "time": [1_500, 1_500], "quad": quads})
    assert list(late_lines_of(late)) == list(late_lines(LATE))
    rejected = pl.DataFrame(
        {
            "stream": ["s", "s"],
            "reason": [each.reason for each in REJECTED],
            "time": [1_500, None],
            "quads": [quads, None],
            "text": pl.Series([None, None], dtype=pl.String),
        }
    )
    assert list(rejected_lines_of(rejected)) == list(rejected_lines(REJECTED))
    told = rejected.with_columns(pl.Series("text", [None, "never\t<x:a>"]))
    assert json.loads(list(rejected_lines_of(told))[1])["text"] == "never\t<x:a>"


def test_a_file_of_them_has_marks(tmp_path: Path) -> None:
    file = LinesFile(tmp_path / "late.ndjson")
    file.recover(None)
    file.add(late_lines(LATE))
    mark = file.mark()
    file.add(late_lines(LATE[:1]))
    assert file.mark() != mark
    file.recover(mark)
    file.close()
    assert (tmp_path / "late.ndjson").read_text() == "".join(late_lines(LATE))


def test_half_a_character_in_a_reason_does_no_harm(tmp_path: Path) -> None:
    file = LinesFile(tmp_path / "rejected.ndjson")
    file.recover(None)
    file.add(rejected_lines([RejectedElement("s", None, "found '\ud800'")]))
    file.close()
    [line] = (tmp_path / "rejected.ndjson").read_text().splitlines()
    assert json.loads(line)["reason"] == "found '\ud800'"
