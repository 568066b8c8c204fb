"""From literals to the values they stand for, and from values to literals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache, partial
from typing import Final, TypeAlias

from headrace.functions.calendars import Date, DateTime, date_of, date_time_of
from headrace.functions.errors import ExpressionError
from headrace.functions.numerals import (
    DATATYPES,
    INTEGER_RANGES,
    MAX_DIGITS,
    Kind,
    Number,
    decimal_of,
    double_of,
    float_of,
    integer_of,
    lexical_of,
)
from headrace.rdf.terms import Literal, Term
from headrace.rdf.vocabulary import (
    RDF_LANG_STRING,
    RSPU_DISTRIBUTION,
    XSD,
    XSD_BOOLEAN,
    XSD_DATE_TIME,
    XSD_DECIMAL,
    XSD_DOUBLE,
    XSD_FLOAT,
    XSD_STRING,
)

XSD_DATE: Final = XSD + "date"
XSD_DAY_TIME_DURATION: Final = XSD + "dayTimeDuration"

TRUE: Final = Literal("true", XSD_BOOLEAN)
FALSE: Final = Literal("false", XSD_BOOLEAN)

NUMERIC: Final = frozenset({*INTEGER_RANGES, XSD_DECIMAL, XSD_FLOAT, XSD_DOUBLE})
"""The numeric datatypes."""

_CACHED: Final = 1 << 16
_BOOLEANS: Final = {"true": True, "1": True, "false": False, "0": False}


@dataclass(frozen=True, slots=True)
class LanguageText:
    """Text in a language."""

    text: str
    language: str


Value: TypeAlias = Number | str | LanguageText | bool | DateTime

_READERS: Final[dict[str, Callable[[str], Value | None]]] = {
    **{datatype: partial(integer_of, datatype=datatype) for datatype in INTEGER_RANGES},
    XSD_DECIMAL: decimal_of,
    XSD_FLOAT: float_of,
    XSD_DOUBLE: double_of,
    XSD_BOOLEAN: _BOOLEANS.get,
    XSD_DATE_TIME: date_time_of,
    XSD_DATE: date_of,
}


def value_of(literal: Literal) -> Value | None:
    """The value of a literal; None if it is ill-typed or its datatype is not known.

    >>> from headrace.rdf.vocabulary import XSD_INTEGER
    >>> value_of(Literal("01", XSD_INTEGER)), value_of(Literal("x", XSD_INTEGER))
    (Number(kind=<Kind.INTEGER: 0>, value=1), None)
    """
    if literal.datatype == XSD_STRING:  # by far the most, and not worth keeping twice
        return literal.lexical
    return _typed(literal)


@lru_cache(_CACHED)
def _typed(literal: Literal) -> Value | None:
    if literal.datatype == RDF_LANG_STRING:
        return LanguageText(literal.lexical, literal.language or "")
    reader = _READERS.get(literal.datatype)
    return None if reader is None else reader(literal.lexical)


def number_of(term: Term) -> Number:
    """The number that a term stands for.

    Raises:
        ExpressionError: it stands for none.
    """
    value = _typed(term) if isinstance(term, Literal) else None
    if not isinstance(value, Number):
        raise ExpressionError(f"{term} is not a number")
    return value


def whole_number_of(term: Term) -> int:
    """The integer that a term stands for.

    Raises:
        ExpressionError: it stands for none.
    """
    value = number_of(term).value
    if not isinstance(value, int):
        raise ExpressionError(f"{term} is not an integer")
    return value


def moment_of(term: Term) -> DateTime:
    """The moment or day that a term stands for.

    Raises:
        ExpressionError: it stands for none.
    """
    value = _typed(term) if isinstance(term, Literal) else None
    if not isinstance(value, DateTime):
        raise ExpressionError(f"{term} is not a date or time")
    return value


def is_distribution(term: Term | None) -> bool:
    """Whether a term is a literal of the datatype of distributions, well formed or not."""
    return isinstance(term, Literal) and term.datatype == RSPU_DISTRIBUTION


def literal_of(value: Value | int | Decimal | float) -> Literal:
    """The literal of a value, in canonical form; plain Python numbers are values too.

    Raises:
        ExpressionError: the number has too many digits.

    >>> str(literal_of(2.5))
    '"2.5E0"^^<http://www.w3.org/2001/XMLSchema#double>'
    """
    match value:
        case Number(kind, _):
            return Literal(_written(value), DATATYPES[kind])
        case bool():
            return TRUE if value else FALSE
        case str():
            return Literal(value)
        case LanguageText(text, language):
            return Literal(text, language=language)
        case Date():
            return Literal(value.lexical, XSD_DATE)
        case DateTime():
            return Literal(value.lexical, XSD_DATE_TIME)
        case int():
            return literal_of(Number(Kind.INTEGER, value))
        case Decimal():
            return literal_of(Number(Kind.DECIMAL, value))
        case float():
            return literal_of(Number(Kind.DOUBLE, value))


def _written(number: Number) -> str:
    """The lexical form of a number, unless it is longer than what can be read again."""
    try:
        text = lexical_of(number)
    except ValueError as error:  # Python refuses to write very long integers
        raise ExpressionError(f"a number has more than {MAX_DIGITS} digits") from error
    if len(text) > MAX_DIGITS:
        raise ExpressionError(f"a number has more than {MAX_DIGITS} digits")
    return text
