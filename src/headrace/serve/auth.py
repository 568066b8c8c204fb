"""Who may ask: which host they mean, which page they come from, and what they know."""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headrace.serve.fields import Fields, fields_of
from headrace.serve.problems import Problem
from headrace.serve.settings import Settings

PROTOCOL: Final = "headrace"
_BEARER: Final = "bearer."
_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_READING: Final = frozenset({"/sparql", "/check", "/explain"})
"""What is asked by POST, and changes nothing."""
_OPEN: Final = frozenset({"/", "/healthz", "/favicon.ico"})
_ASSETS: Final = "/console/"
_API_POLICY: Final = "default-src 'none'; frame-ancestors 'none'; sandbox"
PAGE_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "font-src 'self'; connect-src 'self'; manifest-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS: Final = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}


def _raw(policy: str) -> list[tuple[bytes, bytes]]:
    given = {**_HEADERS, "content-security-policy": policy, "cache-control": "no-store"}
    return [(name.encode(), value.encode()) for name, value in given.items()]


_FAILED: Final = 400
_OF_PAGES: Final = _raw(PAGE_POLICY)
_OF_ANSWERS: Final = _raw(_API_POLICY)


class Guard:
    """Lets requests in that may come in; what goes out gets the headers that keep it safe."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        """Stand before an application."""
        self._app = app
        self._hosts = settings.allowed_hosts
        self._token = settings.token
        self._read_token = settings.read_token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        headers = fields_of(scope)
        try:
            self._check_host(headers)
            self._check_site(scope, headers)
            scope.setdefault("state", {})["read_only"] = self._check_token(scope, headers)
        except Problem as problem:
            await _refuse(problem, scope, receive, send)
            return
        is_page = scope["path"] == "/" or scope["path"].startswith(_ASSETS)

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                # A problem is no page, wherever it has occurred.
                policy = _OF_PAGES if is_page and message["status"] < _FAILED else _OF_ANSWERS
                given = {name for name, _ in message["headers"]}
                more = [each for each in policy if each[0] not in given]
                message["headers"] = [*message["headers"], *more]
            await send(message)

        await self._app(scope, receive, sent)

    def _check_host(self, headers: Fields) -> None:
        """A page that has its own name resolve to this machine must not get an answer."""
        hosts = headers.every(b"host")
        if len(hosts) != 1 or host_name(hosts[0]) not in self._hosts:
            raise Problem(
                421, "this server is not known by that name; --allow-host NAME makes it known"
            )

    def _check_site(self, scope: Scope, headers: Fields) -> None:
        """A page of another site must not ask, and not push either."""
        site = headers.get(b"sec-fetch-site")
        navigates = (
            headers.get(b"sec-fetch-mode") == "navigate"
            and headers.get(b"sec-fetch-dest") == "document"
            and scope["type"] == "http"
            and scope["method"] == "GET"
            and scope["path"] == "/"
        )
        if site is not None and site not in {"same-origin", "none"} and not navigates:
            raise Problem(403, "a page of another site has asked; that is not allowed")
        for origin in headers.every(b"origin"):
            if not self._is_own(origin, headers.get(b"host") or ""):
                raise Problem(403, "a page of another origin has asked; that is not allowed")

    def _is_own(self, origin: str, host: str) -> bool:
        try:
            parts = urlsplit(origin)
        except ValueError:
            return False
        return parts.scheme in {"http", "https"} and parts.netloc.lower() == host.lower()

    def _check_token(self, scope: Scope, headers: Fields) -> bool:
        """Whether who asks may only read."""
        path = scope["path"]
        is_open = path in _OPEN or path.startswith(_ASSETS)
        if self._token is None or (is_open and scope["type"] == "http"):
            return False
        given = _given(scope, headers)
        may_all = _same(given, self._token)
        may_read = _same(given, self._read_token or "")
        if may_all:
            return False
        if not (may_read and self._read_token):
            missing = "a token is needed: Authorization: Bearer TOKEN"
            wrong = "the token is wrong: the server was started with another one"
            raise Problem(
                401,
                wrong if given else missing,
                headers={"WWW-Authenticate": 'Bearer realm="headrace"'},
            )
        if changes(scope):
            raise Problem(403, "this token only reads")
        return True


def changes(scope: Mapping[str, object]) -> bool:
    """Whether a request is to change something."""
    path = str(scope["path"])
    if scope["type"] == "websocket":
        return path.startswith("/streams/")
    return scope["method"] not in _SAFE and path not in _READING


def host_name(host: str) -> str:
    """The name in a Host header, without the port.

    >>> host_name("LOCALHOST:7870"), host_name("[::1]:80"), host_name("evil.example")
    ('localhost', '::1', 'evil.example')
    """
    if host.startswith("["):
        inner, closed, rest = host[1:].partition("]")
        if not closed or (rest and not (rest[0] == ":" and rest[1:].isdecimal())):
            return ""
        try:
            return str(ipaddress.ip_address(inner))
        except ValueError:
            return ""
    name, _, port = host.partition(":")
    return name.lower() if not port or port.isdecimal() else ""


def _given(scope: Scope, headers: Fields) -> str:
    kind, _, token = (headers.get(b"authorization") or "").partition(" ")
    if kind.lower() == "bearer":
        return token.strip()
    if scope["type"] == "websocket":
        for each in scope.get("subprotocols", ()):
            if each.startswith(_BEARER):
                return str(each.removeprefix(_BEARER))
    return ""


def _same(given: str, known: str) -> bool:
    return hmac.compare_digest(given.encode(), known.encode())


async def _refuse(problem: Problem, scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        if "websocket.http.response" in scope.get("extensions", {}):
            await problem.response()(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008, "reason": problem.title})
        return
    response = problem.response()
    response.raw_headers.extend(_OF_ANSWERS)
    await response(scope, receive, send)
