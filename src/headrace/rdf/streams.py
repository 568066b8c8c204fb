"""What the bytes of a stream, or the messages of a broker, say in whatever format they are."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import numpy as np
import polars as pl

from headrace.errors import DataError, InternalError
from headrace.rdf.columns import TimedColumns, read_timed_columns, timed_columns
from headrace.rdf.columns_lines import TERMS, distinct_terms
from headrace.rdf.elements import Element
from headrace.rdf.envelopes import opened
from headrace.rdf.formats import Format
from headrace.rdf.ids import term_id
from headrace.rdf.joined import BEGINS, FOUND, PAYLOAD, Manner, read_joined
from headrace.rdf.options import DEFAULT_OPTIONS, OnError, ReadOptions, report
from headrace.rdf.payloads import Payload, in_text
from headrace.rdf.reading import read
from headrace.rdf.scopes import Scope, Scopes, within
from headrace.rdf.terms import Term, canonical
from headrace.rdf.timed import read_timed
from headrace.rdf.timestamps import SAID_TIME, TimeRule, timed_elements

_MOST_ENVELOPES: Final = 2
"""An ingest log puts into an envelope what comes, and that may be NDJSON with envelopes."""


@dataclass(frozen=True, slots=True)
class Message:
    """What a broker hands over as one.

    Attributes:
        data: its content.
        form: how that is to be read.
        time: the time that the broker has for it, in microseconds.
        place: what it is called in errors, as in ``topic/0@17``.
        scope: a name that no other message of the stream has, for blank nodes.
    """

    data: bytes
    form: Format
    time: int | None
    place: str
    scope: str

    def __post_init__(self) -> None:
        """Refuse a scope that would not keep blank nodes apart."""
        if not Scope(self.scope).name:
            raise InternalError(f"the message {self.place} has no scope")


def offset(file: int, byte: int) -> int:
    """A number for a byte of one of the files of a stream, which no other byte of it has."""
    return (file << 40) + byte


def read_stream(  # noqa: PLR0913 - all but the first two have a default
    data: bytes,
    form: Format,
    *,
    seed: int = 0,
    prefix: str = "",
    per_stream: bool = False,
    name: str | None = None,
    rule: TimeRule = SAID_TIME,
    source_time: int | None = None,
    first_byte: int = 0,
    first_line: int = 1,
    options: ReadOptions = DEFAULT_OPTIONS,
    on_error: OnError = None,
) -> TimedColumns:
    r"""Read the elements of a part of a stream: by lines, those of a document by time.

    What can be read is read, and every problem is told: a bad line leaves the others as they are.

    >>> line = b'{"time": 1.5, "data": "<x:a> <x:b> _:c ."}\n{"time": 2}\n'
    >>> found = read_stream(line, Format.NDJSON)
    >>> found.elements.rows()
    [(1500, 1), (2000, 0)]
    >>> found.terms["text"].sort().to_list()
    ['<x:a>', '<x:b>', '_:0.c']

    Args:
        data: whole elements, in UTF-8.
        form: how they are written.
        seed: of the ids.
        prefix: put before the labels of blank nodes, with a dot, unless it is empty.
        per_stream: whether a label means the same node in all elements; else each element has
            its own nodes, named after the byte at which it begins, and a document has its own.
        name: what the stream is called in errors.
        rule: where the time is found of what has no time column and no envelope.
        source_time: the time that the source has for all of it, in microseconds.
        first_byte: where the data begin in what they are a part of.
        first_line: the number of their first line there, for errors.
        options: star mode, base and limits. The limit on size is for each line of timed N-Quads
            and of NDJSON, else for a document.
        on_error: who is told of each problem.

    Raises:
        DataError: at the first problem, if there is no ``on_error``; or two terms have one id.
    """
    if form is Format.TIMED_N_QUADS:
        return read_timed_columns(
            data,
            seed=seed,
            prefix=prefix,
            per_stream=per_stream,
            name=name,
            options=options,
            on_error=on_error,
            first_byte=first_byte,
            first_line=first_line,
        )
    whole = Payload(
        data,
        form,
        partial(in_text, name, first_line),
        scope="" if form is Format.NDJSON else str(first_byte),
        source_time=source_time,
        first_byte=first_byte,
        beats=False,
    )
    manner = Manner(seed, Scopes(prefix, per_stream), rule, options)
    return _read([whole], manner, on_error)


def read_messages(  # noqa: PLR0913 - all but the first have a default
    messages: Sequence[Message],
    *,
    seed: int = 0,
    prefix: str = "",
    per_stream: bool = False,
    rule: TimeRule = SAID_TIME,
    options: ReadOptions = DEFAULT_OPTIONS,
    on_error: OnError = None,
) -> TimedColumns:
    r"""The elements of messages, in the order of these.

    A message of timed N-Quads or of NDJSON holds any number of elements, any other is a document.

    >>> text = b"<x:a> <x:b> _:c ."
    >>> messages = [Message(text, Format.N_TRIPLES, at, f"t/0@{at}", f"0-{at}") for at in (7, 8)]
    >>> found = read_messages(messages, rule=TimeRule(predicate=None))
    >>> found.elements.rows()
    [(7, 1), (8, 1)]
    >>> found.terms["text"].sort().to_list()
    ['<x:a>', '<x:b>', '_:0-7.c', '_:0-8.c']

    Args:
        messages: in the order in which they came.
        seed: of the ids.
        prefix: put before the labels of blank nodes, with a dot, unless it is empty.
        per_stream: whether a label means the same node in all elements; else the nodes of an
            element are named after its message and, where there can be several in one, after the
            byte at which it begins.
        rule: where the time is found of what has no time column and no envelope.
        options: star mode, base and limits.
        on_error: who is told of each problem, which has the place of its message as its name.

    Raises:
        DataError: at the first problem, if there is no ``on_error``; or two terms have one id.
    """
    payloads = [
        Payload(each.data, each.form, partial(in_text, each.place, 1), each.scope, None, each.time)
        for each in messages
    ]
    manner = Manner(seed, Scopes(prefix, per_stream), rule, options)
    return _read(payloads, manner, on_error)


def _read(payloads: Sequence[Payload], manner: Manner, on_error: OnError) -> TimedColumns:
    every = list(_unwrapped(payloads, manner.options))
    joined = read_joined(every, manner)
    if joined.read.all():
        return _in_messages(joined.rows, joined.terms, every)
    others = _Others(manner, on_error)
    left = (at for at, read in enumerate(joined.read.tolist()) if not read)
    single = pl.DataFrame(
        [row for at in left for row in others.rows(every[at], at)], schema=FOUND, orient="row"
    )
    rows = pl.concat([joined.rows, single]).sort(PAYLOAD, maintain_order=True)
    terms = distinct_terms(pl.concat([joined.terms, others.terms()]))
    return replace(_in_messages(rows, terms, every), unread=others.unread)


def _in_messages(
    rows: pl.DataFrame, terms: pl.DataFrame, payloads: Sequence[Payload | DataError]
) -> TimedColumns:
    """Read the elements in lines of payloads, with the message of each."""
    begins = rows[BEGINS].to_numpy()
    found = timed_columns(rows, begins, terms)
    owners = rows[PAYLOAD].to_numpy()[begins]
    if owners.size == 0 or (np.diff(owners) > 0).all():
        return found
    timed = np.array([_is_timed(each) for each in payloads])[owners]
    new = np.concatenate(([True], np.diff(owners) > 0)) | timed
    return found if new.all() else replace(found, messages=pl.Series(np.cumsum(new) - 1))


def _is_timed(payload: Payload | DataError) -> bool:
    """Test whether each line of a payload is a message of its own."""
    return isinstance(payload, Payload) and payload.form is Format.TIMED_N_QUADS


def _unwrapped(
    payloads: Iterable[Payload | DataError], options: ReadOptions, level: int = 0
) -> Iterator[Payload | DataError]:
    """Payloads, and in place of NDJSON what is in it."""
    for each in payloads:
        if isinstance(each, DataError) or each.form is not Format.NDJSON:
            yield each
        elif level == _MOST_ENVELOPES:
            problem = "expected RDF in an envelope within an envelope, found NDJSON again"
            yield each.placed(DataError(problem))
        else:
            yield from _unwrapped(opened(each, options), options, level + 1)


class _Others:
    """Reads payloads one at a time."""

    def __init__(self, manner: Manner, on_error: OnError) -> None:
        """Begin with no terms."""
        self._manner = manner
        self._on_error = on_error
        self._ids: dict[Term, int] = {}
        self.unread = 0

    def rows(self, payload: Payload | DataError, ordinal: int) -> Iterator[tuple[object, ...]]:
        """Read the lines of a payload; None if it has a problem."""
        if isinstance(payload, DataError):
            self.unread += 1
            report(payload, self._on_error)
            return
        elements, problems = _elements(payload, self._manner)
        if not elements and not problems:
            problems = [without_statements(payload.form, _content(payload))]
        self.unread += len(problems) if _is_timed(payload) else not elements
        for problem in problems:
            report(payload.placed(problem), self._on_error)
        for element in elements:
            if element.is_heartbeat:
                yield ordinal, True, element.time, None, None, None, None
            for number, quad in enumerate(element.quads):
                graph = None if quad.graph is None else self._id(quad.graph)
                triple = self._id(quad.subject), self._id(quad.predicate), self._id(quad.object)
                yield ordinal, number == 0, element.time, graph, *triple

    def terms(self) -> pl.DataFrame:
        """All terms so far."""
        texts = [canonical(term) for term in self._ids]
        return pl.DataFrame([list(self._ids.values()), texts], schema=TERMS)

    def _id(self, term: Term) -> int:
        known = self._ids.get(term)
        return (
            self._ids.setdefault(term, term_id(term, self._manner.seed)) if known is None else known
        )


def _elements(payload: Payload, manner: Manner) -> tuple[list[Element], list[DataError]]:
    """Read the elements of a payload, and its problems."""
    problems = list[DataError]()
    if payload.form is Format.TIMED_N_QUADS:
        prefix = manner.scopes.prefix
        elements = read_timed(
            payload.data,
            scope=Scope(prefix) if manner.scopes.per_stream else None,
            prefix=within(prefix, payload.scope),
            options=manner.options,
            on_error=problems.append,
            first_byte=payload.first_byte,
        )
        return list(elements), problems
    quads = list(
        read(
            payload.data,
            payload.form,
            scope=manner.scopes.of(payload.scope),
            options=manner.options,
            on_error=problems.append,
        )
    )
    if not quads and (problems or _content(payload) or not payload.beats):
        return [], problems  # what cannot be read, or says nothing, is no heartbeat
    time = payload.time
    if time is None and manner.rule.predicate is None and not quads:
        time = payload.source_time
    if time is not None:
        return [Element(time, tuple(quads))], problems
    found = timed_elements(quads, None, problems.append, manner.rule, payload.source_time)
    return sorted(found, key=lambda each: each.time), problems


def _content(payload: Payload) -> bytes:
    return payload.data.removeprefix(BOM_UTF8).strip()


def without_statements(form: Format, data: str | bytes) -> DataError:
    """Describe well-formed data without a statement as a problem."""
    if not data.strip():
        return DataError("there is no statement in it: it is empty; leave it out, or fill it")
    if form is Format.JSON_LD:
        return DataError(
            "there is no statement in it: JSON has statements only where an '@context' gives its "
            'names IRIs; put one into the message, such as {"@vocab": "http://example.org/"}'
        )
    return DataError(
        f"there is no statement in it, although it is well-formed {form.value}; "
        "leave it out, or add a statement"
    )
