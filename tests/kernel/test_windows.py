from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headrace.kernel.windows import Progress, Sliding

moments = st.integers(-1_000, 1_000)
windows = st.builds(Sliding, st.integers(1, 40), st.integers(1, 40), moments)


@given(windows, moments)
def test_the_close_from_a_moment_is_the_least_of_the_grid_not_before_it(
    window: Sliding, time: int
) -> None:
    close = window.close_from(time)
    assert time <= close < time + window.slide
    assert (close - window.origin) % window.slide == 0


@given(windows, moments)
def test_the_close_before_a_moment_is_the_greatest_of_the_grid_before_it(
    window: Sliding, time: int
) -> None:
    close = window.close_before(time)
    assert time - window.slide <= close < time
    assert (close - window.origin) % window.slide == 0


def test_a_window_is_due_only_when_the_watermark_is_after_its_close() -> None:
    progress = Progress().saw(10, 10)
    assert list(progress.due(Sliding(10, 10), 10)) == []
    assert list(progress.due(Sliding(10, 10), 11)) == [10]


def test_nothing_is_due_before_an_element_was_seen() -> None:
    assert list(Progress().due(Sliding(10, 10), 1_000)) == []
    assert list(Progress().remaining(Sliding(10, 10))) == []


def test_each_close_is_due_once() -> None:
    window = Sliding(10, 5)
    progress = Progress().saw(10, 40)
    due = progress.due(window, 21)
    assert list(due) == [10, 15, 20]
    progress = progress.after(due)
    assert list(progress.due(window, 21)) == []
    assert list(progress.due(window, 26)) == [25]
    assert list(progress.remaining(window)) == [25, 30, 35, 40]


def test_the_opening_is_a_width_before_the_close() -> None:
    assert Sliding(600, 60).opens(660) == 60
