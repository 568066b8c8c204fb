"""The naive oracle: bags of rows at every instant, and operators that loop over rows.

A story lists for each instant the rows that hold. A row maps variables to ids, and times by their
columns; what it does not bind is not among them. Nothing here uses arrays or intervals.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from headrace.execution.relation.relation import Relation

Row: TypeAlias = dict[str, int]
Bag: TypeAlias = list[Row]
Story: TypeAlias = list[Bag]

NO_TIME = -(2**63)


def is_time(name: str) -> bool:
    return name.startswith("time of ")


def rows_of(relation: Relation) -> list[Row]:
    columns = {name: ids.tolist() for name, ids in relation.columns.items()}
    return [
        {
            name: ids[number]
            for name, ids in columns.items()
            if ids[number] != (NO_TIME if is_time(name) else 0)
        }
        for number in range(relation.height)
    ]


def spans_of(relation: Relation, instants: int) -> list[tuple[int, int]]:
    if relation.first is None or relation.last is None:
        return [(0, instants - 1)] * relation.height
    return list(zip(relation.first.tolist(), relation.last.tolist(), strict=True))


def fill(relation: Relation, instants: int) -> Story:
    """List the rows of every instant. No interval of a relation may be empty."""
    story: Story = [[] for _ in range(instants)]
    for row, (first, last) in zip(rows_of(relation), spans_of(relation, instants), strict=True):
        assert first <= last, f"empty interval [{first}, {last}]"
        for instant in range(max(first, 0), min(last + 1, instants)):
            story[instant].append(row)
    return story


def count(bag: Iterable[Row]) -> Counter[frozenset[tuple[str, int]]]:
    return Counter(frozenset(row.items()) for row in bag)


def assert_equal(ours: Relation, expected: Story) -> None:
    """Compare the bags of every instant."""
    found = fill(ours, len(expected))
    for instant, (one, other) in enumerate(zip(found, expected, strict=True)):
        assert count(one) == count(other), f"at {instant}: {one} instead of {other}"


def merge(left: Row, right: Row) -> Row | None:
    """Return the union of compatible rows, with the later of times."""
    merged = {**left, **right}
    for name in left.keys() & right.keys():
        if is_time(name):
            merged[name] = max(left[name], right[name])
        elif left[name] != right[name]:
            return None
    return merged


def join(left: Bag, right: Bag) -> Bag:
    pairs = (merge(one, other) for one in left for other in right)
    return [pair for pair in pairs if pair is not None]


def distinct(bag: Bag) -> Bag:
    terms = [{name: row[name] for name in row if not is_time(name)} for row in bag]
    return [dict(row) for row in count(terms)]


def project(bag: Bag, names: Sequence[str]) -> Bag:
    return [{name: row[name] for name in names if name in row} for row in bag]


def optional(left: Bag, right: Bag, passes: Callable[[Row], bool]) -> Bag:
    found: Bag = []
    for row in left:
        matches = [match for match in join([row], right) if passes(match)]
        found += matches or [row]
    return found


def exists(row: Row, right: Bag) -> bool:
    return bool(join([row], right))


def minus(left: Bag, right: Bag) -> Bag:
    return [row for row in left if not any(_removes(row, other) for other in right)]


def _removes(row: Row, other: Row) -> bool:
    shared = [name for name in row if name in other and not is_time(name)]
    return bool(shared) and merge(row, other) is not None


def limit(bag: Bag, names: Sequence[str], offset: int, most: int | None) -> Bag:
    ordered = sorted(bag, key=lambda row: [row.get(name, 0) for name in names])
    return ordered[offset : None if most is None else offset + most]


def latest_times(bag: Bag, statement: Sequence[str], time: str) -> Bag:
    """Keep for each statement its latest time."""
    latest: dict[tuple[int, ...], int] = {}
    for row in bag:
        key = tuple(row.get(name, 0) for name in statement)
        latest[key] = max(latest.get(key, NO_TIME), row.get(time, NO_TIME))
    return [
        {
            **{name: id_ for name, id_ in zip(statement, key, strict=True) if id_},
            **({time: moment} if moment != NO_TIME else {}),
        }
        for key, moment in latest.items()
    ]


def closure(bag: Bag, source: str, target: str) -> Bag:
    """Return the pairs of nodes that a path of one edge or more connects."""
    pairs = {(row[source], row[target]) for row in bag}
    while True:
        longer = {(a, d) for a, b in pairs for c, d in pairs if b == c} - pairs
        if not longer:
            return [{source: a, target: b} for a, b in pairs]
        pairs |= longer
