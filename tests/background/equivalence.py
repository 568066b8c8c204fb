"""When two patterns are the same, up to names that nobody gave and the writer's simplifications."""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass
from typing import Any

from headrace.algebra.expressions import BuiltIn, TriplePattern, Variable
from headrace.algebra.notation import show
from headrace.algebra.operators import (
    Bgp,
    Distinct,
    Extend,
    Filter,
    Group,
    Join,
    Operator,
    OrderBy,
    Project,
    Reduced,
    Slice,
    Union,
    Values,
)
from headrace.algebra.paths import Alternative, PathPattern, Sequence
from headrace.algebra.scope import mentioned, possible, possible_in_order
from headrace.rdf.terms import Iri, Literal, QuotedTriple
from headrace.rdf.vocabulary import XSD_INTEGER

_NAMELESS = re.compile(r"\?(?:_:[^\s()\[\]]+|anon[0-9]+)")


def shape(operator: Operator) -> str:
    """A text that is the same for patterns that are."""
    numbers: dict[str, int] = {}

    def numbered(found: re.Match[str]) -> str:
        return f"?#{numbers.setdefault(found[0], len(numbers))}"

    return _NAMELESS.sub(numbered, show(simple(operator), 10**9))


def simple(value: Any) -> Any:
    """A value of the algebra with all its parts as simple as the writer leaves them."""
    if isinstance(value, tuple):
        return tuple(simple(part) for part in value)
    if not is_dataclass(value) or isinstance(value, type):
        return value
    parts = {field.name: simple(getattr(value, field.name)) for field in fields(value)}
    return _simplified(type(value)(**parts))


def _simplified(value: Any) -> Any:
    match value:
        case Join(Bgp(()), right):
            return right
        case Union((only,)) | Sequence((only,)) | Alternative((only,)):
            return only
        case Union(()):
            return Values((), ())
        case PathPattern(subject, Iri() as predicate, object_):
            return TriplePattern(subject, predicate, object_)
        case Slice(inner, 0, None):
            return inner if isinstance(inner, Project | Distinct | Reduced) else _projected(inner)
        case Slice(inner, offset, limit) if not isinstance(inner, Project | Distinct | Reduced):
            return Slice(_projected(inner), offset, limit)
        case Distinct(inner) if not isinstance(inner, Project):
            return Distinct(_projected(inner))
        case Reduced(inner) if not isinstance(inner, Project):
            return Reduced(_projected(inner))
        case BuiltIn("TRIPLE", parts):
            return TriplePattern(*parts)  # type: ignore[arg-type]  # as a term, to compare it
        case QuotedTriple(subject, predicate, object_):
            return TriplePattern(subject, predicate, object_)
        case Group(inner, keys, aggregates):
            return Group(inner, keys, tuple(sorted(aggregates, key=lambda each: show(each[1]))))
        case Project(inner, columns):
            return _simple_projection(Project(inner, _ordered(columns)))
        case _:
            return value


def _projected(operator: Operator) -> Operator:
    return _simple_projection(Project(operator, _ordered(possible_in_order(operator))))


def _ordered(columns: tuple[Variable, ...]) -> tuple[Variable, ...]:
    """Columns in one order, whichever the query has; nameless ones last, as they come."""
    nameless = {each: _NAMELESS.fullmatch(f"?{each.name}") is not None for each in columns}
    return tuple(sorted(columns, key=lambda each: (nameless[each], nameless[each] or each.name)))


def _simple_projection(project: Project) -> Operator:
    inner, columns = _level(project.input, frozenset(project.variables)), project.variables
    if names := _aggregates(inner):
        inner = _renamed(inner, {old: new for old, new in names.items() if old not in columns})
    project = Project(inner, columns)
    levels = Project | Group | Distinct | Reduced | Slice
    if isinstance(inner, levels) and possible(inner) == set(columns):
        return inner  # all of what is there already
    match inner:
        case Extend(rest, one, value) if (one,) == columns and _is_constant(one, value):
            return _simple_projection(Project(rest, ()))
        case OrderBy(Extend(rest, one, value), keys) if (one,) == columns:
            if _is_constant(one, value):
                return Project(OrderBy(rest, keys), ())
    return _as_group(inner, columns) or project


def _level(operator: Operator, used: frozenset[Variable]) -> Operator:
    """The same level without aggregates that nothing uses, and the others named by what they are.

    Their names are out of reach above the level, and levels may use the same ones.
    """
    match operator:
        case OrderBy(inner, keys):
            seen = frozenset[Variable]().union(*(mentioned(key.expression) for key in keys))
            return OrderBy(_level(inner, used | seen), keys)
        case Extend(inner, variable, expression):
            return Extend(_level(inner, used | mentioned(expression)), variable, expression)
        case Filter(condition, inner):
            return Filter(condition, _level(inner, used | mentioned(condition)))
        case Group(inner, keys, aggregates):
            return Group(inner, keys, tuple(each for each in aggregates if each[0] in used))
        case _:
            return operator


def _aggregates(operator: Operator) -> dict[Variable, Variable]:
    """New names for the nameless aggregates of a level."""
    while isinstance(operator, OrderBy | Extend | Filter):
        operator = operator.input
    if not isinstance(operator, Group):
        return {}
    return {
        variable: Variable(f"_:{show(call, 10**9).encode().hex()}")
        for variable, call in operator.aggregates
        if _NAMELESS.fullmatch(f"?{variable.name}")
    }


def _renamed(value: Any, names: dict[Variable, Variable]) -> Any:
    match value:
        case Variable():
            return names.get(value, value)
        case Group(inner, keys, aggregates):
            return Group(inner, keys, tuple((names.get(v, v), call) for v, call in aggregates))
        case tuple():
            return tuple(_renamed(part, names) for part in value)
        case _ if is_dataclass(value) and not isinstance(value, type):
            parts = {
                part.name: _renamed(getattr(value, part.name), names) for part in fields(value)
            }
            return type(value)(**parts)
        case _:
            return value


def _is_constant(variable: Variable, value: object) -> bool:
    """Whether a column is the one that is written where there is none."""
    return variable.name.startswith("anon") and value == Literal("1", XSD_INTEGER)


def _as_group(operator: Operator, columns: tuple[Variable, ...]) -> Group | None:
    """A subquery that only names the aggregates of a group, as that group."""
    names: dict[object, Variable] = {}
    computed: list[Variable] = []
    while isinstance(operator, Extend):
        names[operator.expression] = operator.variable
        computed.insert(0, operator.variable)
        operator = operator.input
    if not isinstance(operator, Group) or set(columns) != {*operator.keys, *computed}:
        return None
    if set(names) != {variable for variable, _ in operator.aggregates}:
        return None
    aggregates = ((names[variable], call) for variable, call in operator.aggregates)
    return Group(operator.input, operator.keys, tuple(aggregates))
