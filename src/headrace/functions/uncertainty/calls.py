"""The uncertainty functions on terms, by their IRIs.

Numbers are promoted: they are distributions that are known exactly. Distributions are independent,
also where the same term stands twice. What is not defined is an error of the expression.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

import numpy as np

from headrace.functions.errors import ExpressionError
from headrace.functions.uncertainty.comparing import between, less
from headrace.functions.uncertainty.families import BEYOND_DOUBLES, Point
from headrace.functions.uncertainty.literals import distribution_of, literal
from headrace.functions.uncertainty.sums import added, approximated, check_approximation, subtracted
from headrace.functions.values import is_distribution, literal_of
from headrace.rdf.terms import Literal, Term
from headrace.rdf.vocabulary import RSPU, XSD_STRING


def _sum(sign: int, *terms: Term) -> Term:
    """A sum or difference; of two plain numbers it is one, too."""
    one, other, *rest = terms
    for each in rest:
        check_approximation(_name(each))
    ours, theirs = distribution_of(one), distribution_of(other)
    if not is_distribution(one) and not is_distribution(other):
        return _finite(float(ours.mean + sign * theirs.mean))
    if rest:
        return literal(approximated(ours, theirs, sign, _name(rest[0])))
    return literal(added(ours, theirs) if sign > 0 else subtracted(ours, theirs))


def _name(term: Term) -> str:
    if not isinstance(term, Literal) or term.datatype != XSD_STRING:
        raise ExpressionError(f"{term} is not the name of an approximation")
    return term.lexical


def _compared(term: Term, limit: Term, *, swapped: bool, or_equal: bool) -> Literal:
    one, other = distribution_of(term), distribution_of(limit)
    if swapped:
        one, other = other, one
    return _finite(less(one, other, or_equal=or_equal))


def _between(term: Term, low: Term, high: Term) -> Literal:
    return _finite(between(distribution_of(term), distribution_of(low), distribution_of(high)))


def _mean(term: Term) -> Literal:
    return _finite(float(distribution_of(term).mean))


def _variance(term: Term) -> Literal:
    return _finite(float(distribution_of(term).variance))


def _quantile(term: Term, probability: Term) -> Literal:
    distribution, share = distribution_of(term), _exact(probability)
    if not 0 <= share <= 1:
        raise ExpressionError(f"{probability} is no probability: it is not between 0 and 1")
    if isinstance(distribution, Point):
        return _finite(float(distribution.value))
    found = float(distribution.quantile(share, 1 - share))
    return literal_of(found) if share in {0, 1} else _finite(found)


def _density(term: Term, at: Term) -> Literal:
    distribution = distribution_of(term)
    if isinstance(distribution, Point):
        raise ExpressionError(f"{term} has no density: it is exact")
    return _finite(float(distribution.density(_exact(at))))


def _up_to(term: Term, at: Term) -> Literal:
    return _finite(less(distribution_of(term), Point(_exact(at)), or_equal=True))


def _exact(term: Term) -> float:
    found = distribution_of(term)
    if not isinstance(found, Point):
        raise ExpressionError(f"expected a number, found {term}")
    return float(found.value)


def _finite(number: float) -> Literal:
    if number - number != 0:
        raise ExpressionError("the result is not finite")
    return literal_of(number)


def _guarded(function: Callable[..., Term]) -> Callable[..., Term]:
    """A function whose numbers may grow beyond what a double can hold: that is an error, too."""

    def guarded(*terms: Term) -> Term:
        try:
            with np.errstate(all="ignore"):
                return function(*terms)
        except BEYOND_DOUBLES:
            raise ExpressionError("numbers on the way are too large for a double") from None

    return guarded


_FUNCTIONS: Final[Mapping[str, Callable[..., Term]]] = {
    RSPU + "add": partial(_sum, 1),
    RSPU + "subtract": partial(_sum, -1),
    RSPU + "lessThan": partial(_compared, swapped=False, or_equal=False),
    RSPU + "lessThanOrEqual": partial(_compared, swapped=False, or_equal=True),
    RSPU + "greaterThan": partial(_compared, swapped=True, or_equal=False),
    RSPU + "greaterThanOrEqual": partial(_compared, swapped=True, or_equal=True),
    RSPU + "between": _between,
    RSPU + "mean": _mean,
    RSPU + "variance": _variance,
    RSPU + "quantile": _quantile,
    RSPU + "pdf": _density,
    RSPU + "cdf": _up_to,
}
FUNCTIONS: Final = {iri: _guarded(function) for iri, function in _FUNCTIONS.items()}
"""Every function on terms; each raises ExpressionError where it has no result."""
