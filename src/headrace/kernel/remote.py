"""What a query knows of remote data: a view for each SERVICE under a budget, kept fresh."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
import polars as pl

from headrace.algebra.expressions import Variable
from headrace.algebra.operators import Service
from headrace.freshness.accuracy import estimated
from headrace.kernel.columns import CHANCE, INSTANT, column
from headrace.kernel.fetching import Fetch
from headrace.kernel.instants import Instants
from headrace.kernel.join import semi_join
from headrace.kernel.needed import Moment, Used
from headrace.kernel.solutions import Solutions, together
from headrace.kernel.view import RemoteView
from headrace.planning.contracts import Contract

MILLION: Final = 1_000_000
_OF_KEY: Final = "chance of the key"
_STANDS_FOR: Final = "stands for"


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
        completeness: what share of the rows that are expected the answer is estimated to have.
        between: how many of the requests were sent between evaluations.
        earlier: how it stood after those evaluations of the same step that began or ended an alert.
    """

    at: int = 0
    accuracy: float = 1.0
    requests: int = 0
    refreshed: int = 0
    missing: int = 0
    mappings: int = 0
    alerts: Mapping[str, str] = field(default_factory=dict)
    absent: int = 0
    completeness: float = 1.0
    between: int = 0
    earlier: tuple[Contracted, ...] = ()


@dataclass(frozen=True, slots=True)
class Quality:
    """The estimated quality of an answer.

    Attributes:
        accuracy: what share of its rows is right.
        completeness: what share of the rows that are expected it has.
    """

    accuracy: float
    completeness: float


