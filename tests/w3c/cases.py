"""The evaluation tests of the W3C as values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlparse

import pyoxigraph as ox

MF = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#"
QT = "http://www.w3.org/2001/sw/DataAccess/tests/test-query#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"

Node = ox.NamedNode | ox.BlankNode | ox.Literal | ox.Triple


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One test: a query, its data by graph, its remote data, and the file of its result."""

    suite: str
    name: str
    query: Path
    data: tuple[Path, ...]
    graphs: tuple[Path, ...]
    services: tuple[tuple[str, Path], ...]
    result: Path

    @property
    def id(self) -> str:
        return f"{self.suite}/{self.query.parent.name}/{self.name}"


def path_of(iri: str) -> Path:
    return Path(unquote(urlparse(iri).path))


class _Manifest:
    def __init__(self, manifest: Path) -> None:
        self.store = ox.Store()
        base = manifest.as_uri()
        self.store.bulk_load(path=str(manifest), format=ox.RdfFormat.TURTLE, base_iri=base)

    def values(self, subject: Node, predicate: str) -> list[Node]:
        assert isinstance(subject, ox.NamedNode | ox.BlankNode)
        found = self.store.quads_for_pattern(subject, ox.NamedNode(predicate), None)
        return [quad.object for quad in found]

    def iris(self, subject: Node, predicate: str) -> Iterator[str]:
        for value in self.values(subject, predicate):
            named = self.values(value, QT + "graph") if isinstance(value, ox.BlankNode) else [value]
            assert isinstance(named[0], ox.NamedNode)
            yield named[0].value


def evaluations(suite: str, manifest: Path) -> Iterator[Evaluation]:
    """The evaluation tests of a manifest."""
    found = _Manifest(manifest)
    kinds = ("QueryEvaluationTest", "CSVResultFormatTest")
    for kind in kinds:
        for quad in found.store.quads_for_pattern(
            None, ox.NamedNode(RDF + "type"), ox.NamedNode(MF + kind)
        ):
            yield _evaluation(suite, found, quad.subject)


def _evaluation(suite: str, manifest: _Manifest, test: Node) -> Evaluation:
    (action,) = manifest.values(test, MF + "action")
    (name,) = manifest.values(test, MF + "name")
    (result,) = manifest.values(test, MF + "result")
    assert isinstance(name, ox.Literal)
    assert isinstance(result, ox.NamedNode)
    services = []
    for remote in manifest.values(action, QT + "serviceData"):
        (endpoint,) = manifest.iris(remote, QT + "endpoint")
        services += [(endpoint, path_of(data)) for data in manifest.iris(remote, QT + "data")]
    return Evaluation(
        suite,
        name.value,
        path_of(next(manifest.iris(action, QT + "query"))),
        tuple(map(path_of, manifest.iris(action, QT + "data"))),
        tuple(map(path_of, manifest.iris(action, QT + "graphData"))),
        tuple(services),
        path_of(result.value),
    )
