"""When the clock can make something due, and no sooner: each heartbeat costs a batch."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from headrace.dialects import parse
from headrace.pipeline.heartbeats import HeartbeatSchedule, schedule_heartbeats
from headrace.planning.plan import make_plan

SECOND = 1_000_000


def schedule(*texts: str, **settings: str) -> HeartbeatSchedule:
    return schedule_heartbeats([make_plan(parse(text, settings=settings).query) for text in texts])


def beats(found: HeartbeatSchedule, seconds: float, look: int = SECOND // 20) -> Sequence[int]:
    """When there are beats, in a stream in which nothing comes, looked at now and then."""
    last, times = 0, []
    for now in range(look, round(seconds * SECOND), look):
        if found.is_due(last, now):
            last = now
            times.append(now)
    return times


def query(window: str, stream: str = "s") -> str:
    return f"SELECT ?a FROM STREAM <{stream}> {window} {{ ?a <x:p> ?c }}"


def test_there_is_one_for_each_close() -> None:
    found = schedule(query("[RANGE 10s STEP 2s]"))
    assert beats(found, 6.1) == [50_000, 2_050_000, 4_050_000, 6_050_000]


def test_a_delay_is_waited_for() -> None:
    found = schedule(query("[RANGE 2s STEP 2s]"), delay="500ms")
    assert beats(found, 5) == [550_000, 2_550_000, 4_550_000]


def test_the_closes_of_all_queries_count() -> None:
    found = schedule(query("[RANGE 2s STEP 2s]"), query("[RANGE 3s STEP 3s]", "t"))
    assert beats(found, 4.2) == [50_000, 2_050_000, 3_050_000, 4_050_000]


@pytest.mark.parametrize(
    "settings", [{"t0": "first"}, {"report": "on-change"}, {"report": "on-arrival"}]
)
def test_where_closes_are_not_known_there_is_one_each_second(settings: dict[str, str]) -> None:
    assert len(beats(schedule(query("[RANGE 10s STEP 2s]"), **settings), 10.5)) == 10


def test_an_hour_of_silence_is_not_thousands_of_batches() -> None:
    assert len(beats(schedule(query("[RANGE 1h STEP 10m]")), 3_600, SECOND)) == 6
