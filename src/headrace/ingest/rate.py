"""Readings of sensors that are nowhere but here: as many a second as one likes, always the same.

All of it is arithmetic on integers, so that every machine writes the same bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

import polars as pl

from headrace.errors import SettingError, listing, nearest
from headrace.rdf.times import microseconds

_SECOND: Final = 1_000_000
_LARGEST_RATE: Final = 1_000_000_000
_MOST_SUBJECTS: Final = 1_000_000_000
_OPTIONS: Final = ("start", "subjects")
_HOUR: Final = 3_600 * _SECOND
_RISE: Final = 500
_NOISE: Final = 101
_SPREAD: Final = 1_000
_COOLEST: Final = 1_500
# Two odd numbers that mix the bits of what they are multiplied by.
_MIX_ELEMENTS: Final = 2_654_435_761
_MIX_SENSORS: Final = 40_503


@dataclass(frozen=True, slots=True)
class Rate:
    """A source of generated readings.

    Attributes:
        rate: elements a second.
        subjects: how many sensors take turns.
        start: the time of the first element, in microseconds since the epoch.
    """

    rate: int
    subjects: int = 100
    start: int = 0


def parse_rate(text: str) -> Rate:
    """What a source such as `rate:1000?subjects=100&start=2026-01-01T00:00:00Z` asks for.

    >>> parse_rate("rate:1000?subjects=7")
    Rate(rate=1000, subjects=7, start=0)

    Raises:
        SettingError: if it is not of this form.
    """
    rate, _, given = text.removeprefix("rate:").partition("?")
    options = dict[str, str]()
    for option in given.split("&") if given else ():
        name, _, value = option.partition("=")
        if name not in _OPTIONS:
            close = nearest(name, _OPTIONS)
            suggestion = f"; did you mean '{close}'?" if close else ""
            problem = f"expected the option {listing(_OPTIONS)}, found '{name}'{suggestion}"
            raise SettingError(problem)
        options[name] = unquote(value)
    try:
        start = microseconds(options.get("start", "0"))
    except ValueError as error:
        raise SettingError(f"start of a rate source: {error}") from None
    return Rate(
        _number(rate, "elements a second, as in rate:1000", _LARGEST_RATE),
        _number(options.get("subjects", "100"), "subjects", _MOST_SUBJECTS),
        start,
    )


def _number(text: str, of_what: str, largest: int) -> int:
    if not (text.isascii() and text.isdigit()) or not 0 < int(text[:20]) <= largest:
        raise SettingError(f"expected a number of {of_what}, from 1 to {largest:,}, found '{text}'")
    return int(text)


def rate_text(spec: Rate, first: int, last: int) -> bytes:
    r"""Timed N-Quads of the elements from one number up to before another.

    >>> rate_text(Rate(2, subjects=1), 1, 2).split(b"^^")[0]
    b'500\t<urn:headrace:sensor/0> <urn:headrace:value> "19.51"'
    """
    if first >= last:
        return b""
    # The part before the first element is exact in Python; what is left fits into 64 bits.
    whole, part = divmod(first * _SECOND, spec.rate)
    after = (part + pl.int_range(last - first, dtype=pl.Int64) * _SECOND) // spec.rate
    number = pl.int_range(first, last, dtype=pl.Int64)
    frame = pl.select(
        time=spec.start + whole + after,
        sensor=number % spec.subjects,
        noise=number % 2**31 * _MIX_ELEMENTS // 2**16 % _NOISE,
    )
    lines = frame.select(
        pl.concat_str(
            _milliseconds(pl.col("time")),
            pl.lit("\t<urn:headrace:sensor/"),
            pl.col("sensor").cast(pl.String),
            pl.lit('> <urn:headrace:value> "'),
            _decimal(_reading()),
            pl.lit('"^^<http://www.w3.org/2001/XMLSchema#double> .\n'),
        ).str.join("")
    )
    return str(lines.item()).encode()


def _reading() -> pl.Expr:
    """Hundredths of a degree: those of the sensor, a rise and fall each hour, and some noise."""
    own = pl.col("sensor") * _MIX_SENSORS % _SPREAD
    # Down for half an hour, and up again.
    phase = (pl.col("time") % _HOUR - _HOUR // 2).abs()
    return _COOLEST + own + phase * _RISE // (_HOUR // 2) + pl.col("noise") - _NOISE // 2


def _milliseconds(time: pl.Expr) -> pl.Expr:
    size = time.abs()
    fraction = (size % 1000).cast(pl.String).str.zfill(3)
    whole = pl.when(time < 0).then(pl.lit("-")).otherwise(pl.lit("")) + (size // 1000).cast(
        pl.String
    )
    return pl.when(size % 1000 == 0).then(whole).otherwise(whole + "." + fraction)


def _decimal(hundredths: pl.Expr) -> pl.Expr:
    """Numbers that are positive, with two places."""
    fraction = (hundredths % 100).cast(pl.String).str.zfill(2)
    return (hundredths // 100).cast(pl.String) + "." + fraction
