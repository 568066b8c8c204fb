"""Whatever fails at whatever moment: the same command goes on, and nobody can tell from results."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from headrace.pipeline.faults import ONCE, POINTS, STALL, VARIABLE

from .jobs import Place, Written, write_streams

pytestmark = pytest.mark.slow

_ONLY_ONCE = {"source-log", "source-logged", "final"}
"""What a run that ends comes to once; elsewhere the fault is in the midst of the run."""


@pytest.fixture(scope="module")
def streams(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_streams(tmp_path_factory.mktemp("input"))


@pytest.fixture(scope="module")
def calm(streams: Path, tmp_path_factory: pytest.TempPathFactory) -> Written:
    """What a run without faults writes."""
    place = Place(streams, tmp_path_factory.mktemp("calm")).prepared()
    done = place.run()
    assert done.exit_code == 0, done.stderr
    found = place.written()
    assert all(found.lines.values()), "something of everything"
    assert len(found.parts) > 4
    return found


@pytest.fixture
def place(streams: Path, tmp_path: Path) -> Place:
    return Place(streams, tmp_path).prepared()


def fault(point: str, kind: str) -> str:
    return f"{point} {kind} {1 if point in _ONLY_ONCE else 3}"


def goes_on(place: Place, calm: Written) -> None:
    done = place.run()
    assert done.exit_code == 0, done.stderr
    assert place.written() == calm


@pytest.mark.parametrize("point", POINTS)
def test_a_killed_run_goes_on(point: str, place: Place, calm: Written) -> None:
    process = place.started(**{VARIABLE: fault(point, "kill")})
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    goes_on(place, calm)


@pytest.mark.parametrize("point", POINTS)
def test_a_mistake_of_ours_is_reported_and_the_run_goes_on(
    point: str, place: Place, calm: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setenv(VARIABLE, fault(point, "raise"))
        done = place.run()
    assert done.exit_code == 1
    assert "please report it" in done.stderr
    assert "Traceback" not in done.stderr
    goes_on(place, calm)


@pytest.mark.parametrize("point", POINTS)
def test_a_full_disk_is_named_and_the_run_goes_on(
    point: str, place: Place, calm: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setenv(VARIABLE, fault(point, "full"))
        done = place.run()
    assert done.exit_code == 1
    assert f"cannot write {place.checkpoint}" in done.stderr
    assert "make room there, then run the same command again" in done.stderr
    goes_on(place, calm)


@pytest.mark.parametrize("point", POINTS)
def test_a_stall_changes_nothing(
    point: str, place: Place, calm: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, fault(point, "stall"))
    slept: list[float] = []
    monkeypatch.setenv(STALL, "0.25")
    monkeypatch.setattr("headrace.pipeline.faults.sleep", slept.append)
    done = place.run()
    assert done.exit_code == 0, done.stderr
    assert slept == [0.25]
    assert place.written() == calm


def test_one_fault_after_the_other(place: Place, calm: Written) -> None:
    """Each run gets a little further than the one before."""
    for point in POINTS[::4]:
        process = place.started(**{VARIABLE: f"{point} kill 2"})
        process.communicate()
    goes_on(place, calm)


def test_a_run_that_dies_before_it_has_an_identity_can_be_begun(
    streams: Path, tmp_path: Path, calm: Written
) -> None:
    place = Place(streams, tmp_path)
    process = place.started(**{VARIABLE: "manifest-drafted kill 1"})
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert not (place.checkpoint / "deployment.json").exists()
    goes_on(place.prepared(), calm)


IN_WORKERS = {"pane", "pane-written", "part-evaluated"}
"""What tasks come to: Spark does such a task again, and the run goes on."""
ALWAYS = {("pane", "kill"), ("manifest-committed", "kill")}
KINDS = {"kill": -signal.SIGKILL, "raise": 1, "full": 1, "stall": 0}
"""What a process ends with."""


@pytest.mark.spark
@pytest.mark.parametrize(
    ("point", "kind"),
    [
        pytest.param(point, kind, marks=[] if (point, kind) in ALWAYS else pytest.mark.long)
        for point in POINTS
        for kind in KINDS
    ],
)
def test_faults_on_spark(
    point: str, kind: str, streams: Path, tmp_path: Path, calm: Written
) -> None:
    place = Place(streams, tmp_path, 2, "spark").prepared()
    mark = tmp_path / "failed once"
    number = 1 if point in _ONLY_ONCE else 2
    process = place.started(**{VARIABLE: f"{point} {kind} {number}", ONCE: str(mark)})
    _, said = process.communicate()
    assert mark.exists(), said
    expected = 0 if point in IN_WORKERS else KINDS[kind]
    assert process.returncode == expected, said
    assert "Traceback" not in said
    if expected:
        process = place.started()
        _, said = process.communicate()
        assert process.returncode == 0, said
    found = place.written()
    assert found.lines == calm.lines
    assert found.rows.equals(calm.rows)
