"""Conditions on single numbers, which can be tested where statements are read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Final

from headrace.algebra.expressions import Expression, Operation, Variable
from headrace.rdf.terms import Literal
from headrace.rdf.vocabulary import XSD_DECIMAL, XSD_DOUBLE, XSD_INTEGER

_MIRRORED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}
_DIGITS: Final = 15
"""Numbers of so many digits are told apart by a float of double precision."""


@dataclass(frozen=True, slots=True)
class Limit:
    """A number must compare with another one.

    Attributes:
        symbol: how: `<`, `<=`, `>`, `>=` or `=`.
        number: with what.
        double: whether that is an xsd:double, with which an xsd:float compares as one too;
            else it becomes a float.
    """

    symbol: str
    number: float
    double: bool = False


def limits(conditions: Iterable[Expression], variable: Variable) -> Iterator[Limit]:
    """The limits that conditions set to a variable; other conditions are passed over.

    >>> ten = Literal("10", XSD_INTEGER)
    >>> list(limits([Operation("<", (ten, Variable("x")))], Variable("x")))
    [Limit(symbol='>', number=10.0, double=False)]
    """
    for condition in conditions:
        found = limit(condition, variable)
        if found is not None:
            yield found


def limit(condition: Expression, variable: Variable) -> Limit | None:
    """The limit that a condition sets to a variable, if it says no more."""
    match condition:
        case Operation(symbol, (Variable() as subject, Literal() as constant)):
            return _limit(symbol, constant) if subject == variable else None
        case Operation(symbol, (Literal() as constant, Variable() as subject)):
            return _limit(_MIRRORED.get(symbol, ""), constant) if subject == variable else None
        case _:
            return None


def _limit(symbol: str, constant: Literal) -> Limit | None:
    known = (XSD_INTEGER, XSD_DECIMAL, XSD_DOUBLE)
    if symbol not in _MIRRORED or constant.datatype not in known:
        return None
    try:
        number = Decimal(constant.lexical)
    except InvalidOperation:
        return None
    if not number.is_finite() or len(number.as_tuple().digits) > _DIGITS:
        return None
    return Limit(symbol, float(number), constant.datatype == XSD_DOUBLE)
