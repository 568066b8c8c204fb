"""Turtle, TriG, JSON-LD and RDF/XML, which are read as a whole."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from itertools import accumulate

import pyoxigraph as ox

from headrace.errors import DataError, SettingError
from headrace.rdf.formats import Format
from headrace.rdf.guard import SURELY_SHALLOW, check_document, check_size
from headrace.rdf.lexical import is_regular
from headrace.rdf.options import OnError, ReadOptions, StarMode, report
from headrace.rdf.oxigraph import Terms, data_error, ox_format
from headrace.rdf.scopes import Scope
from headrace.rdf.star import has_star, refuse_rdf12, reifiers, unused
from headrace.rdf.terms import Quad
from headrace.rdf.texts import decoded

_SKIPPED = "; the next statement is skipped"
_NOT_READ = "; the rest of the document is not read"
_LINE_END = re.compile(r"\r\n?|\n")
_DIRECTIVE = re.compile(r"(?<![\w:/#.-])@?(?:prefix|base)(?=\s)", re.IGNORECASE)
_WHOLE_DIRECTIVE = re.compile(r"@?(?:base|prefix\s+[^\s<:]*:)\s*<[^<>\s]*>", re.IGNORECASE)


def read_document(
    data: str | bytes,
    syntax: Format,
    options: ReadOptions,
    scope: Scope,
    on_error: OnError,
) -> Iterator[Quad]:
    """The statements of a document; the problems in it have no name yet."""
    try:
        text = _admitted(data, syntax, options)
    except DataError as error:
        report(error, on_error)
        return
    found = _Problems(text, syntax, options, on_error)
    parsed = _parsed(text, syntax, options, found)
    if options.star is StarMode.COMMUNITY and _is_turtle(syntax) and has_star(text):
        yield from _with_quoted(list(parsed), text, options, scope, found)
        return
    terms = Terms(scope, options.limits, text)
    yield from _converted(parsed, terms, found)


def _is_turtle(syntax: Format) -> bool:
    return syntax in (Format.TURTLE, Format.TRIG)


def _admitted(data: str | bytes, syntax: Format, options: ReadOptions) -> str:
    """The text, if it may be given to the parser."""
    if syntax is Format.RDF_XML and not options.rdf_xml:
        raise DataError("RDF/XML is not read unless it is switched on")
    check_size(data, options.limits)
    text = decoded(data).removeprefix("\ufeff")  # a byte order mark says nothing in UTF-8
    check_document(text, syntax, options.limits)
    if options.star is StarMode.COMMUNITY and _is_turtle(syntax):
        refuse_rdf12(text)
    return text


class _Problems:
    """What was wrong so far, and whether reading may go on."""

    def __init__(self, text: str, syntax: Format, options: ReadOptions, on_error: OnError) -> None:
        self._text = text
        self._syntax = syntax
        self._limits = options.limits
        self._on_error = on_error
        self._followed = 0
        self.count = 0

    def report(self, error: DataError) -> None:
        self.count += 1
        report(error, self._on_error)

    def syntax_error(self, error: SyntaxError) -> bool:
        """Report an error of the parser, and say whether what it reads next can be trusted."""
        problem = data_error(error, self._lines)
        goes_on = self._can_go_on(error)
        after = "" if goes_on else _NOT_READ
        if goes_on and self._normal.startswith(".", self._offset(error.lineno, error.offset)):
            after = _SKIPPED  # the parser skips to a full stop, and this one is behind it already
        shown = problem.problem + after
        self.report(DataError(shown, None, problem.line, problem.column))
        return goes_on

    def _can_go_on(self, error: SyntaxError) -> bool:
        # After an error in a graph of TriG the parser takes its other statements for ones of the
        # default graph; in JSON-LD and RDF/XML there is no place to take up reading again.
        return (
            self._syntax is Format.TURTLE
            and self.count + 1 < self._limits.errors
            and self._is_regular
            and self._ends_outside_strings(error)
            and not self._in_directive(error)
        )

    def _ends_outside_strings(self, error: SyntaxError) -> bool:
        """Whether the parser has not swallowed, with what it rejects, the start of a string."""
        end = self._offset(error.end_lineno, error.end_offset)
        regular = end >= self._followed and is_regular(self._normal, self._followed, end)
        self._followed = end
        return regular

    def _in_directive(self, error: SyntaxError) -> bool:
        """Whether a prefix or base is wrong, so that later names would mean something else."""
        start = self._offset(error.lineno, error.offset)
        before = bisect_right(self._directives, (start, len(self._text)))
        return before > 0 and self._directives[before - 1][1] > start

    def _offset(self, line: int | None, column: int | None) -> int:
        if line is None or column is None or line > len(self._line_starts):
            return len(self._normal)
        return self._line_starts[line - 1] + column - 1

    @cached_property
    def _normal(self) -> str:
        return "\n".join(self._lines)

    @cached_property
    def _lines(self) -> list[str]:
        return _LINE_END.split(self._text)

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *accumulate(len(line) + 1 for line in self._lines)]

    @cached_property
    def _is_regular(self) -> bool:
        return self._text.count("<<(") <= SURELY_SHALLOW and is_regular(self._text)

    @cached_property
    def _directives(self) -> list[tuple[int, int]]:
        """Where the prefixes and bases start and end; one that is not well-formed never ends."""
        found = list[tuple[int, int]]()
        for start in _DIRECTIVE.finditer(self._normal):
            whole = _WHOLE_DIRECTIVE.match(self._normal, start.start())
            found.append((start.start(), whole.end() if whole else len(self._normal) + 1))
        return found


def _parsed(text: str, syntax: Format, options: ReadOptions, found: _Problems) -> Iterator[ox.Quad]:
    try:
        parser = ox.parse(text, ox_format(syntax.media_type), base_iri=options.base)
    except ValueError as error:
        raise SettingError(f"expected an absolute IRI as base: {error}") from None
    while True:
        try:
            quad = next(parser)
        except StopIteration:
            return
        except SyntaxError as error:
            if not found.syntax_error(error):
                return
        else:
            yield quad


def _with_quoted(
    parsed: list[ox.Quad], text: str, options: ReadOptions, scope: Scope, found: _Problems
) -> Iterator[Quad]:
    """The statements of RDF-star, with quoted triples in place of the nodes that reify them."""
    reified = reifiers(parsed)
    terms = Terms(scope, options.limits, text, reified)
    bare = None if found.count else unused(reified, parsed)
    if bare is not None:
        found.report(DataError(f"expected a statement about a quoted triple, found only {bare}"))
    said = (quad for quad in parsed if not isinstance(quad.object, ox.Triple))
    yield from _converted(said, terms, found)


def _converted(parsed: Iterator[ox.Quad], terms: Terms, found: _Problems) -> Iterator[Quad]:
    for quad in parsed:
        try:
            converted = terms.quad(quad)
        except DataError as error:
            found.report(error)
        else:
            yield converted
