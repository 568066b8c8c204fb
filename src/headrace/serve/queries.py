"""Queries over HTTP: register, pause, remove, explain, check."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from headrace.diagnosis import Note, Severity
from headrace.dialects import DIALECTS, Parsed
from headrace.errors import HeadraceError, QueryError, nearest
from headrace.explaining import Over, explained
from headrace.graphs.drawing import GraphKind
from headrace.metering import metered
from headrace.options import calls_in_vain, check_planned
from headrace.planning.explain import Run
from headrace.rewrite.optimise import check_names
from headrace.serve.bodies import hub_of, json_of, member, text_of
from headrace.serve.catalogue import QueryEntry
from headrace.serve.drawn import operators_as_json
from headrace.serve.hub import Hub
from headrace.serve.looking import known_predicates, looked, seen
from headrace.serve.names import checked_name, fresh_name, is_name
from headrace.serve.problems import Problem, note_of, position_of
from headrace.serve.streams import base_of
from headrace.serve.views import (
    form_name,
    query_view,
    query_views,
    streams_of,
    summary_of,
    variables_of,
)

_FORMS: Final = {
    "text": "text/plain; charset=utf-8",
    "json": "application/json",
    "mermaid": "text/vnd.mermaid; charset=utf-8",
    "svg": "image/svg+xml",
}
_SVG_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
_GRAPHS: Final = ("operators", "rewritten", "denotational", "network", "reduced")
_OPERATORS: Final = (GraphKind.OPERATORS.value, GraphKind.REWRITTEN.value)
_TEXT: Final = ("text", None)
_MEMBERS: Final = {"text", "name", "dialect", "settings"}
_MOST_SETTINGS: Final = 100
_UNSUPPORTED_AXIOM: Final = "unsupported-axiom"
"""The code of notes on the schema of a query."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A query as a client sends it."""

    text: str
    name: str | None
    dialect: str | None
    settings: Mapping[str, str]


async def sent(request: Request) -> Sent:
    """The query in a request: a text with parameters, or JSON.

    Raises:
        Problem: 400, 413 or 415.
    """
    most = hub_of(request).limits.query
    kind = request.headers.get("content-type", "text/plain").partition(";")[0].strip().lower()
    params = request.query_params
    pairs = [each.partition("=")[::2] for each in params.getlist("set")]
    if kind == "application/json":
        said = await json_of(request, 2 * most)
        unknown = sorted(said.keys() - _MEMBERS)
        if unknown:
            raise Problem(400, f"a query has {', '.join(sorted(_MEMBERS))}, and no {unknown[0]!r}")
        text = member(said, "text", most)
        given = said.get("settings") or {}
        if not isinstance(given, dict) or not all(isinstance(each, str) for each in given.values()):
            raise Problem(400, "expected an object of texts as 'settings'")
        settings = {**given, **dict(pairs)}
        name = member(said, "name") or params.get("name")
        dialect = member(said, "dialect") or params.get("dialect")
    elif kind in {"application/sparql-query", "text/plain", "application/x-www-form-urlencoded"}:
        if kind == "application/x-www-form-urlencoded":
            raise Problem(415, "send the text as application/sparql-query or text/plain, or JSON")
        text, settings = await text_of(request, most), dict(pairs)
        name, dialect = params.get("name"), params.get("dialect")
    else:
        raise Problem(415, "send a query as application/sparql-query, text/plain or JSON")
    if text is None or not text.strip():
        raise Problem(400, "there is no query in it")
    if dialect is not None and dialect not in DIALECTS:
        near = nearest(dialect, DIALECTS)
        hint = f"; did you mean '{near}'?" if near else ""
        raise Problem(400, f"there is no dialect '{dialect[:40]}'{hint}")
    if len(settings) > _MOST_SETTINGS:
        raise Problem(400, f"a query may have {_MOST_SETTINGS} settings")
    return Sent(text, name, dialect, settings)


def parsed_of(hub: Hub, query: Sent) -> Parsed:
    """A query that is right.

    Raises:
        HeadraceError: it is not; the error says where.
    """
    rules = (key.removeprefix("rules.") for key in query.settings if key.startswith("rules."))
    check_names(rules)
    return hub.deployed.parse(query.text, query.dialect, query.settings)


