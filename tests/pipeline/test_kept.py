"""Tables in files: mapped, checked, shared, bounded, and made again when they are not whole."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl
import pytest

from headrace.pipeline import kept
from headrace.pipeline.kept import KeptTables

FRAME = pl.DataFrame({"a": [3, 1, 2], "text": ["x", None, "é" * 40], "flag": [True, None, False]})


def columns_of(folder: Path) -> Path:
    [path] = folder.glob("*.arrow")
    return path


def test_what_is_kept_is_found_by_others(tmp_path: Path) -> None:
    KeptTables(tmp_path / "new").put("a table", FRAME, {"by": "a"})
    found = KeptTables(tmp_path / "new").get("a table")
    assert found is not None
    assert found.frame.equals(FRAME)
    assert found.note == {"by": "a"}
    assert KeptTables(tmp_path / "new").get("another table") is None


def test_a_table_lies_where_it_is_in_the_file(tmp_path: Path) -> None:
    """Columns are in one piece and in no memory of their own."""
    KeptTables(tmp_path).put("t", pl.DataFrame({"a": range(100_000)}))
    found = KeptTables(tmp_path).get("t")
    assert found is not None
    assert found.frame.n_chunks() == 1
    maps = Path("/proc/self/maps")
    if maps.exists():
        assert str(columns_of(tmp_path)) in maps.read_text()


@pytest.mark.parametrize("place", [8, -9, "half"])
def test_what_is_damaged_is_not_there(tmp_path: Path, place: int | str) -> None:
    KeptTables(tmp_path).put("t", FRAME)
    path = columns_of(tmp_path)
    content = bytearray(path.read_bytes())
    if isinstance(place, int):
        content[place] ^= 1
    else:
        del content[len(content) // 2 :]
    path.write_bytes(content)
    assert KeptTables(tmp_path).get("t") is None
    assert list(tmp_path.iterdir()) == []
    again = KeptTables(tmp_path)
    again.put("t", FRAME)
    found = KeptTables(tmp_path).get("t")
    assert found is not None
    assert found.frame.equals(FRAME)


def test_a_damaged_note_is_no_note(tmp_path: Path) -> None:
    KeptTables(tmp_path).put("t", FRAME)
    [note] = tmp_path.glob("*.table")
    note.write_bytes(note.read_bytes().replace(b'"t"', b'"u"'))
    assert KeptTables(tmp_path).get("t") is None


def test_what_another_version_kept_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    KeptTables(tmp_path).put("t", FRAME)
    monkeypatch.setattr(kept, "FORMAT", "another")
    assert KeptTables(tmp_path).get("t") is None
    KeptTables(tmp_path).put("t", FRAME)
    assert len(list(tmp_path.glob("*.arrow"))) == 1  # the other one is gone


def test_what_was_not_asked_for_the_longest_goes_first(tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": range(10_000)})
    first = KeptTables(tmp_path)
    for number, name in enumerate("abc"):
        first.put(name, frame)
        [note] = [path for path in tmp_path.glob("*.table") if f'"{name}"' in path.read_text()]
        os.utime(note, (1_000 + number, 1_000 + number))
    assert KeptTables(tmp_path).get("a") is not None  # which counts as use
    size = first.entries()[0].size
    KeptTables(tmp_path, most=3 * size).put("d", frame)
    assert sorted(each.key for each in KeptTables(tmp_path).entries()) == ["a", "c", "d"]
    assert len(list(tmp_path.glob("*.arrow"))) == 3


def test_what_is_in_use_stays(tmp_path: Path) -> None:
    tables = KeptTables(tmp_path, most=0)
    held = [tables.put(name, FRAME) for name in "ab"]
    assert len(tables.entries()) == len(held)
    del held
    assert tables.tidy() > 0
    assert tables.entries() == []


def test_who_has_a_table_still_has_it_when_it_is_removed(tmp_path: Path) -> None:
    ours, theirs = KeptTables(tmp_path), KeptTables(tmp_path)
    ours.put("t", FRAME)
    found = theirs.get("t")
    assert found is not None
    assert KeptTables(tmp_path).tidy(0) > 0
    assert found.frame.equals(FRAME)
    assert ours.get("t") is None or ours.entries() == []


def test_what_a_crash_has_left_is_swept_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = tmp_path / "x-1.arrow"
    left.write_bytes(b"half of a table")
    tables = KeptTables(tmp_path)
    tables.tidy()
    assert left.exists()  # somebody may still be writing it
    monkeypatch.setattr(kept, "_LEFT", -1.0)
    tables.tidy()
    assert not left.exists()


def test_where_nothing_can_be_kept_tables_are_in_memory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    tables = KeptTables(tmp_path / "file")
    assert tables.put("t", FRAME).frame.equals(FRAME)
    assert tables.problem is not None
    assert "cannot keep tables" in tables.problem
    assert tables.get("t") is None
