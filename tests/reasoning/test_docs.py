"""What docs/reasoning.md shows is what the commands print, and its Python runs."""

from __future__ import annotations

import re
import runpy
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from headrace.cli import app
from tests.shared import ROOT

PAGE = (ROOT / "docs" / "reasoning.md").read_text("utf-8")
FOLDER = ROOT / "examples" / "reasoning"
BLOCKS = re.findall(r"```\n\$ headrace (.*)\n((?:.*\n)*?)```\n", PAGE)


@pytest.mark.parametrize(("command", "shown"), BLOCKS, ids=[each[0][:40] for each in BLOCKS])
def test_a_command_prints_what_the_page_shows(
    command: str, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(FOLDER)
    done = CliRunner().invoke(app, shlex.split(command))
    assert done.exit_code == 0, done.output
    assert done.stdout.strip() == shown.strip()


def test_there_are_commands_to_try() -> None:
    assert len(BLOCKS) == 3


@pytest.mark.parametrize("name", ["schema.ttl", "vehicles.csparql", "city.tnq"])
def test_the_files_are_those_of_the_page(name: str) -> None:
    assert (FOLDER / name).read_text("utf-8").strip() in PAGE


def test_the_python_of_the_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    [code] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    script = tmp_path / "script.py"
    script.write_text(code, "utf-8")
    monkeypatch.chdir(FOLDER)
    runpy.run_path(str(script))
    assert capsys.readouterr().out == "2 vehicles\n"