async def register(request: Request) -> Response:
    """Register a continuous query."""
    hub = hub_of(request)
    query = await sent(request)
    parsed = await asyncio.to_thread(parsed_of, hub, query)
    _check_runs(hub, parsed)
    name = _name(hub, query, parsed)
    entry = QueryEntry(name, query.text, parsed.dialect, dict(query.settings), hub.now)
    await hub.register(entry, parsed)
    view = query_view(hub, entry, base_of(request))
    unsupported = [
        Note(_UNSUPPORTED_AXIOM, Severity.WARNING, text, query=name).as_json()
        for text in _schema_notes(hub, parsed)
    ]
    view["notes"] = [*view.get("notes", ()), *unsupported]
    return JSONResponse(view, 201, headers={"Location": view["url"]})


def _name(hub: Hub, query: Sent, parsed: Parsed) -> str:
    if query.name is not None:
        return checked_name(query.name, "query")
    registration = parsed.query.registration
    if registration is not None and is_name(registration.name):
        return registration.name
    if registration is not None:
        last = registration.name.rstrip("/#").rpartition("/")[2].rpartition("#")[2]
        if is_name(last):
            return last
    return fresh_name("q", hub.catalogue.queries)


def _check_runs(hub: Hub, parsed: Parsed) -> None:
    """Refuse what cannot be run, and say where it stands."""
    if not parsed.query.is_continuous:
        raise Problem(
            422,
            "the query reads no stream, so it has one answer: ask it at /sparql",
            errors=[position_of(QueryError("it reads no stream", parsed.source))],
        )
    known = known_streams(hub)
    for window in parsed.query.windows:
        iri = getattr(window.stream, "value", None)
        if iri is not None and iri not in known:
            near = nearest(iri, known)
            hint = f"did you mean <{near}>?" if near else f"make it first: PUT /streams/NAME {iri}"
            error = QueryError(f"there is no stream <{iri}>", parsed.source, window.span, hint)
            raise Problem(422, error.problem, errors=[position_of(error)])


def known_streams(hub: Hub) -> set[str]:
    """The IRIs of all streams."""
    made = (hub.derived(name) for name in hub.catalogue.queries)
    pushed = {each.iri for each in hub.catalogue.streams.values()}
    return pushed | {each for each in made if each is not None}


async def list_queries(request: Request) -> Response:
    """All queries."""
    return JSONResponse({"queries": query_views(hub_of(request), base_of(request))})


async def show_query(request: Request) -> Response:
    """A query."""
    hub = hub_of(request)
    entry = hub.query(request.path_params["name"])
    return JSONResponse(query_view(hub, entry, base_of(request)))


async def delete_query(request: Request) -> Response:
    """Remove a query and its results."""
    await hub_of(request).remove(request.path_params["name"])
    return Response(status_code=204)


async def pause(request: Request) -> Response:
    """Do not evaluate a query for now."""
    hub = hub_of(request)
    entry = await hub.pause(request.path_params["name"])
    return JSONResponse(query_view(hub, entry, base_of(request)))


async def resume(request: Request) -> Response:
    """Evaluate a query again."""
    hub = hub_of(request)
    entry = await hub.resume(request.path_params["name"])
    return JSONResponse(query_view(hub, entry, base_of(request)))


# -- explaining ----------------------------------------------------------------------------------


async def plan(request: Request) -> Response:
    """How a registered query is run."""
    hub, name = hub_of(request), request.path_params["name"]
    entry = hub.query(name)
    query = Sent(entry.text, entry.name, entry.dialect, entry.settings)
    parsed = hub.deployed.parsed.get(name)
    if parsed is None:
        parsed = await asyncio.to_thread(parsed_of, hub, query)
    form, graph = _asked(request)
    run = None
    if request.query_params.get("live") == "true" and (form == "json" or (form, graph) == _TEXT):
        async with hub.looking:  # it is evaluated in this process
            run = await asyncio.to_thread(looked, hub, parsed)
    shown = await asyncio.to_thread(_explained, hub, parsed, form, graph, run)
    if form == "json":
        shown = json.dumps({**json.loads(shown), "live": hub.live(name)}) + "\n"
    return _shown(shown, form)


async def explain(request: Request) -> Response:
    """How a query would be run."""
    hub = hub_of(request)
    form, graph = _asked(request)
    query = await sent(request)
    parsed = await asyncio.to_thread(parsed_of, hub, query)
    return _shown(await asyncio.to_thread(_explained, hub, parsed, form, graph), form)