class Remote:
    """The views of a query, and what it has to say of them."""

    def __init__(self, contracts: Sequence[Contract], name: str) -> None:
        """Begin with empty views."""
        self.views = {each.service: RemoteView(each, name) for each in contracts}
        self.qualities: dict[tuple[int, int], Quality] = {}
        self.standing = Contracted()
        self.changes: list[Contracted] = []
        self.spent = 0.0

    def begin(self) -> None:
        """Begin an evaluation: what views may cost is counted anew."""
        self.spent = 0.0
        for view in self.views.values():
            view.begin()

    def take_replies(self, fetch: Fetch) -> None:
        """Update the views with the replies since the last evaluation."""
        for view in self.views.values():
            view.take_replies(fetch)

    def solutions(
        self,
        service: Service,
        solutions: Solutions,
        moment: Moment,
        fetch: Fetch,
        beside: Solutions | None = None,
    ) -> Solutions:
        """Maintain a view, and return its solutions that fit some solutions.

        Args:
            service: whose.
            solutions: what they are joined with.
            moment: what windows hold.
            fetch: asks the endpoint.
            beside: what MINUS or EXISTS compares the outcome with; what fits none is not needed.
        """
        view = self.views[service]
        if not set(view.names) <= set(solutions.frame.columns):
            assert beside is not None, "planning has found the keys in one of them"
            solutions = beside
        elif beside is not None and beside is not solutions:
            fits = semi_join(solutions, beside, (0,))  # an instant at a time
            solutions = solutions.filtered(fits)
        used = Used.of(view.contract, solutions, moment)
        others = sum(not each.asked for each in self.views.values() if each is not view)
        began = fetch.clock()
        view.pacing.begin(began, self.spent)
        rows = view.maintained(used, moment.now, fetch, turns=1 + others)
        self.spent += fetch.clock() - began
        if view.contract.groups and view.lacking:
            view.group_share = _share_of_groups(view, solutions.frame, rows)
        instants = pl.repeat(0, rows.height, dtype=pl.Int64, eager=True).alias(INSTANT)
        named = rows.rename({CHANCE: self._chance(service)})
        return Solutions(pl.DataFrame([instants, *named.get_columns()]))

    def doubted(self, service: Service, found: Solutions) -> Solutions:
        """What OPTIONAL has found, where also what had no remote solution has its chance.

        That there is none is right as long as the mapping is fresh; of a key that is not in the
        view nothing is known.
        """
        name, view = self._chance(service), self.views[service]
        view.appeared = 0.0  # a solution of which nothing is found is there all the same
        known = view.chances.rename({CHANCE: _OF_KEY})
        frame = found.frame.join(known, on=view.names, how="left", maintain_order="left")
        chance = pl.coalesce(name, _OF_KEY, pl.lit(0)) if name in frame.columns else pl.lit(0)
        return found.with_frame(frame.with_columns(chance.alias(name)).drop(_OF_KEY))

    def weighed(self, service: Service, found: Solutions) -> Solutions:
        """Weigh the solutions of a test by the chance that the tested mapping is fresh.

        Whether it was there or not: of a key that is not in the view nothing is known. Where a
        solution does not have the key, the mean of all that were needed counts.
        """
        name, view = self._chance(service), self.views[service]
        if set(view.names) <= set(found.frame.columns):
            unknown = view.absent.with_columns(pl.lit(0, pl.Int64).alias(_OF_KEY))
            known = view.chances.rename({CHANCE: _OF_KEY}).join(unknown, on=view.names, how="anti")
            known = pl.concat([known, unknown.select(known.columns)])
            frame = found.frame.join(known, on=view.names, how="left", maintain_order="left")
        else:
            mean = round(view.accuracy * view.share * MILLION)
            frame = found.frame.with_columns(pl.lit(mean, pl.Int64).alias(_OF_KEY))
        both = [pl.col(each) for each in (name, _OF_KEY) if each in frame.columns]
        return found.with_frame(
            frame.with_columns(pl.min_horizontal(both).alias(name)).drop(_OF_KEY)
        )

    def cut(self, found: Solutions) -> Solutions:
        """Weigh rows that LIMIT or OFFSET has chosen: missing rows might replace them."""
        frame = found.frame
        for service, view in self.views.items():
            name = self._chance(service)
            if name in frame.columns and view.share < 1 and view.contract.adds_rows:
                share = (pl.col(name) * view.share).round().cast(pl.Int64)
                frame = frame.with_columns(share.alias(name))
        return found.with_frame(frame)

    def lacking(self, chance: str) -> int:
        """Count the solutions without a mapping in the view of a column of chances."""
        return next(
            (view.lacking for each, view in self.views.items() if self._chance(each) == chance), 0
        )

    def _chance(self, service: Service) -> str:
        """What its column is called: it names the key, so that a mapping is known again."""
        view = self.views[service]
        return " ".join([f"{CHANCE}{list(self.views).index(service)}", *view.names])

    def answered(
        self,
        at: tuple[int, int],
        found: Solutions,
        seconds: float,
        fetch: Fetch | None = None,
    ) -> None:
        """Record the quality of an answer, and whether the contract is met.

        Args:
            at: the time of the instant, and which of those of the same time it is.
            found: the solutions of the whole pattern.
            seconds: how long the evaluation has taken.
            fetch: asks endpoints between evaluations, where that is allowed.
        """
        quality = Quality(self._accuracy(found), self._completeness(found))
        self.qualities[at] = quality
        views = self.views.values()
        alerts: dict[str, str] = {}
        own = seconds - sum(view.waited for view in views)
        for view in views:
            problem = view.alert(quality.accuracy, quality.completeness, seconds, own)
            if problem is not None:
                alerts[view.endpoint] = problem
            if fetch is not None:
                view.ask_ahead(at[0], fetch)
        standing = Contracted(
            at[0],
            quality.accuracy,
            sum(view.counts.requests for view in views),
            sum(view.counts.refreshed for view in views),
            sum(view.counts.missing for view in views),
            sum(len(view) for view in views),
            alerts,
            sum(view.absent.height for view in views),
            quality.completeness,
            sum(view.counts.between for view in views),
        )
        if standing.alerts.keys() != self.standing.alerts.keys():
            self.changes.append(standing)
        self.standing = standing

    def contracted(self) -> Contracted:
        """How the query stands after a step, and how it stood on the way."""
        return replace(self.standing, earlier=tuple(self.changes))

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

    def _completeness(self, found: Solutions) -> float:
        """Divide the number of rows by the number of expected rows.

        Groups that have other solutions too are not missing with a mapping, unless it is the only
        one: they are counted by themselves.
        """
        groups = float(np.prod([view.group_share for view in self.views.values()]))
        return groups * self._completeness_of_rows(found)

    def _completeness_of_rows(self, found: Solutions) -> float:
        """The same of rows that are missing with a mapping.

        Solutions whose mapping is missing are expected to make as many rows as those have made
        whose mapping is known: each row that needed a mapping stands for so many. Where known ones
        have made none, one more makes a row with a chance of 1 in their number and one.
        """
        views = {
            self._chance(service): view
            for service, view in self.views.items()
            if view.share < 1 and view.contract.adds_rows
        }
        names = [name for name in views if name in found.frame.columns]
        if not views or (found.height and not names):
            return float(np.prod([view.share for view in views.values()]))
        present = found.frame
        for name in names:
            if views[name].share == 0:
                present = present.filter(pl.col(name).is_null())
        if present.is_empty():
            return float(np.prod([view.share for view in views.values()]))
        stands_for = pl.lit(1.0)
        expected = 0.0
        for name in names:
            view = views[name]
            if present[name].null_count() == present.height:
                expected += view.lacking / (view.needed - view.lacking + 1) + view.appeared
            else:
                each = pl.when(pl.col(name).is_null()).then(1.0).otherwise(1 / view.share)
                stands_for = stands_for * each
        rows = present.with_columns(stands_for.alias(_STANDS_FOR)).select(*found.names, _STANDS_FOR)
        if found.names:
            rows = rows.group_by(found.names).agg(pl.col(_STANDS_FOR).min())
        sums = np.sort(rows[_STANDS_FOR].to_numpy())  # in order, as above
        return float(rows.height / (sums.sum() + expected))

    def take_qualities(self, instants: Instants) -> dict[int, Quality]:
        """Return and forget the qualities of the answers of some instants."""
        found = {
            place: self.qualities[at]
            for place, at in enumerate(
                zip(instants.times.tolist(), instants.seqs.tolist(), strict=True)
            )
            if at in self.qualities
        }
        self.qualities = {}
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


