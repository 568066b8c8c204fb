"""Random relations: always, at single instants or with intervals, cut anywhere, maybe unbound."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np

from headrace.execution.relation.relation import NO_TIME, Relation, is_time
from tests.execution.naive import NO_TIME as NAIVE_NO_TIME

TERMS = 3
TIME = "time of a statement"
ODD = -(2**62)
"""Ids are hashes: large and of both signs."""
assert NO_TIME == NAIVE_NO_TIME


def draw_instants(rng: Random) -> int:
    return rng.choice([1, 2, 5, 9, 14])


def draw_relation(
    rng: Random,
    names: Sequence[str],
    instants: int,
    *,
    rows: int = 7,
    unbound: float = 0.15,
    always: float = 0.15,
) -> Relation:
    """Draw rows with or without intervals; one in three relations is cut at random instants."""
    height = rng.choice([0, 1, 2, rows, rows])
    columns = {name: _draw_column(rng, name, height, unbound) for name in names}
    if rng.random() < always:
        return Relation(columns, height)
    spans = draw_spans(rng, height, instants)
    relation = with_spans(Relation(columns, height), spans)
    return cut_anywhere(rng, relation) if rng.random() < 0.35 else relation


def with_spans(relation: Relation, spans: Sequence[tuple[int, int]]) -> Relation:
    bounds = np.array(spans, np.int64).reshape(-1, 2)
    return relation.with_intervals(bounds[:, 0].copy(), bounds[:, 1].copy())


def _draw_column(
    rng: Random, name: str, height: int, unbound: float
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    absent = NO_TIME if is_time(name) else 0
    values = [absent if rng.random() < unbound else _draw_value(rng, name) for _ in range(height)]
    return np.array(values, np.int64)


def _draw_value(rng: Random, name: str) -> int:
    value = rng.randint(1, TERMS)
    return value * 7 - 10 if is_time(name) else value * (2**61) + ODD - 1


def draw_spans(rng: Random, height: int, instants: int) -> list[tuple[int, int]]:
    """Draw intervals within the step: single instants, short ones, or any."""
    longest = rng.choice([0, 2, instants])
    spans = []
    for _ in range(height):
        first = rng.randrange(instants)
        spans.append((first, min(instants - 1, first + rng.randint(0, longest))))
    return spans


def cut_anywhere(rng: Random, relation: Relation) -> Relation:
    """Cut rows with intervals at random instants, each on its own."""
    rows, spans = [], []
    for row, (first, last) in enumerate(zip(*map(np.ndarray.tolist, relation.bounds), strict=True)):
        begin = first
        for instant in range(first, last + 1):
            if instant == last or rng.random() < 0.3:
                rows.append(row)
                spans.append((begin, instant))
                begin = instant + 1
    order = rng.sample(range(len(rows)), len(rows))
    numbers = np.array([rows[place] for place in order], np.int64)
    return with_spans(relation.without_intervals().take(numbers), [spans[i] for i in order])