def _asked(request: Request) -> tuple[str, str | None]:
    form = request.query_params.get("format", "text")
    graph = request.query_params.get("graph")
    if form not in _FORMS:
        raise Problem(400, f"a plan can be had as {', '.join(_FORMS)}, and not as '{form[:40]}'")
    if graph is not None and graph not in _GRAPHS:
        raise Problem(400, f"there are the graphs {', '.join(_GRAPHS)}, and not '{graph[:40]}'")
    if form == "json" and graph not in {None, *_OPERATORS}:
        raise Problem(400, "as JSON there are the graphs operators and rewritten")
    return form, graph


def _explained(
    hub: Hub, parsed: Parsed, form: str, graph: str | None, run: Run | None = None
) -> str:
    with metered(hub.limits.meter()):
        return _explain(hub, parsed, form, graph, run)


def _explain(hub: Hub, parsed: Parsed, form: str, graph: str | None, run: Run | None) -> str:
    if form == "json" and graph is not None:
        plan = json.loads(_explain(hub, parsed, form, None, run))
        known = known_predicates(hub)
        drawn = operators_as_json(parsed.query, GraphKind(graph), run, known)
        return json.dumps({**plan, "graph": drawn}) + "\n"
    if run is not None:
        return seen(parsed, run, form)
    schemas = tuple(
        str(path) if name is None else f"{name}={path}" for name, path in hub.settings.schemas
    )
    known = known_predicates(hub)
    if graph in {each.value for each in GraphKind} or not schemas:
        return explained(parsed, form, graph, Over(known=known))
    return explained(parsed, form, graph, Over(schemas=schemas, known=known))


def _shown(text: str, form: str) -> Response:
    headers = {"Content-Security-Policy": _SVG_POLICY} if form == "svg" else {}
    return Response(text, media_type=_FORMS[form], headers=headers)


# -- checking ------------------------------------------------------------------------------------


async def check(request: Request) -> Response:
    """What is wrong with a query, for an editor."""
    hub = hub_of(request)
    query = await sent(request)
    return JSONResponse(await asyncio.to_thread(_checked, hub, query))


def _checked(hub: Hub, query: Sent) -> dict[str, Any]:
    said: dict[str, Any] = {
        "ok": False,
        "dialect": query.dialect,
        "profile": None,
        "continuous": None,
        "summary": None,
        "errors": [],
        "warnings": [],
        "name": query.name,
        "form": None,
        "vars": [],
        "streams": [],
        "unknown_streams": [],
    }
    try:
        parsed = parsed_of(hub, query)
        with metered(hub.limits.meter()):
            check_planned(parsed)
    except QueryError as error:
        return said | {"errors": [position_of(error)]}
    except HeadraceError as error:
        return said | {"errors": [position_of(QueryError(str(error)))]}
    streams, known = streams_of(parsed), known_streams(hub)
    registration = parsed.query.registration
    return said | {
        "ok": True,
        "dialect": parsed.dialect,
        "profile": parsed.profile.name,
        "continuous": parsed.query.is_continuous,
        "summary": summary_of(parsed),
        "warnings": [*_warnings(parsed, known), *_on_schema(hub, parsed)],
        "name": query.name or (None if registration is None else registration.name),
        "form": form_name(parsed.query.form),
        "vars": variables_of(parsed.query.form),
        "streams": streams,
        "unknown_streams": [iri for iri in streams if iri not in known],
    }


def _schema_notes(hub: Hub, parsed: Parsed) -> list[str]:
    """Return the notes on the unsupported axioms of the schema of a query."""
    with suppress(HeadraceError):  # an unknown schema is an error when the query is registered
        return hub.deployed.engine.static.schemas.notes_on(parsed.query, parsed.source)
    return []


def _on_schema(hub: Hub, parsed: Parsed) -> list[dict[str, Any]]:
    return [position_of(QueryError(text)) for text in _schema_notes(hub, parsed)]


def _warnings(parsed: Parsed, known: set[str]) -> list[dict[str, Any]]:
    found = [note_of(note, parsed.source) for note in parsed.notes]
    found += map(position_of, calls_in_vain(parsed))
    for window in parsed.query.windows:
        iri = getattr(window.stream, "value", None)
        if iri is not None and iri not in known:
            problem = f"there is no stream <{iri}> yet"
            found.append(position_of(QueryError(problem, parsed.source, window.span)))
    return found
