"""What pyoxigraph answers over the contents of some windows.

The body of a query is SPARQL with `WINDOW <w> { ... }`. Each triple pattern in it is marked with
the window that it is read from: `[w| ?x :p ?y ]`, or `[| ?x :p ?y ]` for the default graph.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import Final, NamedTuple

import pyoxigraph as ox

from headrace.rdf import terms as rdf

Row = tuple[rdf.Term | None, ...]

DEFAULT: Final = ox.NamedNode("urn:oracle:default")
STATIC: Final = ox.NamedNode("urn:oracle:static")
WITHIN: Final = ox.NamedNode("urn:oracle:within")
_PATTERN: Final = re.compile(r"\[(\S*)\| (.*?) \]")


class Statements(NamedTuple):
    """What a window holds, each statement with its time."""

    window: str
    timed: Iterable[tuple[int, rdf.Quad]]
    in_default: bool


def answers(
    body: str, contents: Sequence[Statements], static: Sequence[rdf.Quad], *, timed: bool
) -> Counter[Row]:
    """The rows of a SELECT, or the one value of an ASK."""
    return asking(contents, static, timed=timed)(body)


def asking(
    contents: Sequence[Statements], static: Sequence[rdf.Quad], *, timed: bool
) -> Callable[[str], Counter[Row]]:
    """Load the contents of windows once, to ask any number of queries."""
    store = (_timed_store if timed else _store)(contents, static)

    def ask(body: str) -> Counter[Row]:
        found = store.query(_timed_text(body) if timed else _text(body))
        if isinstance(found, ox.QueryBoolean):
            return Counter([(_term(ox.Literal(bool(found))),)])
        assert isinstance(found, ox.QuerySolutions)
        return Counter(tuple(_term(value) for value in solution) for solution in found)

    return ask


def _text(body: str) -> str:
    return _PATTERN.sub(r"\2 .", body).replace("WINDOW <", "GRAPH <")


def _store(contents: Sequence[Statements], static: Sequence[rdf.Quad]) -> ox.Store:
    """A dataset with a graph for each window."""
    store = ox.Store()
    store.extend(_quad(quad, ox.DefaultGraph()) for quad in static)
    for window, held, in_default in contents:
        name = ox.NamedNode(window)
        store.add_graph(name)
        store.extend(_quad(quad, name) for _, quad in held)
        if in_default:
            store.extend(_quad(quad, ox.DefaultGraph()) for _, quad in held)
    return store


def _timed_text(body: str) -> str:
    """Each pattern matches a triple in the graph of its time, and the graph is of the window."""
    numbers = count()

    def timed(found: re.Match[str]) -> str:
        graph, window = f"?oracle{next(numbers)}", f"<{found[1]}>" if found[1] else DEFAULT
        return f"GRAPH {graph} {{ {found[2]} }} {graph} {WITHIN} {window} ."

    return re.sub(r"WINDOW <[^>]*>", "", _PATTERN.sub(timed, body))


def _timed_store(contents: Sequence[Statements], static: Sequence[rdf.Quad]) -> ox.Store:
    """A dataset with a graph for each window and each time."""
    store = ox.Store()
    store.extend(_quad(quad, STATIC) for quad in static)
    store.add(ox.Quad(STATIC, WITHIN, DEFAULT))
    for window, held, in_default in contents:
        for time, quad in held:
            graph = ox.NamedNode(f"{window}#at{time}")
            store.add(_quad(quad, graph))
            store.add(ox.Quad(graph, WITHIN, ox.NamedNode(window)))
            if in_default:
                store.add(ox.Quad(graph, WITHIN, DEFAULT))
    return store


def _quad(quad: rdf.Quad, graph: ox.NamedNode | ox.DefaultGraph) -> ox.Quad:
    named = graph if quad.graph is None else _node(quad.graph)
    return ox.Quad(_node(quad.subject), _node(quad.predicate), _object(quad.object), named)


def _node(term: rdf.Term) -> ox.NamedNode:
    assert isinstance(term, rdf.Iri)
    return ox.NamedNode(term.value)


def _object(term: rdf.Term) -> ox.NamedNode | ox.Literal:
    if not isinstance(term, rdf.Literal):
        return _node(term)
    if term.language is not None:
        return ox.Literal(term.lexical, language=term.language)
    return ox.Literal(term.lexical, datatype=ox.NamedNode(term.datatype))


def _term(found: object) -> rdf.Term | None:
    if isinstance(found, ox.NamedNode):
        return rdf.Iri(found.value)
    if isinstance(found, ox.Literal):
        return rdf.Literal(found.value, found.datatype.value, found.language)
    assert found is None
    return None
