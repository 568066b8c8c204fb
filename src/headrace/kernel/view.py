"""A local view of what a SERVICE gives: its mappings by their keys, refreshed within a budget."""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

from headrace.freshness.accuracy import estimated
from headrace.freshness.election import Candidates, elected
from headrace.freshness.policies import Proposer
from headrace.freshness.scores import Flags, Ints
from headrace.freshness.view import LocalView
from headrace.kernel.columns import CHANCE
from headrace.kernel.fetching import Fetch, Habits, Reply
from headrace.kernel.mappings import PLACE, Mappings
from headrace.kernel.needed import Used
from headrace.planning.contracts import Contract

_MILLION: Final = 1_000_000
_SLIDES: Final = 10
"""In so many slides of its window a mapping changes once, while nothing is known of it."""
_LEAST: Final = 1e-9
_WEIGHT: Final = "weight"


class RemoteView(Mappings):
    """The mappings of a SERVICE under a budget."""

    def __init__(self, contract: Contract, query: str) -> None:
        """Begin with nothing in it."""
        super().__init__(contract, query)
        self.problem: str | None = None
        self.accuracy = 1.0
        self.asked = False
        self.asked_for = 0
        self.absent = pl.DataFrame(schema=dict.fromkeys(self.names, pl.Int64))
        self.filling = False
        self.turns = 1
        self.waited = 0.0
        self.chances = pl.DataFrame(schema=dict.fromkeys((*self.names, CHANCE), pl.Int64))
        self.needed = self.lacking = self.useful = 0
        self.appeared = 0.0
        self.group_share = 1.0
        self.new = 0
        self.used: list[Used] = []

    # -- an evaluation -------------------------------------------------------------------------

    def begin(self) -> None:
        """Begin an evaluation, in which a repeated SERVICE is asked again."""
        self.problem, self.asked, self.asked_for, self.filling = None, False, 0, False
        self.absent = self.absent.clear()
        self.just_asked, self.waited = np.zeros(0, np.int64), 0.0
        self.needed = self.lacking = self.useful = self.new = 0
        self.appeared = 0.0
        self.group_share = 1.0
        self.used = []

    @property
    def share(self) -> float:
        """The share of the solutions with an expected mapping that have a known one.

        A mapping that is known and has no rows may have some by now: as likely as it is stale.
        """
        if not self.needed:
            return 1.0
        known = self.needed - self.lacking
        if not self.useful:
            return max(0.0, known - self.appeared) / self.needed
        return 1 / (self.needed / known + self.appeared / self.useful)

    def maintained(self, used: Used, now: int, fetch: Fetch, turns: int = 1) -> pl.DataFrame:
        """Refresh the view within its budget, and return the rows of the needed keys.

        Args:
            used: the keys that are needed.
            now: the time of the evaluation.
            fetch: asks the endpoint.
            turns: among how many views the time is shared that is left.
        """
        habits = self._see(fetch)
        self.asked, self.turns = True, turns
        if habits.refused is not None:
            self.problem = habits.refused
            self._lacks(used, np.ones(used.keys.height, np.bool_))
            return self._silent(used.keys)
        if self.local is None:
            expected = habits.expected or _SLIDES * self.contract.window.slide
            self.local = LocalView(expected=expected)
        used = used.ordered(fetch.identities(used.keys))
        self.used.append(used)
        before = self.counts.requests
        self._fill(now, fetch, habits)
        if not self.first:  # what fills the view at the start is not refreshed
            self.asked_for += self.counts.requests - before
        budget = self._budget(fetch, habits, used.keys.height)
        asked_for = self.asked_for
        self._fetch_new(used, now, fetch, habits, budget)
        if self.asked_for > asked_for and self.contract.limits.within is not None:
            budget = min(budget, self._budget(fetch, habits, used.keys.height))
        placed = used.keys.join(self.known, on=self.names, how="left", maintain_order="left")
        here = placed[PLACE].is_not_null().to_numpy()
        places = placed[PLACE].drop_nulls().to_numpy().astype(np.int64)
        self.counts.missing += int(np.count_nonzero(~here))
        self._lacks(used, ~here)
        again = False
        while True:
            left = max(0, budget - self.asked_for)
            kept = used.weight[here], used.entered[here]
            chosen = self._elected(places, *kept, now, left, again=again)
            if chosen.size:
                self._refresh(chosen, now, fetch)
            if chosen.size == 0 or not self._may_ask_again(fetch):
                break  # else what was learned may have changed the estimate
            again, budget = True, self._budget(fetch, habits, used.keys.height)
        self.first = False
        self._make_room(0, used, habits)
        return self._found(used, now)

    @property
    def _rate(self) -> float | None:
        """The most requests per second between evaluations."""
        own = self.contract.limits.rate
        return self.habits.rate if own is None else own

    def _lacks(self, used: Used, absent: Flags) -> None:
        """Record needed keys that are not known, wherever in the query."""
        keys = used.keys.filter(pl.Series(absent, dtype=pl.Boolean))
        self.absent = pl.concat([self.absent, keys]).unique(maintain_order=True)
        self.needed += int(used.weight.sum())
        self.lacking += int(used.weight[absent].sum())

    def _found(self, used: Used, now: int) -> pl.DataFrame:
        """The rows of some keys, each with the chance that it is fresh."""
        placed = used.keys.join(self.known, on=self.names, how="inner", maintain_order="left")
        chances = self._local.probably_fresh(placed[PLACE].to_numpy().astype(np.int64), now)
        self.accuracy = estimated(chances)
        millionths = pl.Series(CHANCE, np.rint(chances * _MILLION).astype(np.int64), pl.Int64)
        table = placed.with_columns(millionths)
        self.chances = table.drop(PLACE)
        self._note_empty(used, table)
        rows = self.rows.join(
            table.select(PLACE, CHANCE), on=PLACE, how="inner", maintain_order="left"
        ).drop(PLACE)
        if self.contract.service.silent and self.problem is not None:
            missing = used.keys.join(self.known, on=self.names, how="anti", maintain_order="left")
            return pl.concat([rows, self._silent(missing)])
        return rows

    def _note_empty(self, used: Used, table: pl.DataFrame) -> None:
        """Take note of the solutions whose mapping has rows, and of those that may have some now.

        Args:
            used: the keys that are needed.
            table: the known ones, each with its place and its chance to be fresh.
        """
        weights = used.keys.with_columns(pl.Series(_WEIGHT, used.weight))
        weighed = table.join(weights, on=self.names, how="inner")
        full = weighed.join(self.rows.select(PLACE).unique(), on=PLACE, how="semi")
        empty = weighed.join(self.rows.select(PLACE).unique(), on=PLACE, how="anti")
        stale = _MILLION - empty[CHANCE].to_numpy()
        self.useful += int(full[_WEIGHT].sum())
        self.appeared += float(np.dot(stale, empty[_WEIGHT].to_numpy())) / _MILLION

    def _silent(self, keys: pl.DataFrame) -> pl.DataFrame:
        """What SILENT gives where an endpoint has failed: solutions that bind nothing more."""
        chance = pl.lit(0, pl.Int64).alias(CHANCE)
        unbound = [pl.lit(None, pl.Int64).alias(each) for each in self.columns]
        others = [each for each in unbound if each.meta.output_name() not in self.names]
        return keys.with_columns(*others, chance).select(*self.columns, CHANCE)

    def _fill(self, now: int, fetch: Fetch, habits: Habits) -> None:
        """Fetch all mappings of the endpoint, if that is configured and they fit."""
        if self.filled_at is not None:
            return
        if not habits.whole:
            self.filled_at = now
            return
        if self.problem is not None:  # it has just failed, for where it stands first
            return
        within, began = self._within(fetch), fetch.clock()
        filling = fetch.everything(self.service, self.scope, within)
        self._waited(fetch.clock() - began, within)
        self.counts.requests += filling.requests
        self.problem, self.filling = filling.problem, filling.waits
        if filling.too_many:
            self.filled_at = now
        elif filling.rows is not None:
            self.filled_at, self.whole = now, True
            keys = filling.rows.select(self.names).unique(maintain_order=True)
            self._add(keys, now, fetch, filling.rows)
            self._put(filling.rows)

    def _within(self, fetch: Fetch) -> float | None:
        """How many seconds are left for requests."""
        within = self.contract.limits.within
        if within is None:
            return None
        return self.pacing.left(within / _MILLION, fetch.clock()) / self.turns

    def _budget(self, fetch: Fetch, habits: Habits, needed: int) -> int:
        """How many mappings may be asked for in this evaluation, with those that have been."""
        limits = self.contract.limits
        allowed = self.asked_for + max(needed, len(self))
        if limits.requests is not None:
            allowed = limits.requests
        left = self._within(fetch)
        if left is not None:
            allowed = min(allowed, self.asked_for + self.pacing.budget(left, habits.lanes))
        return allowed

    def _may_ask_again(self, fetch: Fetch) -> bool:
        """Whether more may be asked for, if what was asked for was not enough."""
        if self.contract.limits.accuracy is None:
            return False
        left = self._within(fetch)
        return left is None or self.pacing.has_time(left)

    def _fetch_new(self, used: Used, now: int, fetch: Fetch, habits: Habits, budget: int) -> None:
        """Fetch new keys, before any other is refreshed.

        If the view was filled with all there was, such a key had no mapping then.
        """
        if self.filled_at is None:
            return
        placed = used.keys.join(self.known, on=self.names, how="left", maintain_order="left")
        missing = placed[PLACE].is_null().to_numpy()
        if self.whole and missing.any():
            self._add_without_rows(used.keys.filter(pl.Series(missing)), used, fetch, habits)
            placed = used.keys.join(self.known, on=self.names, how="left", maintain_order="left")
        if self.whole:
            missing = self._never_asked(placed[PLACE].to_numpy().astype(np.int64), now)
        self.new += int(np.count_nonzero(missing))
        if self.problem is not None:  # it has just failed
            return
        chosen = self._ranked(used, np.flatnonzero(missing), now, budget - self.asked_for)
        if chosen.size == 0:
            return
        if self.whole:
            self._refresh(placed[PLACE].to_numpy()[chosen].astype(np.int64), now, fetch)
            return
        asked = used.keys[pl.Series(chosen)]
        reply = self._asked(asked, fetch)
        taken = asked.filter(pl.Series(reply.answered, dtype=pl.Boolean))
        self._take(taken, reply.rows, now, used, fetch, habits)

    def _add_without_rows(
        self, keys: pl.DataFrame, used: Used, fetch: Fetch, habits: Habits
    ) -> None:
        """Add keys for which a completely filled view has no rows."""
        assert self.filled_at is not None, "it is whole since then"
        self._make_room(keys.height, used, habits)
        self._add(keys, self.filled_at, fetch)
        if not self.first:  # they were asked for then, and not now
            self.just_asked = self.just_asked[: -keys.height]

    def _never_asked(self, places: Ints, now: int) -> Flags:
        """Select the mappings that are known only by their absence from a complete answer."""
        if self.filled_at is None or self.filled_at >= now:
            return np.zeros(places.size, np.bool_)
        since = self._local.refreshed[places] == self.filled_at
        return np.asarray(since & ~np.isin(places, self.rows[PLACE].to_numpy()))

    def _ranked(self, used: Used, new: Ints, now: int, budget: int) -> Ints:
        """Rank new keys by the number of evaluations that use them."""
        if new.size == 0 or budget <= 0:
            return np.zeros(0, np.int64)
        number, contract = new.size, self.contract
        candidates = Candidates(
            used.identity[new],
            np.full(number, now, np.int64),
            np.full(number, self._local.expected, np.int64),
            np.full(number, -1, np.int64),
            used.entered[new],
            used.weight[new],
        )
        chosen = elected(candidates, contract.policy.ranker, budget, contract.window, now)
        return np.asarray(new[chosen], np.int64)

    # -- between evaluations ---------------------------------------------------------------------

    def ask_ahead(self, now: int, fetch: Fetch) -> None:
        """Ask for mappings until the next evaluation, if a rate is declared.

        What is not in the view goes first. All that is sent counts for the budget of the next
        evaluation, of which as much is left as new keys have needed in this one.
        """
        rate, limits = self._rate, self.contract.limits
        if rate is None or self.local is None or self.filled_at is None:
            return
        keys = pl.concat([self.absent, self._due_next(now)])
        if limits.requests is not None:
            reserved = 0 if self.pacing.starved else self.new
            keys = keys.head(max(0, limits.requests - reserved))
        fetch.ask_ahead(self.service, self.contract.keys, keys, rate, self.scope, now)

    def _due_next(self, now: int) -> pl.DataFrame:
        """Return the keys that would be refreshed in the next evaluation, the most useful first."""
        local, contract = self._local, self.contract
        after = now + contract.window.slide
        parts = [
            (each.keys.join(self.known, on=self.names, how="left", maintain_order="left"), each)
            for each in self.used
        ]
        columns = [(placed[PLACE].to_numpy(), each.weight, each.entered) for placed, each in parts]
        if contract.policy.proposer is Proposer.GNR:
            every = np.arange(len(self))
            columns = [(every, np.ones(every.size, np.int64), np.full(every.size, now, np.int64))]
        if not columns:
            return self.absent.clear()
        places, weight, entered = (np.concatenate(each) for each in zip(*columns, strict=True))
        here = ~np.isnan(places.astype(np.float64))
        places, first = np.unique(places[here].astype(np.int64), return_index=True)
        stale = local.refreshed[places] < now
        places, first = places[stale], first[stale]
        candidates = local.candidates(places, entered[here][first], weight[here][first])
        ranker, window = contract.policy.ranker, contract.window
        chosen = elected(candidates, ranker, places.size, window, after)
        return self.known.select(self.names)[pl.Series(places[chosen])]

    def take_replies(self, fetch: Fetch) -> None:
        """Take in what has been answered since the last evaluation, and count what was sent."""
        if self._rate is None or self.local is None:
            return
        said = fetch.replies(self.service, self.contract.keys, self.scope)
        self.asked_for += said.sent
        self.counts.requests += said.requests
        self.counts.between += said.requests
        self.pacing.saw_seconds(said.seconds)
        if said.problem is not None:
            self.problem = said.problem
        for at, keys, rows in said.answered:
            placed = keys.join(self.known, on=self.names, how="left", maintain_order="left")
            new = keys.filter(placed[PLACE].is_null())
            known = placed[PLACE].drop_nulls().to_numpy().astype(np.int64)
            self._replace(known[self.local.refreshed[known] <= at], rows, at, fetch)
            self._take(new, rows, at, None, fetch, self.habits)
            self.counts.refreshed += new.height

    def _elected(
        self,
        places: Ints,
        weight: Ints,
        entered: Ints,
        now: int,
        budget: int,
        *,
        again: bool = False,
    ) -> Ints:
        """The places that are refreshed; if again, because it was not accurate enough."""
        local, contract = self._local, self.contract
        if self.problem is not None or budget == 0:
            return np.zeros(0, np.int64)
        used, weights, stale = places, weight, local.refreshed[places] < now
        if contract.is_unlimited:  # also where instants are of the same time, or come in no order
            stale = ~np.isin(local.identity[places], self.just_asked)
        places, weight, entered = places[stale], weight[stale], entered[stale]
        if contract.is_unlimited:
            return places
        if contract.policy.proposer is Proposer.GNR:
            places = np.flatnonzero(local.refreshed < now).astype(np.int64)
            weight, entered = np.ones(places.size, np.int64), np.full(places.size, now, np.int64)
        candidates = local.candidates(places, entered, weight)
        chosen = elected(candidates, contract.policy.ranker, budget, contract.window, now)
        if not contract.wants_only_accuracy and not again:
            local.spared(unused=chosen.size < budget)
        if contract.limits.accuracy is not None:
            chosen = self._accurate(chosen, places, used, weights, now)[:budget]
        return places[chosen]

    def _accurate(self, chosen: Ints, places: Ints, used: Ints, weights: Ints, now: int) -> Ints:
        """What the ranker has chosen, and what it has left out as far as accuracy takes it.

        The least certain go first. Where only accuracy is asked for, not even all that the ranker
        has chosen is needed.
        """
        contract, chances = self.contract, self._local.probably_fresh(places, now)
        sure = chosen[:0] if contract.wants_only_accuracy else chosen
        needed = np.flatnonzero(np.isin(places, used))
        if contract.beside > 1:
            # Which of them are in rows is for the other services to say: so each has to do.
            rest = np.setdiff1d(needed[chances[needed] < contract.aim], sure)
            return np.concatenate([sure, rest[np.argsort(chances[rest], kind="stable")]])
        rest = np.setdiff1d(needed, chosen)
        every = np.concatenate([chosen, rest[np.argsort(chances[rest], kind="stable")]])
        return every[: max(sure.size, self._enough(used, weights, places[every], now))]

    def _enough(self, used: Ints, weight: Ints, chosen: Ints, now: int) -> int:
        """How many of the chosen make an answer accurate enough.

        Rows that are made of many solutions are right only if all of their mappings are; then it
        is the product of chances that counts. Else it is their mean, and because it depends on
        the query how many rows a mapping makes, in every way they may be counted.
        """
        aim, fresh = self.contract.aim, self._local.probably_fresh(used, now)
        rows = np.bincount(self.rows[PLACE].to_numpy(), minlength=len(self))[used]
        ways = np.stack([np.ones(used.size), rows, rows * weight])
        if self.contract.merges:
            ways, fresh, aim = ways[:1], np.log(fresh), np.log(max(aim, _LEAST))
            gained, least = -fresh, np.array([aim])
        else:
            gained, least = 1 - fresh, aim * ways.sum(axis=1)
        place_of = np.zeros(len(self), np.int64)
        place_of[used] = np.arange(used.size)
        each = (ways * gained)[:, place_of[chosen]] * np.isin(chosen, used)
        sums = (ways * fresh).sum(axis=1, keepdims=True) + np.cumsum(
            np.concatenate([np.zeros((len(ways), 1)), each], axis=1), axis=1
        )
        reached = (sums >= least[:, None] - _LEAST).all(axis=0)
        return int(np.argmax(reached)) if reached.any() else chosen.size

    def _refresh(self, places: Ints, now: int, fetch: Fetch) -> None:
        asked = self.known[pl.Series(places)]
        reply = self._asked(asked.select(self.names), fetch)
        answered = np.array(reply.answered, np.bool_)
        self._replace(places[answered], reply.rows, now, fetch)

    def _asked(self, keys: pl.DataFrame, fetch: Fetch) -> Reply:
        scope = f"{self.scope}-{self.counts.requests}"
        service, within, began = self.service, self._within(fetch), fetch.clock()
        reply = fetch.some(service, self.contract.keys, keys, within, scope)
        self._waited(fetch.clock() - began, within)
        self.asked_for += keys.height
        self.counts.requests += reply.requests
        self.pacing.saw(reply)
        if reply.problem is not None:
            self.problem = reply.problem
        return reply

    def _waited(self, seconds: float, within: float | None) -> None:
        """Take note of a wait; what it was too long is time that evaluations need besides."""
        self.waited += seconds if within is None else min(seconds, within)

    def alert(self, accuracy: float, completeness: float, seconds: float, own: float) -> str | None:
        """Return the reason why the contract is not met; None if it is.

        Args:
            accuracy: the estimate for the whole answer.
            completeness: likewise.
            seconds: how long the evaluation has taken.
            own: how much of that was not for requests.
        """
        self.pacing.evaluated(own)
        limits = self.contract.limits
        if self.problem is not None:
            return self.problem
        if self.filling:
            return "its first answer is still on its way"
        if limits.within is not None and seconds * _MILLION > limits.within:
            return f"an evaluation has taken {seconds:.3f} s, not {limits.within / _MILLION:g} s"
        if limits.within is not None and self.pacing.starved and self._rate is None:
            return f"no request fits into {limits.within / _MILLION:g} s"
        if limits.accuracy is None:
            return None
        shares = {"accuracy": accuracy, "completeness": completeness}
        below = [
            f"the estimated {name} is {share:.2f}"
            for name, share in shares.items()
            if share < limits.accuracy - _LEAST
        ]
        return f"{' and '.join(below)}, below {limits.accuracy:g}" if below else None

    # -- what must not be forgotten ------------------------------------------------------------
