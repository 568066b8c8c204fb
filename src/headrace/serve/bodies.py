"""The body of a request: no larger than it may be, also when it is unpacked."""

from __future__ import annotations

import asyncio
import json
import zlib
from collections.abc import Iterator
from typing import Any, Final

from starlette.requests import Request
from starlette.types import Receive, Scope

from headrace.serve.fields import fields_of
from headrace.serve.hub import Hub
from headrace.serve.problems import Problem
from headrace.serve.room import SMALL, Body

_GZIP: Final = 16 + zlib.MAX_WBITS
_STEP: Final = 64_000
_BODY: Final = "headrace.body"
_PACKED: Final = frozenset({"identity", "", "gzip", "x-gzip"})


def hub_of(request: Request) -> Hub:
    """Return the hub of the server that the request is for."""
    hub: Hub = request.app.state.hub
    return hub


async def body_of(request: Request, most: int | None = None) -> bytes:
    """Read the body, unpacked.

    Raises:
        Problem: 413 if it is too large, 415 if it is packed otherwise, 408 if it does not come.
    """
    hub = hub_of(request)
    most = hub.limits.body if most is None else most
    return await read_body(request.scope, request.receive, most, hub)


async def read_body(scope: Scope, receive: Receive, most: int, hub: Hub) -> bytes:
    """Read the body of a request, unpacked; its room is reserved until `release_body`.

    Args:
        scope: the request.
        receive: gives the next part.
        most: how many bytes it may have.
        hub: how long the next part may take, and all of it, and how much room there is.

    Raises:
        Problem: 413 if it is too large, 415 if it is packed otherwise, 408 if it does not come,
            503 if there is no room for it.
    """
    fields, limits = fields_of(scope), hub.limits
    length = fields.get(b"content-length") or ""
    has_length = length.isdecimal()
    if has_length and int(length[:20]) > most:
        raise _too_large(most)
    packed = (fields.get(b"content-encoding") or "").strip().lower()
    if packed not in _PACKED:
        raise Problem(415, f"a body may be packed by gzip, and not by '{packed[:40]}'")
    unpack = zlib.decompressobj(_GZIP) if packed.endswith("gzip") else None
    body = scope[_BODY] = hub.room.body()
    is_known = has_length and unpack is None
    await body.grow(int(length) if is_known else min(most, SMALL), limits.bodies_seconds)
    parts: list[bytes] = []
    size, came, waited, more = 0, 0, 0.0, True
    clock = asyncio.get_running_loop().time
    began = clock()
    while more:
        # A client that sends a byte now and then is slow too.
        left = began + waited + limits.body_seconds + came / limits.body_rate - clock()
        part, more = await _next_part(receive, min(left, limits.body_seconds), body)
        came += len(part)
        body.came(len(part))
        for found in _unpacked(unpack, part):
            size += len(found)
            if size > most:
                raise _too_large(most)
            parts.append(found)
            if size > body.size:
                pause = clock()
                await body.grow(min(most, 2 * size), limits.bodies_seconds)
                waited += clock() - pause
    if unpack is not None and not unpack.eof:
        raise Problem(400, "the body is not whole gzip")
    return b"".join(parts)


def release_body(scope: Scope) -> None:
    """Release the room of the body of a request, if it has one."""
    body: Body | None = scope.get(_BODY)
    if body is not None:
        body.close()


async def _next_part(receive: Receive, patience: float, body: Body) -> tuple[bytes, bool]:
    """Receive a part of a body, and whether there is more."""
    try:
        async with body.waiting(patience):
            message = await receive()
    except TimeoutError:
        raise body.late() from None
    finally:
        body.arrived()
    if message["type"] == "http.disconnect":
        raise Problem(400, "the client has gone")
    return message.get("body", b""), message.get("more_body", False)


def _unpacked(unpack: zlib._Decompress | None, part: bytes) -> Iterator[bytes]:
    """Unpack a part in steps, because a few bytes may become very many."""
    if unpack is None:
        yield part
        return
    while True:
        try:
            found = unpack.decompress(part, _STEP)
        except zlib.error:
            raise Problem(400, "the body is not gzip") from None
        if unpack.unused_data:
            raise Problem(400, "there is something after the end of the gzip of the body")
        if not found:
            return
        yield found
        part = unpack.unconsumed_tail


def _too_large(most: int) -> Problem:
    return Problem(413, f"a body here may have {most:,} bytes, unpacked")


async def text_of(request: Request, most: int | None = None) -> str:
    """Read the body as text.

    Raises:
        Problem: 400 if it is no UTF-8.
    """
    return decoded(await body_of(request, most))


def decoded(data: bytes) -> str:
    """Decode UTF-8.

    Raises:
        Problem: 400 if it is none.
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Problem(400, f"it is not UTF-8: {error.reason} at byte {error.start}") from None


async def json_of(request: Request, most: int | None = None) -> dict[str, Any]:
    """Read the body as an object of JSON.

    Raises:
        Problem: 400 if it is none.
    """
    text = await text_of(request, most)
    try:
        found = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError):
        raise Problem(400, "expected JSON in the body") from None
    if not isinstance(found, dict):
        raise Problem(400, "expected an object of JSON in the body")
    return found


def member(found: dict[str, Any], name: str, longest: int = 2_000) -> str | None:
    """Return a text in an object, if it is there.

    Raises:
        Problem: 400 if it is something else.
    """
    value = found.get(name)
    if value is None:
        return None
    if not isinstance(value, str):
        raise Problem(400, f"expected a text as '{name}'")
    if len(value) > longest:
        raise Problem(400, f"'{name}' may have {longest:,} characters")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise Problem(400, f"'{name}' has half a character in it") from None
    return value


def number_of(request: Request, name: str, otherwise: int, most: int) -> int:
    """Read a number in the query of the URL.

    Raises:
        Problem: 400 if it is none.
    """
    text = request.query_params.get(name)
    if text is None:
        return otherwise
    if not (text.isascii() and text.isdigit()) or len(text) > 18:  # noqa: PLR2004 - 64 bits
        raise Problem(400, f"expected a number as '{name}', found {text[:40]!r}")
    return min(int(text), most)
