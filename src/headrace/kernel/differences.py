"""What becomes of the solutions of a static pattern when some statements come and others go.

Joins, unions and conditions are sums of products of the matches of triple patterns: what is new of
a product is, factor by factor, what is new of the factor, with the factors before it as they are
now and those after it as they were. Solutions that are equal are counted, so that one that is still
found in another way stays. Of other patterns nothing is said, and they are solved anew.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import polars as pl

from headrace.algebra.expressions import TriplePattern
from headrace.algebra.operators import (
    Bgp,
    Filter,
    Graph,
    Join,
    Operator,
    Project,
    Union,
    Values,
)
from headrace.algebra.scope import possible
from headrace.functions.dependence import is_local
from headrace.kernel.budget import Budget
from headrace.kernel.columns import column
from headrace.kernel.data import Data, NamedGraph, Quads
from headrace.kernel.dictionary import Dictionary
from headrace.kernel.join import join
from headrace.kernel.snapshot import evaluate, holds
from headrace.kernel.solutions import Solutions, complete, nothing
from headrace.kernel.surroundings import Surroundings
from headrace.planning.sharing import Parameters
from headrace.rdf.ids import TermId
from headrace.rdf.terms import Iri

_TIMES = "times"


@dataclass(frozen=True, slots=True)
class Difference:
    """Solutions that have come and solutions that have gone; equal ones are several.

    Some may be in both, as often in one as in the other.
    """

    come: Solutions
    gone: Solutions

    @property
    def rows(self) -> int:
        """How many there are."""
        return self.come.height + self.gone.height

    def each(self, change: Callable[[Solutions], Solutions]) -> Difference:
        """The same, of what something makes of each solution."""
        return Difference(change(self.come), change(self.gone))

    def applied(self, frame: pl.DataFrame) -> pl.DataFrame:
        """What has become of some solutions, without their instants."""
        names = frame.columns
        come, gone = (each.frame.select(names) for each in (self.come, self.gone))
        whole = pl.concat([frame, come]) if come.height else frame
        if gone.height == 0:
            return whole
        times = gone.group_by(names).len(name=_TIMES)
        touched = whole.join(times, on=names, how="semi", nulls_equal=True)
        counts = touched.group_by(names).len(name="there")
        both = counts.join(times, on=names, how="left", nulls_equal=True)
        left = pl.col("there").cast(pl.Int64) - pl.col(_TIMES).cast(pl.Int64)
        still = both.with_columns(left.alias(_TIMES)).filter(pl.col(_TIMES) > 0)
        repeated = still.select(pl.col(names).repeat_by(_TIMES).explode())
        rest = whole.join(times, on=names, how="anti", nulls_equal=True)
        return pl.concat([rest, repeated.cast(dict(frame.schema.items()))])


class Factor:
    """Something that others are joined with: as it was, as it is now, and what differs."""

    def __init__(
        self,
        old: Callable[[], Solutions],
        new: Callable[[], Solutions],
        difference: Difference,
    ) -> None:
        """Take what is found only when it is needed."""
        self._old, self._new = old, new
        self.difference = difference

    @cached_property
    def old(self) -> Solutions:
        """As it was."""
        return self._old()

    @cached_property
    def new(self) -> Solutions:
        """As it is."""
        return self._new()


def product(factors: Sequence[Factor], budget: Budget) -> Difference:
    """What differs of a join."""
    come, gone = list[Solutions](), list[Solutions]()
    for number, factor in enumerate(factors):
        for found, all_of_them in ((factor.difference.come, come), (factor.difference.gone, gone)):
            if found.height:
                before = [each.new for each in factors[:number]]
                after = [each.old for each in factors[number + 1 :]]
                all_of_them.append(_joined(found, [*before, *after], budget))
    names = sorted({name for each in factors for name in each.difference.come.names})
    return Difference(_all(come, names), _all(gone, names))


def _joined(found: Solutions, others: list[Solutions], budget: Budget) -> Solutions:
    """A few solutions with all others, those first with which they share variables."""
    while others:
        names = set(found.names)
        near = min(others, key=lambda each: (names.isdisjoint(each.names), each.height))
        others = [each for each in others if each is not near]
        found = join(found, near, budget)
    return found


def _all(pieces: Sequence[Solutions], names: list[str]) -> Solutions:
    if not pieces:
        return nothing(names)
    return Solutions(pl.concat([complete(each.frame, names) for each in pieces]))


@dataclass(frozen=True, slots=True)
class Differences:
    """Finds what differs between two versions of static data.

    Attributes:
        old: the data as they were.
        new: the data as they are.
        dictionary: the terms of both.
        budget: what that may cost.
        known: the statements with a predicate that have come and gone.
    """

    old: Data
    new: Data
    dictionary: Dictionary
    budget: Budget
    known: dict[TermId, tuple[pl.DataFrame, pl.DataFrame]] = field(default_factory=dict)

    def of(self, operator: Operator) -> Difference | None:
        """What differs of the solutions of a pattern; none if it must be solved anew."""
        match operator:
            case Bgp(patterns) if not patterns:
                return self._same(operator)
            case Bgp((TriplePattern() as pattern,)):
                return self._of_pattern(pattern)
            case Bgp() | Join():
                factors = [self.factor(each) for each in _operands(operator)]
                known = [each for each in factors if each is not None]
                return product(known, self.budget) if len(known) == len(factors) else None
            case Union(branches):
                return self._of_union(branches, sorted(map(column, possible(operator))))
            case Filter(condition, source) if is_local(condition):
                found = self.of(source)
                return (
                    None
                    if found is None
                    else found.each(lambda each: each.filtered(self._holds(condition, each)))
                )
            case Project(source, variables):
                found = self.of(source)
                names = list(map(column, variables))
                return None if found is None else found.each(lambda each: each.only(names))
            case Graph(Iri() as name, source):
                active = NamedGraph(self.dictionary.encode(name))
                return replace(self, old=self.old.within(active), new=self.new.within(active)).of(
                    source
                )
            case Values() if not isinstance(operator, Parameters):
                return self._same(operator)
            case _:
                return None

    def factor(self, operator: Operator) -> Factor | None:
        """A pattern that others are joined with; none if it must be solved anew."""
        found = self.of(operator)
        if found is None:
            return None
        return Factor(
            lambda: self.solved(operator, self.old), lambda: self.solved(operator, self.new), found
        )

    def solved(self, operator: Operator, data: Data) -> Solutions:
        """The solutions of a pattern in one version."""
        found = evaluate(operator, data, self._around)
        return Solutions(complete(found.frame, sorted(map(column, possible(operator)))))

    @property
    def _around(self) -> Surroundings:
        return Surroundings(self.dictionary, budget=self.budget)

    def _holds(self, condition: object, found: Solutions) -> pl.Series:
        return holds(condition, found, self.new, self._around)  # type: ignore[arg-type]  # as matched

    def _same(self, operator: Operator) -> Difference:
        none = nothing(sorted(map(column, possible(operator))))
        return Difference(none, none)

    def _of_union(self, branches: Sequence[Operator], names: list[str]) -> Difference | None:
        found = [self.of(each) for each in branches]
        known = [each for each in found if each is not None]
        if len(known) < len(found):
            return None
        return Difference(
            _all([each.come for each in known], names), _all([each.gone for each in known], names)
        )

    def _of_pattern(self, pattern: TriplePattern) -> Difference | None:
        operator = Bgp((pattern,))
        if isinstance(pattern.predicate, Iri):
            more, fewer = self._statements(self.dictionary.encode(pattern.predicate))
            if more.is_empty() and fewer.is_empty():
                return self._same(operator)
            if not self.new.merges:  # each statement is a solution of its own
                come = self.solved(operator, replace(self.new, quads=Quads(more)))
                gone = self.solved(operator, replace(self.old, quads=Quads(fewer)))
                return self._checked(Difference(come, gone))
        old, new = (self.solved(operator, each) for each in (self.old, self.new))
        if not old.names:  # it is there, or it is not
            none = nothing()
            come, gone = (new, none) if new.height else (none, old)
            return self._same(operator) if new.height == old.height else Difference(come, gone)
        # In one graph, or in several that are seen as one, no solution is there twice.
        return self._checked(Difference(_without(new, old), _without(old, new)))

    def _checked(self, found: Difference) -> Difference | None:
        """A difference, if all of its terms are known: else conditions cannot be looked at."""
        gone = found.gone
        known = all(self.dictionary.knows(gone.frame[name]) for name in gone.names)
        return found if known else None

    def _statements(self, predicate: TermId) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The statements with a predicate that have come and gone, looked for once."""
        if predicate not in self.known:
            old, new = (each.quads.with_predicate(predicate) for each in (self.old, self.new))
            if old.equals(new):
                self.known[predicate] = new.clear(), old.clear()
            else:
                self.known[predicate] = _apart(new, old), _apart(old, new)
        return self.known[predicate]


def _without(one: Solutions, other: Solutions) -> Solutions:
    return Solutions(one.frame.join(other.frame, on=one.names, how="anti"))


def _apart(some: pl.DataFrame, others: pl.DataFrame) -> pl.DataFrame:
    return some.join(others, on=some.columns, how="anti", nulls_equal=True)


def _operands(operator: Operator) -> list[Operator]:
    match operator:
        case Join(left, right):
            return [*_operands(left), *_operands(right)]
        case Bgp(patterns) if len(patterns) > 1:
            return [Bgp((each,)) for each in patterns]
        case _:
            return [operator]
