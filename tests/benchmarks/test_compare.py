"""Comparisons of the working tree with a revision, on a small repository."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import dedent

import _paired_ratios
import _revisions
import compare
import pytest
from _paired_ratios import Run, Side
from typer.testing import CliRunner

from headrace.cli import app
from headrace.errors import HeadraceError, MachineError, SettingError

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")

MAIN = """
import runpy, sys
from pathlib import Path
sys.argv = sys.argv[2:]
runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / f"{sys.argv[0]}.py"))
"""
BENCHMARK = """
'''Writes which code it is.'''
import os, sys, headrace
if len(sys.argv) == 1:
    sys.exit()
_, option, path, *rest = sys.argv
assert option == "--log"
with open(path, "a") as log:
    print(headrace.SIDE, *rest, headrace.__file__, file=log)
"""
FAILING = "print('\\n'.join(map(str, range(100)))); raise SystemExit('no data here')"


def git(folder: Path, *arguments: str) -> str:
    names = [*("-c", "user.name=n"), *("-c", "user.email=e"), *("-c", "commit.gpgsign=false")]
    done = subprocess.run(
        ["git", *names, *arguments], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@dataclass
class Repository:
    """A repository with two sides, and an environment without pip."""

    folder: Path
    built: list[Path] = field(default_factory=list)

    def write(self, path: str, text: str) -> None:
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).write_text(dedent(text))

    def build(self, checkout: Path) -> None:
        self.built.append(checkout)
        (checkout / ".venv" / "bin").mkdir(parents=True)
        (checkout / ".venv" / "bin" / "python").symlink_to(sys.executable)

    def compare(self, *arguments: str) -> int:
        return compare.run(arguments, self.folder, self.build)

    @property
    def cache(self) -> Path:
        return self.folder / ".cache" / "compare"

    @property
    def checkout(self) -> Path:
        return self.cache / git(self.folder, "rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.delenv(name, raising=False)
    made = Repository(tmp_path / "repository")
    made.write(".gitignore", ".cache/\n.venv/\n__pycache__/\n")
    made.write("src/headrace/__init__.py", "SIDE = 'revision'")
    made.write("src/headrace/__main__.py", MAIN)
    made.write("benchmarks/stub.py", BENCHMARK)
    made.write("benchmarks/failing.py", FAILING)
    git(made.folder, "init", "--quiet")
    git(made.folder, "add", ".")
    git(made.folder, "commit", "--quiet", "--message", "first")
    made.write("src/headrace/__init__.py", "SIDE = 'tree'")
    made.write("benchmarks/new.py", BENCHMARK)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    # Both would make both sides run the code of the working tree.
    monkeypatch.setenv("PYTHONPATH", str(made.folder / "src"))
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    return made


def allow_others(cores: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever else the machine does, all runs are valid, or none."""
    monkeypatch.setattr(_paired_ratios, "OTHERS", cores)


