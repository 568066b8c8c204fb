"""Statistics of paired runs: order of the sides, validity, and an interval of the median ratio."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import comb
from statistics import median
from typing import Final

OTHERS: Final = 0.5
"""Cores that other processes may use on average during a valid run."""
CONFIDENCE: Final = 0.95
LEAST: Final = 6
"""With fewer pairs, even the smallest and the largest ratio are no interval of 95 %."""


class Side(StrEnum):
    """What a run is a run of."""

    TREE = "tree"
    REVISION = "revision"


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a benchmark.

    Attributes:
        processor: processor seconds of all its processes.
        wall: seconds from its start to the end of its last process.
        others: processor seconds of all other processes of the machine meanwhile.
        ended: how many processes outlived the benchmark and were ended.
    """

    processor: float
    wall: float
    others: float
    ended: int = 0

    @property
    def others_cores(self) -> float:
        """Cores that other processes used on average."""
        return self.others / self.wall

    @property
    def is_valid(self) -> bool:
        """Whether other processes left the run alone."""
        return self.others_cores <= OTHERS


@dataclass(frozen=True, slots=True)
class Pair:
    """Two runs, one after the other.

    Attributes:
        number: which pair it is, from 0; a repeated pair keeps its number.
        tree: the run of the working tree.
        revision: the run of the revision.
        load: load of the machine at the start, averaged over a minute.
    """

    number: int
    tree: Run
    revision: Run
    load: float

    @property
    def ratio(self) -> float:
        """Processor time of the working tree divided by that of the revision."""
        return self.tree.processor / self.revision.processor

    @property
    def is_valid(self) -> bool:
        """Whether both runs are valid."""
        return self.tree.is_valid and self.revision.is_valid


@dataclass(frozen=True, slots=True)
class Interval:
    """An interval of the median, between two of the sorted values.

    Attributes:
        low: the value at the lower rank.
        high: the value at the upper rank.
        ranks: both ranks, from 1.
        coverage: probability that the interval contains the median.
    """

    low: float
    high: float
    ranks: tuple[int, int]
    coverage: float


@dataclass(frozen=True, slots=True)
class Summary:
    """What the pairs say.

    Attributes:
        pairs: how many pairs were run.
        valid: how many of them are valid.
        is_valid: whether these are enough for a result.
        median: the median ratio of the valid pairs; of all pairs if there is no valid result.
        interval: its interval, if there are enough pairs.
    """

    pairs: int
    valid: int
    is_valid: bool
    median: float
    interval: Interval | None


def sides_of(number: int) -> tuple[Side, Side]:
    """Swap the order of the sides with each pair.

    >>> [side.value for number in range(2) for side in sides_of(number)]
    ['tree', 'revision', 'revision', 'tree']
    """
    sides = (Side.TREE, Side.REVISION)
    return sides if number % 2 == 0 else (sides[1], sides[0])


def ranks(count: int) -> tuple[int, int, float] | None:
    """Find the narrowest pair of symmetric ranks that contains the median often enough.

    Each value is above the median with a probability of one half, whatever its distribution, so
    the number of values above it is binomial.

    >>> ranks(9)
    (2, 8, 0.9609375)
    >>> ranks(5)
    """
    found = None
    outside = 0
    for rank in range(1, (count + 1) // 2 + 1):
        outside += comb(count, rank - 1)
        coverage = 1 - 2 * outside / 2**count
        if coverage < CONFIDENCE:
            break
        found = (rank, count + 1 - rank, coverage)
    return found


def interval_of(values: Sequence[float]) -> Interval | None:
    """Compute the interval of the median by order statistics."""
    found = ranks(len(values))
    if found is None:
        return None
    low, high, coverage = found
    in_order = sorted(values)
    return Interval(in_order[low - 1], in_order[high - 1], (low, high), coverage)


def needed(pairs: int) -> int:
    """How many valid pairs a result needs, if so many pairs were asked for.

    >>> needed(9), needed(3)
    (6, 3)
    """
    return min(pairs, LEAST)


def summarize(pairs: Sequence[Pair], asked: int) -> Summary:
    """Summarize the valid pairs, or all of them if too few are valid."""
    valid = [pair for pair in pairs if pair.is_valid]
    is_valid = len(valid) >= needed(asked)
    ratios = [pair.ratio for pair in (valid if is_valid else pairs)]
    return Summary(len(pairs), len(valid), is_valid, median(ratios), interval_of(ratios))


def run_pairs(
    count: int, retries: int, measure: Callable[[Side], Run], load: Callable[[], float]
) -> Iterator[Pair]:
    """Run pairs, and repeat those that are not valid while retries are left.

    A repeated pair has the same order of the sides, so that the valid pairs alternate.
    """
    for number in range(count):
        while True:
            before = load()
            runs = {side: measure(side) for side in sides_of(number)}
            pair = Pair(number, runs[Side.TREE], runs[Side.REVISION], before)
            yield pair
            if pair.is_valid or retries == 0:
                break
            retries -= 1
