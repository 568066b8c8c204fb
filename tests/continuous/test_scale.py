"""Long replays: each element is in exactly the windows it belongs to, and no window is left out."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from headrace.engine import Engine
from headrace.rdf.terms import Literal, Term
from headrace.results.evaluations import Evaluation
from headrace.testing import play

pytestmark = pytest.mark.slow

S = "http://x/s"
NUMBER = 1_000_000
INTEGER = "http://www.w3.org/2001/XMLSchema#integer"
WINDOWS = {
    "sliding": (10_000, 3_000),
    "tumbling": (7_000, 7_000),
    "gaps": (2_000, 5_000),
}
Integers = npt.NDArray[np.int64]


def query(width: int, slide: int) -> str:
    return f"""
    SELECT (COUNT(*) AS ?count) (SUM(?v) AS ?sum)
    FROM NAMED WINDOW <http://x/w> ON <{S}> [RANGE {width}ms STEP {slide}ms]
    WHERE {{ WINDOW <http://x/w> {{ ?x <http://x/p> ?v }} }}
    """


def times() -> Integers:
    """About a thousand elements a second, with rests, of which the longest is a minute."""
    random = np.random.default_rng(7)
    steps = random.choice([0, 0, 1, 1, 2, 3], NUMBER)
    steps[[NUMBER // 3, NUMBER // 2]] = [13_000, 60_000]
    return np.cumsum(steps)


def text(moments: Integers) -> list[str]:
    return [
        f'{time}\t<http://x/a> <http://x/p> "{number}"^^<{INTEGER}> .\n'
        for number, time in enumerate(moments.tolist())
    ]


def expected(moments: Integers, width: int, slide: int) -> list[tuple[int, int, int]]:
    """Closes, and how many numbers and what sum lie in each, from positions in the stream."""
    first = -(-int(moments[0]) // slide) * slide
    closes = np.arange(first, int(moments[-1]) + width, slide)
    starts = np.searchsorted(moments, closes - width, side="right")
    ends = np.searchsorted(moments, closes, side="right")
    holding = np.flatnonzero(ends > starts)
    here = slice(holding[0], holding[-1] + 1)
    sums = (ends * (ends - 1) - starts * (starts - 1)) // 2
    found = zip(closes[here], (ends - starts)[here], sums[here], strict=True)
    return [(int(close), int(number), int(total)) for close, number, total in found]


def integer(term: Term | None) -> int:
    assert isinstance(term, Literal)
    return int(term.lexical)


def shown(evaluation: Evaluation) -> tuple[int, int, int]:
    [[number, total]] = evaluation.rows
    return evaluation.at // 1_000, integer(number), integer(total)


def test_every_element_is_in_exactly_the_windows_it_belongs_to() -> None:
    moments = times()
    lines = text(moments)
    engine = Engine()
    stream = engine.stream(S)
    queries = {name: engine.register(query(*each), name=name) for name, each in WINDOWS.items()}
    size = len(lines) // 5
    for start in range(0, len(lines), size):
        stream.feed_timed("".join(lines[start : start + size]))
        engine.step()
    engine.finish()
    assert engine.late == []
    assert engine.rejected == []
    assert engine.counters[S].elements == NUMBER
    for name, window in WINDOWS.items():
        ours = [shown(each) for each in queries[name].results()]
        assert ours == expected(moments, *window), name


@pytest.mark.parametrize("batches", [None, 1])
def test_every_empty_window_of_a_gap_is_reported(batches: int | None) -> None:
    gap = 100_000
    stream = "".join(text(np.array([5, 10 * gap + 15])))
    ours = play([query(10, 10)], {S: stream}, batches=batches).evaluations
    assert [each.at for each in ours] == sorted({each.at for each in ours})
    assert (ours[0].at, ours[-1].at) == (10_000, 10_000 * (gap + 2))
    counts = [count for each in ours for count in [integer(each.rows[0][0])] * each.instants]
    assert counts == [1, *[0] * gap, 1]


def test_every_empty_window_without_an_answer_is_reported_too() -> None:
    gap = 100_000
    plain = query(10, 10).replace("(COUNT(*) AS ?count) (SUM(?v) AS ?sum)", "?v")
    stream = "".join(text(np.array([5, 10 * gap + 15])))
    ours = play([plain], {S: stream}).evaluations
    assert [len(each.rows) for each in ours for _ in range(each.instants)] == [1, *[0] * gap, 1]
