"""Which mappings are refreshed in an evaluation: who may be, and who goes first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, assert_never

import numpy as np
import numpy.typing as npt

from headrace.errors import SettingError
from headrace.freshness.policies import Ranker, Sliding
from headrace.freshness.scores import (
    Flags,
    Ints,
    possibly_stale,
    remaining_life,
    renewed,
    scores,
    validity,
)

_ROUNDS: Final = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
_GOLDEN: Final = 0x9E3779B97F4A7C15


@dataclass(frozen=True, slots=True)
class Candidates:
    """The mappings that may be refreshed in an evaluation: a number of each in every column.

    Attributes:
        identity: tells a mapping from any other, in any order and after any restart.
        best_before: until when it is expected to be fresh.
        interval: the time between its changes.
        refreshed: when it was asked for last.
        entered: when the newest element happened that is compatible with it.
        weight: how many rows of the answer it is in.
    """

    identity: Ints
    best_before: Ints
    interval: Ints
    refreshed: Ints
    entered: Ints
    weight: Ints


@dataclass(frozen=True, slots=True)
class Oracle:
    """What only an experiment knows of each candidate.

    Attributes:
        stale: whether its value is another one by now.
        changes_next: when it changes for the first time after now.
    """

    stale: Flags
    changes_next: Ints


def elected(  # noqa: PLR0913 - each is a matter of its own
    candidates: Candidates,
    ranker: Ranker,
    budget: int,
    window: Sliding,
    now: int,
    *,
    seed: int = 0,
    oracle: Oracle | None = None,
) -> Ints:
    """The places of the candidates that are refreshed, in order; as many as the budget allows.

    Ties are broken by a hash of the seed, the time and the mapping, so that neither the order of
    the candidates nor how they are spread over partitions changes who is elected.

    Raises:
        SettingError: the ranker needs an oracle, and there is none.
    """
    if ranker.needs_oracle and oracle is None:
        raise SettingError(f"policy {ranker.value} needs to know what is stale")
    rank, may = _ranked(candidates, ranker, window, now, oracle)
    places = np.flatnonzero(may)
    chance = shuffled(candidates.identity[places], seed, now)
    order = np.lexsort((candidates.identity[places], chance, -rank[places]))
    return places[order[: max(0, budget)]].astype(np.int64)


def _ranked(
    candidates: Candidates, ranker: Ranker, window: Sliding, now: int, oracle: Oracle | None
) -> tuple[Ints, Flags]:
    """What each candidate is worth, and whether it is refreshed at all."""
    number = candidates.identity.size
    everyone, alike = np.ones(number, np.bool_), np.zeros(number, np.int64)
    match ranker:
        case Ranker.WBM:
            due = possibly_stale(candidates.best_before, now)
            until = renewed(candidates.best_before, candidates.interval, now)
            return _served(candidates, until, window, now), due
        case Ranker.LRU:
            return -candidates.refreshed, everyone
        case Ranker.RND:
            return alike, everyone
        case Ranker.WST:
            return alike, ~everyone
        case Ranker.BST:
            assert oracle is not None, "it was asked for above"
            return alike, oracle.stale
        case Ranker.WBM_STAR:
            assert oracle is not None, "it was asked for above"
            return _served(candidates, oracle.changes_next, window, now), oracle.stale
        case _:
            assert_never(ranker)


def _served(candidates: Candidates, until: Ints, window: Sliding, now: int) -> Ints:
    """How many rows of this and later answers a refresh of each candidate makes right."""
    life = remaining_life(candidates.entered, window, now)
    return scores(life, validity(until, window, now), window) * candidates.weight


def shuffled(identity: Ints, seed: int, now: int) -> npt.NDArray[np.uint64]:
    """A number for each mapping that looks like chance and depends on nothing else."""
    salt = np.uint64((seed * _GOLDEN ^ now * _ROUNDS[0]) & 0xFFFFFFFFFFFFFFFF)
    mixed = (identity.astype(np.uint64) ^ salt) + np.uint64(_GOLDEN)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(_ROUNDS[0])
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(_ROUNDS[1])
    return mixed ^ (mixed >> np.uint64(31))
