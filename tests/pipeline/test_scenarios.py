"""Every scenario comes out the same in a pipeline, in any batches, parts, and after any restart."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from headrace.pipeline.batches import Batches
from headrace.pipeline.local import LocalRunner
from headrace.pipeline.manifest import Manifest
from headrace.pipeline.pieces import SourceLog
from headrace.pipeline.streams import Sources
from headrace.scenarios import problems
from tests.pipeline.scenarios import Deployed, Run, in_groups

GROUPS = in_groups()


def to_its_end(batches: Batches, sources: Sources, pieces: int) -> Manifest:
    last = LocalRunner(batches, sources, pieces).read()
    return last if batches.setup.live else batches.finish()


def differences(deployed: Deployed, run: Run) -> dict[str, list[str]]:
    played = deployed.played(run)
    found = {each.name: problems(each, played[each.name]) for each in deployed.scenarios}
    return {name: each for name, each in found.items() if each}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lines", "pieces", "partitions"),
    [
        (0, 0, 2),
        pytest.param(1, 40, 1, marks=pytest.mark.long),
        pytest.param(1, 10, 4, marks=pytest.mark.long),
    ],
    ids=["everything, 2 parts", "small batches", "smaller batches, 4 parts"],
)
def test_batches_and_parts_make_no_difference(
    lines: int, pieces: int, partitions: int, tmp_path: Path
) -> None:
    for number, group in enumerate(GROUPS):
        # A batch for each of hundreds of files takes long, and shows no more.
        most = pieces if len(group) > 1 else pieces // 10
        deployed = Deployed(group, tmp_path / str(number), lines, partitions)
        assert differences(deployed, partial(to_its_end, pieces=most)) == {}


@pytest.mark.slow
@pytest.mark.parametrize(
    "every",
    [5, pytest.param(1, marks=pytest.mark.long)],
    ids=["some of the scenarios", "all scenarios"],
)
def test_a_new_process_for_every_batch_makes_no_difference(every: int, tmp_path: Path) -> None:
    for number, whole in enumerate(GROUPS):
        group = whole[::every]
        deployed = Deployed(group, tmp_path / str(number), 1, 1 + number % 2)

        def run(
            batches: Batches,
            sources: Sources,
            deployed: Deployed = deployed,
            pieces: int = 60 if len(whole) > 1 else 1,
        ) -> Manifest:
            log = SourceLog(batches.layout.source_log)
            sources.look(log, complete=True)
            while batches.last().pieces < log.count:
                LocalRunner(batches, sources, pieces).step(log)
                batches = deployed.batches(batches.deployment, sources)
            return batches.last() if batches.setup.live else batches.finish()

        assert differences(deployed, run) == {}
