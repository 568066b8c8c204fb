"""How fast the kernel answers plain queries, against pyoxigraph in the same run.

A million triples of a shop like that of the Berlin benchmark: products with producers and
features, and offers of them by vendors. Both sides hold the data ready; loading is timed apart.
The kernel is timed to its columns of solutions, and once more to rows of terms; pyoxigraph to the
end of its iterator, without looking at the terms.
"""

from __future__ import annotations

import argparse
import json
import resource
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from random import Random
from statistics import median
from time import perf_counter

import pyoxigraph as ox

from headrace.algebra.query import Query, Select
from headrace.dialects import parse
from headrace.kernel.answer import table
from headrace.kernel.data import Data, Quads
from headrace.kernel.dictionary import Dictionary
from headrace.kernel.snapshot import evaluate
from headrace.kernel.solutions import Solutions
from headrace.kernel.surroundings import Surroundings
from headrace.rdf.formats import Format
from headrace.rdf.options import FILE_LIMITS, ReadOptions
from headrace.rdf.reading import read
from headrace.results.table import Table
from headrace.rewrite.optimise import optimised

SHOP = "http://shop.example/"
XSD = "http://www.w3.org/2001/XMLSchema#"
WARM_UP, REPEATS = 1, 5

PREFIX = f"PREFIX : <{SHOP}>\nPREFIX xsd: <{XSD}>\n"
QUERIES = {
    "star": """SELECT * { ?o a :Offer ; :product ?p ; :vendor ?v ; :price ?c ; :validFrom ?f ;
        :validTo ?t ; :deliveryDays ?d ; :webpage ?w ; :publisher ?u ; :date ?e }""",
    "join": """SELECT * { ?o :product ?p . ?p :producer ?m . ?m :country ?c }""",
    "aggregate": """SELECT ?p (COUNT(*) AS ?n) (AVG(?c) AS ?mean) (MIN(?c) AS ?least)
        { ?o :product ?p ; :price ?c FILTER (?c > 5000) } GROUP BY ?p""",
    "optional": """SELECT * { ?p :producer ?m OPTIONAL { ?p :feature ?f }
        OPTIONAL { ?p :label ?l } }""",
    "distinct": """SELECT DISTINCT ?v ?m { ?o :vendor ?v ; :product ?p . ?p :producer ?m }""",
    "ordered": """SELECT ?o ?c { ?o :price ?c } ORDER BY DESC(?c) LIMIT 100""",
    "union": """SELECT * { { ?o :vendor :vendor7 } UNION { ?o :vendor :vendor8 } ?o :price ?c }""",
}


