"""A local view of what a SERVICE gives: its mappings by their keys, refreshed within a budget."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from hashlib import blake2b
from typing import Final

import numpy as np
import polars as pl

from headrace.algebra.scope import possible_in_order
from headrace.freshness.accuracy import Beliefs, estimated
from headrace.freshness.election import elected
from headrace.freshness.policies import Proposer
from headrace.freshness.rates import Evidence
from headrace.freshness.scores import Ints
from headrace.freshness.view import LocalView
from headrace.kernel.columns import CHANCE, column
from headrace.kernel.fetching import Fetch, Habits, Reply
from headrace.kernel.needed import Used
from headrace.kernel.pacing import Pacing
from headrace.planning.contracts import Contract
from headrace.rdf.terms import Iri

PLACE: Final = "place"
_MILLION: Final = 1_000_000
_SLIDES: Final = 10
"""In so many slides of its window a mapping changes once, while nothing is known of it."""
_IDENTITY: Final = "identity"
_LEAST: Final = 1e-9


@dataclass(slots=True)
class Counts:
    """What a view has cost so far, and what was not in it."""

    requests: int = 0
    refreshed: int = 0
    missing: int = 0


class RemoteView:
    """The mappings of a SERVICE under a budget."""

    def __init__(self, contract: Contract, query: str) -> None:
        """Begin with nothing in it."""
        self.contract = contract
        self.scope = f"view-{_digest(f'{query} {contract.service!r}')}"
        self.names = [column(each) for each in contract.keys]
        inner = possible_in_order(contract.service.input)
        self.columns = [column(each) for each in inner if not each.is_anonymous]
        self.known = pl.DataFrame(schema=dict.fromkeys((*self.names, PLACE), pl.Int64))
        self.rows = pl.DataFrame(schema=dict.fromkeys((PLACE, *self.columns), pl.Int64))
        self.local: LocalView | None = None
        self.filled_at: int | None = None
        self.whole = False
        self.counts = Counts()
        self.pacing = Pacing()
        self.problem: str | None = None
        self.accuracy = 1.0
        self.first = True
        self.asked = False
        self.asked_for = 0
        self.absent = pl.DataFrame(schema=dict.fromkeys(self.names, pl.Int64))
        self.filling = False
        self.turns = 1
        self.waited = 0.0
        self.just_asked = np.zeros(0, np.int64)
        self.chances = pl.DataFrame(schema=dict.fromkeys((*self.names, CHANCE), pl.Int64))

    def __len__(self) -> int:
        """How many mappings there are."""
        return self.known.height

    @property
    def endpoint(self) -> str:
        """Whom it asks."""
        endpoint = self.contract.service.endpoint
        assert isinstance(endpoint, Iri), "planning lets no variable through"
        return endpoint.value

    # -- an evaluation -------------------------------------------------------------------------

    def begin(self) -> None:
        """An evaluation begins, in which a SERVICE that stands twice is asked twice."""
        self.problem, self.asked, self.asked_for, self.filling = None, False, 0, False
        self.absent = self.absent.clear()
        self.just_asked, self.waited = np.zeros(0, np.int64), 0.0

    def maintained(self, used: Used, now: int, fetch: Fetch, turns: int = 1) -> pl.DataFrame:
        """The rows of the keys that are needed, after as many refreshes as are allowed.

        Args:
            used: the keys that are needed.
            now: the time of the evaluation.
            fetch: asks the endpoint.
            turns: among how many views the time is shared that is left.
        """
        habits = fetch.habits(self.contract.service)
        self.asked, self.turns = True, turns
        if habits.refused is not None:
            self.problem = habits.refused
            self._lacks(used.keys)
            return self._silent(used.keys)
        if self.local is None:
            expected = habits.expected or _SLIDES * self.contract.window.slide
            self.local = LocalView(expected=expected)
        used = used.ordered(fetch.identities(used.keys))
        before = self.counts.requests
        self._fill(now, fetch, habits)
        if not self.first:  # what fills the view at the start is not refreshed
            self.asked_for += self.counts.requests - before
        budget = self._budget(fetch, habits, used.keys.height)
        self._fetch_missing(used, now, fetch, habits, budget)
        placed = used.keys.join(self.known, on=self.names, how="left", maintain_order="left")
        here = placed[PLACE].is_not_null().to_numpy()
        places = placed[PLACE].drop_nulls().to_numpy().astype(np.int64)
        self.counts.missing += int(np.count_nonzero(~here))
        self._lacks(used.keys.filter(pl.Series(~here)))
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

    def _lacks(self, keys: pl.DataFrame) -> None:
        """Take note of keys that are needed and not known, wherever in the query."""
        self.absent = pl.concat([self.absent, keys]).unique(maintain_order=True)

    def _found(self, used: Used, now: int) -> pl.DataFrame:
        """The rows of some keys, each with the chance that it is fresh."""
        placed = used.keys.join(self.known, on=self.names, how="inner", maintain_order="left")
        chances = self._local.probably_fresh(placed[PLACE].to_numpy().astype(np.int64), now)
        self.accuracy = estimated(chances)
        millionths = pl.Series(CHANCE, np.rint(chances * _MILLION).astype(np.int64), pl.Int64)
        table = placed.with_columns(millionths)
        self.chances = table.drop(PLACE)
        rows = self.rows.join(
            table.select(PLACE, CHANCE), on=PLACE, how="inner", maintain_order="left"
        ).drop(PLACE)
        if self.contract.service.silent and self.problem is not None:
            missing = used.keys.join(self.known, on=self.names, how="anti", maintain_order="left")
            return pl.concat([rows, self._silent(missing)])
        return rows

    def _silent(self, keys: pl.DataFrame) -> pl.DataFrame:
        """What SILENT gives where an endpoint has failed: solutions that bind nothing more."""
        chance = pl.lit(0, pl.Int64).alias(CHANCE)
        unbound = [pl.lit(None, pl.Int64).alias(each) for each in self.columns]
        others = [each for each in unbound if each.meta.output_name() not in self.names]
        return keys.with_columns(*others, chance).select(*self.columns, CHANCE)

    def _fill(self, now: int, fetch: Fetch, habits: Habits) -> None:
        """Take in all that the endpoint has, if that is asked for and there is room."""
        if self.filled_at is not None:
            return
        if not habits.whole:
            self.filled_at = now
            return
        if self.problem is not None:  # it has just failed, for where it stands first
            return
        within, began = self._within(fetch), fetch.clock()
        filling = fetch.everything(self.contract.service, self.scope, within)
        self._waited(fetch.clock() - began, within)
        self.counts.requests += filling.requests
        self.problem, self.filling = filling.problem, filling.waits
        if filling.too_many:
            self.filled_at = now
        elif filling.rows is not None:
            self.filled_at, self.whole = now, True
            keys = filling.rows.select(self.names).unique(maintain_order=True)
            self._add(keys, now, fetch)
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

    def _fetch_missing(
        self, used: Used, now: int, fetch: Fetch, habits: Habits, budget: int
    ) -> None:
        """Ask for keys that are not in the view.

        If the view holds all there was, such a key had no mapping then.
        """
        missing = used.keys.join(self.known, on=self.names, how="anti", maintain_order="left")
        if missing.is_empty() or self.filled_at is None:
            return
        if self.whole:
            assert self.filled_at is not None, "it is whole since then"
            self._make_room(missing.height, used, habits)
            self._add(missing, self.filled_at, fetch)
            if not self.first:  # they were asked for then, and not now
                self.just_asked = self.just_asked[: -missing.height]
            return
        asked = missing.head(max(0, budget - self.asked_for))
        if asked.is_empty() or self.problem is not None:  # it has just failed
            return
        reply = self._asked(asked, fetch)
        taken = asked.filter(pl.Series(reply.answered, dtype=pl.Boolean))
        self._make_room(taken.height, used, habits)
        self._add(taken, now, fetch)
        self._put(reply.rows.join(taken, on=self.names, how="semi", maintain_order="left"))

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
        done = places[answered]
        if done.size == 0:
            return
        before = self._signatures(done, fetch)
        gone = pl.Series(PLACE, done, pl.Int64)
        self.rows = self.rows.filter(~pl.col(PLACE).is_in(gone.implode()))
        keys = self.known.filter(pl.col(PLACE).is_in(gone.implode()))
        self._put(reply.rows.join(keys, on=self.names, how="semi", maintain_order="left"))
        after = self._signatures(done, fetch)
        changed = np.array([before.get(each) != after.get(each) for each in done.tolist()])
        self._local.refresh(done, changed, now)
        self.just_asked = np.concatenate([self.just_asked, self._local.identity[done]])
        self.counts.refreshed += int(done.size)

    def _asked(self, keys: pl.DataFrame, fetch: Fetch) -> Reply:
        scope = f"{self.scope}-{self.counts.requests}"
        service, within, began = self.contract.service, self._within(fetch), fetch.clock()
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

    def alert(self, accuracy: float, seconds: float, own: float) -> str | None:
        """Why the contract is not met; None if it is.

        Args:
            accuracy: the estimate for the whole answer.
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
        if limits.within is not None and self.pacing.starved:
            return f"no request fits into {limits.within / _MILLION:g} s"
        if limits.accuracy is not None and accuracy < limits.accuracy:
            return f"the estimated accuracy is {accuracy:.2f}, below {limits.accuracy:g}"
        return None

    # -- what is in it -------------------------------------------------------------------------

    @property
    def _local(self) -> LocalView:
        assert self.local is not None, "the first evaluation makes it"
        return self.local

    def _add(self, keys: pl.DataFrame, at: int, fetch: Fetch) -> None:
        """Take in new keys, whose rows follow."""
        numbers = pl.int_range(len(self), len(self) + keys.height, eager=True).alias(PLACE)
        self.known = pl.concat([self.known, keys.with_columns(numbers.cast(pl.Int64))])
        added = fetch.identities(keys)
        self._local.add(added, at)
        self.just_asked = np.concatenate([self.just_asked, added])

    def _put(self, rows: pl.DataFrame) -> None:
        """Take in rows of known keys, in place of none."""
        placed = rows.select(self.columns).join(self.known, on=self.names, how="inner")
        self.rows = pl.concat([self.rows, placed.select(PLACE, *self.columns)])

    def _signatures(self, places: Ints, fetch: Fetch) -> dict[int, list[tuple[int | None, ...]]]:
        """What each of some mappings says, in a form that can be compared.

        Blank nodes of two answers are never the same, which is no change.
        """
        wanted = pl.Series(PLACE, places, pl.Int64).implode()
        held = self.rows.filter(pl.col(PLACE).is_in(wanted))
        found: dict[int, list[tuple[int | None, ...]]] = {}
        for place, *values in fetch.without_blank_nodes(held, self.columns).iter_rows():
            found.setdefault(place, []).append(tuple(values))
        for rows in found.values():
            rows.sort(key=lambda row: [(each is None, each or 0) for each in row])
        return found

    def _make_room(self, number: int, used: Used, habits: Habits) -> None:
        """Forget what was refreshed longest ago and is not needed now, if there is no room."""
        over, more = len(self) + number - habits.most, self.rows.height - habits.rows
        if over <= 0 and more <= 0:
            return
        needed = self.known.join(used.keys, on=self.names, how="semi")[PLACE].to_numpy()
        others = np.setdiff1d(np.arange(len(self)), needed)
        local = self._local
        oldest = others[np.lexsort((local.identity[others], local.refreshed[others]))]
        sizes = np.bincount(self.rows[PLACE].to_numpy(), minlength=len(self))[oldest]
        enough = int(np.searchsorted(np.cumsum(sizes), more)) + 1 if more > 0 else 0
        oldest = oldest[: max(over, enough, 0)]
        if oldest.size == 0:
            return
        kept = np.setdiff1d(np.arange(len(self)), oldest).astype(np.int64)
        self._local.keep(kept)
        moved = pl.DataFrame({PLACE: kept, "new": np.arange(kept.size)})
        renamed = {"new": PLACE}
        known = self.known.join(moved, on=PLACE, how="inner", maintain_order="left")
        self.known = known.drop(PLACE).rename(renamed)
        rows = self.rows.join(moved, on=PLACE, how="inner", maintain_order="left")
        self.rows = rows.drop(PLACE).rename(renamed).select(PLACE, *self.columns)
        self.whole = False

    # -- what must not be forgotten ------------------------------------------------------------

    def frames(self) -> dict[str, pl.DataFrame]:
        """All that another process needs to go on."""
        if self.local is None:
            return {}
        local = self.local
        mappings = self.known.with_columns(
            pl.Series(_IDENTITY, local.identity),
            pl.Series("best before", local.best_before),
            pl.Series("refreshed", local.refreshed),
            pl.Series("declared", local.declared),
            pl.Series("changes", local.evidence.changes),
            pl.Series("elapsed", local.evidence.time),
        )
        state = {
            "filled": self.filled_at,
            "whole": self.whole,
            "expected": local.expected,
            "patience": local.patience,
            **asdict(local.beliefs),
            **asdict(self.counts),
            **self.pacing.state(),
        }
        return {"mappings": mappings, "rows": self.rows, "state": pl.DataFrame([state])}

    def recall(self, frames: Mapping[str, pl.DataFrame]) -> None:
        """Go on with what another process has known."""
        mappings = frames["mappings"].sort(PLACE)
        [state] = frames["state"].rows(named=True)
        self.known = mappings.select(*self.names, PLACE)
        self.rows = frames["rows"].select(PLACE, *self.columns)
        if _IDENTITY not in mappings.columns:  # an older version told them by their ids
            mappings = mappings.with_columns(mappings[PLACE].alias(_IDENTITY))
        self.filled_at, self.whole = state["filled"], state["whole"]
        self.first = False
        self.counts = Counts(state["requests"], state["refreshed"], state["missing"])
        self.pacing = Pacing.recalled(state)
        self.local = LocalView(
            expected=state["expected"],
            identity=mappings[_IDENTITY].to_numpy().copy(),
            best_before=mappings["best before"].to_numpy().copy(),
            refreshed=mappings["refreshed"].to_numpy().copy(),
            declared=mappings["declared"].to_numpy().copy(),
            evidence=Evidence(
                mappings["changes"].to_numpy().copy(), mappings["elapsed"].to_numpy().copy()
            ),
            beliefs=Beliefs(state["clock"], state["phase"], state["memoryless"]),
            patience=state["patience"],
        )

    def ids(self) -> list[pl.Series]:
        """The ids of all its terms."""
        known = [self.known[name] for name in self.names]
        return [*known, *(self.rows[name].drop_nulls() for name in self.columns)]


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=8).hexdigest()
