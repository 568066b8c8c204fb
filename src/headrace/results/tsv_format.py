"""SPARQL 1.1 Query Results TSV, in which terms are written as in Turtle and SPARQL."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import regex as re  # the possessive loops of re are wrong before Python 3.11.5

from headrace.errors import DataError
from headrace.rdf.scopes import UNSCOPED, Scope
from headrace.rdf.terms import Literal, QuotedTriple, Term, canonical
from headrace.rdf.vocabulary import XSD_BOOLEAN, XSD_DECIMAL, XSD_DOUBLE, XSD_INTEGER
from headrace.results.checks import Checked, shown
from headrace.results.table import DEFAULT_LIMITS, ResultLimits, Row, Table

_ECHAR: Final = r"\\[tbnrf\"'\\]|\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8}"
_TOKEN: Final = re.compile(
    r" *+(?:"
    r"(?P<open><<)|(?P<close>>>)"
    r"|<(?P<iri>(?:[^\x00-\x20<>\"{}|^`\\]++|\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8})*+)>"
    r"|_:(?P<blank>[^\s<>\"']++)"
    rf'|(?P<text>"(?:[^"\\\n\r]++|{_ECHAR})*+"|\'(?:[^\'\\\n\r]++|{_ECHAR})*+\')'
    r"(?:@(?P<language>[A-Za-z0-9-]++)|\^\^<(?P<datatype>[^\x00-\x20<>\"{}|^`\\]*+)>)?"
    r"|(?P<double>[+-]?(?:[0-9]++\.?[0-9]*+|\.[0-9]++)[eE][+-]?[0-9]++)"
    r"|(?P<decimal>[+-]?[0-9]*+\.[0-9]++)"
    r"|(?P<integer>[+-]?[0-9]++)"
    r"|(?P<boolean>true|false)"
    r")"
)
_NUMBERS: Final = {
    XSD_INTEGER: re.compile(r"[+-]?[0-9]+"),
    XSD_DECIMAL: re.compile(r"[+-]?[0-9]*\.[0-9]+"),
    XSD_DOUBLE: re.compile(r"[+-]?(?:[0-9]+\.[0-9]*|\.?[0-9]+)[eE][+-]?[0-9]+"),
}
"""The lexical forms that stand for themselves."""
_BARE: Final = {
    "double": XSD_DOUBLE,
    "decimal": XSD_DECIMAL,
    "integer": XSD_INTEGER,
    "boolean": XSD_BOOLEAN,
}
_ESCAPED: Final = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))")
_ESCAPES: Final = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f"}
_LAST_CODE: Final = 0x10FFFF
_LINE_END: Final = re.compile(r"\r\n?|\n")


def tsv_parts(table: Table) -> Iterator[str]:
    r"""A table as TSV, a row a part.

    >>> "".join(tsv_parts(Table(("x", "y"), ((Literal("a\tb"), Literal("1", XSD_INTEGER)),))))
    '?x\t?y\n"a\\tb"\t1\n'
    """
    yield "\t".join(f"?{name}" for name in table.variables) + "\n"
    for row in table.rows:
        yield "\t".join("" if term is None else tsv_text(term) for term in row) + "\n"


def tsv_text(term: Term) -> str:
    """A term as TSV writes it: a number by itself, anything else as in N-Triples."""
    if isinstance(term, Literal):
        form = _NUMBERS.get(term.datatype)
        if form is not None and form.fullmatch(term.lexical):
            return term.lexical
    return canonical(term)


def read_tsv(text: str, *, scope: Scope = UNSCOPED, limits: ResultLimits = DEFAULT_LIMITS) -> Table:
    """The table that a text of TSV is.

    Raises:
        DataError: saying what is wrong with it, and in which line.
    """
    checked = Checked(scope, limits)
    header, *lines = _LINE_END.split(text)
    if lines and not lines[-1]:
        lines.pop()  # after the last line end there is no row
    checked.check_rows(len(lines))
    names = header.split("\t") if header else []
    for name in names:
        if not name.startswith(("?", "$")):
            raise DataError(f"expected a variable such as '?x', found {shown(name)}", None, 1)
    variables = checked.check_columns([name[1:] for name in names])
    rows: list[Row] = []
    for number, line in enumerate(lines, 2):
        cells = line.split("\t") if variables else line.split()
        if len(cells) != len(variables):
            expected = f"expected {len(variables)} cells"
            raise DataError(f"{expected}, found {len(cells)}", None, number)
        try:
            rows.append(tuple(_Cell(cell, checked).term() if cell else None for cell in cells))
        except DataError as error:
            raise DataError(error.problem, None, number) from None
    return Table(variables, tuple(rows))


class _Cell:
    """One cell, read from left to right."""

    def __init__(self, text: str, checked: Checked) -> None:
        self._text = text
        self._checked = checked
        self._place = 0

    def term(self) -> Term:
        term = self._term(0)
        if rest := self._text[self._place :].strip(" "):
            raise DataError(f"expected one term in a cell, found {shown(rest)} after it")
        return term

    def _next(self) -> re.Match[str]:
        found = _TOKEN.match(self._text, self._place)
        if found is None:
            raise DataError(f"expected a term, found {shown(self._text[self._place :])}")
        self._place = found.end()
        return found

    def _term(self, level: int) -> Term:
        found = self._next()
        kind = next(name for name, text in found.groupdict().items() if text is not None)
        match kind:
            case "iri":
                return self._checked.iri(_unescaped(found["iri"]))
            case "blank":
                return self._checked.blank(found["blank"])
            case "text":
                lexical = _unescaped(found["text"][1:-1])
                return self._checked.literal(lexical, found["datatype"], found["language"])
            case "open":
                return self._quoted(level + 1)
            case "close":
                raise DataError("expected a term, found '>>'")
            case _:
                return self._checked.literal(found[kind], _BARE[kind], None)

    def _quoted(self, level: int) -> QuotedTriple:
        self._checked.check_level(level)
        spoken = [self._term(level) for _ in range(3)]
        if self._next()["close"] is None:
            raise DataError("expected '>>' after the object of a quoted triple")
        return self._checked.quoted(*spoken)


def _unescaped(text: str) -> str:
    def character(found: re.Match[str]) -> str:
        digits = found[1] or found[2]
        if digits is None:
            return _ESCAPES.get(found[3], found[3])
        code = int(digits, 16)
        if code > _LAST_CODE:
            raise DataError(f"expected a character, found {shown(found[0])}")
        return chr(code)  # the half of a character is found where the text is checked

    return _ESCAPED.sub(character, text) if "\\" in text else text
