"""A stream as its users meet it: elements are pushed to it, or it is read from somewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Protocol

from headrace.errors import DataError, SettingError
from headrace.inline import InlineRunner, StreamFeed
from headrace.rdf.elements import Element
from headrace.rdf.formats import format_of_media_type
from headrace.rdf.iri import is_well_formed
from headrace.rdf.reading import read
from headrace.rdf.streams import without_statements
from headrace.rdf.terms import Quad
from headrace.rdf.timed import scoped
from headrace.rdf.times import microseconds

Moment = int | float | str | datetime
"""A time: milliseconds since the epoch, ISO 8601, or a datetime."""


def name_of(text: str) -> str:
    """Return the IRI of a stream, given in angle brackets or without.

    Raises:
        SettingError: it is none.
    """
    if not isinstance(text, str):  # a program may give anything
        raise SettingError(f"expected the IRI of a stream as text, found {text!r}")
    iri = text.removeprefix("<").removesuffix(">")
    if not iri or not is_well_formed(iri):
        raise SettingError(f"expected the IRI of a stream, found '{text}'")
    return iri


class Owner(Protocol):
    """What a stream is a part of."""

    @property
    def runner(self) -> InlineRunner:
        """What takes elements."""

    def feed(self, iri: str) -> StreamFeed:
        """The way into a stream."""

    def now(self) -> int:
        """The present, in microseconds."""

    def step(self) -> None:
        """Evaluate what is due."""


class Stream:
    """A stream that elements are pushed to."""

    def __init__(
        self,
        engine: Owner,
        iri: str,
        delay: int | None,
        idle: int | None,
        sources: tuple[str, ...],
    ) -> None:
        """Belong to an engine."""
        self._engine = engine
        self.iri = iri
        self.delay = delay
        self.idle = idle
        self.sources = sources

    def push(
        self,
        data: str | bytes | Quad | Iterable[Quad],
        *,
        at: Moment | None = None,
        syntax: str = "application/n-quads",
    ) -> None:
        """Add an element: RDF text, or statements, and when it happened.

        Args:
            data: what the element says.
            at: its event time; a number is milliseconds since the epoch, and none is now.
            syntax: the media type of a text.

        Raises:
            DataError: the text cannot be read.
        """
        feed = self._feed()
        if isinstance(data, str | bytes):
            form = format_of_media_type(syntax)
            quads = tuple(read(data, form, name=self.iri, scope=feed.scope()))
            if not quads:
                raise DataError(without_statements(form, data).problem, self.iri)
        else:
            given = (data,) if isinstance(data, Quad) else tuple(data)
            if not all(isinstance(quad, Quad) for quad in given):
                raise DataError(f"expected text or Quads, found {data!r}", self.iri)
            quads = tuple(scoped(quad, feed.scope()) for quad in given)
        if not quads:
            raise DataError("an element has at least one statement", self.iri)
        time = self._engine.now() if at is None else microseconds_of(at)
        feed.goes_by_arrival = at is None
        self._engine.runner.push(feed, Element(time, quads))

    def heartbeat(self, *, at: Moment) -> None:
        """Say that time has come this far, without an element."""
        self._engine.runner.push(self._feed(), Element(microseconds_of(at)))

    def feed_timed(self, data: str | bytes) -> None:
        """Add the elements of timed N-Quads."""
        text = data.encode() if isinstance(data, str) else data
        self._engine.runner.push_timed(self._feed(), text)

    async def send(
        self,
        data: str | bytes | Quad | Iterable[Quad],
        *,
        at: Moment | None = None,
        syntax: str = "application/n-quads",
    ) -> None:
        """Add an element, evaluate what it makes due, and let other tasks run."""
        self.push(data, at=at, syntax=syntax)
        self._engine.step()
        await asyncio.sleep(0)

    def _feed(self) -> StreamFeed:
        return self._engine.feed(self.iri)


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def microseconds_of(at: Moment) -> int:
    """A time in microseconds.

    >>> microseconds_of(1500), microseconds_of("1970-01-01T00:00:01.5Z"), microseconds_of(0.5)
    (1500000, 1500000, 500)
    """
    match at:
        case datetime():
            moment = at if at.tzinfo else at.replace(tzinfo=UTC)
            return (moment - _EPOCH) // timedelta(microseconds=1)
        case int():
            return at * 1000
        case float():
            return round(at * 1000)
        case str():
            try:
                return microseconds(at)
            except ValueError as error:
                raise DataError(str(error)) from None
