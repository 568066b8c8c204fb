"""The notebook runs from its first to its last cell in a kernel, without a server."""

from __future__ import annotations

from typing import Any, Final

import nbformat
import pytest
from nbclient import NotebookClient

from tests.shared import ROOT

PATH = ROOT / "examples" / "live_plots.ipynb"
COUNTED: Final = "{name: len(times) for name, (times, _) in lines.items()}"
CLOSES: Final = 35
"""At 0 s, 2 s, ..., 68 s: the first holds second 0, and the last, (58 s, 68 s], second 59."""


def notebook_of_examples() -> Any:
    return nbformat.read(PATH, as_version=4)  # type: ignore[no-untyped-call]  # it has no types


def test_it_is_kept_without_outputs() -> None:
    for cell in notebook_of_examples().cells:
        if cell.cell_type == "code":
            assert not cell.outputs
            assert cell.execution_count is None


@pytest.mark.slow
# How a kernel of Jupyter makes ready is not ours to be strict with.
@pytest.mark.filterwarnings("default")
def test_it_runs_and_draws() -> None:
    notebook = notebook_of_examples()
    for cell in notebook.cells:
        cell.source = cell.source.replace("PAUSE = 0.05", "PAUSE = 0")
    asked = nbformat.v4.new_code_cell(COUNTED)  # type: ignore[no-untyped-call]
    notebook.cells.append(asked)
    NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    drawn = [each for cell in notebook.cells[:-1] for each in cell.get("outputs", ())]
    assert any("image/png" in each.get("data", {}) for each in drawn)
    expected = dict.fromkeys(("t1", "t2", "t3"), CLOSES)
    assert asked.outputs[0]["data"]["text/plain"] == str(expected)
