"""The schema that queries read their data under: which it is, and what it makes of data."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Final, TypeAlias

import polars as pl

from headrace.algebra.query import Query
from headrace.errors import QueryError, SettingError, Source, Span, listing, nearest
from headrace.kernel.data import Quads
from headrace.kernel.dictionary import Dictionary
from headrace.kernel.entailed import all_entailed
from headrace.planning.entailing import asked_by
from headrace.planning.plan import Plan
from headrace.rdf.terms import Iri, Quad
from headrace.reasoning.effects import effects_of
from headrace.reasoning.reading import read_schema
from headrace.reasoning.reduction import Asked
from headrace.reasoning.schema import Schema, schema_of
from headrace.reasoning.tables import Tables, compiled
from headrace.reasoning.unsupported_axioms import note_of

_LOG: Final = logging.getLogger("headrace")

SchemaSource: TypeAlias = Schema | str | Path | Iterable[Quad]
"""A schema, the file that it is in, or its statements."""
GivenSchema: TypeAlias = SchemaSource | Mapping[str, SchemaSource] | None
"""The schema of all queries that name none, or schemas by the IRIs that FROM SCHEMA names."""
Named: TypeAlias = tuple[str | None, Path]
"""A file, and the name that it has."""


class Schemas:
    """The schemas that are declared, and which of them a query reads its data under."""

    def __init__(
        self, given: GivenSchema = None, graph: Callable[[Iri], Sequence[Quad]] | None = None
    ) -> None:
        """Read what is given.

        Args:
            given: what is declared.
            graph: the statements of a static graph, which FROM SCHEMA may name too.

        Raises:
            SettingError: a file cannot be read.
        """
        self._graph = graph or (lambda _name: ())
        self.is_fixed = False
        self._named: dict[str, Schema] = {}
        self._unnamed: Schema | None = None
        self._of: dict[tuple[Iri, ...], Schema] = {}
        if isinstance(given, Mapping):
            for name, source in given.items():
                self.add(name, source)
        elif given is not None:
            self.add(None, given)
        for note in self.notes:
            _LOG.warning(note)

    @property
    def notes(self) -> list[str]:
        """The notes on the unsupported axioms of each declared schema."""
        declared = [(None, self._unnamed), *self._named.items()]
        return [
            text
            for name, schema in declared
            if schema is not None and (text := note_of(schema.ignored, name))
        ]

    def notes_on(self, query: Query, source: Source | None = None) -> list[str]:
        """Return the notes on the unsupported axioms of the schema of a query.

        Raises:
            QueryError: it names a schema that is not declared.
        """
        schema = self.of(query, source)
        text = "" if schema is None else note_of(schema.ignored)
        return [text] if text else []

    def add(self, name: str | None, source: SchemaSource) -> None:
        """Declare a schema, or more of one; no name is that of queries that name none.

        Raises:
            SettingError: it cannot be read, or queries run under what was declared before.
        """
        if self.is_fixed:
            raise SettingError("schemas are declared before queries are registered")
        new = _read(source)
        if name is None:
            self._unnamed = new if self._unnamed is None else self._unnamed.and_also(new)
        else:
            iri = name.removeprefix("<").removesuffix(">")
            self._named[iri] = self._named.get(iri, Schema()).and_also(new)
        self._of = {}

    def declare(
        self, schemas: Sequence[Named], static: Sequence[Named], queries: Iterable[Query]
    ) -> None:
        """Declare files as options name them, and static graphs that queries name as schemas.

        Raises:
            SettingError: one cannot be read, or no query reads it.
        """
        asking = list(queries)
        for name, path in schemas:
            self.add(name, path)
        wanted = {name.value for query in asking for name in query.dataset.schemas}
        unread = sorted(set(self._named) - wanted) if asking else []
        if unread:
            raise SettingError(
                f"no query has FROM SCHEMA <{unread[0]}>; write that in one, or give the schema "
                "without a name to all of them: --schema FILE"
            )
        others = wanted - {name for name, _ in schemas}
        for graph, path in static:
            if graph is not None and graph in others:
                self.add(graph, path)

    def of(self, query: Query, source: Source | None = None) -> Schema | None:
        """The schema of a query: what FROM SCHEMA names, else what is declared without a name.

        Args:
            query: the query.
            source: its text, for errors.

        Raises:
            QueryError: it names a schema that nobody has declared.
        """
        names = query.dataset.schemas
        if not names:
            return self._unnamed
        if names not in self._of:
            spans = query.dataset.schema_spans or (None,) * len(names)
            pairs = zip(names, spans, strict=True)
            schemas = (self._called(name, source, span) for name, span in pairs)
            self._of[names] = reduce(Schema.and_also, schemas)
        return self._of[names]

    def _called(self, name: Iri, source: Source | None, span: Span | None) -> Schema:
        if name.value in self._named:
            return self._named[name.value]
        statements = self._graph(name)
        if statements:
            return schema_of(statements)
        if self._unnamed is not None:
            return self._unnamed  # a run is told of one schema, and its queries of no other
        near = nearest(name.value, self._named)
        hint = f"did you mean <{near}>?" if near else ""
        if not hint and self._named:
            hint = f"declared are {listing((f'<{each}>' for each in self._named), 'and')}"
        raise QueryError(
            f"FROM SCHEMA <{name.value}> names no schema that is known here",
            source,
            span,
            hint=hint or f"say what it is with --schema {name.value}=FILE or Engine(schema=...)",
        )


def _read(source: SchemaSource) -> Schema:
    match source:
        case Schema():
            return source
        case str() | Path():
            return read_schema(source)
        case _:
            statements = list(source)
            if not all(isinstance(each, Quad) for each in statements):
                raise SettingError("expected a schema as a file or as Quads")
            return schema_of(statements)


class Entailing:
    """What follows from data for the queries of an engine; all of them have one schema."""

    def __init__(self, dictionary: Dictionary) -> None:
        """Begin without queries.

        Args:
            dictionary: the terms of the data; its seed is that of the tables.
        """
        self._dictionary = dictionary
        self._schema: Schema | None = None
        self._asked: dict[str, Asked] = {}
        self._namers, self._seers = dict[str, None](), dict[str, None]()
        self._together: Asked | None = None
        self._known: tuple[Asked, Tables | None] | None = None
        self._static: tuple[pl.DataFrame, Tables, pl.DataFrame] | None = None
        self._statements: Quads | None = None

    def add(self, plan: Plan, schema: Schema | None) -> None:
        """Take in a query with its schema, which is that of the others.

        Raises:
            SettingError: what follows would be more than can be held, or what follows for it would
                be seen by another query, or the other way round.
        """
        if schema is None:
            return
        asked = asked_by(plan.pattern, plan.query.form)
        self._check_apart(plan.name, asked, schema)
        if schema is not self._schema:
            self._schema, self._known = schema, None
        if asked.classes is None or asked.is_everything:
            effects_of(schema, asked)  # who asks for everything is told now if that is too much
        self._asked[plan.name] = asked
        if asked.resources:
            self._namers[plan.name] = None
        elif _sees_resources(asked, schema):
            self._seers[plan.name] = None
        if self._together is not None:
            self._together = self._together.and_also(asked)

    def remove(self, name: str) -> None:
        """Let a query go."""
        if self._asked.pop(name, None) is not None:
            self._together = None
            self._namers.pop(name, None)
            self._seers.pop(name, None)

    def _check_apart(self, name: str, asked: Asked, schema: Schema) -> None:
        """Refuse that everything is a resource for one query, and another would see it too."""
        namers, seers = self._namers, self._seers
        if asked.resources:
            namers = {name: None}
        elif _sees_resources(asked, schema):
            seers = {name: None}
        else:
            return
        if namers and seers:
            namer, seer = next(iter(namers)), next(iter(seers))
            raise SettingError(
                f"'{namer}' names rdfs:Resource or rdf:Property, which everything is then, and "
                f"'{seer}' would find that too; run them apart, or name classes in '{seer}'"
            )

    def tables(self) -> Tables | None:
        """What follows for what all queries ask for; none if nothing does."""
        if self._schema is None or not self._asked:
            return None
        if self._together is None:
            self._together = reduce(Asked.and_also, self._asked.values())
        if self._known is None or self._known[0] != self._together:
            effects = effects_of(self._schema, self._together)
            self._known = (self._together, compiled(effects, self._dictionary.seed))
        return self._known[1]

    def with_entailed(self, static: pl.DataFrame) -> pl.DataFrame:
        """Static data with what follows from them; the same frame as long as these are."""
        tables = self.tables()
        if tables is None:
            return static
        if self._static is None or self._static[0] is not static or self._static[1] is not tables:
            found = all_entailed(static, tables, self._dictionary)
            self._static = (static, tables, found)
        return self._static[2]

    def with_entailed_statements(self, static: Quads) -> Quads:
        """The same of statements as patterns are matched against them."""
        entailed = self.with_entailed(static.frame)
        if entailed is static.frame:
            return static
        if self._statements is None or self._statements.frame is not entailed:
            self._statements = Quads(entailed)
        return self._statements


def _sees_resources(asked: Asked, schema: Schema) -> bool:
    """Whether a query that does not ask for it would find that everything is a resource."""
    return asked.classes is None or schema.links_type
