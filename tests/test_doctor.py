from __future__ import annotations

import io
import socket
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from headrace import doctor
from headrace.doctor import Finding, Status, examine, is_ready, render
from headrace.errors import MachineError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def printed(finding: Finding) -> str:
    output = io.StringIO()
    render(finding, Console(file=output, width=200))
    return output.getvalue()


def test_everything_is_examined_and_every_problem_has_a_remedy() -> None:
    findings = list(examine(start_spark=False))
    assert [each.name for each in findings] == ["Python", "Java", "memory", "disk", "loopback"]
    assert all(each.detail for each in findings)
    assert all(bool(each.remedy) is (each.status is not Status.OK) for each in findings)


def test_without_java_it_says_how_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_JAVA_HOME", "/nowhere")
    found = doctor.check_java()
    assert found.status is Status.FAIL
    assert "/nowhere" in found.detail
    assert "headrace[java]" in found.remedy


def test_an_old_python_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 9, 1))
    assert doctor.check_python().status is Status.FAIL


def test_little_memory_or_disk_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "LEAST_MEMORY", 1 << 60)
    monkeypatch.setattr(doctor, "LEAST_DISK", 1 << 60)
    assert doctor.check_memory().status is Status.WARN
    assert doctor.check_disk().status is Status.WARN


def test_a_temporary_directory_that_cannot_be_written_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")
    found = doctor.check_disk()
    assert (found.status, "TMPDIR" in found.remedy) == (Status.FAIL, True)


def test_a_closed_loopback_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError("not permitted")

    monkeypatch.setattr(socket, "create_server", refuse)
    assert doctor.check_loopback().status is Status.FAIL


def test_a_warning_is_no_obstacle_but_a_failure_is() -> None:
    warning, failure = Finding("a", Status.WARN, "b", "c"), Finding("a", Status.FAIL, "b", "c")
    assert is_ready([warning])
    assert not is_ready([warning, failure])


def test_the_exit_status_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    output = io.StringIO()
    assert doctor.main(Console(file=output), start_spark=False) in (0, 1)
    assert "loopback" in output.getvalue()
    monkeypatch.setenv("HEADRACE_JAVA_HOME", "/nowhere")
    assert doctor.main(Console(file=output), start_spark=False) == 1


def test_a_finding_is_printed_with_its_remedy_below() -> None:
    assert printed(Finding("Java", Status.OK, "17")).split() == ["ok", "Java", "17"]
    lines = printed(Finding("Java", Status.FAIL, "none", "get [one]")).splitlines()
    assert lines[0].split() == ["fail", "Java", "none"]
    assert lines[1].strip() == "get [one]"
    assert "[red]" in printed(Finding("query", Status.WARN, "it is not [red]", "change it"))


def test_spark_that_does_not_start_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> str:
        raise MachineError("no")

    monkeypatch.setattr("headrace.spark.probe.probe", broken)
    assert doctor.check_spark().status is Status.FAIL


@pytest.mark.spark
def test_spark_that_starts_is_fine(spark: SparkSession) -> None:
    found = doctor.check_spark()
    assert (found.status, spark.version in found.detail) == (Status.OK, True)


def test_importing_the_commands_is_cheap() -> None:
    heavy = "{'pyspark', 'pandas', 'polars', 'pyarrow', 'rich'}"
    code = f"import sys, headrace.demo, headrace.doctor; print({heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
