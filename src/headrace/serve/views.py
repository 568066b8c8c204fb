"""Streams, queries and the server itself as JSON."""

from __future__ import annotations

import time
from typing import Any, Final

from headrace.algebra.query import Ask, Construct, Describe, Form, Select
from headrace.dialects import Parsed
from headrace.metering import resident_bytes
from headrace.planning.explain import default_graph_text, frame_text, report_text
from headrace.serve.catalogue import QueryEntry, StreamEntry
from headrace.serve.hub import Hub
from headrace.serve.refusals import standing_refusals
from headrace.serve.stall_reporter import STARTING
from headrace.version import __version__

_RATE_SECONDS: Final = 10
STATES: Final = ("starting", "running", "stalled", "paused", "stopped")
"""The states of queries."""


def stream_view(hub: Hub, entry: StreamEntry, base: str) -> dict[str, Any]:
    """Describe a stream that elements are pushed to."""
    inlet = hub.inlets.get(entry.name)
    rates = [0] * 60 if inlet is None else inlet.rates()
    return {
        "name": entry.name,
        "iri": entry.iri,
        "title": entry.title,
        "description": entry.description,
        "license": entry.license,
        "time": entry.time,
        "delay": entry.delay,
        "kind": "pushed",
        "url": f"{base}/streams/{entry.name}",
        **_figures(hub, entry.iri),
        "rate": sum(rates[-_RATE_SECONDS:]) / _RATE_SECONDS,
        "rates": rates,
        "log_bytes": 0 if inlet is None else inlet.size,
        "log_quota": hub.limits.log_bytes,
        "queries": list(hub.deployed.readers.get(entry.iri, ())),
        "notes": hub.stream_notes(entry.iri),
        "demo": entry.demo,
    }


def derived_view(hub: Hub, name: str, iri: str, base: str) -> dict[str, Any]:
    """Describe a stream that a query makes."""
    return {
        "name": name,
        "iri": iri,
        "title": f"What '{name}' makes",
        "description": None,
        "license": None,
        "time": "query",
        "delay": None,
        "kind": "derived",
        "url": f"{base}/streams/{name}",
        **_figures(hub, iri),
        "rate": 0.0,
        "rates": [0] * 60,
        "log_bytes": 0,
        "log_quota": 0,
        "queries": list(hub.deployed.readers.get(iri, ())),
        "notes": hub.stream_notes(iri),
        "demo": hub.catalogue.queries[name].demo,
    }


def _figures(hub: Hub, iri: str) -> dict[str, Any]:
    state = hub.state_of_stream(iri)
    counters, high = state.counters, state.high
    now = time.time()
    return {
        "elements": counters.elements,
        "on_time": counters.on_time,
        "late": counters.late,
        "rejected": counters.rejected,
        "messages": counters.messages,
        "accepted": counters.accepted,
        "heartbeats": counters.heartbeats,
        "rejected_messages": counters.rejected_messages,
        "high": None if high is None else high / 1000,
        "lag": None if high is None else round(max(0.0, now - high / 1e6), 3),
    }


def stream_views(hub: Hub, base: str) -> list[dict[str, Any]]:
    """All streams."""
    pushed = [stream_view(hub, each, base) for each in hub.catalogue.streams.values()]
    made = [(name, hub.derived(name)) for name in hub.catalogue.queries]
    return pushed + [derived_view(hub, name, iri, base) for name, iri in made if iri is not None]


def form_name(form: Form) -> str:
    """What a query answers with, in a word."""
    match form:
        case Select():
            return "select"
        case Ask():
            return "ask"
        case Construct():
            return "construct"
        case Describe():
            return "describe"


def variables_of(form: Form) -> list[str]:
    """The columns of a SELECT."""
    return [each.name for each in form.variables] if isinstance(form, Select) else []


