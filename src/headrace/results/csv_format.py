"""SPARQL 1.1 Query Results CSV, which keeps the text of terms and loses what they are.

An IRI and a string of the same characters look alike in it, a number has no datatype, and an
empty string is as empty as an unbound variable. So what is read is text, but for blank nodes, and
`flattened` says what is left of a table.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import regex as re  # the possessive loops of re are wrong before Python 3.11.5

from headrace.errors import DataError
from headrace.rdf.lexical import position
from headrace.rdf.scopes import UNSCOPED, Scope
from headrace.rdf.terms import BlankNode, Iri, Literal, QuotedTriple, Term, canonical
from headrace.results.checks import Checked, shown
from headrace.results.table import DEFAULT_LIMITS, ResultLimits, Row, Table

_NEEDS_QUOTES: Final = re.compile(r"[\",\r\n]")
_CELL: Final = re.compile(
    r'(?:"(?P<quoted>(?:[^"]++|"")*+)"|(?P<plain>[^",\r\n]*+))(?P<end>,|\r\n|\n|\r|\Z)'
)


def csv_parts(table: Table) -> Iterator[str]:
    r"""A table as CSV, a row a part.

    >>> "".join(csv_parts(Table(("x", "y"), ((Iri("x:a"), None), (Literal("b, c"), None)))))
    'x,y\r\nx:a,\r\n"b, c",\r\n'
    """
    yield ",".join(map(_cell, table.variables)) + "\r\n"
    for row in table.rows:
        yield ",".join("" if term is None else _cell(csv_text(term)) for term in row) + "\r\n"


def csv_text(term: Term) -> str:
    """What CSV keeps of a term."""
    match term:
        case Iri(value):
            return value
        case Literal(lexical):
            return lexical
        case BlankNode() | QuotedTriple():
            return canonical(term)


def _cell(text: str) -> str:
    if not _NEEDS_QUOTES.search(text):
        return text
    doubled = text.replace('"', '""')
    return f'"{doubled}"'


def flattened(table: Table) -> Table:
    """What is left of a table once it has been through CSV.

    >>> flattened(Table(("x", "y"), ((Iri("x:a"), Literal("")),))).rows == ((Literal("x:a"), None),)
    True
    """

    def flat(term: Term | None) -> Term | None:
        if term is None or isinstance(term, BlankNode):
            return term
        text = csv_text(term)
        return Literal(text) if text else None

    return Table(table.variables, tuple(tuple(map(flat, row)) for row in table.rows))


def read_csv(text: str, *, scope: Scope = UNSCOPED, limits: ResultLimits = DEFAULT_LIMITS) -> Table:
    """The table that a text of CSV is: text, blank nodes where it says so, and unbound cells.

    Raises:
        DataError: saying what is wrong with it.
    """
    checked = Checked(scope, limits)
    records = _records(text)
    header = next(records, [""])
    variables = () if header == [""] else checked.check_columns(header)
    rows: list[Row] = []
    for cells in records:
        if not variables and cells == [""]:
            cells = []  # noqa: PLW2901  # an empty line is a row of no columns
        if len(cells) != len(variables):
            expected = f"expected {len(variables)} cells in row {len(rows) + 1}"
            raise DataError(f"{expected}, found {len(cells)}")
        rows.append(tuple(_term(cell, checked) for cell in cells))
        checked.check_rows(len(rows))
    return Table(variables, tuple(rows))


def _term(cell: str, checked: Checked) -> Term | None:
    if not cell:
        return None
    if cell.startswith("_:"):
        return checked.blank(cell[2:])
    return checked.literal(cell, None, None)


def _records(text: str) -> Iterator[list[str]]:
    cells: list[str] = []
    place = 0
    while place < len(text) or cells:
        found = _CELL.match(text, place)
        if found is None:
            where = position(text, place)
            rest = shown(text[place : place + 20])
            raise DataError(f"expected a cell of CSV, found {rest}", None, *where)
        quoted = found["quoted"]
        cells.append(found["plain"] if quoted is None else quoted.replace('""', '"'))
        place = found.end()
        if found["end"] != ",":
            yield cells
            cells = []
