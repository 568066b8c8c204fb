"""The console that is shipped: built from these sources, and nothing in it is from elsewhere."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

from headrace.dialects.cqels import Cqels
from headrace.dialects.csparql import CSparql
from headrace.dialects.rspql import RspQl
from headrace.dialects.sparql import Sparql
from headrace.dialects.tables import build
from headrace.dialects.vocabulary import AGGREGATE_FUNCTIONS, FUNCTIONS
from tests.shared import ROOT

SOURCES = ROOT / "console"
BUILT = ROOT / "src" / "headrace" / "serve" / "console"
MANIFEST: dict[str, dict[str, str]] = json.loads((BUILT / "manifest.json").read_text("utf-8"))
WORDS: dict[str, Any] = json.loads((SOURCES / "src" / "words.json").read_text("utf-8"))


def digests(paths: list[Path], root: Path) -> dict[str, str]:
    return {
        path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in paths
    }


def test_what_is_shipped_was_built_from_the_sources() -> None:
    paths = [path for path in (SOURCES / "src").rglob("*") if path.is_file()]
    paths += [SOURCES / name for name in ("build.mjs", "package.json", "package-lock.json")]
    assert digests(paths, SOURCES) == MANIFEST["sources"], "run `make console`"


def test_what_is_shipped_is_as_it_was_built() -> None:
    paths = [path for path in BUILT.iterdir() if path.name != "manifest.json"]
    assert digests(paths, BUILT) == MANIFEST["built"], "run `make console`"


@pytest.mark.parametrize("name", ["app.js", "app.css", "index.html"])
def test_nothing_is_fetched_from_elsewhere(name: str) -> None:
    text = (BUILT / name).read_text("utf-8")
    loads = re.findall(
        r"(?:src=|href=|url\(|@import|import\s*\(|fetch\()\s*[\"']?(https?:|//)", text
    )
    assert loads == []


def test_the_page_has_no_scripts_and_styles_of_its_own() -> None:
    page = (BUILT / "index.html").read_text("utf-8")
    assert re.findall(r"<script(?![^>]*\bsrc=)", page) == []
    assert "<style" not in page
    assert not re.search(r"\s(?:style|on\w+)=", page)


@pytest.mark.parametrize(
    "forbidden",
    ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "DOMParser"],
)
def test_no_text_is_ever_read_as_html(forbidden: str) -> None:
    for path in (SOURCES / "src").rglob("*.ts"):
        assert forbidden not in path.read_text("utf-8"), path


def keywords(grammar: tuple[str, ...]) -> set[str]:
    literals = (terminal.pattern for terminal in build(grammar).terminals)
    texts = (str(pattern.value) for pattern in literals if pattern is not None)
    return {text.upper() for text in texts if text.isalpha()}


def test_the_editor_knows_every_word_of_the_dialects() -> None:
    plain = keywords(Sparql.grammar)
    continuous = set().union(*(keywords(each.grammar) for each in (CSparql, Cqels, RspQl)))
    assert set(WORDS["keywords"]) == plain
    assert set(WORDS["streaming"]) == continuous - plain


def test_the_editor_knows_every_function() -> None:
    assert set(WORDS["functions"]) == set(FUNCTIONS)
    assert set(WORDS["aggregates"]) == set(AGGREGATE_FUNCTIONS)
