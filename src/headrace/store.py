"""Static data and plain SPARQL over it: load files, ask queries."""

from __future__ import annotations

import time
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import polars as pl

from headrace.algebra.operators import Service
from headrace.algebra.query import Query
from headrace.algebra.walk import everywhere
from headrace.background.config import ServiceConfig
from headrace.background.endpoint import EndpointClient
from headrace.background.errors import RefusedError, ServiceError
from headrace.background.refreshing import Fetcher
from headrace.background.services import Services
from headrace.background.ways import Way, Ways
from headrace.dialects import Parsed, parse
from headrace.errors import (
    DataError,
    QueryError,
    SettingError,
    Source,
    UnsupportedError,
    limited_depth,
)
from headrace.functions.call_checks import find_call_problems
from headrace.functions.calls import Calls
from headrace.functions.evaluate import EvaluationContext
from headrace.functions.table import Functions
from headrace.functions.value_failures import FailuresByQuery, ValueFailure
from headrace.kernel.answer import Answer, answer
from headrace.kernel.budget import Budget
from headrace.kernel.columns import GRAPH, PREDICATE, QUADS, STATEMENT
from headrace.kernel.data import Quads
from headrace.kernel.dictionary import Dictionary
from headrace.kernel.entailed import all_entailed
from headrace.kernel.evaluation import Around, InstantError
from headrace.kernel.solutions import Solutions
from headrace.kernel.surroundings import Surroundings
from headrace.metering import EvaluationLimits, Meter, metered
from headrace.pipeline.static import StaticData
from headrace.planning.entailing import asked_by
from headrace.planning.plain import check_plain
from headrace.rdf.files import content
from headrace.rdf.formats import Format, format_of_media_type, format_of_path
from headrace.rdf.options import FILE_LIMITS, OnError, ReadOptions
from headrace.rdf.reading import read
from headrace.rdf.scopes import Scope
from headrace.rdf.terms import Iri, Literal, Quad
from headrace.rdf.vocabulary import XSD_DATE_TIME
from headrace.reasoning.effects import effects_of
from headrace.reasoning.reduction import Asked
from headrace.reasoning.schema import Schema
from headrace.reasoning.tables import compiled
from headrace.rewrite.sources import KnownPredicates
from headrace.schemas import GivenSchema, Schemas

_MOST_KNOWN: Final = 8
"""What follows from the data is remembered for so many sets of what queries ask for."""
_ONE_QUERY: Final = ""
"""The name under which failures are counted: queries of a store have none."""


