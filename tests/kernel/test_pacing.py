"""Evaluations end in time, whatever an endpoint takes: by a clock that only requests move."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest

from headrace.algebra.expressions import Variable
from headrace.algebra.operators import Service
from headrace.algebra.scope import possible
from headrace.dialects import parse
from headrace.kernel.columns import INSTANT
from headrace.kernel.fetching import Filling, Habits, Replies, Reply
from headrace.kernel.needed import Moment
from headrace.kernel.pacing import Pacing
from headrace.kernel.remote import Remote
from headrace.kernel.solutions import Solutions
from headrace.planning.plan import make_plan

USERS = 24
SERVICE = "SERVICE <http://e/{}> [{}] {{ ?u <p:{}> ?{} }}"


@dataclass
class Slow:
    """An endpoint that takes so long for each request, and a processor for each evaluation."""

    delay: float
    lanes: int = 4
    block: int = 1
    now: float = 0.0
    asked: int = 0
    in_flight: dict[Service, float] = field(default_factory=dict)

    def clock(self) -> float:
        return self.now

    def habits(self, _service: Service) -> Habits:
        return Habits(lanes=self.lanes, block=self.block)

    def identities(self, keys: pl.DataFrame) -> npt.NDArray[np.int64]:
        return keys.to_series().to_numpy().copy()

    def without_blank_nodes(self, rows: pl.DataFrame, _names: list[str]) -> pl.DataFrame:
        return rows

    def everything(self, service: Service, _scope: str, within: float | None) -> Filling:
        requests = 0
        if service not in self.in_flight:
            self.in_flight[service], requests = self.now + self.delay, 1
        left = max(0.0, self.in_flight[service] - self.now)
        if within is not None and left > within:
            self.now += within
            return Filling(waits=True, requests=requests)
        self.now += left
        return Filling(self._rows(service, list(range(USERS))), requests=requests)

    def some(
        self,
        service: Service,
        _keys: tuple[Variable, ...],
        asked: pl.DataFrame,
        within: float | None,
        _scope: str,
    ) -> Reply:
        users = asked["?u"].to_list()
        blocks = [users[at : at + self.block] for at in range(0, len(users), self.block)]
        delay = self.delay
        ends = [delay * (1 + place // self.lanes) for place in range(len(blocks))]
        spent = ends[-1] if within is None else min(within, ends[-1])
        began = [end - delay < spent for end in ends]
        here = [end <= spent for end in ends]
        self.now += spent
        self.asked += len(users)
        answered = [there for there, block in zip(here, blocks, strict=True) for _ in block]
        got = [user for user, there in zip(users, answered, strict=True) if there]
        return Reply(
            self._rows(service, got),
            tuple(answered),
            sum(began),
            tuple(delay if there else spent for there in here),
            self.block,
            None if all(here) else "it did not answer in time",
        )

    def declared(self, keys: pl.DataFrame) -> npt.NDArray[np.int64]:
        return np.zeros(keys.height, np.int64)

    def durations(self, ids: pl.Series) -> npt.NDArray[np.int64]:
        return np.zeros(ids.len(), np.int64)

    def ask_ahead(
        self,
        _service: Service,
        _keys: tuple[Variable, ...],
        _asked: pl.DataFrame,
        _rate: float,
        _scope: str,
        _now: int,
    ) -> None:
        raise AssertionError("no rate is declared")

    def replies(self, _service: Service, _keys: tuple[Variable, ...], _scope: str) -> Replies:
        raise AssertionError("no rate is declared")

    def _rows(self, service: Service, users: list[int]) -> pl.DataFrame:
        [value] = [each.name for each in possible(service.input) if each.name != "u"]
        return pl.DataFrame(
            {"?u": users, f"?{value}": users}, schema={"?u": pl.Int64, f"?{value}": pl.Int64}
        )


def remote_of(*contracts: str) -> Remote:
    asked = " ".join(
        SERVICE.format(place, each, place, "ab"[place]) for place, each in enumerate(contracts)
    )
    text = f"SELECT * FROM STREAM <s> [RANGE 4s STEP 1s] {{ ?u <p:m> ?post {asked} }}"
    return Remote(make_plan(parse(text).query, "q").contracts, "q")


def evaluated(remote: Remote, slow: Slow, instant: int, own: float = 0.002) -> float:
    """How long an evaluation takes in which everyone is mentioned."""
    began = slow.now
    remote.begin()
    slow.now += own
    every = pl.DataFrame({INSTANT: [0] * USERS, "?u": list(range(USERS))})
    moment = Moment((), instant * 1_000_000, lambda _term: 0)
    for service in remote.views:
        found = remote.solutions(service, Solutions(every), moment, slow)
    seconds = slow.now - began
    remote.answered((instant * 1_000_000, 0), found, seconds)
    return seconds


@pytest.mark.parametrize("block", [1, 50])
@pytest.mark.parametrize("services", [1, 2])
@pytest.mark.parametrize("delay", [0.005, 0.05, 0.5])
def test_evaluations_end_in_time(delay: float, services: int, block: int) -> None:
    within = 0.2
    remote = remote_of(*["WITHIN 200ms POLICY LRU"] * services)
    slow = Slow(delay, block=block)
    took = []
    for instant in range(1, 80):
        took.append(evaluated(remote, slow, instant))
        slow.now += 1.0
    assert max(took) <= within
    assert remote.standing.mappings == USERS * services
    refreshed = remote.standing.refreshed
    assert (refreshed > 50) == (delay < within)
    assert bool(remote.standing.alerts) == (delay > within)


def test_two_services_share_the_time() -> None:
    remote = remote_of("WITHIN 200ms POLICY LRU", "WITHIN 200ms POLICY LRU")
    slow = Slow(0.03)
    for instant in range(1, 60):
        evaluated(remote, slow, instant)
        slow.now += 1.0
    first, second = (view.counts.refreshed for view in remote.views.values())
    assert min(first, second) > 0.4 * max(first, second), "none is left without"


def test_an_endpoint_that_gets_slower_is_asked_for_less() -> None:
    remote = remote_of("WITHIN 200ms POLICY LRU")
    slow = Slow(0.01)
    counts = []
    for instant in range(1, 41):
        if instant == 21:
            slow.delay = 0.06
        before = slow.asked
        assert evaluated(remote, slow, instant) <= 0.2
        slow.now += 1.0
        counts.append(slow.asked - before)
    assert counts[10] == USERS
    assert 0 < counts[-1] < USERS


# -- by hand --------------------------------------------------------------------------------------


def test_what_is_left_for_requests() -> None:
    pacing = Pacing()
    pacing.begin(10.0)
    # Nothing is known: a quarter is kept, and a twentieth for whatever comes before and after.
    assert pacing.left(1.0, 10.0) == pytest.approx(0.7)
    pacing.evaluated(0.1)
    # 0.1 s, and four times half of it.
    assert pacing.left(1.0, 10.0) == pytest.approx(0.95 - 0.1 - 4 * 0.05)
    assert pacing.left(1.0, 10.2) == pytest.approx(0.45)
    pacing.begin(10.2, spent=0.3)
    assert pacing.left(1.0, 10.2) == pytest.approx(0.35)
    assert pacing.left(1.0, 20.0) == 0.0


def test_how_many_requests_fit() -> None:
    pacing = Pacing(mean=0.05, deviation=0.025)
    assert pacing.budget(0.0, lanes=4) == 0
    assert pacing.budget(0.1, lanes=4) == 4
    assert pacing.budget(0.25, lanes=4) == 8
    assert Pacing(mean=0.05, batch=10).budget(0.1, lanes=2) == 40
    assert Pacing().budget(0.1, lanes=3) == 3, "one round tells how long they take"


def test_after_a_while_one_is_tried_again() -> None:
    pacing = Pacing(mean=1.0)
    found = [pacing.budget(0.1, lanes=4) for _ in range(16)]
    assert found == [0, 0, 0, 0, 0, 0, 0, 1] * 2


def test_what_requests_take_is_learned() -> None:
    pacing = Pacing()
    nothing = pl.DataFrame()
    pacing.saw(Reply(nothing, seconds=(0.1,)))
    assert (pacing.mean, pacing.deviation) == (0.1, 0.05)
    pacing.saw(Reply(nothing, seconds=(0.2,), batch=7))
    assert pacing.mean == pytest.approx(0.125)
    assert pacing.deviation == pytest.approx(0.05 + 0.25 * (0.1 - 0.05))
    assert pacing.batch == 7
    assert Pacing.recalled(pacing.state()) == pacing
    assert np.isfinite(pacing.left(1.0, 0.0))


def test_one_that_probably_fits_is_tried() -> None:
    pacing = Pacing(mean=0.09, deviation=0.05)
    assert pacing.budget(0.1, lanes=4) == 1
    assert pacing.budget(0.08, lanes=4) == 0
    assert pacing.starved == 1
