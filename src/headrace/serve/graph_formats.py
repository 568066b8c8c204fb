"""Graphs in the types that HTTP knows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import pyoxigraph

from headrace.errors import DataError
from headrace.rdf.terms import Quad
from headrace.rdf.writing import to_nquads, to_ntriples
from headrace.results.turtle import to_turtle
from headrace.serve.problems import Problem

TURTLE: Final = "text/turtle"
N_TRIPLES: Final = "application/n-triples"
N_QUADS: Final = "application/n-quads"
TRIG: Final = "application/trig"
JSON_LD: Final = "application/ld+json"
GRAPH_TYPES: Final = (TURTLE, N_TRIPLES, N_QUADS, TRIG, JSON_LD)
DATASET_TYPES: Final = (N_QUADS, TRIG, JSON_LD)
PREFIXES: Final = {
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
    "dct": "http://purl.org/dc/terms/",
    "dcat": "http://www.w3.org/ns/dcat#",
    "vocals": "http://w3id.org/rsp/vocals#",
    "vsd": "http://w3id.org/rsp/vocals-sd#",
    "sd": "http://www.w3.org/ns/sparql-service-description#",
    "void": "http://rdfs.org/ns/void#",
    "sosa": "http://www.w3.org/ns/sosa/",
    "prov": "http://www.w3.org/ns/prov#",
    "geo": "http://www.w3.org/2003/01/geo/wgs84_pos#",
}


def graph_bytes(
    quads: Iterable[Quad], media_type: str, prefixes: Mapping[str, str] | None = None
) -> bytes:
    """Statements in a type.

    Raises:
        Problem: 406 if the type has no place for them.
    """
    known = {**PREFIXES, **(prefixes or {})}
    try:
        match media_type:
            case "text/turtle":
                return to_turtle(quads, known).encode()
            case "application/n-triples":
                return to_ntriples(quads).encode()
            case "application/n-quads":
                return to_nquads(quads).encode()
            case "application/trig":
                return _trig(quads, known).encode()
            case _:
                return _json_ld(quads)
    except DataError as error:
        raise Problem(406, f"{error.problem}: ask for {N_QUADS}") from None


def _trig(quads: Iterable[Quad], prefixes: Mapping[str, str]) -> str:
    graphs: dict[str, list[Quad]] = {}
    for quad in quads:
        name = "" if quad.graph is None else str(quad.graph)
        graphs.setdefault(name, []).append(Quad(quad.subject, quad.predicate, quad.object))
    used: dict[str, None] = {}
    blocks = []
    for name, own in graphs.items():
        head, _, text = to_turtle(own, prefixes).rpartition("\n\n") if own else ("", "", "")
        used |= dict.fromkeys(head.splitlines())
        blocks.append(f"{name} {{\n{text}}}\n" if name else text)
    return "".join(f"{line}\n" for line in sorted(used) if line) + "\n" + "\n".join(blocks)


def _json_ld(quads: Iterable[Quad]) -> bytes:
    text = to_nquads(quads)
    try:
        parsed = pyoxigraph.parse(text, pyoxigraph.RdfFormat.N_QUADS)
        found = pyoxigraph.serialize(parsed, format=pyoxigraph.RdfFormat.JSON_LD)
    except (SyntaxError, ValueError, OSError):
        raise DataError("JSON-LD has no place for quoted triples as subjects") from None
    return found or b"[]"
