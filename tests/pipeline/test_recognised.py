"""Whether a file is the one that was read before: never wrong, whatever clocks are like."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from headrace.errors import DataError, SettingError
from headrace.pipeline import recognised
from headrace.pipeline.recognised import TICK, FileState, Recognised


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.nt"
    path.write_text("one")
    return path


def later(path: Path, by: int = 2 * TICK) -> int:
    """A moment at which the last change of a file is long over."""
    return path.stat().st_ctime_ns + by


class Reading(Recognised):
    """Counts how often a file is read."""

    read = 0

    def _digest(self, path: Path) -> str:
        self.read += 1
        return super()._digest(path)


def test_a_file_is_read_once(file: Path, tmp_path: Path) -> None:
    first = Reading(tmp_path / "cache", 7, lambda: later(file))
    seen = first.look(file)
    assert seen.settled
    assert first.look(file) == seen
    assert first.read == 1
    second = Reading(tmp_path / "cache", 7, lambda: later(file))
    assert second.look(file) == seen
    assert second.read == 0
    other_seed = Reading(tmp_path / "cache", 8, lambda: later(file))
    assert other_seed.look(file).digest != seen.digest


def test_what_changes_is_read_again(file: Path, tmp_path: Path) -> None:
    files = Reading(tmp_path / "cache", 7, lambda: later(file))
    one = files.look(file)
    file.write_text("two!")
    two = files.look(file)
    assert two.digest != one.digest
    file.write_text("one")
    assert files.look(file).digest == one.digest
    assert files.read == 3


def test_times_that_are_put_back_deceive_nobody(file: Path, tmp_path: Path) -> None:
    """The same size and the same time of change, as with `touch -d` or `cp -p`."""
    files = Reading(tmp_path / "cache", 7, lambda: later(file))
    state = file.stat()
    one = files.look(file)
    file.write_text("two")
    os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert FileState.of(file).changed == one.state.changed
    assert files.look(file).digest != one.digest


def test_another_file_of_that_name_is_read(file: Path, tmp_path: Path) -> None:
    files = Reading(tmp_path / "cache", 7, lambda: later(file))
    one = files.look(file)
    other = tmp_path / "b.nt"
    other.write_text("two")
    os.utime(other, ns=(0, one.state.changed))
    other.replace(file)
    assert files.look(file).digest != one.digest


def test_a_change_within_one_tick_is_seen(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file system with a coarse clock says the same of the file before and after a change."""
    same = FileState.of(file)
    monkeypatch.setattr(FileState, "of", classmethod(lambda _cls, _path: same))
    now = same.altered + TICK // 2
    files = Reading(tmp_path / "cache", 7, lambda: now)
    one = files.look(file)
    assert not one.settled
    file.write_text("two")
    assert files.look(file).digest != one.digest
    assert Reading(tmp_path / "cache", 7, lambda: now).look(file).digest != one.digest
    # A clock that is behind that of the file system is no better.
    behind = Reading(tmp_path / "behind", 7, lambda: same.altered - 10 * TICK)
    assert not behind.look(file).settled


def test_a_file_that_is_being_written_is_read_when_it_is_there(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = Recognised(tmp_path / "cache", 7, lambda: later(file))
    digest = Recognised._digest
    changes = iter([True, True])

    def changed(self: Recognised, path: Path) -> str:
        found = digest(self, path)
        if next(changes, False):
            path.write_text(path.read_text() + "more")
        return found

    monkeypatch.setattr(Recognised, "_digest", changed)
    seen = files.look(file)
    assert seen.digest == digest(files, file)
    assert file.read_text() == "onemoremore"
    changes = iter([True] * recognised._TRIES)
    with pytest.raises(DataError, match="changes while it is read"):
        files.look(file, anew=True)


def test_what_is_remembered_may_be_lost(file: Path, tmp_path: Path) -> None:
    one = Reading(tmp_path / "cache", 7, lambda: later(file))
    seen = one.look(file)
    [path] = (tmp_path / "cache").glob("files-*.json")
    path.write_bytes(path.read_bytes().replace(seen.digest.encode(), b"0" * len(seen.digest)))
    again = Reading(tmp_path / "cache", 7, lambda: later(file))
    assert again.look(file) == seen
    assert again.read == 1


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"cannot read .*missing"):
        Recognised(tmp_path, 7).look(tmp_path / "missing.nt")
