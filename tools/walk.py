"""The way of somebody who has only the README, walked with a clock.

`make walk` clones this checkout into an empty folder and types there what the README says, up to
rows of a query: over HTTP, and in a browser, letter by letter. docs/walk.md has what it prints.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.browser.chromium import browser
from tests.documentation.pages import commands, snippets
from tests.shared import ROOT

LETTER = 0.2
"""Seconds that a letter takes: who types five in a second is no fast typist."""
URL = "http://127.0.0.1:7870"
ROW = '"n":{"type":"literal"'
OWN = """\
SELECT ?gate (COUNT(?car) AS ?n)
FROM STREAM <http://streams.org/citytollgates.trdf> [RANGE 30s STEP 2s]
WHERE { ?gate <http://linkedurbandata.org/traffic#registers> ?car }
GROUP BY ?gate"""


class Clock:
    """Says what has come about, and after how many seconds."""

    def __init__(self) -> None:
        """Begin to count."""
        self._began = time.monotonic()

    def say(self, what: str) -> None:
        """Say it."""
        sys.stdout.write(f"[{time.monotonic() - self._began:4.0f} s] {what}\n")
        sys.stdout.flush()


def typed(command: str, folder: Path, path: str) -> str:
    """Type a command, see it run, and see what it says."""
    time.sleep(LETTER * len(command))
    environment = {**os.environ, "PATH": f"{path}{os.pathsep}{os.environ['PATH']}"}
    ended = subprocess.run(
        ["bash", "-c", command], cwd=folder, env=environment, capture_output=True, check=False
    )
    if ended.returncode:
        raise SystemExit(f"{command}\nended with {ended.returncode}\n{ended.stderr.decode()}")
    return ended.stdout.decode()


@contextlib.contextmanager
def served(folder: Path, path: str) -> Iterator[None]:
    """The server as the README starts it, until the end of the block."""
    time.sleep(LETTER * len("headrace serve --demo"))
    command = [f"{path}/headrace", "serve", "--demo"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None, "it is a pipe"
        if "Headrace is at" not in server.stdout.readline():
            raise SystemExit("the server did not start; is something else at its port?")
        try:
            yield
        finally:
            server.terminate()


def by_http(clock: Clock, folder: Path, path: str) -> None:
    """What the README does with curl, until there is a row."""
    page = (folder / "README.md").read_text("utf-8")
    [snippet] = [each for each in snippets(page) if each.mark == "served"]
    *before, (follow, _) = commands(snippet.text)
    for command, _ in before:
        said = typed(command, folder, path)
        clock.say(f"{' '.join(command.split())[:60]}... says {said[:40]}...")
    time.sleep(LETTER * len(follow))
    quiet = follow.replace("curl ", "curl --silent ", 1)
    with subprocess.Popen(["bash", "-c", quiet], stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None, "it is a pipe"
        row = next(line for line in running.stdout if ROW in line)
        running.kill()
    clock.say(f"a row: {row.strip()[:100]}")


def by_browser(clock: Clock) -> None:
    """A query of one's own, typed into the console, until there is a row."""
    with browser() as chromium:
        page = chromium.new_page()
        page.goto(URL)
        page.get_by_role("link", name="Watch").first.click()
        page.locator(".chart canvas").first.wait_for(timeout=60_000)
        clock.say("the console shows the chart of a demo")
        page.get_by_role("link", name="Queries", exact=True).first.click()
        page.locator(".cm-content[contenteditable=true]").click()
        page.keyboard.press("Control+a")
        page.keyboard.type(OWN, delay=1000 * LETTER)
        clock.say(f"a query of {len(OWN)} letters is typed")
        page.get_by_role("button", name="Register").click()
        page.locator("tbody tr").first.wait_for(timeout=60_000)
        clock.say(f"its first row: {' '.join(page.locator('tbody tr').first.inner_text().split())}")


def main() -> None:
    """Walk it."""
    with tempfile.TemporaryDirectory(prefix="headrace-walk-") as name:
        clock, folder = Clock(), Path(name) / "headrace"
        typed(f"git clone --quiet '{ROOT}' '{folder}'", Path(name), "")
        clock.say("git clone")
        typed("make demo", folder, "")
        clock.say("make demo")
        path = str(folder / ".venv" / "bin")
        with served(folder, path):
            clock.say("headrace serve --demo says where it is")
            by_http(clock, folder, path)
            by_browser(clock)


if __name__ == "__main__":
    main()
