"""How a push is taken, on the shortest way; there are thousands of them a second."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qsl

from starlette.types import Receive, Scope

from headrace.errors import HeadraceError
from headrace.rdf.formats import Format
from headrace.rdf.times import microseconds
from headrace.serve.arriving import arrived, form_of, rule_of
from headrace.serve.bodies import read_body
from headrace.serve.fields import Fields, fields_of
from headrace.serve.hub import Hub
from headrace.serve.problems import Problem, problem_of
from headrace.serve.pushing import Inlet

_LARGE: Final = 64_000
_LONGEST_KEY: Final = 200


async def taken(hub: Hub, name: str, scope: Scope, receive: Receive) -> bytes:
    """Take the elements of a request, and say in JSON how many; they are on disk then.

    Raises:
        Problem: they cannot be taken.
        HeadraceError: the log cannot be written.
    """
    inlet, fields = hub.inlet(name), fields_of(scope)
    form = form_of(fields.get(b"content-type"))
    at = _at(scope["query_string"])
    key = _key(fields)
    data = await read_body(scope, receive, hub.limits.body, hub)
    rule = rule_of(inlet.entry.time)
    if len(data) > _LARGE:  # so that others are not kept waiting
        async with hub.reading:  # what is read of them takes many times their memory
            read = await asyncio.to_thread(arrived, data, form, rule, at, key)
    else:
        read = arrived(data, form, rule, at, key)
    new = await inlet.push(read)
    # A name needs no escape in JSON.
    return (
        f'{{"stream":"{inlet.entry.name}","elements":{read.elements if new else 0},'
        f'"duplicate":{"false" if new else "true"}}}'
    ).encode()


def _at(query: bytes) -> int | None:
    if not query:
        return None
    said = dict(parse_qsl(query.decode("latin-1"), keep_blank_values=True))
    return None if "at" not in said else moment_of(said["at"])


def _key(fields: Fields) -> str | None:
    key = fields.get(b"idempotency-key")
    if key is not None and not (0 < len(key) <= _LONGEST_KEY and key.isprintable()):
        raise Problem(400, f"an Idempotency-Key has 1 to {_LONGEST_KEY} characters")
    return key


def moment_of(text: str) -> int:
    """A time that a request says, in microseconds.

    Raises:
        Problem: 400 if it is none.
    """
    try:
        return microseconds(text)
    except ValueError as error:
        raise Problem(400, f"in 'at': {error}") from None


# -- messages of a WebSocket ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class UnderWay:
    """A message that is being written, or why it is not.

    Attributes:
        number: of the message; the first is 1.
        elements: how many are in it.
        done: ends when they are on disk.
    """

    number: int
    elements: int
    done: asyncio.Future[None] | Problem

    async def answer(self) -> str:
        """What its sender is told, when it is on disk."""
        if isinstance(self.done, Problem):
            return self._refused(self.done)
        try:
            await self.done
        except HeadraceError as error:
            return self._refused(problem_of(error))
        return f'{{"ack": {self.number}, "elements": {self.elements}}}'

    def _refused(self, problem: Problem) -> str:
        said: dict[str, Any] = {"error": problem.as_json(), "message": self.number}
        return json.dumps(said)


def taken_message(inlet: Inlet, number: int, data: bytes) -> UnderWay:
    """Take the elements of a message, timed N-Quads or NDJSON."""
    form = Format.NDJSON if data[:1] == b"{" or data.lstrip()[:1] == b"{" else Format.TIMED_N_QUADS
    try:
        read = arrived(data, form, rule_of(inlet.entry.time))
        return UnderWay(number, read.elements, inlet.put(read))
    except Problem as problem:
        return UnderWay(number, 0, problem)
    except HeadraceError as error:
        return UnderWay(number, 0, problem_of(error))
