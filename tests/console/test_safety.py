"""Whatever data, queries and names hold, the console shows it as text and runs none of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.console.server import Server

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytest.importorskip("playwright", reason="no playwright: pip install -e .[dev]")
from playwright.sync_api import expect

SOON = 20_000
IRI = "http://example.org/hostile"
PAYLOADS = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(2)>",
    "<svg onload=alert(3)>",
    '"><iframe srcdoc="<script>alert(4)</script>">',
    "javascript:alert(5)",
    "{{constructor.constructor('alert(6)')()}}",
    "\u202etxt.exe <b>bold</b> \u2066\u200f",
    "</textarea></style></title><script>alert(7)</script>",
    "data:text/html,<script>alert(8)</script>",
)
LINKS = (
    "javascript:alert(9)",
    "data:text/html;base64,PHNjcmlwdD5hbGVydCgxMCk8L3NjcmlwdD4=",
    "vbscript:alert(11)",
    "http://example.org/%3Cscript%3E",
)
QUERY = f"""\
SELECT ?what ?said ?link
FROM STREAM <{IRI}> [RANGE 600s STEP 1s]
WHERE {{
  ?what <http://e.x/says> ?said ; <http://e.x/links> ?link
  FILTER (?said != "<img src=y onerror=alert(12)>")
  FILTER (?said != "</script><script>alert(13)</script>")
}}
"""


@pytest.fixture(scope="module")
def hostile(server: Server) -> Iterator[Server]:
    server.ask(
        "streams", {"name": "hostile", "iri": IRI, "title": PAYLOADS[1], "description": PAYLOADS[0]}
    )
    server.ask("queries", {"text": QUERY, "name": "hostile"})
    yield server
    server.remove("queries/hostile")
    server.remove("streams/hostile")


def pushed(server: Server) -> None:
    lines = [
        f"<http://e.x/{number}> <http://e.x/says> {json.dumps(said)} ; "
        f"<http://e.x/links> <{link}> ."
        for number, said in enumerate(PAYLOADS)
        for link in LINKS
    ]
    server.push("hostile", "\n".join(lines))


def harmless(page: Page) -> None:
    """Nothing of the payloads has become an element or a link."""
    found = page.evaluate(
        """() => ({
          made: document.querySelectorAll("img, iframe, body script, b, object").length,
          loads: document.querySelectorAll("svg [onload], [onerror]").length,
          links: [...document.querySelectorAll("a")].map((a) => a.protocol)
            .filter((each) => !["http:", "https:"].includes(each)),
        })"""
    )
    assert found == {"made": 0, "loads": 0, "links": []}


def test_results_are_text(page: Page, hostile: Server) -> None:
    pushed(hostile)
    page.goto(f"{hostile.url}#/queries/hostile")
    cells = page.get_by_role("region", name="Rows of hostile").locator("td .term")
    for payload in PAYLOADS:
        expect(cells.filter(has_text=payload).first).to_be_visible(timeout=SOON)
    expect(page.get_by_role("link", name="http://example.org/%3Cscript%3E").first).to_be_visible()
    harmless(page)


def test_plans_are_text(page: Page, hostile: Server) -> None:
    page.goto(f"{hostile.url}#/queries/hostile/plan")
    expect(page.locator(".plan .node-detail").filter(has_text="<img src=y").first).to_be_visible(
        timeout=SOON
    )
    harmless(page)
    page.goto(f"{hostile.url}#/queries/hostile/text")
    expect(page.locator(".cm-content")).to_contain_text("</script><script>", timeout=SOON)
    harmless(page)


def test_streams_are_text(page: Page, hostile: Server) -> None:
    pushed(hostile)
    page.goto(f"{hostile.url}#/streams")
    expect(page.get_by_role("link", name=PAYLOADS[1])).to_be_visible(timeout=SOON)
    harmless(page)
    page.get_by_role("link", name=PAYLOADS[1]).click()
    expect(page.locator(".elements pre").first).to_contain_text("<script>", timeout=SOON)
    page.get_by_text("Description in Turtle").click()
    expect(page.get_by_label("Description in Turtle")).to_contain_text("<script>", timeout=SOON)
    harmless(page)


@pytest.mark.parametrize("payload", [*PAYLOADS[:4], "SELECT <script>alert(14)</script>"])
def test_errors_are_text(page: Page, hostile: Server, payload: str) -> None:
    page.goto(f"{hostile.url}#/queries")
    page.locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(payload)
    expect(page.locator(".verdict .bad")).to_be_visible(timeout=SOON)
    page.get_by_role("button", name="Register").click()
    expect(page.locator(".verdict")).to_contain_text("Not registered:", timeout=SOON)
    harmless(page)


def test_names_in_the_address_are_text(page: Page, hostile: Server) -> None:
    page.goto(f"{hostile.url}#/queries/%3Cimg%20src=x%20onerror=alert(15)%3E")
    expect(page.get_by_text("There is no such query.")).to_be_visible(timeout=SOON)
    expect(page.get_by_role("heading", level=1)).to_have_text("<img src=x onerror=alert(15)>")
    harmless(page)


def test_answers_are_text(page: Page, hostile: Server) -> None:
    pushed(hostile)
    page.goto(f"{hostile.url}#/sparql")
    page.locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text("SELECT * { GRAPH ?g { ?what <http://e.x/says> ?said } }")
    page.keyboard.press("Control+Enter")
    answer = page.get_by_role("region", name="Answer").locator("td .term")
    expect(answer.filter(has_text=PAYLOADS[0]).first).to_be_visible(timeout=SOON)
    harmless(page)


def test_the_server_lets_the_page_load_nothing_else(page: Page, hostile: Server) -> None:
    refused = page.evaluate(
        """async () => {
          const tried = document.createElement("script");
          tried.textContent = "window.ran = true";
          document.body.append(tried);
          const styled = document.createElement("div");
          styled.setAttribute("style", "color: red");
          document.body.append(styled);
          await new Promise((resolve) => setTimeout(resolve, 100));
          const found = [window.ran ?? false, styled.style.color, window.offences.length > 0];
          window.offences = [];
          return found;
        }"""
    )
    assert refused == [False, "", True]
    assert hostile.ask("healthz")["status"] == "ok"
