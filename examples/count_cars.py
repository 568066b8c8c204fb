"""Count cars per tollgate as they pass, in this process: python examples/count_cars.py."""

from __future__ import annotations

from headrace import Engine, Evaluation

QUERY = """
PREFIX t: <http://linkedurbandata.org/traffic#>
REGISTER QUERY passages AS
SELECT ?gate (COUNT(?car) AS ?cars)
FROM STREAM <http://streams.org/citytollgates.trdf> [RANGE 10m STEP 5m]
WHERE { ?gate t:registers ?car . ?gate t:placedIn <http://example.org/Milano> }
GROUP BY ?gate
"""
MINUTE = 60_000


def show(evaluation: Evaluation) -> None:
    """Print what a window holds."""
    rows = [f"{gate} {cars.lexical}" for gate, cars in evaluation.rows]  # type: ignore[union-attr]  # COUNT is bound
    print(f"{evaluation.time:%H:%M}", "; ".join(rows) or "nothing")


def main() -> None:
    """Declare a stream and what is known beside it, register the query, and let cars pass."""
    engine = Engine()
    gates = engine.stream("http://streams.org/citytollgates.trdf", delay="1m")
    for problem in engine.static.load_text(
        "@prefix t: <http://linkedurbandata.org/traffic#> ."
        "t:north t:placedIn <http://example.org/Milano> ."
        "t:south t:placedIn <http://example.org/Milano> ."
    ):
        raise problem
    engine.register(QUERY).on_result(show)
    traffic = "http://linkedurbandata.org/traffic#"
    passages = [(1, "north", "a"), (4, "south", "b"), (3, "north", "c"), (11, "east", "d")]
    for minute, gate, car in passages:
        gates.push(f"<{traffic}{gate}> <{traffic}registers> <{traffic}{car}> .", at=minute * MINUTE)
        engine.step()
    engine.finish()
    print(engine.counters[gates.iri])


if __name__ == "__main__":
    main()
