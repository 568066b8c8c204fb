"""What a query answers: a table of terms, or yes or no."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from headrace.errors import InternalError
from headrace.rdf.terms import Term

Row: TypeAlias = tuple[Term | None, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """The solutions of a SELECT query; None is unbound.

    >>> Table(("x", "y"), ((None, None),)).columns()
    {'x': (None,), 'y': (None,)}
    """

    variables: tuple[str, ...]
    rows: tuple[Row, ...] = ()

    def __post_init__(self) -> None:
        """Refuse columns of the same name, and rows that are not as wide as the table."""
        width = len(self.variables)
        if len(set(self.variables)) != width:
            raise InternalError(f"a table has two columns of the same name: {self.variables}")
        for row in self.rows:
            if len(row) != width:
                raise InternalError(f"a row of {len(row)} terms in a table of {width} columns")

    def __iter__(self) -> Iterator[Row]:
        """The rows, in their order."""
        return iter(self.rows)

    def columns(self) -> dict[str, Row]:
        """The terms of each variable, in the order of the rows."""
        return {
            name: tuple(row[position] for row in self.rows)
            for position, name in enumerate(self.variables)
        }


Result: TypeAlias = Table | bool
"""What SELECT answers, or what ASK does."""


@dataclass(frozen=True, slots=True)
class ResultLimits:
    """How large an answer may be; more is refused as soon as it is seen.

    Attributes:
        size: bytes (of text: characters) of the whole answer.
        rows: its rows.
        columns: its variables.
        literal: characters of one value.
        quoted: levels of triples within triples.
    """

    size: int = 64_000_000
    rows: int = 1_000_000
    columns: int = 1_000
    literal: int = 1_000_000
    quoted: int = 16


DEFAULT_LIMITS: Final = ResultLimits()
