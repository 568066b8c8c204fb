"""Uncertain values, a schema and remote data under a budget in one query: all_at_once.py.

Whom to call where the air is probably low on oxygen: sensors say what they measure and how exact
they are, a schema says what counts as gas, and who is on duty where is asked of an endpoint that
may be asked once in an evaluation.
"""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import parse_qs, urlsplit

import pyoxigraph as ox

from headrace import Engine, Evaluation
from headrace.background.config import ServiceConfig

STREAM = "http://example.org/air"
PREFIXES = """PREFIX : <http://example.org/>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
PREFIX sosa: <http://www.w3.org/ns/sosa/>
PREFIX rspu: <http://w3id.org/rsp/rspu#>
"""
SCHEMA = PREFIXES + ":Oxygen rdfs:subClassOf :Gas . :measuredIn rdfs:subPropertyOf :in ."
QUERY = (
    PREFIXES
    + """
SELECT ?sector ?crew ?p
FROM NAMED WINDOW <w> ON <{stream}> [RANGE PT10S STEP PT5S]
WHERE {{
  WINDOW <w> {{
    ?o a :Gas ; :in ?sector ; sosa:hasSimpleResult ?value .
    << ?o sosa:hasSimpleResult ?value >> rspu:uncertainty ?error .
    BIND(rspu:lessThan(rspu:add(?error, ?value), 0.18) AS ?p)
    FILTER(?p >= 0.8)
  }}
  SERVICE <{endpoint}> [ACCURACY 0.5 BUDGET 1] {{ ?sector :watchedBy ?crew }}
}}
"""
)
READING = (
    PREFIXES
    + """
:o{number} a :Oxygen ; :measuredIn :{sector} ;
  sosa:hasSimpleResult {value} {{| rspu:uncertainty "{error}"^^rspu:distribution |}} .
"""
)
READINGS = [
    (2, "tunnel", "0.17", "U(-0.01, 0.01)"),
    (4, "ramp", "0.175", "U(-0.01, 0.01)"),
    (8, "portal", "0.16", "N(0, 0.0001)"),
    (13, "shaft", "0.17", "N(0, 0.01)"),
    (17, "tunnel", "0.15", "U(-0.02, 0.02)"),
    (21, "portal", "0.15", "N(0, 0.0001)"),
]
CREWS = ox.Store()
REQUESTS: list[str] = []


class Endpoint(BaseHTTPRequestHandler):
    """Knows who is on duty where."""

    def do_GET(self) -> None:
        """Answer a query."""
        REQUESTS.append(parse_qs(urlsplit(self.path).query)["query"][0])
        found = CREWS.query(REQUESTS[-1])
        assert isinstance(found, ox.QuerySolutions)
        body = found.serialize(format=ox.QueryResultsFormat.JSON) or b""
        self.send_response(200)
        self.send_header("Content-Type", "application/sparql-results+json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def on_duty(shift: int) -> None:
    """A new shift: other crews watch the sectors."""
    CREWS.update("DELETE WHERE { ?sector <http://example.org/watchedBy> ?crew }")
    for place, sector in enumerate(("tunnel", "ramp", "portal", "shaft")):
        crew = f"<http://example.org/crew{(place + shift) % 3}>"
        watched = f"<http://example.org/{sector}> <http://example.org/watchedBy> {crew}"
        CREWS.update(f"INSERT DATA {{ {watched} }}")


def show(evaluation: Evaluation) -> None:
    """Print whom to call, and how sure that is."""
    calls = [
        f"{crew} to {sector} (p = {float(p.lexical):.2f})"  # type: ignore[union-attr]  # all are bound
        for sector, crew, p in evaluation.rows
    ]
    text = "; ".join(calls).replace("http://example.org/", "") or "all well"
    quality = f"{evaluation.accuracy:.0%} accurate, {evaluation.completeness:.0%} complete"
    print(f"{evaluation.at // 1_000_000:3} s  {text}  [{quality}]")


def main() -> None:
    """Push readings while crews take turns."""
    on_duty(0)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    iri = f"http://127.0.0.1:{server.server_address[1]}/sparql"
    with TemporaryDirectory() as folder:
        schema = Path(folder) / "schema.ttl"
        schema.write_text(SCHEMA)
        config = ServiceConfig(allow=(iri,), private=("127.0.0.1",))
        engine = Engine(services=config, schema=schema)
    stream = engine.stream(STREAM)
    engine.register(QUERY.format(stream=STREAM, endpoint=iri)).on_result(show)
    for number, (second, sector, value, error) in enumerate(READINGS):
        on_duty(second // 12)
        data = READING.format(number=number, sector=sector, value=value, error=error)
        stream.push(data, at=1000 * second, syntax="text/turtle")
        engine.step()
    engine.finish()
    print(f"{len(REQUESTS)} requests")
    engine.static.close()
    server.shutdown()
    server.server_close()


if __name__ == "__main__":
    main()
