"""What it brings to push filters towards the streams and towards static data.

C-SPARQL's experiment: the daily total of each Swiss broker's transactions of at least some amount.
Brokers and their countries are static, transactions stream. Timed is one evaluation of a window
that is full, by how many elements it holds and by how large the static data are, with neither
filter pushed, with either, and with both. What is found in static data is not remembered here, else
the push towards them would pay only once.

A filter that is pushed towards a stream is applied where elements are read, so that windows hold
less; what no filter would let pass is left out of the window beforehand, as the decode tasks do.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np
import polars as pl
from _aggregates import PARTITIONS, Pushed, measured

from headrace.dialects import parse
from headrace.kernel.arrivals import Arrivals
from headrace.kernel.columns import (
    ARRIVALS,
    GRAPH,
    HIGH,
    ID,
    OBJECT,
    POSITION,
    PREDICATE,
    QUADS,
    SUBJECT,
    TEXT,
    TIME,
)
from headrace.kernel.data import Quads
from headrace.kernel.dictionary import Dictionary
from headrace.kernel.evaluation import Around
from headrace.kernel.step import Kernel
from headrace.pipeline.choosing import wanted
from headrace.planning.plan import Plan, make_plan
from headrace.planning.wanted import wanted_shapes
from headrace.rdf.ids import text_ids
from headrace.rdf.terms import Iri
from headrace.rewrite.sources import KnownPredicates

BROKERS = "http://brokerscentral.org/"
EXCHANGE = "http://stockexchange.org/"
STREAM = f"{EXCHANGE}market.trdf"
GRAPH_IRI = f"{BROKERS}brokers.rdf"
XSD_INTEGER = "http://www.w3.org/2001/XMLSchema#integer"
AMOUNTS, COUNTRIES = 100, 100
"""Amounts are from 0 to below 100, countries as many: a filter keeps so many in a hundred."""
DAY = 86_400_000_000
KEPT = (10, 50, 90)
WINDOWS = (1_000, 10_000, 100_000, 1_000_000)
STATIC = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
FIXED_STATIC, FIXED_WINDOW = 1_000_000, 1_000_000
"""How large the one is while the other grows."""
REPEATS = 7
_SAYS_SOMETHING = 0.3
"""What both pushes save alone, added up, must be at least so much of the time without them."""

OFF = {
    "strategy": "snapshot",  # else the work is done before somebody waits for it
    "rules.precompute_static": "off",
    "rules.push_filter_into_join": "off",
    "rules.filter_while_decoding": "off",
    "rules.push_filter_to_streams": "off",
    "rules.push_filter_to_static": "off",
}
TO_STREAMS = ("rules.push_filter_to_streams", "rules.filter_while_decoding")
TO_STATIC = ("rules.push_filter_to_static",)
VARIANTS: Mapping[str, tuple[str, ...]] = {
    "none": (),
    "streaming": TO_STREAMS,
    "static": TO_STATIC,
    "both": (*TO_STREAMS, *TO_STATIC),
}


@dataclass(frozen=True, slots=True)
class Figure:
    """Milliseconds of one evaluation, the median of several."""

    elements: int
    static: int
    kept: int
    none: float
    streaming: float
    static_push: float
    both: float
    rows: int

    @property
    def gain(self) -> float:
        """How many times faster it is with both pushes."""
        return self.none / self.both

    @property
    def sum_of_gains(self) -> float | None:
        """The time that both save, as a part of what each saves alone, added up.

        It says nothing where that is little of the whole time: noise would be divided by noise.
        """
        alone = 2 * self.none - self.streaming - self.static_push
        return (self.none - self.both) / alone if alone >= _SAYS_SOMETHING * self.none else None


def query(kept: int, variant: str) -> Plan:
    """The paper's query, with filters that keep so many in a hundred."""
    text = f"""
        REGISTER QUERY TotalAmountPerDayAndBroker AS
        PREFIX b: <{BROKERS}accounts#>
        PREFIX x: <{EXCHANGE}exchanges#>
        SELECT DISTINCT ?broker ?total
        FROM <{GRAPH_IRI}>
        FROM STREAM <{STREAM}> [RANGE 24h TUMBLING]
        WHERE {{
          ?broker b:is_from ?country .
          ?broker x:does ?tx .
          ?tx x:with ?amount .
          FILTER (?country >= {COUNTRIES - kept} && ?amount >= {AMOUNTS - kept})
        }}
        AGGREGATE {{ (?total, SUM(?amount), ?broker) }}"""
    settings = {**OFF, **dict.fromkeys(VARIANTS[variant], "on")}
    known = KnownPredicates.of_static([Iri(f"{BROKERS}accounts#is_from")], [Iri(GRAPH_IRI)])
    return make_plan(parse(text, settings=settings).query, known=known)


