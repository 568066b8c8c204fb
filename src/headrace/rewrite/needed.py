"""Which variables of an operator's inputs somebody above asks for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from headrace.algebra.expressions import Aggregate, Variable
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
from headrace.algebra.scope import Variables, mentioned, possible


def needed_below(operator: Operator, needed: Variables) -> tuple[Variables, ...]:
    """What an operator needs of each of its inputs, if so much of its own solutions is needed.

    What is compared or put in order is compared by all its variables.
    """
    match operator:
        case Bgp() | Values():
            return ()
        case Join(left, right) | Temporal(left, right):
            wanted = needed | (possible(left) & possible(right))
            return wanted, wanted
        case LeftJoin(left, right, condition):
            asked = frozenset() if condition is None else mentioned(condition)
            wanted = needed | asked | (possible(left) & possible(right))
            return wanted, wanted
        case Minus(left, right):
            shared = possible(left) & possible(right)
            return needed | shared, shared
        case Union(branches):
            return (needed,) * len(branches)
        case Filter(condition, _):
            return (needed | mentioned(condition),)
        case Extend(_, variable, expression):
            return ((needed - {variable}) | mentioned(expression),)
        case Graph(name, source) | Window(name, source):
            named = {name} if isinstance(name, Variable) else set()
            stream = operator.stream if isinstance(operator, Window) else None
            bound = named | ({stream} if stream is not None else set())
            return (needed | (bound & possible(source)),)
        case Group(source, keys, aggregates):
            return (frozenset(keys) | _of_calls((call for _, call in aggregates), source),)
        case Annotate(source, annotations):
            grouped = frozenset(key for each in annotations for key in each.keys)
            made = {each.variable for each in annotations}
            calls = _of_calls((each.aggregate for each in annotations), source)
            return ((needed - made) | grouped | calls,)
        case Project(_, variables):
            return (needed & frozenset(variables),)
        case Distinct(source) | Reduced(source) | Slice(source) | OrderBy(source):
            return (possible(source),)
        case Service(_, source):
            return (possible(source),)
        case _:
            assert_never(operator)


def _of_calls(calls: Iterable[Aggregate], source: Operator) -> Variables:
    found: set[Variable] = set()
    for call in calls:
        found |= mentioned(call)
        if call.argument is None and call.distinct:  # counts solutions that differ anywhere
            found |= possible(source)
    return frozenset(found)
