"""Which microsecond a written time is, exactly."""

from __future__ import annotations

import re
from datetime import date
from enum import StrEnum
from typing import assert_never

_MILLISECONDS = re.compile(r"(-?)([0-9]{1,16})(?:\.([0-9]+))?")
_ISO_8601 = re.compile(
    r"(?P<year>-?[0-9]{4,6})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})"
    r"(?:T(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2})"
    r"(?::(?P<second>[0-9]{2})(?:[.,](?P<fraction>[0-9]+))?)?"
    r"(?P<zone>Z|[+-][0-9]{2}(?::?[0-9]{2})?)?)?"
)
_MILLI, _MICRO = 3, 6
_MOST_DIGITS = 20
_CYCLE_YEARS, _CYCLE_DAYS = 400, 146_097  # the calendar repeats itself after these
_EPOCH_DAY = date(1970, 1, 1).toordinal()
_LAST_MICROSECOND = 2**63 - 1


def microseconds(text: str) -> int:
    """Convert a time in milliseconds or in ISO 8601 to microseconds since the epoch.

    >>> microseconds("1500"), microseconds("-0.001"), microseconds("1970-01-01T00:00:01.5Z")
    (1500000, -1, 1500000)
    >>> microseconds("1970-01-01T02:00:00+02:00"), microseconds("1970-01-02")
    (0, 86400000000)

    Raises:
        ValueError: if it is no such time, or finer than a microsecond.
    """
    if match := _MILLISECONDS.fullmatch(text):
        sign, whole, fraction = match.groups()
        magnitude = int(whole) * 1000 + _scaled(fraction, _MILLI)
        return _within_range(-magnitude if sign else magnitude)
    if match := _ISO_8601.fullmatch(text):
        return _within_range(_from_calendar(match))
    shown = text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
    unit = plausible_unit(int(text)) if text.isdecimal() and len(text) <= _MOST_DIGITS else None
    hint = "" if unit is None else f"; it looks like {unit}: {unit.remedy}"
    raise ValueError(f"expected a time in milliseconds or in ISO 8601, found {shown!r}{hint}")


_SHOWN = 40


def milliseconds(time: int) -> str:
    """A time in microseconds, written in milliseconds with the fraction that it has.

    >>> milliseconds(1_500_000), milliseconds(-1), milliseconds(2_500)
    ('1500', '-0.001', '2.5')
    """
    whole, fraction = divmod(abs(time), 1000)
    sign = "-" if time < 0 else ""
    return f"{sign}{whole}.{fraction:03}".rstrip("0").rstrip(".") if fraction else f"{sign}{whole}"


class Unit(StrEnum):
    """A unit that a number may have by mistake, where milliseconds are expected."""

    SECONDS = "seconds"
    MICROSECONDS = "microseconds"
    NANOSECONDS = "nanoseconds"

    @property
    def remedy(self) -> str:
        """The conversion to milliseconds, as advice."""
        match self:
            case Unit.SECONDS:
                return "multiply by 1,000"
            case Unit.MICROSECONDS:
                return "divide by 1,000"
            case Unit.NANOSECONDS:
                return "divide by 1,000,000"
            case _:
                assert_never(self)


_SINCE_1998, _UNTIL_2103 = 900_000_000, 4_200_000_000
_PER_SECOND = {Unit.SECONDS: 1, Unit.MICROSECONDS: 10**6, Unit.NANOSECONDS: 10**9}


def plausible_unit(number: int) -> Unit | None:
    """Find the unit in which a number is a time of our days; None if it is milliseconds.

    >>> plausible_unit(1_600_000_000), plausible_unit(1_600_000_000_000)
    (<Unit.SECONDS: 'seconds'>, None)
    """
    for unit, size in _PER_SECOND.items():
        if _SINCE_1998 * size <= number <= _UNTIL_2103 * size:
            return unit
    return None


def iso_text(time: int) -> str:
    """A time in microseconds in ISO 8601, in UTC and without a zone.

    >>> iso_text(1_500_000), iso_text(-1)
    ('1970-01-01T00:00:01.5', '1969-12-31T23:59:59.999999')
    """
    days, rest = divmod(time, 86_400_000_000)
    # The library knows the years 1 to 9999; others are moved there by whole cycles.
    cycles, day = divmod(days + _EPOCH_DAY - 1, _CYCLE_DAYS)
    on = date.fromordinal(day + 1 + _CYCLE_DAYS)
    year = on.year + (cycles - 1) * _CYCLE_YEARS
    seconds, micro = divmod(rest, 1_000_000)
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    fraction = f".{micro:06}".rstrip("0") if micro else ""
    return f"{year:04}-{on.month:02}-{on.day:02}T{clock}{fraction}"


def _from_calendar(match: re.Match[str]) -> int:
    part = {name: int(match[name] or 0) for name in ("hour", "minute", "second")}
    day_end = part["hour"] == _HOURS and not part["minute"] and not part["second"]
    fraction = _scaled(match["fraction"], _MICRO)
    if part["hour"] >= _HOURS and (not day_end or fraction):
        raise ValueError(f"expected an hour of at most 23, found {match['hour']!r}")
    if part["minute"] >= _MINUTES or part["second"] >= _MINUTES:
        raise ValueError(f"expected minutes and seconds of at most 59, found {match[0]!r}")
    days = _days(int(match["year"]), int(match["month"]), int(match["day"]))
    minutes = (days * _HOURS + part["hour"]) * _MINUTES + part["minute"]
    seconds = (minutes - _zone(match["zone"])) * _MINUTES + part["second"]
    return seconds * 1_000_000 + fraction


_HOURS, _MINUTES, _LARGEST_ZONE = 24, 60, 14 * 60


def _days(year: int, month: int, day: int) -> int:
    # The library knows the years 1 to 9999; others are moved there by whole cycles.
    cycles, in_cycle = divmod(year, _CYCLE_YEARS)
    try:
        ordinal = date(in_cycle + _CYCLE_YEARS, month, day).toordinal()
    except ValueError:
        raise ValueError(f"there is no day {year:04}-{month:02}-{day:02}") from None
    return ordinal + (cycles - 1) * _CYCLE_DAYS - _EPOCH_DAY


def _zone(text: str | None) -> int:
    if text is None or text == "Z":
        return 0
    minutes = int(text[1:3]) * _MINUTES + int(text[3:].removeprefix(":") or 0)
    if minutes > _LARGEST_ZONE or int(text[3:].removeprefix(":") or 0) >= _MINUTES:
        raise ValueError(f"expected a time zone of at most 14:00, found {text!r}")
    return -minutes if text[0] == "-" else minutes


def _scaled(fraction: str | None, digits: int) -> int:
    if fraction is None:
        return 0
    if fraction[digits:].strip("0"):
        raise ValueError(f"a time is at most as fine as a microsecond, found '.{fraction[:12]}'")
    return int(fraction[:digits].ljust(digits, "0"))


def _within_range(time: int) -> int:
    if abs(time) > _LAST_MICROSECOND:
        raise ValueError("the time is too far from 1970 to be counted in microseconds")
    return time
