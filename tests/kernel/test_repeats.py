"""A set of solutions of which some are there twice counts each of them once, whatever is joined."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import polars as pl
import pytest

from headrace.algebra.expressions import Operation, Variable
from headrace.functions.costs import Costs
from headrace.kernel.budget import Budget
from headrace.kernel.columns import INSTANT
from headrace.kernel.join import join
from headrace.kernel.solutions import Solutions
from headrace.kernel.waiting import Opened, Waiting, without

NAMES = ("?x", "?y", "?z")
Rows = Counter[tuple[int | None, ...]]


def rows(found: Solutions, names: list[str]) -> Rows:
    return Counter(found.frame.select(INSTANT, *names).rows())


def solutions(random: Random, kind: str, names: tuple[str, ...]) -> Solutions:
    """Few values in two columns: a set, one with repeats, or a multiset that may have unbound."""
    values = [1, 2, 3] if kind != "multiset" else [1, 2, None]
    number = random.randint(1, 12)
    lines = [(random.randint(0, 1), *random.choices(values, k=2)) for _ in range(number)]
    schema = dict.fromkeys((INSTANT, *names), pl.Int64)
    frame = pl.DataFrame(lines, schema=schema, orient="row")
    match kind:
        case "set":
            identified = frozenset({INSTANT, *names})
            return Solutions(frame.unique(), keyed=True, identified_by=identified)
        case "repeated":
            return Solutions(frame, keyed=True, repeated=True)
        case _:
            return Solutions(frame, keyed=True)


def exact(found: Solutions) -> Solutions:
    """The same without repeats, and without anything that is known of it."""
    frame = found.frame.unique() if found.repeated else found.frame
    return replace(found, frame=frame, identified_by=None, repeated=False)


@pytest.mark.parametrize("seed", range(40))
def test_a_join_counts_repeats_once(seed: int) -> None:
    random = Random(f"join {seed}")
    kinds = [random.choice(["set", "repeated", "repeated", "multiset"]) for _ in range(3)]
    parts = [solutions(random, kind, tuple(random.sample(NAMES, 2))) for kind in kinds]
    found, expected = parts[0], exact(parts[0])
    for each in parts[1:]:
        found, expected = join(found, each, Budget()), join(expected, exact(each), Budget())
    names = sorted(expected.names)
    assert rows(found.without_repeats(), names) == rows(expected, names)
    if found.identified_by is not None:
        assert found.frame.select(sorted(found.identified_by)).is_unique().all()
    hidden = frozenset(random.sample(names, random.randint(0, len(names) - 1)))
    left = [name for name in names if name not in hidden]
    assert rows(without(found, hidden).without_repeats(), left) == rows(expected, left)
    assert rows(found.only(left).without_repeats(), left) == rows(expected, left)


def differ(condition: object, found: Solutions) -> pl.Series:
    assert isinstance(condition, Operation)
    one, other = (f"?{each.name}" for each in condition.arguments if isinstance(each, Variable))
    return found.frame.select(pl.col(one) != pl.col(other)).to_series()


@pytest.mark.parametrize("seed", range(40))
def test_a_chain_of_joins_hides_columns_and_keeps_solutions(seed: int) -> None:
    random = Random(seed)
    kinds = [random.choice(["set", "set", "repeated", "multiset"]) for _ in range(3)]
    pairs = random.sample([("?x", "?y"), ("?y", "?z"), ("?x", "?z")], 3)
    parts = [solutions(random, kind, names) for kind, names in zip(kinds, pairs, strict=True)]
    expected = exact(parts[0])
    for each in parts[1:]:
        expected = join(expected, exact(each), Budget())
    names = sorted(expected.names)
    condition = Operation("!=", (Variable("x"), Variable("y")))
    hidden = frozenset(random.sample(names, random.randint(1, 2)))
    left = [name for name in names if name not in hidden]
    kept = expected.frame.filter(pl.col("?x") != pl.col("?y"))
    waiting = Waiting(Costs(), differ, Budget())
    opened = waiting.joined([Opened(each) for each in parts], (condition,), hidden)
    found = waiting.settled(opened)
    assert not found.repeated
    assert rows(found, left) == Counter(kept.select(INSTANT, *left).rows())
