"""What a request pushes: it is read before it is taken, so that what is wrong is said at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from headrace.arrival_times import wall_clock
from headrace.errors import DataError, SettingError
from headrace.rdf.formats import MEDIA_TYPES, Format, format_of_media_type
from headrace.rdf.reading import read
from headrace.rdf.streams import read_stream, without_statements
from headrace.rdf.terms import Iri
from headrace.rdf.timed import read_timed
from headrace.rdf.times import milliseconds
from headrace.rdf.timestamps import SAID_TIME, SOURCE_TIME, TimeRule, timed_elements
from headrace.serve.catalogue import ARRIVAL, SAID
from headrace.serve.plain import plain_statements, plain_timed
from headrace.serve.problems import Problem, place_of

_FEW_BYTES: Final = 8_000
_MOST_TOLD: Final = 20
_ALSO: Final = {
    "application/x-timed-nquads": Format.TIMED_N_QUADS,
    "application/ndjson": Format.NDJSON,
    "application/jsonl": Format.NDJSON,
    "application/json": Format.JSON_LD,
}
PUSHED_TYPES: Final = tuple(
    name for name, form in {**MEDIA_TYPES, **_ALSO}.items() if form is not Format.RDF_XML
)


_OF_LINES: Final = (Format.N_TRIPLES, Format.N_QUADS, Format.TURTLE, Format.TRIG)
"""In these, a line of N-Triples is what it is there."""


@dataclass(frozen=True, slots=True)
class Arrived:
    """What a request pushes, and how many elements it is.

    Attributes:
        media_type: how it is written.
        data: as it came.
        elements: how many elements are in it; heartbeats are none.
        time: when all of it happened, in milliseconds, if the request says so.
        key: by which it is known again.
    """

    media_type: str
    data: bytes
    elements: int
    time: str | None = None
    key: str | None = None


def rule_of(time: str) -> TimeRule:
    """Where the times of a stream's elements stand."""
    if time == ARRIVAL:
        return SOURCE_TIME
    return SAID_TIME if time == SAID else TimeRule(Iri(time))


@lru_cache(maxsize=64)
def form_of(media_type: str | None) -> Format:
    """Return the format of a body.

    Raises:
        Problem: 415.
    """
    essence = (media_type or "").partition(";")[0].strip().lower()
    try:
        form = _ALSO.get(essence) or format_of_media_type(essence)
    except SettingError as error:
        if "json" in essence:
            raise Problem(415, str(error)) from None
        form = Format.RDF_XML
    if form is Format.RDF_XML:
        raise Problem(
            415,
            f"elements are pushed as {', '.join(PUSHED_TYPES[:9:2])} and the like, and not as "
            f"'{essence[:80]}'; say which with Content-Type",
        )
    return form


def arrived(
    data: bytes, form: Format, rule: TimeRule, at: int | None = None, key: str | None = None
) -> Arrived:
    """Read what a request pushes.

    Args:
        data: the body.
        form: how it is written.
        rule: where times stand in the stream.
        at: when all of it happened, in microseconds.
        key: by which it is known again.

    Raises:
        Problem: 400, with what is wrong and where.
    """
    problems: list[DataError] = []
    if form in (Format.TIMED_N_QUADS, Format.NDJSON):
        if at is not None:
            raise Problem(400, f"{form.value} has times of its own: leave out 'at'")
        elements, beats = _in_lines(data, form, rule, problems)
    else:
        elements, beats = _in_document(data, form, rule, at, problems), 0
    if problems:
        raise Problem(
            400,
            problems[0].problem,
            title="wrong data",
            errors=[place_of(each) for each in problems[:_MOST_TOLD]],
        )
    if not elements and not beats:
        raise Problem(400, without_statements(form, data).problem, title="wrong data")
    time = None if at is None else milliseconds(at)
    return Arrived(form.media_type, data, elements, time, key)


def _in_lines(
    data: bytes, form: Format, rule: TimeRule, problems: list[DataError]
) -> tuple[int, int]:
    if form is Format.TIMED_N_QUADS and (plain := plain_timed(data)):
        return plain, 0
    if form is Format.TIMED_N_QUADS and len(data) < _FEW_BYTES:
        found = [each.is_heartbeat for each in read_timed(data, on_error=problems.append)]
        return found.count(False), found.count(True)
    read = read_stream(
        data, form, rule=rule, source_time=wall_clock(), on_error=problems.append
    ).elements
    elements = int((read["size"] > 0).sum())
    return elements, read.height - elements


def _in_document(
    data: bytes, form: Format, rule: TimeRule, at: int | None, problems: list[DataError]
) -> int:
    says_no_time = at is not None or rule.predicate is None
    if says_no_time and form in _OF_LINES and plain_statements(data):
        return 1
    quads = list(read(data, form, on_error=problems.append))
    if problems or not quads:
        return 0
    if at is not None:
        return 1
    named = any(quad.graph is not None for quad in quads)
    if rule.predicate is None and not named:
        return 1
    found = timed_elements(quads, None, problems.append, rule, wall_clock())
    return sum(1 for _ in found)
