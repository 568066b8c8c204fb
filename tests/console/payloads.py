"""Texts that would run a script if any page took them for markup, and what notices that one ran."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Dialog, Page

REFUSED_BY_BROWSER = ("Content Security Policy", "Blocked script execution", "Refused to")
"""Of what the browser writes on its console where only it has kept something from running."""


def markup(listener: str) -> list[str]:
    """Write payloads: each calls `hit`, opens a dialog or asks the listener for something."""
    ask = f"new Image().src='{listener}asked'"
    long = "A" * 5_000
    base64 = "PHNjcmlwdD5oaXQoKTwvc2NyaXB0Pg=="
    return [
        "<script>hit()</script>",
        "<SCRIPT>hit()</SCRIPT >",
        "<scr<script>ipt>hit()</scr</script>ipt>",
        f"<script>{ask}</script>",
        f"<script src={listener}script.js></script>",
        f"<script type=module>import('{listener}module.js')</script>",
        "<img src=x onerror=hit()>",
        "<img src='x' onerror='alert(1)'>",
        '<img src="x" onerror="confirm(1)">',
        f"<img src={listener}image.png>",
        "<IMG SRC=x ONERROR=hit()//",
        "<img/src=x/onerror=hit()>",
        "<img\tsrc=x\nonerror\r=\fhit()>",
        "<svg onload=hit()>",
        "<svg><script>hit()</script></svg>",
        "<svg><animate onbegin=hit() attributeName=x dur=1s>",
        f"<svg><image href='{listener}image.svg'/></svg>",
        "<svg><a xlink:href='javascript:hit()'><text y=20>press</text></a></svg>",
        "<svg><foreignObject><img src=x onerror=hit()></foreignObject></svg>",
        "</text></g></svg><script>hit()</script>",
        "</title><svg/onload=hit()>",
        "<details open ontoggle=hit()>",
        "<video><source onerror=hit()></video>",
        "<audio src=x onerror=hit()>",
        "<body onload=hit()>",
        "<input autofocus onfocus=hit()>",
        "<select autofocus onfocus=hit()>",
        "<marquee onstart=hit()>",
        "<iframe src='javascript:parent.hit()'></iframe>",
        "<iframe srcdoc='<script>hit()</script>'></iframe>",
        f"<iframe src='{listener}frame.html'></iframe>",
        f"<object data='data:text/html;base64,{base64}'></object>",
        f"<embed src='data:text/html;base64,{base64}'>",
        f"<link rel=stylesheet href={listener}style.css>",
        f"<style>@import '{listener}import.css';</style>",
        f"<style>*{{background:url({listener}background.png)}}</style>",
        f"<meta http-equiv=refresh content='0;url={listener}refreshed'>",
        f"<base href={listener}>",
        "<form action='javascript:hit()'><button autofocus>send</button></form>",
        "<math><mtext><script>hit()</script></mtext></math>",
        "<template shadowrootmode=open><img src=x onerror=hit()></template>",
        '"><script>hit()</script>',
        "'><script>hit()</script>",
        '" onmouseover="hit()" autofocus onfocus="hit()" x="',
        "' onmouseover='hit()' autofocus onfocus='hit()' x='",
        "` onmouseover=`hit()`",
        "</script><script>hit()</script>",
        "</textarea><script>hit()</script>",
        "</style><script>hit()</script>",
        "</pre></code><script>hit()</script>",
        "--><script>hit()</script><!--",
        "]]><script xmlns='http://www.w3.org/1999/xhtml'>hit()</script><![CDATA[",
        "<?xml-stylesheet href='javascript:hit()'?>",
        "<!DOCTYPE x [<!ENTITY y SYSTEM 'file:///etc/passwd'>]>&y;",
        "<script xmlns='http://www.w3.org/1999/xhtml'>hit()</script>",
        "{{constructor.constructor('hit()')()}}",
        "${hit()}",
        "#{hit()}<%= hit() %>",
        "';hit();//",
        '";hit();//',
        "\\';hit();//",
        '"}]};hit();//',
        "javascript:hit()",
        "JaVaScRiPt:hit()",
        "java\tscript:hit()",
        "data:text/html,<script>hit()</script>",
        "vbscript:hit()",
        "&lt;script&gt;hit()&lt;/script&gt;",
        "&#60;img src=x onerror=hit()&#62;",
        "%3Cscript%3Ehit()%3C/script%3E",
        "\\u003cscript\\u003ehit()\\u003c/script\\u003e",
        "a\u2028hit()\u2029<img src=x onerror=hit()>",
        "\u202e<script>hit()</script>\u202c\u2066\u200f\u061c",
        "\ufeff<script>hit()</script>",
        "\uff1cscript\uff1ehit()\uff1c/script\uff1e",
        '<b>bold</b> "\'`<img src="\'`" onerror=hit()>',
        'click "B" href javascript:hit()',
        '"]; click A call hit(); A["',
        "%%{init: {'securityLevel': 'loose'}}%%<img src=x onerror=hit()>",
        f"{long}<script>hit()</script>{long}",
        "<div>" * 300 + "<img src=x onerror=hit()>",
    ]


def iris(listener: str) -> list[str]:
    """Write the same as IRIs, as far as IRIs may have such characters."""
    return [
        "javascript:hit()",
        "JAVASCRIPT:hit()//http://e.x/",
        "javascript://e.x/%0Ahit()",
        "data:text/html,%3Cscript%3Ehit()%3C/script%3E",
        "data:text/html;base64,PHNjcmlwdD5oaXQoKTwvc2NyaXB0Pg==",
        "data:image/svg+xml,%3Csvg%20onload='hit()'/%3E",
        "vbscript:hit()",
        "blob:null/hit()",
        "http://e.x/'onmouseover='hit()",
        "http://e.x/'/autofocus/onfocus='hit()'/x='",
        "http://e.x/);hit();//",
        "http://e.x/%22%3E%3Cscript%3Ehit()%3C/script%3E",
        "http://e.x/&quot;onload=hit()",
        "http://e.x/%5D%5D&gt;hit()",
        "http://e.x/\u202egnp.exe",
        f"{listener}followed?only=when-pressed",
        f"x:{'a' * 1_500}'onload='hit()",
    ]


class Listener:
    """A server that nothing may ask for anything."""

    def __init__(self) -> None:
        """Listen on a free port."""
        self.asked: list[str] = []
        self.page = b""
        listener = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                listener.asked.append(self.path)
                self.send_response(200)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.end_headers()
                self.wfile.write(listener.page)

            def log_message(self, *_arguments: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Listen no more."""
        self._server.shutdown()
        self._server.server_close()


class Watch:
    """A context of a browser in which everything is noticed that a payload would do."""

    def __init__(self, context: BrowserContext, listener: Listener, *, bypass: bool) -> None:
        """Watch all pages of a context, in which policies of pages may not count."""
        self.context = context
        self.bypass = bypass
        self.offences: list[str] = []
        self._listener = listener
        self._before = len(listener.asked)
        context.expose_binding("hit", lambda source: self._note(f"ran in {source['frame'].url}"))
        context.on("page", self._watch)

    def _watch(self, page: Page) -> None:
        page.on("dialog", self._dismiss)
        page.on("pageerror", lambda error: self._note(f"error: {error}"))
        page.on("console", self._read)
        page.on("request", lambda request: self._look(request.url))

    def _dismiss(self, dialog: Dialog) -> None:
        self._note(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _note(self, what: str) -> None:
        self.offences.append(what)

    def _read(self, message: ConsoleMessage) -> None:
        if any(words in message.text for words in REFUSED_BY_BROWSER):
            self._note(f"stopped by the browser only: {message.text[:300]}")

    def _look(self, url: str) -> None:
        if url.startswith(self._listener.url):
            self._note(f"asked for {url}")

    @property
    def found(self) -> list[str]:
        """What payloads have done until now."""
        return self.offences + self._listener.asked[self._before :]


@contextmanager
def watched(chromium: Browser, listener: Listener, *, bypass: bool) -> Iterator[Watch]:
    """Open a context.

    Args:
        chromium: the browser.
        listener: the server that payloads ask.
        bypass: whether policies of pages do not count, so that only escaping keeps payloads inert.
    """
    context = chromium.new_context(
        locale="en-GB",
        bypass_csp=bypass,
        accept_downloads=True,
        viewport={"width": 1280, "height": 860},
    )
    try:
        yield Watch(context, listener, bypass=bypass)
    finally:
        context.close()


def as_turtle(said: list[str], links: list[str], listener: str) -> str:
    """Write elements that have payloads in IRIs, literals and datatypes, with places for a map."""
    lines = []
    for number, text in enumerate(said):
        link = links[number % len(links)]
        lines.append(
            f"<http://e.x/{number}> <http://e.x/says> {json.dumps(text)} ; "
            f"<http://e.x/links> <{link}> ; "
            f"<http://e.x/typed> {json.dumps(text)}^^<{link}> ; "
            f"<http://e.x/tagged> {json.dumps(text)}@en-onload ; "
            f"<http://www.w3.org/2000/01/rdf-schema#label> {json.dumps(text)} ; "
            f"<http://www.w3.org/2003/01/geo/wgs84_pos#lat> {48 + number / 100} ; "
            f"<http://www.w3.org/2003/01/geo/wgs84_pos#long> {11 + number / 100} ; "
            f"<http://e.x/value> {number} ."
        )
    lines += [f"<{link}> a <{link}> ; <{link}> <{link}> ." for link in links]
    return "\n".join([*lines, f"<{listener}s> <{listener}p> <{listener}o> ."])


def in_path(text: str) -> str:
    """Write a text as one part of a path."""
    return quote(text[:1_500], safe="")