def summary_of(parsed: Parsed) -> str:
    """Summarize a valid query in one line."""
    query, semantics = parsed.query, parsed.query.semantics
    if not query.is_continuous:
        return f"{parsed.dialect}, no streams"
    frames = "; ".join(dict.fromkeys(frame_text(window.frame) for window in query.windows))
    beside = default_graph_text(query)
    seen = f", patterns outside GRAPH see {beside} beside FROM NAMED" if beside else ""
    return (
        f"{parsed.dialect}, {frames}; bounds {semantics.bounds}, reports "
        f"{report_text(semantics.report)}, emits {semantics.emit}{seen}"
    )


def query_view(hub: Hub, entry: QueryEntry, base: str) -> dict[str, Any]:
    """Describe a registered query."""
    parsed = hub.deployed.parsed.get(entry.name)
    figures = hub.deployed.figures
    state = hub.query_state(entry.name)
    ends = hub.retained.ends(entry.name)
    state_name, error = state_of(hub, entry)
    return {
        "name": entry.name,
        "state": state_name,
        "error": error,
        "text": entry.text,
        "dialect": entry.dialect,
        "profile": None if parsed is None else parsed.profile.name,
        "settings": dict(entry.settings),
        "form": None if parsed is None else form_name(parsed.query.form),
        "vars": [] if parsed is None else variables_of(parsed.query.form),
        "summary": None if parsed is None else summary_of(parsed),
        "streams": [] if parsed is None else streams_of(parsed),
        "stream": hub.derived(entry.name),
        "registered": entry.registered,
        "evaluations": 0 if state is None else state.evaluations,
        "failed": 0 if state is None else state.failed,
        "rows": 0 if state is None else state.rows,
        "skipped": 0 if state is None else state.skipped,
        "overloaded": False if state is None else bool(state.pace.overloaded),
        "alerts": hub.deployed.alerted.standing(entry.name),
        "notes": [] if entry.paused else hub.notes(entry.name),
        "route_changes": figures.rerouted.get(entry.name, 0),
        "subscribers": hub.following.followers_of(entry.name),
        "last": None
        if ends is None
        else {"id": ends[1].id, "at": ends[1].at, "rows": ends[1].rows},
        "first_id": None if ends is None else ends[0].id,
        "url": f"{base}/queries/{entry.name}",
        "demo": entry.demo,
    }


def state_of(hub: Hub, entry: QueryEntry) -> tuple[str, str | None]:
    """Return the state of a query, and why it is not evaluated if nobody has paused it."""
    if entry.paused:
        return "paused", None
    failure, problem = hub.failure(entry.name), hub.deployed.problem
    if failure is not None:
        return "stopped", failure
    if problem == STARTING:
        return "starting", None
    return ("running", None) if problem is None else ("stalled", problem)


def streams_of(parsed: Parsed) -> list[str]:
    """The streams that a query names."""
    named = (getattr(window.stream, "value", None) for window in parsed.query.windows)
    return sorted({iri for iri in named if iri is not None})


def query_views(hub: Hub, base: str) -> list[dict[str, Any]]:
    """All queries."""
    return [query_view(hub, each, base) for each in hub.catalogue.queries.values()]


def status_view(hub: Hub, base: str, read_only: bool) -> dict[str, Any]:
    """The server, and all that there is."""
    figures = hub.deployed.figures
    return {
        "version": __version__,
        "runner": str(hub.settings.runner),
        "ready": hub.deployed.problem is None,
        "problem": None if hub.deployed.problem == STARTING else hub.deployed.problem,
        "refused": [each.as_json() for each in standing_refusals(hub)],
        "read_only": read_only,
        "now": hub.now,
        "uptime": round(time.monotonic() - hub.began, 1),
        "batches": figures.manifest.batch + 1,
        "batch_seconds": round(figures.batch_seconds, 4),
        "state_bytes": figures.state,
        "memory_bytes": resident_bytes(),
        "subscribers": hub.following.count,
        "streams": stream_views(hub, base),
        "queries": query_views(hub, base),
    }