def triples(count: int) -> Iterator[str]:
    """So many triples, the same every time."""
    chance = Random(11)
    offers = count * 10 // 106
    products, producers, vendors = (max(1, offers // each) for each in (20, 1000, 800))
    made = 0

    def line(subject: str, predicate: str, value: str) -> str:
        return f"<{SHOP}{subject}> <{SHOP}{predicate}> {value} .\n"

    def typed(value: object, datatype: str) -> str:
        return f'"{value}"^^<{XSD}{datatype}>'

    for number in range(producers):
        made += 1
        yield line(f"producer{number}", "country", f"<{SHOP}country{number % 40}>")
    for number in range(products):
        made += 1
        yield line(f"product{number}", "producer", f"<{SHOP}producer{chance.randrange(producers)}>")
        for _ in range(chance.randrange(4)):
            made += 1
            yield line(f"product{number}", "feature", f"<{SHOP}feature{chance.randrange(500)}>")
        if number % 3:
            made += 1
            yield line(f"product{number}", "label", f'"product number {number}"')
    number = 0
    while made < count:
        offer = f"offer{number}"
        yield f"<{SHOP}{offer}> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <{SHOP}Offer> .\n"
        yield line(offer, "product", f"<{SHOP}product{chance.randrange(products)}>")
        yield line(offer, "vendor", f"<{SHOP}vendor{chance.randrange(vendors)}>")
        yield line(offer, "price", typed(f"{chance.uniform(5, 10000):.2f}", "double"))
        yield line(offer, "validFrom", typed(f"2026-0{1 + number % 9}-01T00:00:00Z", "dateTime"))
        yield line(offer, "validTo", typed(f"2027-0{1 + number % 9}-01T00:00:00Z", "dateTime"))
        yield line(offer, "deliveryDays", typed(chance.randrange(1, 22), "integer"))
        yield line(offer, "webpage", f"<{SHOP}page{number}>")
        yield line(offer, "publisher", f"<{SHOP}vendor{chance.randrange(vendors)}>")
        yield line(offer, "date", typed(f"2026-01-{1 + number % 28:02}", "date"))
        number += 1
        made += 10


def milliseconds(actions: Mapping[str, Callable[[], object]]) -> dict[str, list[float]]:
    """Time actions by turns after a warm-up: whatever else the machine does meets all of them."""
    times: dict[str, list[float]] = {name: [] for name in actions}
    for turn in range(WARM_UP + REPEATS):
        for name, action in actions.items():
            began = perf_counter()
            action()
            if turn >= WARM_UP:
                times[name].append(1000 * (perf_counter() - began))
    return times


def rows_of(store: ox.Store, text: str) -> int:
    """How many rows pyoxigraph answers."""
    found = store.query(text)
    assert isinstance(found, ox.QuerySolutions)
    return len(list(found))


def terms_of(query: Query, solve: Callable[[], Solutions], dictionary: Dictionary) -> Table:
    """The kernel's answer down to terms."""
    assert isinstance(query.form, Select)
    return table(solve(), query.form.variables, dictionary)


def main() -> None:
    """Print the figures, and write them where asked."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--json", type=Path)
    options.add_argument("--triples", type=int, default=1_000_000)
    asked = options.parse_args()
    text = "".join(triples(asked.triples))

    began = perf_counter()
    store = ox.Store()
    store.bulk_load(text.encode(), format=ox.RdfFormat.N_TRIPLES)
    their_load = perf_counter() - began
    began = perf_counter()
    dictionary = Dictionary()
    read_all = ReadOptions(limits=FILE_LIMITS)
    quads = dictionary.encode_quads(read(text, Format.N_TRIPLES, options=read_all))
    assert dictionary.known.height, "values are part of encoding"
    our_load = perf_counter() - began
    print(
        f"{quads.height:,} triples; loading: pyoxigraph {their_load:.1f} s, kernel {our_load:.1f} s"
    )

    figures: dict[str, dict[str, float]] = {}
    data, around = Data(Quads(quads)), Surroundings(dictionary)
    print(
        f"{'query':10} {'rows':>8} {'pyoxigraph':>11} {'kernel':>9} {'ratio':>7}"
        f" {'to terms':>9}  by turn"
    )
    for name, body in QUERIES.items():
        query = parse(PREFIX + body).query
        counted = partial(rows_of, store, PREFIX + body)
        solve = partial(evaluate, optimised(query), data, around)
        rows = solve().height
        assert rows == counted(), name
        times = milliseconds(
            {
                "pyoxigraph": counted,
                "kernel": solve,
                "to_terms": partial(terms_of, query, solve, dictionary),
            }
        )
        ratios = [a / b for a, b in zip(times["pyoxigraph"], times["kernel"], strict=True)]
        figure = {each: median(spent) for each, spent in times.items()}
        figures[name] = {"rows": rows, **figure, "ratio": median(ratios)}
        print(
            f"{name:10} {rows:8,} {figure['pyoxigraph']:8.0f} ms {figure['kernel']:6.1f} ms"
            f" {median(ratios):6.1f}x {figure['to_terms']:6.0f} ms"
            f"  {min(ratios):.1f}x to {max(ratios):.1f}x"
        )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory of both sides together: {peak:,.0f} MB")
    if asked.json:
        load = {"pyoxigraph": their_load, "kernel": our_load}
        asked.json.write_text(json.dumps({"load": load, "queries": figures}, indent=2) + "\n")


if __name__ == "__main__":
    main()
