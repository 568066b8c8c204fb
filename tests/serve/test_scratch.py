"""The folder of a server for files that can be made again."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from headrace.serve.scratch import Scratch


def test_folders_of_servers_that_were_killed_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    left = tmp_path / f"headrace-sparql-{ended.pid}-abc"
    others = [
        tmp_path / f"headrace-sparql-{os.getppid()}-abc",
        tmp_path / "headrace-sparql-abc",
        tmp_path / "another",
    ]
    for folder in (left, *others):
        folder.mkdir()
        (folder / "static-1.arrow").write_bytes(b"x")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    scratch = Scratch()
    assert left.exists(), "nothing is removed before there is a folder"
    own = scratch.folder
    assert own.parent == tmp_path
    assert own == scratch.folder
    assert not left.exists()
    assert all(folder.exists() for folder in others)
    scratch.remove()
    assert not own.exists()
    scratch.remove()
