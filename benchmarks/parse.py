"""How long registering a query takes before it runs: parsing and translating it.

The bar is 3 ms for query Q2' of the CQELS paper, so that 5,000 registrations are no wait.
The peer is pyoxigraph parsing the nearest plain SPARQL query (it evaluates it over nothing).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from functools import partial
from io import BytesIO
from pathlib import Path
from statistics import median
from time import perf_counter

import pyoxigraph as ox
from lark import Lark

from headrace.dialects import EXTENSIONS, parse
from headrace.dialects.rspql import RspQl
from headrace.dialects.tables import build

PAPERS = Path(__file__).resolve().parents[1] / "examples" / "papers"
WARM_UP = 50
REPEATS = 400
PEER = """
PREFIX loc: <http://deri.org/loc#> PREFIX foaf: <http://xmlns.com/foaf/0.1/>
PREFIX dc: <http://purl.org/dc/elements/1.1/> PREFIX dcterms: <http://purl.org/dc/terms/>
SELECT ?citedAuthorName WHERE {
  GRAPH <x:now> { ?anAuthor loc:at ?loc } GRAPH <x:ls30> { ?citedAuthor loc:at ?loc }
  ?citedAuthor foaf:name ?citedAuthorName . ?p1 dc:creator ?anAuthor .
  ?anAuthor foaf:name "Ann" . ?p2 dc:creator ?citedAuthor . ?p1 dcterms:references ?p2
}"""


def milliseconds(
    action: Callable[[], object], repeats: int = REPEATS, warm_up: int = WARM_UP
) -> float:
    """The median time of an action after a warm-up."""
    for _ in range(warm_up):
        action()
    times = []
    for _ in range(repeats):
        began = perf_counter()
        action()
        times.append(perf_counter() - began)
    return 1000 * median(times)


def measure() -> dict[str, float]:
    """Median milliseconds for each query of the papers, and for the peer."""
    figures: dict[str, float] = {}
    for path in sorted(PAPERS.iterdir()):
        if path.suffix in EXTENSIONS:
            text = path.read_text("utf-8")
            dialect = EXTENSIONS[path.suffix]
            figures[path.name] = milliseconds(partial(parse, text, dialect))
    store = ox.Store()
    figures["pyoxigraph, Q2' without windows"] = milliseconds(lambda: store.query(PEER))
    return figures | tables()


def tables() -> dict[str, float]:
    """Median milliseconds to build the tables of a grammar, and to load them again."""
    built = build(RspQl.grammar)
    kept = BytesIO()
    built.save(kept)

    def load() -> Lark:
        return Lark.load(BytesIO(kept.getvalue()))

    return {
        "building the tables of RSP-QL": milliseconds(lambda: build(RspQl.grammar), 9, 1),
        "loading them": milliseconds(load, 9, 1),
    }


def main() -> None:
    """Print the figures, and write them where asked."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--json", type=Path)
    asked = options.parse_args()
    figures = measure()
    for name, figure in figures.items():
        print(f"{figure:8.3f} ms  {name}")
    if asked.json:
        asked.json.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
