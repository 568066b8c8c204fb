"""What `headrace serve` does: open a socket, say where, and serve until told to stop."""

from __future__ import annotations

import asyncio
import logging
import re
import resource
import signal
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from types import FrameType
from typing import Final

import uvicorn
from starlette.applications import Starlette

from headrace.errors import MachineError, SettingError
from headrace.metering import MEMORY
from headrace.pipeline.stopping import Wish
from headrace.serve.app import assembled
from headrace.serve.connections import Connection, close_the_silent, room_for
from headrace.serve.hub import Hub
from headrace.serve.settings import Settings

_SECRET: Final = re.compile(
    r"(?i)(bearer[ .]+|access_token=|token=|://[^/\s:@]*:(?=[^\s\"'<>]*@))"
    r"[^\s&@\"']+"
)
LOGGER: Final = logging.getLogger("headrace.serve")
_BACKLOG: Final = 2_048
_GRACE: Final = 5
_QUEUE: Final = 2
"""So many messages of a WebSocket are read before they are taken."""


class Redacting(logging.Filter):
    """Takes secrets out of what is logged."""

    def __init__(self, *secrets: str | None) -> None:
        """Know some secrets by heart, and others by their looks."""
        super().__init__()
        self._secrets = [each for each in secrets if each]

    def filter(self, record: logging.LogRecord) -> bool:
        """Change what a record says, and let it pass."""
        record.msg, record.args = self._without_secrets(record.getMessage()), ()
        if record.exc_info:
            text = logging.Formatter().formatException(record.exc_info)
            record.exc_text = self._without_secrets(text)
        return True

    def _without_secrets(self, said: str) -> str:
        for secret in self._secrets:
            said = said.replace(secret, "***")
        return _SECRET.sub(r"\1***", said)


def listening(settings: Settings) -> socket.socket:
    """A socket on the address and the port that are asked for.

    Raises:
        SettingError: they cannot be had.
    """
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((settings.host, settings.port))
    except (OSError, OverflowError) as error:
        found.close()
        where = f"{settings.host}, port {settings.port}"
        raise SettingError(f"cannot listen on {where}: {error}; try --port 0") from None
    found.listen(_BACKLOG)
    return found


class Server(uvicorn.Server):
    """Tells those who follow results that it is about to end, so that they let go."""

    def __init__(self, config: uvicorn.Config, ending: Callable[[], None]) -> None:
        """Say who is told."""
        super().__init__(config)
        self._ending = ending
        self._wish = Wish()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002
        """End politely; at the second Ctrl-C, at once. Whoever asked for it gets exit code 0."""
        self._ending()
        self.force_exit = self._wish.repeated() and sig == signal.SIGINT
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End, and listen to signals for as long as one may be heard twice."""
        await super().shutdown(sockets)
        await asyncio.to_thread(self._wish.fade)


def serve(settings: Settings, say: Callable[[str], None]) -> None:
    """Serve until Ctrl-C or a polite kill.

    Args:
        settings: what the server was told.
        say: tells the user something.

    Raises:
        HeadraceError: it cannot be started.
    """
    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s"
    )
    # What goes wrong with requests is told by the application, and why it cannot start below.
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
    # What fails in a batch on Spark is reported by the deployment, without a traceback each time.
    logging.getLogger("py4j.clientserver").setLevel(logging.CRITICAL)
    secrets = Redacting(settings.token, settings.read_token)
    for handler in logging.getLogger().handlers:
        handler.addFilter(secrets)
    threading.excepthook = _log_uncaught
    if settings.token is not None:  # a dump of the memory would have it
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    with listening(settings) as opened, MEMORY.limited(settings.limits.memory_bytes):
        settings = replace(settings, port=opened.getsockname()[1])
        app, inner = assembled(settings)
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            date_header=True,
            timeout_keep_alive=30,
            timeout_graceful_shutdown=_GRACE,
            http=Connection,
            limit_concurrency=room_for(settings.limits.connections),
            ws_max_size=settings.limits.message,
            ws_max_queue=_QUEUE,
            ws_ping_interval=20,
            h11_max_incomplete_event_size=64_000,
        )
        server = Server(config, lambda: _end(inner))
        with (
            asyncio.Runner(loop_factory=config.get_loop_factory()) as runner,
            suppress(SystemExit),  # uvicorn ends the process if it cannot start; we say why
        ):
            silent = settings.limits.head_seconds
            runner.run(_served(server, opened, silent, lambda: say(welcome(settings))))
    if not server.started:
        failure = getattr(inner.state, "failure", None)
        raise failure or MachineError("the server could not be started")


def _log_uncaught(failed: threading.ExceptHookArgs) -> None:
    """Log why a thread has ended, as everything else: without secrets."""
    if failed.exc_value is not None:
        LOGGER.error("a thread failed", exc_info=failed.exc_value)


def _end(app: Starlette) -> None:
    """Let those go who follow results or wait for answers, from wherever this is called."""
    hub: Hub | None = getattr(app.state, "hub", None)
    loop = None if hub is None else hub.following.loop
    if hub is not None and loop is not None:
        loop.call_soon_threadsafe(hub.following.end_all, "shutdown")
        loop.call_soon_threadsafe(hub.asking.stop)


async def _served(
    server: Server, opened: socket.socket, silent: float, ready: Callable[[], None]
) -> None:
    async def tell() -> None:
        while not server.started:
            await asyncio.sleep(0.02)
        ready()

    telling = asyncio.create_task(tell())
    closing = asyncio.create_task(close_the_silent(server.server_state, silent))
    await server.serve([opened])
    telling.cancel()
    closing.cancel()


def welcome(settings: Settings) -> str:
    """What is said when the server can be reached."""
    lines = [f"Headrace is at {settings.url}", f"it keeps everything in {settings.location}"]
    if settings.token is not None:
        lines.append("requests need the token: Authorization: Bearer TOKEN")
    return "\n".join([*lines, "Ctrl-C ends it; the same command goes on"])
