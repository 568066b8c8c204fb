"""What queries have found: the last of it at once, or all of it as it comes."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.websockets import WebSocket, WebSocketDisconnect

from headrace.algebra.query import Ask, Select
from headrace.dialects import Parsed
from headrace.rdf.terms import Quad
from headrace.results.formats import TABLE_TYPES, format_of_media_type
from headrace.results.json_format import term_from_json
from headrace.results.table import Table
from headrace.results.writing import result_text
from headrace.serve.bodies import hub_of, number_of
from headrace.serve.following import Ended, Missed, Topic, WakeUp, followed
from headrace.serve.graph_formats import GRAPH_TYPES, graph_bytes
from headrace.serve.hub import Hub
from headrace.serve.negotiation import chosen
from headrace.serve.problems import Problem
from headrace.serve.retained import Kept
from headrace.serve.streams import accept_socket, refuse_socket
from headrace.serve.views import form_name, variables_of

JSON: Final = "application/json"
NDJSON: Final = "application/x-ndjson"
EVENTS: Final = "text/event-stream"
_QUIET: Final = 15.0
_MODES: Final = ("rstream", "changelog")
_SIGNS: Final = {"istream": "+", "dstream": "-"}
_EVENT_HEADERS: Final = {
    "Cache-Control": "no-store",
    "X-Accel-Buffering": "no",
    "Vary": "Accept",
}


def _parsed(hub: Hub, name: str) -> Parsed:
    hub.query(name)
    parsed = hub.deployed.parsed.get(name)
    if parsed is None:
        raise Problem(422, f"query '{name}' cannot be read any more: {hub.failure(name)}")
    return parsed


async def results(request: Request) -> Response:
    """Return the last evaluations in the accepted media type."""
    hub, name = hub_of(request), request.path_params["name"]
    parsed = _parsed(hub, name)
    form = parsed.query.form
    if isinstance(form, Select):
        own: tuple[str, ...] = TABLE_TYPES
    else:
        own = TABLE_TYPES[:2] if isinstance(form, Ask) else GRAPH_TYPES
    media_type = chosen(
        request.headers.get("accept"),
        (JSON, NDJSON, *own, EVENTS),
        request.query_params.get("format"),
        "these results",
    )
    if media_type == EVENTS:
        return await events(request)
    most = hub.limits.kept_evaluations
    last = number_of(request, "last", 1, most)
    found = hub.retained.last(name, last, number_of(request, "after", 0, 2**62))
    vary = {"Vary": "Accept"}
    if media_type == JSON:
        said = {
            **_head(name, parsed),
            "notes": hub.notes(name),
            "evaluations": [each.said() for each in found],
        }
        return JSONResponse(said, headers=vary)
    if media_type == NDJSON:
        return Response(b"".join(each.line for each in found), media_type=NDJSON, headers=vary)
    content = _as_answer(parsed, found, media_type)
    return Response(content, media_type=media_type, headers=vary)


def _head(name: str, parsed: Parsed) -> dict[str, Any]:
    form = parsed.query.form
    return {"query": name, "form": form_name(form), "vars": variables_of(form)}


def _as_answer(parsed: Parsed, found: Sequence[Kept], media_type: str) -> bytes:
    """The rows or statements of evaluations, one after the other."""
    said = [each.said() for each in found]
    form = parsed.query.form
    if media_type in GRAPH_TYPES:
        every = [_quad(parts) for each in said for parts in each.get("triples", ())]
        return graph_bytes(dict.fromkeys(every), media_type)
    syntax = format_of_media_type(media_type)
    assert syntax is not None, "it is one of those that are offered"
    if isinstance(form, Ask):
        truths = [each["boolean"] for each in said if "boolean" in each]
        if not truths:
            raise Problem(404, "the query has not answered yet")
        return result_text(bool(truths[-1]), syntax).encode()
    names = tuple(variables_of(form))
    rows = tuple(
        tuple(term_from_json(row[name]) if name in row else None for name in names)
        for each in said
        for row in each.get("rows", ())
    )
    return result_text(Table(names, rows), syntax).encode()


def _quad(parts: Sequence[Any]) -> Quad:
    terms = [term_from_json(each) for each in parts]
    return Quad(*terms)


# -- as it comes ---------------------------------------------------------------------------------


async def events(request: Request) -> Response:
    """Evaluations as server-sent events."""
    hub, name = hub_of(request), request.path_params["name"]
    parsed = _parsed(hub, name)
    mode = request.query_params.get("mode", "rstream")
    if mode not in _MODES:
        raise Problem(400, f"expected the mode {' or '.join(_MODES)}, found '{mode[:40]}'")
    after = _place(hub, name, request.query_params, request.headers.get("last-event-id"))
    following = hub.following.following(name)
    topic = await following.__aenter__()
    ended = _ended(hub, name)

    async def stream() -> AsyncIterator[bytes]:
        try:
            yield b"retry: 1000\n\n" + _event("sparql_results_head", _head(name, parsed))
            if ended is not None:
                topic.ended = ended
            async for part in _event_parts(hub, name, topic, after, mode):
                yield part
        finally:
            await following.__aexit__(None, None, None)

    return StreamingResponse(stream(), media_type=EVENTS, headers=_EVENT_HEADERS)


def _ended(hub: Hub, name: str) -> str | None:
    """Why there will be nothing more of a query, if there will not."""
    if hub.query(name).paused:
        return "paused"
    return "stopped" if hub.failure(name) else None


class NoteChanges:
    """The notes on a query for one follower, sent when they change."""

    def __init__(self, hub: Hub, query: str) -> None:
        """Begin without sent notes."""
        self._hub = hub
        self._query = query
        self._sent: list[tuple[str, str | None, str | None]] = []

    def take_changes(self) -> list[dict[str, str]] | None:
        """Return the notes if they are others than before; counts in texts do not matter."""
        notes = self._hub.standing_notes(self._query)
        keys = [(each["code"], each.get("stream"), each.get("subject")) for each in notes]
        if keys == self._sent:
            return None
        self._sent = keys
        return notes


async def _event_parts(
    hub: Hub, name: str, topic: Topic, after: int, mode: str
) -> AsyncIterator[bytes]:
    news = NoteChanges(hub, name)
    async for each in followed(topic, hub.retained, name, after, _QUIET):
        if not isinstance(each, Ended) and (notes := news.take_changes()) is not None:
            yield _event("notes", {"notes": notes})
        match each:
            case WakeUp():
                pass
            case None:
                yield b": keep-alive\n\n"
                reason = None if name in hub.catalogue.queries else "removed"
                reason = reason or _ended(hub, name)
                if reason is not None:
                    yield _event("end", {"reason": reason})
                    return
            case Missed(number, place):
                yield _event("lagged", {"missed": number, "resumed_after": place})
            case Ended(reason):
                yield _event("end", {"reason": reason})
            case Kept():
                yield as_events(each) if mode == "rstream" else _made(each.said(), signed=True)


def _place(hub: Hub, name: str, params: Any, last_id: str | None) -> int:
    """The id after which a follower begins."""
    newest = hub.retained.newest
    # A browser that comes back sends the id in a header, with the address that it began with.
    given = last_id or params.get("after")
    if given:
        if not (given.isascii() and given.isdigit()) or len(given) > 18:  # noqa: PLR2004 - 64 bits
            raise Problem(400, f"expected the id of an evaluation, found {given[:40]!r}")
        return min(int(given), newest)
    last = params.get("last")
    if last is None:
        return newest
    if not (last.isascii() and last.isdigit()):
        raise Problem(400, f"expected a number as 'last', found {last[:40]!r}")
    number = min(int(last[:9]), hub.limits.kept_evaluations)
    found = hub.retained.last(name, number)
    return found[0].id - 1 if found else newest


def as_events(kept: Kept) -> bytes:
    """An evaluation as events; made once, whoever follows."""
    if kept.events is None:
        kept.events = _made(kept.said(), signed=False)
    return kept.events


def _made(said: dict[str, Any], signed: bool) -> bytes:
    parts = []
    sign = {"op": _SIGNS[said["op"]]} if signed and said.get("op") in _SIGNS else {}
    for row in said.pop("rows", ()):
        parts.append(_event("sparql_results_binding", {**sign, "row": row} if sign else row))
    for triple in said.pop("triples", ()):
        parts.append(_event("sparql_results_triple", triple))
    if "boolean" in said:
        parts.append(_event("sparql_results_boolean", {"boolean": said.pop("boolean")}))
    said["rows"] = said.pop("count", 0)
    parts.append(f"id: {said['id']}\n".encode() + _event("rsp_window", said))
    return b"".join(parts)


def _event(name: str, data: object) -> bytes:
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return f"event: {name}\ndata: {text}\n\n".encode()


async def results_socket(socket: WebSocket) -> None:
    """Evaluations over a WebSocket, each as one text."""
    hub: Hub = socket.app.state.hub
    name = socket.path_params["name"]
    try:
        parsed = _parsed(hub, name)
        after = _place(hub, name, socket.query_params, None)
        following = hub.following.following(name)
        topic = await following.__aenter__()
    except Problem as problem:
        await refuse_socket(socket, problem)
        return
    try:
        await accept_socket(socket)
        await socket.send_json({"type": "head", **_head(name, parsed)})
        topic.ended = topic.ended or _ended(hub, name)
        news = NoteChanges(hub, name)
        async for each in followed(topic, hub.retained, name, after, _QUIET):
            if not isinstance(each, Ended) and (notes := news.take_changes()) is not None:
                await socket.send_json({"type": "notes", "notes": notes})
            await _send(socket, each)
        await socket.close()
    except (WebSocketDisconnect, RuntimeError):
        pass
    finally:
        await following.__aexit__(None, None, None)


async def _send(socket: WebSocket, each: Kept | Missed | Ended | WakeUp | None) -> None:
    match each:
        case WakeUp():
            pass
        case Kept():
            line = each.line.decode().rstrip("\n")
            await socket.send_text(f'{{"type":"evaluation",{line[1:]}')
        case Missed(number, place):
            await socket.send_json({"type": "lagged", "missed": number, "resumed_after": place})
        case Ended(reason):
            await socket.send_json({"type": "end", "reason": reason})
        case None:
            await socket.send_json({"type": "keep-alive"})
