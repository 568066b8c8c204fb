"""Times and durations in notes."""

from __future__ import annotations

from typing import Final

from headrace.rdf.times import iso_text

_UNITS: Final = (
    ("d", 86_400_000_000),
    ("h", 3_600_000_000),
    ("m", 60_000_000),
    ("s", 1_000_000),
    ("ms", 1_000),
    ("us", 1),
)


def duration_text(microseconds: int) -> str:
    """Write a duration as queries and settings take it.

    >>> duration_text(5_000_000), duration_text(90_000_000), duration_text(1_500)
    ('5s', '90s', '1500us')
    """
    if microseconds <= 0:
        return "0s"
    unit, size = next(each for each in _UNITS if microseconds % each[1] == 0)
    return f"{microseconds // size}{unit}"


def time_text(microseconds: int) -> str:
    """Write a moment in ISO 8601.

    >>> time_text(1_500_000)
    '1970-01-01T00:00:01.5Z'
    """
    return f"{iso_text(microseconds)}Z"
