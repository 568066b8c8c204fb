"""How long batches take, by a clock of the test's own."""

from __future__ import annotations

from headrace.pipeline.timing import Stopwatch


def test_work_is_added_up_and_waiting_is_not() -> None:
    moment = 0.0

    def work(stage: str, seconds: float) -> None:
        nonlocal moment
        with watch.stage(stage):
            moment += seconds
        moment += 100  # nobody works

    watch = Stopwatch(lambda: moment)
    laps = []
    for seconds in (9.0, 2.0, 1.5):
        watch.start()
        work("decode", seconds)
        work("kernel", 1.0)
        laps.append(watch.lap())
        work("sink", 0.5)
        work("sink", 0.25)
        assert watch.spent == {"decode": seconds, "kernel": 1.0, "sink": 0.75}
    assert laps == [None, 3_750_000, 3_250_000]  # each with the sinks of the one before
