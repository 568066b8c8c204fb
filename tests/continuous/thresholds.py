"""Thresholds made small, so that small streams reach what only large ones do else."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from headrace.errors import HeadraceError
from headrace.kernel import (
    contents,
    found,
    hub,
    incremental,
    lookup,
    matches,
    snapshot,
    stock,
    strategy,
)

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
