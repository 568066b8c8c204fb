"""How the server is: status, health, metrics, what editors offer, and its pages."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import (
    FileResponse,
    HTMLResponse,
    JSONResponse,
    Response,
    StreamingResponse,
)

from headrace.arrival_times import SECOND
from headrace.dialects import DIALECTS
from headrace.dialects.parsing import keywords
from headrace.dialects.settings import KEYS
from headrace.dialects.vocabulary import AGGREGATE_FUNCTIONS, FUNCTIONS
from headrace.kernel.columns import OBJECT, PREDICATE
from headrace.metering import resident_bytes
from headrace.pipeline.metrics import CONTENT_TYPE, Measure, exposition, measures
from headrace.rdf.terms import Iri
from headrace.rdf.vocabulary import RDF_TYPE, WELL_KNOWN_PREFIXES
from headrace.serve.bodies import hub_of
from headrace.serve.graph_formats import PREFIXES
from headrace.serve.hub import Hub
from headrace.serve.problems import MEDIA_TYPE, Problem, busy
from headrace.serve.queries import known_streams
from headrace.serve.refusals import probe_logs, standing_refusals
from headrace.serve.results import EVENTS
from headrace.serve.streams import base_of
from headrace.serve.views import STATES, state_of, status_view

CONSOLE: Final = Path(__file__).parent / "console"
_MOST_TERMS: Final = 500
_TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".json": "application/json",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
    ".map": "application/json",
    ".txt": "text/plain; charset=utf-8",
}
_PLACEHOLDER: Final = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Headrace</title></head>
<body><h1>Headrace</h1><p>The server is running. Its API is described at
<a href="/openapi.json">/openapi.json</a>, its state at <a href="/status">/status</a>.</p>
</body></html>
"""


def _read_only(request: Request) -> bool:
    return bool(request.scope.get("state", {}).get("read_only", False))


async def status(request: Request) -> Response:
    """The server, and all that there is."""
    return JSONResponse(status_view(hub_of(request), base_of(request), _read_only(request)))


async def status_events(request: Request) -> Response:
    """The same every second, and what contracts are broken or kept again."""
    hub, base, read_only = hub_of(request), base_of(request), _read_only(request)
    following = hub.following.following("")
    topic = await following.__aenter__()
    alerted = hub.deployed.alerted

    async def stream() -> AsyncIterator[bytes]:
        last = alerted.newest
        try:
            while topic.ended is None:
                for number, alert in alerted.after(last):
                    last = number
                    text = json.dumps(alert, separators=(",", ":"))
                    yield f"event: alert\ndata: {text}\n\n".encode()
                said = json.dumps(status_view(hub, base, read_only), separators=(",", ":"))
                yield f"event: status\ndata: {said}\n\n".encode()
                await asyncio.sleep(1 - time.time() % 1)
            yield b'event: end\ndata: {"reason":"shutdown"}\n\n'
        finally:
            await following.__aexit__(None, None, None)

    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(stream(), media_type=EVENTS, headers=headers)


async def healthz(_request: Request) -> Response:
    """The process is alive."""
    return JSONResponse({"status": "ok"})


async def readyz(request: Request) -> Response:
    """The deployment is at work, and takes what it may take; what is refused, and why."""
    hub = hub_of(request)
    await probe_logs(hub)
    found = standing_refusals(hub)
    refused = {"refused": [each.as_json() for each in found]}
    first = next((each for each in found if not each.is_ready), None)
    if first is None:
        return JSONResponse({"status": "ok", **refused})
    problem = busy(hub.deployed.problem or first.text)
    said = problem.as_json() | refused
    return JSONResponse(said, problem.status, headers=problem.headers, media_type=MEDIA_TYPE)


async def metrics(request: Request) -> Response:
    """For Prometheus."""
    hub = hub_of(request)
    every = [*measures(hub.deployed.figures, time.time()), *_own_measures(hub)]
    return Response(exposition(every), media_type=CONTENT_TYPE)


