"""What a column of terms is worth: kinds, numbers and truth values, read from their texts.

Only values that a 64-bit float holds exactly, or compares exactly, have a number here; all others
are left to the function table, which is exact for every value.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

import numpy as np
import polars as pl

from headrace.functions.numerals import double_text
from headrace.rdf.vocabulary import (
    XSD,
    XSD_BOOLEAN,
    XSD_DECIMAL,
    XSD_DOUBLE,
    XSD_FLOAT,
    XSD_INTEGER,
)


class Kind(IntEnum):
    """What sort of term a text is."""

    IRI = 0
    BLANK = 1
    QUOTED = 2
    STRING = 3
    LANGUAGE = 4
    BOOLEAN = 5
    INTEGER = 6
    DECIMAL = 7
    FLOAT = 8
    DOUBLE = 9
    OTHER = 10


KIND: Final = "kind"
NUMBER: Final = "number"
TRUTH: Final = "truth"
"""The effective boolean value; null where there is none, or where the function table must say."""

VALUES: Final = pl.Schema({KIND: pl.UInt8, NUMBER: pl.Float64, TRUTH: pl.Boolean})

# The other whole numbers have narrower ranges, which the function table checks.
_INTEGERS: Final = (XSD_INTEGER, XSD + "long")
_DATATYPES: Final = {
    XSD_BOOLEAN: Kind.BOOLEAN,
    **dict.fromkeys(_INTEGERS, Kind.INTEGER),
    XSD_DECIMAL: Kind.DECIMAL,
    XSD_FLOAT: Kind.FLOAT,
    XSD_DOUBLE: Kind.DOUBLE,
}
_LEXICAL: Final = r'^"([^"]*)'
_WHOLE: Final = r"^[+-]?[0-9]{1,15}$"
_DECIMAL: Final = r"^[+-]?(?:[0-9]{1,15}|[0-9]{0,14}\.[0-9]{0,14})$"
_DOUBLE: Final = r"^[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$"
_DIGITS: Final = 15


def values(texts: pl.Series) -> pl.DataFrame:
    """Kind, number and truth of each canonical text."""
    worth = texts.to_frame("text").select(_KIND, _NO_NUMBER, _FULL)
    kinds = worth[KIND].to_numpy()
    rows = np.flatnonzero((kinds >= Kind.BOOLEAN) & (kinds <= Kind.DOUBLE))
    if rows.size == 0:
        return worth
    frame = pl.DataFrame([texts.gather(rows).alias("text"), worth[KIND].gather(rows)])
    found = frame.with_columns(_LEX).with_columns(_NUMBER).select(NUMBER, _TRUTH)
    scattered = [worth[name].scatter(rows, found[name]) for name in (NUMBER, TRUTH)]
    return pl.DataFrame([worth[KIND], *scattered])


def _kind_of_name(text: pl.Expr) -> pl.Expr:
    return (
        pl.when(text.str.starts_with("<<"))
        .then(Kind.QUOTED)
        .when(text.str.starts_with("<"))
        .then(Kind.IRI)
        .otherwise(Kind.BLANK)
        .cast(pl.UInt8)
    )


def _kind_of_literal(text: pl.Expr) -> pl.Expr:
    kind = (
        pl.when(text.str.ends_with('"'))
        .then(Kind.STRING)
        .when(~text.str.ends_with(">"))
        .then(Kind.LANGUAGE)
    )
    for datatype, each in _DATATYPES.items():
        kind = kind.when(text.str.ends_with(f'"^^<{datatype}>')).then(each)
    return kind.otherwise(Kind.OTHER).cast(pl.UInt8)


def _number() -> pl.Expr:
    """The number of a lexical form that is right and that a float compares exactly."""
    lexical = pl.col("lex")
    digits = lexical.str.count_matches("[0-9]")
    right = (
        pl.when(pl.col(KIND) == Kind.INTEGER)
        .then(lexical.str.contains(_WHOLE))
        .when(pl.col(KIND) == Kind.DECIMAL)
        .then(lexical.str.contains(_DECIMAL) & (digits >= 1) & (digits <= _DIGITS))
        .when(pl.col(KIND).is_in([Kind.DOUBLE, Kind.FLOAT]))
        .then(lexical.str.contains(_DOUBLE))
        .otherwise(statement=False)
    )
    # A leading plus and a trailing point are right in XML Schema, but not to every reader.
    plain = lexical.str.strip_prefix("+").str.strip_suffix(".")
    written = pl.when(right).then(plain)
    # From the text at once: the nearest double may be halfway between two floats.
    single = written.cast(pl.Float32, strict=False).cast(pl.Float64)
    number = written.cast(pl.Float64, strict=False)
    return pl.when(pl.col(KIND) == Kind.FLOAT).then(single).otherwise(number)


def _truth() -> pl.Expr:
    kind, lexical, number = pl.col(KIND), pl.col("lex"), pl.col(NUMBER)
    return (
        pl.when(kind == Kind.BOOLEAN)
        .then(lexical.is_in(["true", "1"]))
        .when(number.is_not_null())
        .then(number != 0)
        .otherwise(None)
    )


# Made once: to make them takes longer than to evaluate them for the terms of a small batch.
_TEXT: Final = pl.col("text")
_KIND: Final = (
    pl.when(_TEXT.str.starts_with('"'))
    .then(_kind_of_literal(_TEXT))
    .otherwise(_kind_of_name(_TEXT))
    .alias(KIND)
)
_NO_NUMBER: Final = pl.lit(None, pl.Float64).alias(NUMBER)
# A string is true unless nothing is between its quotes.
_FULL: Final = (
    pl.when(_TEXT.str.starts_with('"') & _TEXT.str.ends_with('"'))
    .then(_TEXT.str.len_bytes() > len('""'))
    .alias(TRUTH)
)
# A quote within is escaped, and nothing with a backslash is a number or a truth value.
_LEX: Final = _TEXT.str.extract(_LEXICAL).alias("lex")
_NUMBER: Final = _number().alias(NUMBER)
_TRUTH: Final = _truth().alias(TRUTH)


def double_texts(numbers: pl.Series) -> pl.Series:
    """The canonical lexical forms of doubles.

    >>> double_texts(pl.Series([7512.25, 100.0, 0.5])).to_list()
    ['7.51225E3', '1.0E2', '5.0E-1']
    >>> double_texts(pl.Series([0.00012, 1e-5, -0.25])).to_list()
    ['1.2E-4', '1.0E-5', '-2.5E-1']
    """
    number = pl.col("number")
    plain = numbers.is_between(_PLAIN_FROM, _PLAIN_BELOW)
    texts = (
        numbers.to_frame("number")
        .select(
            pl.when(number < 1)
            .then(_with_negative_exponent(number))
            .otherwise(_with_exponent(number))
        )
        .to_series()
    )
    if plain.all():
        return texts
    others = [double_text(number) for number in numbers.filter(~plain)]
    return texts.scatter((~plain).arg_true(), pl.Series(others, dtype=pl.String))


_PLAIN_FROM: Final = 1e-4
_PLAIN_BELOW: Final = 1e15
"""Between these Polars writes doubles with as few digits as tell them apart, and no exponent."""


def _with_negative_exponent(number: pl.Expr) -> pl.Expr:
    """The same of a number below 1 that is written out in full."""
    fraction = number.cast(pl.String).str.slice(len("0."))
    digits = fraction.str.strip_chars_start("0")
    rest = digits.str.slice(1)
    exponent = fraction.str.len_bytes() - digits.str.len_bytes() + 1
    shown = pl.when(rest == "").then(pl.lit("0")).otherwise(rest)
    return pl.concat_str(
        digits.str.slice(0, 1), pl.lit("."), shown, pl.lit("E-"), exponent.cast(pl.String)
    )


def _with_exponent(number: pl.Expr) -> pl.Expr:
    """One digit, a point and the rest, of a number from 1 on that is written out in full."""
    text = number.cast(pl.String)
    digits = text.str.replace(".", "", literal=True).str.strip_chars_end("0")
    rest = digits.str.slice(1)
    exponent = (text.str.find(".", literal=True) - 1).cast(pl.String)
    shown = pl.when(rest == "").then(pl.lit("0")).otherwise(rest)
    return pl.concat_str(text.str.slice(0, 1), pl.lit("."), shown, pl.lit("E"), exponent)
