"""Labels of Mermaid flowcharts: whatever a query holds, they say nothing to Mermaid itself."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.dialects import parse
from headrace.graphs.drawing import GraphForm, GraphKind, drawn
from headrace.graphs.mermaid import escaped
from tests.graphs.queries import HOSTILE

LABEL = re.compile(r'"[^"]*"')
CODE = re.compile(r"#(\d+);")


def read_back(text: str) -> str:
    return CODE.sub(lambda code: chr(int(code[1])), text).replace("\\\N{WORD JOINER}n", "\\n")


@given(st.text())
def test_an_escaped_text_reads_back_and_has_no_marks(text: str) -> None:
    code = escaped(text)
    assert read_back(code) == text
    assert not set('"<>&`|[]{}%\\\n\r') & set(code)


@pytest.mark.parametrize("kind", list(GraphKind))
def test_outside_labels_there_is_only_what_we_write(kind: GraphKind) -> None:
    chart = drawn(parse(HOSTILE).query, kind, GraphForm.MERMAID)
    rest = [LABEL.sub("", line) for line in chart.splitlines() if "%%" not in line]
    assert rest[0].startswith("flowchart ")
    assert not any(re.search(r"script|alert|init|quot", line) for line in rest)


def test_edges_have_their_roles() -> None:
    query = parse("SELECT * { ?a <x:p> ?b OPTIONAL { ?a <x:q> ?c } }").query
    chart = drawn(query, GraphKind.OPERATORS, GraphForm.MERMAID)
    assert '-->|"optional"|' in chart
