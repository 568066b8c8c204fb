"""Statements as canonical N-Triples and N-Quads."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.errors import DataError
from headrace.rdf.terms import Quad, Triple, canonical


def to_ntriples(statements: Iterable[Triple | Quad]) -> str:
    r"""Statements of the default graph, one a line.

    >>> from headrace.rdf.terms import Iri
    >>> to_ntriples([Triple(Iri("x:s"), Iri("x:p"), Iri("x:o"))])
    '<x:s> <x:p> <x:o> .\n'

    Raises:
        DataError: if a statement stands in a named graph, for which there is no place.
    """
    return "".join(f"{_triple(statement)} .\n" for statement in statements)


def to_nquads(quads: Iterable[Quad]) -> str:
    """Statements with their graphs, one a line."""
    return "".join(f"{nquads_statement(quad)}\n" for quad in quads)


def nquads_statement(quad: Quad) -> str:
    """A statement with its graph and its full stop."""
    spoken = (quad.subject, quad.predicate, quad.object)
    named = () if quad.graph is None else (quad.graph,)
    return " ".join([*map(canonical, (*spoken, *named)), "."])


def _triple(statement: Triple | Quad) -> str:
    if isinstance(statement, Quad) and statement.graph is not None:
        graph = canonical(statement.graph)
        raise DataError(f"N-Triples has no place for the graph {graph}; write N-Quads")
    return " ".join(map(canonical, (statement.subject, statement.predicate, statement.object)))
