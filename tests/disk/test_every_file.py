"""Every file of a server's directory, damaged in every way: equal output, or a refusal by name."""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from starlette.testclient import TestClient

from headrace.doctor import Finding, Status
from headrace.errors import HeadraceError
from headrace.serve import location_checks
from tests.damage import (
    ALL,
    MORE,
    deleted,
    flipped,
    grown_by_a_line,
    grown_by_zeros,
    named,
    replaced_by_a_folder,
    truncated,
)
from tests.disk.whole_server import (
    AFTER,
    BEFORE,
    OLD_GRAPH,
    QUERIES,
    SMALL,
    all_read,
    content_of,
    graphs,
    kept,
    make,
    push,
    put_graph,
    states,
    streams,
)
from tests.serve.clients import evaluations, served, until
from tests.serve.test_disk_faults import opened

pytestmark = pytest.mark.slow

END = AFTER + 10
"""Seconds of passages that are pushed in all."""
KINDS = (
    "catalogue.json",
    "catalogue.copy.json",
    "results.ndjson",
    "static/index.json",
    "static/*.nt",
    "streams/*/*.ndjson",
    "streams/*/recent-ids",
    "streams/*/lock",
    "deployment/.lock",
    "deployment/deployment.json",
    "deployment/source.log",
    "deployment/settled.json",
    "deployment/committed",
    "deployment/manifest/*",
    "deployment/memory/*",
    "deployment/panes/*",
    "deployment/results/*",
)
FORGETFUL = ("results.ndjson", "streams/*/recent-ids", "streams/*/*.ndjson")
"""What is repaired without what was in it: old results, and the keys of old pushes."""
UNREPAIRED = ("static/index.json", "static/*.nt", "deployment/deployment.json")
"""What nothing else has: it can only be put back, unless the damage spares what was read."""
REMEDIES = ("doctor --checkpoint", "put it back", "put the file back", "put that file back", "move")
Damage = Callable[[Path], None]


@dataclass(frozen=True)
class Everything:
    """What a server answers in the end.

    Attributes:
        results: the last evaluations of each query.
        duplicates: whether some pushes were recognised as repeated.
        others: graphs, streams and states.
    """

    results: dict[str, list[tuple[float, Any]]]
    duplicates: tuple[bool, ...]
    others: Any


@dataclass(frozen=True)
class Made:
    """A stopped server with every kind of file, and what it comes to."""

    folder: Path
    calm: Everything

    @property
    def location(self) -> Path:
        return self.folder / "data"

    def put_back(self) -> None:
        shutil.rmtree(self.location)
        shutil.copytree(self.folder / "kept", self.location)

    def files(self, kind: str) -> list[Path]:
        """The files of a kind."""
        every = (path.relative_to(self.folder / "kept") for path in walk(self.folder / "kept"))
        return [path for path in every if fnmatch(str(path), kind)]


def walk(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file())


def finish(client: TestClient) -> Everything:
    """Push the rest, and look at all that a server has."""
    push(client, AFTER, END).raise_for_status()
    last = 1000 * (END - 5)
    found = {}
    for name in QUERIES:
        every = ended(client, name, last)
        assert [each["id"] for each in every] == sorted({each["id"] for each in every})
        found[name] = [(each["at"], content_of(each)) for each in every]
    repeated = (push(client, at, at + 2).json()["duplicate"] for at in (2, BEFORE + 10, AFTER - 2))
    contents = [
        sorted(client.get("/store", params={"graph": name}).text.splitlines())
        for name in graphs(client)
        if name is not None
    ]
    others = (graphs(client), contents, streams(client), states(client))
    return Everything(found, tuple(repeated), others)


