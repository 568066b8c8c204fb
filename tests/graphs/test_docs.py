"""The pictures and texts of the documentation are those that the command makes now."""

from __future__ import annotations

import pytest

from headrace.algebra.query import Query
from headrace.graphs.drawing import GraphForm, GraphKind, drawn
from tests.graphs.queries import PAPERS, known_of, of_paper
from tests.shared import ROOT

BROKER, SELLER = (
    of_paper(next(path for path in PAPERS if f"csparql-{section}" in path.name))
    for section in ("3.4", "5.2")
)
KNOWN = {BROKER: known_of("3.4"), SELLER: known_of("5.2")}
PICTURES = {
    (BROKER, GraphKind.OPERATORS): "broker-ograph.svg",
    (BROKER, GraphKind.REWRITTEN): "broker-rewritten.svg",
    (BROKER, GraphKind.DENOTATIONAL): "broker-dgraph.svg",
    (SELLER, GraphKind.OPERATORS): "seller-ograph.svg",
    (SELLER, GraphKind.REWRITTEN): "seller-rewritten.svg",
}
CASES = pytest.mark.parametrize(("query", "kind"), list(PICTURES), ids=list(PICTURES.values()))


@CASES
def test_pictures_are_current(query: Query, kind: GraphKind) -> None:
    shown = (ROOT / "docs" / "img" / PICTURES[query, kind]).read_text("utf-8")
    assert shown == drawn(query, kind, GraphForm.SVG, KNOWN[query]), "make pictures"


@CASES
def test_texts_are_current(query: Query, kind: GraphKind) -> None:
    page = (ROOT / "docs" / "graphs.md").read_text("utf-8")
    assert f"```text\n{drawn(query, kind, GraphForm.TEXT, KNOWN[query])}```\n" in page
    assert f"img/{PICTURES[query, kind]}" in page
