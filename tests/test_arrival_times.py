"""Times of arrival, by clocks that are wrong in every way: against what is promised of them."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.arrival_times import SECOND, ArrivalTimes, SteadyClock, wall_clock

BOUND = 10
DAY = 86_400
YEAR = 365 * DAY


@dataclass
class Machine:
    """A machine with a clock that is wrong by some seconds, and how long it has been up."""

    up: int = 0
    wrong: int = 0
    said: list[str] = field(default_factory=list)
    clock: SteadyClock = field(init=False)

    def __post_init__(self) -> None:
        self.clock = SteadyClock(
            lambda: self.wall, lambda: self.up, seconds=BOUND, report=self.said.append
        )

    @property
    def right(self) -> int:
        return 50 * YEAR * SECOND + self.up

    @property
    def wall(self) -> int:
        return self.right + self.wrong


jumps = st.one_of(
    st.integers(-3, 3), st.integers(-100, 100), st.sampled_from([-YEAR, -DAY, -3600, 3600, DAY])
)
pauses = st.one_of(st.integers(0, 1_000), st.integers(0, 30 * SECOND), st.integers(0, DAY * SECOND))
steps = st.lists(st.tuples(pauses, st.one_of(st.just(0), jumps)), min_size=1, max_size=200)


@given(steps, st.one_of(st.none(), st.integers(-YEAR, YEAR)))
def test_times_never_go_back_and_never_stand_still(
    steps: list[tuple[int, int]], last: int | None
) -> None:
    """At least at half the speed of time, whatever the clock does."""
    machine = Machine()
    times = ArrivalTimes(machine.clock, None if last is None else machine.right + last * SECOND)
    before = times.now()
    assert last is None or before >= machine.right + last * SECOND
    for pause, jump in steps:
        machine.up += pause
        machine.wrong += jump * SECOND
        now = times.now()
        assert now - before >= (pause - 1) // 2
        before = now


@given(steps)
def test_short_mistakes_of_the_clock_are_followed_no_further_than_the_bound(
    steps: list[tuple[int, int]],
) -> None:
    """The clock is ahead for less than the bound, again and again, and right in between."""
    machine = Machine()
    times = ArrivalTimes(machine.clock)
    for pause, jump in steps:
        machine.up += pause
        times.now()  # it is right until now
        machine.wrong = jump * SECOND
        ends = machine.up + BOUND * SECOND * 7 // 8
        while machine.up < ends:
            assert times.now() - machine.right <= BOUND * SECOND
            machine.up += max(pause % SECOND, SECOND // 10)
        machine.wrong = 0
        assert times.now() - machine.right <= BOUND * SECOND


@given(steps)
def test_times_are_those_of_the_clock_again_once_it_is_right(steps: list[tuple[int, int]]) -> None:
    machine = Machine()
    times = ArrivalTimes(machine.clock)
    for pause, jump in steps:
        machine.up += pause
        machine.wrong += jump * SECOND
        times.now()
    ahead = max(0, times.now() - machine.wall)
    # A jump ahead is believed after the bound, and what is ahead is caught up with twice as slowly.
    machine.up += 2 * ahead + BOUND * SECOND * 9 // 8
    times.now()
    machine.up += BOUND * SECOND * 9 // 8
    assert times.now() == machine.wall
    assert times.ahead == 0


@given(steps)
def test_what_is_kept_of_the_past_does_not_grow(steps: list[tuple[int, int]]) -> None:
    machine = Machine()
    times = ArrivalTimes(machine.clock)
    for pause, jump in steps:
        machine.up += pause
        machine.wrong += jump * SECOND
        for _ in range(20):  # a clock that is corrected by slewing is ahead a little more each time
            machine.up += 1_000
            machine.wrong += 1
            times.now()
    assert len(machine.clock._offsets) <= 20


def test_a_million_stamps_a_second_do_not_stop_a_clock_that_was_set_back() -> None:
    machine = Machine()
    times = ArrivalTimes(machine.clock)
    begin = times.now()
    machine.wrong = -3600 * SECOND
    for _ in range(10_000):
        machine.up += 1  # a microsecond
        times.now()
    assert times.now() - begin == 5_000


def test_a_jump_ahead_is_followed_when_it_has_lasted() -> None:
    machine = Machine()
    times = ArrivalTimes(machine.clock)
    machine.wrong = DAY * SECOND
    seen = []
    for _ in range(24):
        machine.up += SECOND // 2
        seen.append(times.now() - machine.right)
    assert seen[:16] == [BOUND * SECOND] * 16
    assert seen[-1] == DAY * SECOND
    assert machine.clock.jumps == {"ahead": 1, "back": 0}
    assert machine.said == [
        "the clock is 1 day, 0:00:00 ahead of what it was; times of arrival follow if it stays so "
        "for 10 seconds"
    ]


def test_a_jump_ahead_within_the_bound_is_followed_at_once() -> None:
    machine = Machine()
    times = ArrivalTimes(machine.clock)
    machine.wrong = BOUND * SECOND
    assert times.now() == machine.wall
    assert machine.said == []


def test_many_small_jumps_are_no_way_around_the_bound() -> None:
    machine = Machine()
    times = ArrivalTimes(machine.clock)
    for _ in range(9):
        machine.up += SECOND // 10
        machine.wrong += 9 * SECOND
        assert times.now() - machine.right <= BOUND * SECOND


def test_a_machine_that_looks_seldom_believes_no_jump_sooner() -> None:
    machine = Machine()
    times = ArrivalTimes(machine.clock)
    machine.up += 3600 * SECOND  # nothing has come for an hour
    machine.wrong = DAY * SECOND
    assert times.now() == machine.right + BOUND * SECOND


def test_a_clock_that_is_set_back_is_said() -> None:
    machine = Machine()
    times = ArrivalTimes(machine.clock)
    times.now()
    machine.wrong = -3600 * SECOND
    machine.up += SECOND
    times.now()
    [text] = machine.said
    assert text.startswith(
        "the clock is 1:00:00 behind what it was; times of arrival never go back"
    )
    assert times.ahead == 3600 * SECOND - SECOND // 2
    assert machine.clock.jumps == {"ahead": 0, "back": 1}


@pytest.mark.parametrize("ahead", [1, 3600, DAY, 20 * YEAR])
def test_a_restart_goes_on_after_the_last_time_of_the_log(ahead: int) -> None:
    machine = Machine()
    last = machine.wall + ahead * SECOND
    times = ArrivalTimes(machine.clock, last)
    assert times.now() == last
    machine.up += SECOND // 2
    assert times.now() == last + SECOND // 4
    assert times.ahead == ahead * SECOND - SECOND // 4
    assert times.latest() == times.now()


def test_a_restart_after_the_last_time_of_the_log_is_by_the_clock() -> None:
    machine = Machine()
    times = ArrivalTimes(machine.clock, machine.wall - DAY * SECOND)
    assert times.now() == machine.wall


def test_a_clock_of_a_program_is_taken_as_it_is() -> None:
    now = 0
    times = ArrivalTimes(SteadyClock(lambda: now, None))
    now = DAY * SECOND
    assert times.now() == now
    now = 5
    assert times.now() == DAY * SECOND
    assert times.latest() == DAY * SECOND


def test_a_clock_goes_on_in_another_process() -> None:
    clock = SteadyClock()
    before = clock.read().steady
    assert pickle.loads(pickle.dumps(clock)).read().steady >= before


def test_threads_that_share_a_clock_report_a_jump_once() -> None:
    offset, reports = [0], list[str]()
    clock = SteadyClock(lambda: wall_clock() + offset[0], report=reports.append)

    def read(count: int) -> None:
        for number in range(count):
            clock.read()
            if number == count // 2:
                offset[0] = 86_400 * SECOND

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(read, [2_000] * 4))
    assert len(reports) == 1
    assert clock.jumps == {"ahead": 1, "back": 0}
