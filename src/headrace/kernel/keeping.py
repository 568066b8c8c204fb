"""How tables that follow from static data are kept: by whom, and what each is called."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

import polars as pl

from headrace.algebra.expressions import Exists, FunctionCall, Variable
from headrace.algebra.notation import NotationError, numbered, show
from headrace.algebra.operators import (
    Annotate,
    Bgp,
    Extend,
    Group,
    Operator,
    Service,
    Values,
    Window,
)
from headrace.algebra.walk import everywhere, expressions, parts
from headrace.functions.dependence import is_local
from headrace.rdf.ids import TermId
from headrace.rdf.vocabulary import XSD

if TYPE_CHECKING:
    from headrace.kernel.data import Quads


@dataclass(frozen=True, weakref_slot=True, slots=True)
class KeptTable:
    """A table as it is kept.

    Attributes:
        frame: its columns; they stay where they are for as long as somebody has them.
        note: what else is known of it.
        checksum: of what is kept, by which what follows from its rows is known to be of it; none if
            it could not be kept.
    """

    frame: pl.DataFrame
    note: Mapping[str, Any] = field(default_factory=dict)
    checksum: str | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """A pattern whose solutions in static data are asked for.

    Attributes:
        operator: the pattern.
        default: the graphs that are the default graph.
        named: the named graphs that are seen.
        rows: how many rows any step may make.
    """

    operator: Operator
    default: tuple[TermId | None, ...]
    named: tuple[TermId, ...] | None
    rows: int


class Keeper(Protocol):
    """Keeps tables that follow from one version of static data."""

    @property
    def least(self) -> int:
        """Tables of fewer rows than these are made again in no time."""

    @property
    def most_in_memory(self) -> int:
        """Of tables with more rows than these, no index is held in memory."""

    @property
    def before(self) -> Quads | None:
        """The statements as they were in a version whose tables are kept too."""

    def get(self, key: str) -> KeptTable | None:
        """A table, if it is there and as it was put."""

    def put(
        self, key: str, frame: pl.DataFrame, note: Mapping[str, Any] | None = None
    ) -> KeptTable:
        """Keep a table; what comes back is used in its place."""

    def solved(self, asked: Asked) -> tuple[pl.DataFrame, pl.DataFrame] | None:
        """Solutions that others find, and terms that are new; none if they are found here."""


@dataclass(frozen=True, slots=True)
class Named:
    """What a pattern is called whatever its variables are called.

    Attributes:
        text: its notation, with numbers in place of names.
        numbers: the numbers of its variables by their names.
    """

    text: str
    numbers: Mapping[str, int]


def named(operator: Operator) -> Named | None:
    """What a pattern is called; none if its solutions do not follow from static data alone.

    >>> from headrace.algebra.notation import read
    >>> found = named(read("(bgp [(triple ?b <x:p> ?a)])"))
    >>> found.text, dict(found.numbers)
    ('(bgp [(triple ?0 <x:p> ?1)])', {'b': 0, 'a': 1})
    """
    for each in everywhere(operator):
        if isinstance(each, Service | Window):
            return None
        for expression in expressions(each):
            if not is_local(expression) or any(map(_is_foreign, parts(expression))):
                return None
    try:
        return Named(*numbered(show(operator, _ONE_LINE)))
    except NotationError:  # such as a table of parameters, which is of this process
        return None


def _is_foreign(part: object) -> bool:
    """Whether somebody else says what it gives, maybe something else the next time."""
    if isinstance(part, FunctionCall):
        return not part.function.value.startswith(XSD)
    return isinstance(part, Exists)


_ONE_LINE: Final = 1 << 60


def is_a_scan(operator: Operator) -> bool:
    """Whether a look at the statements with one predicate is all there is to it."""
    return isinstance(operator, Bgp) and len(operator.patterns) == 1


def computed(operator: Operator) -> Iterator[Variable]:
    """The variables whose terms come from the query."""
    for each in everywhere(operator):
        match each:
            case Extend(_, variable, _):
                yield variable
            case Values(variables, _):
                yield from variables
            case Group(_, _, aggregates):
                yield from (variable for variable, _ in aggregates)
            case Annotate(_, annotations):
                yield from (annotation.variable for annotation in annotations)
            case _:
                pass
