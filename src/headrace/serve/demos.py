"""Streams that move by themselves, each with a query: for whoever wants to see something."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from headrace.errors import HeadraceError
from headrace.rdf.formats import Format
from headrace.serve.arriving import Arrived
from headrace.serve.catalogue import SAID, QueryEntry, StreamEntry
from headrace.serve.demo_data import DEMOS, Demo
from headrace.serve.hub import Hub
from headrace.serve.problems import Problem
from headrace.serve.static_graphs import read_graph

_PAUSE: Final = 0.25
_BACKLOG: Final = 60
"""So many seconds before its start a demo begins, so that its first window is full."""


class Demos:
    """The demos of a server: which run, and who makes their elements."""

    def __init__(self, hub: Hub) -> None:
        """Begin with none at work."""
        self._hub = hub
        self._at_work: dict[str, asyncio.Task[None]] = {}

    def go_on(self) -> None:
        """Make the elements of demos that ran when the server ended."""
        for entry in self._hub.catalogue.streams.values():
            if entry.demo in DEMOS:
                self._make(DEMOS[entry.demo], 0)

    def _make(self, demo: Demo, backlog: int) -> None:
        if demo.name not in self._at_work:
            task = asyncio.create_task(_moving(self._hub, demo, backlog))
            self._at_work[demo.name] = task

    def view(self, demo: Demo) -> dict[str, Any]:
        """A demo for JSON."""
        return {
            "name": demo.name,
            "title": demo.title,
            "description": demo.description,
            "running": demo.name in self._at_work,
            "streams": [demo.stream.name],
            "queries": [demo.query],
            "text": demo.text,
        }

    async def start(self, demo: Demo) -> None:
        """Start a demo, or do nothing if it is at work.

        Raises:
            Problem: its names are taken.
        """
        hub, stream = self._hub, demo.stream
        entry = StreamEntry(
            stream.name, stream.iri, SAID, None, stream.title, demo.description, demo=demo.name
        )
        await hub.create_stream(entry)
        if demo.graph is not None and demo.graph not in hub.static.graphs:
            quads = read_graph(demo.static.encode(), Format.TURTLE, None)
            await hub.write_graph(demo.graph, lambda _before: quads)
        if demo.query not in hub.catalogue.queries:
            parsed = await asyncio.to_thread(hub.deployed.parse, demo.text, None, {})
            query = QueryEntry(demo.query, demo.text, parsed.dialect, {}, hub.now, demo=demo.name)
            await hub.register(query)
        self._make(demo, _BACKLOG)

    async def stop(self, demo: Demo) -> None:
        """End a demo, and remove what it has made."""
        hub = self._hub
        task = self._at_work.pop(demo.name, None)
        if task is not None:
            task.cancel()
        if demo.query in hub.catalogue.queries:
            await hub.remove(demo.query)
        if demo.stream.name in hub.catalogue.streams:
            await hub.delete_stream(demo.stream.name)
        if demo.graph is not None and demo.graph in hub.static.graphs:
            await hub.write_graph(demo.graph, lambda _before: None)

    def close(self) -> None:
        """Make no more elements."""
        for task in self._at_work.values():
            task.cancel()


async def _moving(hub: Hub, demo: Demo, backlog: int) -> None:
    """Push the elements of each moment as it comes."""
    inlet = hub.inlets[demo.stream.name]
    reached = inlet.times.now() // 1000 - backlog * 1000
    while demo.stream.name in hub.catalogue.streams:
        inlet = hub.inlets.get(demo.stream.name, inlet)
        now = inlet.times.now() // 1000
        # Where a clock jumps ahead, no demo makes up for what it has passed over.
        reached = max(reached, now - _BACKLOG * 1000)
        lines = [
            json.dumps({"time": moment, "data": statements})
            for second in range(reached // 1000, now // 1000 + 1)
            for millisecond, statements in demo.stream.elements(second)
            if reached < (moment := second * 1000 + millisecond) <= now
        ]
        reached = now
        if lines:
            data = ("\n".join(lines) + "\n").encode()
            with suppress(Problem, HeadraceError):  # if the log is full, a demo may lose something
                await inlet.push(Arrived(Format.NDJSON.media_type, data, len(lines)))
        await asyncio.sleep(_PAUSE)


def _demo(request: Request) -> Demo:
    name = request.path_params["name"]
    if name not in DEMOS:
        raise Problem(404, f"there is no demo '{name[:80]}'; there are {', '.join(DEMOS)}")
    return DEMOS[name]


def demos_of(request: Request) -> Demos:
    """The demos of the server."""
    demos: Demos = request.app.state.demos
    return demos


async def list_demos(request: Request) -> Response:
    """All demos."""
    demos = demos_of(request)
    return JSONResponse({"demos": [demos.view(each) for each in DEMOS.values()]})


async def start_demo(request: Request) -> Response:
    """Start a demo."""
    demo, demos = _demo(request), demos_of(request)
    await demos.start(demo)
    return JSONResponse(demos.view(demo))


async def stop_demo(request: Request) -> Response:
    """End a demo."""
    await demos_of(request).stop(_demo(request))
    return Response(status_code=204)
