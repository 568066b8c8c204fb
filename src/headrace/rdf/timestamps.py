"""The event time of RDF that says it itself: elements of documents whose graphs carry a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from headrace.errors import DataError
from headrace.rdf.elements import Element
from headrace.rdf.options import OnError, report
from headrace.rdf.terms import Iri, Literal, Quad, Term
from headrace.rdf.times import microseconds

GENERATED_AT: Final = Iri("http://www.w3.org/ns/prov#generatedAtTime")


def timed_elements(
    quads: Iterable[Quad], name: str, on_error: OnError = None, predicate: Iri = GENERATED_AT
) -> Iterator[Element]:
    """The elements of a document: each named graph with its time, or the whole of it.

    The time of a graph is what the predicate says of its name, in the default graph or in the
    graph itself; else the only time that stands in it. The triple that says it belongs to the
    element.

    Raises:
        DataError: an element has no time, or several, and nobody is told of it.
    """
    every = list(quads)
    graphs = {quad.graph for quad in every}
    alone = [quad for quad in every if quad.graph is None and quad.subject not in graphs]
    if alone and len(graphs) > 1:
        problem = f"{len(alone)} statements of the default graph are about none of its graphs"
        report(DataError(f"{problem}, the first {alone[0].subject}", name), on_error)
    for graph, statements in _graphs(every):
        said = _times([quad for quad in statements if quad.subject == graph], predicate)
        try:
            said = said or _times(statements, predicate)
            element = _element(statements, said, name, predicate)
        except DataError as error:
            report(error, on_error)
        else:
            yield element


def _graphs(quads: list[Quad]) -> Iterator[tuple[Term | None, list[Quad]]]:
    """Each named graph with what the default graph says of it, or the only graph there is."""
    inside: dict[Term, list[Quad]] = {}
    about: dict[Term, list[Quad]] = {}
    for quad in quads:
        if quad.graph is None:
            about.setdefault(quad.subject, []).append(quad)
        else:
            inside.setdefault(quad.graph, []).append(quad)
    if not inside and quads:
        yield None, quads
    for graph, statements in inside.items():
        yield graph, [*about.get(graph, ()), *statements]


def _times(quads: Iterable[Quad], predicate: Iri) -> set[Term]:
    return {quad.object for quad in quads if quad.predicate == predicate}


def _element(quads: list[Quad], said: set[Term], name: str, predicate: Iri) -> Element:
    moments = {_moment(term, name) for term in said}
    if len(moments) != 1:
        found = "none" if not moments else f"{len(moments)} of them"
        problem = f"expected one event time (<{predicate.value}>) in an element, found {found}"
        raise DataError(f"{problem}; it begins with {quads[0].subject}", name)
    return Element(moments.pop(), tuple(quads))


def _moment(term: Term, name: str) -> int:
    if not isinstance(term, Literal):
        raise DataError(f"expected a time as the event time, found {term}", name)
    try:
        return microseconds(term.lexical)
    except ValueError as error:
        raise DataError(str(error), name) from None
