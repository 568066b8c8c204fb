"""Runs on a disk that fails: each stops by name or survives, and the same command makes up for it.

The runs are real processes under a preloaded library: real short writes, full disks, failed syncs.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from headrace.doctor import Status, checkpoint
from tests.disk.faulty import FOREVER, FaultyDisk
from tests.pipeline.jobs import Place, Written, write_streams

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Cell:
    """A fault of a kind of file.

    Attributes:
        file: the pattern of its path below the directory of the run.
        operation: the call that fails.
        fault: how it fails; see `faulty.c`.
        first: which of the calls is the first to fail.
        times: how many of them fail.
        survives: whether the run goes on all the same.
    """

    file: str
    operation: str
    fault: str
    first: int = 1
    times: int = FOREVER
    survives: bool = False

    def __str__(self) -> str:
        """Name the test."""
        return f"{self.file}-{self.operation}-{self.fault}"


def cells(file: str, *kinds: str, first: int = 1) -> list[Cell]:
    """Make the cells of a kind of file; a short write is made up for at once."""
    pairs = [kind.split() for kind in kinds]
    return [
        Cell(file, operation, fault, first, survives=fault == "SHORT") for operation, fault in pairs
    ]


WRITES = ("write ENOSPC", "write EIO", "write TORN", "write SHORT")
SYNCS = ("fsync EIO", "fsync LOST")
EVERY: list[Cell] = [
    *cells("checkpoint/source.log", "create EROFS", *WRITES, *SYNCS),
    *cells("checkpoint/panes/*", "create EDQUOT", "unlink EROFS", *WRITES),
    *cells("checkpoint/memory/*", "create EROFS", "unlink EROFS", *WRITES, *SYNCS, first=2),
    *cells("checkpoint/results/*", "create EROFS", "unlink EROFS", *WRITES, *SYNCS, first=2),
    *cells("checkpoint/manifest/*", "link EDQUOT", "unlink EROFS", *WRITES, *SYNCS, first=2),
    *cells("checkpoint/manifest", *SYNCS, first=2),
    *cells("checkpoint/.settled.json", "create EROFS", *WRITES, *SYNCS),
    *cells("checkpoint/settled.json", "rename EIO"),
    *cells("checkpoint", *SYNCS),
    *cells("out.ndjson", "ftruncate EIO", *WRITES, *SYNCS),
    *cells("late.ndjson", *WRITES, *SYNCS),
    *cells("rejected.ndjson", *WRITES, *SYNCS),
    *cells("out.parquet/*", "create EROFS", "rename EIO", *WRITES, *SYNCS, first=2),
]
QUICK = {
    "checkpoint/source.log-write-TORN",
    "checkpoint/source.log-fsync-LOST",
    "checkpoint/manifest/*-fsync-LOST",
    "checkpoint/memory/*-write-SHORT",
    "checkpoint/results/*-write-ENOSPC",
    "checkpoint/settled.json-rename-EIO",
    "out.ndjson-fsync-EIO",
}


@pytest.fixture(scope="module")
def streams(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_streams(tmp_path_factory.mktemp("input"))


@pytest.fixture(scope="module")
def calm(streams: Path, tmp_path_factory: pytest.TempPathFactory) -> Written:
    """What a run on a good disk writes."""
    place = Place(streams, tmp_path_factory.mktemp("calm")).prepared()
    done = place.run()
    assert done.exit_code == 0, done.stderr
    return place.written()


def choice(cell: Cell) -> object:
    marks = [] if str(cell) in QUICK else [pytest.mark.long]
    return pytest.param(cell, marks=marks, id=str(cell))


def run_on(disk: FaultyDisk, place: Place) -> tuple[int, str]:
    """Run the job with a disk; its exit code and what it has written to standard error."""
    process = place.started(**disk.environment)
    _, said = process.communicate()
    return process.returncode, said


def is_made_up_for(place: Place, calm: Written) -> None:
    """Check that the same command goes on, and comes to what a calm run writes."""
    findings = list(checkpoint.examine(place.checkpoint))
    assert not [each for each in findings if each.status is Status.FAIL]
    done = place.run()
    assert done.exit_code == 0, done.stderr
    found = place.written()
    assert found.lines == calm.lines
    assert found.rows.equals(calm.rows)


@pytest.mark.parametrize("cell", [choice(each) for each in EVERY])
def test_a_failing_disk_is_named_and_made_up_for(
    cell: Cell, library: Path, streams: Path, calm: Written, tmp_path: Path
) -> None:
    place = Place(streams, tmp_path / "run").prepared()
    disk = FaultyDisk(library, tmp_path / "disk").prepared()
    pattern = f"{tmp_path}/run/{cell.file}"
    disk.fail(cell.operation, cell.fault, pattern, cell.first, cell.times)
    code, said = run_on(disk, place)
    assert disk.hits
    disk.recover()
    assert "Traceback" not in said
    if cell.survives:
        assert code == 0, said
    else:
        assert code == 1, said
        names_the_fault(cell, place, said)
    is_made_up_for(place, calm)


def names_the_fault(cell: Cell, place: Place, said: str) -> None:
    """Check that an error names the file, what the system said, and the remedy."""
    last = said.splitlines()[-1]
    folder = cell.file.removesuffix("/*").replace("/.", "/")
    assert f"cannot write {place.directory / folder}" in last, last
    assert "run" in last.rpartition(";")[2], last


@pytest.mark.parametrize("operation", ["open", "read"])
def test_a_source_that_cannot_be_read_is_named(
    operation: str, library: Path, streams: Path, calm: Written, tmp_path: Path
) -> None:
    place = Place(streams, tmp_path / "run").prepared()
    disk = FaultyDisk(library, tmp_path / "disk").prepared()
    disk.fail(operation, "EIO", f"{streams}/*.tnq", 8)
    code, said = run_on(disk, place)
    assert disk.hits
    disk.recover()
    assert code == 1, said
    assert "Traceback" not in said
    assert f"{streams}/" in said
    is_made_up_for(place, calm)


SPARK = ("checkpoint/source.log-fsync-LOST", "checkpoint/manifest/*-write-TORN")


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.parametrize(
    "cell",
    [each for each in EVERY if str(each) in SPARK or each.file == "checkpoint/results/*"],
    ids=str,
)
def test_a_failing_disk_is_made_up_for_on_spark(
    cell: Cell, library: Path, streams: Path, calm: Written, tmp_path: Path
) -> None:
    place = Place(streams, tmp_path / "run", runner="spark").prepared()
    disk = FaultyDisk(library, tmp_path / "disk").prepared()
    pattern = f"{tmp_path}/run/{cell.file}"
    disk.fail(cell.operation, cell.fault, pattern, cell.first, cell.times)
    code, said = run_on(disk, place)
    assert disk.hits
    disk.recover()
    assert "Traceback" not in said
    assert code == (0 if cell.survives else 1), said
    code, said = run_on(disk, place)
    assert code == 0, said
    found = place.written()
    assert found.lines == calm.lines
    assert found.rows.equals(calm.rows)
