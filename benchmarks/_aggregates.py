"""What it brings to push aggregates to the streams: the movements of each seller in each market.

Four markets stream, and each is a graph of its own; the amounts of the last 10 seconds are added
up, every 10 seconds, by seller and market, on Spark with 2 partitions. Unpushed, the solutions of
all markets are put together before they are added up, in the driver. Pushed, each part adds up some
of the markets. Timed is the evaluation of a batch that closes windows, until its rows are known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import median

from headrace.dialects import parse
from headrace.launching import RunnerKind
from headrace.pipeline.manifest import Manifest
from headrace.pipeline.results import Told
from headrace.running import Job, Voice, run_job
from headrace.spark.session import start

EXCHANGE = "http://stockexchange.org/"
MARKETS = tuple(f"{EXCHANGE}market{number}" for number in range(4))
SELLERS, WINDOWS, WIDTH = 2_000, 8, 10_000
PARTITIONS = 2
REPEATS = 3
RULES = (
    "aggregates_as_groups",
    "spread_windows",
    "push_aggregates_into_union",
    "push_distinct_into_union",
)
XSD_INTEGER = "http://www.w3.org/2001/XMLSchema#integer"


@dataclass(frozen=True, slots=True)
class Pushed:
    """Milliseconds of an evaluation, and what came out."""

    transactions: int
    unpushed: float
    pushed: float
    rows: int

    @property
    def gain(self) -> float:
        """How many times faster it is."""
        return self.unpushed / self.pushed


def query() -> str:
    """The paper's query, over four markets."""
    frames = "\n".join(f"FROM NAMED STREAM <{market}> [RANGE 10s TUMBLING]" for market in MARKETS)
    return f"""
        REGISTER QUERY SellerMarketMovements AS
        PREFIX x: <{EXCHANGE}exchanges#>
        SELECT DISTINCT ?seller ?market ?tot
        {frames}
        WHERE {{ GRAPH ?market {{ ?transaction x:seller ?seller ; x:with ?amount }} }}
        AGGREGATE {{ (?tot, SUM(?amount), {{?seller, ?market}}) }}"""


def generated(folder: Path, transactions: int) -> dict[str, list[str]]:
    """So many transactions a window and market, in a file for each window."""
    chance = Random(5)
    found: dict[str, list[str]] = {}
    for place, market in enumerate(MARKETS):
        home = folder / str(place)
        home.mkdir()
        for window in range(WINDOWS):
            lines = []
            for number in range(transactions):
                time = window * WIDTH + 1 + number * (WIDTH - 1) // transactions
                deal = f"<{EXCHANGE}tx/{place}-{window}-{number}>"
                seller = f"<{EXCHANGE}seller/{chance.randrange(SELLERS)}>"
                amount = f'"{chance.randrange(1, 1000)}"^^<{XSD_INTEGER}>'
                lines.append(f"{time}\t{deal} <{EXCHANGE}exchanges#seller> {seller} .\n")
                lines.append(f"{time}\t{deal} <{EXCHANGE}exchanges#with> {amount} .\n")
            (home / f"{window:03}.tnq").write_text("".join(lines))
        found[market] = [str(home)]
    return found


def measured(folder: Path, transactions: int) -> Pushed:
    """Run both ways over the same streams; the rows must be the same."""
    folder.mkdir()
    streams = generated(folder, transactions)
    session = start(PARTITIONS, folder / "spark.log")
    try:
        run(folder / "warm-up.ndjson", streams, {})
        off = dict.fromkeys(map("rules.{}".format, RULES), "off")
        pushed, unpushed = [], []
        for turn in range(REPEATS):  # by turns, so that noise meets both
            pushed += run(folder / f"pushed-{turn}.ndjson", streams, {})
            unpushed += run(folder / f"unpushed-{turn}.ndjson", streams, off)
    finally:
        session.stop()
    found, wanted = (
        sorted((folder / f"{name}-0.ndjson").read_text().splitlines())
        for name in ("pushed", "unpushed")
    )
    assert found == wanted, "pushed aggregates give other rows"
    return Pushed(transactions, median(unpushed), median(pushed), len(found))


def run(out: Path, streams: Mapping[str, list[str]], settings: Mapping[str, str]) -> list[float]:
    """The milliseconds that each batch with rows is evaluated for, but for the first."""
    taken: list[float] = []

    def tell(_manifest: Manifest, told: Told) -> None:
        if any(report.rows.height for report in told.reports):
            taken.append(1000 * told.spent["kernel"])

    job = Job(
        [parse(query(), settings=settings)],
        streams,
        settings=settings,
        outs=[str(out)],
        runner=RunnerKind.SPARK,
        partitions=PARTITIONS,
        pieces=len(MARKETS),
    )
    run_job(job, Voice(lambda _text: None, lambda _text: None, tell))
    return taken[1:]
