"""What tests of the console share: a server with cars, and pages that note every offence."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from tests.browser.chromium import browser
from tests.console.server import Server, cars, serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

Open = Callable[..., "Page"]

# What a page must not do is written into it, before anything of its own runs.
WATCH = """
window.offences = [];
document.addEventListener("securitypolicyviolation", (event) =>
  window.offences.push(`${event.violatedDirective}: ${event.blockedURI}`));
window.alert = window.confirm = window.prompt = (text) => window.offences.push(`dialog: ${text}`);
"""


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    location = tmp_path_factory.mktemp("console") / "data"
    with serving(location) as started, cars(started):
        yield started


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as started:
        yield started


@pytest.fixture
def opened(chromium: Browser) -> Iterator[Open]:
    """Opens pages; at the end none of them has done what it must not."""
    offences: list[str] = []
    pages: list[Page] = []

    def open_page(url: str, **options: object) -> Page:
        context = chromium.new_context(locale="en-GB", **options)  # type: ignore[arg-type]  # as it is
        page = context.new_page()
        page.add_init_script(WATCH)
        page.on("pageerror", lambda error: offences.append(str(error)))
        page.on("dialog", lambda dialog: offences.append(dialog.message))
        page.on(
            "request",
            lambda request: (
                None if request.url.startswith((url, "blob:")) else offences.append(request.url)
            ),
        )
        page.goto(url)
        pages.append(page)
        return page

    yield open_page
    for page in pages:
        offences += page.evaluate("window.offences")
        page.context.close()
    assert offences == []


@pytest.fixture
def page(opened: Open, server: Server) -> Page:
    return opened(server.url, viewport={"width": 1280, "height": 860})
