"""Flowcharts: whatever a query holds, its labels say nothing to Mermaid, which shows them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.dialects import parse
from headrace.graphs.denotational_graph import denotational_graph
from headrace.graphs.drawing import GraphForm, GraphKind, drawn
from headrace.graphs.mermaid import escaped
from headrace.graphs.operator_graph import operator_graph
from tests.browser.chromium import browser
from tests.browser.npm import CannotInstallError, unpacked
from tests.graphs.queries import HOSTILE, drawn_queries

if TYPE_CHECKING:
    from playwright.sync_api import Page

QUERIES = drawn_queries()

LABEL = re.compile(r'"[^"]*"')
CODE = re.compile(r"#(\d+);")

# The labels of a flowchart that Mermaid draws.
LABELS = """async (chart) => {
  const { svg } = await mermaid.render("chart", chart);
  document.body.innerHTML = svg;
  return [...document.querySelectorAll(".nodeLabel")].map((label) => label.innerText);
}"""
MERMAID = ("mermaid", "12.3.0")
MERMAID_SHA512 = (
    "4113TdXeLAsMruJ79OpFL5O8+LTFXhQqZ260rF3tgUmiNAtRm4Uume04I+65PRN6yZ69J4f8rVYWW8zRk65UYw=="
)


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


# -- drawn by Mermaid itself ---------------------------------------------------------------


@pytest.fixture(scope="module")
def mermaid() -> Iterator[Page]:
    """A page in which Mermaid is loaded."""
    try:
        folder = unpacked(*MERMAID, MERMAID_SHA512, ("dist/mermaid.min.js",))
    except CannotInstallError as reason:
        pytest.skip(f"no Mermaid: {reason}")
    with browser() as started:
        page = started.new_page()
        page.set_content("<body></body>")
        page.add_script_tag(path=folder / "dist" / "mermaid.min.js")
        page.evaluate("mermaid.initialize({ startOnLoad: false })")
        yield page


@pytest.mark.parametrize("name", QUERIES)
def test_mermaid_shows_the_operators_as_they_are(mermaid: Page, name: str) -> None:
    graph = operator_graph(QUERIES[name])
    shown = mermaid.evaluate(LABELS, drawn(QUERIES[name], GraphKind.OPERATORS, GraphForm.MERMAID))
    written = ["\n".join([node.title, *node.details]) for node in graph.nodes]
    assert [label.replace("\N{WORD JOINER}", "") for label in shown] == written


@pytest.mark.parametrize("name", QUERIES)
def test_mermaid_shows_every_term(mermaid: Page, name: str) -> None:
    graph = denotational_graph(QUERIES[name])
    shown = mermaid.evaluate(
        LABELS, drawn(QUERIES[name], GraphKind.DENOTATIONAL, GraphForm.MERMAID)
    )
    plain = {" ".join(label.replace("\N{WORD JOINER}", "").split()) for label in shown}
    for vertex in graph.vertices:
        assert " ".join(" ".join([vertex.label, *vertex.annotations]).split()) in plain
