"""For everybody: by keyboard, in dark and light, on a phone, with a reader, without motion."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.npm import CannotInstallError, unpacked
from tests.console.conftest import Open
from tests.console.server import CARS, Server

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Page

pytest.importorskip("playwright", reason="no playwright: pip install -e .[dev]")
from playwright.sync_api import expect

SOON = 20_000
AXE = ("axe-core", "4.14.0")
AXE_SHA512 = (
    "9WTZxEjsZ7b13TH8JPmbV2z8CHbl80/2hm3XPEG4JgNdQLK81IBRXmSxHfMAOkSqQeRxT/0dwNDz2GOm3zzpcQ=="
)
SEEN = {
    "": "li.demo",
    "queries": ".query-row",
    "queries/seen": ".table-box tbody tr",
    "queries/seen/plan": ".plan .node",
    "queries/seen/text": ".cm-content",
    "streams": ".stream-row",
    "streams/cars": ".elements li",
    "sparql": ".plain-list li",
}
"""Each view, and what is there when it has been filled."""


@pytest.fixture(scope="module", autouse=True)
def seen(server: Server) -> Iterator[None]:
    server.ask("queries", {"text": CARS, "name": "seen"})
    yield
    for query in server.ask("queries")["queries"]:
        server.remove(f"queries/{query['name']}")


@pytest.fixture(scope="module")
def axe() -> Path:
    try:
        return unpacked(*AXE, AXE_SHA512, ("axe.min.js",)) / "axe.min.js"
    except CannotInstallError as reason:
        pytest.skip(f"no axe-core: {reason}")


def view(page: Page, server: Server, path: str) -> None:
    page.goto(f"{server.url}#/{path}")
    expect(page.locator(SEEN[path]).first).to_be_visible(timeout=SOON)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_readers_and_low_sight(opened: Open, server: Server, axe: Path, scheme: str) -> None:
    # axe needs to be put into the page, which the policy forbids to everybody else.
    page = opened(server.url, color_scheme=scheme, bypass_csp=True, reduced_motion="reduce")
    page.add_script_tag(path=axe)
    for path in SEEN:
        view(page, server, path)
        wrong: list[dict[str, Any]] = page.evaluate("axe.run()")
        found = [
            (each["id"], node["html"])
            for each in wrong["violations"]  # type: ignore[call-overload]  # it is what axe gives
            if each["impact"] in {"serious", "critical"}
            for node in each["nodes"]
        ]
        assert found == [], f"#/{path}, {scheme}"


@pytest.mark.parametrize("path", SEEN)
def test_a_phone_never_scrolls_sideways(opened: Open, server: Server, path: str) -> None:
    page = opened(server.url, viewport={"width": 360, "height": 740}, is_mobile=True)
    view(page, server, path)
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= 360


def lightness(page: Page) -> float:
    parts: list[float] = page.evaluate(
        "getComputedStyle(document.body).backgroundColor.match(/[0-9.]+/g).slice(0, 3).map(Number)"
    )
    return sum(parts) / 3


def test_colours_follow_the_system_until_somebody_chooses(opened: Open, server: Server) -> None:
    page = opened(server.url, color_scheme="dark")
    assert lightness(page) < 60
    page.emulate_media(color_scheme="light")
    assert lightness(page) > 200
    page.get_by_role("button", name="Colours: auto").click()
    page.get_by_role("button", name="Colours: light").click()
    assert lightness(page) < 60
    page.reload()
    expect(page.get_by_role("button", name="Colours: dark")).to_be_visible()
    assert lightness(page) < 60


def test_nothing_moves_for_those_who_do_not_want_it(opened: Open, server: Server) -> None:
    page = opened(server.url, reduced_motion="reduce")
    for path in ("", "queries/seen", "queries/seen/plan"):
        view(page, server, path)
        assert page.evaluate("document.getAnimations().length") == 0


def test_all_by_keyboard(opened: Open, server: Server) -> None:
    page = opened(server.url)
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    page.keyboard.press("g")
    page.keyboard.press("q")
    expect(page.get_by_role("heading", level=1, name="Queries", exact=True)).to_be_visible()
    expect(page.locator("main")).to_be_focused()
    page.keyboard.press("e")
    expect(page.locator(".cm-content")).to_be_focused()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(CARS)
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    expect(page.locator(".cm-content")).not_to_be_focused()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("link", name="Plan")).to_be_visible(timeout=SOON)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="By keyboard")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_where_the_keyboard_is_can_be_seen(opened: Open, server: Server) -> None:
    page = opened(server.url)
    view(page, server, "queries")
    seen = 0
    page.keyboard.press("Tab")
    while page.evaluate("document.activeElement !== document.body"):
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        around = page.evaluate("document.activeElement.closest('.editor') !== null")
        assert outline != "none" or around
        seen += 1
        page.keyboard.press("Tab")
    assert seen >= 7  # what a query has, what the editor has
