"""Which keys of a local view an evaluation needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from headrace.algebra.expressions import PatternTerm, TriplePattern, Variable
from headrace.freshness.scores import Ints
from headrace.kernel.columns import OBJECT, PREDICATE, SUBJECT, TIME, column
from headrace.kernel.data import WindowContents
from headrace.kernel.solutions import Solutions
from headrace.planning.contracts import Contract
from headrace.rdf.terms import Iri, Literal, Term

_TERM: Final = "term"
_WEIGHT: Final = "weight"


@dataclass(frozen=True, slots=True)
class Used:
    """The keys that an evaluation needs.

    Attributes:
        keys: a column of ids for each variable of the key; each row once.
        weight: in how many solutions each is.
        entered: when the newest element in a window happened that has it.
    """

    keys: pl.DataFrame
    weight: Ints
    entered: Ints

    @classmethod
    def of(cls, contract: Contract, solutions: Solutions, moment: Moment) -> Used:
        """The keys of some solutions over what windows hold."""
        names = [column(each) for each in contract.keys]
        counted = solutions.frame.group_by(names, maintain_order=True).len(name=_WEIGHT)
        entered = [
            moment.entered(counted[column(each)], each, contract.patterns) for each in contract.keys
        ]
        times = pl.DataFrame(entered).min_horizontal() if entered else pl.Series([], dtype=pl.Int64)
        return cls(
            counted.select(names),
            counted[_WEIGHT].cast(pl.Int64).to_numpy(),
            np.array(times.to_numpy(), np.int64),
        )

    def ordered(self, identity: Ints) -> Used:
        """The same in an order that depends on what the keys are, and on nothing else."""
        order = np.argsort(identity, kind="stable")
        return Used(self.keys[pl.Series(order)], self.weight[order], self.entered[order])


@dataclass(frozen=True, slots=True)
class Moment:
    """What windows hold at an instant.

    Attributes:
        windows: the windows.
        now: the instant.
        ids: the id of a term.
    """

    windows: Sequence[WindowContents]
    now: int
    ids: Callable[[Term], int]

    def entered(
        self, values: pl.Series, variable: Variable, patterns: Sequence[TriplePattern]
    ) -> pl.Series:
        """When the newest statement happened that gives each of some values to a variable.

        Where no pattern does, as with BIND or with what follows from a schema, any statement counts
        that has the value; now, if none has.
        """
        matched = [(each, place) for each in patterns for place in _places(each, variable)]
        found = self._latest(values, [(place, self._constants(each)) for each, place in matched])
        if found.null_count():
            found = found.fill_null(self._latest(values, [(SUBJECT, []), (OBJECT, [])]))
        return found.fill_null(self.now).alias(values.name)

    def _constants(self, pattern: TriplePattern) -> list[pl.Expr]:
        terms = _terms(pattern).items()
        fixed = {place: term for place, term in terms if isinstance(term, Iri | Literal)}
        return [pl.col(place) == self.ids(term) for place, term in fixed.items()]

    def _latest(self, values: pl.Series, wanted: list[tuple[str, list[pl.Expr]]]) -> pl.Series:
        """The greatest time of what has each value at one of some places, and meets conditions."""
        asked = values.to_frame(_TERM)
        seen = [
            window.quads.frame.filter(pl.col(TIME) <= self.now, *conditions)
            .select(pl.col(place).alias(_TERM), TIME)
            .join(asked.unique(), on=_TERM, how="semi")
            for window in self.windows
            for place, conditions in wanted
        ]
        if not seen:
            return pl.Series(values.name, [None] * values.len(), pl.Int64)
        latest = pl.concat(seen).group_by(_TERM).agg(pl.col(TIME).max())
        return asked.join(latest, on=_TERM, how="left", maintain_order="left")[TIME]


def _terms(pattern: TriplePattern) -> dict[str, PatternTerm]:
    return {SUBJECT: pattern.subject, PREDICATE: pattern.predicate, OBJECT: pattern.object}


def _places(pattern: TriplePattern, variable: Variable) -> list[str]:
    return [place for place, term in _terms(pattern).items() if term == variable]
