"""Checks of single operators: one random case each, compared with the oracle at every instant."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from random import Random

import numpy as np

from headrace.execution.operators import (
    closure,
    distinct,
    exists,
    join,
    latest_time,
    limit,
    minus,
    optional,
    scan,
    union,
)
from headrace.execution.relation import coalesce, epochs, halving, pieces
from headrace.execution.relation.arrays import Ids
from headrace.execution.relation.relation import Relation, concat_relations
from tests.execution import naive
from tests.execution.naive import Story, assert_equal, fill
from tests.execution.worlds import (
    TIME,
    cut_anywhere,
    draw_instants,
    draw_relation,
)

STATEMENT = ["s", "p", "o"]


def check_cutting(rng: Random) -> None:
    instants = draw_instants(rng)
    relation = draw_relation(rng, rng.choice([["a", "b"], []]), instants)
    whole = fill(relation, instants)
    points = np.array([rng.randrange(instants) for _ in range(rng.randint(0, 4))], np.int64)
    parts = pieces.cut(relation, points)
    assert_equal(parts, whole)
    for first, last in naive.spans_of(parts, instants):
        crosses = any(first < point <= last for point in points.tolist())
        assert relation.holds_always or not crosses
    single = pieces.expand(relation, instants)
    assert_equal(single, whole)
    assert single.has_single_instants
    first, last = sorted((rng.randrange(instants), rng.randrange(instants)))
    inside = [bag if first <= at <= last else [] for at, bag in enumerate(whole)]
    assert_equal(pieces.clip(relation.over(instants), first, last), inside)


def check_copies(rng: Random) -> None:
    """RAND() depends on the number among equal rows of the same instant."""
    instants = draw_instants(rng)
    relation = draw_relation(rng, rng.choice([["a"], []]), instants)
    single = pieces.expand(relation, instants)
    numbered = single.with_column("copy", pieces.number_copies(single) + 1)
    expected: Story = []
    for bag in fill(relation, instants):
        copies = naive.count(bag).items()
        expected.append([{**dict(row), "copy": n + 1} for row, many in copies for n in range(many)])
    assert_equal(numbered, expected)


def check_halving(rng: Random) -> None:
    """Both halves have fewer rows than the whole, and together the same."""
    instants = draw_instants(rng)
    relations = [draw_relation(rng, ["a"], instants) for _ in range(2)]
    middle = halving.find_halving(relations, instants)
    spans = [each for r in relations if r.intervals for each in naive.spans_of(r, instants)]

    def larger(point: int) -> int:
        return max(sum(f < point for f, _ in spans), sum(e >= point for _, e in spans))

    best = min((larger(point) for point in range(1, instants)), default=len(spans))
    assert (middle is None) == (best == len(spans))
    assert middle is None or larger(middle) == best


def check_coalesce(rng: Random) -> None:
    instants = draw_instants(rng)
    relation = draw_relation(rng, rng.choice([["a", "b"], ["a"], []]), instants)
    united = coalesce.coalesce(relation)
    assert_equal(united, [naive.distinct(bag) for bag in fill(relation, instants)])
    _assert_maximal(united, instants)


def check_pack(rng: Random) -> None:
    instants = draw_instants(rng)
    relation = draw_relation(rng, rng.choice([["a", "b"], ["a"], []]), instants)
    names = relation.names[:1]
    packed = coalesce.pack(relation.select(names))
    assert_equal(packed, [naive.project(bag, names) for bag in fill(relation, instants)])
    if not relation.holds_always:
        _assert_maximal(packed, instants)


def _assert_maximal(relation: Relation, instants: int) -> None:
    """No piece of a row ends just before another one begins."""
    spans = naive.spans_of(relation, instants)
    rows = [frozenset(row.items()) for row in naive.rows_of(relation)]
    begins = {(row, first) for row, (first, _) in zip(rows, spans, strict=True)}
    assert not any((row, last + 1) in begins for row, (_, last) in zip(rows, spans, strict=True))


def check_epochs(rng: Random) -> None:
    """Operators by epoch give the same as by instant."""
    instants = draw_instants(rng)
    left = draw_relation(rng, ["a", "b"], instants)
    right = draw_relation(rng, ["b", "c"], instants)
    numbered = epochs.Epochs.of([left, right], instants)
    ours, theirs = numbered.number(left), numbered.number(right)
    for each, story in ((ours, left), (theirs, right)):
        assert_equal(numbered.restore(each), fill(story, instants))
    found = optional.optional(ours, theirs, numbered.count)
    bags = zip(fill(left, instants), fill(right, instants), strict=True)
    expected = [naive.optional(one, other, lambda _: True) for one, other in bags]
    assert_equal(numbered.restore(found), expected)


def check_evaluated(rng: Random) -> None:
    """Only instants that are evaluated have a number."""
    instants = draw_instants(rng)
    relation = draw_relation(rng, ["a"], instants)
    evaluated = sorted(rng.sample(range(instants), rng.randint(1, instants)))
    whole = fill(relation, instants)
    numbered = epochs.number_evaluated(relation, np.array(evaluated, np.int64))
    assert_equal(numbered, [whole[at] for at in evaluated])


def check_moments(rng: Random) -> None:
    """The same with moments of event time, whose product with a key exceeds an int64."""
    instants = draw_instants(rng)
    scale, origin = 2**40, rng.choice([0, -5, 2**60])
    left, right = (
        draw_relation(rng, names, instants, always=0) for names in (["a", "b"], ["b", "c"])
    )

    def stretched(relation: Relation) -> Relation:
        first, last = relation.bounds
        return relation.with_intervals(first * scale + origin, (last + 1) * scale + origin - 1)

    found = join.join(stretched(left), stretched(right))
    first, last = found.bounds
    found = found.with_intervals((first - origin) // scale, (last - origin) // scale)
    bags = zip(fill(left, instants), fill(right, instants), strict=True)
    assert_equal(found, [naive.join(one, other) for one, other in bags])
    packed = coalesce.coalesce(stretched(left))
    first, last = packed.bounds
    packed = packed.with_intervals((first - origin) // scale, (last - origin) // scale)
    assert_equal(packed, [naive.distinct(bag) for bag in fill(left, instants)])


def check_uncovered(rng: Random) -> None:
    """Arrivals of several batches: each instant of a statement is new once."""
    instants = draw_instants(rng)
    known = draw_relation(rng, ["a"], 1, always=0).take(np.empty(0, np.int64))
    came: list[Relation] = []
    for _ in range(rng.randint(1, 4)):
        came.append(draw_relation(rng, ["a"], instants, always=0))
        fresh = coalesce.find_uncovered(came[-1], known)
        known = concat_relations([known, fresh], instants)
    every = concat_relations(came, instants)
    assert_equal(known, [naive.distinct(bag) for bag in fill(every, instants)])


def check_delta_join(rng: Random) -> None:
    """A join with remembered pieces of both inputs: the sum of what is new is the whole."""
    instants = draw_instants(rng)
    state = [
        draw_relation(rng, names, 1, always=0).take(np.empty(0, np.int64))
        for names in (["a", "b"], ["b", "c"])
    ]
    came: list[list[Relation]] = [[], []]
    results = [draw_relation(rng, ["a", "b", "c"], 1, always=0).take(np.empty(0, np.int64))]
    for _ in range(rng.randint(1, 4)):
        side = rng.randrange(2)
        names = (["a", "b"], ["b", "c"])[side]
        came[side].append(draw_relation(rng, names, instants, always=0, unbound=0))
        fresh = coalesce.find_uncovered(came[side][-1], state[side])
        state[side] = concat_relations([state[side], fresh], instants)
        results.append(join.join(*((fresh, state[1]) if side == 0 else (state[0], fresh))))
    stories = [[naive.distinct(bag) for bag in _fill_all(batches, instants)] for batches in came]
    expected = [naive.join(one, other) for one, other in zip(*stories, strict=True)]
    assert_equal(concat_relations(results, instants), expected)


def _fill_all(relations: list[Relation], instants: int) -> Story:
    story: Story = [[] for _ in range(instants)]
    for relation in relations:
        for bag, more in zip(story, fill(relation, instants), strict=True):
            bag.extend(more)
    return story


def check_scan(rng: Random) -> None:
    """Statements of two windows and of static data are one set, before columns are dropped."""
    instants = draw_instants(rng)
    timed = rng.random() < 0.4
    identity = [*STATEMENT, *([TIME] if timed else [])]
    contents = [
        draw_relation(rng, [*STATEMENT, TIME], instants, unbound=0, always=always)
        for always in (0, 0, 1)
    ]
    names = rng.choice([["s"], ["s", "o"], []])
    found = scan.scan_statements(contents, identity, names, instants)
    expected: Story = []
    for bag in _fill_all(contents, instants):
        statements = {tuple(row[name] for name in identity) for row in bag}
        expected.append([{name: row[identity.index(name)] for name in names} for row in statements])
    assert_equal(found, expected)


def check_join(rng: Random) -> None:
    instants = draw_instants(rng)
    left_names, right_names = rng.choice(
        [
            (["a", "b"], ["b", "c"]),
            (["a", "b"], ["a", "b"]),
            (["a"], ["b"]),
            (["a", TIME], ["a", "b", TIME]),
            ([], ["a"]),
            (["a"], [TIME]),
        ]
    )
    left = draw_relation(rng, left_names, instants)
    right = draw_relation(rng, right_names, instants)
    bags = zip(fill(left, instants), fill(right, instants), strict=True)
    assert_equal(join.join(left, right), [naive.join(one, other) for one, other in bags])


def check_union(rng: Random) -> None:
    instants = draw_instants(rng)
    names = [rng.sample(["a", "b", TIME], rng.randint(0, 3)) for _ in range(rng.randint(1, 3))]
    relations = [draw_relation(rng, each, instants) for each in names]
    assert_equal(union.union(relations, instants), _fill_all(relations, instants))


def check_distinct(rng: Random) -> None:
    instants = draw_instants(rng)
    relation = draw_relation(rng, rng.choice([["a"], ["a", "b", TIME], [], [TIME]]), instants)
    expected = [naive.distinct(bag) for bag in fill(relation, instants)]
    assert_equal(distinct.distinct(relation), expected)


def check_optional(rng: Random) -> None:
    """Without a condition, or with one on values, on the instant (NOW), or on what exists."""
    instants = draw_instants(rng)
    left = draw_relation(rng, rng.choice([["a", "b"], ["a", TIME], []]), instants)
    right = draw_relation(rng, rng.choice([["b", "c"], ["a", "c", TIME], []]), instants)
    third = draw_relation(rng, ["c"], instants)
    bags = zip(*(fill(each, instants) for each in (left, right, third)), strict=True)
    kind = rng.choice(["none", "value", "now", "exists"])

    def passes(row: naive.Row, at: int, others: naive.Bag) -> bool:
        match kind:
            case "value":
                return row.get("c", 0) > 0
            case "now":
                return (row.get("c", 0) + at) % 3 == 0
            case "exists":
                return naive.exists(row, others)
            case _:
                return True

    def condition(pairs: Relation) -> Relation:
        match kind:
            case "value":
                return pairs.filter(pairs["c"] > 0)
            case "now":
                single = pieces.expand(pairs, instants)
                return single.filter((single["c"] + single.bounds[0]) % 3 == 0)
            case "exists":
                return exists.keep_existing(pairs, third, instants)
            case _:
                return pairs

    expected = [
        naive.optional(one, other, partial(passes, at=at, others=more))
        for at, (one, other, more) in enumerate(bags)
    ]
    assert_equal(optional.optional(left, right, instants, condition), expected)


def check_minus(rng: Random) -> None:
    instants = draw_instants(rng)
    left = draw_relation(rng, rng.choice([["a", "b"], ["a", TIME], []]), instants, unbound=0.3)
    right = draw_relation(rng, rng.choice([["a", "b"], ["b", TIME], []]), instants, unbound=0.3)
    bags = zip(fill(left, instants), fill(right, instants), strict=True)
    expected = [naive.minus(one, other) for one, other in bags]
    assert_equal(minus.minus(left, right, instants), expected)


def check_exists(rng: Random) -> None:
    """As a column of truth, and as filters."""
    instants = draw_instants(rng)
    left = draw_relation(rng, rng.choice([["a", "b"], ["a"], []]), instants)
    right = draw_relation(rng, rng.choice([["b", "c"], ["a", "c"], ["a", "b"], []]), instants)
    marked = exists.mark_exists(left, right, "true", instants)
    true = exists.keep_existing(left, right, instants)
    false = exists.keep_missing(left, right, instants)
    bags = list(zip(fill(left, instants), fill(right, instants), strict=True))
    truths = [[naive.exists(row, other) for row in one] for one, other in bags]
    stories = list(zip([one for one, _ in bags], truths, strict=True))

    def expected(wanted: bool, mark: naive.Row) -> Story:
        return [
            [row | mark for row, truth in zip(bag, known, strict=True) if truth == wanted]
            for bag, known in stories
        ]

    assert_equal(marked.filter(marked["true"] == exists.TRUE), expected(True, {"true": 1}))
    assert_equal(marked.filter(marked["true"] == exists.FALSE), expected(False, {}))
    assert_equal(true, expected(True, {}))
    assert_equal(false, expected(False, {}))


def check_correlated(rng: Random) -> None:
    """A FILTER inside sees outside variables: the pattern is evaluated once for each value."""
    instants = draw_instants(rng)
    left = draw_relation(rng, ["a", "b"], instants)
    inner = draw_relation(rng, ["c"], instants)
    seen: list[int] = []

    def pattern(values: Relation) -> Relation:
        seen.append(int(values["a"][0]))
        return inner.filter(inner["c"] > values["a"])

    marked = exists.mark_correlated(left, ["a"], pattern, "true", instants)
    expected = [
        [
            row | {"true": 1} if any(_is_above(other, row) for other in others) else row
            for row in bag
        ]
        for bag, others in zip(fill(left, instants), fill(inner, instants), strict=True)
    ]
    assert_equal(marked, expected)
    assert len(seen) == len(set(seen))


def _is_above(other: naive.Row, row: naive.Row) -> bool:
    return other.get("c", 0) > row.get("a", 0)


def check_latest_time(rng: Random) -> None:
    instants = draw_instants(rng)
    stream = draw_relation(rng, ["s", "o", TIME], instants, unbound=0, always=0)
    static = draw_relation(rng, ["s", "o"], instants, unbound=0, always=1)
    contents = concat_relations([stream, static] if rng.random() < 0.5 else [stream], instants)
    if rng.random() < 0.4:  # in the order of time, as where nothing is late
        first, last = contents.over(instants).bounds
        order = np.argsort(contents[TIME], kind="stable")
        contents = contents.take(order).with_intervals(np.sort(first), np.sort(last))
    # The same statement at the same time in two windows is one occurrence.
    contents = coalesce.coalesce(contents.select(["s", "o", TIME]))
    found = latest_time.keep_latest_times(contents, ["s", "o"], TIME, instants)
    bags = fill(contents, instants)
    assert_equal(found, [naive.latest_times(bag, ["s", "o"], TIME) for bag in bags])


def check_latest_by_stream(rng: Random) -> None:
    """A time for each stream, which change independently; static statements have none."""
    instants = draw_instants(rng)
    times = [TIME, f"{TIME} elsewhere"]
    contents = [draw_relation(rng, ["s", each], instants, unbound=0, always=0) for each in times]
    contents.append(draw_relation(rng, ["s"], instants, rows=1, unbound=0, always=1))
    found = latest_time.find_latest_by_stream(
        concat_relations(contents, instants), ["s"], times, instants
    )
    expected: Story = []
    for bag in _fill_all(contents, instants):
        # Each statement is in both, maybe without a time.
        first, other = (naive.latest_times(bag, ["s"], time) for time in times)
        expected.append(naive.join(first, other))
    assert_equal(found, expected)


def rank_rows(relation: Relation, names: Sequence[str]) -> Ids:
    """Rank rows by the ids in some columns, one after the other."""
    rows = [tuple(int(relation[name][row]) for name in names) for row in range(relation.height)]
    places = {row: place for place, row in enumerate(sorted(set(rows)))}
    return np.array([places[row] for row in rows], np.int64)


def check_limit(rng: Random) -> None:
    instants = draw_instants(rng)
    names = rng.choice([["a", "b"], ["a"], []])
    relation = draw_relation(rng, names, instants)
    offset, most = rng.choice([0, 0, 1, 2]), rng.choice([None, 0, 1, 2, 3])
    # Rows of equal rank are equal, so that it does not matter which of them is kept.
    rank = rank_rows(relation, names)
    found = limit.limit_rows(relation, rank, instants, (offset, most))
    expected = [naive.limit(bag, names, offset, most) for bag in fill(relation, instants)]
    assert_equal(found, expected)
    if not found.holds_always:
        _assert_maximal(found, instants)


def check_closure(rng: Random) -> None:
    instants = draw_instants(rng)
    edges = draw_relation(rng, ["s", "o"], instants, unbound=0)
    paths = closure.close_edges(edges, "s", "o", instants)
    expected = [naive.closure(bag, "s", "o") for bag in fill(edges, instants)]
    assert_equal(paths, expected)
    nodes = concat_relations(
        [edges.select(["s"]), edges.select(["o"]).rename({"o": "s"})], instants
    )
    empty = [[{"s": row["s"], "o": row["s"]} for row in bag] for bag in fill(nodes, instants)]
    both = [naive.distinct([*one, *other]) for one, other in zip(expected, empty, strict=True)]
    assert_equal(closure.add_empty_paths(paths, nodes, "s", "o", instants), both)


def check_cut_inputs(rng: Random) -> None:
    """Whatever holds of whole rows holds of cut ones, also in the ranges between the cuts."""
    instants = draw_instants(rng)
    left, right = (
        draw_relation(rng, names, instants, always=0) for names in (["a", "b"], ["b", "c"])
    )
    point = rng.randrange(instants)
    parts = []
    for low, high in ((0, point - 1), (point, instants - 1)):
        one, other = (pieces.clip(each, low, high) for each in (left, right))
        parts.append(optional.optional(one, cut_anywhere(rng, other), instants))
    bags = zip(fill(left, instants), fill(right, instants), strict=True)
    expected = [naive.optional(one, other, lambda _: True) for one, other in bags]
    assert_equal(concat_relations(parts, instants), expected)
