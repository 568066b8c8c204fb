"""How distributions are written as literals, and read.

The letters of a family, and its numbers between parentheses: `N(19.7, 1)`. The name of a family is
read too, in any case: `Normal(19.7, 1)`, whose second number is the variance as well. The canonical
form has the letters, the shortest numbers that are read as the same doubles, a point or an exponent
in each, and a space after each comma; parameters that say nothing new are left out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final, assert_never

from headrace.errors import nearest
from headrace.functions.errors import ExpressionError, UnreadableValueError
from headrace.functions.uncertainty.families import (
    Beta,
    Distribution,
    Exponential,
    Histogram,
    LogNormal,
    Normal,
    Point,
    Trapezoid,
    Uniform,
)
from headrace.functions.values import number_of
from headrace.rdf.terms import BlankNode, Iri, Literal, QuotedTriple, Term
from headrace.rdf.vocabulary import RSPU_DISTRIBUTION

_CACHED: Final = 1 << 16
_MOST_NUMBERS: Final = 10_001
_FORM: Final = re.compile(r"([A-Za-z]+)\(([^()]*)\)")
_NUMBER: Final = re.compile(
    r"[ \t]*([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)[ \t]*"
)
_NAMES: Final = {
    "Normal": "N",
    "Gaussian": "N",
    "Uniform": "U",
    "Trapezoid": "T",
    "LogNormal": "LN",
    "Exponential": "E",
    "Beta": "B",
    "Histogram": "H",
    "Point": "P",
}
_LETTERS: Final = {
    name.casefold(): letters
    for letters in _NAMES.values()
    for name in (letters, *(name for name, other in _NAMES.items() if other == letters))
}
_INFINITE: Final = re.compile(r"[+-]?inf(?:inity)?", re.IGNORECASE)


def checked(distribution: Distribution) -> Distribution:
    """A distribution, unless no random number has it.

    Raises:
        ExpressionError: its numbers are not finite or contradict each other.
    """
    if not all(map(math.isfinite, _numbers(distribution))):
        raise ExpressionError("a distribution needs numbers that a double can hold")
    problem = _problem(distribution)
    if problem is not None:
        raise ExpressionError(f"{canonical(distribution)} is no distribution: {problem}")
    return distribution


def _problem(distribution: Distribution) -> str | None:
    match distribution:
        case Normal(_, variance) if variance <= 0:
            return "the variance must be greater than 0; a number that is exact is P(number)"
        case Uniform(low, high) if not _apart(float(low), float(high)):
            return "the first number must be less than the second"
        case Trapezoid(low, rises, falls, high) if not (
            low <= rises <= falls <= high and _apart(low, high)
        ):
            return "its numbers must not fall, and the first be less than the last"
        case Histogram(edges, weights) if not all(map(_apart, edges, edges[1:])):
            return f"each edge must be greater than the one before it, in {len(weights)} parts"
        case Histogram(_, weights) if min(weights) < 0 or not 0 < math.fsum(weights) < math.inf:
            return "weights must not be negative, and not all 0"
        case LogNormal(_, variance, _) if variance <= 0:
            return "the variance of the logarithm must be greater than 0"
        case Exponential(rate, _) if rate <= 0 or math.isinf(1 / rate):
            return "the rate must be greater than 0"
        case Beta(alpha, beta, low, high) if min(alpha, beta) <= 0 or not _apart(low, high):
            return "alpha and beta must be greater than 0, and the third number less than the last"
        case _:
            return None


def _apart(low: float, high: float) -> bool:
    """Whether one number is less than another, by a difference that has a reciprocal."""
    return low < high and math.isfinite(high - low) and math.isfinite(1 / (high - low))


def parsed(text: str) -> Distribution:
    """Parse the lexical form of a distribution.

    Raises:
        ExpressionError: it stands for none, and why.

    >>> parsed("N(19.7,1)")
    Normal(mean=19.7, variance=1.0)
    """
    form = _FORM.fullmatch(text)
    if form is None:
        raise ExpressionError(f"'{text[:80]}' is no distribution, such as N(19.7, 1) or U(0, 1)")
    name, inside = form.groups()
    letters = _LETTERS.get(name.casefold())
    if letters is None:
        near = nearest(name, _NAMES)
        meant = f"; did you mean '{near}'?" if near else "."
        listed = ", ".join(_FAMILIES)
        raise ExpressionError(f"there is no distribution '{name}'{meant} There are {listed}")
    found = _FAMILIES[letters](*_parameters(text, inside))
    if found is None:
        raise ExpressionError(f"'{text[:80]}' is no distribution: expected {_FORMS[letters]}")
    return checked(found)


def _parameters(text: str, inside: str) -> list[float]:
    parts = inside.split(",")
    if len(parts) > _MOST_NUMBERS:
        raise ExpressionError(f"a distribution has more than {_MOST_NUMBERS} numbers")
    numbers = []
    for part in parts:
        number = _NUMBER.fullmatch(part)
        if number is None and _INFINITE.fullmatch(part.strip()):
            raise ExpressionError(
                f"'{text[:80]}' is no distribution: its numbers must be finite; "
                "an infinite limit is a number, as in rspu:between(?x, -1e0/0, 5)"
            )
        if number is None:
            raise ExpressionError(f"'{text[:80]}' is no distribution: '{part}' is not a number")
        numbers.append(float(number[1]) + 0.0)  # no negative zero, so that equal values look equal
    return numbers


def _fixed(family: Callable[..., Distribution], *counts: int) -> Callable[..., Distribution | None]:
    return lambda *numbers: family(*numbers) if len(numbers) in counts else None


def _histogram(*numbers: float) -> Histogram | None:
    if len(numbers) < _LEAST or len(numbers) % 2 == 0:
        return None
    return Histogram(numbers[::2], numbers[1::2])


_LEAST: Final = 3
_FAMILIES: Final[dict[str, Callable[..., Distribution | None]]] = {
    "N": _fixed(Normal, 2),
    "U": _fixed(Uniform, 2),
    "T": _fixed(Trapezoid, 4),
    "LN": _fixed(LogNormal, 2, 3),
    "E": _fixed(Exponential, 1, 2),
    "B": _fixed(Beta, 2, 4),
    "H": _histogram,
    "P": _fixed(Point, 1),
}
_FORMS: Final = {
    "N": "N(mean, variance)",
    "U": "U(low, high)",
    "T": "T(low, rises, falls, high)",
    "LN": "LN(mean, variance) of the logarithm, or LN(mean, variance, shift)",
    "E": "E(rate) or E(rate, shift)",
    "B": "B(alpha, beta) or B(alpha, beta, low, high)",
    "H": "H(edge, weight, edge, ..., weight, edge)",
    "P": "P(value)",
}


def canonical(distribution: Distribution) -> str:
    """The lexical form of a distribution that is like no other's.

    >>> canonical(Normal(4, 6)), canonical(Exponential(0.5))
    ('N(4.0, 6.0)', 'E(0.5)')
    """
    numbers = _numbers(distribution)
    match distribution:
        case Normal():
            letters = "N"
        case Uniform():
            letters = "U"
        case Trapezoid():
            letters = "T"
        case LogNormal(_, _, shift):
            letters, numbers = "LN", numbers if shift else numbers[:-1]
        case Exponential(_, shift):
            letters, numbers = "E", numbers if shift else numbers[:-1]
        case Beta(_, _, low, high):
            letters, numbers = "B", numbers if (low, high) != (0, 1) else numbers[:2]
        case Histogram():
            letters = "H"
        case Point():
            letters = "P"
        case _:
            assert_never(distribution)
    return f"{letters}({', '.join(repr(float(number) + 0.0) for number in numbers)})"


def _numbers(distribution: Distribution) -> tuple[float, ...]:
    match distribution:
        case Normal(one, other) | Uniform(one, other):
            return float(one), float(other)
        case Trapezoid(low, rises, falls, high):
            return low, rises, falls, high
        case LogNormal(mean, variance, shift):
            return mean, variance, shift
        case Exponential(rate, shift):
            return rate, shift
        case Beta(alpha, beta, low, high):
            return alpha, beta, low, high
        case Histogram(edges, weights):
            inner = (number for pair in zip(edges, weights, strict=False) for number in pair)
            return (*inner, edges[-1])
        case Point(value):
            return (float(value),)
        case _:
            assert_never(distribution)


def literal(distribution: Distribution) -> Literal:
    """The literal of a distribution.

    Raises:
        ExpressionError: its numbers went beyond what a double can hold.
    """
    return Literal(canonical(checked(distribution)), RSPU_DISTRIBUTION)


@lru_cache(_CACHED)
def _read(text: str) -> Distribution | str:
    try:
        return parsed(text)
    except ExpressionError as error:
        return str(error)


def distribution_of(term: Term) -> Distribution:
    """Read a term as a distribution; a number is one that is known exactly.

    INF and -INF are numbers too: as limits, they are greater or less than any other.

    Raises:
        ExpressionError: it stands for none.
    """
    if isinstance(term, Literal) and term.datatype == RSPU_DISTRIBUTION:
        found = _read(term.lexical)
        if isinstance(found, str):
            raise UnreadableValueError(found, RSPU_DISTRIBUTION)
        return found
    try:
        number = float(number_of(term).value)
    except OverflowError:
        raise ExpressionError(f"{term} is too large for a double") from None
    except ExpressionError:
        problem = f"{term} is neither a distribution nor a number"
        raise UnreadableValueError(problem, _kind(term)) from None
    if math.isnan(number):
        raise ExpressionError("NaN is no number that a distribution can have")
    return Point(number + 0.0)


def _kind(term: Term) -> str:
    match term:
        case Literal():
            return term.datatype
        case Iri():
            return "IRI"
        case BlankNode():
            return "blank node"
        case QuotedTriple():
            return "quoted triple"
        case _:
            assert_never(term)
