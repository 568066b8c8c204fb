"""How the kernel asks a SERVICE: what it has so far goes along, and only what fits returns."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

import polars as pl

from headrace.algebra.expressions import Variable
from headrace.algebra.operators import Operator, Service
from headrace.algebra.scope import possible
from headrace.background.endpoint import EndpointClient
from headrace.background.errors import ServiceError
from headrace.background.ways import Way, Ways
from headrace.errors import QueryError
from headrace.kernel.columns import INSTANT, column
from headrace.kernel.dictionary import Dictionary
from headrace.kernel.join import union
from headrace.kernel.solutions import Solutions, nothing, unit
from headrace.rdf.terms import Iri
from headrace.results.table import Table


@dataclass(frozen=True, slots=True)
class Services:
    """Asks endpoints for the solutions of SERVICE patterns."""

    client: EndpointClient
    dictionary: Dictionary
    ways: Ways | None = None

    def __call__(self, service: Service, solutions: Solutions) -> Solutions:
        """The remote solutions that can fit some solutions, which are then joined with them.

        Raises:
            ServiceError: there is no answer, and the query does not say SILENT.
            QueryError: the endpoint is a variable that nothing binds.
        """
        if isinstance(service.endpoint, Iri):
            return self._asked(service, service.endpoint, solutions)
        return self._asked_each(service, service.endpoint, solutions)

    def _asked_each(self, service: Service, variable: Variable, solutions: Solutions) -> Solutions:
        """The solutions of every endpoint that the variable is bound to."""
        name = column(variable)
        if not solutions.has(variable) or solutions.frame[name].null_count():
            if service.silent:
                return unit()
            raise QueryError(
                f"SERVICE ?{variable.name} needs a value for ?{variable.name} before it is asked",
                hint=f"bind ?{variable.name} in a pattern or VALUES that stands before it",
            )
        answers = []
        for identity in solutions.frame[name].unique().sort().to_list():
            chosen = solutions.frame.filter(solutions.frame[name] == identity)
            (endpoint,) = self.dictionary.terms(chosen[name].head(1))
            if not isinstance(endpoint, Iri):
                if service.silent:
                    answers.append(Solutions(chosen.select(INSTANT, name).head(1)))
                    continue
                raise QueryError(
                    f"SERVICE ?{variable.name} is asked at {endpoint}, which is no IRI"
                )
            found = self._asked(service, endpoint, solutions.with_frame(chosen))
            marked = found.frame.with_columns(pl.lit(identity, pl.Int64).alias(name))
            answers.append(found.with_frame(marked))
        return union(answers, (0,)) if answers else nothing([name])

    def _asked(self, service: Service, endpoint: Iri, solutions: Solutions) -> Solutions:
        try:
            table = self._table(endpoint, service.input, self._bindings(service, solutions))
        except ServiceError:
            if service.silent:
                return unit()
            raise
        return self._solutions(table)

    def _table(self, endpoint: Iri, pattern: Operator, bindings: Table | None) -> Table:
        # What two services of a query call by the same label are two nodes.
        digest = blake2b(f"{endpoint} {pattern!r}".encode(), digest_size=8).hexdigest()
        scope = f"service-{digest}"
        if bindings is None or self.ways is None:
            return self.client.solutions(endpoint, pattern, bindings, scope=scope)

        def ask(way: Way) -> Table:
            sent = None if way is Way.HASH and bindings.rows else bindings
            nested = way is Way.NESTED
            return self.client.solutions(endpoint, pattern, sent, scope=scope, nested=nested)

        requests = -(-len(bindings.rows) // self.client.block)
        return self.ways.asked(endpoint, pattern, requests, ask)

    def _bindings(self, service: Service, solutions: Solutions) -> Table | None:
        shared = sorted(
            (each for each in possible(service.input) if solutions.has(each)),
            key=lambda each: each.name,
        )
        if not shared:
            return None
        names = [column(each) for each in shared]
        distinct = solutions.frame.select(names).unique(maintain_order=True)
        terms = [self.dictionary.terms(distinct[name]) for name in names]
        return Table(tuple(each.name for each in shared), tuple(zip(*terms, strict=True)))

    def _solutions(self, table: Table) -> Solutions:
        instants = pl.repeat(0, len(table.rows), dtype=pl.Int64, eager=True).alias(INSTANT)
        ids = [
            self.dictionary.encode_all(terms).alias(column(Variable(name)))
            for name, terms in table.columns().items()
        ]
        return Solutions(pl.DataFrame([instants, *ids]))
