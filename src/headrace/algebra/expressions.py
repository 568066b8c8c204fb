"""Expressions: what FILTER, BIND, SELECT, HAVING and ORDER BY compute."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final, TypeAlias

from headrace.errors import Span
from headrace.rdf.terms import BlankNode, Iri, Literal, QuotedTriple

if TYPE_CHECKING:
    from headrace.algebra.operators import Operator


@dataclass(frozen=True, slots=True)
class Variable:
    """A name that a solution binds to a term.

    A blank node of a pattern is a variable that cannot be selected; its name starts with `_:`,
    which no query can write.
    """

    name: str

    @property
    def is_anonymous(self) -> bool:
        """Whether it stands for a blank node of the pattern."""
        return self.name.startswith("_:")


@dataclass(frozen=True, slots=True)
class TriplePattern:
    """A triple with variables; as a term inside another one it is a quoted triple pattern."""

    subject: PatternTerm
    predicate: PatternTerm
    object: PatternTerm


PatternTerm: TypeAlias = Variable | Iri | BlankNode | Literal | QuotedTriple | TriplePattern


@dataclass(frozen=True, slots=True)
class Operation:
    """An operator of the language between its arguments.

    `||` and `&&` take two or more arguments, `!`, `u-` and `u+` one, the others two:
    `= != < <= > >= + - * /`.
    """

    symbol: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Membership:
    """IN and NOT IN."""

    value: Expression
    candidates: tuple[Expression, ...]
    negated: bool = False


VOLATILE: Final = frozenset({"RAND", "UUID", "STRUUID", "BNODE"})
"""The functions whose result depends on the row and not only on their arguments."""


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """A function of the language itself, by its upper-case name (`STRLEN`, `IF`, `COALESCE`...).

    Attributes:
        name: what it is called.
        arguments: what it is given.
        place: which call of the query it is, for RAND() and its like without arguments: no two
            give the same, also where the conditions they stand in are taken apart.
        span: where it stands in the query.
    """

    name: str
    arguments: tuple[Expression, ...]
    place: int | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A function by its IRI: a cast, an uncertainty function or an extension."""

    function: Iri
    arguments: tuple[Expression, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


class Moment(StrEnum):
    """What is asked of the interval of a solution."""

    START = "start"
    END = "end"
    DURATION = "duration"


@dataclass(frozen=True, slots=True)
class Timestamp:
    """When the stream triples behind a solution happened.

    One argument is a variable: those that bound it. Three are the subject, predicate and object of
    a triple. None is the solution as a whole, and `moment` says what of its interval is asked for.
    """

    arguments: tuple[Expression, ...]
    stream: Variable | Iri | None = None
    moment: Moment | None = None
    span: Span | None = field(default=None, compare=False, repr=False)

    def __repr__(self) -> str:
        """As it was before there were moments: by that, checkpoints know their queries."""
        said = "" if self.moment is None else f", moment={self.moment!r}"
        return f"Timestamp(arguments={self.arguments!r}, stream={self.stream!r}{said})"

    @property
    def called(self) -> str:
        """How it is written in a query."""
        if self.moment is None:
            return "timestamp()"
        return "DURATION()" if self.moment is Moment.DURATION else f"{self.moment.upper()}TIME()"


@dataclass(frozen=True, slots=True)
class Exists:
    """Whether a pattern has a solution compatible with the current one."""

    pattern: Operator
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A function of a group: COUNT, SUM, AVG, MIN, MAX, SAMPLE or GROUP_CONCAT.

    No argument is `COUNT(*)`.
    """

    function: str
    argument: Expression | None = None
    distinct: bool = False
    separator: str | None = None


Expression: TypeAlias = (
    PatternTerm | Operation | Membership | BuiltIn | FunctionCall | Timestamp | Exists | Aggregate
)
