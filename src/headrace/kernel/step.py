"""What a batch of elements makes due: the kernel, one step at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from headrace.kernel.columns import (
    CONTENTS,
    FIRST,
    INSTANT,
    LAST,
    STATEMENT,
    TIME,
    WATERMARK,
    column,
)
from headrace.kernel.data import Data, Quads
from headrace.kernel.dictionary import Dictionary
from headrace.kernel.snapshot import Surroundings, evaluate
from headrace.kernel.windows import Progress, Sliding
from headrace.planning.plan import Plan


@dataclass(frozen=True, slots=True)
class Results:
    """What a step reports.

    Attributes:
        instants: every close that was evaluated, also those without solutions.
        solutions: `instant`, and the canonical form of each variable's term, in canonical order.
        late: how many elements of the step missed a window that had closed before they came.
    """

    instants: range
    solutions: pl.DataFrame
    late: int = 0

    def rows(self) -> Iterator[tuple[int, list[tuple[str | None, ...]]]]:
        """Each instant and its rows."""
        found = self.solutions.rows_by_key(INSTANT)
        for instant in self.instants:
            yield instant, found.get(instant, [])


class Kernel:
    """A plan at work: it remembers what its open windows hold."""

    def __init__(self, plan: Plan, seed: int = 0, progress: Progress | None = None) -> None:
        """Begin with empty windows; with a progress, where another kernel stopped."""
        self.plan = plan
        self.windows = Sliding.of(plan)
        self.progress = progress or Progress()
        self.dictionary = Dictionary(seed)
        self._contents = CONTENTS.to_frame()

    def remember(self, elements: pl.DataFrame, terms: pl.DataFrame) -> None:
        """Take back elements of earlier steps: they change the windows, not the progress."""
        self._add(self._held(elements), terms)

    def step(self, batch: pl.DataFrame, watermark: int, terms: pl.DataFrame) -> Results:
        """Add the elements of a batch and evaluate every window that the watermark has passed."""
        held = self._held(batch)
        self._add(held, terms)
        if not held.is_empty():
            first, last = _integer(held[FIRST].min()), _integer(held[LAST].max())
            self.progress = self.progress.saw(first, last)
        return self._report(self.progress.due(self.windows, watermark), self._late(batch))

    def finish(self) -> Results:
        """At the end of the input, evaluate every window that still holds an element."""
        return self._report(self.progress.remaining(self.windows), late=0)

    def _add(self, held: pl.DataFrame, terms: pl.DataFrame) -> None:
        self.dictionary.learn(terms)
        self._contents = pl.concat([self._contents, held])

    def _held(self, elements: pl.DataFrame) -> pl.DataFrame:
        """The elements that some window holds, with the first and the last such close."""
        time, slide = pl.col(TIME), self.plan.slide
        first = _close_from(pl.max_horizontal(time, WATERMARK), self.plan)
        last = _close_from(time + self.plan.width, self.plan) - slide
        return elements.select(
            first.alias(FIRST), last.alias(LAST), *(pl.col(name) for name in STATEMENT)
        ).filter(pl.col(FIRST) <= pl.col(LAST))

    def _late(self, batch: pl.DataFrame) -> int:
        first, end = _close_from(pl.col(TIME), self.plan), pl.col(TIME) + self.plan.width
        late = (first < pl.col(WATERMARK)) & (first < end)
        return _integer(batch.select(late.fill_null(value=False).sum()).item())

    def _report(self, instants: range, late: int) -> Results:
        names = [column(variable) for variable in self.plan.variables]
        if not instants:
            empty = pl.DataFrame(schema={INSTANT: pl.Int64, **dict.fromkeys(names, pl.String)})
            return Results(instants, empty, late)
        data = Data(Quads(self._contents, instants))
        around = Surroundings(self.dictionary, instants)
        ids = evaluate(self.plan.pattern, data, around).expanded(instants).frame
        texts = [self.dictionary.texts(ids[name]).alias(name) for name in names]
        solutions = ids.select(INSTANT).with_columns(texts).sort(INSTANT, *names, nulls_last=False)
        self.progress = self.progress.after(instants)
        self._forget(instants[-1])
        return Results(instants, solutions, late)

    def _forget(self, reported: int) -> None:
        self._contents = self._contents.filter(pl.col(LAST) > reported)
        self.dictionary.forget_all_but(self._contents[name] for name in STATEMENT)


def _close_from(time: pl.Expr, plan: Plan) -> pl.Expr:
    """`Sliding.close_from`, for a column of moments."""
    return plan.origin - (plan.origin - time) // plan.slide * plan.slide


def _integer(value: object) -> int:
    """A number out of a frame, whose cells Polars types as anything."""
    if not isinstance(value, int):
        raise TypeError(f"expected a number, found {value!r}")
    return value
