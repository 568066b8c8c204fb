"""Property paths: from which node which other node is reached.

A path of fixed length is a join of triple patterns and keeps duplicates; a path with `?`, `*` or
`+` is a set of pairs, found by following its steps from all known ends until nothing is new.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final, assert_never

import numpy as np
import polars as pl

from headrace.algebra.expressions import PatternTerm, TriplePattern, Variable
from headrace.algebra.paths import (
    Alternative,
    Inverse,
    NegatedSet,
    OneOrMore,
    Path,
    PathPattern,
    Sequence,
    ZeroOrMore,
    ZeroOrOne,
)
from headrace.kernel.budget import Budget, check_hashing, first_rows
from headrace.kernel.columns import INSTANT, SUBJECT, column
from headrace.kernel.data import Data
from headrace.kernel.dictionary import Dictionary
from headrace.kernel.join import join, union
from headrace.kernel.scan import at_instants, scan, unquoted
from headrace.kernel.solutions import Solutions, complete
from headrace.rdf.terms import Iri, Term

_START, _MIDDLE, _END = Variable("_:.start"), Variable("_:.middle"), Variable("_:.end")
_DEGREE: Final = "degree"
_MOST_STEPS: Final = 1_000_000
"""So many steps of a path are followed at once, so that memory stays bounded."""
_FROM, _VIA, _TO = column(_START), column(_MIDDLE), column(_END)


class Paths:
    """Evaluates the paths of one pattern over some data."""

    def __init__(
        self, data: Data, dictionary: Dictionary, instants: range | tuple[int, ...], budget: Budget
    ) -> None:
        """Look at some data at some instants."""
        self._data = data
        self._dictionary = dictionary
        self._instants = instants
        self._budget = budget
        self._fresh = 0

    def solutions(self, pattern: PathPattern) -> Solutions:
        """The solutions of a path pattern."""
        self._budget.meter.check("a path")
        subject, path, object_ = pattern.subject, pattern.path, pattern.object
        if isinstance(subject, TriplePattern) or isinstance(object_, TriplePattern):
            return self._between_quoted(pattern)
        match path:
            case Iri():
                triple = TriplePattern(subject, path, object_)
                return scan(self._data, triple, self._dictionary)
            case Inverse(inner):
                return self.solutions(PathPattern(object_, inner, subject))
            case Sequence(steps):
                return self._sequence(subject, steps, object_)
            case Alternative(choices):
                branches = [
                    self.solutions(PathPattern(subject, choice, object_)) for choice in choices
                ]
                return union(branches, self._instants)
            case NegatedSet():
                return self._negated(subject, path, object_)
            case ZeroOrOne() | ZeroOrMore() | OneOrMore():
                return self._closure(subject, path, object_)
            case _:
                assert_never(path)

    def _between_quoted(self, pattern: PathPattern) -> Solutions:
        """A path that ends at quoted triples: any term first, then those that match."""
        self._fresh += 1
        ends: list[PatternTerm] = []
        quoted: list[tuple[str, TriplePattern]] = []
        for number, term in enumerate((pattern.subject, pattern.object)):
            if isinstance(term, TriplePattern):
                stand_in = Variable(f"_:.quoted{self._fresh}.{number}")
                quoted.append((column(stand_in), term))
                ends.append(stand_in)
            else:
                ends.append(term)
        found = self.solutions(PathPattern(ends[0], pattern.path, ends[1]))
        frame = found.frame
        for name, term in quoted:
            frame = unquoted(frame, name, term, self._dictionary)
        return found.with_frame(frame)

    def _sequence(
        self, subject: PatternTerm, steps: tuple[Path, ...], object_: PatternTerm
    ) -> Solutions:
        self._fresh += 1
        between = [Variable(f"_:.step{self._fresh}.{number}") for number in range(len(steps) - 1)]
        ends = [subject, *between, object_]
        found = self.solutions(PathPattern(subject, steps[0], ends[1]))
        for start, step, end in zip(between, steps[1:], ends[2:], strict=True):
            part = self.solutions(PathPattern(start, step, end))
            found = join(found, part, self._budget)
            # Where a step began is of no use any more: a path may have thousands of steps.
            found = found.with_frame(found.frame.drop(column(start), strict=False))
            self._budget.check(found.frame.height, "a path of several steps")
        return found

    def _negated(self, subject: PatternTerm, path: NegatedSet, object_: PatternTerm) -> Solutions:
        branches = []
        if path.forward or not path.backward:
            branches.append(self._by_others(subject, path.forward, object_))
        if path.backward:
            branches.append(self._by_others(object_, path.backward, subject))
        return union(branches, self._instants)

    def _by_others(
        self, subject: PatternTerm, excluded: tuple[Iri, ...], object_: PatternTerm
    ) -> Solutions:
        """One step by any property but these."""
        property_ = Variable("_:.property")
        found = scan(self._data, TriplePattern(subject, property_, object_), self._dictionary)
        ids = [self._dictionary.encode(each) for each in excluded]
        name = column(property_)
        return found.with_frame(found.frame.filter(~pl.col(name).is_in(ids)).drop(name))

    # -- repetition ------------------------------------------------------------------------

    def _closure(
        self, subject: PatternTerm, path: ZeroOrOne | ZeroOrMore | OneOrMore, object_: PatternTerm
    ) -> Solutions:
        path = _simplified(path)
        stands = not isinstance(path, OneOrMore) or may_be_empty(path.path)
        steps = self.solutions(PathPattern(_START, path.path, _END))
        if stands and self._data.keyed:
            steps = steps.expanded(self._instants)
        every = complete(steps.frame, (_FROM, _TO))
        pairs = first_rows(every, None, "a path of any length", in_order=False)
        if not isinstance(path, ZeroOrOne):
            pairs = self._repeated(pairs, subject, object_)
        if stands:
            pairs = pl.concat([pairs, *self._standing(pairs, subject, object_)]).unique()
        return self._bound(steps.with_frame(pairs), subject, object_)

    def _repeated(
        self, steps: pl.DataFrame, subject: PatternTerm, object_: PatternTerm
    ) -> pl.DataFrame:
        """The pairs that one or more steps connect, from a fixed end if there is one."""
        frontier = steps
        if not isinstance(subject, Variable | TriplePattern):
            frontier = steps.filter(pl.col(_FROM) == self._dictionary.encode(subject))
        elif not isinstance(object_, Variable | TriplePattern):
            backwards = steps.rename({_FROM: _TO, _TO: _FROM}).select(INSTANT, _FROM, _TO)
            found = self._repeated(backwards, object_, subject)
            return found.rename({_FROM: _TO, _TO: _FROM}).select(INSTANT, _FROM, _TO)
        reached = frontier
        onward = steps.rename({_FROM: _VIA, _TO: _TO})
        degrees = onward.group_by(INSTANT, _VIA).len(name=_DEGREE)
        while not frontier.is_empty():
            new: list[pl.DataFrame] = []
            known = reached
            for part in _parts(frontier.rename({_TO: _VIA}), degrees):
                self._budget.check(known.height, "a path of any length")
                check_hashing(known.height, "a path of any length")
                pairs = (
                    part.join(onward, on=[INSTANT, _VIA], how="inner")
                    .select(INSTANT, _FROM, _TO)
                    .unique()
                    .join(known, on=[INSTANT, _FROM, _TO], how="anti")
                )
                if not pairs.is_empty():
                    new.append(pairs)
                    known = pl.concat([known, pairs])
            frontier = pl.concat(new) if new else frontier.clear()
            reached = known
        return reached

    def _standing(
        self, pairs: pl.DataFrame, subject: PatternTerm, object_: PatternTerm
    ) -> Iterator[pl.DataFrame]:
        """Pairs of each node with itself: every node of the graph, or the end that is given."""
        given = [
            term
            for term in (subject, object_)
            if isinstance(term, Term)  # a constant is reached from itself wherever it is
        ]
        if not given:
            ends = {_FROM: SUBJECT, _TO: SUBJECT}
            below = self._data.beneath
            untimed = replace(self._data.quads, timed=False)
            yield at_instants(self._data.nodes(), ends, untimed)
            if below is not None:
                nodes = Solutions(at_instants(below.nodes(), ends, below.quads))
                yield nodes.expanded(self._instants).frame
        for term in given:
            identity = self._dictionary.encode(term)
            instants = self._instants if self._data.keyed else (0,)
            yield pl.DataFrame(
                {INSTANT: list(instants), _FROM: identity, _TO: identity}, schema=pairs.schema
            )

    def _bound(self, pairs: Solutions, subject: PatternTerm, object_: PatternTerm) -> Solutions:
        """The pairs whose ends are those of the pattern."""
        frame = pairs.frame
        for name, term in ((_FROM, subject), (_TO, object_)):
            if not isinstance(term, Variable):
                identity = self._dictionary.encode(term)  # type: ignore[arg-type]  # checked when planned
                frame = frame.filter(pl.col(name) == identity)
        if isinstance(subject, Variable) and subject == object_:
            frame = frame.filter(pl.col(_FROM) == pl.col(_TO))
        columns = {
            column(term): name
            for name, term in ((_FROM, subject), (_TO, object_))
            if isinstance(term, Variable)
        }
        return pairs.with_frame(frame.select(INSTANT, **columns))


def _simplified(path: ZeroOrOne | ZeroOrMore | OneOrMore) -> ZeroOrOne | ZeroOrMore | OneOrMore:
    """Drop the repetitions inside of a repetition: `(p+)*` leads where `p*` does."""
    while True:
        match path:
            case OneOrMore(OneOrMore(inner)):
                path = OneOrMore(inner)
            case ZeroOrMore(ZeroOrOne(inner) | ZeroOrMore(inner) | OneOrMore(inner)):
                path = ZeroOrMore(inner)
            case OneOrMore(ZeroOrOne(inner) | ZeroOrMore(inner)):
                path = ZeroOrMore(inner)
            case _:
                return path


def _parts(frontier: pl.DataFrame, degrees: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Cut pairs into parts from whose ends a bounded number of steps leads on."""
    steps = frontier.join(degrees, on=[INSTANT, _VIA], how="left", maintain_order="left")[_DEGREE]
    totals = steps.fill_null(0).cast(pl.Int64).cum_sum().to_numpy()
    start = 0
    while start < totals.size:
        before = int(totals[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(totals, before + _MOST_STEPS, "right")))
        yield frontier[start:stop]
        start = stop


def may_be_empty(path: Path) -> bool:
    """Whether a path may lead from a node to itself without a step."""
    match path:
        case ZeroOrOne() | ZeroOrMore():
            return True
        case Inverse(inner) | OneOrMore(inner):
            return may_be_empty(inner)
        case Sequence(steps):
            return all(may_be_empty(step) for step in steps)
        case Alternative(choices):
            return any(may_be_empty(choice) for choice in choices)
        case Iri() | NegatedSet():
            return False
        case _:
            assert_never(path)
