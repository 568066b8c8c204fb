"""Every snippet of the documentation does what it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.documentation.pages import PAGES, name, snippets
from tests.documentation.trying import Page, agrees, tidy

SLOW = ("README.md", "docs/tutorial.md", "docs/serving.md", "docs/api.md")
"""What follows a stream for some seconds."""
WITH_SNIPPETS = [
    pytest.param(each, id=name(each), marks=[pytest.mark.slow] * (name(each) in SLOW))
    for each in PAGES
    if snippets(each.read_text("utf-8"))
]


@pytest.mark.parametrize("path", WITH_SNIPPETS)
def test_the_snippets_of_a_page_do_what_they_say(path: Path, tmp_path: Path) -> None:
    with Page(tmp_path) as page:
        for snippet in snippets(path.read_text("utf-8")):
            for said, shown in page.attempt(snippet):
                where = f"{name(path)}, line {snippet.line}"
                seen = f"{where} shows\n{tidy(shown)}\nbut it is\n{tidy(said)}"
                assert agrees(said, shown), seen


def test_a_false_output_is_found() -> None:
    assert agrees("4 evaluations\n", "4 evaluations\n")
    assert not agrees("4 evaluations\n", "5 evaluations\n")
    assert not agrees("4 evaluations\nmore\n", "4 evaluations\n")
