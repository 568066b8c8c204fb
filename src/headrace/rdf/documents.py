"""Turtle, TriG, JSON-LD and RDF/XML, which are read as a whole."""

from __future__ import annotations

import re
from collections.abc import Iterator

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
        self._regular: bool | None = None
        self.count = 0

    def report(self, error: DataError) -> None:
        self.count += 1
        report(error, self._on_error)

    def syntax_error(self, error: SyntaxError) -> bool:
        """Report an error of the parser, and say whether what it reads next can be trusted."""
        problem = data_error(error, self._text)
        goes_on = self._can_go_on(problem)
        shown = problem.problem if goes_on else problem.problem + _NOT_READ
        self.report(DataError(shown, None, problem.line, problem.column))
        return goes_on

    def _can_go_on(self, problem: DataError) -> bool:
        # After an error in a graph of TriG the parser takes its other statements for ones of the
        # default graph; in JSON-LD and RDF/XML there is no place to take up reading again.
        if self._syntax is not Format.TURTLE or self.count + 1 >= self._limits.errors:
            return False
        if self._regular is None:
            shallow = self._text.count("<<") <= SURELY_SHALLOW
            self._regular = shallow and is_regular(self._text)
        return self._regular and not self._in_directive(problem)

    def _in_directive(self, problem: DataError) -> bool:
        """Whether a prefix or base is wrong, so that later names would mean something else."""
        lines = _LINE_END.split(self._text)
        line, column = problem.line or 1, problem.column or 1
        error = sum(len(text) + 1 for text in lines[: line - 1]) + column - 1
        text = "\n".join(lines)
        starts = [match.start() for match in _DIRECTIVE.finditer(text, 0, error + 1)]
        whole = _WHOLE_DIRECTIVE.match(text, starts[-1]) if starts else None
        return bool(starts) and (whole is None or whole.end() > error)


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
