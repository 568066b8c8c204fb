"""Warn where oxygen is probably low, given how exact sensors are: uncertain_oxygen.py."""

from __future__ import annotations

from headrace import Engine, Evaluation

QUERY = """
PREFIX sosa: <http://www.w3.org/ns/sosa/>
PREFIX rspu: <http://w3id.org/rsp/rspu#>
REGISTER STREAM <warning/oxygen> COMPUTED EVERY PT10S AS
SELECT ?o ?value ?p
FROM NAMED WINDOW <w> ON <http://stream/oxygen> [RANGE PT10S STEP PT10S]
WHERE {
  WINDOW <w> {
    GRAPH ?g {
      ?o sosa:hasSimpleResult ?value .
      << ?o sosa:hasSimpleResult ?value >> rspu:uncertainty ?error .
      BIND(rspu:lessThan(rspu:add(?error, ?value), 0.18) AS ?p)
      FILTER(?p >= 0.8)
    }
  }
}
"""
ELEMENT = """@prefix sosa: <http://www.w3.org/ns/sosa/> .
@prefix rspu: <http://w3id.org/rsp/rspu#> .
<http://example.org/graph/{name}> {{
  <http://example.org/{name}> sosa:hasSimpleResult {value}
    {{| rspu:uncertainty "{error}"^^rspu:distribution |}} .
}}
"""


def show(evaluation: Evaluation) -> None:
    """Print who is probably low on oxygen."""
    rows = [f"{o} {value.lexical} (p = {p.lexical})" for o, value, p in evaluation.rows]  # type: ignore[union-attr]  # all are bound
    print(f"{evaluation.time:%M:%S}", "; ".join(rows) or "all well")


def main() -> None:
    """Push values with what is known of their errors."""
    engine = Engine()
    oxygen = engine.stream("http://stream/oxygen")
    engine.register(QUERY).on_result(show)
    values = [
        ("tunnel", "0.17", "U(-0.01, 0.01)"),
        ("ramp", "0.175", "U(-0.01, 0.01)"),
        ("portal", "0.17", "N(0, 0.0001)"),
        ("shaft", "0.17", "N(0, 0.01)"),
    ]
    for second, (name, value, error) in enumerate(values, start=1):
        data = ELEMENT.format(name=name, value=value, error=error)
        oxygen.push(data, at=second * 4000, syntax="application/trig")
    engine.step()
    engine.finish()


if __name__ == "__main__":
    main()
