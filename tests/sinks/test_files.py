from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from headrace.errors import InternalError, MachineError, SettingError
from headrace.sinks.files import AppendedFile, put


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "out.txt"


def opened(path: Path, mark: int | None = None) -> AppendedFile:
    file = AppendedFile(path)
    file.recover(mark)
    return file


def test_a_fresh_run_begins_with_an_empty_file(path: Path) -> None:
    path.write_bytes(b"of an earlier run")
    AppendedFile(path).close()
    assert path.read_bytes() == b"of an earlier run"
    file = opened(path)
    file.append([b"one ", b"", memoryview(b"two")])
    file.append([])
    assert file.size == len(b"one two")
    file.close()
    assert path.read_bytes() == b"one two"


def test_recovery_cuts_what_came_after_the_mark(path: Path) -> None:
    path.write_bytes(b"one two")
    file = opened(path, 4)
    assert file.size == 4
    file.append([b"three"])
    file.close()
    assert path.read_bytes() == b"one three"


def test_a_file_that_was_cut_by_others_is_an_error(path: Path) -> None:
    path.write_bytes(b"one")
    file = AppendedFile(path)
    with pytest.raises(MachineError, match=r"out\.txt has 3 bytes, and the run had written 7"):
        file.recover(7)
    file.close()
    assert path.read_bytes() == b"one"


def test_marks_of_others_are_refused(path: Path) -> None:
    file = AppendedFile(path)
    with pytest.raises(SettingError, match="found '12/3'"):
        file.recover("12/3")
    with pytest.raises(InternalError, match="before it is known where to begin"):
        file.append([b"x"])
    file.close()


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", "."):
        with pytest.raises(SettingError, match=r"cannot write .*: (it is not a|Is a directory)"):
            AppendedFile(tmp_path / name)


def test_a_full_disk_leaves_no_half_of_a_batch(path: Path) -> None:
    file = opened(path)
    file.append([b"one "])
    really = os.pwrite

    def full(handle: int, data: memoryview, place: int) -> int:
        if place >= 6:
            raise OSError(errno.ENOSPC, "No space left on device")
        return really(handle, data[:2], place)

    with (
        mock.patch("os.pwrite", full),
        pytest.raises(MachineError, match=r"cannot write .*out\.txt: No space left on device"),
    ):
        file.append([b"two three"])
    assert path.read_bytes() == b"one "
    file.append([b"four"])
    file.close()
    assert path.read_bytes() == b"one four"


def test_a_batch_that_cannot_be_made_leaves_nothing(path: Path) -> None:
    file = opened(path)
    with pytest.raises(ZeroDivisionError):
        file.append(b"x" * (6 // number) for number in (2, 0))
    file.close()
    assert path.read_bytes() == b""


def test_what_is_put_in_place_is_whole_or_not_there(path: Path) -> None:
    put(path, b"one")
    failing = mock.patch("os.fsync", side_effect=OSError(errno.EIO, "Input/output error"))
    with failing, pytest.raises(MachineError, match="Input/output error"):
        put(path, b"other")
    assert path.read_bytes() == b"one"
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_what_was_written_is_on_disk_when_it_is_said_to_be(path: Path) -> None:
    def noted(name: str) -> mock._patch[Any]:
        really = getattr(os, name)

        def call(*arguments: Any) -> Any:
            calls.append(name)
            return really(*arguments)

        return mock.patch(f"os.{name}", call)

    file = opened(path)
    calls: list[str] = []
    with noted("pwrite"), noted("fsync"), noted("replace"):
        file.append([b"one", b"two"])
        assert calls == ["pwrite", "pwrite", "fsync"]
        calls.clear()
        put(path.with_name("part"), b"three")
        assert calls == ["fsync", "replace", "fsync"]
    file.close()
