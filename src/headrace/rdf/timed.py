"""Timed N-Quads, the format in which streams are replayed.

A line is ``TIME``, a tab and a statement of N-Quads, and is one element; but adjacent lines with
the same time and the same graph are one element together. A line with a time and nothing else is
a heartbeat. Empty lines and comments count for nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from headrace.errors import DataError
from headrace.rdf.elements import Element
from headrace.rdf.formats import Format
from headrace.rdf.guard import check_size
from headrace.rdf.lines import LineReader, line_starts, split_lines
from headrace.rdf.options import DEFAULT_OPTIONS, OnError, ReadOptions, report
from headrace.rdf.scopes import UNSCOPED, Scope, within
from headrace.rdf.terms import BlankNode, Quad, QuotedTriple, Term, canonical
from headrace.rdf.texts import decoded
from headrace.rdf.times import microseconds, milliseconds
from headrace.rdf.writing import nquads_statement


@dataclass(frozen=True, slots=True)
class _Line:
    start: int
    time: int
    quad: Quad | None

    def continues(self, other: _Line) -> bool:
        """Whether it is of the same element as a line before it."""
        return (
            self.quad is not None
            and other.quad is not None
            and self.quad.graph is not None
            and (self.time, self.quad.graph) == (other.time, other.quad.graph)
        )


def read_timed(  # noqa: PLR0913 - all but the first have a default
    data: str | bytes,
    *,
    name: str | None = None,
    scope: Scope | None = None,
    prefix: str = "",
    options: ReadOptions = DEFAULT_OPTIONS,
    on_error: OnError = None,
    first_byte: int = 0,
    first_line: int = 1,
) -> Iterator[Element]:
    r"""The elements of a stream, in the order of its lines.

    >>> for element in read_timed("1.5\t<x:a> <x:b> _:c .\n2\n"):
    ...     print(element.time, *(quad.object for quad in element.quads))
    1500 _:0.c
    2000

    Args:
        data: characters, or bytes in UTF-8.
        name: what the stream is called in errors.
        scope: of the blank nodes of all elements. Without one each element has its own, named
            after the byte at which its first line begins, so that a file may be cut anywhere
            between elements.
        prefix: put before the names of these, with a dot, unless it is empty.
        options: star mode and limits; the limit on size is for each line.
        on_error: who is told of each bad line; the others are still read.
        first_byte: where the text begins in what it is a part of.
        first_line: the number of its first line there, for errors.

    Raises:
        DataError: at the first bad line, if there is no ``on_error``.
    """
    lines = list[_Line]()

    def element() -> Element:
        begins = str(lines[0].start + first_byte)
        return _element(lines, scope or Scope(within(prefix, begins)))

    for line in _lines(data, name, options, on_error, first_line):
        if lines and not line.continues(lines[0]):
            yield element()
            lines.clear()
        lines.append(line)
    if lines:
        yield element()


def to_timed(elements: Iterable[Element]) -> str:
    r"""Elements as timed N-Quads.

    >>> to_timed([Element(2_000)])
    '2\n'

    Raises:
        DataError: if reading the text again would give other elements.
    """
    return "".join(timed_lines(elements))


def timed_lines(elements: Iterable[Element]) -> Iterator[str]:
    """Elements as lines of timed N-Quads, one after the other."""
    before: tuple[int, Term] | None = None
    for element in elements:
        graphs = {quad.graph for quad in element.quads}
        [graph] = graphs if len(graphs) == 1 else [None]
        if len(element.quads) > 1 and graph is None:
            problem = "expected an element with one statement, or all of them in one named graph"
            raise DataError(f"{problem}, to be written as timed N-Quads")
        key = None if graph is None else (element.time, graph)
        if key is not None and key == before:
            problem = (
                f"two elements in succession have the time and the graph of {canonical(key[1])}"
            )
            raise DataError(f"{problem}; read again they would be one")
        before = key
        time = milliseconds(element.time)
        for quad in element.quads:
            yield f"{time}\t{nquads_statement(quad)}\n"
        if element.is_heartbeat:
            yield f"{time}\n"


def _lines(
    data: str | bytes, name: str | None, options: ReadOptions, on_error: OnError, first_line: int
) -> Iterator[_Line]:
    reader = LineReader(Format.N_QUADS, options, UNSCOPED)
    lines = zip(line_starts(data), split_lines(data), strict=True)
    for number, (start, raw) in enumerate(lines, first_line):
        try:
            check_size(raw, options.limits)
            line = read_line(decoded(raw), start, reader)
        except DataError as error:
            report(DataError(error.problem, name, number, error.column), on_error)
        else:
            if line is not None:
                yield line


def read_line(text: str, start: int, reader: LineReader) -> _Line | None:
    """What a line says that starts at some byte, if it says something.

    Raises:
        DataError: with the column of what is wrong.
    """
    written, tab, statement = text.partition("\t")
    if not tab:
        written = written.strip(" ")
    if written.lstrip(" ").startswith("#") or not text.strip(" \t"):
        return None
    try:
        time = microseconds(written)
    except ValueError as error:
        raise DataError(_time_problem(str(error), written), column=1) from None
    if not statement.strip(" \t"):
        return _Line(start, time, None)
    try:
        quad = reader.statement(statement)
    except DataError as error:
        column = (error.column or 1) + len(written) + 1
        raise DataError(error.problem, column=column) from None
    if quad is None:
        column = len(written) + 2
        raise DataError("expected a statement after the time, found a comment", column=column)
    return _Line(start, time, quad)


def _time_problem(problem: str, written: str) -> str:
    try:
        microseconds(written.split(maxsplit=1)[0])
    except (ValueError, IndexError):
        return problem
    return f"expected a tab after the time {written.split(maxsplit=1)[0]!r}, found a space"


def _element(lines: list[_Line], scope: Scope) -> Element:
    quads = tuple(scoped(line.quad, scope) for line in lines if line.quad is not None)
    return Element(lines[0].time, quads)


def scoped(quad: Quad, scope: Scope) -> Quad:
    """A statement whose blank nodes are those of a scope."""
    return Quad(
        _scoped_term(quad.subject, scope),
        quad.predicate,
        _scoped_term(quad.object, scope),
        None if quad.graph is None else _scoped_term(quad.graph, scope),
    )


def _scoped_term(term: Term, scope: Scope) -> Term:
    if isinstance(term, BlankNode):
        return BlankNode(scope.labelled(term.label))
    if isinstance(term, QuotedTriple):
        return replace(
            term,
            subject=_scoped_term(term.subject, scope),
            object=_scoped_term(term.object, scope),
        )
    return term
