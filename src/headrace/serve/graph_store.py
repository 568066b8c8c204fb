"""The SPARQL 1.1 Graph Store HTTP Protocol over static graphs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from headrace.rdf.formats import Format
from headrace.rdf.terms import Quad
from headrace.serve.arriving import form_of
from headrace.serve.bodies import body_of, hub_of
from headrace.serve.graph_formats import DATASET_TYPES, GRAPH_TYPES, graph_bytes
from headrace.serve.hub import Hub
from headrace.serve.names import checked_iri
from headrace.serve.negotiation import chosen
from headrace.serve.problems import Problem
from headrace.serve.static_graphs import read_graph

_MEMORY_PER_BYTE: Final = 25
"""About so many bytes of memory a graph needs for each byte of its N-Triples."""


def _named(request: Request) -> tuple[bool, str | None]:
    """Whether a graph is named, and its name; none is the default graph."""
    params = request.query_params
    graphs = params.getlist("graph")
    if "default" in params and graphs:
        raise Problem(400, "expected 'default' or 'graph', found both")
    if len(graphs) > 1:
        raise Problem(400, "expected one 'graph', found several")
    if graphs:
        return True, checked_iri(graphs[0], "'graph'")
    return "default" in params, None


async def read_store(request: Request) -> Response:
    """A graph, or all of them."""
    hub = hub_of(request)
    named, name = _named(request)
    offered = GRAPH_TYPES if named else DATASET_TYPES
    media_type = chosen(
        request.headers.get("accept"), offered, request.query_params.get("format"), "the graph"
    )
    quads = await asyncio.to_thread(_statements, hub, named, name)
    content = await asyncio.to_thread(graph_bytes, quads, media_type)
    return Response(content, media_type=media_type, headers={"Vary": "Accept"})


def _statements(hub: Hub, named: bool, name: str | None) -> Sequence[Quad]:
    if not named:
        return list(hub.static.all_quads())
    stream = hub.catalogue.stream_of(name or "")
    if stream is not None:
        return _of_stream(hub, stream.name)
    graph = hub.static.graphs.get(name)
    if graph is None and name is not None:
        raise Problem(404, f"there is no graph <{name[:200]}>")
    return () if graph is None else graph.quads


def _of_stream(hub: Hub, name: str) -> list[Quad]:
    """The current contents of a stream as a graph."""
    found = hub.inlet(name).recent.elements(hub.limits.current_elements)
    data = "".join(text for _, text in found).encode()
    read = read_graph(data, Format.N_QUADS, None) if data else []
    plain = (Quad(each.subject, each.predicate, each.object) for each in read)
    return list(dict.fromkeys(plain))


async def write_store(request: Request) -> Response:
    """Replace a graph by PUT, add to it by POST."""
    hub = hub_of(request)
    named, name = _named(request)
    if not named:
        raise Problem(400, "which graph? ?default or ?graph=IRI")
    form = form_of(request.headers.get("content-type"))
    if form in (Format.TIMED_N_QUADS, Format.NDJSON):
        raise Problem(415, f"a graph has no times, and cannot be sent as {form.value}")
    hub.check_memory()
    data = await body_of(request)
    hub.check_memory(_MEMORY_PER_BYTE * len(data))
    new = await asyncio.to_thread(read_graph, data, form, name)
    if any(quad.graph is not None for quad in new):
        raise Problem(400, "the body has named graphs in it; send each to its own ?graph=IRI")
    adds = request.method == "POST"
    known = await hub.write_graph(name, lambda before: [*before, *new] if adds else new)
    return Response(status_code=204 if known or name is None else 201)


async def delete_store(request: Request) -> Response:
    """Remove a graph."""
    hub = hub_of(request)
    named, name = _named(request)
    if not named:
        raise Problem(400, "which graph? ?default or ?graph=IRI")
    if not hub.has_graph(name):
        raise Problem(404, f"there is no graph <{(name or '')[:200]}>")
    await hub.write_graph(name, lambda _before: None)
    return Response(status_code=204)


async def list_graphs(request: Request) -> Response:
    """The names of all graphs, and how large they are."""
    hub = hub_of(request)
    return JSONResponse({"graphs": await asyncio.to_thread(graph_sizes, hub)})


def graph_sizes(hub: Hub) -> list[dict[str, Any]]:
    """All graphs that queries can read."""
    found: list[dict[str, Any]] = [
        {"iri": name, "statements": len(graph.quads), "kind": "static"}
        for name, graph in hub.static.graphs.items()
    ]
    if None not in hub.static.graphs:
        found.insert(0, {"iri": None, "statements": 0, "kind": "static"})
    for inlet in list(hub.inlets.values()):
        number = inlet.recent.columns(hub.deployed.seed).statements.height
        found.append({"iri": inlet.entry.iri, "statements": number, "kind": "stream"})
    return found
