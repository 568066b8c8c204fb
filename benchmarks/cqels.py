"""The experiments of the CQELS paper: one query, thousands of them, and plans that adapt.

People at a conference wear RFID tags; who they are, what they have written and whom they cite is a
static graph like DBLP's. Timed is how long an arriving update takes, with all that it makes due:
its text is read, it is matched, and rows are reported. Several updates go into one step; how many
is printed. The base line is System X, as the paper built it, in this process; it gets updates one
by one, as texts that are read already. Before anything is timed, both must give the same answers.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import _systemx
from _cqels import (
    MANY,
    SINGLE,
    Running,
    World,
    base_line,
    differences,
    instances,
    made,
    routing_timed,
    shown,
    text_of,
)

BATCHES = (1, 50, 1000)
STEPS = {1: 40, 50: 20}
FEW_STEPS = 5
"""So many steps of each size are a repeat; of larger ones a few."""
REPEATS = 3
CHECKED = (20_000, 100, 40.0)
"""The triples, the updates a second and the seconds of the stream that answers are compared on."""
FIXED = {"rules.adapt_routes": "off"}
NUMBERS = (10, 100, 1000)
FEASIBLE = {"q1p": 5000, "q2p": 1000, "q3p": 1000, "q4p": 5000}
"""The base line is asked by no more instances than these."""


@dataclass(frozen=True, slots=True)
class Single:
    """Microseconds of an update, for one query.

    Attributes:
        query: which.
        static: triples.
        rate: updates a second of event time.
        batch: updates in a step.
        base_line: of System X.
        fixed: with what is static computed beforehand, joined as it is written.
        adaptive: the same in the order that costs least.
        share: the part of the time that goes into finding that order.
        rows: reported for an update.
        load: of the machine.
    """

    query: str
    static: int
    rate: int
    batch: int
    base_line: float | None
    fixed: float
    adaptive: float
    share: float
    rows: float
    load: float


@dataclass(frozen=True, slots=True)
class Concurrent:
    """Milliseconds of an update, for many instances of a query.

    Attributes:
        query: which.
        number: how many instances.
        static: triples.
        rate: updates a second of event time.
        batch: updates in a step.
        registering: seconds to register all of them.
        first: seconds of the first step, in which static parts are computed.
        base_line: of System X.
        ours: of Headrace.
        load: of the machine.
    """

    query: str
    number: int
    static: int
    rate: int
    batch: int
    registering: float
    first: float
    base_line: float | None
    ours: float
    load: float


def checked(folder: Path) -> bool:
    """Compare the answers of both systems to all queries; whether they are the same."""
    triples, rate, seconds = CHECKED
    world = made(triples, rate, seconds, folder)
    same = True
    for query in (*SINGLE, *MANY):
        rows, extra = differences(query, world, 100)
        same &= rows > 0 and extra == 0
        verdict = "the same" if extra == 0 else f"MISMATCH: {extra:,} rows are of one of them only"
        print(f"{shown(query):4} {rows:8,} rows in both systems: {verdict}", flush=True)
    return same


def single(asked: argparse.Namespace, folder: Path) -> Iterator[Single]:
    """One query at a time, by the size of static data and by how many updates a step takes."""
    print(
        f"\n{'':4} {'static':>10} {'updates/s':>9} {'batch':>5} {'System X':>11}"
        f" {'pre-processed':>13} {'and adaptive':>12} {'X/pre':>6} {'pre/ad':>6} {'share':>6}"
        f" {'rows':>5}  load"
    )
    for triples in asked.static:
        for rate in asked.rates:
            most = max(_steps(batch) * batch for batch in asked.batches)
            seconds = 32 + 2 * (asked.repeats + 1) * most * len(asked.batches) / rate
            world = made(triples, rate, seconds, folder)
            for query in asked.queries or SINGLE:
                yield from _single(query, world, triples, asked)


def _steps(batch: int) -> int:
    return STEPS.get(batch, FEW_STEPS)


def _single(query: str, world: World, triples: int, asked: argparse.Namespace) -> Iterator[Single]:
    theirs = None
    if triples <= asked.base_line_up_to:
        system = _systemx.single(query, world.graph, asked.cache)
        theirs = base_line(system, world, 500, asked.repeats)
        del system
    both = {name: Running.of(world, [text_of(query)], FIXED if name else {}) for name in (0, 1)}
    for running in both.values():
        running.fill()
    for batch in asked.batches:
        times: dict[int, list[float]] = {0: [], 1: []}
        shares = []
        steps = _steps(batch)
        before = both[0].rows
        for _ in range(asked.repeats):
            for name, running in both.items():  # by turns, so that others disturb both
                with routing_timed() as spent:
                    times[name].append(running.timed(batch, steps))
                if name == 0:
                    shares.append(sum(spent) / (times[0][-1] * batch * steps / 1e6))
        rows = (both[0].rows - before) / (steps * batch * asked.repeats)
        yield _told(
            Single(
                query,
                triples,
                world.rate,
                batch,
                theirs,
                median(times[1]),
                median(times[0]),
                median(shares),
                rows,
                os.getloadavg()[0],
            )
        )


def _told(each: Single) -> Single:
    theirs, gain = "-", "-"
    if each.base_line is not None:
        theirs, gain = f"{each.base_line:,.1f}", f"{each.base_line / each.fixed:.2f}x"
    print(
        f"{shown(each.query):4} {each.static:10,} {each.rate:9,} {each.batch:5} {theirs:>8} us"
        f" {each.fixed:10,.1f} us {each.adaptive:9,.1f} us {gain:>6}"
        f" {each.fixed / each.adaptive:5.2f}x {each.share:6.1%} {each.rows:5.1f}"
        f"  {each.load:.1f}",
        flush=True,
    )
    return each


def concurrency(asked: argparse.Namespace, folder: Path) -> Iterator[Concurrent]:
    """Many instances of a query, each for another author."""
    print(
        f"\n{'':4} {'instances':>9} {'static':>10} {'updates/s':>9} {'batch':>5} {'registered':>10}"
        f" {'first step':>10} {'System X':>12} {'Headrace':>12} {'growth':>6}  load"
    )
    for triples in asked.static[-1:]:
        world = made(triples, asked.rates[0], 60, folder)
        for query in asked.queries or MANY:
            before: Concurrent | None = None
            for number in asked.numbers:
                for each in _concurrent(query, number, world, triples, asked):
                    growth = "-"
                    if before is not None and each.batch == before.batch:
                        growth = f"{each.ours / before.ours:.1f}x"
                    _tell(each, growth)
                    yield each
                before = each


def _authors(world: World, number: int) -> list[int]:
    """Those who are there first, then others, who may register too."""
    there = world.people[:number]
    others = set(range(world.graph.authors)).difference(there)
    return [*there, *sorted(others)[: number - len(there)]]


def _concurrent(
    query: str, number: int, world: World, triples: int, asked: argparse.Namespace
) -> Iterator[Concurrent]:
    authors = _authors(world, number)
    theirs = None
    if number <= min(FEASIBLE[query], asked.base_line_instances):
        system = _systemx.many(query, world.graph, authors, asked.cache)
        theirs = base_line(system, world, 50, 1) / 1000
        del system
    running = Running.of(world, instances(query, authors))
    first = running.take(1)
    running.fill()
    for batch in asked.batches:
        steps = max(2, min(10, _steps(batch)))
        times = [running.timed(batch, steps) for _ in range(asked.repeats)]
        yield Concurrent(
            query,
            number,
            triples,
            world.rate,
            batch,
            running.registering,
            first,
            theirs,
            median(times) / 1000,
            os.getloadavg()[0],
        )


def _tell(each: Concurrent, growth: str) -> None:
    theirs = "-" if each.base_line is None else f"{each.base_line:,.2f} ms"
    print(
        f"{shown(each.query):4} {each.number:9,} {each.static:10,} {each.rate:9,} {each.batch:5}"
        f" {each.registering:8.2f} s {each.first:8.2f} s {theirs:>12} {each.ours:9,.3f} ms"
        f" {growth:>6}  {each.load:.1f}",
        flush=True,
    )


EXPERIMENTS: dict[str, Callable[[argparse.Namespace, Path], Iterator[object]]] = {
    "single": single,
    "concurrency": concurrency,
}


def main() -> None:
    """Print the figures, and write them where asked."""
    asked = options().parse_args()
    found: dict[str, list[object]] = {}
    with TemporaryDirectory(prefix="headrace-cqels-") as own:
        folder = asked.data or Path(own)
        folder.mkdir(parents=True, exist_ok=True)
        if not asked.unchecked and not checked(Path(own)):
            sys.exit("the two systems give different answers")
        for name in asked.only or EXPERIMENTS:
            found[name] = list(EXPERIMENTS[name](asked, folder))
    if asked.json:
        said = {
            name: [asdict(each) for each in figures]  # type: ignore[call-overload]
            for name, figures in found.items()
        }
        asked.json.write_text(json.dumps(said, indent=2) + "\n")


def options() -> argparse.ArgumentParser:
    """What can be asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=EXPERIMENTS, help="which experiments")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--data", type=Path, help="where graphs are kept; else in no place")
    parser.add_argument("--static", type=int, nargs="+", default=(100_000, 1_000_000))
    parser.add_argument("--rates", type=int, nargs="+", default=(1000,), help="updates a second")
    parser.add_argument("--batches", type=int, nargs="+", default=BATCHES, help="updates a step")
    parser.add_argument("--numbers", type=int, nargs="+", default=NUMBERS, help="of instances")
    parser.add_argument("--queries", nargs="+", choices=(*SINGLE, *MANY))
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--cache", type=int, default=_systemx.CACHE, help="entries, in System X")
    parser.add_argument("--base-line-up-to", type=int, default=1_000_000, help="static triples")
    parser.add_argument("--base-line-instances", type=int, default=1000)
    parser.add_argument("--unchecked", action="store_true", help="do not compare answers first")
    return parser


if __name__ == "__main__":
    main()
