"""A query as one value: its form, its operator tree, its windows, and what it declares."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from headrace.algebra.expressions import PatternTerm, Variable
from headrace.algebra.operators import Operator
from headrace.algebra.reporting import Semantics
from headrace.algebra.windows import WindowDeclaration
from headrace.errors import Span
from headrace.rdf.terms import Iri


@dataclass(frozen=True, slots=True)
class Select:
    """Rows of variables; the operator tree has already cut the solutions down to them."""

    variables: tuple[Variable, ...]


@dataclass(frozen=True, slots=True)
class TemplateQuad:
    """A statement of a CONSTRUCT template; a variable whose name starts with `_:` is a new node."""

    subject: PatternTerm
    predicate: PatternTerm
    object: PatternTerm
    graph: PatternTerm | None = None


@dataclass(frozen=True, slots=True)
class Construct:
    """A graph made from each solution by a template."""

    template: tuple[TemplateQuad, ...]


@dataclass(frozen=True, slots=True)
class Ask:
    """Whether there is a solution."""


@dataclass(frozen=True, slots=True)
class Describe:
    """A graph about some resources."""

    targets: tuple[Variable | Iri, ...]


Form: TypeAlias = Select | Construct | Ask | Describe


@dataclass(frozen=True, slots=True)
class Dataset:
    """Which static graphs the query reads; empty is whatever the deployment holds.

    Attributes:
        default: those that make up the default graph.
        named: those that GRAPH sees.
        schemas: those that its data are read under.
        schema_spans: where each of these is named.
        keeps_default: whether the default graph is seen although only named graphs are named.
    """

    default: tuple[Iri, ...] = ()
    named: tuple[Iri, ...] = ()
    schemas: tuple[Iri, ...] = ()
    schema_spans: tuple[Span, ...] = field(default=(), compare=False, repr=False)
    # Not in the text by which checkpoints know queries; plans add it where it counts.
    keeps_default: bool = field(default=False, repr=False)

    @property
    def names_no_default(self) -> bool:
        """True if it names graphs for GRAPH and none for the default graph."""
        return bool(self.named) and not self.default


class Registered(StrEnum):
    """What a registration makes of the query's results."""

    QUERY = "query"
    STREAM = "stream"


@dataclass(frozen=True, slots=True)
class Registration:
    """The name under which a query runs, and whether others can read it as a stream."""

    name: str
    kind: Registered = Registered.QUERY


@dataclass(frozen=True, slots=True)
class Query:
    """A whole query. Two queries are equal if they mean the same, wherever they were written."""

    form: Form
    pattern: Operator
    dataset: Dataset = Dataset()
    windows: tuple[WindowDeclaration, ...] = ()
    registration: Registration | None = None
    semantics: Semantics = field(default_factory=Semantics)

    @property
    def is_continuous(self) -> bool:
        """Whether it reads a stream."""
        return bool(self.windows)
