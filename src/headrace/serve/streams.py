"""Streams over HTTP: make them, describe them, push to them."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.websockets import WebSocket, WebSocketDisconnect

from headrace.dialects.settings import duration
from headrace.errors import HeadraceError
from headrace.rdf.formats import Format
from headrace.rdf.times import milliseconds
from headrace.serve.arriving import Arrived
from headrace.serve.auth import PROTOCOL
from headrace.serve.bodies import hub_of, json_of, member, number_of
from headrace.serve.catalogue import ARRIVAL, SAID, StreamEntry
from headrace.serve.descriptions import Described, catalogued, described
from headrace.serve.graph_formats import GRAPH_TYPES, graph_bytes
from headrace.serve.hub import Hub
from headrace.serve.names import checked_iri, checked_name
from headrace.serve.negotiation import chosen
from headrace.serve.problems import Problem, problem_of
from headrace.serve.pushing import Inlet
from headrace.serve.taking import UnderWay, moment_of, taken, taken_message
from headrace.serve.views import derived_view, stream_view, stream_views

JSON: Final = "application/json"
TYPES: Final = (JSON, *GRAPH_TYPES)
_MEMBERS: Final = {"name", "iri", "time", "delay", "title", "description", "license"}
_MOST_UNDER_WAY: Final = 1_000


def base_of(request: Request) -> str:
    """The URL that the server is asked by."""
    return str(request.base_url).rstrip("/")


def negotiated(request: Request, offered: tuple[str, ...] = TYPES) -> str:
    """The type that is wanted."""
    return chosen(request.headers.get("accept"), offered, request.query_params.get("format"), "it")


def as_graph(content: bytes, media_type: str) -> Response:
    """A graph as an answer."""
    return Response(content, media_type=media_type, headers={"Vary": "Accept"})


async def list_streams(request: Request) -> Response:
    """All streams, as JSON or as a catalogue."""
    hub, base = hub_of(request), base_of(request)
    media_type = negotiated(request)
    if media_type == JSON:
        return JSONResponse({"streams": stream_views(hub, base)}, headers={"Vary": "Accept"})
    every = [_described(hub, each["name"], base) for each in stream_views(hub, base)]
    return as_graph(graph_bytes(catalogued(base, every), media_type), media_type)


async def show_stream(request: Request) -> Response:
    """A stream, as JSON or as its description."""
    hub, base, name = hub_of(request), base_of(request), request.path_params["name"]
    media_type = negotiated(request)
    if media_type == JSON:
        return JSONResponse(_view(hub, name, base), headers={"Vary": "Accept"})
    quads = described(_described(hub, name, base))
    return as_graph(graph_bytes(quads, media_type), media_type)


def _view(hub: Hub, name: str, base: str) -> dict[str, Any]:
    made = None if name in hub.catalogue.streams else hub.derived(name)
    if made is not None:
        return derived_view(hub, name, made, base)
    return stream_view(hub, hub.stream(name), base)


def _described(hub: Hub, name: str, base: str) -> Described:
    view = _view(hub, name, base)
    pushed = view["kind"] == "pushed"
    return Described(
        view["iri"],
        view["url"],
        view["title"],
        view["description"],
        view["license"],
        pushed,
        None if pushed else f"{base}/queries/{name}",
    )


async def create_stream(request: Request) -> Response:
    """Make a stream."""
    hub, base = hub_of(request), base_of(request)
    said = await json_of(request, hub.limits.query)
    unknown = sorted(said.keys() - _MEMBERS)
    if unknown:
        raise Problem(400, f"a stream has {', '.join(sorted(_MEMBERS))}, and no {unknown[0]!r}")
    name = checked_name(request.path_params.get("name") or said.get("name"), "stream")
    given = member(said, "name")
    if given is not None and given != name:
        raise Problem(400, f"the path says '{name}', and the body '{given[:80]}'")
    iri = f"{base}/streams/{name}" if said.get("iri") is None else said["iri"]
    entry = StreamEntry(
        name,
        checked_iri(iri, "the stream"),
        _time(member(said, "time")),
        _delay(member(said, "delay")),
        member(said, "title"),
        member(said, "description"),
        member(said, "license"),
    )
    new = await hub.create_stream(entry)
    view = stream_view(hub, hub.stream(name), base)
    return JSONResponse(view, 201 if new else 200, headers={"Location": view["url"]})


def _time(text: str | None) -> str:
    if text is None or text in {ARRIVAL, SAID}:
        return text or ARRIVAL
    return checked_iri(text, "'time', or 'arrival' or 'said'")


def _delay(text: str | None) -> str | None:
    if text is not None:
        try:
            duration(text)
        except HeadraceError as error:
            raise problem_of(error) from None
    return text


async def delete_stream(request: Request) -> Response:
    """Remove a stream."""
    hub, name = hub_of(request), request.path_params["name"]
    if name not in hub.catalogue.streams and hub.derived(name) is not None:
        raise Problem(409, f"query '{name}' makes it; remove that one")
    await hub.delete_stream(name)
    return Response(status_code=204)


# -- pushing -------------------------------------------------------------------------------------


async def push(request: Request) -> Response:
    """Take elements; the answer comes when they are on disk."""
    said = await taken(hub_of(request), request.path_params["name"], request.scope, request.receive)
    return Response(said, media_type=JSON)


async def heartbeat(request: Request) -> Response:
    """Say that time has come this far."""
    inlet = hub_of(request).inlet(request.path_params["name"])
    when = request.query_params.get("at")
    if when is None:
        raise Problem(400, "a heartbeat needs a time: ?at=TIME")
    at = milliseconds(moment_of(when))
    await inlet.push(Arrived(Format.N_QUADS.media_type, b"", 0, at))
    return JSONResponse({"stream": inlet.entry.name, "elements": 0, "duplicate": False})


async def elements(request: Request) -> Response:
    """The latest elements."""
    hub = hub_of(request)
    last = number_of(request, "last", 20, hub.limits.current_elements)
    inlet = hub.inlet(request.path_params["name"])
    found = await asyncio.to_thread(inlet.recent.elements, last)
    shown = [{"at": time / 1000, "quads": text} for time, text in found]
    return JSONResponse({"elements": shown})


async def push_socket(socket: WebSocket) -> None:
    """Take elements from a WebSocket, and acknowledge each message in turn."""
    hub: Hub = socket.app.state.hub
    try:
        inlet = hub.inlet(socket.path_params["name"])
    except Problem as problem:
        await refuse_socket(socket, problem)
        return
    await accept_socket(socket)
    under_way: asyncio.Queue[UnderWay | None] = asyncio.Queue(_MOST_UNDER_WAY)
    teller = asyncio.create_task(_acknowledge(socket, under_way))
    number = 0
    try:
        while True:
            message = await socket.receive()
            if message["type"] == "websocket.disconnect":
                break
            number += 1
            data = message.get("bytes")
            data = (message.get("text") or "").encode() if data is None else data
            await under_way.put(await _taken(hub, inlet, number, data))
    except (WebSocketDisconnect, RuntimeError):
        pass
    finally:
        await under_way.put(None)
        await teller


async def _taken(hub: Hub, inlet: Inlet, number: int, data: bytes) -> UnderWay:
    """Take a message once there is room for it; it holds this until it is on disk."""
    body = hub.room.body()
    try:
        await body.grow(len(data), hub.limits.bodies_seconds)
    except Problem as problem:
        return UnderWay(number, 0, problem)
    found = taken_message(inlet, number, data)
    if isinstance(found.done, Problem):
        body.close()
    else:
        found.done.add_done_callback(lambda _done: body.close())
    return found


async def _acknowledge(socket: WebSocket, under_way: asyncio.Queue[UnderWay | None]) -> None:
    gone = False
    while (each := await under_way.get()) is not None:
        said = await each.answer()
        if gone:
            continue
        try:
            await socket.send_text(said)
        except (WebSocketDisconnect, RuntimeError):
            gone = True


async def accept_socket(socket: WebSocket) -> None:
    """Let a WebSocket in."""
    offered = socket.scope.get("subprotocols", ())
    await socket.accept(PROTOCOL if PROTOCOL in offered else None)


async def refuse_socket(socket: WebSocket, problem: Problem) -> None:
    """Do not let a WebSocket in."""
    if "websocket.http.response" in socket.scope.get("extensions", {}):
        await socket.send_denial_response(problem.response())
    else:
        await socket.close(1008, problem.title)
