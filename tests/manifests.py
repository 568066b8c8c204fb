"""W3C test manifests as values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlparse

import pyoxigraph as ox

MF = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#"
QT = "http://www.w3.org/2001/sw/DataAccess/tests/test-query#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"


@dataclass(frozen=True, slots=True)
class Case:
    """One test: its kind, its name, and the file of its action."""

    kind: str
    name: str
    action: Path

    @property
    def id(self) -> str:
        return f"{self.action.parent.name}/{self.name}"


def cases(manifest: Path, *kinds: str) -> Iterator[Case]:
    """The tests of a manifest that are of one of these kinds."""
    store = ox.Store()
    store.bulk_load(path=str(manifest), format=ox.RdfFormat.TURTLE, base_iri=manifest.as_uri())

    def value(
        subject: ox.NamedNode | ox.BlankNode, predicate: str
    ) -> ox.NamedNode | ox.BlankNode | ox.Literal | ox.Triple | None:
        found = store.quads_for_pattern(subject, ox.NamedNode(predicate), None)
        return next((quad.object for quad in found), None)

    for quad in store.quads_for_pattern(None, ox.NamedNode(RDF + "type"), None):
        assert isinstance(quad.object, ox.NamedNode)
        kind = quad.object.value.rsplit("#", 1)[1]
        subject = quad.subject
        assert isinstance(subject, ox.NamedNode | ox.BlankNode)
        if kind in kinds:
            action = value(subject, MF + "action")
            if isinstance(action, ox.BlankNode):
                action = value(action, QT + "query")
            name = value(subject, MF + "name")
            assert isinstance(action, ox.NamedNode)
            assert isinstance(name, ox.Literal)
            yield Case(kind, name.value, Path(unquote(urlparse(action.value).path)))
