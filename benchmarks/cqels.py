"""The experiments of the CQELS paper: one query, thousands of them, and plans that adapt.

People at a conference wear RFID tags; who they are, what they have written and whom they cite is a
static graph like DBLP's. Timed is how long an arriving update takes, with all that it makes due:
its text is read, it is matched, and rows are reported. Several updates go into one step; how many
is printed. The base line is System X, as the paper built it, in this process; it reads the same
text at once and takes updates one by one. Before anything is timed, both must give the same
answers.

Times are by the clock on the wall. On a machine that others work on too, `--clock cpu` counts what
all threads of this process have worked instead, which is more than the wall shows on an idle one.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from shutil import rmtree
from statistics import median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import _systemx
from _cqels import (
    CLOCKS,
    MANY,
    SINGLE,
    BaseLine,
    Running,
    World,
    differences,
    made,
    routing_timed,
    shown,
    text_of,
)
from _flips import PHASE, Flips, ridden
from _loading import Loaded, loaded, written
from _many import SECONDS, Asked, Concurrent, OnSpark, heading, inline, on_spark, tell_spark

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BATCHES = (1, 50, 1000)
STEPS = {1: 20, 50: 10}
FEW_STEPS = 3
"""So many steps of each size are a repeat; of larger ones a few."""
BASE_UPDATES = 200
REPEATS = 5
CHECKED = (20_000, 100, 40.0)
"""The triples, the updates a second and the seconds of the stream that answers are compared on."""
FIXED = {"rules.adapt_routes": "off"}
NUMBERS = (10, 100, 1000)
USUAL = ("single", "concurrency", "adaptation")
"""What is measured unless something else is asked for."""
PHASES = {"lblb": "with flips", "l": "lectures only", "b": "breaks only"}
FLIP_RATE = 1000


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
            updates = sum(_steps(batch) * batch + BASE_UPDATES for batch in asked.batches)
            seconds = 33 + (asked.repeats + 1) * updates / rate
            world = made(triples, rate, seconds, folder, CLOCKS[asked.clock])
            for query in _chosen(asked, SINGLE):
                yield from _single(query, world, triples, asked)


def _steps(batch: int) -> int:
    return STEPS.get(batch, FEW_STEPS)


def _single(query: str, world: World, triples: int, asked: argparse.Namespace) -> Iterator[Single]:
    theirs = None
    if triples <= asked.base_line_up_to:
        theirs = BaseLine(_systemx.single(query, world.graph, asked.cache), world, BASE_UPDATES)
    text = [text_of(query)]
    fixed, adaptive = Running.of(world, text, FIXED), Running.of(world, text)
    fixed.fill()
    adaptive.fill()
    for batch in asked.batches:
        steps = _steps(batch)
        before = adaptive.rows
        slow, ours, theirs_too, shares = [], [], [], []
        for _ in range(asked.repeats):  # by turns, so that what else goes on meets all of them
            if theirs is not None:
                theirs_too.append(theirs.timed(BASE_UPDATES))
            slow.append(fixed.timed(batch, steps))
            with routing_timed(world.clock) as spent:
                ours.append(adaptive.timed(batch, steps))
            shares.append(sum(spent) / (ours[-1] * batch * steps / 1e6))
        yield _told(
            Single(
                query,
                triples,
                world.rate,
                batch,
                median(theirs_too) if theirs_too else None,
                median(slow),
                median(ours),
                median(shares),
                (adaptive.rows - before) / (steps * batch * asked.repeats),
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
    heading()
    triples = asked.static[-1]
    world = made(triples, asked.rates[0], SECONDS, folder, CLOCKS[asked.clock])
    how = Asked(asked.numbers, asked.batches, asked.repeats, asked.cache, asked.base_line_instances)
    for query in _chosen(asked, MANY):
        yield from inline(query, world, triples, how)


def adaptation(asked: argparse.Namespace, _folder: Path) -> Iterator[Flips]:
    """Lectures and breaks by turns, and each alone: all routes, and the engine that adapts."""
    print(f"\nselectivities that flip every {PHASE} s; milliseconds of a step of a second")
    for phases, name in PHASES.items():
        each = ridden(phases, FLIP_RATE, CLOCKS[asked.clock])
        routes = ", ".join(f"{route} {taken:.1f}" for route, taken in each.fixed.items())
        print(
            f"{name:14} {each.rate:,} updates/s: adaptive {each.adaptive:.1f}; {routes};"
            f" the best fixed route takes {each.against_best:.2f}x, the worst"
            f" {each.against_worst:.2f}x; {each.rows:,} equal rows; {each.changes} changes of"
            f" route; load {os.getloadavg()[0]:.1f}",
            flush=True,
        )
        yield each


def load(asked: argparse.Namespace, folder: Path) -> Iterator[Loaded]:
    """Static data from a file, again from the cache, and again when some triples have changed."""
    print(f"\nloading {asked.load:,} triples, and what is static of {', '.join(SINGLE)}")
    path, cache = written(asked.load, folder), folder / f"cache-{asked.load}"
    rmtree(cache, ignore_errors=True)
    for source in ("from the file", "from the cache", "changed"):
        each = loaded(path, cache, list(SINGLE), asked.clock, refresh=source == "changed")
        tables = ", ".join(f"{shown(name)} {taken:.2f} s" for name, taken in each.computing.items())
        kept = sum(file.stat().st_size for file in cache.rglob("*") if file.is_file())
        print(
            f"{source:14} {each.triples:,} triples:"
            f" encoded {each.encoding:.2f} s, dictionary {each.learning:.2f} s, computed beforehand"
            f" {tables}; {each.total:.1f} s in all, at most {each.peak:.1f} GB,"
            f" {kept / (1 << 30):.1f} GB kept; load {os.getloadavg()[0]:.1f}",
            flush=True,
        )
        yield each


def spark(asked: argparse.Namespace, folder: Path) -> Iterator[OnSpark]:
    """Many instances on Spark, end to end."""
    print("\non Spark, end to end: from a file to a file, with a checkpoint")
    queries = _chosen(asked, MANY[:2])
    for each in on_spark(queries, asked.on_spark, asked.static[-1], asked.rates[0], folder):
        tell_spark(each)
        yield each


def _chosen(asked: argparse.Namespace, among: Sequence[str]) -> list[str]:
    """Those of some queries that are asked for; all of them if none is."""
    return [each for each in among if not asked.queries or each in asked.queries]


Figure = Single | Concurrent | Flips | Loaded | OnSpark
EXPERIMENTS: dict[str, Callable[[argparse.Namespace, Path], Iterator[Figure]]] = {
    "single": single,
    "concurrency": concurrency,
    "adaptation": adaptation,
    "load": load,
    "spark": spark,
}


def main() -> None:
    """Print the figures, and write them where asked."""
    asked = options().parse_args()
    found: dict[str, list[Figure]] = {}
    with TemporaryDirectory(prefix="headrace-cqels-") as own:
        folder = asked.data or Path(own)
        folder.mkdir(parents=True, exist_ok=True)
        if not asked.unchecked and not checked(Path(own)):
            sys.exit("the two systems give different answers")
        for name in asked.only or USUAL:
            found[name] = list(EXPERIMENTS[name](asked, folder))
    if asked.json:
        said = {name: [asdict(each) for each in figures] for name, figures in found.items()}
        asked.json.write_text(json.dumps(said, indent=2) + "\n")
    if asked.plot:
        draw(found, asked.plot)


def draw(found: dict[str, list[Figure]], path: Path) -> None:
    """Draw what the paper draws: one query (Figure 5), and many instances (Figure 7)."""
    import matplotlib.pyplot as plt  # noqa: PLC0415 - only who draws needs it

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
    _draw_single([each for each in found.get("single", []) if isinstance(each, Single)], left)
    many = [each for each in found.get("concurrency", []) if isinstance(each, Concurrent)]
    for query in dict.fromkeys(each.query for each in many):
        largest = max(each.batch for each in many)
        chosen = [each for each in many if each.query == query and each.batch == largest]
        numbers = [each.number for each in chosen]
        right.loglog(numbers, [each.ours for each in chosen], marker="o", label=shown(query))
    right.set_xlabel("instances")
    right.set_ylabel("milliseconds of an update")
    if many:
        right.legend()
    figure.tight_layout()
    figure.savefig(path)


def _draw_single(figures: list[Single], axis: Axes) -> None:
    """Bars of the largest static data and batches."""
    if not figures:
        return
    largest = max((each.static, each.batch) for each in figures)
    chosen = [each for each in figures if (each.static, each.batch) == largest]
    kinds = {
        "System X": [each.base_line or 0.0 for each in chosen],
        "pre-processing": [each.fixed for each in chosen],
        "and adaptive": [each.adaptive for each in chosen],
    }
    for place, (name, heights) in enumerate(kinds.items()):
        axis.bar([at + 0.27 * (place - 1) for at in range(len(chosen))], heights, 0.25, label=name)
    axis.set_xticks(range(len(chosen)), [shown(each.query) for each in chosen])
    axis.set_yscale("log")
    axis.set_ylabel("microseconds of an update")
    axis.legend()


def options() -> argparse.ArgumentParser:
    """What can be asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=EXPERIMENTS, help="which experiments")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--plot", type=Path, help="where to draw them, as PNG or SVG")
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="cpu: of all threads")
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
    parser.add_argument("--load", type=int, default=10_000_000, help="triples that are loaded")
    parser.add_argument("--on-spark", type=int, nargs="+", default=(1000, 5000), help="instances")
    parser.add_argument("--unchecked", action="store_true", help="do not compare answers first")
    return parser


if __name__ == "__main__":
    main()
