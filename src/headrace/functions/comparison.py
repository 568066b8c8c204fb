"""How terms compare: `=`, `<` and their kin, sameTerm, IN.

Terms that are the same are equal, except NaN. Literals of known types with valid forms are equal
if their values are, and never equal to a value of another kind: `1 = "1"` is false. Of a literal
that is ill-typed or of an unknown datatype nothing is known but its form, so comparing it with
another literal is an error, unless that one has a language. A moment without a zone has no certain
order to one with a zone that is up to 14 hours away: that is an error too. Quoted triples compare
part by part.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Final

from headrace.functions.calendars import DateTime
from headrace.functions.errors import ExpressionError
from headrace.functions.numerals import Kind, Number, as_float, single
from headrace.functions.values import FALSE, TRUE, LanguageText, value_of
from headrace.rdf.terms import Literal, QuotedTriple, Term


def equal(left: Term, right: Term) -> bool:
    """Whether `left = right`.

    Raises:
        ExpressionError: it is not known.
    """
    if isinstance(left, Literal) and isinstance(right, Literal):
        return _equal_literals(left, right)
    if isinstance(left, QuotedTriple) and isinstance(right, QuotedTriple):
        return _equal_triples(left, right)
    return left == right


def _equal_literals(left: Literal, right: Literal) -> bool:
    one, other = value_of(left), value_of(right)
    if isinstance(one, Number) and isinstance(other, Number):
        return _compare_numbers(one, other) == 0
    if left == right:
        return True
    if isinstance(one, LanguageText) or isinstance(other, LanguageText):
        return False  # no datatype, known or not, has text with a language among its values
    if one is None or other is None:
        raise ExpressionError(f"it is not known whether {left} and {right} are equal")
    if type(one) is not type(other):
        return False
    if isinstance(one, DateTime) and isinstance(other, DateTime):
        return _compare_moments(one, other) == 0
    return one == other


def _equal_triples(left: QuotedTriple, right: QuotedTriple) -> bool:
    """All parts are equal; one that is not decides, whatever is unknown of the others."""
    unknown: ExpressionError | None = None
    for one, other in zip(_parts(left), _parts(right), strict=True):
        try:
            if not equal(one, other):
                return False
        except ExpressionError as error:
            unknown = error
    if unknown is not None:
        raise unknown
    return True


def compare(left: Term, right: Term) -> int | None:
    """Less than, equal to or greater than 0, as left is before, at or after right; None with NaN.

    Raises:
        ExpressionError: the language gives them no order.
    """
    if isinstance(left, Literal) and isinstance(right, Literal):
        one, other = value_of(left), value_of(right)
        comparison = _COMPARISONS.get(type(one))
        if comparison is not None and type(one) is type(other):
            return comparison(one, other)
    elif isinstance(left, QuotedTriple) and isinstance(right, QuotedTriple):
        return _compare_triples(left, right)
    raise ExpressionError(f"{left} and {right} have no order")


def _compare_triples(left: QuotedTriple, right: QuotedTriple) -> int | None:
    """The first parts that are not equal decide."""
    for one, other in zip(_parts(left), _parts(right), strict=True):
        if not equal(one, other):
            return compare(one, other)
    return 0


def _compare_numbers(left: Number, right: Number) -> int | None:
    """Compare in the wider of the two types, as arithmetic would."""
    one, other = left.value, right.value
    kind = max(left.kind, right.kind)
    if kind >= Kind.FLOAT:
        one, other = as_float(one), as_float(other)
        if kind is Kind.FLOAT:
            one, other = single(one), single(other)
        if math.isnan(one) or math.isnan(other):
            return None
    return (one > other) - (one < other)


def _compare_moments(left: DateTime, right: DateTime) -> int:
    order = left.compared(right)
    if order is None:
        raise ExpressionError(
            f"the order of {left.lexical} and {right.lexical} depends on the missing time zone"
        )
    return order


def _compare_plain(left: str | bool, right: str | bool) -> int:
    return (left > right) - (left < right)  # type: ignore[operator]  # both are of one type


# A Date is a DateTime too, but the two do not compare with each other: the caller sees to that.
_COMPARISONS: Final[dict[type, Callable[..., int | None]]] = {
    Number: _compare_numbers,
    str: _compare_plain,
    bool: _compare_plain,
    **dict.fromkeys((DateTime, *DateTime.__subclasses__()), _compare_moments),
}


def _parts(triple: QuotedTriple) -> tuple[Term, Term, Term]:
    return triple.subject, triple.predicate, triple.object


# -- as functions of the language --------------------------------------------------------------


def equals(left: Term, right: Term) -> Literal:
    """`=`."""
    return TRUE if equal(left, right) else FALSE


def differs(left: Term, right: Term) -> Literal:
    """`!=`."""
    return FALSE if equal(left, right) else TRUE


def less(left: Term, right: Term) -> Literal:
    """`<`."""
    order = compare(left, right)
    return TRUE if order is not None and order < 0 else FALSE


def less_or_equal(left: Term, right: Term) -> Literal:
    """`<=`."""
    order = compare(left, right)
    return TRUE if order is not None and order <= 0 else FALSE


def greater(left: Term, right: Term) -> Literal:
    """`>`."""
    return less(right, left)


def greater_or_equal(left: Term, right: Term) -> Literal:
    """`>=`."""
    return less_or_equal(right, left)


def same_term(left: Term, right: Term) -> Literal:
    """SAMETERM."""
    return TRUE if left == right else FALSE


def is_member(value: Term, candidates: Iterable[Callable[[], Term]]) -> bool:
    """IN: whether a candidate equals the value; candidates may be errors, as may be comparing.

    Raises:
        ExpressionError: none equals it, and for one of them it is not known.
    """
    unknown: ExpressionError | None = None
    for candidate in candidates:
        try:
            if equal(value, candidate()):
                return True
        except ExpressionError as error:
            unknown = error
    if unknown is not None:
        raise unknown
    return False
