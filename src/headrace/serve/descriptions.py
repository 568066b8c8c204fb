"""What streams, the catalogue and the SPARQL endpoint say of themselves, in RDF."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from headrace.rdf.formats import Format
from headrace.rdf.terms import BlankNode, Iri, Literal, Quad
from headrace.rdf.vocabulary import RDF_TYPE, XSD_INTEGER

_VOCALS: Final = "http://w3id.org/rsp/vocals#"
_VSD: Final = "http://w3id.org/rsp/vocals-sd#"
_DCAT: Final = "http://www.w3.org/ns/dcat#"
_DCT: Final = "http://purl.org/dc/terms/"
_SD: Final = "http://www.w3.org/ns/sparql-service-description#"
_FORMATS: Final = "http://www.w3.org/ns/formats/"
_VOID: Final = "http://rdfs.org/ns/void#"
_MEDIA: Final = "https://www.iana.org/assignments/media-types/"


@dataclass(frozen=True, slots=True)
class Described:
    """What is said of a stream.

    Attributes:
        iri: of the stream.
        url: of the stream at this server.
        title: for people.
        description: for people.
        license: for people.
        pushed: whether elements can be pushed to it.
        query: the URL of the query that makes it, if one does.
    """

    iri: str
    url: str
    title: str | None
    description: str | None
    license: str | None
    pushed: bool = True
    query: str | None = None


def described(stream: Described) -> Iterator[Quad]:
    """A stream by VoCaLS, as a dataset of DCAT."""
    own, descriptor = Iri(stream.iri), Iri(stream.url)
    if stream.iri != stream.url:
        yield _is(descriptor, f"{_VOCALS}StreamDescriptor")
        yield Quad(descriptor, Iri(f"{_DCAT}dataset"), own)
    yield _is(own, f"{_VOCALS}RDFStream")
    yield _is(own, f"{_DCAT}Dataset")
    for name, text in (("title", stream.title), ("description", stream.description)):
        if text:
            yield Quad(own, Iri(f"{_DCT}{name}"), Literal(text))
    if stream.license:
        is_iri = "://" in stream.license and " " not in stream.license
        licence = Iri(stream.license) if is_iri else Literal(stream.license)
        yield Quad(own, Iri(f"{_DCT}license"), licence)
    ways = [(f"{stream.url}/elements", "application/json")]
    ways += [(stream.url, Format.TIMED_N_QUADS.media_type)] if stream.pushed else []
    ways += [(f"{stream.query}/events", "text/event-stream")] if stream.query else []
    for number, (url, media_type) in enumerate(ways):
        way = BlankNode(f"way{number}")
        yield Quad(own, Iri(f"{_VOCALS}hasEndpoint"), way)
        yield Quad(own, Iri(f"{_DCAT}distribution"), way)
        yield _is(way, f"{_VOCALS}StreamEndpoint")
        yield _is(way, f"{_DCAT}Distribution")
        yield Quad(way, Iri(f"{_DCAT}accessURL"), Iri(url))
        yield Quad(way, Iri(f"{_DCAT}mediaType"), Iri(f"{_MEDIA}{media_type}"))


def catalogued(url: str, streams: Iterable[Described]) -> Iterator[Quad]:
    """All streams, as a catalogue."""
    own = Iri(f"{url}/streams")
    for kind in (f"{_DCAT}Catalog", f"{_VSD}CatalogService"):
        yield _is(own, kind)
    for number, stream in enumerate(streams):
        yield Quad(own, Iri(f"{_DCAT}dataset"), Iri(stream.iri))
        for quad in described(stream):
            yield Quad(_apart(quad.subject, number), quad.predicate, _apart(quad.object, number))


def _apart(term: object, number: int) -> BlankNode | Iri | Literal:
    """A term whose blank nodes are not those of another stream."""
    if isinstance(term, BlankNode):
        return BlankNode(f"{term.label}of{number}")
    assert isinstance(term, Iri | Literal), "descriptions have no other terms"
    return term


def service(url: str, graphs: Iterable[tuple[str | None, int]]) -> Iterator[Quad]:
    """What the SPARQL endpoint can do, and over which graphs."""
    own, dataset, default = BlankNode("service"), BlankNode("dataset"), BlankNode("default")
    yield _is(own, f"{_SD}Service")
    yield Quad(own, Iri(f"{_SD}endpoint"), Iri(f"{url}/sparql"))
    yield Quad(own, Iri(f"{_SD}supportedLanguage"), Iri(f"{_SD}SPARQL11Query"))
    yield Quad(own, Iri(f"{_SD}feature"), Iri(f"{_SD}BasicFederatedQuery"))
    names = ("SPARQL_Results_JSON", "SPARQL_Results_XML", "SPARQL_Results_CSV")
    for form in (*names, "SPARQL_Results_TSV", "Turtle", "N-Triples", "N-Quads", "TriG"):
        yield Quad(own, Iri(f"{_SD}resultFormat"), Iri(f"{_FORMATS}{form}"))
    yield Quad(own, Iri(f"{_SD}defaultDataset"), dataset)
    yield _is(dataset, f"{_SD}Dataset")
    yield Quad(dataset, Iri(f"{_SD}defaultGraph"), default)
    yield _is(default, f"{_SD}Graph")
    for number, (name, statements) in enumerate(graphs):
        size = Literal(str(statements), XSD_INTEGER)
        if name is None:
            yield Quad(default, Iri(f"{_VOID}triples"), size)
            continue
        node, graph = BlankNode(f"named{number}"), BlankNode(f"graph{number}")
        yield Quad(dataset, Iri(f"{_SD}namedGraph"), node)
        yield _is(node, f"{_SD}NamedGraph")
        yield Quad(node, Iri(f"{_SD}name"), Iri(name))
        yield Quad(node, Iri(f"{_SD}graph"), graph)
        yield _is(graph, f"{_SD}Graph")
        yield Quad(graph, Iri(f"{_VOID}triples"), size)


def _is(subject: Iri | BlankNode, kind: str) -> Quad:
    return Quad(subject, Iri(RDF_TYPE), Iri(kind))
