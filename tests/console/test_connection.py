"""The console when the server goes away and comes back, and when it asks who is there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.console.conftest import Open
from tests.console.server import CARS, STREAM, cars, serving

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytest.importorskip("playwright", reason="no playwright: pip install -e .[dev]")
from playwright.sync_api import expect

SOON = 40_000
TOKEN = "a-token-for-the-tests-of-the-console"
READING = "a-token-that-reads-and-changes-nothing"


@pytest.mark.parametrize("way", ["stop", "kill"])
def test_results_go_on_after_a_restart(opened: Open, tmp_path: Path, way: str) -> None:
    with serving(tmp_path / "data") as server, cars(server):
        server.ask("queries", {"text": CARS, "name": "lasting"})
        page = opened(f"{server.url}")
        page.goto(f"{server.url}#/queries/lasting")
        page.get_by_label("Rows shown").select_option("all")
        words = page.locator(".window-words")
        expect(words).to_be_visible(timeout=SOON)
        last = server.ask("queries/lasting")["last"]["id"]
        (server.kill if way == "kill" else server.stop)()
        expect(page.locator(".banner")).to_contain_text("The connection is lost.", timeout=SOON)
        expect(page.locator(".connection")).to_contain_text("Connection lost", timeout=SOON)
        before = words.text_content() or ""
        server.start()
        expect(page.locator(".banner")).to_contain_text("Connected again.", timeout=SOON)
        expect(page.locator(".connection")).to_contain_text("Connected again", timeout=SOON)
        expect(words).not_to_have_text(before, timeout=SOON)
        assert server.ask("queries/lasting")["last"]["id"] > last
        assert_each_window_once(page)


def assert_each_window_once(page: Page) -> None:
    """No window has come twice: each gate has one row at each moment."""
    rows = page.get_by_role("region", name="Rows of lasting").locator("tbody tr")
    shown = [tuple(row.split()[:2]) for row in rows.all_inner_texts()]
    assert len(shown) > 2
    assert len(set(shown)) == len(shown)


def test_a_token_is_asked_for_and_stays_in_its_tab(opened: Open, tmp_path: Path) -> None:
    with serving(tmp_path / "data", token=TOKEN) as server:
        page = opened(server.url)
        dialog = page.get_by_role("dialog", name="This server asks for a token")
        dialog.get_by_label("Token").fill("not-the-token-of-this-server")
        dialog.get_by_role("button", name="Go on").click()
        expect(dialog.get_by_role("alert")).to_have_text("That token was not accepted.")
        dialog.get_by_label("Token").fill(TOKEN)
        dialog.get_by_role("button", name="Go on").click()
        expect(page.get_by_role("button", name="Start and watch").first).to_be_visible(timeout=SOON)
        expect(page.get_by_role("dialog")).to_have_count(0)
        assert page.evaluate("Object.values({...sessionStorage})") == [TOKEN]
        assert TOKEN not in page.evaluate("JSON.stringify({...localStorage}) + document.cookie")
        page.goto(f"{server.url}#/queries")
        expect(page.get_by_text("No query runs yet.")).to_be_visible(timeout=SOON)
        page.goto(f"{server.url}#/streams")
        expect(page.get_by_text("There is no stream yet.")).to_be_visible(timeout=SOON)
        page.goto(f"{server.url}#/")
        page.reload()
        expect(page.get_by_role("button", name="Start and watch").first).to_be_visible(timeout=SOON)
        expect(page.get_by_role("dialog")).to_have_count(0)


def test_who_only_reads_is_offered_nothing_that_changes(opened: Open, tmp_path: Path) -> None:
    (tmp_path / "reading").write_text(READING)
    options = ("--read-token", f"@{tmp_path / 'reading'}")
    with serving(tmp_path / "data", *options, token=TOKEN) as server:
        server.ask("streams", {"name": "cars", "iri": STREAM})
        server.ask("queries", {"text": CARS, "name": "looked-at"})
        page = opened(server.url)
        dialog = page.get_by_role("dialog", name="This server asks for a token")
        dialog.get_by_label("Token").fill(READING)
        dialog.get_by_role("button", name="Go on").click()
        expect(page.get_by_text("reading only")).to_be_visible(timeout=SOON)
        expect(page.get_by_role("button", name="Start and watch")).to_have_count(0)
        page.goto(f"{server.url}#/queries/looked-at")
        expect(page.locator(".title-line .chip")).to_have_text("running", timeout=SOON)
        expect(page.get_by_role("button", name="Remove")).to_have_count(0)
        page.goto(f"{server.url}#/queries")
        expect(page.get_by_role("link", name="looked-at")).to_be_visible()
        expect(page.get_by_role("button", name="Register")).to_have_count(0)
