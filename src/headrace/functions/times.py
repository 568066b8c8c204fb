"""Functions that take a moment apart; a day has a year, a month, a day and a zone too."""

from __future__ import annotations

from decimal import Decimal

from headrace.functions.calendars import Date, DateTime
from headrace.functions.errors import ExpressionError
from headrace.functions.values import XSD_DAY_TIME_DURATION, literal_of, moment_of
from headrace.rdf.terms import Literal, Term
from headrace.rdf.times import iso_text
from headrace.rdf.vocabulary import XSD_DATE_TIME

_MINUTES_OF_HOUR = 60


def year(term: Term) -> Literal:
    """YEAR."""
    return literal_of(moment_of(term).year)


def month(term: Term) -> Literal:
    """MONTH."""
    return literal_of(moment_of(term).month)


def day(term: Term) -> Literal:
    """DAY."""
    return literal_of(moment_of(term).day)


def hours(term: Term) -> Literal:
    """HOURS, in the zone of the moment."""
    return literal_of(_clock(term).hour)


def minutes(term: Term) -> Literal:
    """MINUTES."""
    return literal_of(_clock(term).minute)


def seconds(term: Term) -> Literal:
    """SECONDS, exactly."""
    return literal_of(_clock(term).second)


def timezone(term: Term) -> Literal:
    """TIMEZONE, as a duration; an error if there is none."""
    offset = moment_of(term).offset
    if offset is None:
        raise ExpressionError(f"{term} has no time zone")
    hours, minutes = divmod(abs(offset), _MINUTES_OF_HOUR)
    parts = (f"{hours}H" if hours else "") + (f"{minutes}M" if minutes else "")
    return Literal(f"{'-' if offset < 0 else ''}PT{parts or '0S'}", XSD_DAY_TIME_DURATION)


def zone(term: Term) -> Literal:
    """TZ, as it is written in canonical form; empty if there is none."""
    return Literal(moment_of(term).zone)


def _clock(term: Term) -> DateTime:
    moment = moment_of(term)
    if isinstance(moment, Date):
        raise ExpressionError(f"{term} has no time of day")
    return moment


def date_time(time: int) -> Literal:
    """A time in microseconds as an xsd:dateTime in UTC.

    >>> date_time(1_500_000).lexical, date_time(-1).lexical
    ('1970-01-01T00:00:01.5Z', '1969-12-31T23:59:59.999999Z')
    """
    return Literal(f"{iso_text(time)}Z", XSD_DATE_TIME)


def length(duration: int) -> Literal:
    """A number of microseconds as one of seconds, exactly.

    >>> length(1_500_000).lexical, length(0).lexical
    ('1.5', '0')
    """
    return literal_of(Decimal(duration).scaleb(-6))
