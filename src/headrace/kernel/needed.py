"""Which keys of a local view an evaluation needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, assert_never

import numpy as np
import polars as pl

from headrace.algebra.expressions import PatternTerm, TriplePattern, Variable
from headrace.algebra.windows import AllWindow, CountWindow, NowWindow, TimeWindow
from headrace.freshness.scores import Ints
from headrace.kernel.columns import OBJECT, PREDICATE, SUBJECT, TIME, column
from headrace.kernel.data import WindowContents
from headrace.kernel.solutions import Solutions
from headrace.planning.contracts import Binding, Contract, may_bind
from headrace.planning.planned import PlannedWindow
from headrace.rdf.terms import Iri, Literal, Term

_TERM: Final = "term"
_LONG: Final = 2**60
"""A time that no stream reaches: when elements leave a window that time does not move."""
_WEIGHT: Final = "weight"


@dataclass(frozen=True, slots=True)
class Used:
    """The keys that an evaluation needs.

    Attributes:
        keys: a column of ids for each variable of the key; each row once.
        weight: in how many solutions each is.
        entered: when the newest element in a window happened that has it; of several windows, or
            of one that moves in other steps than evaluations do, as if it were in that of the
            contract and left it with the next evaluation that does not use it.
        identity: what tells each from any other, once they are ordered.
    """

    keys: pl.DataFrame
    weight: Ints
    entered: Ints
    identity: Ints = field(default_factory=lambda: np.zeros(0, np.int64))

    @classmethod
    def of(cls, contract: Contract, solutions: Solutions, moment: Moment) -> Used:
        """Return the keys of some solutions over what windows hold."""
        names = [column(each) for each in contract.keys]
        counted = solutions.frame.group_by(names, maintain_order=True).len(name=_WEIGHT)
        entered = [
            moment.used_since(counted[column(each)], each, contract) for each in contract.keys
        ]
        times = pl.DataFrame(entered).min_horizontal() if entered else pl.Series([], dtype=pl.Int64)
        return cls(
            counted.select(names),
            counted[_WEIGHT].cast(pl.Int64).to_numpy(),
            np.array(times.to_numpy(), np.int64),
        )

    def ordered(self, identity: Ints) -> Used:
        """Sort the keys by their content alone."""
        order = np.argsort(identity, kind="stable")
        keys = self.keys[pl.Series(order)]
        return Used(keys, self.weight[order], self.entered[order], identity[order])


@dataclass(frozen=True, slots=True)
class Moment:
    """What windows hold at an instant.

    Attributes:
        windows: the windows.
        now: the instant.
        ids: the id of a term.
        bounds: each of the windows as it is planned, and when it closes; none if only elements of
            one window are looked at.
    """

    windows: Sequence[WindowContents]
    now: int
    ids: Callable[[Term], int]
    bounds: Sequence[tuple[PlannedWindow, int]] = ()

    def used_since(self, values: pl.Series, variable: Variable, contract: Contract) -> pl.Series:
        """Compute when each value would have entered the window of a contract, from when it leaves.

        A value leaves with the first of the patterns that every solution needs, and that with the
        last of its elements, whatever window each is in.
        """
        if not self.bounds or not contract.bindings:
            return self.entered(values, variable, contract.patterns)
        ours = [each for each in contract.bindings if _places(each.pattern, variable)]
        required = [self._leaving(values, variable, each) for each in ours if each.required]
        others = [self._leaving(values, variable, each) for each in ours if not each.required]
        first = pl.select(pl.min_horizontal(required)).to_series() if required else _none(values)
        last = pl.select(pl.max_horizontal(others)).to_series() if others else _none(values)
        leaves = pl.select(pl.coalesce(first, last)).to_series()
        since = (leaves - contract.window.width).alias(values.name)
        if since.null_count():
            since = since.fill_null(self.entered(values, variable, contract.patterns))
        return since

    def _leaving(self, values: pl.Series, variable: Variable, binding: Binding) -> pl.Series:
        """Compute when the last element with each value leaves its window."""
        wanted = [
            (place, self._constants(binding.pattern))
            for place in _places(binding.pattern, variable)
        ]
        found = []
        for window, (planned, close) in zip(self.windows, self.bounds, strict=True):
            if may_bind(binding, planned):
                newest = replace(self, windows=(window,))._latest(values, wanted)
                found.append(self._leaves(newest, planned, close))
        return pl.select(pl.max_horizontal(found)).to_series() if found else _none(values)

    def _leaves(self, times: pl.Series, window: PlannedWindow, close: int) -> pl.Series:
        """Compute when elements of some times leave a window."""
        match window.frame:
            case TimeWindow(width, None):
                return times + width
            case TimeWindow(width, slide):
                assert slide is not None, "the case before"
                moves = (-((close - times - width) // slide)).clip(1)
                return close + moves * slide
            case NowWindow():
                return times + 1
            case CountWindow() | AllWindow():
                return times.clip(_LONG, _LONG)
            case _:
                assert_never(window.frame)

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


def _none(values: pl.Series) -> pl.Series:
    return pl.Series(values.name, [None] * values.len(), pl.Int64)


def _terms(pattern: TriplePattern) -> dict[str, PatternTerm]:
    return {SUBJECT: pattern.subject, PREDICATE: pattern.predicate, OBJECT: pattern.object}


def _places(pattern: TriplePattern, variable: Variable) -> list[str]:
    return [place for place, term in _terms(pattern).items() if term == variable]
