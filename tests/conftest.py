"""What tests share: one local Spark session and one broker, because they take seconds to start."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from headrace.errors import MachineError
from tests import fuzzing
from tests.brokers.kafka import kafka_broker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["kafka_broker"]

SOURCE = Path(__file__).parent.parent / "src"

# How long an example takes says nothing on a machine that others use too.
settings.register_profile("headrace", deadline=None)
settings.load_profile("headrace")


def pytest_report_header() -> str:
    """Say which seed random tests have, so that a run can be repeated."""
    return fuzzing.header()


@pytest.hookimpl(tryfirst=True)  # before the plugin of hypothesis reads the option
def pytest_configure(config: pytest.Config) -> None:
    """Give all random tests the same seed; the workers of pytest-xdist inherit it."""
    if config.option.hypothesis_seed is None:
        config.option.hypothesis_seed = str(fuzzing.seed())


JVMS = "jvms"
PROCESSES = "processes"
"""What one worker runs: two brokers or sessions of Spark on two cores would only wait for each
other. Servers, browsers and other processes go to another worker."""
STARTS_JVMS = frozenset(("spark", "brokers", "ingest"))
STARTS_PROCESSES = frozenset(("browser", "graphs", "serve", "console", "disk", "clock"))

OUTSIDE = frozenset(
    (
        *("brokers", "ingest", "browser", "serve", "console", "background", "documentation"),
        *("clock", "disk"),
        *("test_cluster.py", "test_demo.py", "test_deployed.py", "test_faults.py", "test_kafka.py"),
        *("test_kafka_runs.py", "test_kills.py", "test_operation.py", "test_sockets.py"),
        *("test_examples.py", "test_processor_time.py", "test_topics.py"),
    )
)
"""Folders and files of tests that talk to other processes, which a busy machine may hold up."""


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist looks for groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave what takes long to `make long`, and share the rest out to workers, if there are any."""
    groups = {id(item): _group(item) for item in items}
    for item in items:
        item.add_marker(pytest.mark.xdist_group(groups[id(item)]))
        if not OUTSIDE.isdisjoint((item.path.parent.name, item.path.name)):
            item.add_marker(pytest.mark.flaky(reruns=1))
    longest_first = {JVMS: 0, PROCESSES: 1}
    items.sort(key=lambda item: longest_first.get(groups[id(item)], 2))
    if os.environ.get("HEADRACE_LONG"):
        return
    skipped = pytest.mark.skip(reason="takes minutes: `make long` runs it")
    for item in items:
        if item.get_closest_marker("long"):
            item.add_marker(skipped)


def _group(item: pytest.Item) -> str:
    """All tests of a file go to one worker; so do all that start JVMs, and other processes."""
    folder = item.path.parent.name
    if item.get_closest_marker("spark") is not None or folder in STARTS_JVMS:
        return JVMS
    return PROCESSES if folder in STARTS_PROCESSES else str(item.path)


class _Texts(logging.Handler):
    """Collects messages."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())


@pytest.fixture(autouse=True)
def nothing_unexpected(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test in which an evaluation failed unexpectedly: the engine may go on without it."""
    handler, logger = _Texts(), logging.getLogger("headrace.unexpected")
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    yield
    logger.removeHandler(handler)
    if request.node.get_closest_marker("unexpected") is None:
        assert not handler.texts


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A local session, as users get it."""
    from headrace.spark.java import find_java
    from headrace.spark.session import start

    try:
        find_java()
    except MachineError as error:
        pytest.skip(str(error))
    # Workers import headrace; when tests run without an installation they find it here.
    paths = [str(SOURCE), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    session = start(cores=2, log=tmp_path_factory.mktemp("spark") / "spark.log")
    yield session
    session.stop()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Report after `make long` whether it ran every test that it selected."""
    if not os.environ.get("HEADRACE_LONG"):
        return
    ran = sum(len(terminalreporter.getreports(outcome)) for outcome in ("passed", "failed"))
    skipped = len(terminalreporter.getreports("skipped"))
    terminalreporter.section("long tests")
    terminalreporter.line(
        f"{ran} run, nothing skipped"
        if not skipped
        else f"{ran} run, {skipped} skipped: the reasons are listed above"
    )
