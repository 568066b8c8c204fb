"""Thresholds made small, so that small streams reach what only large ones do else."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from random import Random
from types import ModuleType
from typing import Final

import pytest

from headrace.errors import HeadraceError
from headrace.functions import costs
from headrace.kernel import (
    changing,
    contents,
    data,
    dictionary,
    forms,
    found,
    hub,
    incremental,
    index,
    lasting,
    log,
    lookup,
    matches,
    places,
    remembered,
    scan,
    slices,
    snapshot,
    sorted_rows,
    stock,
    strategy,
    tables,
    waiting,
)
from headrace.planning import routing, templates, wanted

_give_up = strategy.Matching._give_up


def _loudly(matching: strategy.Matching) -> None:
    """Give up only what a snapshot would refuse too."""
    error = sys.exc_info()[1]
    if error is not None and not isinstance(error, HeadraceError):
        pytest.fail(f"incremental evaluation has failed: {error!r}")
    _give_up(matching)


@contextmanager
def made_small() -> Iterator[pytest.MonkeyPatch]:
    """Let everything be large, for as long as the block lasts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(strategy, "_WORTH_IT", 1)
        patch.setattr(strategy, "_AT_LEAST", 3)
        patch.setattr(strategy.Matching, "_give_up", _loudly)
        patch.setattr(incremental, "_FEW", 1)
        for module in (stock, found):
            patch.setattr(module, "_SMALL", 0)
            patch.setattr(module, "_GROWN", 1.1)
        patch.setattr(found, "_RECENT", 3)
        patch.setattr(found, "_MOST_RECENT", 2)
        patch.setattr(lookup, "_LARGE", 2)
        patch.setattr(lookup, "_MANY", 1)
        patch.setattr(contents, "BLOCK_ROWS", 60)
        patch.setattr(found, "_MARK_BITS", 3)
        patch.setattr(snapshot, "_MUCH_MORE", 0)
        patch.setattr(hub, "_FEW", 2)
        patch.setattr(matches, "_SEVERAL", 1)
        patch.setattr(matches, "_ABOUT_ONE", 1e9)
        yield patch


@contextmanager
def without_hubs() -> Iterator[None]:
    """Let what is new of each pattern be looked at alone, for as long as the block lasts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matches, "_ABOUT_ONE", 0)
        yield


DRAWN: Final[Mapping[tuple[ModuleType, str], tuple[float, ...]]] = {
    (strategy, "_WORTH_IT"): (1, 20, 200, 60_000),
    (strategy, "_AT_LEAST"): (1, 3, 30, 1_000),
    (incremental, "_FEW"): (1, 5, 50, 5_000),
    (incremental, "_OFTEN"): (1, 32),
    (incremental, "_AT_ONCE"): (1, 4, 16),
    (stock, "_SMALL"): (0, 10, 1_024),
    (stock, "_GROWN"): (1.1, 2),
    (found, "_SMALL"): (0, 10, 1_024),
    (found, "_GROWN"): (1.1, 2),
    (found, "_RECENT"): (2, 3, 16),
    (found, "_MOST_RECENT"): (1, 2, 3),
    (found, "_MARK_BITS"): (1, 3, 16),
    (lookup, "_LARGE"): (1, 2, 20, 10_000),
    (lookup, "_MANY"): (1, 2),
    (contents, "BLOCK_ROWS"): (30, 60, 1_000, 3_000_000),
    (changing, "BLOCK_ROWS"): (30, 60, 3_000_000),
    (slices, "MOST_INSTANTS"): (1, 3, 100_000),
    (slices, "MOST_ROWS"): (30, 1_000, 6_000_000),
    (snapshot, "_MUCH_MORE"): (0, 0, 0.5, 1, 4),
    (snapshot, "_SOME"): (2, 100),
    (scan, "_SAMPLE"): (1, 3, 5, 1_000),
    (hub, "_FEW"): (1, 2, 3),
    (matches, "_SEVERAL"): (1, 2, 3),
    (matches, "_ABOUT_ONE"): (0, 1.5, 1e9),
    (matches, "_ENOUGH"): (1, 10, 128),
    (waiting, "_LOOK"): (0, 4e-4, 1),
    (waiting, "_LOOKED_AT"): (0, 20e-9, 1),
    (waiting, "_FOUND_AGAIN"): (0, 150e-9, 1),
    (waiting, "_JOINED"): (0, 60e-9, 1),
    (waiting, "_GROWS"): (0, 1.5, 1e9),
    (waiting, "_MANY"): (0, 100),
    (costs, "_FIRST_GUESS"): (1e-9, 2e-6, 1),
    (data, "_WORTH_AN_INDEX"): (1, 20, 50_000),
    (data, "_MANY_RUNS"): (1, 10_000),
    (index, "_FEW"): (0, 3, 512),
    (log, "_WORTH_IT"): (1, 8),
    (log, "_FEW"): (1, 32),
    (log, "_MOST_RECENT"): (1, 10, 1_024),
    (forms, "_FEW"): (0, 5, 64),
    (dictionary, "_FEW"): (0, 5, 1_000),
    (dictionary, "_MOST_RECENT"): (1, 20, 50_000),
    (sorted_rows, "_SMALL"): (0, 10, 8_192),
    (sorted_rows, "_MUCH_SMALLER"): (1, 4),
    (places, "_MOST_PARTS"): (1, 6),
    (lasting, "_MOST_OVER"): (0, 0.5, 1),
    (remembered, "_PAYS"): (0.5, 2, 100),
    (tables, "PATHS_PAY"): (0, 4, 1_000),
    (tables, "_MUCH"): (1, 2),
    (routing, "_MUCH_NEW"): (1, 128),
    (routing, "_LOOK"): (1, 4),
    (routing, "_USES"): (1, 16),
    (templates, "_MOST"): (1, 1_000),
    (wanted, "_MOST_LIMITED"): (0, 1, 32),
}
"""Sizes that decide how something is evaluated, and their values; the last is the real one."""


@contextmanager
def drawn(random: Random) -> Iterator[dict[str, float]]:
    """Draw thresholds, for as long as the block lasts; some stay as they are."""
    changed = random.choice([0, 0.3, 0.6, 1, 1])
    chosen: dict[str, float] = {}
    with pytest.MonkeyPatch.context() as patch:
        for (module, name), values in DRAWN.items():
            if random.random() < changed:
                value = random.choice(values)
                patch.setattr(module, name, value)
                chosen[f"{module.__name__}.{name}"] = value
        yield chosen
