"""Tables that matches are joined with: kept, shared, and each with its own orders."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.kernel import strategy, tables
from headrace.kernel.mapped import MappedLookup
from headrace.pipeline.static import StaticFile
from tests.continuous.kept import QUERIES, cache_of, kept, written


@pytest.fixture
def files(tmp_path: Path) -> list[StaticFile]:
    return written(tmp_path)


def test_nothing_is_computed_again(
    files: list[StaticFile], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, looked = kept(files, cache_of(tmp_path / "cache"), "a path", "arrival", {})
    assert looked
    written = set((tmp_path / "cache" / "tables").iterdir())

    def never(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(strategy, "evaluate", never)
    monkeypatch.setattr(tables, "_made", never)
    again, looked = kept(files, cache_of(tmp_path / "cache"), "a path", "arrival", {})
    assert again == first
    assert all(isinstance(each, MappedLookup) for each in looked)
    assert set((tmp_path / "cache" / "tables").iterdir()) == written


def test_queries_share_tables_whatever_their_variables_are_called(
    files: list[StaticFile], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = cache_of(tmp_path / "cache")
    kept(files, cache, "constants", "arrival", {})
    made = {each.key for each in cache.tables.entries()}
    monkeypatch.setitem(QUERIES, "constants", "?x :at ?y . ?z :by ?x ; :cites :p1")
    kept(files, cache, "constants", "arrival", {})
    assert {each.key for each in cache.tables.entries()} == made
    monkeypatch.setitem(QUERIES, "constants", "?x :at ?y . ?z :by ?x ; :cites :p2")
    kept(files, cache, "constants", "arrival", {})
    assert {each.key for each in cache.tables.entries()} > made
