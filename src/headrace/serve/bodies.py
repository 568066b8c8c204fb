"""The body of a request: no larger than it may be, also when it is unpacked."""

from __future__ import annotations

import asyncio
import json
import zlib
from typing import Any, Final

from starlette.requests import Request
from starlette.types import Receive

from headrace.serve.fields import Fields, fields_of
from headrace.serve.hub import Hub
from headrace.serve.limits import Limits
from headrace.serve.problems import Problem

_GZIP: Final = 16 + zlib.MAX_WBITS
_PACKED: Final = frozenset({"identity", "", "gzip", "x-gzip"})


def hub_of(request: Request) -> Hub:
    """What the request is about."""
    hub: Hub = request.app.state.hub
    return hub


async def body_of(request: Request, most: int | None = None) -> bytes:
    """The body, unpacked.

    Raises:
        Problem: 413 if it is too large, 415 if it is packed otherwise, 408 if it does not come.
    """
    limits = hub_of(request).limits
    most = limits.body if most is None else most
    return await read_body(fields_of(request.scope), request.receive, most, limits)


async def read_body(fields: Fields, receive: Receive, most: int, limits: Limits) -> bytes:
    """The body of a request, unpacked.

    Args:
        fields: the headers.
        receive: gives the next part.
        most: how many bytes it may have.
        limits: how long the next part may take, and all of it.

    Raises:
        Problem: 413 if it is too large, 415 if it is packed otherwise, 408 if it does not come.
    """
    said = fields.get(b"content-length") or ""
    if said.isdecimal() and int(said[:20]) > most:
        raise _too_large(most)
    packed = (fields.get(b"content-encoding") or "").strip().lower()
    if packed not in _PACKED:
        raise Problem(415, f"a body may be packed by gzip, and not by '{packed[:40]}'")
    unpack = zlib.decompressobj(_GZIP) if packed.endswith("gzip") else None
    parts: list[bytes] = []
    size, came, more = 0, 0, True
    clock = asyncio.get_running_loop().time
    began = clock()
    while more:
        # Who sends a byte now and then is slow too.
        left = began + limits.body_seconds + came / limits.body_rate - clock()
        part, more = await _next_part(receive, min(left, limits.body_seconds))
        came += len(part)
        found = _unpacked(unpack, part, most - size) if unpack and part else part
        size += len(found)
        if size > most:
            raise _too_large(most)
        parts.append(found)
    if unpack is not None and not unpack.eof:
        raise Problem(400, "the body is not whole gzip")
    return b"".join(parts)


async def _next_part(receive: Receive, patience: float) -> tuple[bytes, bool]:
    """A part of a body, and whether there is more."""
    try:
        async with asyncio.timeout(patience):
            message = await receive()
    except TimeoutError:
        raise Problem(408, "the rest of the body did not come") from None
    if message["type"] == "http.disconnect":
        raise Problem(400, "the client has gone")
    return message.get("body", b""), message.get("more_body", False)


def _unpacked(unpack: zlib._Decompress, part: bytes, room: int) -> bytes:
    try:
        # One byte more than there is room for says that it is too large.
        found = unpack.decompress(part, max(room, 0) + 1)
    except zlib.error:
        raise Problem(400, "the body is not gzip") from None
    if unpack.unused_data:
        raise Problem(400, "there is something after the end of the gzip of the body")
    return found


def _too_large(most: int) -> Problem:
    return Problem(413, f"a body here may have {most:,} bytes, unpacked")


async def text_of(request: Request, most: int | None = None) -> str:
    """The body as text.

    Raises:
        Problem: 400 if it is no UTF-8.
    """
    return decoded(await body_of(request, most))


def decoded(data: bytes) -> str:
    """UTF-8 as text.

    Raises:
        Problem: 400 if it is none.
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Problem(400, f"it is not UTF-8: {error.reason} at byte {error.start}") from None


async def json_of(request: Request, most: int | None = None) -> dict[str, Any]:
    """The body as an object of JSON.

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
    """A text in an object, if it is there.

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
    """A number in the query of the URL.

    Raises:
        Problem: 400 if it is none.
    """
    text = request.query_params.get(name)
    if text is None:
        return otherwise
    if not (text.isascii() and text.isdigit()) or len(text) > 18:  # noqa: PLR2004 - 64 bits
        raise Problem(400, f"expected a number as '{name}', found {text[:40]!r}")
    return min(int(text), most)
