"""An operator tree as lines that people read, each with what it stands for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import assert_never

from headrace.algebra.display_names import rename_for_display
from headrace.algebra.expressions import Aggregate, Expression, TriplePattern, Variable
from headrace.algebra.notation import show
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
from headrace.algebra.paths import Path, PathPattern
from headrace.algebra.walk import inputs

Node = Operator | TriplePattern | PathPattern


@dataclass(frozen=True, slots=True)
class Line:
    """An operator or a triple pattern, how deep it stands, and what to call it."""

    depth: int
    label: str
    node: Node


def tree(operator: Operator) -> Iterator[Line]:
    """List an operator and all below it, each before its inputs."""
    shown = _lines(rename_for_display(operator), 0)
    for line, other in zip(_lines(operator, 0), shown, strict=True):
        yield Line(line.depth, other.label, line.node)


def _lines(operator: Operator, depth: int) -> Iterator[Line]:
    yield Line(depth, label(operator), operator)
    if isinstance(operator, Bgp):
        for pattern in operator.patterns:
            yield Line(depth + 1, text(pattern), pattern)
    for source in inputs(operator):
        yield from _lines(source, depth + 1)


def label(operator: Operator) -> str:
    """An operator on one line, without what it reads.

    >>> label(Filter(Variable("x"), Bgp()))
    'filter ?x'
    """
    match operator:
        case Bgp():
            return "graph pattern"
        case Join():
            return "join"
        case LeftJoin(_, _, condition):
            return "optional" if condition is None else f"optional where {text(condition)}"
        case Temporal():
            return relation_text(operator)
        case Union():
            return "union"
        case Minus():
            return "minus"
        case Filter(condition, _):
            return f"filter {text(condition)}"
        case Extend(_, variable, expression):
            return f"bind {text(variable)} to {text(expression)}"
        case Values(variables, rows):
            return f"values {_all(variables)} ({len(rows)} given)"
        case Graph(name, _):
            return f"graph {text(name)}"
        case Window(name, _):
            return f"window {text(name)}"
        case Service(endpoint, _, budget=budget):
            return f"service {text(endpoint)}" + ("" if budget is None else ", from a view")
        case Group(_, keys, aggregates):
            by = f" by {_all(keys)}" if keys else ""
            calls = ", ".join(call_text(*each) for each in aggregates)
            return f"group{by}: {calls}" if calls else f"group{by}"
        case Annotate(_, annotations):
            made = [
                f"{call_text(each.variable, each.aggregate)} by {_all(each.keys) or 'nothing'}"
                for each in annotations
            ]
            return f"aggregate {', '.join(made)}"
        case OrderBy(_, keys):
            return f"order by {', '.join(text(key.expression) for key in keys)}"
        case Project(_, variables):
            return f"project {_all(variables)}"
        case Distinct():
            return "distinct"
        case Reduced():
            return "reduced"
        case Slice(_, offset, limit):
            return f"slice from {offset}" + ("" if limit is None else f", at most {limit}")
        case _:
            assert_never(operator)


def relation_text(operator: Temporal) -> str:
    """A temporal operator in words.

    >>> from headrace.algebra.operators import Relation
    >>> relation_text(Temporal(Bgp(), Bgp(), Relation.BEFORE, 5_000_000, optional=True))
    'before within 5 s, optional'
    """
    distance = "" if operator.within is None else f" within {operator.within / 1_000_000:g} s"
    return f"{operator.relation}{distance}" + (", optional" if operator.optional else "")


def text(value: Expression | PathPattern | Path) -> str:
    """A term, an expression or a triple pattern on one line."""
    return show(value, width=1_000_000)


def call_text(variable: Variable, call: Aggregate) -> str:
    """An aggregate and what it is bound to, on one line."""
    argument = "*" if call.argument is None else text(call.argument)
    distinct = "DISTINCT " if call.distinct else ""
    return f"{text(variable)} = {call.function}({distinct}{argument})"


def _all(variables: tuple[Variable, ...]) -> str:
    return " ".join(f"?{each.name}" for each in variables)
