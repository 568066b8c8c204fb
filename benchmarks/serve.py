"""Load on `headrace serve` over loopback: many followers, thousands of pushes a second, a kill.

Two processes besides the server make the load: one pushes, one follows by server-sent events. In
the midst of it nothing is killed; at the end the server is killed without warning while pushes are
under way, started again, and asked for all that it had acknowledged.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any

import httpx2
from _following import follow
from _pushing import push, push_by_socket

STREAM = "http://example.org/load"
QUERY = (
    "PREFIX : <http://example.org/> SELECT ?g (COUNT(?c) AS ?n) "
    f"FROM STREAM <{STREAM}> [RANGE 10s STEP 1s] WHERE {{ ?g :registers ?c }} GROUP BY ?g"
)
_UNUSED = 1_000_000_000
"""No element has this number or a greater one before the kill."""


@dataclass
class Figures:
    """What was seen."""

    way: str
    seconds: float
    batch: int
    pushes_a_second: float = 0.0
    elements_a_second: float = 0.0
    refused: int = 0
    slowest_ms: float = 0.0
    median_ms: float = 0.0
    followers: int = 0
    windows_each: float = 0.0
    memory_mb: list[float] = field(default_factory=list)
    acknowledged: int = 0
    lost: int = 0
    delays_ms: list[float] = field(default_factory=list)
    processor_seconds: dict[str, float] = field(default_factory=dict)


# -- the server ----------------------------------------------------------------------------------


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def _start(location: Path, port: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "headrace", "serve", "--port", str(port)]
    started = subprocess.Popen([*command, "--location", str(location)], stdout=subprocess.DEVNULL)
    with _client(port) as client:
        for _ in range(1_200):
            try:
                if client.get("/readyz").status_code == HTTPStatus.OK:
                    return started
            except httpx2.TransportError:
                pass
            time.sleep(0.05)
    raise SystemExit("the server did not start")


def _client(port: int) -> httpx2.Client:
    return httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=60, trust_env=False)


def _memory(client: httpx2.Client) -> float:
    return float(client.get("/status").json()["memory_bytes"]) / 1e6


def measured(way: str, options: argparse.Namespace, folder: Path) -> Figures:
    """One way to push, with followers, and a kill in the end."""
    batch = options.batch if way == "batched" else 1
    figures = Figures(way, options.seconds, batch, followers=options.followers)
    location, port = folder / way, _free_port()
    server = _start(location, port)
    ready, ended = multiprocessing.Event(), multiprocessing.Event()
    pushed, followed = folder / f"{way}.pushed", folder / f"{way}.followed"
    with _client(port) as client:
        said = {"iri": STREAM, "time": "said", "delay": "1s"}
        client.put("/streams/load", json=said).raise_for_status()
        client.post("/queries", json={"text": QUERY, "name": "load"}).raise_for_status()
        following = multiprocessing.Process(
            target=follow, args=(port, options.followers, ready, ended, followed)
        )
        following.start()
        ready.wait()
        before = _processor_seconds(server.pid)
        pushing = _pushing(way, port, batch, options, pushed)
        while pushing.is_alive():
            figures.memory_mb.append(round(_memory(client), 1))
            pushing.join(options.seconds / 12)
    figures.processor_seconds["server"] = round(_processor_seconds(server.pid) - before, 1)
    ended.set()
    following.join()
    _note(figures, json.loads(pushed.read_text()), json.loads(followed.read_text()))
    _killed(figures, server, port, location, folder, options)
    return figures


def _pushing(
    way: str, port: int, batch: int, options: argparse.Namespace, out: Path
) -> multiprocessing.Process:
    """A process that pushes."""
    rate, seconds = options.rate, options.seconds
    if way == "socket":
        process = multiprocessing.Process(target=push_by_socket, args=(port, rate, seconds, out))
    else:
        shape = (port, rate, batch, options.connections, seconds, out)
        process = multiprocessing.Process(target=push, args=shape)
    process.start()
    return process


def _processor_seconds(pid: int) -> float:
    """How much of a processor a process has had."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _note(figures: Figures, pushed: dict[str, Any], followed: dict[str, Any]) -> None:
    if pushed["broken"]:
        raise SystemExit(f"{figures.way}: a connection ended after {pushed['seconds']:.1f} s")
    figures.seconds = pushed["seconds"]
    took = sorted(pushed["took"])
    figures.processor_seconds["pushing"] = round(pushed["cpu"], 1)
    figures.processor_seconds["following"] = round(followed["cpu"], 1)
    figures.pushes_a_second = len(took) / pushed["seconds"]
    figures.elements_a_second = len(pushed["acknowledged"]) / pushed["seconds"]
    figures.refused = pushed["refused"]
    figures.median_ms = 1000 * took[len(took) // 2]
    figures.slowest_ms = 1000 * took[-1]
    figures.windows_each = sum(followed["counts"]) / max(1, len(followed["counts"]))
    delays = sorted(followed["delays"])
    if delays:
        figures.delays_ms = [round(delays[len(delays) // 2], 1), round(delays[-1], 1)]


def _killed(
    figures: Figures,
    server: subprocess.Popen[bytes],
    port: int,
    location: Path,
    folder: Path,
    options: argparse.Namespace,
) -> None:
    """Kill the server while pushes are under way, and ask the next one for what was promised."""
    out = folder / "killed"
    # Numbers that were not pushed before: else what is lost now might be there from then.
    shape = (port, options.rate, figures.batch, options.connections, 4.0, out)
    process = multiprocessing.Process(target=push, args=shape, kwargs={"first": _UNUSED})
    process.start()
    time.sleep(2.0)
    os.kill(server.pid, signal.SIGKILL)
    server.wait()
    process.join()
    acknowledged = set(json.loads(out.read_text())["acknowledged"])
    again = _start(location, port)
    try:
        kept = set[int]()
        for segment in sorted((location / "streams").glob("*/*.ndjson")):
            for line in segment.read_text().splitlines():
                for text in json.loads(line)["data"].splitlines():
                    kept.add(int(text.rpartition("/c")[2].partition(">")[0]))
    finally:
        again.terminate()
        again.wait()
    figures.acknowledged = len(acknowledged)
    figures.lost = len(acknowledged - kept)


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--rate", type=float, default=5_000.0, help="elements a second")
    parser.add_argument("--batch", type=int, default=50, help="elements of a batched push")
    parser.add_argument("--followers", type=int, default=200)
    parser.add_argument("--connections", type=int, default=100, help="that push")
    parser.add_argument("--way", choices=["single", "batched", "socket"], action="append")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found = []
    with tempfile.TemporaryDirectory(prefix="headrace-serve-") as folder:
        for way in options.way or ["batched", "single", "socket"]:
            figures = measured(way, options, Path(folder))
            found.append(figures)
            print(
                f"{way}: {figures.elements_a_second:,.0f} elements/s in "
                f"{figures.pushes_a_second:,.0f} pushes/s for {figures.seconds:.1f} s, "
                f"{figures.refused} refused; acknowledged after {figures.median_ms:.1f} ms "
                f"(slowest {figures.slowest_ms:.0f}); {figures.followers} followers with "
                f"{figures.windows_each:.1f} windows each, behind by (median, most) ms "
                f"{figures.delays_ms}; memory in MB {figures.memory_mb}; seconds of a "
                f"processor {figures.processor_seconds}; {figures.lost} lost of "
                f"{figures.acknowledged:,} acknowledged before a kill"
            )
    if options.json:
        options.json.write_text(json.dumps([asdict(each) for each in found], indent=2))


if __name__ == "__main__":
    main()
