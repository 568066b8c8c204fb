"""A damaged checkpoint never leads to a wrong result, and doctor knows what can be done."""

from __future__ import annotations

import io
import json
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from headrace.doctor import Status, checkpoint, is_ready
from headrace.errors import MachineError, SettingError
from headrace.pipeline.deployment import open_deployment, read_identity
from headrace.pipeline.faults import VARIABLE
from headrace.pipeline.layout import Layout
from headrace.pipeline.manifest import Manifest, batches_of, latest, read_manifest
from headrace.pipeline.pieces import Piece, read_pieces
from tests.damage import ALL, deleted, emptied, flipped, named, truncated

from .jobs import Place, Written, write_streams

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WIDE = (
    "REGISTER QUERY all AS SELECT (COUNT(*) AS ?n) FROM STREAM <cars> [RANGE 100s STEP 10s]"
    " { ?c <x:at> ?g }",
)


@dataclass(frozen=True)
class Stopped:
    """A run that was stopped in its midst, and can be put back into that state."""

    place: Place
    kept: Path
    calm: Written

    @property
    def layout(self) -> Layout:
        return Layout(self.place.checkpoint)

    @property
    def last(self) -> Manifest:
        return latest(self.layout)

    def put_back(self) -> None:
        shutil.rmtree(self.place.directory)
        shutil.copytree(self.kept, self.place.directory)


def stopped_run(place: Place, folder: Path, calm: Written, fault: str) -> Stopped:
    place.prepared()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, fault)
        done = place.run()
    assert done.exit_code == 1, done.stderr
    shutil.copytree(place.directory, folder / "kept")
    return Stopped(place, folder / "kept", calm)


def calm_run(place: Place) -> Written:
    done = place.prepared().run()
    assert done.exit_code == 0, done.stderr
    return place.written()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Stopped:
    folder = tmp_path_factory.mktemp("damage")
    streams = write_streams(folder / "streams")
    calm = calm_run(Place(streams, folder / "calm"))
    return stopped_run(Place(streams, folder / "run"), folder, calm, "stepped raise 5")


@pytest.fixture
def run(made: Stopped) -> Stopped:
    made.put_back()
    return made


# -- damage --------------------------------------------------------------------------------------


def of_another_version(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b'"format": 1', b'"format": 99', 1))


def manifest(run: Stopped, back: int = 0) -> Path:
    return run.layout.manifests / f"{run.last.batch - back}.json"


def one_before(run: Stopped) -> Path:
    return manifest(run, 1)


def memory(run: Stopped) -> Path:
    assert run.last.memory is not None
    return run.layout.memories / run.last.memory.name


def results(run: Stopped) -> Path:
    assert run.last.told is not None
    return run.layout.results / run.last.told.name


def pane(run: Stopped) -> Path:
    return run.layout.panes / run.last.panes[0].name


def source_log(run: Stopped) -> Path:
    return run.layout.source_log


def identity(run: Stopped) -> Path:
    return run.layout.identity


def lines(run: Stopped) -> Path:
    return run.place.directory / "out.ndjson"


def part(run: Stopped) -> Path:
    return run.place.directory / "out.parquet" / "part-0000000001.parquet"


Find = Callable[[Stopped], Path]
Damage = Callable[[Path], None]
REFUSED: list[tuple[Find, Damage]] = [
    *((manifest, how) for how in (truncated, emptied, flipped, of_another_version)),
    *((memory, how) for how in ALL),
    *((results, how) for how in ALL),
    *((source_log, how) for how in (*ALL, of_another_version)),
    *((identity, how) for how in (*ALL, of_another_version)),
    *((lines, how) for how in (emptied, deleted)),
    (part, deleted),
]
UNNOTICED: list[tuple[Find, Damage]] = [
    (manifest, deleted),  # the batch is done again
    *((one_before, how) for how in (*ALL, of_another_version)),  # the last one is enough
    *((pane, how) for how in ALL),  # made again from its source
]
MENDED = [
    *(each for each in REFUSED if each[0] in {manifest, memory, results}),
    *((source_log, how) for how in (truncated, flipped)),  # what follows is found again
    *((source_log, how) for how in (emptied, deleted)),  # manifests say how far files were read
]
"""What `doctor --repair` knows how to go on from."""