def _share_of_groups(view: RemoteView, beside: pl.DataFrame, rows: pl.DataFrame) -> float:
    """What share of the groups that are expected has a solution whose mapping is known.

    Where the pattern beside the SERVICE has the keys of the groups, those of missing solutions are
    counted. Otherwise a missing solution is in a new group as likely as a known one is alone in its
    own.

    Args:
        view: of the SERVICE.
        beside: the solutions of that pattern.
        rows: what the view has for them.
    """
    groups = [column(each) for each in view.contract.groups or ()]
    known = beside.join(view.absent, on=view.names, how="anti")
    made = known.join(rows, on=view.names, how="inner")
    if not set(groups) <= set(made.columns):
        return 1.0
    if made.is_empty():
        return view.share
    sizes = made.group_by(groups).len()
    if set(groups) <= set(beside.columns):
        missing = beside.join(view.absent, on=view.names, how="semi").select(groups).unique()
        alone = missing.join(sizes, on=groups, how="anti", nulls_equal=True).height
        useful = known.join(rows, on=view.names, how="semi").height / known.height
        more = alone * useful
    else:
        more = view.lacking / known.height * sizes.filter(pl.col("len") == 1).height
    return sizes.height / (sizes.height + more)


@dataclass(frozen=True, slots=True)
class Viewing:
    """The local views of a query in one evaluation."""

    remote: Remote
    moment: Moment
    fetch: Fetch

    def solutions(
        self, service: Service, solutions: Solutions, beside: Solutions | None
    ) -> Solutions:
        """Return the remote solutions that fit some solutions."""
        return self.remote.solutions(service, solutions, self.moment, self.fetch, beside)

    def doubted(self, service: Service, found: Solutions) -> Solutions:
        """Weigh the solutions of OPTIONAL by the chance that an absent remote solution is real."""
        return self.remote.doubted(service, found)

    def weighed(self, service: Service, found: Solutions) -> Solutions:
        """Weigh the solutions of a test by the chance that their mappings are fresh."""
        return self.remote.weighed(service, found)

    def cut(self, found: Solutions) -> Solutions:
        """Weigh rows that LIMIT or OFFSET has chosen: missing rows might replace them."""
        return self.remote.cut(found)

    def lacking(self, chance: str) -> int:
        """Count the solutions without a mapping in the view of a column of chances."""
        return self.remote.lacking(chance)


