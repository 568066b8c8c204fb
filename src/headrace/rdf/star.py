"""RDF-star as the community group wrote it, on top of a parser for RDF 1.2.

Turtle and TriG of RDF-star are, but for a few tokens refused here, a subset of those of RDF 1.2,
where ``<< s p o >>`` stands for a fresh blank node that reifies the triple. As nothing else can
make such a node, putting the triple back in its place gives the meaning RDF-star has.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from pyoxigraph import BlankNode, Quad, Triple

from headrace.errors import DataError
from headrace.rdf.lexical import ONLY_RDF12, OUT_OF_PLACE, position

_HAS_STAR = re.compile(r"<<|\{\|")
_MAY_BE_RDF12 = re.compile(r"<<\(|~|\|\}|--|version", re.IGNORECASE)
_HINT: Final = "is of RDF 1.2, which is read in its own mode"


def has_star(text: str) -> bool:
    """Whether a text may quote or annotate triples."""
    return _HAS_STAR.search(text) is not None


def refuse_rdf12(text: str, name: str | None = None) -> None:
    """Refuse syntax that RDF 1.2 has and RDF-star has not.

    Raises:
        DataError: at the first such token.
    """
    if not _MAY_BE_RDF12.search(text):
        return
    for match in ONLY_RDF12.finditer(text):
        token = match["token"]
        if token in OUT_OF_PLACE or not token:
            return  # the end, or an error that the parser describes better
        raise DataError(_problem(token), name, *position(text, match.start("token")))


def _problem(token: str) -> str:
    match token[:2].lower():
        case "<<":
            return f"expected a quoted triple << ... >>, found '<<('; a triple term {_HINT}"
        case "|}":
            return f"expected one annotation, found more after '|}}'; that {_HINT}"
        case "~":
            return f"expected RDF-star, found '~'; a named reifier {_HINT}"
        case "@v" | "ve":
            return f"expected RDF-star, found {token!r}; a version announcement {_HINT}"
        case _:
            return f"expected a language, found {token!r}; a base direction {_HINT}"


def reifiers(quads: Iterable[Quad]) -> Mapping[str, Triple]:
    """The triple that each node made from a quoted triple stands for."""
    return {
        quad.subject.value: quad.object
        for quad in quads
        if isinstance(quad.object, Triple) and isinstance(quad.subject, BlankNode)
    }


def unused(reified: Mapping[str, Triple], quads: Iterable[Quad]) -> Triple | None:
    """A quoted triple that nothing is said about, as in ``<< s p o >> .``, which is no RDF-star."""
    used = set[str]()
    for quad in quads:
        inner = quad.object
        parts = (
            (inner.subject, inner.object) if isinstance(inner, Triple) else (quad.subject, inner)
        )
        used.update(part.value for part in parts if isinstance(part, BlankNode))
    return next((triple for node, triple in reified.items() if node not in used), None)
