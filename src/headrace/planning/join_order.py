"""In which order the patterns of a group are joined."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Estimate:
    """What is known of a pattern before it is joined: its variables, and how many solutions."""

    variables: frozenset[str]
    rows: int


def greedy(estimates: Sequence[Estimate]) -> Iterator[int]:
    """The smallest pattern first, then always the smallest that shares a variable.

    Patterns that share none come last, when nothing else is left: a product of all with all.

    >>> abc = [
    ...     Estimate(frozenset("ab"), 9),
    ...     Estimate(frozenset("bc"), 5),
    ...     Estimate(frozenset("z"), 1),
    ... ]
    >>> list(greedy(abc[:2])), list(greedy([abc[0], abc[2], abc[1]]))
    ([1, 0], [1, 2, 0])
    """
    remaining = set(range(len(estimates)))
    bound: frozenset[str] = frozenset()
    while remaining:
        connected = {each for each in remaining if estimates[each].variables & bound}
        chosen = min(connected or remaining, key=lambda each: (estimates[each].rows, each))
        remaining.remove(chosen)
        bound |= estimates[chosen].variables
        yield chosen
