"""What attacks on the server have in common."""

from __future__ import annotations

import socket as sockets
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def listener() -> Iterator[tuple[int, list[str]]]:
    """A port of this machine, and who has connected to it."""
    seen: list[str] = []
    with sockets.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.05)
        ended = threading.Event()

        def listen() -> None:
            while not ended.is_set():
                try:
                    found, _ = server.accept()
                except OSError:
                    continue
                seen.append("connected")
                found.close()

        thread = threading.Thread(target=listen)
        thread.start()
        try:
            yield server.getsockname()[1], seen
        finally:
            ended.set()
            thread.join()