def annotated(
    found: Solutions, keys: Sequence[Sequence[Variable]], lacking: Mapping[str, int]
) -> Solutions:
    """Add aggregates to solutions; one is right if all mappings of its group are.

    Args:
        found: the solutions.
        keys: of the groups of each aggregate.
        lacking: how many solutions are missing, by the column of chances.
    """
    if not found.chances:
        return found
    frame = found.frame
    for name in found.chances:
        least = frame.select(pl.lit(MILLION).alias(name)).to_series()
        for group in keys:
            by = [INSTANT, *_bound(frame, group)]
            whole = _all_there(found.frame, name, by, lacking)
            product = (
                _once(found.frame, name, by).select(_product(name, whole).over(by)).to_series()
            )
            least = pl.select(pl.min_horizontal(least, product).alias(name)).to_series()
        frame = frame.with_columns(least)
    return found.with_frame(frame)


def with_chances(
    made: Solutions, found: Solutions, keys: Sequence[Variable], lacking: Mapping[str, int]
) -> Solutions:
    """Add to groups the chance that their remote data are fresh and complete.

    Args:
        made: the groups.
        found: the solutions that they are made of.
        keys: of the groups.
        lacking: how many solutions are missing, by the column of chances.
    """
    if not found.chances:
        return made
    rows = found.frame
    names = [INSTANT, *_bound(rows, keys)] if made.keyed else _bound(rows, keys)
    for each in found.chances:
        rows = _once(rows, each, names)
    whole = [
        _product(each, _all_there(found.frame, each, names, lacking)) for each in found.chances
    ]
    if not names:
        return made.with_frame(made.frame.join(rows.select(whole), how="cross"))
    chances = rows.group_by(names).agg(whole)
    frame = made.frame.join(chances, on=names, how="left", nulls_equal=True, maintain_order="left")
    # A group that has no solution is right only if none is missing.
    empty = [pl.col(each).fill_null(0 if lacking.get(each) else MILLION) for each in found.chances]
    return made.with_frame(frame.with_columns(empty))


def _bound(frame: pl.DataFrame, keys: Sequence[Variable]) -> list[str]:
    """The columns of keys: what no solution binds has none, and tells no groups apart."""
    return [name for name in map(column, keys) if name in frame.columns]


def _product(name: str, whole: pl.Expr) -> pl.Expr:
    """Multiply the chances that mappings are fresh and that no solution is missing."""
    shares = pl.col(name).fill_null(MILLION) / MILLION
    return (shares.product() * whole * MILLION).round().cast(pl.Int64).alias(name)


def _all_there(
    frame: pl.DataFrame, name: str, by: Sequence[str], lacking: Mapping[str, int]
) -> pl.Expr:
    """Compute the chance that a group lacks none of the missing solutions.

    Each is in a group as likely as the solutions are that are there. Where groups are told apart by
    the key of a view, none can be: they would be groups of their own.
    """
    missing = lacking.get(name, 0)
    if not missing or set(name.removeprefix(CHANCE).split(" ")[1:]) <= set(by):
        return pl.lit(1.0)
    there = frame[name].count()
    if not there:
        return pl.lit(0.0)
    return (1 - pl.col(name).count() / there) ** missing


def _once(frame: pl.DataFrame, name: str, by: list[str]) -> pl.DataFrame:
    """A column of chances in which each mapping has its own once in a group, and is sure then."""
    keys = name.removeprefix(CHANCE).split(" ")[1:]
    if not set(keys) <= set(frame.columns):  # a subquery has left nothing of them
        return frame
    again = pl.int_range(pl.len()).over([*by, *keys]) > 0
    return frame.with_columns(pl.when(again).then(MILLION).otherwise(pl.col(name)).alias(name))
