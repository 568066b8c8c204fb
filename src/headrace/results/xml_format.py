"""SPARQL Query Results XML, with quoted triples as in SPARQL-star."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, assert_never
from xml.etree.ElementTree import Element, ParseError, XMLPullParser
from xml.sax.saxutils import escape, quoteattr

from headrace.errors import DataError
from headrace.rdf.lexical import position
from headrace.rdf.scopes import UNSCOPED, Scope
from headrace.rdf.terms import BlankNode, Iri, Literal, QuotedTriple, Term, canonical
from headrace.rdf.vocabulary import XSD_STRING
from headrace.results.checks import Checked, shown
from headrace.results.table import DEFAULT_LIMITS, Result, ResultLimits, Row, Table

NAMESPACE: Final = "http://www.w3.org/2005/sparql-results#"
_LANG: Final = "{http://www.w3.org/XML/1998/namespace}lang"
_DIRECTION: Final = "{http://www.w3.org/2005/11/its}dir"
_CHUNK: Final = 1 << 16
_LEVEL_OF_RESULTS: Final = 2
_LEVEL_OF_A_ROW: Final = 3
_LEVELS_AROUND_A_TERM: Final = 6
_LEVELS_OF_A_TRIPLE: Final = 2
_LONGEST_NAME: Final = 40
_DECLARATION: Final = re.compile(r"<!\s*(?:DOCTYPE|ENTITY)", re.IGNORECASE)
_ENCODING: Final = re.compile(r"\s*<\?xml[^>]*?encoding\s*=\s*[\"']([^\"']*)[\"']", re.IGNORECASE)
_ENCODINGS: Final = frozenset({"utf-8", "utf8", "us-ascii", "ascii"})
_NOT_IN_XML: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_KEPT: Final = {"\r": "&#xD;"}
"""A reader would take a carriage return for a line feed."""


# -- writing -------------------------------------------------------------------------------


def xml_parts(result: Result) -> Iterator[str]:
    """An answer as XML, a row a part.

    Raises:
        DataError: if there is a character in it that XML cannot write.
    """
    yield f'<?xml version="1.0" encoding="UTF-8"?>\n<sparql xmlns="{NAMESPACE}">\n'
    if isinstance(result, bool):
        yield f"<head/>\n<boolean>{str(result).lower()}</boolean>\n</sparql>\n"
        return
    names = [quoteattr(name) for name in result.variables]
    yield "<head>" + "".join(f"<variable name={name}/>" for name in names) + "</head>\n<results>\n"
    for row in result.rows:
        bound = (
            f"<binding name={name}>{_written(term)}</binding>"
            for name, term in zip(names, row, strict=True)
            if term is not None
        )
        yield f"<result>{''.join(bound)}</result>\n"
    yield "</results>\n</sparql>\n"


def _written(term: Term) -> str:
    match term:
        case Iri(value):
            return f"<uri>{_text(value, term)}</uri>"
        case BlankNode(label):
            return f"<bnode>{_text(label, term)}</bnode>"
        case Literal(lexical, datatype, language):
            text = _text(lexical, term)
            if language is not None:
                return f'<literal xml:lang="{language}">{text}</literal>'
            if datatype == XSD_STRING:
                return f"<literal>{text}</literal>"
            _text(datatype, term)
            return f"<literal datatype={quoteattr(datatype)}>{text}</literal>"
        case QuotedTriple(subject, predicate, object_):
            parts = (("subject", subject), ("predicate", predicate), ("object", object_))
            inner = "".join(f"<{name}>{_written(part)}</{name}>" for name, part in parts)
            return f"<triple>{inner}</triple>"
        case _:
            assert_never(term)


def _text(text: str, term: Term) -> str:
    if found := _NOT_IN_XML.search(text):
        raise DataError(
            f"XML cannot write the character U+{ord(found[0]):04X} of {shown(canonical(term))};"
            " write JSON"
        )
    return escape(text, _KEPT)


# -- reading -------------------------------------------------------------------------------


def read_xml(
    text: str, *, scope: Scope = UNSCOPED, limits: ResultLimits = DEFAULT_LIMITS
) -> Result:
    """The answer that a text of XML is.

    Raises:
        DataError: saying what is wrong with it.
    """
    declared = _ENCODING.match(text)
    if declared and declared[1].lower() not in _ENCODINGS:
        raise DataError(f"expected XML in UTF-8, found the encoding {shown(declared[1])}")
    if unsafe := _DECLARATION.search(text):
        where = position(text, unsafe.start())
        raise DataError("XML with a DOCTYPE or an ENTITY is refused", None, *where)
    reader = _Reader(Checked(scope, limits), limits)
    for event, element in _events(text):
        if event == "start":
            reader.start(element)
        else:
            reader.end(element)
    return reader.result()


def _events(text: str) -> Iterator[tuple[str, Element]]:
    parser: XMLPullParser[Element] = XMLPullParser(("start", "end"))
    try:
        for start in range(0, len(text), _CHUNK):
            parser.feed(text[start : start + _CHUNK])
            yield from _read(parser)
        parser.close()
        yield from _read(parser)
    except ParseError as error:
        line, column = error.position
        problem = str(error).partition(":")[0]
        raise DataError(f"expected XML: {problem}", None, line, column + 1) from None


def _read(parser: XMLPullParser[Element]) -> Iterator[tuple[str, Element]]:
    for found in parser.read_events():
        match found:
            case (str() as event, Element() as element):
                yield event, element


def _name(element: Element) -> str:
    """The name of an element of the format; that of any other is not one of ours."""
    return element.tag.removeprefix(f"{{{NAMESPACE}}}")


class _Reader:
    def __init__(self, checked: Checked, limits: ResultLimits) -> None:
        self._checked = checked
        self._deepest = _LEVELS_AROUND_A_TERM + _LEVELS_OF_A_TRIPLE * (limits.quoted + 1)
        self._open: list[Element] = []
        self._names: list[str] = []
        self._places: dict[str, int] | None = None
        self._rows: list[Row] = []
        self._boolean: bool | None = None
        self._has_results = False

    def start(self, element: Element) -> None:
        """Take note of where we are; most elements are looked at when they end."""
        self._open.append(element)
        if len(self._open) > self._deepest:
            raise DataError(f"expected at most {self._deepest} levels of XML, found more")
        if len(self._open) == 1 and element.tag != f"{{{NAMESPACE}}}sparql":
            raise DataError(f"expected 'sparql' of {NAMESPACE}, found {shown(element.tag)}")
        if len(self._open) == _LEVEL_OF_RESULTS and self._path() == ["sparql", "results"]:
            self._has_results = True
            self._columns()

    def _columns(self) -> dict[str, int]:
        if self._places is None:
            variables = self._checked.check_columns(self._names)
            self._places = {name: place for place, name in enumerate(variables)}
        return self._places

    def end(self, element: Element) -> None:
        """Take over what an element says, and forget it; a row says what is in it."""
        if len(self._open) > _LEVEL_OF_A_ROW and _name(self._open[1]) in {"head", "results"}:
            self._open.pop()
            return
        path = self._path()
        self._open.pop()
        match path:
            case ["sparql", "head", "variable"]:
                self._names.append(_attribute(element, "name"))
            case ["sparql", "boolean"]:
                self._boolean = _truth(element)
            case ["sparql", "results", "result"]:
                self._rows.append(self._row(element))
                self._checked.check_rows(len(self._rows))
                self._open[-1].clear()  # or the rows read would stay in memory
            case ["sparql"] | ["sparql", "head" | "results", *_]:
                pass
            case _:
                raise DataError(f"expected no {shown('/'.join(path))} in the answer")

    def _path(self) -> list[str]:
        return [_name(element)[-_LONGEST_NAME:] for element in self._open]

    def result(self) -> Result:
        """The whole answer."""
        if self._has_results:
            if self._boolean is not None:
                raise DataError("expected 'results' or 'boolean' in the answer, found both")
            return Table(tuple(self._columns()), tuple(self._rows))
        if self._boolean is None:
            raise DataError("expected 'results' or 'boolean' in the answer, found neither")
        return self._boolean

    def _row(self, element: Element) -> Row:
        places = self._columns()
        row: list[Term | None] = [None] * len(places)
        for binding in element:
            if _name(binding) != "binding":
                raise DataError(f"expected 'binding' in a row, found {shown(_name(binding))}")
            name = _attribute(binding, "name")
            if name not in places:
                raise DataError(
                    f"expected only variables of the head in a row, found {shown(name)}"
                )
            if row[places[name]] is not None:
                raise DataError(f"expected each variable once in a row, found {shown(name)} twice")
            row[places[name]] = self._term(_only_child(binding))
        return tuple(row)

    def _term(self, element: Element, level: int = 0) -> Term:
        match _name(element):
            case "uri":
                return self._checked.iri(_content(element).strip())
            case "bnode":
                return self._checked.blank(_content(element).strip())
            case "literal":
                if element.get(_DIRECTION) is not None:
                    raise DataError("text with a base direction is not supported, found 'its:dir'")
                return self._checked.literal(
                    _content(element), element.get("datatype"), element.get(_LANG)
                )
            case "triple":
                return self._quoted(element, level + 1)
            case other:
                known = "'uri', 'bnode', 'literal' or 'triple'"
                raise DataError(f"expected {known} as a term, found {shown(other)}")

    def _quoted(self, element: Element, level: int) -> QuotedTriple:
        self._checked.check_level(level)
        names = [_name(part) for part in element]
        if names != ["subject", "predicate", "object"]:
            found = shown(", ".join(names))
            raise DataError(f"expected subject, predicate and object in a triple, found {found}")
        subject, predicate, object_ = (self._term(_only_child(part), level) for part in element)
        return self._checked.quoted(subject, predicate, object_)


def _attribute(element: Element, name: str) -> str:
    value = element.get(name)
    if value is None:
        raise DataError(f"expected '{name}' on '{_name(element)}', found none")
    return value


def _truth(element: Element) -> bool:
    match _content(element).strip():
        case "true":
            return True
        case "false":
            return False
        case other:
            raise DataError(f"expected true or false as the answer, found {shown(other)}")


def _content(element: Element) -> str:
    if len(element):
        raise DataError(f"expected only text in '{_name(element)}', found an element")
    return element.text or ""


def _only_child(element: Element) -> Element:
    if len(element) != 1:
        raise DataError(f"expected one term in '{_name(element)}', found {len(element)}")
    return element[0]