class Store:
    """An RDF dataset in memory, encoded once, that answers SPARQL 1.1 queries.

    >>> store = Store()
    >>> store.add([Quad(Iri("x:ann"), Iri("x:age"), Literal("41"))])
    >>> store.query("SELECT ?age { <x:ann> <x:age> ?age }").rows
    ((Literal(lexical='41', datatype='http://www.w3.org/2001/XMLSchema#string', language=None),),)
    """

    def __init__(  # noqa: PLR0913 - each is a choice of its own
        self,
        *,
        services: ServiceConfig | None = None,
        functions: Functions | None = None,
        max_rows: int = EvaluationLimits().rows,
        max_bytes: int = EvaluationLimits().bytes,
        timeout: float | None = None,
        seed: int = 0,
        schema: GivenSchema = None,
    ) -> None:
        """Start empty.

        Args:
            services: which endpoints SERVICE may ask; none, if not given.
            functions: extension functions by IRI.
            max_rows: how many rows any part of a query may make.
            max_bytes: how many bytes any part of a query may make.
            timeout: how many seconds a query may take.
            seed: of the ids of its terms.
            schema: what queries read the data under, or schemas by the names that FROM SCHEMA
                has for them; a static graph may be named so too.
        """
        self.schemas = Schemas(schema, self.graph)
        self._dictionary = Dictionary(seed)
        self._statements = Quads(QUADS.to_frame())
        config = services or ServiceConfig()
        self._client = EndpointClient(config)
        told = None if config.join == "auto" else Way(config.join)
        self._ways = Ways(time.monotonic, told)
        self._fetcher = Fetcher(self._client, config, self._dictionary)
        self._functions = functions or Functions()
        self._limits = EvaluationLimits(max_rows, max_bytes, timeout)
        self._failures = FailuresByQuery()
        self._files = 0
        self._expected: KnownPredicates | None = None
        self._predicates: tuple[pl.DataFrame, frozenset[tuple[Iri | None, Iri]]] | None = None
        self._known: dict[tuple[str, Asked], tuple[pl.DataFrame, pl.DataFrame]] = {}

    def __enter__(self) -> Self:
        """Use it until the end of the block."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the connections to endpoints."""
        self.close()

    def close(self) -> None:
        """Close the connections to endpoints."""
        self._fetcher.close()
        self._client.close()

    @property
    def dictionary(self) -> Dictionary:
        """The terms of its statements, and of whatever is evaluated with them."""
        return self._dictionary

    @property
    def quads(self) -> pl.DataFrame:
        """Its statements as columns of ids."""
        return self._statements.frame

    @property
    def statements(self) -> Quads:
        """Its statements as patterns are matched against them."""
        return self._statements

    def expect(self, known: KnownPredicates) -> None:
        """Declare the predicates of static data that a run loads later."""
        self._expected = known

    def known_predicates(self) -> KnownPredicates:
        """Return the predicates of static data, by which plans tell them from streams."""
        return self._expected or KnownPredicates(self._own_predicates())

    def _own_predicates(self) -> frozenset[tuple[Iri | None, Iri]]:
        frame = self._statements.frame
        if self._predicates is None or self._predicates[0] is not frame:
            pairs = frame.select(GRAPH, PREDICATE).unique()
            terms = zip(
                *(self._dictionary.terms(pairs[each]) for each in pairs.columns), strict=True
            )
            found = (
                (graph if isinstance(graph, Iri) else None, predicate)
                for graph, predicate in terms
                if isinstance(predicate, Iri)
            )
            self._predicates = (frame, frozenset(found))
        return self._predicates[1]

    @property
    def functions(self) -> Functions:
        """The extension functions."""
        return self._functions

    @property
    def failures(self) -> tuple[ValueFailure, ...]:
        """What expressions of its queries could not compute so far, by cause and subject."""
        return self._failures.by_query().get(_ONE_QUERY, ())

    def services(self) -> Services:
        """How SERVICE is asked."""
        return Services(self._client, self._dictionary, self._ways)

    def around(self, limits: EvaluationLimits) -> Around:
        """What continuous queries over its data share.

        Args:
            limits: what one evaluation may use.
        """
        services = self.services()

        def ask(service: Service, solutions: Solutions) -> Solutions:
            try:
                return services(service, solutions)
            except ServiceError as error:
                raise InstantError(str(error)) from error

        return Around(
            self._dictionary,
            self._statements,
            ask,
            self._functions,
            lambda: Budget(limits.rows, limits.bytes),
            lambda: Meter(limits, time.monotonic),
            fetch=self._fetcher,
        )

    def __len__(self) -> int:
        """How many statements there are."""
        return self.quads.height

    def load(self, path: Path | str, graph: str | None = None) -> list[DataError]:
        """Load a file into the default graph or a named one; what cannot be read is returned.

        Raises:
            SettingError: the file is missing, or of a format that is not known.
        """
        path = Path(path)
        try:
            data = content(path)
        except OSError as error:
            raise SettingError(f"cannot read {path}: {error.strerror}") from None
        base = path.resolve().as_uri()
        return self._read(data, format_of_path(path), str(path), base, graph)

    def load_text(
        self, text: str, graph: str | None = None, *, syntax: str = "text/turtle"
    ) -> list[DataError]:
        """Load RDF text of a media type, as a file would be."""
        return self._read(text, format_of_media_type(syntax), "text", None, graph)

    def _read(
        self, data: str | bytes, syntax: Format, name: str, base: str | None, graph: str | None
    ) -> list[DataError]:
        errors: list[DataError] = []
        self._files += 1
        options = ReadOptions(base=base, limits=FILE_LIMITS)
        scope = Scope(f"f{self._files}")
        quads = read(data, syntax, name=name, scope=scope, options=options, on_error=errors.append)
        named = None if graph is None else Iri(graph)
        placed = (
            Quad(each.subject, each.predicate, each.object, each.graph or named) for each in quads
        )
        self.add(placed, errors.append)
        return errors

    def graph(self, name: Iri) -> list[Quad]:
        """The statements of a named graph."""
        found = self.quads.filter(pl.col(GRAPH) == self._dictionary.encode(name))
        terms = [self._dictionary.terms(found[place]) for place in STATEMENT]
        return [
            Quad(subject, predicate, object_, graph)
            for graph, subject, predicate, object_ in zip(*terms, strict=True)
        ]

    def has_graph(self, name: str) -> bool:
        """Whether there is a statement in a named graph."""
        return self._dictionary.encode(Iri(name)) in self.quads[GRAPH]

    def add(self, quads: Iterable[Quad], on_error: OnError = None) -> None:
        """Add statements; one that cannot be told from another is an error, or only reported."""
        new = self._dictionary.encode_quads(quads, on_error)
        self._take(new)

    def add_encoded(self, quads: pl.DataFrame, terms: pl.DataFrame) -> None:
        """Add statements as columns of ids of its seed, and the terms that they stand for."""
        self._dictionary.learn(terms)
        self._take(quads.select(*QUADS))

    def _take(self, new: pl.DataFrame) -> None:
        both = new if self.quads.is_empty() else pl.concat([self.quads, new])
        self._statements = Quads(both.unique(maintain_order=True))

    def replace_graph(self, name: Iri | None, quads: Iterable[Quad]) -> None:
        """Have some statements in place of all that a graph said; none removes the graph."""
        graph = pl.col(GRAPH)
        own = graph.is_null() if name is None else graph == self._dictionary.encode(name)
        self._statements = Quads(self.quads.filter(~own.fill_null(value=False)))
        placed = (Quad(each.subject, each.predicate, each.object, name) for each in quads)
        self.add(placed)

    def reset(self, statements: Quads) -> None:
        """Go back to statements that it had, before others were added."""
        self._statements = statements

    def use(self, data: StaticData) -> None:
        """Have encoded data of its seed in place of all that was there, where they lie.

        What follows from them is kept with them, until something else is added.
        """
        lasting = self._dictionary.adopt(data.terms)
        self._statements = data.statements(lasting=lasting)

    def query(self, text: str, *, base: str | None = None, now: datetime | None = None) -> Answer:
        """Answer a SPARQL query.

        Raises:
            QueryError: the query is wrong, or reads a stream.
            LimitError: it needs too many rows or bytes, or too much time.
            ServiceError: an endpoint does not answer.
        """
        parsed = parse(text, base=base)
        self.check(parsed)
        return self.answer(parsed.query, now=now, source=parsed.source)

    def check(self, parsed: Parsed) -> None:
        """Refuse what a store cannot do, rather than answer as if it were not there.

        Raises:
            UnsupportedError: the query reads a stream, gives a SERVICE a budget, asks for
                timestamps, or calls a function that nobody has registered.
        """
        query, source = parsed.query, parsed.source
        if query.is_continuous:
            where = query.windows[0].span
            raise UnsupportedError(
                "the query reads a stream, and here are none",
                source,
                where,
                hint="run it with `headrace run`, or register it with headrace.Engine",
            )
        check_plain(query, source)
        self.check_functions(parsed)

    def check_functions(self, parsed: Parsed) -> None:
        """Refuse a query with a call or a constant that can never have a value.

        Raises:
            QueryError: saying which, and where.
        """
        for problem in find_call_problems(parsed.query.pattern, self._functions):
            raise problem.error(parsed.source)

    def check_services(self, parsed: Parsed) -> None:
        """Refuse a query that names an endpoint which may not be asked, unless it says SILENT.

        Raises:
            QueryError: saying which, where, and how to allow it.
        """
        found = [each for each in everywhere(parsed.query.pattern) if isinstance(each, Service)]
        # What stands inside another SERVICE is asked by that endpoint, and not by us.
        inner = {id(each) for outer in found for each in everywhere(outer.input)}
        for operator in found:
            match operator:
                case Service(endpoint=Iri() as endpoint, silent=False) if id(operator) not in inner:
                    try:
                        self._client.admitted(endpoint)
                    except RefusedError as error:
                        problem = f"SERVICE <{error.endpoint}>: {error.problem}"
                        where = parsed.source, operator.span
                        raise QueryError(problem, *where, error.hint) from None

    def _under(self, schema: Schema | None, query: Query) -> pl.DataFrame:
        """The statements with what follows from them, as far as a query asks for it."""
        if schema is None:
            return self.quads
        key = (schema.digest, asked_by(query.pattern, query.form))
        if key not in self._known or self._known[key][0] is not self.quads:
            tables = compiled(effects_of(schema, key[1]), self._dictionary.seed)
            found = self.quads
            if tables is not None:
                found = all_entailed(found, tables, self._dictionary)
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[key] = (self.quads, found)
        return self._known[key][1]

    def answer(
        self,
        query: Query,
        *,
        now: datetime | None = None,
        source: Source | None = None,
        failures: FailuresByQuery | None = None,
        meter: Meter | None = None,
    ) -> Answer:
        """Answer a query that has been parsed.

        Args:
            query: what is asked.
            now: the time that NOW() has; that of the clock, if not given.
            source: the text of the query, for errors.
            failures: counts what its expressions cannot compute, under an empty name; else the
                store does.
            meter: checks the limits of the evaluation; a new one, if not given.
        """
        quads = self._under(self.schemas.of(query, source), query)
        moment = (now or datetime.now(UTC)).astimezone(UTC)
        stamp = Literal(f"{moment:%Y-%m-%dT%H:%M:%S.%f}Z", XSD_DATE_TIME)
        counted = self._failures if failures is None else failures
        calls = Calls(failures=counted.recorder([_ONE_QUERY]))
        meter = meter or Meter(self._limits, time.monotonic)
        around = Surroundings(
            self._dictionary,
            budget=Budget(self._limits.rows, self._limits.bytes, meter),
            context=EvaluationContext(
                stamp, functions=self._functions, seed=stamp.lexical.encode(), calls=calls
            ),
            moment=lambda _instant: stamp,
            service=self.services(),
        )
        with metered(meter), limited_depth(source):
            return answer(query, quads, around)
