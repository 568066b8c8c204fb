"""The event time of RDF that says it itself: elements of documents whose graphs carry a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from headrace.errors import DataError
from headrace.rdf.elements import Element
from headrace.rdf.terms import Iri, Literal, Quad, Term
from headrace.rdf.times import microseconds

GENERATED_AT: Final = Iri("http://www.w3.org/ns/prov#generatedAtTime")


def timed_elements(
    quads: Iterable[Quad], name: str, predicate: Iri = GENERATED_AT
) -> Iterator[Element]:
    """The elements of a document: each named graph with its time, or the whole of it.

    The time of a graph is what the predicate says of its name, in the default graph or in the
    graph itself; else the only time that stands in it. The triple that says it belongs to the
    element.

    Raises:
        DataError: an element has no time, or several.
    """
    every = list(quads)
    graphs = dict.fromkeys(quad.graph for quad in every if quad.graph is not None)
    if not graphs:
        if every:
            yield _element(every, _times(every, predicate), name)
        return
    default = [quad for quad in every if quad.graph is None]
    for graph in graphs:
        about = [quad for quad in default if quad.subject == graph]
        inside = [quad for quad in every if quad.graph == graph]
        said = _times([quad for quad in (*about, *inside) if quad.subject == graph], predicate)
        yield _element([*about, *inside], said or _times(inside, predicate), name)


def _times(quads: Iterable[Quad], predicate: Iri) -> set[Term]:
    return {quad.object for quad in quads if quad.predicate == predicate}


def _element(quads: list[Quad], said: set[Term], name: str) -> Element:
    moments = {_moment(term, name) for term in said}
    if len(moments) != 1:
        found = "none" if not moments else f"{len(moments)} of them"
        raise DataError(f"expected one event time in an element, found {found}", name)
    return Element(moments.pop(), tuple(quads))


def _moment(term: Term, name: str) -> int:
    if not isinstance(term, Literal):
        raise DataError(f"expected a time as the event time, found {term}", name)
    try:
        return microseconds(term.lexical)
    except ValueError as error:
        raise DataError(str(error), name) from None
