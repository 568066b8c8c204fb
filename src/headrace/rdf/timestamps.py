"""The event time of RDF that has no column for it, and what it is the time of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from headrace.errors import DataError
from headrace.rdf.elements import Element
from headrace.rdf.options import OnError, report
from headrace.rdf.terms import Iri, Literal, Quad, Term
from headrace.rdf.times import microseconds

GENERATED_AT: Final = Iri("http://www.w3.org/ns/prov#generatedAtTime")


@dataclass(frozen=True, slots=True)
class TimeRule:
    """Where the time of an element is found.

    Attributes:
        predicate: what says it in the element itself; without one it is the time that the source
            has for it, such as that of a file, of a message or of its arrival.
    """

    predicate: Iri | None = GENERATED_AT


SAID_TIME: Final = TimeRule()
"""What an element says with ``prov:generatedAtTime``."""
SOURCE_TIME: Final = TimeRule(predicate=None)
"""What the source says."""


def timed_elements(
    quads: Iterable[Quad],
    name: str | None = None,
    on_error: OnError = None,
    rule: TimeRule = SAID_TIME,
    source_time: int | None = None,
) -> Iterator[Element]:
    """The elements of a document: each named graph with its time, or the whole of it.

    What the default graph says of the name of a graph belongs to the element of that graph. By a
    predicate, the time of a graph is what is said of its name, in the default graph or in the
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
        try:
            if rule.predicate is None:
                time = _of_source(source_time, name)
            else:
                time = _said(graph, statements, rule.predicate, name)
        except DataError as error:
            report(error, on_error)
        else:
            yield Element(time, tuple(statements))


def _moment(term: Term, name: str | None = None) -> int:
    """The microsecond that a term stands for.

    Raises:
        DataError: it stands for none.
    """
    if not isinstance(term, Literal):
        raise DataError(f"expected a time as the event time, found {term}", name)
    try:
        return microseconds(term.lexical)
    except ValueError as error:
        raise DataError(str(error), name) from None


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


def _of_source(time: int | None, name: str | None) -> int:
    if time is None:
        raise DataError("expected a time of the source, which has none", name)
    return time


def _said(graph: Term | None, quads: list[Quad], predicate: Iri, name: str | None) -> int:
    """The time that statements of a graph or about it say."""
    said = _objects([quad for quad in quads if quad.subject == graph], predicate)
    said = said or _objects(quads, predicate)
    moments = {_moment(term, name) for term in said}
    if len(moments) != 1:
        found = "none" if not moments else f"{len(moments)} of them"
        problem = f"expected one event time (<{predicate.value}>) in an element, found {found}"
        problem = f"{problem}; it begins with {quads[0].subject}"
        if not moments:
            problem = f"{problem}; ?time=IRI after the source names another property, and "
            problem = f"{problem}?time=source takes the time of the source"
        raise DataError(problem, name)
    return moments.pop()


def _objects(quads: Iterable[Quad], predicate: Iri) -> set[Term]:
    return {quad.object for quad in quads if quad.predicate == predicate}
