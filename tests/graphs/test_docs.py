"""The pictures and texts of the documentation are those that the command makes now."""

from __future__ import annotations

import pytest

from headrace.graphs.drawing import GraphForm, GraphKind, drawn
from tests.graphs.queries import PAPERS, of_paper
from tests.shared import ROOT

BROKER = of_paper(next(path for path in PAPERS if "3.4" in path.name))
PICTURES = {GraphKind.OPERATORS: "broker-ograph.svg", GraphKind.DENOTATIONAL: "broker-dgraph.svg"}


@pytest.mark.parametrize("kind", list(GraphKind))
def test_pictures_are_current(kind: GraphKind) -> None:
    shown = (ROOT / "docs" / "img" / PICTURES[kind]).read_text("utf-8")
    assert shown == drawn(BROKER, kind, GraphForm.SVG), "make pictures"


@pytest.mark.parametrize("kind", list(GraphKind))
def test_texts_are_current(kind: GraphKind) -> None:
    page = (ROOT / "docs" / "graphs.md").read_text("utf-8")
    assert f"```\n{drawn(BROKER, kind, GraphForm.TEXT)}```\n" in page
    assert f"img/{PICTURES[kind]}" in page
