"""Halve the instants of a step whose relations are too large to be evaluated at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headrace.execution.relation.epochs import Epochs
from headrace.execution.relation.relation import Relation


def find_halving(relations: Sequence[Relation], instants: int) -> int | None:
    """Return the instant with which the second half begins, so that both have as few rows.

    A row that holds across it is in both halves. Where long rows make a relation large, no
    halving helps: then none is found, and the caller goes instant by instant.

    Args:
        relations: those that are scanned.
        instants: how many instants the step has.
    """
    bounded = [each.bounds for each in relations if not each.holds_always]
    points = Epochs.of(relations, instants).starts[1:]
    if not points.size:
        return None
    first = np.sort(np.concatenate([each for each, _ in bounded]))
    last = np.sort(np.concatenate([each for _, each in bounded]))
    before = np.searchsorted(first, points, "left")
    after = last.size - np.searchsorted(last, points, "left")
    larger = np.maximum(before, after)
    best = int(larger.argmin())
    return int(points[best]) if larger[best] < first.size else None
