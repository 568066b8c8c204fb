"""BIND beside OPTIONAL."""

from __future__ import annotations

from headrace.algebra.expressions import Expression, FunctionCall, Operation, Variable
from headrace.algebra.operators import Extend, LeftJoin, Operator
from headrace.algebra.scope import certain, mentioned, possible
from headrace.algebra.walk import parts
from headrace.functions.dependence import is_costly
from headrace.rdf.terms import Iri, Literal
from headrace.rewrite.conditions import is_about, is_movable


def pull_bind_out_of_optional(operator: Operator) -> Operator:
    """BLPush, from right to left: patterns meet, and a value is computed after them.

    (P1 BIND_v C) OPT P2  ->  (P1 OPT P2) BIND_v C
        if P2 and its condition know neither v nor a variable of C, and P1 always binds those
    P1 OPT (P2 BIND_v C)  ->  (P1 OPT P2) BIND_v C
        if C may be dear and is an error without P2, and P1 and the condition do not know v
    """
    match operator:
        case LeftJoin(Extend(source, variable, expression), right, condition):
            asked = frozenset() if condition is None else mentioned(condition)
            free = variable not in possible(right) | asked
            if free and is_about(expression, source, right):
                below = pull_bind_out_of_optional(LeftJoin(source, right, condition))
                return Extend(below, variable, expression)
        case LeftJoin(left, Extend(source, variable, expression), condition):
            asked = frozenset() if condition is None else mentioned(condition)
            free = variable not in possible(left) | asked
            if free and _is_of(expression, source, left):
                below = pull_bind_out_of_optional(LeftJoin(left, source, condition))
                return Extend(below, variable, expression)
    return operator


def _is_of(expression: Expression, source: Operator, other: Operator) -> bool:
    """Whether a dear value is one exactly where a pattern has a solution that another has not."""
    read = mentioned(expression)
    return (
        is_costly(expression)
        and is_movable(expression)
        and all(map(_needs_all, parts(expression)))
        and read <= certain(source)
        and not read <= possible(other)
    )


def _needs_all(part: Expression) -> bool:
    """Whether it is an error if something in it is unbound."""
    match part:
        case Operation(symbol, _):
            return symbol not in {"||", "&&"}
        case _:
            return isinstance(part, Variable | Iri | Literal | FunctionCall)
