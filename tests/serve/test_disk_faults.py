"""Faults of the disk under a server: it goes on with equal output, or refuses by name."""

from __future__ import annotations

import errno
import fcntl
import io
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from starlette.testclient import TestClient

from headrace.doctor import Status
from headrace.errors import HeadraceError, SettingError
from headrace.serve import location_checks
from headrace.serve.app import application
from headrace.serve.place import Place
from headrace.serve.settings import Settings
from tests.damage import ALL, flipped, named, truncated
from tests.serve.clients import (
    BASE,
    COUNT,
    PATIENCE,
    evaluations,
    passages,
    push,
    register,
    served,
    until,
    with_cars,
)

GRAPH = "http://example.org/graph"
OTHER = "http://example.org/other"
VANS = "http://example.org/vans"
STATEMENT = "<http://x/a> <http://x/b> <http://x/c> ."
BEFORE, AFTER = 20, 40
"""Seconds of passages that are pushed before the damage, and in all."""


def put_graph(client: TestClient, name: str, text: str) -> int:
    headers = {"Content-Type": "text/turtle"}
    status: int = client.put(
        "/store", params={"graph": name}, content=text, headers=headers
    ).status_code
    return status


def results(client: TestClient) -> list[dict[str, Any]]:
    """Push the rest, and look at all that the query has reported and the server still has."""
    push(client, passages(BEFORE, AFTER))
    end = 1000 * (AFTER - 5)
    until(lambda: any(each["at"] == end for each in evaluations(client, "counts", 1)))
    return evaluations(client, "counts", 1)


