"""The pictures of the console in the documentation, taken of a real server: `make screenshots`."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from tests.browser.chromium import browser
from tests.console.server import Server, serving
from tests.shared import ROOT

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

FOLDER = ROOT / "docs" / "img"
WIDE = {"width": 1280, "height": 860}
PHONE = {"width": 360, "height": 740}
SOON = 30_000
WINDOWS = 24
"""So many windows a chart should show."""
MISTAKE = """\
PREFIX t: <http://linkedurbandata.org/traffic#>

SELECT ?tollgate (COUNT(?car) AS ?passages)
FROM STREEM <http://streams.org/citytollgates.trdf> [RANGE 30s STEP 5s]
WHERE { ?tollgate t:registers ?car }
GROUP BY ?tollgate
"""


def main() -> None:
    """Take all pictures."""
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(Path(folder) / "data", "--demo") as server,
        browser() as started,
    ):
        light = _page(started, server, "light")
        light.wait_for_selector("text=running")
        _taken(light, "start")
        _wait_for_windows(light, server)
        _results(light, server)
        _editor(light, server)
        _rest(light, server)
        dark = _page(started, server, "dark")
        dark.goto(f"{server.url}#/queries/tunnel-temperatures")
        dark.wait_for_selector("svg.map .spot")
        _taken(dark, "dark", whole=True)
        phone = _page(started, server, "light", PHONE)
        phone.goto(f"{server.url}#/queries/people-per-room")
        phone.wait_for_selector(".legend li")
        _taken(phone, "phone")


def _page(started: Browser, server: Server, scheme: str, size: dict[str, int] = WIDE) -> Page:
    context = started.new_context(
        locale="en-GB",
        timezone_id="UTC",
        color_scheme="dark" if scheme == "dark" else "light",
        viewport={"width": size["width"], "height": size["height"]},
        device_scale_factor=2 if size is PHONE else 1,
        reduced_motion="reduce",
    )
    page = context.new_page()
    page.set_default_timeout(SOON)
    page.goto(server.url)
    return page


def _wait_for_windows(page: Page, server: Server) -> None:
    for _ in range(120):
        queries = server.ask("queries")["queries"]
        if all(query["evaluations"] >= WINDOWS for query in queries):
            return
        page.wait_for_timeout(1000)


def _results(page: Page, server: Server) -> None:
    page.goto(f"{server.url}#/queries/passages-per-gate")
    page.wait_for_selector(".legend li")
    _taken(page, "results", whole=True)
    page.goto(f"{server.url}#/queries/tunnel-temperatures/plan")
    page.wait_for_selector(".plan .known")
    page.wait_for_timeout(1200)
    page.locator("section", has=page.locator(".plan")).screenshot(path=FOLDER / "console-plan.png")


def _editor(page: Page, server: Server) -> None:
    page.goto(f"{server.url}#/queries")
    page.locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(MISTAKE)
    page.wait_for_selector(".cm-lintRange-error")
    page.locator(".cm-lintRange-error").hover()
    page.wait_for_selector(".cm-tooltip .diagnostic")
    _taken(page, "editor")


def _rest(page: Page, server: Server) -> None:
    page.goto(f"{server.url}#/streams")
    page.wait_for_selector(".stream-row")
    _taken(page, "streams")
    page.goto(f"{server.url}#/sparql")
    page.wait_for_selector(".plain-list button")
    page.get_by_role("button", name="Ask").click()
    page.wait_for_selector(".answer tbody tr")
    _taken(page, "sparql")


def _taken(page: Page, name: str, *, whole: bool = False) -> None:
    page.evaluate("document.fonts.ready")
    page.wait_for_timeout(1200)
    page.screenshot(path=FOLDER / f"console-{name}.png", full_page=whole)


if __name__ == "__main__":
    main()
