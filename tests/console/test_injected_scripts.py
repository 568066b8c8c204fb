"""Scripts in data, names, labels, queries, errors and addresses: none runs in a real browser.

Each test is done twice: with the policies of the pages, of which none may have anything to stop,
and without them, so that nothing but the escaping keeps the scripts from running.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from itertools import cycle
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

import pytest

from tests.browser.chromium import browser
from tests.console.payloads import (
    Listener,
    Watch,
    as_turtle,
    in_path,
    iris,
    markup,
    watched,
)
from tests.console.server import PATIENCE, Server, serving
from tests.serve.clients import until

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

pytest.importorskip("playwright", reason="no playwright: pip install -e .[dev]")
from playwright.sync_api import Error, expect

SOON = 30_000
MOMENT = 400
STREAM = "http://e.x/'onload='hit()"
MADE = "javascript:hit()//made"
WINDOW = "[RANGE 3600s STEP 5s]"
FORMS = ("json", "ndjson", "xml", "csv", "tsv", "turtle", "ntriples", "nquads", "trig", "jsonld")
DRAWN = ("operators", "rewritten", "denotational", "network", "reduced")
TABS = ("", "/plan", "/text")

# Elements and attributes that no page of the server has, unless a payload has made them.
FOREIGN = """() => {
  const found = [];
  const tags = "iframe, object, embed, base, img:not(.cm-widgetBuffer), image, video, audio, "
    + "marquee, foreignObject, animate, set, template, math, b, body script, svg script, "
    + "meta[http-equiv]";
  for (const each of document.querySelectorAll(tags)) found.push(each.outerHTML.slice(0, 200));
  for (const each of document.querySelectorAll("*")) {
    for (const { name, value } of each.attributes) {
      if (/^on/i.test(name)) found.push(`${each.tagName} ${name}=${value}`.slice(0, 200));
      if (/(^|:)(href|src|action|formaction|data)$/i.test(name)
          && !/^(https?:|blob:|#|console\\/|$)/i.test(value)) found.push(`${name}=${value}`);
    }
  }
  return found;
}"""


@pytest.fixture(scope="module")
def listener() -> Iterator[Listener]:
    listening = Listener()
    yield listening
    listening.close()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as started:
        yield started


@pytest.fixture(scope="module")
def server(
    listener: Listener, tmp_path_factory: pytest.TempPathFactory, chromium: Browser
) -> Iterator[Server]:
    """A server that shows payloads wherever data, names and queries get to."""
    assert chromium.is_connected()
    with serving(tmp_path_factory.mktemp("injected") / "data") as started:
        said, links = markup(listener.url), iris(listener.url)
        make_streams(started, said)
        make_queries(started, said, links)
        make_graphs(started, said, links, listener.url)
        started.push("hostile", as_turtle(said, links, listener.url))
        yield started


@pytest.fixture(params=[False, True], ids=["with policies", "without policies"])
def watch(
    request: pytest.FixtureRequest, chromium: Browser, listener: Listener, server: Server
) -> Iterator[Watch]:
    """A browser; at the end no payload has done anything in it."""
    assert server.port
    listener.page = b""
    with watched(chromium, listener, bypass=request.param) as watching:
        yield watching
        assert watching.found == []


def make_streams(server: Server, said: list[str]) -> None:
    """Make streams whose titles, descriptions, licences and IRIs are payloads."""
    every = "\n".join(said)
    hostile = {"name": "hostile", "iri": STREAM, "title": said[0], "description": every[:1_500]}
    server.ask("streams", hostile)
    for number, title in enumerate(said):
        if len(title) < 200:
            iri = f"http://e.x/{number}'onload='hit()"
            other = {"name": f"s{number}.js", "iri": iri, "title": title, "description": title}
            server.ask("streams", other)
    server.ask(
        "streams", {"name": "javascript", "iri": "javascript:hit()//stream", "license": MADE}
    )


def make_queries(server: Server, said: list[str], links: list[str]) -> None:
    """Register queries with payloads in texts, comments, IRIs and names of streams."""
    source = f"FROM STREAM <{STREAM}> {WINDOW}"
    tests = "\n".join(f"  FILTER (?said != {json.dumps(each + ' ')})" for each in said)
    comments = "\n".join(f"# {' '.join(each.split())}" for each in said)
    paths = "|".join(f"<{link}>" for link in links[:-1])
    texts = {
        "hostile": f"SELECT ?what ?said ?link ?typed ?tagged {source}\nWHERE {{ ?what "
        "<http://e.x/says> ?said ; <http://e.x/links> ?link ; <http://e.x/typed> ?typed ; "
        "<http://e.x/tagged> ?tagged }",
        "tests": f"SELECT ?what ?said {source} WHERE {{ ?what <http://e.x/says> ?said\n{tests} }}"
        f"\n{comments}",
        "paths": f"SELECT ?one ?other {source} WHERE {{ ?one ({paths})* ?other }}",
        "unknown": f"SELECT ?x {source} WHERE {{ ?x <http://e.x/'onerror='hit()> <{links[0]}> }}",
        "places": "PREFIX geo: <http://www.w3.org/2003/01/geo/wgs84_pos#>\n"
        f"SELECT ?name ?lat ?long ?value {source} WHERE {{ ?what <http://e.x/says> ?name ; "
        "geo:lat ?lat ; geo:long ?long ; <http://e.x/value> ?value }",
        "built": f"CONSTRUCT {{ ?what <{links[0]}> ?said . ?link ?link ?typed }} {source} WHERE "
        "{ ?what <http://e.x/says> ?said ; <http://e.x/links> ?link ; <http://e.x/typed> ?typed }",
        "made": f"REGISTER STREAM <{MADE}> COMPUTED EVERY 1s AS CONSTRUCT {{ ?what "
        f"<{links[0]}> ?said }} FROM STREAM <{STREAM}> [RANGE 3600s STEP 1s] WHERE {{ ?what "
        "<http://e.x/says> ?said }",
    }
    for name, text in texts.items():
        server.ask("queries", {"name": name, "text": text})


def make_graphs(server: Server, said: list[str], links: list[str], listener: str) -> None:
    """Write static graphs with payloads in labels and names."""
    for graph in (None, *links[:8]):
        where = "default" if graph is None else f"graph={quote(graph, safe='')}"
        data = as_turtle(said, links, listener).encode()
        request = urllib.request.Request(f"{server.url}store?{where}", data, method="PUT")
        request.add_header("Content-Type", "text/turtle")
        with urllib.request.urlopen(request, timeout=PATIENCE) as response:
            assert response.status in (200, 201, 204)


def check_inert(page: Page) -> None:
    """Nothing in a page has been made by a payload, now and a moment later."""
    page.wait_for_timeout(MOMENT)
    assert page.evaluate(FOREIGN) == []


def open_all(page: Page) -> None:
    """Unfold all that is folded, and move the mouse over what payloads may have got into."""
    page.evaluate("document.querySelectorAll('details').forEach((each) => (each.open = true))")
    for place in page.locator("td, .node, .elements pre, .spot").all()[:20]:
        if place.is_visible():
            place.dispatch_event("mouseover")
            place.dispatch_event("focus")


def visible(text: str) -> str:
    """Cut a payload to a part of one line that can be looked for in a page."""
    return max(text.replace("\r", "\n").split("\n"), key=len).strip()[:60]


# -- pages of the console ------------------------------------------------------------------------


def test_values_of_results_are_shown_as_text(
    watch: Watch, server: Server, listener: Listener
) -> None:
    page = watch.context.new_page()
    page.goto(f"{server.url}#/queries/hostile")
    server.push("hostile", as_turtle(markup(listener.url), iris(listener.url), listener.url))
    rows = page.get_by_role("region", name="Rows of hostile").locator("tbody")
    expect(rows.locator("tr").first).to_be_visible(timeout=SOON)
    open_all(page)
    check_inert(page)
    shown = rows.inner_text()
    assert [text for text in ("onerror=hit()>", "</script><script>") if text not in shown] == []


@pytest.mark.long
@pytest.mark.parametrize("name", ["tests", "paths", "unknown", "places", "built", "made"])
def test_every_part_of_every_query_is_inert(watch: Watch, server: Server, name: str) -> None:
    page = watch.context.new_page()
    for tab in TABS:
        page.goto(f"{server.url}#/queries/{name}{tab}")
        expect(page.get_by_role("heading", level=1, name=name)).to_be_visible(timeout=SOON)
        expect(page.locator(".why")).not_to_be_empty(timeout=SOON)
        if tab == "/plan":
            expect(page.locator(".plan .node-title").first).to_be_visible(timeout=SOON)
            open_all(page)
            check_inert(page)
            page.get_by_label("Which graph").select_option("operators")
        open_all(page)
        check_inert(page)


@pytest.mark.parametrize("name", ["", "queries", "streams", "sparql"])
def test_pages_that_list_what_there_is_are_inert(watch: Watch, server: Server, name: str) -> None:
    page = watch.context.new_page()
    page.goto(f"{server.url}#/{name}")
    expect(page.get_by_role("heading", level=1)).to_be_visible(timeout=SOON)
    open_all(page)
    check_inert(page)


def test_streams_are_shown_as_text(watch: Watch, server: Server, listener: Listener) -> None:
    page = watch.context.new_page()
    page.goto(f"{server.url}#/streams")
    title = markup(listener.url)[0]
    expect(page.get_by_role("link", name=title, exact=True).first).to_be_visible(timeout=SOON)
    for name in ("hostile", "javascript", "made", "s0.js", "s12.js"):
        page.goto(f"{server.url}#/streams/{name}")
        expect(page.locator("p.iri")).to_contain_text("hit()", timeout=SOON)
        open_all(page)
        check_inert(page)


def test_addresses_are_shown_as_text(watch: Watch, server: Server, listener: Listener) -> None:
    page = watch.context.new_page()
    page.goto(server.url)
    for payload in [*markup(listener.url), *iris(listener.url)]:
        part = in_path(payload)
        for place in ("queries", "streams"):
            page.evaluate("(hash) => (location.hash = hash)", f"#/{place}/{part}/{part}")
            heading = page.get_by_role("heading", level=1)
            expect(heading).to_contain_text(visible(payload)[:20], timeout=SOON)
        page.evaluate("(hash) => (location.hash = hash)", f"#{payload[:500]}")
        assert page.evaluate(FOREIGN) == []


# -- queries that are written into the console ---------------------------------------------------


def write(page: Page, text: str) -> None:
    page.locator(".cm-content[contenteditable=true]").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(text)


def test_mistakes_in_queries_are_shown_as_text(
    watch: Watch, server: Server, listener: Listener
) -> None:
    page = watch.context.new_page()
    page.goto(f"{server.url}#/queries")
    for payload in markup(listener.url)[::2]:
        write(page, f"SELECT ?x {payload}")
        with page.expect_response("**/queries"):
            page.get_by_role("button", name="Register").click()
        assert page.evaluate(FOREIGN) == []
    for link in iris(listener.url):
        write(page, f"SELECT ?x FROM STREAM <{link}> [RANGE 1s STEP 1s] {{ ?x <{link}> ?y }}")
        with page.expect_response("**/check"):
            page.keyboard.press("Control+End")
            page.keyboard.insert_text(" ")
        assert page.evaluate(FOREIGN) == []
    write(page, "SELECT ?x { ?x <")
    page.keyboard.press("Control+Space")
    expect(page.get_by_role("listbox")).to_be_visible(timeout=SOON)
    check_inert(page)


def test_answers_of_sparql_are_shown_as_text(
    watch: Watch, server: Server, listener: Listener
) -> None:
    link = iris(listener.url)[0]
    answers = (
        ("SELECT ?s ?p ?o { ?s ?p ?o }", "td .term"),
        ("SELECT * { GRAPH ?g { ?s <http://www.w3.org/2000/01/rdf-schema#label> ?o } }", "td"),
        ("CONSTRUCT { ?s ?p ?o } { ?s ?p ?o }", "pre.turtle"),
        (f"DESCRIBE <{link}> <http://e.x/1> <http://e.x/2>", "pre.turtle"),
        ("SELECT (<< ?s ?p ?o >> AS ?t) { ?s ?p ?o } LIMIT 200", "td"),
    )
    page = watch.context.new_page()
    page.goto(f"{server.url}#/sparql")
    for text, place in answers:
        write(page, text)
        with page.expect_response("**/sparql"):
            page.keyboard.press("Control+Enter")
        expect(page.locator(f".answer {place}").first).to_be_visible(timeout=SOON)
        open_all(page)
        check_inert(page)
    for payload in markup(listener.url)[1::3]:
        write(page, f"SELECT * {{ ?s ?p {payload} }}")
        with page.expect_response("**/sparql"):
            page.keyboard.press("Control+Enter")
        assert page.evaluate(FOREIGN) == []


# -- a server all of whose texts are payloads ----------------------------------------------------

# An answer that is made here ends at once, and then the banner says that the connection is lost.
BANNERS = """
window.banners = "";
new MutationObserver(() => {
  window.banners += document.querySelector(".banner")?.textContent ?? "";
}).observe(document, { subtree: true, childList: true, characterData: true });
"""


def poisoned(value: Any, payloads: Iterator[str]) -> Any:
    """Put a payload in the place of every text of a value, but of kinds."""
    match value:
        case dict():
            changed = {key: poisoned(each, payloads) for key, each in value.items()}
            return changed | {key: value[key] for key in ("kind", "form") if key in value}
        case list():
            return [poisoned(each, payloads) for each in value]
        case str():
            return next(payloads)
        case _:
            return value


def state_of(server: Server, said: list[str], first: int) -> str:
    """Write the state of the server with payloads as all texts, notes and alerts among them."""
    state = server.ask("status")
    payloads = cycle(said[first:] + said[:first])
    note = {"code": "", "severity": "error", "text": "", "query": "", "stream": "", "subject": ""}
    alert = {"endpoint": "", "at": 0, "problem": "", "accuracy": 0.1, "completeness": 0.1}
    for each in (*state["streams"], *state["queries"]):
        each["notes"] = [note]
    for each in state["queries"]:
        each |= {"alerts": [alert], "error": ""}
    refusal = {"requests": "", "reason": "", "status": 503, "limit": "", "is_ready": False}
    state |= {"problem": "", "ready": False, "refused": [refusal] * 3}
    changed = poisoned(state, payloads)
    for each in (changed["streams"][0], changed["queries"][0]):
        each["name"] = said[first]
    says = json.dumps(poisoned({**alert, "says": ""}, payloads))
    return f"event: status\ndata: {json.dumps(changed)}\n\nevent: alert\ndata: {says}\n\n"


def test_no_text_of_the_server_becomes_markup(
    watch: Watch, server: Server, listener: Listener
) -> None:
    page = watch.context.new_page()
    said = [each for each in [*markup(listener.url), *iris(listener.url)] if len(each) < 1_000]
    first = 0

    def answer(route: Route) -> None:
        body = state_of(server, said, first)
        route.fulfill(status=200, content_type="text/event-stream", body=body)

    page.add_init_script(BANNERS)
    page.route("**/status/events", answer)
    for first in range(0, len(said), 8):
        part = in_path(said[first])
        for place in ("", "queries", f"queries/{part}", "streams", f"streams/{part}"):
            page.goto(f"{server.url}?{first}-{place[:10]}#/{place}")
            until(lambda: "are refused: " in page.evaluate("window.banners"))
            assert page.evaluate(FOREIGN) == []


# -- answers of the API that are opened in the browser -------------------------------------------


def answers(links: list[str]) -> list[str]:
    """Write the addresses of all that the API answers to a GET."""
    names = ("hostile", "tests", "paths", "unknown", "built", "made")
    asked = (
        "SELECT * { ?s ?p ?o }",
        "CONSTRUCT { ?s ?p ?o } { ?s ?p ?o }",
        f"DESCRIBE <{links[0]}>",
    )
    found = ["streams", "queries", "status", "vocabulary", "metrics", "openapi.json", "sparql"]
    found += ["store", "store?default", "demos", "readyz", "healthz", "streams?format=turtle"]
    found += [f"store?{urlencode({'graph': link})}" for link in links]
    found += [f"store?{urlencode({'graph': links[0], 'format': form})}" for form in FORMS]
    for name in ("hostile", "made", "javascript"):
        found += [f"streams/{name}", f"streams/{name}/elements", f"streams/{name}?format=turtle"]
    for name in names:
        found += [f"queries/{name}", f"queries/{name}/events?last=5"]
        found += [f"queries/{name}/results?format={form}" for form in FORMS]
        found += [f"queries/{name}/plan?format=svg&graph={graph}" for graph in DRAWN]
        found += [f"queries/{name}/plan?format={form}" for form in ("text", "json", "mermaid")]
    found += [
        f"sparql?{urlencode({'query': query, 'format': form})}" for query in asked for form in FORMS
    ]
    return found


def reflections(payload: str) -> list[str]:
    """Write addresses whose answers say what was wrong with a payload in them."""
    part, quoted = in_path(payload), urlencode({"x": payload[:1_500]})[2:]
    return [
        part,
        f"console/{part}",
        f"streams/{part}",
        f"streams/{part}/elements",
        f"streams/hostile?format={quoted}",
        f"streams/hostile/elements?last={quoted}",
        f"queries/{part}",
        f"queries/{part}/results",
        f"queries/hostile/results?format={quoted}",
        f"queries/hostile/results?last={quoted}",
        f"queries/hostile/plan?graph={quoted}",
        f"queries/hostile/plan?format={quoted}",
        f"sparql?query={quoted}",
        f"sparql?query=ASK%20%7B%7D&default-graph-uri={quoted}",
        f"sparql?query=ASK%20%7B%7D&format={quoted}",
        f"store?graph={quoted}",
        f"store?default&format={quoted}",
        f"?{quoted}",
    ]


def visit(page: Page, url: str) -> None:
    """Open an address as a person would who follows a link."""
    try:
        page.goto(url, wait_until="commit")
    except Error as error:
        # What is no page is offered as a file, and 204 leaves the page that was there.
        if "Download is starting" not in error.message and "ERR_ABORTED" not in error.message:
            raise


def test_answers_that_are_opened_run_nothing(
    watch: Watch, server: Server, listener: Listener
) -> None:
    page = watch.context.new_page()
    drawings = 0
    for path in answers(iris(listener.url)):
        visit(page, server.url + path)
        page.wait_for_timeout(50)
        if "events" not in path:
            page.wait_for_load_state()
            assert [each for each in page.frames if each != page.main_frame] == [], path
        if watch.bypass and "format=svg" in path and page.locator("svg").count():
            assert page.evaluate(FOREIGN) == [], path
            drawings += 1
    page.wait_for_timeout(MOMENT)
    assert drawings > 0 or not watch.bypass


def test_problems_that_are_opened_run_nothing(
    watch: Watch, server: Server, listener: Listener
) -> None:
    page = watch.context.new_page()
    for number, payload in enumerate([*markup(listener.url), *iris(listener.url)]):
        for path in reflections(payload)[number % 6 :: 6]:
            visit(page, server.url + path)
    page.wait_for_timeout(MOMENT)


def test_every_answer_has_a_policy(server: Server, listener: Listener) -> None:
    paths = [*answers(iris(listener.url)), *reflections("<script>hit()")]
    for path in paths:
        if "events" in path:
            continue
        try:
            with urllib.request.urlopen(server.url + path, timeout=PATIENCE) as response:
                headers = response.headers
        except urllib.error.HTTPError as error:
            headers = error.headers
        assert headers["X-Content-Type-Options"] == "nosniff", path
        assert "default-src 'none'" in headers["Content-Security-Policy"], path
        kind = headers.get_content_type()
        is_console = path.startswith("?")
        assert (kind in {"text/html", "application/xhtml+xml"}) == is_console, path
        if not is_console:
            assert "sandbox" in headers["Content-Security-Policy"], path


# -- the tests can fail --------------------------------------------------------------------------


def test_a_page_that_does_not_escape_is_noticed(
    chromium: Browser, listener: Listener, server: Server
) -> None:
    assert server.port
    silent = []
    for payload in markup(listener.url)[:45]:
        listener.page = f"<!doctype html><p>{payload}</p>".encode()
        with watched(chromium, listener, bypass=True) as watching:
            page = watching.context.new_page()
            page.goto("about:blank")
            page.set_content(listener.page.decode(), wait_until="commit")
            page.wait_for_timeout(150)
            if not watching.found:
                silent.append(payload)
    assert len(silent) < 15, silent
