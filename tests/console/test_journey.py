"""What people do in the console, in a real browser against a real server."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.console.server import CARS, Server

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytest.importorskip("playwright", reason="no playwright: pip install -e .[dev]")
from playwright.sync_api import expect

SOON = 20_000


def write(page: Page, text: str) -> None:
    """Put a text into the editor in place of what is there."""
    page.locator(".cm-content[contenteditable=true]").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(text)


def test_a_mistake_is_marked_and_mended_and_rows_come_until_the_query_is_removed(
    page: Page, server: Server
) -> None:
    page.get_by_role("link", name="Queries", exact=True).click()
    write(page, CARS.replace("STREAM", "STREEM"))
    expect(page.locator(".cm-lintRange-error")).to_have_text("STREEM", timeout=SOON)
    expect(page.locator(".verdict")).to_contain_text("did you mean 'STREAM'?")
    page.get_by_role("button", name="Line 2, column 6").click()
    page.keyboard.insert_text("STREAM")
    expect(page.locator(".cm-lintRange-error")).to_have_count(0, timeout=SOON)
    expect(page.locator(".verdict")).to_contain_text("the last 10s, every 1s")

    page.get_by_label("Name", exact=True).fill("gates")
    page.get_by_role("button", name="Register").click()
    expect(page.get_by_role("heading", level=1, name="gates")).to_be_visible(timeout=SOON)
    rows = page.get_by_role("region", name="Rows of gates").locator("tbody tr")
    expect(rows.first).to_contain_text("example.org/gate", timeout=SOON)
    expect(page.locator(".chart canvas")).to_be_visible()
    expect(page.get_by_role("heading", name="?n by ?gate")).to_be_visible()
    first = page.locator(".window-words").text_content()
    expect(page.locator(".window-words")).not_to_have_text(first or "", timeout=SOON)
    expect(page.get_by_text("It runs.")).to_be_visible()

    page.get_by_role("link", name="Plan").click()
    expect(page.locator(".plan .node").first).to_be_visible(timeout=SOON)
    titles = page.locator(".plan .node-title").all_text_contents()
    assert {"Stream", "Window", "Graph pattern", "Result"} <= set(titles)
    expect(page.locator(".plan .figure", has_text=re.compile(r"\d")).first).to_be_visible(
        timeout=SOON
    )

    page.get_by_role("button", name="Remove").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(page.get_by_role("heading", level=1, name="Queries", exact=True)).to_be_visible(
        timeout=SOON
    )
    expect(page.get_by_role("link", name="gates", exact=True)).to_have_count(0, timeout=SOON)
    assert "gates" not in [each["name"] for each in server.ask("queries")["queries"]]


def test_a_query_is_paused_and_goes_on(page: Page, server: Server) -> None:
    server.ask("queries", {"text": CARS, "name": "paused"})
    page.goto(f"{server.url}#/queries/paused")
    words = page.locator(".window-words")
    expect(words).to_be_visible(timeout=SOON)
    page.get_by_role("button", name="Pause").click()
    expect(page.locator(".title-line .chip")).to_have_text("paused", timeout=SOON)
    expect(page.locator(".connection")).to_contain_text("paused", timeout=SOON)
    expect(page.locator(".why")).to_contain_text("It is paused.")
    before = words.text_content() or ""
    page.get_by_role("button", name="Resume").click()
    expect(page.locator(".title-line .chip")).to_have_text("running", timeout=SOON)
    expect(words).not_to_have_text(before, timeout=SOON)
    page.get_by_role("button", name="Remove").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(page.get_by_role("heading", level=1, name="Queries", exact=True)).to_be_visible(
        timeout=SOON
    )


def test_a_demonstration_moves_after_one_click(page: Page, server: Server) -> None:
    page.get_by_role("button", name="Start and watch: Sensors in a tunnel").click()
    expect(page.locator(".chart canvas")).to_be_visible(timeout=SOON)
    expect(page.locator("svg.map .spot text").first).to_contain_text("kilometre", timeout=SOON)
    first = page.locator(".window-words").text_content() or ""
    expect(page.locator(".window-words")).not_to_have_text(first, timeout=SOON)
    page.get_by_role("button", name="Write a query over this").click()
    expect(page.locator(".cm-content")).to_contain_text("http://example.org/tunnel/readings")
    page.get_by_role("link", name="Start", exact=True).click()
    page.get_by_role("button", name="Stop Sensors in a tunnel").click()
    expect(page.get_by_role("button", name="Start and watch: Sensors in a tunnel")).to_be_visible(
        timeout=SOON
    )
    assert [each["name"] for each in server.ask("streams")["streams"]] == ["cars"]


def test_the_editor_offers_what_could_stand_there(page: Page, server: Server) -> None:
    page.goto(f"{server.url}#/queries")
    write(page, "SELECT ?gate FROM STREAM <http://ex")
    page.keyboard.press("Control+Space")
    offered = page.get_by_role("listbox").get_by_role("option")
    expect(offered.filter(has_text="http://example.org/cars").first).to_be_visible(timeout=SOON)
    write(page, "SELECT ?gate FROM STREAM <s> [RANGE 1s STEP 1s] { ?g")
    page.keyboard.press("Control+Space")
    expect(offered.filter(has_text="?gate")).to_be_visible(timeout=SOON)
    write(page, "PREFIX sos")
    page.keyboard.press("Control+Space")
    offered.filter(has_text="sosa:").click()
    expect(page.locator(".cm-content")).to_have_text("PREFIX sosa: <http://www.w3.org/ns/sosa/>")


def test_elements_are_pushed_and_asked_for(page: Page, server: Server) -> None:
    page.get_by_role("link", name="Streams", exact=True).click()
    page.get_by_label("Name", exact=True).fill("notes")
    page.get_by_label("IRI").fill("http://example.org/notes")
    page.get_by_role("button", name="Make stream").click()
    expect(page.get_by_role("heading", level=1, name="notes")).to_be_visible(timeout=SOON)
    page.get_by_label("Elements", exact=True).fill('<http://e.x/a> <http://e.x/says> "hello" .')
    page.get_by_role("button", name="Push").click()
    expect(page.get_by_text("1 element is safe")).to_be_visible(timeout=SOON)
    expect(page.locator(".elements pre").first).to_contain_text("hello", timeout=SOON)
    page.get_by_text("Description in Turtle").click()
    expect(page.get_by_label("Description in Turtle")).to_contain_text(
        "example.org/notes", timeout=SOON
    )

    page.get_by_role("link", name="SPARQL", exact=True).click()
    write(page, "SELECT ?said { GRAPH <http://example.org/notes> { ?a <http://e.x/says> ?said } }")
    page.keyboard.press("Control+Enter")
    answer = page.get_by_role("region", name="Answer")
    expect(answer.locator("tbody td")).to_have_text("hello", timeout=SOON)
    write(page, "SELECT ?said { GRAPH <http://example.org/notes> { ?a ?b } }")
    page.get_by_role("button", name="Ask").click()
    expect(page.locator(".cm-lintRange-error").first).to_be_visible(timeout=SOON)

    page.goto(f"{server.url}#/streams/notes")
    page.get_by_role("button", name="Remove this stream").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(page.get_by_role("heading", level=1, name="Streams")).to_be_visible(timeout=SOON)
    assert [each["name"] for each in server.ask("streams")["streams"]] == ["cars"]


def test_a_silent_query_is_explained(page: Page, server: Server) -> None:
    server.ask(
        "streams", {"name": "silent", "iri": "http://example.org/silent", "title": "Silence"}
    )
    text = CARS.replace("http://example.org/cars", "http://example.org/silent")
    server.ask("queries", {"text": text, "name": "waiting"})
    page.goto(f"{server.url}#/queries/waiting")
    words = "<http://example.org/silent> has had no elements yet: push elements to it."
    expect(page.locator(".why")).to_contain_text(words, timeout=SOON)
    expect(page.get_by_text("Waiting for the first window to close.")).to_be_visible()
    page.get_by_role("button", name="Remove").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(page.get_by_role("heading", level=1, name="Queries", exact=True)).to_be_visible(
        timeout=SOON
    )