@pytest.mark.parametrize(("find", "damage"), REFUSED, ids=named)
def test_damage_is_refused_with_its_name_and_a_remedy(
    find: Find, damage: Damage, run: Stopped
) -> None:
    path = find(run)
    damage(path)
    done = run.place.run()
    assert done.exit_code in (1, 2), done.stderr
    assert path.name in done.stderr or str(path.parent) in done.stderr
    remedies = ("headrace doctor --checkpoint", "start again in a new", "put that file back")
    assert any(remedy in done.stderr for remedy in remedies), done.stderr
    assert "Traceback" not in done.stderr
    assert not is_ready(list(checkpoint.examine(run.place.checkpoint)))


@pytest.mark.parametrize(("find", "damage"), UNNOTICED, ids=named)
def test_what_can_be_made_again_is(find: Find, damage: Damage, run: Stopped) -> None:
    damage(find(run))
    assert is_ready(list(checkpoint.examine(run.place.checkpoint)))
    done = run.place.run()
    assert done.exit_code == 0, done.stderr
    assert run.place.written() == run.calm


@pytest.mark.parametrize(("find", "damage"), MENDED, ids=named)
def test_the_last_batch_is_taken_back_and_done_again(
    find: Find, damage: Damage, run: Stopped
) -> None:
    path = find(run)
    damage(path)
    remedies = {each.remedy for each in checkpoint.examine(run.place.checkpoint)} - {""}
    assert all("--repair" in each for each in remedies)
    said = checkpoint.repair(run.place.checkpoint)
    assert "goes on after batch" in said or f"{path} is written anew" in said
    assert is_ready(list(checkpoint.examine(run.place.checkpoint)))
    done = run.place.run()
    assert done.exit_code == 0, done.stderr
    assert run.place.written() == run.calm


@pytest.mark.parametrize(
    ("find", "damage"),
    [each for each in REFUSED if each[0] in {source_log, identity, part} and each not in MENDED],
    ids=named,
)
def test_what_cannot_be_repaired_is_left_alone(find: Find, damage: Damage, run: Stopped) -> None:
    damage(find(run))
    before = sorted(run.place.checkpoint.rglob("*"))
    with pytest.raises(SettingError, match="start again in a new directory"):
        checkpoint.repair(run.place.checkpoint)
    assert sorted(run.place.checkpoint.rglob("*")) == before


@pytest.mark.parametrize("seed", range(6))
def test_a_source_log_with_lost_lines_is_rebuilt(seed: int, run: Stopped) -> None:
    path, chance = source_log(run), random.Random(seed)
    every = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(each for each in every if chance.random() < seed / 6))
    checkpoint.repair(run.place.checkpoint)
    if seed % 2:  # also where the last batch is lost later
        truncated(manifest(run))
        checkpoint.repair(run.place.checkpoint)
    assert is_ready(list(checkpoint.examine(run.place.checkpoint)))
    done = run.place.run()
    assert done.exit_code == 0, done.stderr
    assert run.place.written() == run.calm


def test_a_source_log_is_not_guessed(run: Stopped, tmp_path: Path) -> None:
    shutil.copytree(run.place.streams, tmp_path / "streams")
    moved = Place(tmp_path / "streams", tmp_path / "run")
    stopped = stopped_run(moved, tmp_path, run.calm, "stepped raise 5")
    deleted(source_log(stopped))
    for source in (tmp_path / "streams").rglob("*.tnq"):
        source.write_text(source.read_text().replace("\n", " ", 1))  # has fewer lines than before
    with pytest.raises(SettingError, match=r"source\.log is damaged.*start again"):
        checkpoint.repair(moved.checkpoint)


def whole_log(path: Path) -> list[Piece]:
    """The pieces of a log without damage."""
    found = read_pieces(path)
    if found.damage is not None:
        raise found.damage
    return found.pieces


def test_no_flipped_byte_is_believed(run: Stopped) -> None:
    for path, read in (
        (manifest(run), lambda: read_manifest(run.layout, run.last.batch)),
        (identity(run), lambda: read_identity(run.layout.identity)),
        (source_log(run), lambda: whole_log(run.layout.source_log)),
    ):
        content = path.read_bytes()
        right = read()
        for place in range(0, len(content) - 1, 7):
            path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
            with pytest.raises(MachineError, match=path.name):
                read()
        path.write_bytes(content)
        assert read() == right


