"""The files of examples/reasoning are those that docs/reasoning.md shows and tries."""

from __future__ import annotations

import pytest

from tests.documentation.pages import snippets
from tests.shared import ROOT

SHOWN = {
    each.value: each.text
    for each in snippets((ROOT / "docs" / "reasoning.md").read_text("utf-8"))
    if each.mark == "file"
}


@pytest.mark.parametrize("name", ["schema.ttl", "lines.ttl", "vehicles.csparql", "city.tnq"])
def test_the_files_are_those_of_the_page(name: str) -> None:
    assert (ROOT / "examples" / "reasoning" / name).read_text("utf-8") == SHOWN[name]
