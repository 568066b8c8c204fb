"""In which order the patterns of a group are joined, and which need not be."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from headrace.algebra.expressions import Variable
from headrace.algebra.operators import Bgp, Join, Operator
from headrace.algebra.scope import possible


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
    every = [(each.rows, place) for place, each in enumerate(estimates)]
    heapify(every)
    with_variable = defaultdict[str, list[int]](list)
    for place, each in enumerate(estimates):
        for variable in each.variables:
            with_variable[variable].append(place)
    connected: list[tuple[int, int]] = []
    chosen: set[int] = set()
    while every:
        _, place = heappop(connected or every)
        if place in chosen:
            continue
        chosen.add(place)
        yield place
        for variable in estimates[place].variables:
            for other in with_variable.pop(variable, ()):
                heappush(connected, (estimates[other].rows, other))


def unconnected(operator: Operator) -> list[Operator]:
    """The parts of a join that share no variable: their product need not be made."""
    groups: list[list[Operator]] = []
    for each in _operands(operator):
        ours = [group for group in groups if possible(each) & _bound(group)]
        others = [group for group in groups if group not in ours]
        groups = [*others, [*(part for group in ours for part in group), each]]
    if len(groups) == 1:
        return [operator]
    return [_joined(group) for group in groups]


def _operands(operator: Operator) -> list[Operator]:
    match operator:
        case Join(left, right):
            return [*_operands(left), *_operands(right)]
        case Bgp((_, _, *_) as patterns):
            return [Bgp((pattern,)) for pattern in patterns]
        case _:
            return [operator]


def _bound(group: Sequence[Operator]) -> frozenset[Variable]:
    return frozenset[Variable]().union(*map(possible, group))


def _joined(group: Sequence[Operator]) -> Operator:
    """Some operators as one; graph patterns among them are one."""
    patterns = [each for bgp in group if isinstance(bgp, Bgp) for each in bgp.patterns]
    others = [each for each in group if not isinstance(each, Bgp)]
    parts = [*([Bgp(tuple(patterns))] if patterns else []), *others]
    found = parts[0]
    for part in parts[1:]:
        found = Join(found, part)
    return found