def test_lines_that_the_source_log_has_lost_are_missed(run: Stopped) -> None:
    path = source_log(run)
    every = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(every[: run.last.pieces - 1]))
    done = run.place.run()
    assert done.exit_code == 1
    assert f"{path} is damaged: it has {run.last.pieces - 1} pieces" in done.stderr
    path.write_bytes(b"".join(every)[:-5])  # not yet read: told to nobody
    assert run.place.run().exit_code == 0
    assert run.place.written() == run.calm


@pytest.mark.parametrize("how", [deleted, flipped], ids=named)
def test_a_pane_whose_source_is_gone_is_missed(how: Damage, run: Stopped, tmp_path: Path) -> None:
    shutil.copytree(run.place.streams, tmp_path / "streams")
    moved = Place(tmp_path / "streams", tmp_path / "run")
    stopped = stopped_run(moved, tmp_path, run.calm, "stepped raise 5")
    damaged = stopped.last.panes[0]
    assert damaged.piece is not None
    deleted(stopped.layout.panes / damaged.name)
    source = Path(damaged.piece.path)
    content = source.read_bytes()
    how(source)
    findings = list(checkpoint.examine(moved.checkpoint))
    assert any(each.status is Status.FAIL and str(source) in each.detail for each in findings)
    done = moved.run()
    assert done.exit_code == 1
    assert "failed: " in done.stderr
    assert str(source) in done.stderr
    assert "put the file back as it was" in done.stderr
    source.write_bytes(content)
    assert moved.run().exit_code == 0


def test_a_snapshot_is_checked(tmp_path: Path) -> None:
    streams = write_streams(tmp_path / "streams", 120, 40)
    shutil.rmtree(streams / "gates")
    place = replace(Place(streams, tmp_path / "run", 1), queries=WIDE)
    calm = calm_run(replace(place, directory=tmp_path / "calm"))
    run = stopped_run(place, tmp_path, calm, "stepped raise 30")
    [snapshot] = run.last.snapshots.values()
    path = run.layout.memories / snapshot.name
    for how in ALL:
        run.put_back()
        how(path)
        done = place.run()
        assert done.exit_code == 1
        assert f"{path} is damaged" in done.stderr
    run.put_back()
    assert place.run().exit_code == 0
    assert place.written() == calm


# -- what doctor says ----------------------------------------------------------------------------


def said(directory: Path, mend: bool = False) -> tuple[int, str]:
    output = io.StringIO()
    status = checkpoint.main(directory, Console(file=output, width=400), mend)
    return status, output.getvalue()


def is_repaired(stopped: Stopped) -> None:
    """The doctor says how, does so, and the run goes on."""
    assert "--repair" in said(stopped.place.checkpoint)[1]
    assert said(stopped.place.checkpoint, mend=True)[0] == 0
    assert stopped.place.run().exit_code == 0


def test_doctor_says_how_far_a_run_has_come(run: Stopped) -> None:
    before = {path: path.stat().st_mtime_ns for path in run.place.checkpoint.rglob("*")}
    status, text = said(run.place.checkpoint)
    assert status == 0
    assert f"batch {run.last.batch} is the last: a run goes on after it" in text
    assert "made by Headrace" in text
    assert "<cars> has reached 1970-01-01T00:00:" in text
    assert "'seen' has reached" in text
    assert {path: path.stat().st_mtime_ns for path in run.place.checkpoint.rglob("*")} == before
    run.place.run()
    assert "the input has ended" in said(run.place.checkpoint)[1]
    assert said(run.place.checkpoint, mend=True)[1].startswith("nothing is damaged")


def test_doctor_takes_back_the_end_of_the_input(run: Stopped) -> None:
    run.place.run()
    flipped(run.layout.manifests / f"{run.last.batch}.final.json")
    is_repaired(run)
    assert run.place.written() == run.calm


@pytest.mark.parametrize("how", [truncated, flipped], ids=named)
def test_a_run_that_ended_well_may_have_said_so_in_vain(how: Damage, run: Stopped) -> None:
    run.place.run()
    how(run.layout.settled)
    done = run.place.run()
    assert done.exit_code == 1
    assert f"{run.layout.settled} is damaged" in done.stderr
    is_repaired(run)
    assert run.place.written() == run.calm


