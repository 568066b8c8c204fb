"""Who follows whom, and what stays open, by blocks in time: python examples/blocks_in_time.py."""

from __future__ import annotations

from headrace import Engine, Evaluation
from headrace.rdf.terms import Iri, Quad

PART_OF = Iri("http://www.w3.org/2000/01/rdf-schema#subPropertyOf")
PASSES = Iri("http://example.org/passes")
SCHEMA = [Quad(Iri(f"http://example.org/{name}"), PART_OF, PASSES) for name in ("enters", "leaves")]
# Who passes is said by the schema, in which order by the words between the blocks.
FOLLOWED = """
PREFIX : <http://example.org/>
SELECT ?one ?other (DURATION() AS ?seconds)
FROM STREAM <http://example.org/doors> [RANGE 1m]
WHERE { { ?one :passes ?door } BEFORE WITHIN 5s { ?other :passes ?door } FILTER (?one != ?other) }
"""
LEFT_OPEN = """
PREFIX : <http://example.org/>
SELECT ?door
FROM STREAM <http://example.org/doors> [RANGE 30s STEP 30s]
WHERE { { :lock :opens ?door } BEFORE OPTIONAL { ?lock :shuts ?door } FILTER (!BOUND(?lock)) }
"""
EVENTS = [
    (1, ":lock :opens :front"),
    (2, ":ann :enters :front"),
    (5, ":bob :enters :front"),
    (8, ":lock :shuts :front"),
    (20, ":lock :opens :back"),
    (21, ":cem :leaves :back"),
]


def show(evaluation: Evaluation) -> None:
    """Print what was found, and when."""
    for row in evaluation.rows:
        print(f"{evaluation.time:%M:%S}", evaluation.query, *row)


def main() -> None:
    """Ask both questions, the first at every arrival, and let people pass."""
    engine = Engine(schema=SCHEMA)
    doors = engine.stream("http://example.org/doors")
    engine.register(FOLLOWED, name="followed", dialect="sparkwave").on_result(show)
    engine.register(LEFT_OPEN, name="left open").on_result(show)
    for second, statement in EVENTS:
        terms = (f"<http://example.org/{name}>" for name in statement.replace(":", "").split())
        doors.push(f"{' '.join(terms)} .", at=second * 1000)
        engine.step()
    engine.finish()


if __name__ == "__main__":
    main()
