"""What a query knows of remote data: a view for each SERVICE under a budget, kept fresh."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import polars as pl

from headrace.algebra.expressions import Variable
from headrace.algebra.operators import Service
from headrace.freshness.accuracy import estimated
from headrace.kernel.columns import CHANCE, INSTANT, column
from headrace.kernel.fetching import Fetch
from headrace.kernel.instants import Instants
from headrace.kernel.needed import Moment, Used
from headrace.kernel.solutions import Solutions, together
from headrace.kernel.view import RemoteView
from headrace.planning.contracts import Contract

MILLION: Final = 1_000_000
_OF_KEY: Final = "chance of the key"


@dataclass(frozen=True, slots=True)
class Contracted:
    """How a query stands with its endpoints after an evaluation.

    Attributes:
        at: the instant.
        accuracy: what share of the rows is estimated to be right.
        requests: how many requests have been sent so far.
        refreshed: how many mappings have been refreshed so far.
        missing: how many mappings were in a window but not in the view so far.
        mappings: how many there are in its views.
        alerts: why its contract is not met, by endpoint; none if it is.
        absent: how many mappings were in a window but not in the view in this evaluation.
    """

    at: int = 0
    accuracy: float = 1.0
    requests: int = 0
    refreshed: int = 0
    missing: int = 0
    mappings: int = 0
    alerts: Mapping[str, str] = field(default_factory=dict)
    absent: int = 0


class Remote:
    """The views of a query, and what it has to say of them."""

    def __init__(self, contracts: Sequence[Contract], name: str) -> None:
        """Begin with empty views."""
        self.views = {each.service: RemoteView(each, name) for each in contracts}
        self.accuracies: dict[tuple[int, int], float] = {}
        self.standing = Contracted()
        self.spent = 0.0

    def begin(self) -> None:
        """An evaluation begins: what views may cost is counted anew."""
        self.spent = 0.0
        for view in self.views.values():
            view.begin()

    def solutions(
        self,
        service: Service,
        solutions: Solutions,
        moment: Moment,
        fetch: Fetch,
    ) -> Solutions:
        """The remote solutions that fit some solutions, from the view, after its maintenance."""
        view = self.views[service]
        used = Used.of(view.contract, solutions, moment)
        others = sum(not each.asked for each in self.views.values() if each is not view)
        began = fetch.clock()
        view.pacing.begin(began, self.spent)
        rows = view.maintained(used, moment.now, fetch, turns=1 + others)
        self.spent += fetch.clock() - began
        instants = pl.repeat(0, rows.height, dtype=pl.Int64, eager=True).alias(INSTANT)
        named = rows.rename({CHANCE: self._chance(service)})
        return Solutions(pl.DataFrame([instants, *named.get_columns()]))

    def doubted(self, service: Service, found: Solutions) -> Solutions:
        """What OPTIONAL has found, where also what had no remote solution has its chance.

        That there is none is right as long as the mapping is fresh; of a key that is not in the
        view nothing is known.
        """
        name, view = self._chance(service), self.views[service]
        known = view.chances.rename({CHANCE: _OF_KEY})
        frame = found.frame.join(known, on=view.names, how="left", maintain_order="left")
        chance = pl.coalesce(name, _OF_KEY, pl.lit(0)) if name in frame.columns else pl.lit(0)
        return found.with_frame(frame.with_columns(chance.alias(name)).drop(_OF_KEY))

    def _chance(self, service: Service) -> str:
        """What its column is called: it names the key, so that a mapping is known again."""
        view = self.views[service]
        return " ".join([f"{CHANCE}{list(self.views).index(service)}", *view.names])

    def answered(self, at: tuple[int, int], found: Solutions, seconds: float) -> None:
        """Take note of an answer: how accurate it probably is, and whether the contract is met.

        Args:
            at: the time of the instant, and which of those of the same time it is.
            found: the solutions of the whole pattern.
            seconds: how long the evaluation has taken.
        """
        accuracy = self._accuracy(found)
        self.accuracies[at] = accuracy
        views = self.views.values()
        alerts: dict[str, str] = {}
        own = seconds - sum(view.waited for view in views)
        for view in views:
            problem = view.alert(accuracy, seconds, own)
            if problem is not None:
                alerts[view.endpoint] = problem
        self.standing = Contracted(
            at[0],
            accuracy,
            sum(view.counts.requests for view in views),
            sum(view.counts.refreshed for view in views),
            sum(view.counts.missing for view in views),
            sum(len(view) for view in views),
            alerts,
            sum(view.absent.height for view in views),
        )

    def _accuracy(self, found: Solutions) -> float:
        """The mean over distinct rows of the chance that all their remote mappings are fresh."""
        chances = [name for name in found.frame.columns if name.startswith(CHANCE)]
        if not chances:  # an operator has left nothing of single rows
            every = [view.accuracy for view in self.views.values()]
            return float(np.prod(every)) if found.height else 1.0
        rows = found.frame.select(*found.names, together(chances).alias(CHANCE))
        if found.names:
            rows = rows.group_by(found.names).agg(pl.col(CHANCE).max())
        # In order, so that sums do not depend on how rows came to stand where they do.
        return estimated(np.sort(rows[CHANCE].to_numpy()))

    def told(self, instants: Instants) -> dict[int, float]:
        """The accuracies of some instants, by their places; they are not asked for again."""
        found = {
            place: self.accuracies[at]
            for place, at in enumerate(
                zip(instants.times.tolist(), instants.seqs.tolist(), strict=True)
            )
            if at in self.accuracies
        }
        self.accuracies = {}
        return found

    # -- what must not be forgotten ------------------------------------------------------------

    def frames(self) -> dict[str, pl.DataFrame]:
        """All that another process needs to go on."""
        return {
            f"{number} {name}": frame
            for number, view in enumerate(self.views.values())
            for name, frame in view.frames().items()
        }

    def recall(self, frames: Mapping[str, pl.DataFrame]) -> None:
        """Go on with what another process has known."""
        for number, view in enumerate(self.views.values()):
            begins = f"{number} "
            own = {
                name.removeprefix(begins): frame
                for name, frame in frames.items()
                if name.startswith(begins)
            }
            if own:
                view.recall(own)

    def ids(self) -> list[pl.Series]:
        """The ids of all terms in its views."""
        return [series for view in self.views.values() for series in view.ids()]


def annotated(found: Solutions, keys: Sequence[Sequence[Variable]]) -> Solutions:
    """Solutions that get aggregates of their groups: right if all of a group's mappings are.

    Args:
        found: the solutions.
        keys: of the groups of each aggregate.
    """
    if not found.chances:
        return found
    frame = found.frame
    for name in found.chances:
        least = frame.select(pl.lit(MILLION).alias(name)).to_series()
        for group in keys:
            by = [INSTANT, *_bound(frame, group)]
            product = _once(found.frame, name, by).select(_product(name).over(by)).to_series()
            least = pl.select(pl.min_horizontal(least, product).alias(name)).to_series()
        frame = frame.with_columns(least)
    return found.with_frame(frame)


def with_chances(made: Solutions, found: Solutions, keys: Sequence[Variable]) -> Solutions:
    """Groups with the chance that all remote data of their solutions are fresh."""
    if not found.chances:
        return made
    rows = found.frame
    names = [INSTANT, *_bound(rows, keys)] if made.keyed else _bound(rows, keys)
    for each in found.chances:
        rows = _once(rows, each, names)
    whole = [_product(each) for each in found.chances]
    if not names:
        return made.with_frame(made.frame.join(rows.select(whole), how="cross"))
    chances = rows.group_by(names).agg(whole)
    frame = made.frame.join(chances, on=names, how="left", nulls_equal=True, maintain_order="left")
    return made.with_frame(frame)


def _bound(frame: pl.DataFrame, keys: Sequence[Variable]) -> list[str]:
    """The columns of keys: what no solution binds has none, and tells no groups apart."""
    return [name for name in map(column, keys) if name in frame.columns]


def _product(name: str) -> pl.Expr:
    """The chance that all of some mappings are fresh."""
    shares = pl.col(name).fill_null(MILLION) / MILLION
    return (shares.product() * MILLION).round().cast(pl.Int64).alias(name)


def _once(frame: pl.DataFrame, name: str, by: list[str]) -> pl.DataFrame:
    """A column of chances in which each mapping has its own once in a group, and is sure then."""
    keys = name.removeprefix(CHANCE).split(" ")[1:]
    if not set(keys) <= set(frame.columns):  # a subquery has left nothing of them
        return frame
    again = pl.int_range(pl.len()).over([*by, *keys]) > 0
    return frame.with_columns(pl.when(again).then(MILLION).otherwise(pl.col(name)).alias(name))
