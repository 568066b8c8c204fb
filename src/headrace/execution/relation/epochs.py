"""Epochs: stretches of instants within which no relation changes, numbered one after the other.

What must be expanded is expanded by epoch, and a gap of years is two numbers. This is not allowed
beneath an operator that depends on the instant itself: NOW(), RAND(), SERVICE.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from headrace.execution.relation.arrays import Ids, integers
from headrace.execution.relation.relation import Relation


@dataclass(frozen=True, slots=True, eq=False)
class Epochs:
    """The epochs of the instants of a step.

    Attributes:
        starts: the first instant of each epoch, rising; that of the first epoch is 0.
        instants: how many instants the step has.
    """

    starts: Ids
    instants: int

    @classmethod
    def of(cls, relations: Iterable[Relation], instants: int) -> Epochs:
        """Begin an epoch wherever a row of a relation begins or has ended.

        Whatever a query looks at must be among the relations: also the presence of graphs, and
        streams whose times an expression reads.
        """
        points = [integers([0])]
        for each in relations:
            points += [bound + offset for offset, bound in enumerate(each.intervals)]
        starts = np.unique(np.concatenate(points))
        return cls(starts[(starts >= 0) & (starts < instants)], instants)

    @property
    def count(self) -> int:
        """How many epochs there are."""
        return self.starts.size

    @property
    def lasts(self) -> Ids:
        """The last instant of each epoch."""
        return np.append(self.starts[1:], self.instants)[: self.starts.size] - 1

    def number(self, relation: Relation) -> Relation:
        """Write the intervals of a relation, clipped to the step, in epochs."""
        if relation.holds_always:
            return relation
        first, last = relation.bounds
        begin = np.searchsorted(self.starts, np.maximum(first, 0), "left")
        end = np.searchsorted(self.starts, np.minimum(last, self.instants - 1), "right") - 1
        return relation.with_intervals(begin, end).filter(begin <= end)

    def restore(self, relation: Relation) -> Relation:
        """Write the intervals of a relation, which are in epochs, in instants."""
        if relation.holds_always:
            return relation
        first, last = relation.bounds
        return relation.with_intervals(self.starts[first], self.lasts[last])


def number_evaluated(relation: Relation, evaluated: Ids) -> Relation:
    """Write intervals in numbers of the instants that are evaluated.

    A row that begins at an instant that is skipped begins at the next one. A row that holds at
    no evaluated instant is dropped.

    Args:
        relation: its intervals are instants, or moments of event time.
        evaluated: the evaluated instants in the same unit, rising.
    """
    if relation.holds_always:
        return relation
    first, last = relation.bounds
    begin = np.searchsorted(evaluated, first, "left")
    end = np.searchsorted(evaluated, last, "right") - 1
    return relation.with_intervals(begin, end).filter(begin <= end)
