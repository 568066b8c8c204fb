"""The mappings that a local view holds: their rows by their keys, and how each is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from hashlib import blake2b
from typing import Final

import numpy as np
import polars as pl

from headrace.algebra.scope import possible_in_order
from headrace.freshness.accuracy import Beliefs
from headrace.freshness.rates import Evidence
from headrace.freshness.scores import Ints
from headrace.freshness.view import LocalView
from headrace.kernel.columns import column
from headrace.kernel.fetching import Fetch, Habits
from headrace.kernel.needed import Used
from headrace.kernel.pacing import Pacing
from headrace.planning.contracts import CHANGES_EVERY, Contract, with_changes
from headrace.rdf.terms import Iri

PLACE: Final = "place"
CHANGES: Final = column(CHANGES_EVERY)
_IDENTITY: Final = "identity"


@dataclass(slots=True)
class Counts:
    """The costs of a view so far, and its missing mappings."""

    requests: int = 0
    refreshed: int = 0
    missing: int = 0
    between: int = 0


class Mappings:
    """The mappings of a SERVICE under a budget."""

    def __init__(self, contract: Contract, query: str) -> None:
        """Begin without mappings."""
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
        self.first = True
        self.just_asked = np.zeros(0, np.int64)
        self.habits = Habits()
        self.service = contract.service

    def __len__(self) -> int:
        """Count the mappings."""
        return self.known.height

    @property
    def endpoint(self) -> str:
        """The endpoint of the view."""
        endpoint = self.contract.service.endpoint
        assert isinstance(endpoint, Iri), "planning lets no variable through"
        return endpoint.value

    @property
    def _local(self) -> LocalView:
        assert self.local is not None, "the first evaluation makes it"
        return self.local

    def _see(self, fetch: Fetch) -> Habits:
        """Apply the settings of the deployment."""
        self.habits = fetch.habits(self.contract.service)
        by = self.habits.changes_by
        self.service = self.contract.service if by is None else with_changes(self.contract, by)
        return self.habits

    # -- what is in it -------------------------------------------------------------------------

    def _add(
        self, keys: pl.DataFrame, at: int, fetch: Fetch, rows: pl.DataFrame | None = None
    ) -> None:
        """Add new keys, whose rows follow."""
        numbers = pl.int_range(len(self), len(self) + keys.height, eager=True).alias(PLACE)
        self.known = pl.concat([self.known, keys.with_columns(numbers.cast(pl.Int64))])
        added = fetch.identities(keys)
        self._local.add(added, at, self._declared(keys, rows, fetch))
        self.just_asked = np.concatenate([self.just_asked, added])

    def _declared(self, keys: pl.DataFrame, rows: pl.DataFrame | None, fetch: Fetch) -> Ints:
        """Return the declared change intervals of some keys, by data or file; 0 without one."""
        none = np.zeros(keys.height, np.int64)
        declared = fetch.declared(keys) if self.habits.declares else none
        if rows is None or CHANGES not in rows.columns:
            return declared
        said = rows.select(*self.names, CHANGES).drop_nulls(CHANGES).unique()
        times = pl.Series("time", fetch.durations(said[CHANGES]), pl.Int64)
        shortest = (
            said.with_columns(times)
            .filter(pl.col("time") > 0)
            .group_by(self.names)
            .agg(pl.col("time").min())
        )
        placed = keys.join(shortest, on=self.names, how="left", maintain_order="left")
        own = placed["time"].fill_null(0).to_numpy()
        return np.where(own > 0, own, declared)

    def _put(self, rows: pl.DataFrame) -> None:
        """Add rows of known keys that have none."""
        if CHANGES in rows.columns:  # of several times each row stands there with one of them
            first = pl.col(CHANGES).min().over(self.names)
            rows = rows.filter(pl.col(CHANGES).eq_missing(first))
        placed = rows.select(self.columns).join(self.known, on=self.names, how="inner")
        self.rows = pl.concat([self.rows, placed.select(PLACE, *self.columns)])

    def _take(
        self,
        keys: pl.DataFrame,
        rows: pl.DataFrame,
        at: int,
        used: Used | None,
        fetch: Fetch,
        habits: Habits,
    ) -> None:
        """Add keys that were not in the view, with their rows."""
        self._make_room(keys.height, used, habits)
        self._add(keys, at, fetch, rows)
        self._put(rows.join(keys, on=self.names, how="semi", maintain_order="left"))

    def _replace(self, done: Ints, found: pl.DataFrame, at: int, fetch: Fetch) -> None:
        """Replace the rows of some mappings."""
        if done.size == 0:
            return
        before = self._signatures(done, fetch)
        gone = pl.Series(PLACE, done, pl.Int64)
        self.rows = self.rows.filter(~pl.col(PLACE).is_in(gone.implode()))
        keys = self.known.filter(pl.col(PLACE).is_in(gone.implode()))
        self._put(found.join(keys, on=self.names, how="semi", maintain_order="left"))
        after = self._signatures(done, fetch)
        changed = np.array([before.get(each) != after.get(each) for each in done.tolist()])
        self._local.refresh(done, changed, at)
        declared = self._declared(self.known[pl.Series(done)].select(self.names), found, fetch)
        self._local.declared[done] = np.where(declared > 0, declared, self._local.declared[done])
        self.just_asked = np.concatenate([self.just_asked, self._local.identity[done]])
        self.counts.refreshed += int(done.size)

    def _signatures(self, places: Ints, fetch: Fetch) -> dict[int, list[tuple[int | None, ...]]]:
        """Compute signatures of mappings, by which their content is compared.

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

    def _make_room(self, number: int, used: Used | None, habits: Habits) -> None:
        """Forget the mappings with the oldest refresh that are not needed, if there is no room."""
        over, more = len(self) + number - habits.most, self.rows.height - habits.rows
        if over <= 0 and more <= 0:
            return
        others = np.arange(len(self))
        if used is not None:
            needed = self.known.join(used.keys, on=self.names, how="semi")[PLACE].to_numpy()
            others = np.setdiff1d(others, needed)
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
        """Return the state as frames, for another process."""
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
        """Restore the state of another process from frames."""
        mappings = frames["mappings"].sort(PLACE)
        [state] = frames["state"].rows(named=True)
        self.known = mappings.select(*self.names, PLACE)
        self.rows = frames["rows"].select(PLACE, *self.columns)
        if _IDENTITY not in mappings.columns:  # an older version told them by their ids
            mappings = mappings.with_columns(mappings[PLACE].alias(_IDENTITY))
        self.filled_at, self.whole = state["filled"], state["whole"]
        self.first = False
        between = state.get("between", 0)
        self.counts = Counts(state["requests"], state["refreshed"], state["missing"], between)
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
        """Collect the ids of all its terms."""
        known = [self.known[name] for name in self.names]
        return [*known, *(self.rows[name].drop_nulls() for name in self.columns)]


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=8).hexdigest()