def _own_measures(hub: Hub) -> Iterator[Measure]:
    inlets = list(hub.inlets.values())
    pushed = [({"stream": each.entry.iri}, float(each.pushed)) for each in inlets]
    sizes = [({"stream": each.entry.iri}, float(each.size)) for each in inlets]
    yield Measure("headrace_pushed_total", "counter", "Elements acknowledged since start.", pushed)
    yield Measure("headrace_log_bytes", "gauge", "Bytes in the log of a stream.", sizes)
    ahead = [({"stream": each.entry.iri}, each.times.ahead / SECOND) for each in inlets]
    says = "Seconds by which times of arrival are ahead of the clock; negative if behind."
    yield Measure("headrace_arrival_ahead_seconds", "gauge", says, ahead)
    jumps = [({"direction": way}, float(each)) for way, each in hub.clock.jumps.items()]
    says = "Jumps of the clock by more than clock_seconds."
    yield Measure("headrace_clock_jumps_total", "counter", says, jumps)
    requests = [({"status": str(key)}, float(each)) for key, each in sorted(hub.answered.items())]
    yield Measure("headrace_http_requests_total", "counter", "Requests answered.", requests)
    says = "Bytes of the bodies of requests."
    yield Measure("headrace_body_bytes", "gauge", says, [({}, float(hub.room.size))])
    refused = [({"reason": key}, float(hub.room.refused[key])) for key in ("full", "slow")]
    says = "Bodies that were not read because there was no room."
    yield Measure("headrace_bodies_refused_total", "counter", says, refused)
    followers = float(hub.following.count)
    yield Measure("headrace_subscribers", "gauge", "Clients that follow.", [({}, followers)])
    states = Counter(state_of(hub, each)[0] for each in hub.catalogue.queries.values())
    queries = [({"state": each}, float(states[each])) for each in STATES]
    yield Measure("headrace_queries", "gauge", "Registered queries, by their state.", queries)
    seconds = hub.deployed.stall.seconds
    says = "Seconds for which the deployment has not been able to go on."
    yield Measure("headrace_stalled_seconds", "gauge", says, [({}, seconds)])
    waiting = float(hub.asking.under_way)
    says = "Queries of /sparql being evaluated or waiting."
    yield Measure("headrace_sparql_under_way", "gauge", says, [({}, waiting)])
    own, others = float(resident_bytes()), float(hub.asking.memory)
    yield Measure("headrace_memory_bytes", "gauge", "Memory in use.", [({}, own)])
    says = "Memory of the processes that evaluate queries of /sparql."
    yield Measure("headrace_sparql_memory_bytes", "gauge", says, [({}, others)])
    limits = [({"limit": name}, value) for name, value in _limits(hub).items()]
    yield Measure("headrace_limit", "gauge", "Limits of the server.", limits)
    used = [({"limit": name}, value) for name, value in _used(hub).items()]
    says = "How much of a limit is used: the largest of all streams, where each has its own."
    yield Measure("headrace_limit_used", "gauge", says, used)


def _limits(hub: Hub) -> dict[str, float]:
    """Return all limits by their names."""
    found = {each.name: getattr(hub.limits, each.name) for each in fields(hub.limits)}
    found["memory"] = hub.limits.memory_bytes
    return {name: float(value) for name, value in found.items()}


def _used(hub: Hub) -> dict[str, float]:
    """Return how much is used of each limit on what the server keeps or does at once."""
    logs = [each.size for each in hub.inlets.values()]
    ahead = [each.times.ahead for each in hub.inlets.values()]
    return {
        "memory": float(resident_bytes() + hub.asking.memory),
        "evaluations": float(min(hub.asking.under_way, hub.limits.evaluations)),
        "waiting": float(max(0, hub.asking.under_way - hub.limits.evaluations)),
        "queries": float(len(hub.catalogue.queries)),
        "streams": float(len(hub.catalogue.streams)),
        "subscribers": float(hub.following.count),
        "log_bytes": float(max(logs, default=0)),
        "static_bytes": float(hub.static.size()),
        "bodies": float(hub.room.size),
        "clock_seconds": max([0, *ahead]) / SECOND,
    }


# -- for editors ---------------------------------------------------------------------------------


async def vocabulary(request: Request) -> Response:
    """What an editor offers."""
    hub = hub_of(request)
    predicates, classes = await asyncio.to_thread(_terms, hub)
    said: dict[str, Any] = {
        "dialects": [
            {"name": name, "keywords": keywords(each.grammar)} for name, each in DIALECTS.items()
        ],
        "functions": sorted(FUNCTIONS),
        "aggregates": list(AGGREGATE_FUNCTIONS),
        "prefixes": {**WELL_KNOWN_PREFIXES, **PREFIXES},
        "settings": sorted(KEYS),
        "streams": sorted(known_streams(hub)),
        "predicates": predicates,
        "classes": classes,
    }
    return JSONResponse(said)


def _terms(hub: Hub) -> tuple[list[str], list[str]]:
    """Predicates and classes in streams and static data."""
    predicates: dict[str, None] = {}
    classes: dict[str, None] = {}
    for quad in hub.static.all_quads():
        if isinstance(quad.predicate, Iri):
            predicates[quad.predicate.value] = None
            if quad.predicate.value == RDF_TYPE and isinstance(quad.object, Iri):
                classes[quad.object.value] = None
        if len(predicates) > _MOST_TERMS:
            break
    for inlet in list(hub.inlets.values()):
        found = inlet.recent.columns(hub.deployed.seed)
        texts = dict(found.terms.select("id", "text").iter_rows())
        pairs = found.statements.select(PREDICATE, OBJECT).unique(maintain_order=True)
        for predicate, object_ in pairs.head(_MOST_TERMS).iter_rows():
            name = texts[predicate].strip("<>")
            predicates[name] = None
            if name == RDF_TYPE and texts[object_].startswith("<"):
                classes[texts[object_].strip("<>")] = None
    return sorted(predicates)[:_MOST_TERMS], sorted(classes)[:_MOST_TERMS]


# -- pages ---------------------------------------------------------------------------------------


async def page(_request: Request) -> Response:
    """The console."""
    index = CONSOLE / "index.html"
    if index.is_file():
        return FileResponse(index, media_type="text/html; charset=utf-8")
    return HTMLResponse(_PLACEHOLDER)


async def asset(request: Request) -> Response:
    """A file of the console: one of those that are there, by its exact name."""
    wanted = request.path_params["path"]
    known = {str(path.relative_to(CONSOLE)): path for path in CONSOLE.rglob("*") if path.is_file()}
    path = known.get(wanted)
    if path is None or path.suffix not in _TYPES:
        raise Problem(404, "there is no such file")
    headers = {"Cache-Control": "no-cache"}
    return FileResponse(path, media_type=_TYPES[path.suffix], headers=headers)