def test_doctor_on_what_is_no_checkpoint_and_on_one_in_use(run: Stopped, tmp_path: Path) -> None:
    assert "it is no checkpoint, or has lost it" in said(tmp_path)[1]
    assert f"there is no directory {tmp_path / 'none'}" in said(tmp_path / "none")[1]
    open_deployment(tmp_path / "new").close()
    assert said(tmp_path / "new")[0] == 0
    assert "there is one in it" in said(tmp_path)[1]
    with open_deployment(run.place.checkpoint):
        assert "a run or a server is running here" in said(run.place.checkpoint)[1]
        with pytest.raises(SettingError, match="in use by a run"):
            checkpoint.repair(run.place.checkpoint)


# -- Spark's part --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def made_on_spark(
    spark: SparkSession,  # noqa: ARG001 - runs of this process use it
    made: Stopped,
    tmp_path_factory: pytest.TempPathFactory,
) -> Stopped:
    folder = tmp_path_factory.mktemp("spark-damage")
    place = replace(made.place, directory=folder / "run", runner="spark")
    return stopped_run(place, folder, made.calm, "stepped raise 4")


@pytest.fixture
def on_spark(made_on_spark: Stopped) -> Stopped:
    made_on_spark.put_back()
    assert batches_of(made_on_spark.layout) == [2, 1]
    return made_on_spark


def wrong_pieces(path: Path) -> None:
    *lines, offsets = path.read_text().split("\n")
    path.write_text("\n".join([*lines, json.dumps({"pieces": json.loads(offsets)["pieces"] - 3})]))


NAMES = ("offsets/3", "offsets/2", "commits/2", "metadata")
SPARK_REFUSED: list[tuple[str, Damage]] = [
    *((name, how) for name in NAMES for how in (truncated, emptied)),
    ("offsets/2", deleted),
    ("metadata", deleted),
    ("offsets/3", wrong_pieces),
    ("offsets/2", wrong_pieces),
]


@pytest.mark.spark
@pytest.mark.parametrize(("name", "damage"), SPARK_REFUSED, ids=named)
def test_damage_to_sparks_part_is_named_and_repaired(
    name: str, damage: Damage, on_spark: Stopped
) -> None:
    path = on_spark.layout.spark / name
    damage(path)
    done = on_spark.place.run()
    assert done.exit_code == 1
    assert f"{path} is damaged" in done.stderr
    assert "headrace doctor --checkpoint" in done.stderr
    assert "--repair" in said(on_spark.place.checkpoint)[1]
    assert said(on_spark.place.checkpoint, mend=True)[0] == 0
    done = on_spark.place.run()
    assert done.exit_code == 0, done.stderr
    found = on_spark.place.written()
    assert found.lines == on_spark.calm.lines
    assert found.rows.equals(on_spark.calm.rows)


@pytest.mark.spark
@pytest.mark.parametrize("name", ["offsets/3", "commits/2"])
def test_what_spark_has_lost_it_does_again(name: str, on_spark: Stopped) -> None:
    deleted(on_spark.layout.spark / name)
    done = on_spark.place.run()
    assert done.exit_code == 0, done.stderr
    assert on_spark.place.written().lines == on_spark.calm.lines


@pytest.mark.spark
def test_a_lost_manifest_is_missed_on_spark(on_spark: Stopped) -> None:
    path = manifest(on_spark)
    deleted(path)
    done = on_spark.place.run()
    assert done.exit_code == 1
    assert f"{path} is damaged: it is missing" in done.stderr
    is_repaired(on_spark)
    assert on_spark.place.written().lines == on_spark.calm.lines


@pytest.mark.spark
def test_the_order_of_topics_is_checked(on_spark: Stopped) -> None:
    flipped(on_spark.layout.topics)
    done = on_spark.place.run()
    assert done.exit_code == 1
    assert f"{on_spark.layout.topics} is damaged" in done.stderr
    assert str(on_spark.layout.topics) in said(on_spark.place.checkpoint)[1]


@pytest.mark.spark
def test_without_sparks_part_a_run_goes_on_inline(on_spark: Stopped) -> None:
    shutil.rmtree(on_spark.layout.spark)
    done = on_spark.place.run()
    assert done.exit_code == 1
    assert str(on_spark.layout.spark) in done.stderr
    assert replace(on_spark.place, runner="inline").run().exit_code == 0
    assert on_spark.place.written().lines == on_spark.calm.lines
