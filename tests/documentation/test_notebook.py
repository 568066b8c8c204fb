"""The notebook runs from its first to its last cell in a kernel, without a server."""

from __future__ import annotations

import nbformat
import pytest
from nbclient import NotebookClient

from tests.shared import ROOT

PATH = ROOT / "examples" / "live_plots.ipynb"


def test_it_is_kept_without_outputs() -> None:
    for cell in nbformat.read(PATH, as_version=4).cells:
        if cell.cell_type == "code":
            assert not cell.outputs
            assert cell.execution_count is None


@pytest.mark.slow
# How a kernel of Jupyter makes ready is not ours to be strict with.
@pytest.mark.filterwarnings("default")
def test_it_runs_and_draws() -> None:
    notebook = nbformat.read(PATH, as_version=4)
    for cell in notebook.cells:
        cell.source = cell.source.replace("PAUSE = 0.05", "PAUSE = 0")
    NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    drawn = notebook.cells[-2].outputs
    assert any("image/png" in each.get("data", {}) for each in drawn)
    counted = notebook.cells[-2]
    assert counted.execution_count == 4


def test_what_it_plots_is_what_was_said() -> None:
    """The cells without drawing, in this process: the last mean is over the last readings."""
    names: dict[str, object] = {}
    cells = [each for each in nbformat.read(PATH, as_version=4).cells if each.cell_type == "code"]
    code = "\n".join(each.source for each in cells)
    quiet = "import matplotlib\nmatplotlib.use('Agg')\n" + code.replace("PAUSE = 0.05", "PAUSE = 0")
    exec(quiet.replace("draw()\n", "pass\n").replace("def pass", "def draw()"), names)
    lines = names["lines"]
    assert isinstance(lines, dict)
    assert sorted(lines) == ["t1", "t2", "t3"]
    assert all(times == sorted(times) for times, _ in lines.values())
