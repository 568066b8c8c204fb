"""Which of the types that there are a client wants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from headrace.serve.problems import Problem

SHORT: Final = {
    "json": "application/json",
    "ndjson": "application/x-ndjson",
    "xml": "application/sparql-results+xml",
    "csv": "text/csv",
    "tsv": "text/tab-separated-values",
    "turtle": "text/turtle",
    "ntriples": "application/n-triples",
    "nquads": "application/n-quads",
    "trig": "application/trig",
    "jsonld": "application/ld+json",
    "html": "text/html",
    "sse": "text/event-stream",
}
"""What `?format=` calls types."""
_ALIASES: Final = {
    "application/json": "application/sparql-results+json",
    "application/xml": "application/sparql-results+xml",
    "text/xml": "application/sparql-results+xml",
    "application/x-turtle": "text/turtle",
    "text/n3": "text/turtle",
    "text/plain": "application/n-triples",
}
"""Other names of types, where those themselves are not among what there is."""


def chosen(
    accept: str | None, offered: Sequence[str], given: str | None = None, what: str = "this"
) -> str:
    """The type to answer with: the one of the greatest quality, and the first of these.

    >>> chosen("text/csv;q=0.5, application/*", ["text/csv", "application/ld+json"])
    'application/ld+json'

    Args:
        accept: the header; none takes all.
        offered: the types that there are, the best first.
        given: what `?format=` says, which goes before it.
        what: what is asked for, for the error.

    Raises:
        Problem: 406, with the types that there are.
    """
    if given:
        named = SHORT.get(given.lower(), given.lower())
        for name in (named, _ALIASES.get(named, "")):
            if name in offered:
                return name
        raise _unacceptable(given, offered, what)
    wanted = _qualities(accept or "*/*")
    ranked = [(_quality(each, wanted), -place) for place, each in enumerate(offered)]
    best = max(ranked, default=(0.0, 0))
    if best[0] <= 0:
        raise _unacceptable(accept or "", offered, what)
    return offered[-best[1]]


def _unacceptable(found: str, offered: Sequence[str], what: str) -> Problem:
    return Problem(406, f"{what} can be had as {', '.join(offered)}, and not as '{found[:200]}'")


def _qualities(accept: str) -> Mapping[str, float]:
    wanted: dict[str, float] = {}
    for part in accept.split(",")[:64]:
        name, *parameters = (each.strip().lower() for each in part.split(";"))
        quality = 1.0
        for each in parameters:
            key, _, value = each.partition("=")
            if key.strip() == "q":
                try:
                    quality = min(1.0, max(0.0, float(value)))
                except ValueError:
                    quality = 0.0
        if name:
            wanted[name] = max(quality, wanted.get(name, 0.0)) if name in wanted else quality
    return wanted


def _quality(offered: str, wanted: Mapping[str, float]) -> float:
    """How much a type is wanted: the most specific range that it is in says so."""
    names = [offered, *(alias for alias, name in _ALIASES.items() if name == offered)]
    for name in names:
        if name in wanted:
            return wanted[name]
    family = offered.partition("/")[0]
    return wanted.get(f"{family}/*", wanted.get("*/*", wanted.get("*", 0.0)))
