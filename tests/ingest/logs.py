"""What tests say about logs: what is in one, and waiting for it."""

from __future__ import annotations

import json
import time
from base64 import b64decode
from collections.abc import Callable
from pathlib import Path
from typing import Any

WAIT = 30.0


def lines_of(directory: Path) -> list[dict[str, Any]]:
    """The whole lines of all segments, in order."""
    text = b"".join(path.read_bytes() for path in sorted(directory.glob("*.ndjson")))
    return [json.loads(line) for line in text.split(b"\n")[:-1]]


def payloads(directory: Path) -> list[bytes]:
    return [
        said["data"].encode() if "data" in said else b64decode(said["base64"])
        for said in lines_of(directory)
    ]


def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds; it is an error if it never does."""
    end = time.monotonic() + WAIT
    while not holds():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)