def ended(client: TestClient, name: str, last: float) -> list[dict[str, Any]]:
    """The evaluations of a query, once there is one of an instant."""
    until(lambda: (every := kept(client, name)) and every[-1]["at"] >= last)
    return kept(client, name)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("every")
    location = folder / "data"
    make(location)
    shutil.copytree(location, folder / "older")
    with served(location, limits=SMALL) as client:
        for start in range(BEFORE, AFTER, 2):
            push(client, start, start + 2).raise_for_status()
        put_graph(client, "http://example.org/newer").raise_for_status()
        client.delete("/store", params={"graph": OLD_GRAPH}).raise_for_status()
        evaluations(client, "counts", AFTER // 5 - 1)
        all_read(client, AFTER)
        client.post("/queries/removed/pause").raise_for_status()
    shutil.copytree(location, folder / "kept")
    with served(location) as client:
        return Made(folder, finish(client))


def refusal_or_end(location: Path) -> str | Everything:
    """Start a server: why it refuses to go on, or all that it has in the end."""
    try:
        with opened(location) as (client, problem):
            if problem is None:
                return finish(client)
            assert "running" not in states(client).values()
            return problem
    except HeadraceError as error:
        return str(error)


def failures(location: Path) -> list[Finding]:
    return [each for each in location_checks.examine(location) if each.status is Status.FAIL]


def check_end(found: Everything, kind: str, made: Made) -> None:
    """Check that a server came to what it comes to without damage."""
    assert found.others == made.calm.others
    for name, every in made.calm.results.items():
        mine = found.results[name]
        assert mine
        if kind in FORGETFUL:
            assert mine == every[-len(mine) :]
        else:
            assert mine == every
    if kind not in FORGETFUL:
        assert found.duplicates == made.calm.duplicates


def older(made: Made, path: Path) -> bool:
    """Put an older copy of a file in its place; whether there is another one."""
    before = made.folder / "older" / path
    if not before.exists() or before.read_bytes() == (made.folder / "kept" / path).read_bytes():
        return False
    shutil.copy(before, made.location / path)
    return True


def check_damaged(made: Made, path: Path, kind: str) -> None:
    """Check a server with a damaged file: doctor agrees with it, and repairs what it can."""
    logs = sorted((made.location / "streams").iterdir())
    wrong = failures(made.location)
    found = refusal_or_end(made.location)
    assert sorted((made.location / "streams").iterdir()) == logs, "a log is deleted"
    if isinstance(found, Everything):
        assert not wrong, (path, wrong)
        check_end(found, kind, made)
        return
    is_named(path, found)
    assert any(remedy in found for remedy in REMEDIES), found
    assert any(path.name in each.detail or str(path.parent) in each.detail for each in wrong), path
    output = io.StringIO()
    code = location_checks.main(made.location, Console(file=output, width=10_000), mend=True)
    assert "nothing is damaged" not in output.getvalue()
    left = failures(made.location)
    assert (code == 0) == (not left)
    if left:
        assert may_stay(made, path, kind), output.getvalue()
        assert any(path.name in each.detail for each in left), left
        assert any(each.remedy for each in left)
        return
    mended = refusal_or_end(made.location)
    assert isinstance(mended, Everything), mended
    check_end(mended, kind, made)


def may_stay(made: Made, path: Path, kind: str) -> bool:
    """Whether no repair is known: for what nothing else has, and folders that a user has made."""
    return kind in UNREPAIRED or (made.location / path).is_dir()


def is_named(path: Path, said: str) -> None:
    assert str(path) in said or str(path.parent) in said or path.name in said, said


QUICK = (flipped, deleted)
GROWN = (deleted, replaced_by_a_folder, grown_by_a_line, grown_by_zeros)
"""The damages that an empty file can have."""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "damage",
    [
        *QUICK,
        *(
            pytest.param(each, marks=pytest.mark.long)
            for each in (*ALL, *MORE)
            if each not in QUICK
        ),
    ],
    ids=named,
)
def test_a_damaged_file_is_made_up_for_or_refused(damage: Damage, kind: str, made: Made) -> None:
    paths = made.files(kind)
    assert paths
    for path in paths:
        made.put_back()
        if (made.location / path).stat().st_size or damage in GROWN:
            damage(made.location / path)
            check_damaged(made, path, kind)


@pytest.mark.parametrize("kind", KINDS)
def test_an_older_file_is_made_up_for_or_refused(kind: str, made: Made) -> None:
    for path in made.files(kind):
        made.put_back()
        if older(made, path):
            check_damaged(made, path, kind)


@pytest.mark.parametrize("folder", ["static", "streams", "deployment", "deployment/manifest"])
def test_a_lost_folder_is_refused(folder: str, made: Made) -> None:
    made.put_back()
    shutil.rmtree(made.location / folder)
    wrong = failures(made.location)
    found = refusal_or_end(made.location)
    assert isinstance(found, str)
    path = str(made.location / folder)
    assert path in found
    assert any(remedy in found for remedy in REMEDIES), found
    assert any(path in each.detail for each in wrong), wrong
    assert all(each.remedy for each in wrong)


def test_a_server_goes_on_without_static_graphs_after_a_repair(made: Made) -> None:
    made.put_back()
    shutil.rmtree(made.location / "static")
    [done] = location_checks.repair(made.location)
    assert done.endswith("names no graph now: write the static graphs again")
    assert not failures(made.location)
    with served(made.location) as client:
        assert [name for name in graphs(client) if name is not None] == []
        put_graph(client, "http://example.org/newer").raise_for_status()


def test_every_file_is_of_a_kind(made: Made) -> None:
    kept = made.folder / "kept"
    every = {path.relative_to(kept) for path in walk(kept)}
    known = {path for kind in KINDS for path in made.files(kind)}
    assert every == known


def test_doctor_repairs_from_the_folder_of_the_deployment_as_well(made: Made) -> None:
    made.put_back()
    last = max((made.location / "deployment" / "manifest").iterdir(), key=lambda each: each.name)
    truncated(last)
    found = refusal_or_end(made.location)
    assert isinstance(found, str)
    assert f"{last} is damaged" in found
    assert f"headrace doctor --checkpoint {made.location}`" in found
    wrong = failures(made.location)
    assert any(f"--checkpoint {made.location} --repair" in each.remedy for each in wrong)
    done = "\n".join(location_checks.repair(made.location))
    aside = made.location / "taken-back" / "deployment" / "manifest" / last.name
    assert f"{last} is moved to {aside}" in done
    assert aside.exists()
    assert not failures(made.location)


def test_doctor_repairs_several_damages_at_once(made: Made) -> None:
    made.put_back()
    deleted(made.location / "deployment" / "source.log")
    flipped(made.location / "catalogue.json")
    newest = max(made.location.glob("streams/*/*.ndjson"), key=lambda path: path.stat().st_size)
    flipped(newest)
    assert location_checks.repair(made.location)
    assert not failures(made.location)
    found = refusal_or_end(made.location)
    assert isinstance(found, Everything)
    check_end(found, "streams/*/*.ndjson", made)
