"""The SPARQL 1.1 Protocol: plain queries by GET, by form, and as they are."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine
from typing import Any, Final, TypeVar
from urllib.parse import parse_qsl

from starlette.datastructures import MultiDict
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from headrace.serve.bodies import body_of, decoded, hub_of, text_of
from headrace.serve.descriptions import service
from headrace.serve.graph_formats import GRAPH_TYPES, graph_bytes
from headrace.serve.graph_store import graph_sizes
from headrace.serve.names import checked_iri
from headrace.serve.negotiation import chosen
from headrace.serve.problems import Problem
from headrace.serve.streams import base_of

_FORM: Final = "application/x-www-form-urlencoded"
_DIRECT: Final = "application/sparql-query"
_MOST_PARAMETERS: Final = 100
_MOST_NOTES: Final = 10
T = TypeVar("T")


async def sparql(request: Request) -> Response:
    """Answer a query, or say what can be asked."""
    params = MultiDict(request.query_params.multi_items())
    if request.method == "POST":
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind == _FORM:
            params = MultiDict([*params.multi_items(), *await _form(request)])
        elif kind == _DIRECT:
            if "query" in params:
                raise Problem(400, "there is a query in the URL and one in the body")
            text = await text_of(request, hub_of(request).limits.query)
            params = MultiDict([*params.multi_items(), ("query", text)])
        elif kind == "application/sparql-update":
            raise _no_updates()
        else:
            raise Problem(415, f"a query is sent as {_DIRECT} or {_FORM}")
    if "update" in params or "using-graph-uri" in params or "using-named-graph-uri" in params:
        raise _no_updates()
    texts = params.getlist("query")
    if len(texts) > 1:
        raise Problem(400, "there are several queries in it; send one")
    if not texts:
        if request.method == "POST":
            raise Problem(400, "there is no query in it: query=")
        return await _described(request)
    return await _answered(request, texts[0], params)


async def _form(request: Request) -> list[tuple[str, str]]:
    text = decoded(await body_of(request, 4 * hub_of(request).limits.query))
    try:
        return parse_qsl(
            text,
            keep_blank_values=True,
            max_num_fields=_MOST_PARAMETERS,
            errors="strict",
        )
    except ValueError:
        raise Problem(400, "the form cannot be read") from None


def _no_updates() -> Problem:
    return Problem(
        501, "updates are not done here: write static graphs at /store, push to /streams/NAME"
    )


async def _described(request: Request) -> Response:
    """The service description; a browser gets the console."""
    hub, base = hub_of(request), base_of(request)
    media_type = chosen(
        request.headers.get("accept"),
        (*GRAPH_TYPES, "text/html"),
        request.query_params.get("format"),
        "the service description",
    )
    if media_type == "text/html":
        return RedirectResponse("/#sparql", 303, headers={"Vary": "Accept"})
    sizes = await asyncio.to_thread(graph_sizes, hub)
    quads = service(base, [(each["iri"], each["statements"]) for each in sizes])
    content = graph_bytes(quads, media_type)
    return Response(content, media_type=media_type, headers={"Vary": "Accept"})


async def _answered(request: Request, text: str, params: MultiDict) -> Response:
    hub = hub_of(request)
    if len(text.encode(errors="surrogatepass")) > hub.limits.query:
        raise Problem(413, f"a query may have {hub.limits.query:,} bytes")
    if not text.strip():
        raise Problem(400, "there is no query in it: query=")
    default = [
        checked_iri(each, "default-graph-uri") for each in params.getlist("default-graph-uri")
    ]
    named = [checked_iri(each, "named-graph-uri") for each in params.getlist("named-graph-uri")]
    asking = hub.asking.ask(
        text,
        f"{base_of(request)}/",
        (default, named),
        (request.headers.get("accept"), params.get("format")),
    )
    found = await _answer_unless_gone(request, asking)
    headers = {"Vary": "Accept"}
    if found.notes:  # in ASCII, because the bodies of the formats have no place for them
        headers["Headrace-Notes"] = json.dumps(found.notes[:_MOST_NOTES])
    return Response(found.content, media_type=found.media_type, headers=headers)


async def _answer_unless_gone(request: Request, asking: Coroutine[Any, Any, T]) -> T:
    """Wait for an answer, and give it up where the client closes its connection before."""
    asked, gone = asyncio.create_task(asking), asyncio.create_task(_wait_for_disconnection(request))
    try:
        await asyncio.wait({asked, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not asked.done():
            raise Problem(400, "the client has gone")
        return asked.result()
    finally:
        gone.cancel()
        if asked.cancel():
            await asyncio.wait({asked})


async def _wait_for_disconnection(request: Request) -> None:
    """Wait until the client has closed its connection."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
