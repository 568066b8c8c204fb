"""The parser tests of the W3C: RDF 1.1, and RDF-star of the community group."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import pyoxigraph as ox
import pytest

from headrace.errors import DataError
from headrace.rdf.formats import Format, format_of_path
from headrace.rdf.options import FILE_LIMITS, ReadOptions
from headrace.rdf.reading import read
from headrace.rdf.terms import BlankNode, Iri, Literal, Quad, QuotedTriple, Term
from headrace.rdf.vocabulary import RDF_FIRST, RDF_REST, RDF_TYPE
from tests.shared import DATA

MF = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#"
RDFT = "http://www.w3.org/ns/rdftest#"

RDF11 = DATA / "w3c-rdf-tests/rdf/rdf11"
RDF11_BASE = "https://w3c.github.io/rdf-tests/rdf/rdf11/"
STAR = DATA / "w3c-rdf-star-cg/tests"
STAR_BASE = "https://w3c.github.io/rdf-star/tests/"

SUITES = {
    RDF11 / "rdf-n-triples": RDF11_BASE + "rdf-n-triples/",
    RDF11 / "rdf-n-quads": RDF11_BASE + "rdf-n-quads/",
    RDF11 / "rdf-turtle": RDF11_BASE + "rdf-turtle/",
    RDF11 / "rdf-trig": RDF11_BASE + "rdf-trig/",
    STAR / "nt/syntax": STAR_BASE + "nt/syntax/",
    STAR / "turtle/syntax": STAR_BASE + "turtle/syntax/",
    STAR / "turtle/eval": STAR_BASE + "turtle/eval/",
    STAR / "trig/syntax": STAR_BASE + "trig/syntax/",
    STAR / "trig/eval": STAR_BASE + "trig/eval/",
}

DEVIATIONS: dict[str, str] = {}
"""Why we do not do what a test asks for, by its id. Each is checked to be still one."""


@dataclass(frozen=True, slots=True)
class Case:
    """One entry of a manifest."""

    suite: str
    name: str
    kind: str
    action: Path
    base: str
    result: Path | None

    @property
    def id(self) -> str:
        return f"{self.suite}/{self.name}"


def options(base: str) -> ReadOptions:
    return ReadOptions(base=base, limits=FILE_LIMITS)


def cases() -> Iterator[Case]:
    for folder, base in SUITES.items():
        manifest = folder / "manifest.ttl"
        if manifest.exists():
            yield from entries(manifest, folder, base)


def entries(manifest: Path, folder: Path, base: str) -> Iterator[Case]:
    quads = read(
        manifest.read_bytes(), Format.TURTLE, name=str(manifest), options=options(base + "manifest")
    )
    values: dict[tuple[Term, str], Term] = {}
    for quad in quads:
        assert isinstance(quad.predicate, Iri)
        values[quad.subject, quad.predicate.value] = quad.object
    [(_, listed)] = [(key, value) for key, value in values.items() if key[1] == MF + "entries"]
    while (listed, RDF_FIRST) in values:
        entry = values[listed, RDF_FIRST]
        kind, name = values[entry, RDF_TYPE], values[entry, MF + "name"]
        action, result = values[entry, MF + "action"], values.get((entry, MF + "result"))
        assert isinstance(kind, Iri)
        assert isinstance(action, Iri)
        assert isinstance(name, Literal)
        assert isinstance(entry, Iri)
        yield Case(
            folder.relative_to(DATA).as_posix(),
            entry.value.rpartition("#")[2],
            kind.value.removeprefix(RDFT),
            folder / action.value.removeprefix(base),
            action.value,
            folder / result.value.removeprefix(base) if isinstance(result, Iri) else None,
        )
        listed = values[listed, RDF_REST]


CASES = list(cases())


Node: TypeAlias = ox.NamedNode | ox.BlankNode | ox.Literal


class Unfolded:
    """A dataset in which a quoted triple is a node with three properties.

    RDF 1.2, whose canonical names for blank nodes we compare by, has no triples as subjects.
    """

    def __init__(self, quads: Iterator[Quad]) -> None:
        self._found = ox.Dataset()
        self._nodes: dict[QuotedTriple, ox.BlankNode] = {}
        for quad in quads:
            self._add(quad.subject, quad.predicate, quad.object, quad.graph)

    def canonical(self) -> set[str]:
        self._found.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
        return {str(quad) for quad in self._found}

    def _add(self, subject: Term, predicate: Term, object_: Term, graph: Term | None) -> None:
        nodes = [self._node(term) for term in (subject, predicate)]
        name = ox.DefaultGraph() if graph is None else self._node(graph)
        assert not isinstance(nodes[0], ox.Literal)
        assert isinstance(nodes[1], ox.NamedNode)
        assert not isinstance(name, ox.Literal)
        self._found.add(ox.Quad(nodes[0], nodes[1], self._node(object_), name))

    def _node(self, term: Term) -> Node:
        match term:
            case Iri(value):
                return ox.NamedNode(value)
            case BlankNode(label):
                return ox.BlankNode(f"n{label}")
            case Literal(lexical, datatype, language):
                if language is not None:
                    return ox.Literal(lexical, language=language)
                return ox.Literal(lexical, datatype=ox.NamedNode(datatype))
            case QuotedTriple():
                return self._quoted(term)

    def _quoted(self, triple: QuotedTriple) -> ox.BlankNode:
        if triple not in self._nodes:
            label = f"quoted{len(self._nodes)}"
            self._nodes[triple] = ox.BlankNode(f"n{label}")
            for name in ("subject", "predicate", "object"):
                self._add(BlankNode(label), Iri(f"urn:{name}"), getattr(triple, name), None)
        return self._nodes[triple]


def check(case: Case) -> None:
    quads = read(case.action.read_bytes(), format_of_path(case.action), options=options(case.base))
    if "Negative" in case.kind:
        with pytest.raises(DataError):
            list(quads)
    elif case.kind.endswith("Eval"):
        assert case.result is not None
        expected = read(case.result.read_bytes(), format_of_path(case.result))
        assert Unfolded(quads).canonical() == Unfolded(expected).canonical()
    else:
        assert case.kind.endswith("PositiveSyntax")
        list(quads)


@pytest.mark.skipif(not CASES, reason=f"the W3C tests are not in {DATA}")
def test_the_suites_are_all_there() -> None:
    suites = [case.suite for case in CASES]
    assert len(set(suites)) == len(SUITES)
    assert len(suites) == len({case.id for case in CASES})
    assert set(DEVIATIONS) <= {case.id for case in CASES}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_w3c(case: Case) -> None:
    if case.id in DEVIATIONS:
        with pytest.raises((AssertionError, DataError, pytest.fail.Exception)):
            check(case)
    else:
        check(case)
