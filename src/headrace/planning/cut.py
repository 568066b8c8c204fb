"""By which variable the solutions of a static pattern can be found in parts.

A part keeps what matches a triple pattern if the term of one variable falls to it. That gives each
solution in exactly one part if all that is joined agrees on that variable, and nothing else of the
pattern is called by its name.
"""

from __future__ import annotations

from collections import Counter
from enum import Enum, auto
from typing import Final

from headrace.algebra.expressions import TriplePattern, Variable
from headrace.algebra.operators import (
    Bgp,
    Distinct,
    Extend,
    Filter,
    Graph,
    Group,
    Join,
    Operator,
    Project,
    Reduced,
    Union,
    Values,
)
from headrace.algebra.scope import certain, of_term, possible
from headrace.algebra.walk import everywhere
from headrace.functions.dependence import is_local
from headrace.rdf.terms import Iri

_COUNTS: Final = "COUNT"
"""The aggregate whose value does not depend on the order of solutions in any case."""


class _Kind(Enum):
    """What a part finds of an operator."""

    OWN = auto()  # the solutions whose key falls to it
    ALL = auto()  # all solutions, which do not know the key
    UNKNOWN = auto()


def cut_by(operator: Operator) -> Variable | None:
    """The variable by which a pattern can be cut: that of most triple patterns; none if none can.

    >>> from headrace.algebra.notation import read
    >>> cut_by(read("(bgp [(triple ?a <x:p> ?b) (triple ?b <x:p> ?c)])"))
    Variable(name='b')
    >>> cut_by(read("(bgp [(triple <x:a> <x:p> <x:b>)])"))
    """
    times = Counter(
        variable
        for each in everywhere(operator)
        if isinstance(each, Bgp)
        for pattern in each.patterns
        if isinstance(pattern, TriplePattern)
        for variable in set(of_term(pattern))
    )
    keys = sorted(certain(operator), key=lambda each: (-times[each], each.name))
    return next((key for key in keys if _kind(operator, key) is _Kind.OWN), None)


def _kind(operator: Operator, key: Variable) -> _Kind:
    match operator:
        case Bgp():
            return _of_bgp(operator, key)
        case Join(left, right):
            return _of_join(_kind(left, key), _kind(right, key))
        case Union(branches):
            kinds = {_kind(each, key) for each in branches}
            return kinds.pop() if len(kinds) == 1 else _Kind.UNKNOWN
        case Filter(condition, source):
            return _kind(source, key) if is_local(condition) else _Kind.UNKNOWN
        case Extend(source, variable, expression):
            known = is_local(expression) and variable != key
            return _kind(source, key) if known else _Kind.UNKNOWN
        case Distinct(source) | Reduced(source) | Graph(Iri(), source):
            return _kind(source, key)
        case Project(source, variables):
            return _shown(_kind(source, key), key in variables)
        case Group(source, keys, aggregates):
            counts = all(aggregate.function == _COUNTS for _, aggregate in aggregates)
            return _shown(_kind(source, key), key in keys) if counts else _Kind.UNKNOWN
        case Values(variables, _):
            return _Kind.UNKNOWN if key in variables else _Kind.ALL
        case _:
            return _Kind.UNKNOWN


def _of_bgp(bgp: Bgp, key: Variable) -> _Kind:
    triples = [each for each in bgp.patterns if isinstance(each, TriplePattern)]
    if any(key in of_term(each) for each in triples):
        return _Kind.OWN
    return _Kind.UNKNOWN if key in possible(bgp) else _Kind.ALL


def _of_join(left: _Kind, right: _Kind) -> _Kind:
    if _Kind.UNKNOWN in {left, right}:
        return _Kind.UNKNOWN
    return _Kind.OWN if _Kind.OWN in {left, right} else _Kind.ALL


def _shown(source: _Kind, shown: bool) -> _Kind:
    """Of an operator that hides all variables but some: a hidden one of that name is another."""
    return source if source is not _Kind.OWN or shown else _Kind.UNKNOWN
