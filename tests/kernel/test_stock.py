"""What can be said of the matches of a pattern while they come and go."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headrace.kernel.lasting import BEGIN, END, TURN
from headrace.kernel.stock import Stock
from headrace.kernel.table import Table
from headrace.rdf.ids import text_ids

NUMBERS = st.integers(-3, 3)


def terms(numbers: np.ndarray) -> np.ndarray:
    return text_ids([f"<http://x/{number}>".encode() for number in numbers.tolist()], 0)


def matches(numbers: np.ndarray, begin: int, end: int) -> Table:
    size = numbers.size
    lasting = {BEGIN: np.full(size, begin), END: np.full(size, end), TURN: np.full(size, -1)}
    return Table.of({"?x": terms(numbers), **lasting})


def test_what_is_over_is_counted_no_more() -> None:
    kept = Stock(["?x", BEGIN, END, TURN])
    old, new = np.repeat(np.arange(10), 100), np.repeat(np.arange(10, 20), 100)
    kept.add(matches(old, 0, 10))
    asked = matches(np.array([3, 13]), 0, 10)
    assert kept.meets(asked, "?x") == 100
    kept.add(matches(new, 5, 50))
    assert kept.meets(asked, "?x") == 200
    kept.drop(11)  # half of it is over, and not most of it: each term is counted by half
    assert kept.meets(asked, "?x") == 100
    kept.add(matches(new, 6, 5))
    kept.drop(12)
    assert kept.height == 1_000
    assert kept.meets(asked, "?x") == 100
    assert kept.distinct(["?x"]) == 10


@given(st.lists(st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), max_size=12), max_size=8), st.data())
def test_what_meets_is_what_agrees(
    parts: list[list[tuple[int, int, int]]], data: st.DataObject
) -> None:
    kept = Stock(["?x", "?y", BEGIN, END, TURN])
    every: list[tuple[int, int, int]] = []
    for part in parts:
        kept.add(pairs(part))
        every += part
        if data.draw(st.booleans()):
            floor = data.draw(NUMBERS)
            over = sum(end < floor for *_, end in every)
            kept.drop(floor)
            every = [row for row in every if row[2] >= floor] if 2 * over > len(every) else every
        on = data.draw(st.sampled_from([[], ["?x"], ["?y"], ["?x", "?y"]]))
        asked = pairs(data.draw(st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), max_size=5)))
        ours, theirs = kept.meeting(asked, on, lambda _: None)
        table = kept.table
        found = Counter(
            (int(our), *(int(table[name][their]) for name in ("?x", "?y", END)))
            for our, their in zip(ours, theirs, strict=True)
        )
        places = [["?x", "?y"].index(name) for name in on]
        wanted = Counter(
            (our, *row)
            for our, (x, y) in enumerate(
                zip(asked["?x"].tolist(), asked["?y"].tolist(), strict=True)
            )
            for row in every
            if all((x, y)[place] == row[place] for place in places)
        )
        assert found == wanted


def pairs(rows: list[tuple[int, int, int]]) -> Table:
    columns = np.array(rows, np.int64).reshape(-1, 3).T
    nothing = np.zeros(len(rows), np.int64)
    return Table.of(
        {"?x": columns[0], "?y": columns[1], END: columns[2], BEGIN: nothing - 9, TURN: nothing - 1}
    )


def test_what_is_new_keeps_its_turns_when_the_step_is_over() -> None:
    kept = Stock(["?x", BEGIN, END, TURN])
    for step in range(3):
        kept.add(matches(np.arange(2), step, 10).with_columns({TURN: np.arange(2)}))
        new = kept.new
        kept.settle(0)
        assert new[TURN].tolist() == [0, 1]
        assert set(kept.table[TURN].tolist()) == {-1}
