"""Casts by the rules of XPath: `xsd:integer(?x)` and its kin, by the IRI of the type."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from headrace.functions.calendars import Date, DateTime, date_of, date_time_of
from headrace.functions.errors import ExpressionError
from headrace.functions.logic import truth
from headrace.functions.numerals import (
    INTEGER_RANGES,
    Kind,
    Number,
    as_decimal,
    as_float,
    decimal_of,
    double_of,
    float_of,
    in_range,
    integer_of,
    single,
    string_of,
)
from headrace.functions.values import XSD_DATE, Value, literal_of, value_of
from headrace.rdf.terms import Iri, Literal, Term
from headrace.rdf.vocabulary import (
    XSD_BOOLEAN,
    XSD_DATE_TIME,
    XSD_DECIMAL,
    XSD_DOUBLE,
    XSD_FLOAT,
    XSD_STRING,
)

_SPACE: Final = " \t\n\r"


def _value(term: Term, target: str) -> Value:
    value = value_of(term) if isinstance(term, Literal) else None
    if value is None:
        raise _refused(term, target)
    return value.strip(_SPACE) if isinstance(value, str) else value


def _refused(term: Term, target: str) -> ExpressionError:
    return ExpressionError(f"{term} cannot be cast to <{target}>")


def to_string(term: Term) -> Literal:
    """xsd:string: a canonical form; of what has no known value, the form it has."""
    match term:
        case Iri(iri):
            return Literal(iri)
        case Literal(lexical):
            match value_of(term):
                case Number() as number:
                    return Literal(string_of(number))
                case bool() as boolean:
                    return Literal("true" if boolean else "false")
                case DateTime() as moment:
                    return Literal(moment.lexical)
                case _:
                    return Literal(lexical)
        case _:
            raise _refused(term, XSD_STRING)


def to_boolean(term: Term) -> Literal:
    """xsd:boolean: a number is true unless it is zero or NaN."""
    value = _value(term, XSD_BOOLEAN)
    if isinstance(value, bool | Number):
        return literal_of(truth(term))
    boolean = value_of(Literal(value, XSD_BOOLEAN)) if isinstance(value, str) else None
    if boolean is None:
        raise _refused(term, XSD_BOOLEAN)
    return literal_of(boolean)


def _to_number(
    term: Term,
    target: str,
    read: Callable[[str], Number | None],
    convert: Callable[[Number], Number],
) -> Literal:
    match _value(term, target):
        case str(text):
            number = read(text)
        case bool(boolean):
            number = convert(Number(Kind.INTEGER, int(boolean)))
        case Number() as given:
            number = convert(given)
        case _:
            number = None
    if number is None:
        raise _refused(term, target)
    return literal_of(number)


def to_double(term: Term) -> Literal:
    """xsd:double."""
    return _to_number(
        term, XSD_DOUBLE, double_of, lambda number: Number(Kind.DOUBLE, as_float(number.value))
    )


def to_float(term: Term) -> Literal:
    """xsd:float."""
    return _to_number(
        term, XSD_FLOAT, float_of, lambda number: Number(Kind.FLOAT, single(as_float(number.value)))
    )


def to_decimal(term: Term) -> Literal:
    """xsd:decimal; infinities and NaN cannot be cast."""
    return _to_number(
        term, XSD_DECIMAL, decimal_of, lambda number: Number(Kind.DECIMAL, as_decimal(number))
    )


def to_integer(term: Term, datatype: str) -> Literal:
    """xsd:integer or a type derived from it; a fraction is cut off."""
    number = _to_number(
        term,
        datatype,
        partial(integer_of, datatype=datatype),
        lambda number: Number(Kind.INTEGER, int(as_decimal(number))),
    )
    if not in_range(int(number.lexical), datatype):
        raise _refused(term, datatype)
    return Literal(number.lexical, datatype)


def to_date_time(term: Term) -> Literal:
    """xsd:dateTime; a day becomes its first moment."""
    match _value(term, XSD_DATE_TIME):
        case str(text):
            moment = date_time_of(text)
        case Date(year, month, day, offset=offset):
            moment = DateTime(year, month, day, offset=offset)
        case DateTime() as given:
            moment = given
        case _:
            moment = None
    if moment is None:
        raise _refused(term, XSD_DATE_TIME)
    return literal_of(moment)


def to_date(term: Term) -> Literal:
    """xsd:date; of a moment, the day as it is written there."""
    match _value(term, XSD_DATE):
        case str(text):
            day = date_of(text)
        case DateTime(year, month, day_of_month, offset=offset):
            day = Date(year, month, day_of_month, offset=offset)
        case _:
            day = None
    if day is None:
        raise _refused(term, XSD_DATE)
    return literal_of(day)


CASTS: Final[dict[str, Callable[[Term], Literal]]] = {
    XSD_STRING: to_string,
    XSD_BOOLEAN: to_boolean,
    XSD_DOUBLE: to_double,
    XSD_FLOAT: to_float,
    XSD_DECIMAL: to_decimal,
    XSD_DATE_TIME: to_date_time,
    XSD_DATE: to_date,
    **{datatype: partial(to_integer, datatype=datatype) for datatype in INTEGER_RANGES},
}
"""The casts by the IRI of the type."""
