"""The console says what the server refuses and why, for as long as it does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.console.conftest import Open
from tests.console.server import CARS, STREAM, Server, serving
from tests.disk.faulty import FaultyDisk, compiled

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytest.importorskip("playwright", reason="no playwright: pip install -e .[dev]")
from playwright.sync_api import expect

SOON = 20_000


def check_banner(page: Page, words: str, kind: str) -> None:
    """The banner says something, on every page."""
    for name in ("queries", "streams", "sparql", ""):
        page.goto(f"{page.url.partition('#')[0]}#/{name}")
        expect(page.locator(f".banner.{kind}")).to_contain_text(words, timeout=SOON)


def test_reached_limits_are_shown_until_there_is_room(opened: Open, tmp_path: Path) -> None:
    with serving(tmp_path / "data", "--limit", "queries=1") as server:
        server.ask("streams", {"name": "cars", "iri": STREAM})
        page = opened(server.url)
        expect(page.get_by_role("heading", level=1)).to_be_visible(timeout=SOON)
        expect(page.locator(".banner")).to_be_hidden()
        server.ask("queries", {"text": CARS, "name": "only"})
        check_banner(page, "New queries are refused: there may be 1 of them", "wait")
        server.remove("queries/only")
        expect(page.locator(".banner")).to_be_hidden(timeout=SOON)


def test_a_shortage_of_memory_is_shown(opened: Open, tmp_path: Path) -> None:
    with serving(tmp_path / "data", "--limit", "memory=60000000") as server:
        words = "New queries, new static graphs and requests to /sparql are refused: "
        check_banner(opened(server.url), words, "lost")


def test_a_disk_that_takes_no_writes_is_shown_until_it_does(
    opened: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = FaultyDisk(compiled(tmp_path), tmp_path / "disk").prepared()
    for name, value in disk.environment.items():
        monkeypatch.setenv(name, value)
    server = Server(tmp_path / "data")
    server.start()
    for name in disk.environment:
        monkeypatch.delenv(name)
    try:
        server.ask("streams", {"name": "cars", "iri": STREAM})
        page = opened(server.url)
        disk.fail("write", "ENOSPC", "*/data/streams/*")
        with pytest.raises(OSError, match="503"):
            server.push("cars", "<x:a> <x:b> <x:c> .")
        check_banner(page, "Pushes to stream 'cars' are refused: cannot write to", "lost")
        expect(page.locator(".banner")).to_contain_text("No space left on device")
        disk.recover()
        expect(page.locator(".banner")).to_be_hidden(timeout=SOON)
        server.push("cars", "<x:a> <x:b> <x:c> .")
    finally:
        server.stop()
