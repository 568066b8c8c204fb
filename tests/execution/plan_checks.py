"""Checks of whole plans: operators over operators, by instants, by epochs and in parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from random import Random
from typing import Literal, TypeAlias

import numpy as np

from headrace.execution.operators import distinct, exists, join, limit, minus, optional, union
from headrace.execution.relation import coalesce, epochs, pieces
from headrace.execution.relation.relation import MEMBER, Relation, concat_relations
from tests.execution import naive
from tests.execution.checks import rank_rows
from tests.execution.naive import Bag, Story, assert_equal, fill
from tests.execution.worlds import draw_instants, draw_relation

NAMES = ("a", "b", "c")
Binary: TypeAlias = Literal["join", "optional", "union", "minus", "exists", "missing"]
Unary: TypeAlias = Literal["distinct", "project", "pack", "limit"]


@dataclass(frozen=True)
class Scan:
    number: int


@dataclass(frozen=True)
class One:
    operator: Unary
    input: Plan
    names: tuple[str, ...]
    bounds: tuple[int, int]


@dataclass(frozen=True)
class Two:
    operator: Binary
    left: Plan
    right: Plan


Plan: TypeAlias = Scan | One | Two


def draw_plan(rng: Random, depth: int, scans: int) -> Plan:
    if depth == 0 or rng.random() < 0.1:
        return Scan(rng.randrange(scans))
    if rng.random() < 0.35:
        unary: Unary = rng.choice(["distinct", "project", "pack", "limit"])
        names = tuple(sorted(rng.sample(NAMES, rng.randint(0, 2))))
        bounds = (rng.randint(0, 1), rng.randint(1, 4))
        return One(unary, draw_plan(rng, depth - 1, scans), names, bounds)
    binary: Binary = rng.choice(["join", "join", "optional", "union", "minus", "exists", "missing"])
    return Two(binary, draw_plan(rng, depth - 1, scans), draw_plan(rng, depth - 1, scans))


def evaluate(plan: Plan, scans: Sequence[Relation], instants: int) -> Relation:
    match plan:
        case Scan(number):
            return scans[number]
        case One(operator, below, names, bounds):
            return _evaluate_one(
                operator, evaluate(below, scans, instants), instants, names, bounds
            )
        case Two(operator, left, right):
            ours, theirs = (evaluate(each, scans, instants) for each in (left, right))
            return _evaluate_two(operator, ours, theirs, instants)


def _evaluate_one(
    operator: Unary,
    rows: Relation,
    instants: int,
    names: tuple[str, ...],
    bounds: tuple[int, int],
) -> Relation:
    match operator:
        case "distinct":
            return distinct.distinct(rows)
        case "project":
            return rows.select(names)
        case "pack":
            return coalesce.pack(rows.select(names))
        case "limit":
            return limit.limit_rows(rows, rank_rows(rows, NAMES), instants, bounds)


def _evaluate_two(operator: Binary, left: Relation, right: Relation, instants: int) -> Relation:
    match operator:
        case "join":
            return join.join(left, right)
        case "optional":
            return optional.optional(left, right, instants)
        case "union":
            return union.union([left, right], instants)
        case "minus":
            return minus.minus(left, right, instants)
        case "exists":
            return exists.keep_existing(left, right, instants)
        case "missing":
            return exists.keep_missing(left, right, instants)


def evaluate_naively(plan: Plan, scans: Sequence[Bag]) -> Bag:
    match plan:
        case Scan(number):
            return scans[number]
        case One("distinct", below, _, _):
            return naive.distinct(evaluate_naively(below, scans))
        case One("limit", below, _, (offset, most)):
            return naive.limit(evaluate_naively(below, scans), NAMES, offset, most)
        case One(_, below, names, _):
            return naive.project(evaluate_naively(below, scans), names)
        case Two(operator, one, other):
            left, right = evaluate_naively(one, scans), evaluate_naively(other, scans)
            return _combine_naively(operator, left, right)


def _combine_naively(operator: Binary, left: Bag, right: Bag) -> Bag:
    match operator:
        case "join":
            return naive.join(left, right)
        case "optional":
            return naive.optional(left, right, lambda _: True)
        case "union":
            return [*left, *right]
        case "minus":
            return naive.minus(left, right)
        case "exists":
            return [row for row in left if naive.exists(row, right)]
        case "missing":
            return [row for row in left if not naive.exists(row, right)]


def _draw(rng: Random) -> tuple[Plan, list[Relation], int, Story]:
    instants = draw_instants(rng)
    scans = [
        draw_relation(rng, rng.sample(NAMES, rng.randint(1, 2)), instants, rows=5, unbound=0.05)
        for _ in range(3)
    ]
    plan = draw_plan(rng, rng.randint(1, 3), len(scans))
    bags = zip(*(fill(each, instants) for each in scans), strict=True)
    return plan, scans, instants, [evaluate_naively(plan, each) for each in bags]


def check_plans(rng: Random) -> None:
    plan, scans, instants, expected = _draw(rng)
    assert_equal(evaluate(plan, scans, instants), expected)


def check_plans_by_epoch(rng: Random) -> None:
    plan, scans, instants, expected = _draw(rng)
    numbered = epochs.Epochs.of(scans, instants)
    found = evaluate(plan, [numbered.number(each) for each in scans], numbered.count)
    assert_equal(numbered.restore(found), expected)


def check_plans_in_parts(rng: Random) -> None:
    """The instants are cut anywhere, and each part is evaluated by itself."""
    plan, scans, instants, expected = _draw(rng)
    cuts = sorted({0, instants, *(rng.randrange(instants) for _ in range(2))})
    parts = []
    for low, high in pairwise(cuts):
        clipped = [_shift(pieces.clip(each, low, high - 1), -low) for each in scans]
        found = evaluate(plan, clipped, high - low)
        parts.append(_shift(found.over(high - low), low))
    assert_equal(concat_relations(parts, instants), expected)


def check_plans_at_single_instants(rng: Random) -> None:
    plan, scans, instants, expected = _draw(rng)
    single = [pieces.expand(each, instants) for each in scans]
    assert_equal(evaluate(plan, single, instants), expected)


def check_plans_of_several_queries(rng: Random) -> None:
    """Queries of one shape are evaluated at once: the number of the query is part of every key."""
    instants = draw_instants(rng)
    members = [1, 2]
    scans = {
        member: [
            draw_relation(rng, names, instants, rows=4) for names in (["a"], ["a", "b"], ["b"])
        ]
        for member in members
    }
    for member in members[1:]:
        scans[member][2] = scans[1][2]  # the last is the same for all queries
    plan = (
        Two("join", draw_plan(rng, 2, 2), Scan(2)) if rng.random() < 0.5 else draw_plan(rng, 2, 2)
    )
    together = [
        concat_relations([_of_member(scans[each][number], each) for each in members], instants)
        for number in (0, 1)
    ]
    found = evaluate(_keep_members(plan), [*together, scans[1][2]], instants)
    for member in members:
        bags = zip(*(fill(each, instants) for each in scans[member]), strict=True)
        ours = found.filter(found[MEMBER] == member).drop([MEMBER])
        assert_equal(ours, [evaluate_naively(plan, each) for each in bags])


def _of_member(relation: Relation, member: int) -> Relation:
    return relation.with_column(MEMBER, np.full(relation.height, member))


def _keep_members(plan: Plan) -> Plan:
    """Let projections keep the number of the query."""
    match plan:
        case One(operator, below, names, bounds):
            return One(operator, _keep_members(below), (*names, MEMBER), bounds)
        case Two(operator, left, right):
            return Two(operator, _keep_members(left), _keep_members(right))
        case _:
            return plan


def _shift(relation: Relation, by: int) -> Relation:
    if relation.holds_always:
        return relation
    first, last = relation.bounds
    return relation.with_intervals(np.add(first, by), np.add(last, by))
