"""The statements of a text, in whatever format it is."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import assert_never

from headrace.errors import DataError
from headrace.rdf.documents import read_document
from headrace.rdf.envelopes import opened
from headrace.rdf.formats import Format
from headrace.rdf.lines import read_lines
from headrace.rdf.options import DEFAULT_OPTIONS, OnError, ReadOptions, report
from headrace.rdf.payloads import Payload, in_text
from headrace.rdf.scopes import UNSCOPED, Scope, within
from headrace.rdf.terms import Quad
from headrace.rdf.timed import read_timed


def read(
    data: str | bytes,
    syntax: Format,
    *,
    name: str | None = None,
    scope: Scope = UNSCOPED,
    options: ReadOptions = DEFAULT_OPTIONS,
    on_error: OnError = None,
) -> Iterator[Quad]:
    """The statements of a text, in its order.

    >>> [quad] = read("<x:s> <x:p> << <x:a> <x:b> 'c' >> .", Format.TURTLE)
    >>> print(quad.object)
    << <x:a> <x:b> "c" >>

    Args:
        data: characters, or bytes in UTF-8.
        syntax: the format; of timed N-Quads and of NDJSON the times are passed over.
        name: what the text is called in errors.
        scope: which blank nodes it shares with other texts.
        options: star mode, base, limits.
        on_error: who is told of each problem, while everything else is still read if it can be.

    Raises:
        DataError: at the first problem, if there is no ``on_error``.
    """
    tell = _naming(name, on_error)
    try:
        match syntax:
            case Format.N_TRIPLES | Format.N_QUADS:
                yield from read_lines(data, syntax, options, scope, tell)
            case Format.TURTLE | Format.TRIG | Format.JSON_LD | Format.RDF_XML:
                yield from read_document(data, syntax, options, scope, tell)
            case Format.TIMED_N_QUADS:
                for element in read_timed(data, scope=scope, options=options, on_error=tell):
                    yield from element.quads
            case Format.NDJSON:
                yield from _read_ndjson(data, scope, options, tell)
            case _:
                assert_never(syntax)
    except DataError as error:
        raise _named(error, name) from None


def _read_ndjson(
    data: str | bytes, scope: Scope, options: ReadOptions, on_error: OnError
) -> Iterator[Quad]:
    """The statements of all lines; their labels mean the same, their anonymous nodes do not."""
    raw = data if isinstance(data, bytes) else data.encode(errors="surrogatepass")
    labels = scope.name if scope.labels is None else scope.labels
    for each in opened(Payload(raw, Format.NDJSON, partial(in_text, None, 1)), options):
        if isinstance(each, DataError):
            report(each, on_error)
            continue
        problems = list[DataError]()
        inner = Scope(within(scope.name, each.scope), labels=labels)
        yield from read(
            each.data, each.form, scope=inner, options=options, on_error=problems.append
        )
        for problem in problems:
            report(each.placed(problem), on_error)


def _naming(name: str | None, on_error: OnError) -> OnError:
    return None if on_error is None else lambda error: on_error(_named(error, name))


def _named(error: DataError, name: str | None) -> DataError:
    return DataError(error.problem, name, error.line, error.column)
