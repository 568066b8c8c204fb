"""How long the durations of all dialects are, exactly."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Final

_SECOND: Final = Decimal(1_000_000)
_MINUTE: Final = 60 * _SECOND
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR

ENDLESS: Final = Decimal(10**40)
LONGEST: Final = Decimal(10**17)
"""Some 3,000 years: longer than any window, and than any time since the epoch."""
_MOST_DIGITS: Final = 30

UNITS: Final[dict[str, Decimal]] = {
    "ns": Decimal("0.001"),
    "us": Decimal(1),
    "ms": Decimal(1000),
    "s": _SECOND,
    "m": _MINUTE,
    "h": _HOUR,
    "d": _DAY,
} | {
    name + plural: length
    for name, length in {
        "nanosecond": Decimal("0.001"),
        "microsecond": Decimal(1),
        "millisecond": Decimal(1000),
        "second": _SECOND,
        "sec": _SECOND,
        "minute": _MINUTE,
        "min": _MINUTE,
        "hour": _HOUR,
        "day": _DAY,
    }.items()
    for plural in ("", "s")
}
"""Microseconds in one unit, by its lower-case name."""

_ISO: Final = re.compile(
    r"P(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:([\d.]+)S)?)?"
)
_ISO_UNITS: Final = (None, None, 7 * _DAY, _DAY, _HOUR, _MINUTE, _SECOND)


def unit_duration(number: str, unit: str) -> Decimal:
    """Microseconds in a number of units; one too large to write out is as good as endless.

    >>> unit_duration("1.5", "s")
    Decimal('1500000.0')
    """
    return _bounded(number) * UNITS[unit.lower()]


def _bounded(number: str) -> Decimal:
    value = Decimal(number)
    if not value.is_finite() or (value and abs(value.adjusted()) > _MOST_DIGITS):
        return ENDLESS
    return value


def iso_duration(text: str) -> Decimal | None:
    """Microseconds in an ISO 8601 duration; None if its years or months have no fixed length.

    >>> iso_duration("PT1M0.5S")
    Decimal('60500000.0')
    >>> iso_duration("P1M") is None
    True
    """
    match = _ISO.fullmatch(text)
    if match is None:
        return None
    total = Decimal(0)
    for number, unit in zip(match.groups(), _ISO_UNITS, strict=True):
        if number is not None:
            if unit is None:
                return None
            total += _bounded(number) * unit
    return total
