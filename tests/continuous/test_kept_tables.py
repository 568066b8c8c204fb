"""Static tables that are kept give the same answers: made, found again, spilled, damaged."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.pipeline.static import StaticFile
from tests.continuous.kept import QUERIES, TRIPLES, cache_of, kept, plain, written

INCREMENTAL = {"strategy": "incremental"}


@pytest.fixture
def files(tmp_path: Path) -> list[StaticFile]:
    return written(tmp_path)


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("most_in_memory", [1_000, 0])
def test_on_arrival(
    query: str, most_in_memory: int, files: list[StaticFile], tmp_path: Path
) -> None:
    expected = plain(files, query, "arrival", {})
    assert expected, "the test asks for something"
    cache = cache_of(tmp_path / "cache", most_in_memory)
    assert kept(files, cache, query, "arrival", {})[0] == expected
    again = cache_of(tmp_path / "cache", most_in_memory)
    assert kept(files, again, query, "arrival", {})[0] == expected


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("settings", [{}, INCREMENTAL])
def test_by_time(
    query: str, settings: dict[str, str], files: list[StaticFile], tmp_path: Path
) -> None:
    expected = plain(files, query, "time", settings)
    assert expected
    for _ in range(2):
        assert kept(files, cache_of(tmp_path / "cache"), query, "time", settings)[0] == expected


@pytest.mark.parametrize("lost", ["damaged", "gone"])
def test_a_table_that_is_lost_is_made_again(
    lost: str, files: list[StaticFile], tmp_path: Path
) -> None:
    expected, _ = kept(files, cache_of(tmp_path / "cache"), "a path", "arrival", {})
    for path in sorted((tmp_path / "cache" / "tables").glob("*.arrow")):
        if not path.exists():
            continue  # it was made again with another one
        content = path.read_bytes()
        if lost == "gone":
            path.unlink()
        else:
            path.write_bytes(content[:-20] + bytes([content[-20] ^ 1]) + content[-19:])
        assert kept(files, cache_of(tmp_path / "cache"), "a path", "arrival", {})[0] == expected


def test_other_static_data_have_other_tables(files: list[StaticFile], tmp_path: Path) -> None:
    for number in range(3):
        files[0].path.write_text(f"{TRIPLES}<http://x/p{number}> <http://x/by> <http://x/e> .")
        expected = plain(files, "a path", "arrival", {})
        assert kept(files, cache_of(tmp_path / "cache"), "a path", "arrival", {})[0] == expected