class Terms:
    """Terms by number, and a dictionary that knows them."""

    def __init__(self) -> None:
        """Know the names of the query."""
        self.dictionary = Dictionary()

    def named(self, kind: str, count: int) -> np.ndarray:
        """The ids of so many names of one kind."""
        return self._learnt([f"<{EXCHANGE}{kind}/{number}>" for number in range(count)])

    def numbers(self, count: int) -> np.ndarray:
        """The ids of the whole numbers below one."""
        return self._learnt([f'"{number}"^^<{XSD_INTEGER}>' for number in range(count)])

    def one(self, iri: str) -> int:
        """The id of a name."""
        return self.dictionary.encode(Iri(iri))

    def _learnt(self, texts: list[str]) -> np.ndarray:
        ids = text_ids([text.encode() for text in texts], 0)
        self.dictionary.learn(pl.DataFrame({ID: ids, TEXT: texts}))
        return ids


@dataclass(frozen=True, slots=True)
class Market:
    """Static data and the elements of a day."""

    terms: Terms
    static: pl.DataFrame
    elements: pl.DataFrame


def market(elements: int, static: int) -> Market:
    """A market of so many elements, two to a transaction, and so many brokers."""
    chance = np.random.default_rng(7)
    terms = Terms()
    brokers, numbers = terms.named("broker", static), terms.numbers(AMOUNTS)
    transactions = terms.named("tx", elements // 2)
    count = transactions.size
    countries = numbers[chance.integers(COUNTRIES, size=static)]
    quads = pl.DataFrame(
        {
            GRAPH: pl.repeat(terms.one(GRAPH_IRI), static, dtype=pl.Int64, eager=True),
            SUBJECT: brokers,
            PREDICATE: np.full(static, terms.one(f"{BROKERS}accounts#is_from")),
            OBJECT: countries,
        },
        schema=QUADS,
    )
    places = np.arange(2 * count)
    does, of = terms.one(f"{EXCHANGE}exchanges#does"), terms.one(f"{EXCHANGE}exchanges#with")
    actors = brokers[chance.integers(static, size=count)]
    amounts = numbers[chance.integers(AMOUNTS, size=count)]
    times = 1 + places * (DAY - 2) // max(1, places.size)
    frame = pl.DataFrame(
        {
            POSITION: places,
            TIME: times,
            HIGH: np.concatenate([[0], times[:-1]]),
            GRAPH: pl.repeat(None, places.size, dtype=pl.Int64, eager=True),
            SUBJECT: np.stack([actors, transactions], 1).ravel(),
            PREDICATE: np.tile([does, of], count),
            OBJECT: np.stack([transactions, amounts], 1).ravel(),
        },
        schema=ARRIVALS,
    )
    return Market(terms, quads, frame)


def held(plan: Plan, made: Market) -> pl.DataFrame:
    """List what a window holds: what no filter would let pass is left out beforehand."""
    statements = made.elements
    shapes = wanted_shapes([plan], Iri(STREAM))
    if shapes is None:
        return statements
    known = made.terms.dictionary.known.select(ID, TEXT)
    return statements.filter(wanted(statements, known, shapes, 0))


def evaluated(plan: Plan, around: Around, statements: pl.DataFrame) -> tuple[float, int]:
    """Time the evaluation of a full window: its milliseconds and its rows."""
    stream = Iri(STREAM)
    kernel = Kernel([plan], around)
    kernel.step({stream: Arrivals(statements, DAY - 1)})
    gc.collect()
    began = perf_counter()
    results = kernel.step({stream: Arrivals(high=DAY + 1)})
    taken = 1000 * (perf_counter() - began)
    return taken, sum(report.rows.height for report in results.reports)


def figures(elements: int, static: int) -> Iterator[Figure]:
    """Measure one size with all filters, the variants by turns; all must have as many rows."""
    made = market(elements, static)
    for kept in KEPT:
        plans = {name: query(kept, name) for name in VARIANTS}
        windows = {name: held(plan, made) for name, plan in plans.items()}
        # Static data are put in order once for each variant, before its first evaluation is over.
        arounds = {name: Around(made.terms.dictionary, Quads(made.static)) for name in VARIANTS}
        times: dict[str, list[float]] = {name: [] for name in VARIANTS}
        counts = set[int]()
        for _ in range(REPEATS + 1):
            for name, plan in plans.items():
                taken, rows = evaluated(plan, arounds[name], windows[name])
                times[name].append(taken)
                counts.add(rows)
        assert len(counts) == 1, f"variants differ: {counts}"
        none, streaming, pushed, both = (median(each[1:]) for each in times.values())
        yield Figure(elements, static, kept, none, streaming, pushed, both, counts.pop())


def main() -> None:
    """Print the figures, and write and draw them where asked."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--json", type=Path)
    options.add_argument("--plot", type=Path, help="where to draw them, as PNG or SVG")
    options.add_argument("--windows", type=int, nargs="*", default=WINDOWS)
    options.add_argument("--static", type=int, nargs="*", default=STATIC)
    options.add_argument(
        "--fixed-window", type=int, default=FIXED_WINDOW, help="elements, while static data grow"
    )
    options.add_argument(
        "--transactions", type=int, default=200_000, help="of a market and window; 0 is none"
    )
    asked = options.parse_args()
    sizes = [(each, FIXED_STATIC) for each in asked.windows]
    sizes += [(asked.fixed_window, each) for each in asked.static]
    print(
        f"{'elements':>9} {'static':>10} {'kept':>5} {'none':>9} {'streaming':>9} {'static':>9}"
        f" {'both':>9} {'gain':>6} {'of sum':>6} {'rows':>8}   load"
    )
    found = []
    for elements, static in sizes:
        for each in figures(elements, static):
            found.append(each)
            of_sum = "-" if each.sum_of_gains is None else f"{each.sum_of_gains:.0%}"
            print(
                f"{each.elements:9,} {each.static:10,} {each.kept:4}% {each.none:6.1f} ms"
                f" {each.streaming:6.1f} ms {each.static_push:6.1f} ms {each.both:6.1f} ms"
                f" {each.gain:5.1f}x {of_sum:>6} {each.rows:8,}"
                f"   {os.getloadavg()[0]:.1f}",
                flush=True,
            )
    aggregates = pushed_aggregates(asked.transactions) if asked.transactions else None
    if asked.json:
        said = {
            "filters": [asdict(each) for each in found],
            "aggregates": None if aggregates is None else asdict(aggregates),
        }
        asked.json.write_text(json.dumps(said, indent=2) + "\n")
    if asked.plot:
        draw(found, asked.fixed_window, asked.plot)


def pushed_aggregates(transactions: int) -> Pushed:
    """Print what it brings to push aggregates to the streams."""
    with TemporaryDirectory(prefix="headrace-csparql-") as folder:
        each = measured(Path(folder) / "aggregates", transactions)
    print(
        f"\nSUM by seller and market, 4 markets of {each.transactions:,} transactions a window, on"
        f" Spark with {PARTITIONS} partitions: unpushed {each.unpushed:.0f} ms, pushed"
        f" {each.pushed:.0f} ms an evaluation, {each.gain:.1f}x; {each.rows:,} equal rows"
    )
    return each


def draw(found: list[Figure], window: int, path: Path) -> None:
    """Draw the figures of the most selective filters, as the paper does."""
    import matplotlib.pyplot as plt  # noqa: PLC0415 - only who draws needs it

    chosen = [each for each in found if each.kept == min(KEPT)]
    by_window = [each for each in chosen if each.static == FIXED_STATIC]
    by_static = [each for each in chosen if each.elements == window]
    figure, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True)
    names = {"none": "none", "streaming": "streaming", "static_push": "static", "both": "both"}
    sides = (
        ("elements", by_window, "elements in the window"),
        ("static", by_static, "static triples"),
    )
    for axis, (size, group, title) in zip(axes, sides, strict=True):
        ordered = sorted(set(group), key=lambda each: getattr(each, size))
        for name, label in names.items():
            axis.loglog(
                [getattr(each, size) for each in ordered],
                [getattr(each, name) for each in ordered],
                marker="o",
                label=label,
            )
        axis.set_xlabel(title)
        axis.grid(visible=True, alpha=0.3)
    axes[0].set_ylabel("milliseconds of an evaluation")
    axes[0].legend(title="filters pushed")
    figure.tight_layout()
    figure.savefig(path)


if __name__ == "__main__":
    main()
