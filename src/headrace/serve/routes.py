"""Every path of the API: who answers, and what the OpenAPI document says of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from starlette.requests import Request
from starlette.responses import Response

from headrace.rdf.formats import MEDIA_TYPES, Format
from headrace.results.formats import TABLE_TYPES
from headrace.serve import (
    demos,
    graph_store,
    operating,
    protocol,
    queries,
    results,
    streams,
)
from headrace.serve.arriving import PUSHED_TYPES
from headrace.serve.graph_formats import GRAPH_TYPES
from headrace.serve.results import EVENTS, JSON, NDJSON

Handler: TypeAlias = Callable[[Request], Awaitable[Response]]
_TEXT: Final = ("application/sparql-query", "text/plain", JSON)
_RDF: Final = tuple(
    name
    for name, form in MEDIA_TYPES.items()
    if form not in (Format.RDF_XML, Format.TIMED_N_QUADS, Format.NDJSON)
)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of an operation."""

    name: str
    says: str
    place: str = "query"
    kind: str = "string"
    needed: bool = False
    choices: Sequence[str] = ()
    repeats: bool = False


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one path.

    Attributes:
        method: of HTTP.
        path: with its parameters in braces.
        handler: who answers.
        says: what it does.
        tag: what it is about.
        parameters: in the query of the URL and in headers.
        takes: the types of its body; JSON ones have a schema.
        schema: of its body if that is JSON.
        gives: its answers: the status, and the types of what is in them.
        refuses: the statuses of problems.
    """

    method: str
    path: str
    handler: Handler
    says: str
    tag: str
    parameters: Sequence[Parameter] = ()
    takes: Sequence[str] = ()
    schema: str | None = None
    gives: Mapping[int, Sequence[str]] = field(default_factory=lambda: {200: (JSON,)})
    refuses: Sequence[int] = ()


_FORMAT: Final = Parameter("format", "the type to answer with, instead of Accept")
_LAST: Final = Parameter("last", "how many of the latest", kind="integer")
_AFTER: Final = Parameter("after", "only those after this id", kind="integer")
_AT: Final = Parameter("at", "a time: milliseconds, or ISO 8601")
_NAME: Final = Parameter("name", "what to call the query")
_DIALECT: Final = Parameter("dialect", "the dialect; detected if not given")
_SET: Final = Parameter("set", "a setting, as KEY=VALUE", repeats=True)
_PLAN: Final = (
    Parameter("format", "how to show it", choices=("text", "json", "mermaid", "svg")),
    Parameter(
        "graph",
        "which graph of it",
        choices=("operators", "rewritten", "denotational", "network", "reduced"),
    ),
)
_LIVE: Final = Parameter("live", "whether it is run over what streams hold now", choices=("true",))
_KEY: Final = Parameter("Idempotency-Key", "by which a push is known again", "header")
_GRAPH: Final = (
    Parameter("graph", "the name of a graph"),
    Parameter("default", "the default graph"),
)
_PROTOCOL: Final = (
    Parameter("query", "the query"),
    Parameter("default-graph-uri", "a graph of the default graph", repeats=True),
    Parameter("named-graph-uri", "a graph that GRAPH sees", repeats=True),
    _FORMAT,
)
_ANSWERS: Final = (*TABLE_TYPES, *GRAPH_TYPES)
_PLANS: Final = ("text/plain", JSON, "text/vnd.mermaid", "image/svg+xml")
_EVENT_ID: Final = Parameter("Last-Event-ID", "the id of the last evaluation seen", "header")

OPERATIONS: Final = (
    Operation(
        "POST",
        "/streams/{name}",
        streams.push,
        "Push elements; answered when they are on disk.",
        "streams",
        (_AT, _KEY),
        PUSHED_TYPES,
        refuses=(400, 404, 405, 408, 413, 415, 429),
    ),
    Operation(
        "POST",
        "/streams/{name}/input",
        streams.push,
        "The same.",
        "streams",
        (_AT, _KEY),
        PUSHED_TYPES,
        refuses=(400, 404, 405, 408, 413, 415, 429),
    ),
    Operation(
        "GET",
        "/streams",
        streams.list_streams,
        "All streams, as JSON or as a catalogue in VoCaLS and DCAT.",
        "streams",
        (_FORMAT,),
        gives={200: (JSON, *GRAPH_TYPES)},
        refuses=(406,),
    ),
    Operation(
        "POST",
        "/streams",
        streams.create_stream,
        "Make a stream.",
        "streams",
        takes=(JSON,),
        schema="NewStream",
        gives={200: (JSON,), 201: (JSON,)},
        refuses=(400, 409, 413, 429),
    ),
    Operation(
        "GET",
        "/streams/{name}",
        streams.show_stream,
        "A stream, as JSON or as its description.",
        "streams",
        (_FORMAT,),
        gives={200: (JSON, *GRAPH_TYPES)},
        refuses=(404, 406),
    ),
    Operation(
        "PUT",
        "/streams/{name}",
        streams.create_stream,
        "Make a stream of a name.",
        "streams",
        takes=(JSON,),
        schema="NewStream",
        gives={200: (JSON,), 201: (JSON,)},
        refuses=(400, 409, 413, 429),
    ),
    Operation(
        "DELETE",
        "/streams/{name}",
        streams.delete_stream,
        "Remove a stream and what was pushed to it.",
        "streams",
        gives={204: ()},
        refuses=(404, 409),
    ),
    Operation(
        "POST",
        "/streams/{name}/heartbeat",
        streams.heartbeat,
        "Say that time has come this far.",
        "streams",
        (Parameter("at", "a time: milliseconds, or ISO 8601", needed=True),),
        refuses=(400, 404, 405, 429),
    ),
    Operation(
        "GET",
        "/streams/{name}/elements",
        streams.elements,
        "The latest elements.",
        "streams",
        (_LAST,),
        refuses=(400, 404, 405),
    ),
    Operation("GET", "/queries", queries.list_queries, "All queries.", "queries"),
    Operation(
        "POST",
        "/queries",
        queries.register,
        "Register a continuous query.",
        "queries",
        (_NAME, _DIALECT, _SET),
        _TEXT,
        "NewQuery",
        {201: (JSON,)},
        (400, 409, 413, 415, 422, 429),
    ),
    Operation("GET", "/queries/{name}", queries.show_query, "A query.", "queries", refuses=(404,)),
    Operation(
        "DELETE",
        "/queries/{name}",
        queries.delete_query,
        "Remove a query and its results.",
        "queries",
        gives={204: ()},
        refuses=(404, 409),
    ),
    Operation(
        "POST",
        "/queries/{name}/pause",
        queries.pause,
        "Do not evaluate it for now.",
        "queries",
        refuses=(404, 409),
    ),
    Operation(
        "POST",
        "/queries/{name}/resume",
        queries.resume,
        "Evaluate it again.",
        "queries",
        refuses=(404, 422),
    ),
    Operation(
        "GET",
        "/queries/{name}/plan",
        queries.plan,
        "How it is run.",
        "queries",
        (*_PLAN, _LIVE),
        gives={200: _PLANS},
        refuses=(400, 404, 422),
    ),
    Operation(
        "GET",
        "/queries/{name}/results",
        results.results,
        "The last evaluations.",
        "results",
        (_LAST, _AFTER, _FORMAT),
        gives={200: (JSON, NDJSON, *_ANSWERS)},
        refuses=(400, 404, 406, 422),
    ),
    Operation(
        "GET",
        "/queries/{name}/events",
        results.events,
        "Evaluations as they come.",
        "results",
        (
            _LAST,
            _AFTER,
            Parameter("mode", "how rows are sent", choices=("rstream", "changelog")),
            _EVENT_ID,
        ),
        gives={200: (EVENTS,)},
        refuses=(400, 404, 422, 503),
    ),
    Operation(
        "POST",
        "/check",
        queries.check,
        "What is wrong with a query.",
        "queries",
        (_NAME, _DIALECT, _SET),
        _TEXT,
        "NewQuery",
        refuses=(400, 413, 415),
    ),
    Operation(
        "POST",
        "/explain",
        queries.explain,
        "How a query would be run.",
        "queries",
        (*_PLAN, _DIALECT, _SET),
        _TEXT,
        "NewQuery",
        {200: _PLANS},
        (400, 413, 415, 422),
    ),
    Operation("GET", "/vocabulary", operating.vocabulary, "What an editor offers.", "queries"),
    Operation(
        "GET",
        "/sparql",
        protocol.sparql,
        "Answer a query; without one, the service description.",
        "sparql",
        _PROTOCOL,
        gives={200: _ANSWERS},
        refuses=(400, 403, 406, 413, 422, 501, 503, 504),
    ),
    Operation(
        "POST",
        "/sparql",
        protocol.sparql,
        "Answer a query.",
        "sparql",
        _PROTOCOL[1:],
        ("application/sparql-query", "application/x-www-form-urlencoded"),
        "SparqlForm",
        {200: _ANSWERS},
        (400, 403, 406, 408, 413, 415, 422, 501, 503, 504),
    ),
    Operation(
        "GET",
        "/store",
        graph_store.read_store,
        "A static graph, or all of them.",
        "store",
        (*_GRAPH, _FORMAT),
        gives={200: GRAPH_TYPES},
        refuses=(400, 404, 406),
    ),
    Operation(
        "PUT",
        "/store",
        graph_store.write_store,
        "Replace a static graph.",
        "store",
        _GRAPH,
        _RDF,
        gives={201: (), 204: ()},
        refuses=(400, 403, 408, 413, 415),
    ),
    Operation(
        "POST",
        "/store",
        graph_store.write_store,
        "Add to a static graph.",
        "store",
        _GRAPH,
        _RDF,
        gives={201: (), 204: ()},
        refuses=(400, 403, 408, 413, 415),
    ),
    Operation(
        "DELETE",
        "/store",
        graph_store.delete_store,
        "Remove a static graph.",
        "store",
        _GRAPH,
        gives={204: ()},
        refuses=(400, 403, 404),
    ),
    Operation("GET", "/graphs", graph_store.list_graphs, "The names of all graphs.", "store"),
    Operation("GET", "/demos", demos.list_demos, "Streams that move by themselves.", "demos"),
    Operation(
        "POST", "/demos/{name}", demos.start_demo, "Start a demo.", "demos", refuses=(404, 409)
    ),
    Operation(
        "DELETE",
        "/demos/{name}",
        demos.stop_demo,
        "End a demo.",
        "demos",
        gives={204: ()},
        refuses=(404, 409),
    ),
    Operation("GET", "/status", operating.status, "The server, and all there is.", "operation"),
    Operation(
        "GET",
        "/status/events",
        operating.status_events,
        "The same every second.",
        "operation",
        gives={200: (EVENTS,)},
        refuses=(503,),
    ),
    Operation("GET", "/healthz", operating.healthz, "The process is alive.", "operation"),
    Operation(
        "GET",
        "/readyz",
        operating.readyz,
        "The deployment is at work.",
        "operation",
        refuses=(503,),
    ),
    Operation(
        "GET",
        "/metrics",
        operating.metrics,
        "For Prometheus.",
        "operation",
        gives={200: ("text/plain",)},
    ),
)
