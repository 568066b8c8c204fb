"""The application: routes, errors, and what stands before them."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Match, Route, WebSocketRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headrace.errors import HeadraceError
from headrace.serve.auth import Guard
from headrace.serve.bodies import release_body
from headrace.serve.demo_data import DEMOS
from headrace.serve.demos import Demos
from headrace.serve.hub import Hub
from headrace.serve.openapi import document
from headrace.serve.operating import asset, page
from headrace.serve.problems import Problem, problem_of
from headrace.serve.results import results_socket
from headrace.serve.routes import OPERATIONS
from headrace.serve.settings import Settings
from headrace.serve.stall_reporter import StalledError
from headrace.serve.streams import base_of, push_socket
from headrace.serve.taking import taken

LOGGER: Final = logging.getLogger("headrace.serve")
_PUSHED: Final = "/streams/"
_PARTS: Final = 2
_MISTAKE: Final = "something went wrong here; the log of the server says what"
_JSON: Final = (b"content-type", b"application/json")


async def openapi(request: Request) -> Response:
    """The OpenAPI document."""
    return JSONResponse(document(base_of(request)))


def routes() -> Sequence[BaseRoute]:
    """All paths."""
    described: list[BaseRoute] = [
        Route(each.path, each.handler, methods=[each.method]) for each in OPERATIONS
    ]
    return [
        *described,
        Route("/openapi.json", openapi, methods=["GET"]),
        Route("/", page, methods=["GET"]),
        Route("/console/{path:path}", asset, methods=["GET"]),
        WebSocketRoute("/streams/{name}/socket", push_socket),
        WebSocketRoute("/queries/{name}/socket", results_socket),
    ]


def application(settings: Settings) -> ASGIApp:
    """An application that opens what is kept when it starts, and closes it when it ends."""
    return assembled(settings)[0]


def assembled(settings: Settings) -> tuple[ASGIApp, Starlette]:
    """The same, and what is inside it."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        try:
            hub = Hub(settings)
            demos = Demos(hub)
            app.state.hub, app.state.demos = hub, demos
            await hub.open()
        except HeadraceError as error:
            app.state.failure = error  # reported by the command that starts the server
            raise
        demos.go_on()
        if settings.demo:
            for demo in DEMOS.values():
                await demos.start(demo)
        try:
            yield
        finally:
            demos.close()
            await hub.close()

    app = Starlette(
        routes=routes(),
        lifespan=lifespan,
        exception_handlers={
            Problem: _of_problem,
            HeadraceError: _of_error,
            HTTPException: _of_http,
            Exception: _of_mistake,
        },
    )
    return Guard(_Answering(app), settings), app


class _Answering:
    """Counts answers, and turns what nobody has thought of into a problem without details."""

    def __init__(self, app: Starlette) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = False

        async def sent(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                self._app.state.hub.answered[message["status"]] += 1
            await send(message)

        path = scope["path"]
        try:
            if scope["method"] == "POST" and path.startswith(_PUSHED) and path.count("/") == _PARTS:
                await self._pushed(scope, receive, sent)
            else:
                await self._app(scope, receive, sent)
        except Exception:
            LOGGER.exception("a request failed")
            if started:
                raise
            problem = Problem(500, _MISTAKE)
            await problem.response()(scope, receive, sent)
        finally:
            release_body(scope)

    async def _pushed(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Take a push without asking who else might answer."""
        name = scope["path"].removeprefix(_PUSHED)
        try:
            said = await taken(self._app.state.hub, name, scope, receive)
        except Problem as problem:
            await problem.response()(scope, receive, send)
        except HeadraceError as error:
            await problem_of(error).response()(scope, receive, send)
        else:
            size = (b"content-length", b"%d" % len(said))
            await send({"type": "http.response.start", "status": 200, "headers": [size, _JSON]})
            await send({"type": "http.response.body", "body": said})


async def _of_problem(_request: Request, error: Exception) -> Response:
    assert isinstance(error, Problem), "it is registered for these"
    return error.response()


async def _of_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HeadraceError), "it is registered for these"
    problem = problem_of(error)
    if problem.status >= 500 and not isinstance(error, StalledError):  # noqa: PLR2004 - a mistake of ours, or of the machine
        LOGGER.error("%s", error)
    return problem.response()


async def _of_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException), "it is registered for these"
    said = {404: "there is no such path; /openapi.json has all", 405: "not by this method"}
    headers = dict(error.headers or {})
    if error.status_code == 405:  # noqa: PLR2004 - the framework names the methods of one route
        headers["Allow"] = ", ".join(sorted(_methods_at(request)))
    detail = said.get(error.status_code, str(error.detail))
    return Problem(error.status_code, detail, headers=headers).response()


def _methods_at(request: Request) -> set[str]:
    """By which methods something can be asked of a path."""
    found: set[str] = set()
    for route in request.app.routes:
        if isinstance(route, Route) and route.matches(request.scope)[0] is not Match.NONE:
            found |= route.methods or set()
    return found


async def _of_mistake(_request: Request, _error: Exception) -> Response:
    """The log says what; who has asked is told in the same form as of any other problem."""
    return Problem(500, _MISTAKE).response()
