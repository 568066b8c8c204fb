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
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headrace.errors import HeadraceError
from headrace.serve.auth import Guard
from headrace.serve.demo_data import DEMOS
from headrace.serve.demos import Demos
from headrace.serve.hub import Hub
from headrace.serve.openapi import document
from headrace.serve.operating import asset, page
from headrace.serve.problems import Problem, problem_of
from headrace.serve.results import results_socket
from headrace.serve.routes import OPERATIONS
from headrace.serve.settings import Settings
from headrace.serve.streams import base_of, push, push_socket

LOGGER: Final = logging.getLogger("headrace.serve")
_PUSHED: Final = "/streams/"
_PARTS: Final = 2


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
        except HeadraceError as error:
            app.state.failure = error  # whoever has started it says so
            raise
        demos = Demos(hub)
        app.state.hub, app.state.demos = hub, demos
        await hub.open()
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
            problem = Problem(500, "something went wrong here; the log of the server says what")
            await problem.response()(scope, receive, sent)

    async def _pushed(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Take a push on the shortest way; there are thousands of them a second."""
        scope["app"] = self._app
        scope["path_params"] = {"name": scope["path"].removeprefix(_PUSHED)}
        try:
            response = await push(Request(scope, receive))
        except Problem as problem:
            response = problem.response()
        except HeadraceError as error:
            response = problem_of(error).response()
        await response(scope, receive, send)


async def _of_problem(_request: Request, error: Exception) -> Response:
    assert isinstance(error, Problem), "it is registered for these"
    return error.response()


async def _of_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HeadraceError), "it is registered for these"
    problem = problem_of(error)
    if problem.status >= 500:  # noqa: PLR2004 - a mistake of ours, or of the machine
        LOGGER.error("%s", error)
    return problem.response()


async def _of_http(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException), "it is registered for these"
    said = {404: "there is no such path; /openapi.json has all", 405: "not by this method"}
    problem = Problem(
        error.status_code, said.get(error.status_code, str(error.detail)), headers=error.headers
    )
    return problem.response()
