"""Every scenario comes out the same in a pipeline, in any batches, parts, and after any restart."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.pipeline.batches import Batches
from headrace.pipeline.local import LocalRunner
from headrace.pipeline.manifest import Manifest
from headrace.pipeline.pieces import SourceLog
from headrace.pipeline.streams import Sources
from headrace.scenarios import Scenario, problems
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
@pytest.mark.parametrize("partitions", [1, 2, 4])
@pytest.mark.parametrize(("lines", "pieces"), [(0, 0), (1, 1), (1, 10), (3, 2)])
@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group[0].name)
def test_batches_and_parts_make_no_difference(
    group: list[Scenario], lines: int, pieces: int, partitions: int, tmp_path: Path
) -> None:
    if len(group) > 1 and pieces == 1:
        pieces = 40  # a batch for each of hundreds of files takes long, and shows no more
    deployed = Deployed(group, tmp_path, lines, partitions)
    assert differences(deployed, lambda b, s: to_its_end(b, s, pieces)) == {}


@pytest.mark.slow
@pytest.mark.parametrize("partitions", [1, 2])
@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group[0].name)
def test_a_new_process_for_every_batch_makes_no_difference(
    group: list[Scenario], partitions: int, tmp_path: Path
) -> None:
    deployed = Deployed(group, tmp_path, 1, partitions)
    pieces = 40 if len(group) > 1 else 1

    def run(batches: Batches, sources: Sources) -> Manifest:
        log = SourceLog(batches.layout.source_log)
        sources.look(log, complete=True)
        while batches.last().pieces < len(log.pieces):
            LocalRunner(batches, sources, pieces).step(log)
            batches = deployed.batches(batches.deployment, sources)
        return batches.last() if batches.setup.live else batches.finish()

    assert differences(deployed, run) == {}
