"""A real Mosquitto on loopback: the one installed, or one fetched from Debian without root."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.shared import ROOT

CACHE = ROOT / ".brokers" / "mosquitto"
STARTS_WITHIN = 10.0


class CannotInstallError(Exception):
    """There is no Mosquitto here, and this is why."""


@dataclass
class Mosquitto:
    """A broker that keeps nothing on disk, unless it is told to."""

    folder: Path
    settings: tuple[str, ...] = ()
    listener: tuple[str, ...] = ()
    port: int = 0
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    def start(self) -> None:
        program, libraries = program_and_libraries()
        self.port = self.port or free_port()
        config = self.folder / "mosquitto.conf"
        lines = (
            "user root",  # not root: ignored; root: the folder of the test is root's
            *self.settings,
            f"listener {self.port} 127.0.0.1",
            "allow_anonymous true",
            *self.listener,
        )
        config.write_text("\n".join(lines) + "\n")
        environment = os.environ | {"LD_LIBRARY_PATH": libraries}
        with (self.folder / "mosquitto.log").open("ab") as log:
            command = [program, "-c", str(config)]
            self._process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
        self._wait()

    def _wait(self) -> None:
        assert self._process is not None
        until = time.monotonic() + STARTS_WITHIN
        while time.monotonic() < until and self._process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
            except OSError:
                time.sleep(0.02)
            else:
                return
        self.stop()
        raise RuntimeError((self.folder / "mosquitto.log").read_text())

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
            self._process = None

    def url(self, rest: str, scheme: str = "mqtt") -> str:
        return f"{scheme}://127.0.0.1:{self.port}/{rest}"


@pytest.fixture
def mosquitto(tmp_path: Path) -> Iterator[Mosquitto]:
    """A broker that queues without a limit; stopped at the end of the test."""
    try:
        program_and_libraries()
    except CannotInstallError as reason:
        pytest.skip(f"no Mosquitto: {reason}")
    folder = tmp_path / "mosquitto"
    folder.mkdir()
    broker = Mosquitto(folder, ("max_queued_messages 0", "max_inflight_messages 0"))
    broker.start()
    try:
        yield broker
    finally:
        broker.stop()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@cache
def program_and_libraries() -> tuple[str, str]:
    """The program, and where its libraries are besides where they usually are."""
    installed = shutil.which(
        "mosquitto", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin"
    )
    if installed:
        return installed, os.environ.get("LD_LIBRARY_PATH", "")
    if not CACHE.exists():
        fetch()
    program = CACHE / "usr" / "sbin" / "mosquitto"
    libraries = ":".join(
        str(folder) for kind in ("usr/lib", "lib") for folder in CACHE.glob(f"{kind}/*-linux-*")
    )
    environment = os.environ | {"LD_LIBRARY_PATH": libraries}
    tried = subprocess.run(
        [program, "-h"], check=False, capture_output=True, text=True, env=environment
    )
    if "mosquitto version" not in tried.stdout:
        raise CannotInstallError(f"{program} does not run: {tried.stderr.strip()}")
    return str(program), libraries


def fetch() -> None:
    """Unpack the packages of Debian or Ubuntu into the cache; nothing is installed."""
    for tool in ("apt-get", "apt-cache", "dpkg"):
        if shutil.which(tool) is None:
            raise CannotInstallError(f"there is no {tool} to fetch it with")
    CACHE.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=CACHE.parent) as name:
        folder = Path(name)
        run(["apt-get", "download", "mosquitto", *libraries_of("mosquitto")], folder)
        for package in folder.glob("*.deb"):
            run(["dpkg", "-x", package.name, "unpacked"], folder)
        with suppress(OSError):  # another run was faster
            (folder / "unpacked").rename(CACHE)


def libraries_of(package: str) -> list[str]:
    listed = run(["apt-cache", "depends", "--important", package], CACHE.parent)
    names = [line.split()[-1] for line in listed.splitlines() if "Depends: lib" in line]
    return [name for name in names if name != "libc6"]  # two of that do not go together


def run(command: list[str], folder: Path) -> str:
    done = subprocess.run(
        command, check=False, cwd=folder, capture_output=True, text=True, timeout=120
    )
    if done.returncode:
        raise CannotInstallError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout
