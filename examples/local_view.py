"""Remote data under a budget, from an endpoint on this machine: python examples/local_view.py."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pyoxigraph as ox

from headrace import Engine
from headrace.background.config import ServiceConfig

STREAM = "http://example.org/mentions"
DATA = ox.Store()
DATA.load(
    b"".join(b"<http://e/u%d> <http://e/followers> %d .\n" % (u, 100 * u) for u in range(8)),
    ox.RdfFormat.TURTLE,
)
REQUESTS: list[str] = []


class Endpoint(BaseHTTPRequestHandler):
    """A SPARQL endpoint, as small as one can be."""

    def do_GET(self) -> None:
        """Answer a query."""
        text = parse_qs(urlsplit(self.path).query)["query"][0]
        REQUESTS.append(text)
        found = DATA.query(text)
        assert isinstance(found, ox.QuerySolutions)
        body = found.serialize(format=ox.QueryResultsFormat.JSON) or b""
        self.send_response(200)
        self.send_header("Content-Type", "application/sparql-results+json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def main() -> None:
    """Mention users once a second while their followers change, and refresh two of them."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    iri = f"http://127.0.0.1:{server.server_address[1]}/sparql"
    engine = Engine(services=ServiceConfig(allow=(iri,), private=("127.0.0.1",)))
    engine.alerts.on_change(lambda alert: print(f"  alert: {alert.problem or 'cleared'}"))
    stream = engine.stream(STREAM)
    engine.register(
        f"SELECT ?user ?n FROM STREAM <{STREAM}> [RANGE 4s STEP 1s] {{ ?user <http://e/in> ?post "
        f"SERVICE <{iri}> [ACCURACY 0.7 BUDGET 2] {{ ?user <http://e/followers> ?n }} }}"
    ).on_result(
        lambda each: print(
            f"{each.at // 1_000_000:3} s  {len(each.rows)} rows, "
            f"about {each.accuracy:.0%} right and {each.completeness:.0%} of all"
        )
    )
    for second in range(1, 13):
        user = f"<http://e/u{second % 8}>"
        DATA.update(
            f"DELETE {{ {user} ?p ?n }} INSERT {{ {user} ?p {second} }} WHERE {{ {user} ?p ?n }}"
        )
        stream.push(f"{user} <http://e/in> <http://e/post{second}> .", at=1000 * second - 500)
        engine.step()
    engine.finish()
    print(f"{len(REQUESTS)} requests")
    engine.static.close()
    server.shutdown()
    server.server_close()


if __name__ == "__main__":
    main()
