"""Graphs as Turtle-star, a block for each subject, in the order in which they come.

pyoxigraph writes RDF 1.2, in which a quoted triple is no subject; so this is our own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from headrace.errors import DataError
from headrace.rdf.terms import Iri, Literal, Quad, QuotedTriple, Term, canonical
from headrace.rdf.vocabulary import RDF_TYPE, XSD_BOOLEAN, XSD_INTEGER, XSD_STRING

_LOCAL: Final = re.compile(r"[A-Za-z_](?:[A-Za-z0-9_-])*")
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")


def to_turtle(quads: Iterable[Quad], prefixes: Mapping[str, str] | None = None) -> str:
    r"""Statements of the default graph as Turtle.

    >>> quad = Quad(Iri("http://a/s"), Iri(RDF_TYPE), Iri("http://a/C"))
    >>> print(to_turtle([quad], {"": "http://a/", "unused": "http://b/"}), end="")
    @prefix : <http://a/> .
    <BLANKLINE>
    :s a :C .

    Raises:
        DataError: if a statement stands in a named graph, for which there is no place.
    """
    writer = _Writer(prefixes or {})
    subjects: dict[Term, dict[Term, dict[Term, None]]] = {}
    for quad in quads:
        if quad.graph is not None:
            graph = canonical(quad.graph)
            raise DataError(f"Turtle has no place for the graph {graph}; write N-Quads")
        subjects.setdefault(quad.subject, {}).setdefault(quad.predicate, {})[quad.object] = None
    blocks = [writer.block(subject, said) for subject, said in subjects.items()]
    return writer.prologue() + "".join(blocks)


class _Writer:
    def __init__(self, prefixes: Mapping[str, str]) -> None:
        # The longest one first, because it says most.
        self._prefixes = sorted(prefixes.items(), key=lambda each: -len(each[1]))
        self._used: dict[str, str] = {}

    def prologue(self) -> str:
        """The prefixes that were used."""
        lines = (f"@prefix {name}: {canonical(Iri(iri))} .\n" for name, iri in self._used.items())
        return "".join(sorted(lines)) + ("\n" if self._used else "")

    def block(self, subject: Term, said: Mapping[Term, Mapping[Term, None]]) -> str:
        """All that is said about a subject."""
        lines = (
            f"{self._predicate(predicate)} {', '.join(map(self._term, objects))}"
            for predicate, objects in said.items()
        )
        return f"{self._term(subject)} " + " ;\n    ".join(lines) + " .\n"

    def _predicate(self, predicate: Term) -> str:
        return "a" if predicate == Iri(RDF_TYPE) else self._term(predicate)

    def _term(self, term: Term) -> str:
        match term:
            case Iri(value):
                return self._iri(value)
            case Literal(lexical, datatype) if datatype == XSD_INTEGER:
                return lexical if _INTEGER.fullmatch(lexical) else self._typed(term)
            case Literal(lexical, datatype) if datatype == XSD_BOOLEAN:
                return lexical if lexical in {"true", "false"} else self._typed(term)
            case Literal(_, datatype, None) if datatype != XSD_STRING:
                return self._typed(term)
            case QuotedTriple(subject, predicate, object_):
                spoken = map(self._term, (subject, predicate, object_))
                return f"<< {' '.join(spoken)} >>"
            case _:
                return canonical(term)

    def _typed(self, literal: Literal) -> str:
        return f"{canonical(Literal(literal.lexical))}^^{self._iri(literal.datatype)}"

    def _iri(self, value: str) -> str:
        for name, start in self._prefixes:
            if value.startswith(start) and _LOCAL.fullmatch(value, len(start)):
                self._used[name] = start
                return f"{name}:{value[len(start) :]}"
        return canonical(Iri(value))
