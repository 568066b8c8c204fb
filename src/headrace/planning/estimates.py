"""How many solutions an operator may have, before anything has been counted.

Rough figures by which alternatives are compared: what is known of the static data is counted, and
the rest follows from how much a triple pattern leaves open, as in heuristic H1.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from math import isqrt
from typing import Final, assert_never

from headrace.algebra.expressions import Expression, Operation, TriplePattern, Variable
from headrace.algebra.operators import (
    Annotate,
    Bgp,
    Distinct,
    Extend,
    Filter,
    Graph,
    Group,
    Join,
    LeftJoin,
    Minus,
    Operator,
    OrderBy,
    Project,
    Reduced,
    Service,
    Slice,
    Temporal,
    Union,
    Values,
    Window,
)
from headrace.algebra.paths import PathPattern
from headrace.algebra.scope import Variables, of_term, possible
from headrace.rdf.terms import Iri

Counts = Mapping[Iri, int]
"""How many statements there are with a predicate, where that is known."""

_ALL: Final = 10_000
"""Statements that are looked at, if nothing is known."""
_OF_PREDICATE: Final = 1_000
_PER_SUBJECT: Final = 100
_PER_OBJECT: Final = 10
_REMOTE: Final = 1_000
_RELATED: Final = 3
"""One in so many pairs of solutions has intervals that are related as asked."""


def estimated(operator: Operator, counts: Counts) -> int:
    """About how many solutions an operator has.

    >>> estimated(Bgp(), {})
    1
    """
    match operator:
        case Bgp(patterns):
            return _joined([(_of_pattern(each, counts), _variables(each)) for each in patterns])
        case Join(left, right):
            return _joined([(estimated(each, counts), possible(each)) for each in (left, right)])
        case Temporal(left, right, optional=False):
            return max(1, estimated(Join(left, right), counts) // _RELATED)
        case LeftJoin(left, right) | Temporal(left, right):
            both = estimated(Join(left, right), counts)
            return max(estimated(left, counts), both)
        case Union(branches):
            return sum(estimated(each, counts) for each in branches)
        case Filter(condition, source):
            return max(1, estimated(source, counts) // _kept_of(condition))
        case Values(_, rows):
            return len(rows)
        case Group(source, keys):
            return isqrt(estimated(source, counts)) if keys else 1
        case Slice(source, _, limit):
            found = estimated(source, counts)
            return found if limit is None else min(found, limit)
        case Service():
            return _REMOTE
        case (
            Minus(source)
            | Extend(source)
            | Graph(_, source)
            | Window(_, source)
            | Annotate(source)
            | OrderBy(source)
            | Project(source)
            | Distinct(source)
            | Reduced(source)
        ):
            return estimated(source, counts)
        case _:
            assert_never(operator)


def _of_pattern(pattern: TriplePattern | PathPattern, counts: Counts) -> int:
    predicate = pattern.predicate if isinstance(pattern, TriplePattern) else pattern.path
    rows = _ALL
    if isinstance(predicate, Iri):
        rows = counts.get(predicate, _OF_PREDICATE)
    if not list(of_term(pattern.subject)):
        rows //= _PER_SUBJECT
    if not list(of_term(pattern.object)):
        rows //= _PER_OBJECT
    return max(1, rows)


def _variables(pattern: TriplePattern | PathPattern) -> Variables:
    return possible(Bgp((pattern,)))


def _joined(parts: list[tuple[int, Variables]]) -> int:
    """What is joined on a variable has as many solutions as the smaller side; else all with all."""

    def both(one: tuple[int, Variables], other: tuple[int, Variables]) -> tuple[int, Variables]:
        rows = min(one[0], other[0]) if one[1] & other[1] else one[0] * other[0]
        return rows, one[1] | other[1]

    empty: tuple[int, frozenset[Variable]] = (1, frozenset())
    return reduce(both, parts, empty)[0] if parts else 1


def _kept_of(condition: Expression) -> int:
    """One in how many solutions a condition keeps."""
    equal = isinstance(condition, Operation) and condition.symbol == "="
    return 10 if equal else 3