@dataclass(frozen=True)
class Stopped:
    """A server that was stopped, and what it reports if nothing is damaged."""

    location: Path
    kept: Path
    calm: list[dict[str, Any]]

    @property
    def place(self) -> Place:
        return Place(self.location)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Stopped:
    folder = tmp_path_factory.mktemp("faults")
    location = folder / "data"
    with served(location) as client:
        with_cars(client)
        client.put("/streams/vans", json={"iri": VANS, "time": "said"})
        shutil.copy(Place(location).catalogue, folder / "older.json")
        register(client, COUNT, name="counts")
        register(client, COUNT, name="paused")
        client.post("/queries/paused/pause")
        assert put_graph(client, GRAPH, STATEMENT) == 201
        shutil.copy(Place(location).static / "index.json", folder / "older-index.json")
        assert put_graph(client, OTHER, STATEMENT) == 201
        push(client, passages(0, BEFORE), **{"Idempotency-Key": "first"})
        evaluations(client, "counts", BEFORE // 5 - 1)
    shutil.copytree(location, folder / "kept")
    with served(location) as client:
        return Stopped(location, folder / "kept", results(client))


@pytest.fixture
def stopped(made: Stopped) -> Stopped:
    shutil.rmtree(made.location)
    shutil.copytree(made.kept, made.location)
    return made


@contextmanager
def opened(location: Path) -> Iterator[tuple[TestClient, str | None]]:
    """Start a server, and say why it does not get ready, if it does not."""
    settings = Settings(location, interval=0.02)
    with TestClient(application(settings), base_url=BASE) as client:
        ends = time.monotonic() + PATIENCE
        while time.monotonic() < ends:
            answer = client.get("/readyz")
            if answer.status_code == 200:
                yield client, None
                return
            if "starting" not in answer.text:
                yield client, answer.json()["detail"]
                return
            time.sleep(0.02)
        raise AssertionError("the server does not begin")


def refusal(location: Path) -> str | None:
    """Say why a server refuses a directory, if it does."""
    try:
        with opened(location) as (_, problem):
            return problem
    except HeadraceError as error:
        return str(error)


# -- damage ----------------------------------------------------------------------------------------


def older(path: Path) -> None:
    name = "older.json" if path.name == "catalogue.json" else "older-index.json"
    shutil.copy(path.parents[1 if path.name == "catalogue.json" else 2] / name, path)


def catalogue(stopped: Stopped) -> Path:
    return stopped.place.catalogue


def catalogue_copy(stopped: Stopped) -> Path:
    return stopped.place.catalogue_copy


def index(stopped: Stopped) -> Path:
    return stopped.place.static / "index.json"


def graph(stopped: Stopped) -> Path:
    return min(stopped.place.static.glob("*.nt"))


def kept_results(stopped: Stopped) -> Path:
    return stopped.place.results


def segment(stopped: Stopped) -> Path:
    return max(stopped.place.logs.glob("*/*.ndjson"), key=lambda path: path.stat().st_size)


def manifest(stopped: Stopped) -> Path:
    return max(stopped.place.deployment.glob("manifest/*.json"), key=lambda path: int(path.stem))


def pane(stopped: Stopped) -> Path:
    return max((stopped.place.deployment / "panes").iterdir())


def source_log(stopped: Stopped) -> Path:
    return stopped.place.deployment / "source.log"


def settled(stopped: Stopped) -> Path:
    return stopped.place.deployment / "settled.json"


def identity(stopped: Stopped) -> Path:
    return stopped.place.deployment / "deployment.json"


Find = Callable[[Stopped], Path]
Damage = Callable[[Path], None]
DAMAGES: list[tuple[Find, Damage]] = [
    *((catalogue, how) for how in (*ALL, older)),
    *((catalogue_copy, how) for how in ALL),
    *((index, how) for how in (*ALL, older)),
    *((graph, how) for how in ALL),
    *((kept_results, how) for how in ALL),
    *((segment, how) for how in ALL),
    *((manifest, how) for how in ALL),
    *((pane, how) for how in ALL),
    *((source_log, how) for how in ALL),
    *((settled, how) for how in ALL),
    *((identity, how) for how in ALL),
]
REMEDIES = ("doctor --checkpoint", "put it back", "put the file back", "put that file back", "move")


@pytest.mark.parametrize(("find", "damage"), DAMAGES, ids=named)
def test_damage_is_recovered_or_refused_by_name(
    find: Find, damage: Damage, stopped: Stopped
) -> None:
    path = find(stopped)
    damage(path)
    logs = sorted(each.name for each in stopped.place.logs.iterdir())
    findings = list(location_checks.examine(stopped.location))
    problem = refusal(stopped.location)
    assert sorted(each.name for each in stopped.place.logs.iterdir()) == logs
    if problem is None:
        assert not [each for each in findings if each.status is Status.FAIL]
        check_equal(stopped, find)
        return
    assert path.name in problem or str(path.parent) in problem, problem
    assert any(remedy in problem for remedy in REMEDIES), problem
    wrong = [each for each in findings if each.status is Status.FAIL]
    places = (path.name, f"{path.parent} ")  # a folder from which all files are gone
    assert any(place in each.detail for each in wrong for place in places), findings
    assert any(each.remedy for each in wrong)


def check_equal(stopped: Stopped, find: Find) -> None:
    with served(stopped.location) as client:
        found = results(client)
        expected = stopped.calm
        if find is kept_results:  # old results may be gone, and new ones are the same
            expected = expected[-len(found) :]
        assert [each["rows"] for each in found] == [each["rows"] for each in expected]
        graphs = {GRAPH, OTHER}
        assert all(
            client.get("/store", params={"graph": each}).status_code == 200 for each in graphs
        )


MENDED: list[tuple[Find, Damage]] = [
    *((catalogue, how) for how in (*ALL, older)),
    *((kept_results, how) for how in (truncated, flipped)),
    (segment, flipped),
    (settled, flipped),
]


@pytest.mark.parametrize(("find", "damage"), MENDED, ids=named)
def test_doctor_repairs(find: Find, damage: Damage, stopped: Stopped) -> None:
    damage(find(stopped))
    output = io.StringIO()
    assert location_checks.main(stopped.location, Console(file=output)) == 1
    assert "--repair" in output.getvalue()
    assert location_checks.main(stopped.location, Console(file=output), mend=True) == 0
    with served(stopped.location) as client:
        found = results(client) if find is not segment else []
    if find is not segment:
        rows = [each["rows"] for each in stopped.calm]
        assert [each["rows"] for each in found] == rows[len(rows) - len(found) :]


def test_a_running_server_is_not_repaired(stopped: Stopped) -> None:
    with served(stopped.location), pytest.raises(SettingError, match="in use"):
        location_checks.repair(stopped.location)


def test_doctor_agrees_with_the_server_about_the_folder_of_a_log(stopped: Stopped) -> None:
    folder = segment(stopped).parent
    shutil.rmtree(folder)
    assert "--repair" in str(refusal(stopped.location))
    wrong = [each for each in location_checks.examine(stopped.location) if each.remedy]
    assert [str(folder) in each.detail for each in wrong] == [True]
    assert str(folder) in "\n".join(location_checks.repair(stopped.location))
    assert refusal(stopped.location) is None


def test_a_server_does_not_read_its_logs_again_without_its_deployment(stopped: Stopped) -> None:
    shutil.rmtree(stopped.place.deployment)
    problem = refusal(stopped.location)
    assert problem is not None
    assert f"{stopped.place.deployment / 'deployment.json'} is missing" in problem
    assert "put it back from a backup" in problem
    wrong = [each for each in location_checks.examine(stopped.location) if each.remedy]
    assert [each.name for each in wrong] == ["identity"]
    shutil.rmtree(stopped.place.logs)
    stopped.place.catalogue.unlink()
    stopped.place.catalogue_copy.unlink()
    assert refusal(stopped.location) is None


def test_a_lost_index_of_graphs_is_put_back_from_a_backup(stopped: Stopped) -> None:
    flipped(index(stopped))
    problem = refusal(stopped.location)
    assert problem is not None
    assert problem.endswith("; put it back from a backup")
    assert "doctor" not in problem


# -- failed writes ---------------------------------------------------------------------------------


@contextmanager
def failing(name: str, kind: str, times: int = 1) -> Iterator[list[str]]:
    """Let writes of the files of a name fail so many times: in part, or when they are synced."""
    write, fsync = os.write, os.fsync
    hit: list[str] = []

    def is_hit(handle: int) -> bool:
        path = Path(f"/proc/self/fd/{handle}").readlink()
        # A deployment syncs what it reads of a log as well.
        is_written = fcntl.fcntl(handle, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY
        return len(hit) < times and name in str(path) and is_written

    def faulty_write(handle: int, data: Any) -> int:
        if kind == "short" and is_hit(handle):
            hit.append("short")
            write(handle, bytes(data)[: max(1, len(data) // 2)])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(handle, data)

    def faulty_fsync(handle: int) -> None:
        if kind == "fsync" and is_hit(handle):
            hit.append("fsync")
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        fsync(handle)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "write", faulty_write)
        patch.setattr(os, "fsync", faulty_fsync)
        yield hit


@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.parametrize("kind", ["short", "fsync"])
@pytest.mark.parametrize("name", ["source.log", "results.ndjson"])
def test_a_failed_write_is_made_up_for(name: str, kind: str, times: int, stopped: Stopped) -> None:
    with failing(name, kind, times) as hit, served(stopped.location) as client:
        found = results(client)
    assert len(hit) == times
    assert [each["rows"] for each in found] == [each["rows"] for each in stopped.calm]
    assert [each["id"] for each in found] == [each["id"] for each in stopped.calm]
    assert refusal(stopped.location) is None


@pytest.mark.parametrize("kind", ["short", "fsync"])
def test_a_failed_append_to_a_log_is_refused_and_may_be_repeated(
    kind: str, stopped: Stopped
) -> None:
    with served(stopped.location) as client:
        # The server tries by itself whether the disk takes writes again, more than once.
        with failing("streams/", kind, times=1_000) as hit:
            answer = client.post(
                "/streams/cars",
                content=passages(BEFORE, AFTER),
                headers={"Content-Type": "application/vnd.headrace.timed-n-quads"},
            )
            refused = client.get("/readyz")
        assert answer.status_code == 503, answer.text
        assert set(hit) == {kind}
        assert refused.status_code == 503
        assert "pushes to stream 'cars' are refused" in refused.json()["detail"]
        assert client.get("/readyz").status_code == 200
        found = results(client)
    assert [each["rows"] for each in found] == [each["rows"] for each in stopped.calm]


@pytest.mark.parametrize("change", ["register", "pause", "resume", "remove", "stream", "drop"])
def test_a_failed_write_of_the_catalogue_changes_nothing(change: str, stopped: Stopped) -> None:
    requests: dict[str, Callable[[TestClient], Any]] = {
        "register": lambda c: c.post("/queries", json={"text": COUNT, "name": "new"}),
        "pause": lambda c: c.post("/queries/counts/pause"),
        "resume": lambda c: c.post("/queries/paused/resume"),
        "remove": lambda c: c.delete("/queries/counts"),
        "stream": lambda c: c.put("/streams/new", json={"iri": "http://example.org/new"}),
        "drop": lambda c: c.delete("/streams/vans"),
    }
    with served(stopped.location) as client:
        before = state(client)
        with failing("catalogue.json", "fsync") as hit:
            answer = requests[change](client)
        assert hit == ["fsync"]
        assert answer.status_code == 503, answer.text
        assert "catalogue.json" in answer.text
        assert state(client) == before
        # What is said to be running is evaluated.
        found = results(client)
        assert [each["rows"] for each in found] == [each["rows"] for each in stopped.calm]
        assert requests[change](client).status_code < 300
    assert refusal(stopped.location) is None


def state(client: TestClient) -> tuple[dict[str, str], list[str]]:
    queries = {each["name"]: each["state"] for each in client.get("/queries").json()["queries"]}
    return queries, sorted(each["name"] for each in client.get("/streams").json()["streams"])
