"""Calls of uncertainty functions whose constants leave them without a result."""

from __future__ import annotations

from collections.abc import Sequence
from types import NoneType

from headrace.functions.errors import ExpressionError
from headrace.functions.uncertainty.calls import FUNCTIONS
from headrace.functions.uncertainty.families import Distribution, Point
from headrace.functions.uncertainty.literals import distribution_of
from headrace.functions.uncertainty.sums import check_approximation
from headrace.rdf.terms import Literal, Term
from headrace.rdf.vocabulary import RSPU, XSD_STRING

_SUMS = ("add", "subtract")
_PLACES = 2
"""The number of distributions among the arguments of a sum; the third names an approximation."""


def constants_problem(name: str, constants: Sequence[Term | None]) -> str | None:
    """Describe why a call has no result whatever its variables are; None if it may have one.

    Args:
        name: of the function, without its namespace.
        constants: the arguments that are constant; None for any other.

    >>> from headrace.functions.values import literal_of
    >>> constants_problem("between", [None, literal_of(5), literal_of(2)])
    'the lower limit 5.0 is above the upper limit 2.0'
    """
    try:
        found = [_read(name, place, term) for place, term in enumerate(constants)]
        if all(term is not None for term in constants):
            FUNCTIONS[RSPU + name](*constants)
    except ExpressionError as error:
        return str(error)
    match name, found:
        case "between", [_, Point(low), Point(high)] if low > high:
            return f"the lower limit {low} is above the upper limit {high}"
        case "quantile", [_, Point(share)] if not 0 <= share <= 1:
            return f"{share} is no probability: it is not between 0 and 1"
        case (("pdf" | "cdf" | "quantile"), [_, other]) if not isinstance(other, Point | NoneType):
            return f"expected a number as the second argument, found {constants[1]}"
        case _:
            return None


def _read(name: str, place: int, term: Term | None) -> Distribution | None:
    if term is None:
        return None
    if name in _SUMS and place == _PLACES:
        if not isinstance(term, Literal) or term.datatype != XSD_STRING:
            raise ExpressionError(f"{term} is not the name of an approximation")
        check_approximation(term.lexical)
        return None
    return distribution_of(term)
