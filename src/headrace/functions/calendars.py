"""Dates and times of XML Schema: from their lexical forms to points on a time line and back.

The calendar is the proleptic Gregorian one of XML Schema 1.1, with a year 0. Years have up to nine
digits, on both sides of it. Seconds are exact decimals.
"""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, Self

from headrace.functions.numerals import EXACT, MAX_DIGITS

_DAY: Final = r"(-?(?:[1-9][0-9]{3,8}|0[0-9]{3}))-([0-9]{2})-([0-9]{2})"
_CLOCK: Final = r"([0-9]{2}):([0-9]{2}):([0-9]{2}(?:\.[0-9]+)?)"
_ZONE: Final = r"(Z|[+-][0-9]{2}:[0-9]{2})?"
_DATE_TIME: Final = re.compile(f"{_DAY}T{_CLOCK}{_ZONE}")
_DATE: Final = re.compile(_DAY + _ZONE)

# The calendar repeats every 400 years, which brings every year into the range of datetime.
_CYCLE_YEARS: Final = 400
_CYCLE_DAYS: Final = 146_097

_HOURS_OF_DAY: Final = 24
_MINUTES_OF_HOUR: Final = 60
_SECONDS_OF_DAY: Final = 86_400
_LAST_OFFSET: Final = 14 * _MINUTES_OF_HOUR
_MOST_DIFFERENCE: Final = _LAST_OFFSET * 60
_ZERO: Final = Decimal(0)


@dataclass(frozen=True, slots=True)
class DateTime:
    """A moment as it is written, with the offset of its zone in minutes if it has one."""

    year: int
    month: int
    day: int
    hour: int = 0
    minute: int = 0
    second: Decimal = _ZERO
    offset: int | None = None

    @property
    def seconds(self) -> Decimal:
        """Seconds since the year 1 began; a moment without a zone is taken as UTC."""
        minutes = self.hour * _MINUTES_OF_HOUR + self.minute - (self.offset or 0)
        whole = _ordinal(self.year, self.month, self.day) * _SECONDS_OF_DAY + minutes * 60
        return EXACT.add(Decimal(whole), self.second)

    def compared(self, other: Self) -> int | None:
        """Less than, equal to or greater than 0, as this is before, at or after the other.

        None if only one has a zone and the order depends on what the zone of the other one is.
        """
        mine, others = self.seconds, other.seconds
        one_has_no_zone = (self.offset is None) != (other.offset is None)
        if one_has_no_zone and EXACT.subtract(mine, others).copy_abs() <= _MOST_DIFFERENCE:
            return None
        return (mine > others) - (mine < others)

    @property
    def zone(self) -> str:
        """The zone as it is written: `Z`, `+05:30` or nothing."""
        if not self.offset:
            return "" if self.offset is None else "Z"
        hours, minutes = divmod(abs(self.offset), _MINUTES_OF_HOUR)
        return f"{'-' if self.offset < 0 else '+'}{hours:02}:{minutes:02}"

    @property
    def date(self) -> str:
        """The lexical form of the day."""
        sign = "-" if self.year < 0 else ""
        return f"{sign}{abs(self.year):04}-{self.month:02}-{self.day:02}"

    @property
    def lexical(self) -> str:
        """The lexical form, with no more digits than needed."""
        whole, _, fraction = format(self.second, "f").partition(".")
        fraction = fraction.rstrip("0")
        seconds = f"{whole:0>2}.{fraction}" if fraction else f"{whole:0>2}"
        return f"{self.date}T{self.hour:02}:{self.minute:02}:{seconds}{self.zone}"


@dataclass(frozen=True, slots=True)
class Date(DateTime):
    """A day, known by its first moment."""

    @property
    def lexical(self) -> str:
        """The lexical form."""
        return self.date + self.zone


def date_time_of(lexical: str) -> DateTime | None:
    """The moment that a text names, if it names one; 24:00:00 is the next day's first.

    >>> date_time_of("1999-12-31T24:00:00Z").lexical
    '2000-01-01T00:00:00Z'
    """
    found = _DATE_TIME.fullmatch(lexical) if len(lexical) < MAX_DIGITS else None
    if found is None:
        return None
    year, month, day, hour, minute = (int(part) for part in found.groups()[:5])
    second, offset = Decimal(found[6]), _offset(found[7])
    if not _is_day(year, month, day) or not _is_offset(offset):
        return None
    if hour == _HOURS_OF_DAY and minute == 0 and second == 0:
        return DateTime(*_next_day(year, month, day), offset=offset)
    if hour >= _HOURS_OF_DAY or minute >= _MINUTES_OF_HOUR or second >= _MINUTES_OF_HOUR:
        return None
    return DateTime(year, month, day, hour, minute, second, offset)


def date_of(lexical: str) -> Date | None:
    """The day that a text names, if it names one."""
    found = _DATE.fullmatch(lexical) if len(lexical) < MAX_DIGITS else None
    if found is None:
        return None
    year, month, day = (int(part) for part in found.groups()[:3])
    offset = _offset(found[4])
    if not _is_day(year, month, day) or not _is_offset(offset):
        return None
    return Date(year, month, day, offset=offset)


def _offset(zone: str | None) -> int | None:
    if zone is None or zone == "Z":
        return None if zone is None else 0
    hours, minutes = int(zone[1:3]), int(zone[4:])
    # Minutes beyond the hour make no zone; the number is out of range then.
    total = hours * _MINUTES_OF_HOUR + minutes if minutes < _MINUTES_OF_HOUR else _SECONDS_OF_DAY
    return -total if zone.startswith("-") else total


def _is_offset(offset: int | None) -> bool:
    return offset is None or abs(offset) <= _LAST_OFFSET


def _is_day(year: int, month: int, day: int) -> bool:
    try:
        _ordinal(year, month, day)
    except ValueError:
        return False
    return True


def _ordinal(year: int, month: int, day: int) -> int:
    cycles, rest = divmod(year, _CYCLE_YEARS)
    in_cycle = datetime.date(rest + _CYCLE_YEARS, month, day).toordinal()
    return in_cycle + (cycles - 1) * _CYCLE_DAYS


def _next_day(year: int, month: int, day: int) -> tuple[int, int, int]:
    cycles, rest = divmod(year, _CYCLE_YEARS)
    here = datetime.date(rest + _CYCLE_YEARS, month, day)
    after = here + datetime.timedelta(days=1)
    return after.year - _CYCLE_YEARS + cycles * _CYCLE_YEARS, after.month, after.day