def test_both_sides_run_their_own_code_by_turns(
    repository: Repository, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    allow_others(1e9, monkeypatch)
    options = ["--log", "log.txt", "--json", "all.json", "--pairs", "2", "--", "--pairs", "7"]
    assert repository.compare("HEAD", "stub", *options) == 0

    lines = [line.split() for line in Path("log.txt").read_text().splitlines()]
    assert [side for side, *_ in lines] == [
        *("tree", "revision"),  # the warm-up
        *("tree", "revision"),
        *("revision", "tree"),
    ]
    assert {tuple(rest) for _, *rest, _ in lines} == {("--pairs", "7")}
    folders = {"tree": repository.folder, "revision": repository.checkout}
    assert all(file == str(folders[side] / "src/headrace/__init__.py") for side, *_, file in lines)

    found = json.loads(Path("all.json").read_text())
    assert found["benchmark"] == "stub"
    assert found["options"] == ["--log", "log.txt", "--pairs", "7"]
    assert found["tree"]["changed"]
    assert found["revision"]["commit"] == repository.checkout.name
    assert len(found["pairs"]) == 2
    assert all(each["tree"]["processor"] > 0 for each in found["pairs"])
    assert found["summary"]["is_valid"]
    said = capsys.readouterr().out
    assert "with changes) against HEAD (" in said
    assert "all pairs valid" in said
    assert "too few pairs for a 95 % interval" in said


def test_a_result_has_an_interval(
    repository: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    ratios = iter([0.5, 0.6, 0.7, 0.8, 0.9, 1.1, 1.2, 1.3, 1.4])
    runs = {side: Run(1, 1, 0) for side in Side}

    def measure(side: Side) -> Run:
        if side is Side.TREE and warm:
            return Run(next(ratios), 1, 0)
        warm.append(side)
        return runs[side]

    warm: list[Side] = []
    asked, options = compare.options_of(["HEAD", "stub", "--same-environment"])
    comparison = compare.prepare(repository.folder, asked, options, repository.build)
    pairs, summary = compare.compare(comparison, measure)
    assert (
        "working tree / HEAD, processor time of whole runs: median 0.900, 95 % interval"
        " 0.600 to 1.300 (order statistics 2 and 8 of 9 ratios, 96.1%); no difference was shown"
    ) in compare.report_of(comparison, pairs, summary)
    assert capsys.readouterr().out.count("\n") == 11


def test_a_busy_machine_gives_no_result(
    repository: Repository, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    allow_others(-1, monkeypatch)
    assert repository.compare("HEAD", "stub", "--pairs", "1", "--retries", "1") == 1
    said = capsys.readouterr().out
    assert said.count("  not valid") == 2
    assert "2 of 2 pairs not valid" in said
    assert "NO VALID RESULT: 1 valid pairs are needed" in said


def test_an_environment_is_built_once_and_again_if_it_is_not_complete(
    repository: Repository,
) -> None:
    def prepared(*options: str) -> compare.Comparison:
        asked, rest = compare.options_of(["HEAD", "stub", *options])
        return compare.prepare(repository.folder, asked, rest, repository.build)

    assert prepared("--same-environment").revision.python == Path(sys.executable)
    assert repository.built == []
    assert prepared().revision.python == repository.checkout / ".venv/bin/python"
    prepared()
    assert repository.built == [repository.checkout]
    (repository.checkout / _revisions.MARKER).unlink()
    prepared()
    assert len(repository.built) == 2
    # A file that somebody changed there, and a folder that somebody deleted.
    (repository.checkout / "benchmarks/stub.py").write_text("")
    prepared()
    assert (repository.checkout / "benchmarks/stub.py").read_text()
    subprocess.run(["rm", "-r", repository.checkout], check=True)
    prepared()
    assert len(repository.built) == 4


def test_clean_removes_all(repository: Repository, capsys: pytest.CaptureFixture[str]) -> None:
    asked, rest = compare.options_of(["HEAD", "stub"])
    compare.prepare(repository.folder, asked, rest, repository.build)
    (repository.cache / "unknown-to-git").mkdir()
    assert repository.compare("--clean") == 0
    assert f"checkouts removed from {repository.cache}: 2\n" in capsys.readouterr().out
    assert list(repository.cache.iterdir()) == []
    assert len(git(repository.folder, "worktree", "list").splitlines()) == 1
    assert (repository.folder / "benchmarks/stub.py").exists()


def test_what_cannot_be_compared_is_refused(repository: Repository) -> None:
    def refused(error: type[HeadraceError], says: str, *arguments: str) -> None:
        with pytest.raises(error, match=says):
            repository.compare(*arguments)

    refused(SettingError, "unknown revision 'none'; expected", "none", "stub")
    refused(SettingError, "unknown benchmark 'none'; known are failing, new, stub", "HEAD", "none")
    missing = "revision 'HEAD' has no benchmark 'new'; it has failing, stub"
    refused(SettingError, missing, "HEAD", "new")
    assert repository.built == []
    assert not repository.cache.exists()
    failed = r"'failing' of working tree failed with 1\n(.*\n)+99\nno data here"
    refused(compare.BenchmarkError, failed, "HEAD", "failing")
    Path("headrace").mkdir()
    refused(SettingError, "a folder 'headrace', which both sides", "HEAD", "stub")


def test_a_folder_inside_another_repository_is_no_checkout(repository: Repository) -> None:
    inner = repository.folder / "inner"
    (inner / "benchmarks").mkdir(parents=True)
    (inner / "benchmarks" / "stub.py").touch()
    with pytest.raises(SettingError, match="is not a git checkout of Headrace"):
        compare.run(["HEAD", "stub"], inner, repository.build)
    with pytest.raises(SettingError, match="is not a git checkout of Headrace"):
        compare.run(["--clean"], inner, repository.build)


def test_without_git_there_is_an_error(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(MachineError, match="git was not found"):
        repository.compare("HEAD", "stub")


def test_a_failure_of_pip_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The build ends at its first step: no package is fetched."""
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'x'\nversion = '1'\n")
    program = "import sys; print('long ago\\n' * 99, 'no such package'); sys.exit(1)"
    made: list[list[str]] = []
    run: Callable[[list[str], Path], str] = _revisions._run

    def failing(command: list[str], folder: Path) -> str:
        made.append(command)
        if "pip" in command:
            return run([sys.executable, "-c", program], folder)
        return ""

    monkeypatch.setattr(_revisions, "_run", failing)
    with pytest.raises(MachineError, match=r"failed with 1\n(.*long ago\n){14} no such package"):
        _revisions.build_environment(tmp_path)
    assert [command[1:3] for command in made] == [["-m", "venv"], ["-m", "pip"]]


def test_options_of_the_benchmark_are_left() -> None:
    arguments = ["HEAD~1", "decode", "--lines", "4", "--pairs", "3", "--pair", "--", "--clean"]
    asked, options = compare.options_of(arguments)
    assert (asked.revision, asked.name, asked.pairs, asked.clean) == ("HEAD~1", "decode", 3, False)
    assert options == ["--lines", "4", "--pair", "--clean"]
    asked, _ = compare.options_of(["--pairs", "3", "HEAD~1", "decode"])
    assert (asked.revision, asked.name, asked.pairs) == ("HEAD~1", "decode", 3)


def test_the_command_line_reports_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", sys.argv)
    monkeypatch.setattr(sys, "path", [*sys.path])
    done = CliRunner().invoke(app, ["bench", "compare", "HEAD", "nothing"])
    assert done.exit_code == 2
    assert "unknown benchmark 'nothing'; known are acqua, cqels" in done.stderr
    assert CliRunner().invoke(app, ["bench", "compare", "HEAD"]).exit_code == 2
    few = CliRunner().invoke(app, ["bench", "compare", "HEAD", "parse", "--pairs", "0"])
    assert few.exit_code == 2
    assert "--pairs must be at least 1" in few.stderr
    absent = CliRunner().invoke(app, ["bench", "compare", "HEAD", "parse", "--json", "none/a.json"])
    assert absent.exit_code == 2
    assert "there is no folder none" in absent.stderr
