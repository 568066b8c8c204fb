"""Display names of the internal variables that translation adds to a pattern.

A query `SELECT (COUNT(*) AS ?n)` counts into a variable that no query can write. What shows such a
pattern calls it by what it holds: `?count`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from itertools import count
from typing import Any, Final, TypeVar

from headrace.algebra.expressions import Aggregate, Variable
from headrace.algebra.operators import Annotation, Group
from headrace.errors import Span

T = TypeVar("T")
_MADE: Final = "_:."
"""The prefix of internal variables, which no query text can contain."""


def rename_for_display(value: T) -> T:
    """Replace the internal variables of an operator or of a query by their display names.

    >>> from headrace.algebra.operators import Bgp
    >>> made = Variable("_:.agg0")
    >>> rename_for_display(Group(Bgp(), (), ((made, Aggregate("COUNT")),))).aggregates[0][0]
    Variable(name='count')
    """
    names = choose_display_names(value)
    return _rename(value, names) if names else value


def choose_display_names(value: object) -> Mapping[Variable, Variable]:
    """Choose for each internal variable a name after its content, different from all others."""
    known = dict.fromkeys(_variables(value))
    made = sorted((each for each in known if each.name.startswith(_MADE)), key=_order)
    if not made:
        return {}
    functions = dict(_aggregates(value))
    taken = {each.name for each in known}
    names: dict[Variable, Variable] = {}
    for each in made:
        called = functions[each].function.lower() if each in functions else _name(each)
        numbered = (called if number == 1 else f"{called}_{number}" for number in count(1))
        name = next(candidate for candidate in numbered if candidate not in taken)
        taken.add(name)
        names[each] = Variable(name)
    return names


def _order(variable: Variable) -> tuple[str, int]:
    number = re.search(r"\d+\Z", variable.name)
    return _name(variable), int(number[0]) if number else 0


def _name(variable: Variable) -> str:
    """Name an internal variable by the clause it was made for; `[]` stays a blank node."""
    rest = variable.name.removeprefix(_MADE)
    word = re.match(r"[A-Za-z]+", rest)
    return word[0] if word else f"_:{rest}"


def _variables(value: object) -> Iterator[Variable]:
    """Yield the variables in an algebra value, in the order of its fields."""
    if isinstance(value, Variable):
        yield value
    else:
        for part in _parts(value):
            yield from _variables(part)


def _aggregates(value: object) -> Iterator[tuple[Variable, Aggregate]]:
    """Yield the aggregates in an algebra value, with the variables that hold them."""
    match value:
        case Group(_, _, aggregates):
            yield from aggregates
        case Annotation(variable, aggregate):
            yield variable, aggregate
    for part in _parts(value):
        yield from _aggregates(part)


def _parts(value: object) -> tuple[object, ...]:
    if isinstance(value, tuple):
        return value
    if is_dataclass(value) and not isinstance(value, Span):
        return tuple(getattr(value, field.name) for field in fields(value))
    return ()


def _rename(value: Any, names: Mapping[Variable, Variable]) -> Any:
    """Replace variables wherever they stand; what has none of them stays the same object."""
    if isinstance(value, Variable):
        return names.get(value, value)
    if isinstance(value, tuple):
        made = tuple(_rename(part, names) for part in value)
        return made if any(new is not old for new, old in zip(made, value, strict=True)) else value
    if not is_dataclass(value) or isinstance(value, Span | type):
        return value
    changed = {}
    for field in fields(value):
        old = getattr(value, field.name)
        new = _rename(old, names)
        if new is not old:
            changed[field.name] = new
    return replace(value, **changed) if changed else value
