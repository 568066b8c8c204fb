"""How fast windows are answered, against a loop over windows with pyoxigraph in the same run.

YABench's first experiment: weather stations that each report their temperature once a second for
30 seconds, an observation being seven triples; asked for are those above 50 degrees in the last 5
seconds, every 5 seconds and every second. The medium stream has 1,000 stations, the large one ten
times as many, by a generator like YABench's. pyoxigraph fills a new store for every window.

Timed are two ways: from elements in each side's own form (their quads; our columns of ids with the
dictionary of their terms), which come to us all at once or, with --steps, a second at a time; and
from the bytes of a file to rows.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import os
import resource
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import TypeAlias

import polars as pl
import pyoxigraph as ox
from _yabench import BODY, HEAD, PREFIX, STREAM, Observation, continuous, generated, lines

from headrace.dialects import parse
from headrace.engine import Engine
from headrace.kernel.arrivals import Arrivals
from headrace.kernel.arriving import Gate
from headrace.kernel.columns import ARRIVALS, HIGH, INSTANT, POSITION, QUADS, TIME
from headrace.kernel.data import Quads
from headrace.kernel.dictionary import Dictionary
from headrace.kernel.evaluation import Around
from headrace.kernel.grid import NEVER
from headrace.kernel.reports import Report
from headrace.kernel.step import Kernel
from headrace.planning.plan import make_plan
from headrace.rdf.canonical import read_term
from headrace.rdf.columns import read_timed_columns
from headrace.rdf.terms import Iri, Literal, Term

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("HEADRACE_DATA", ROOT.parent / "shared" / "data")) / "yabench-streams"
DURATION = 30_000
TEXT, ELEMENTS, STEPS = "text", "elements", "steps of 1 s"
BATCHES = {ELEMENTS: DURATION + 1, STEPS: 1000}
"""What a run begins with; our elements come in batches of so many milliseconds."""
WIDTH, SLIDES = 5000, {"tumbling 5s/5s": 5000, "sliding 5s/1s": 1000}

Row: TypeAlias = tuple[str | float | None, ...]
Summary: TypeAlias = dict[int, tuple[int, int]]
"""Of each close in milliseconds, how many rows there are and a hash of them."""


@dataclass(frozen=True, slots=True)
class Size:
    """One of the streams."""

    stations: int
    repeats: int
    warm_up: int


SIZES = {"medium": Size(1000, 5, 1), "large": Size(10_000, 3, 0)}
"""What the medium one has warmed up need not be warmed up for the large one."""


# -- the streams ----------------------------------------------------------------------------------


def observations(size: Size) -> list[Observation]:
    """YABench's own stream where it is at hand, else one like it."""
    published = DATA / "E1_medium.csv.gz"
    if size == SIZES["medium"] and published.exists():
        with gzip.open(published, "rt", newline="") as file:
            return [(int(a), int(b), c) for a, b, c in list(csv.reader(file))[1:]]
    return list(generated(size.stations, DURATION))


def as_timed(seen: Iterable[Observation]) -> bytes:
    """Observations as timed N-Quads."""
    return "".join(line for each in seen for line in lines(each)).encode()


# -- pyoxigraph: a store for every window ---------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Parsed:
    """A stream in pyoxigraph's own form: its statements in the order of their times."""

    times: list[int]
    quads: list[ox.Quad]


def parsed(data: bytes) -> Parsed:
    """Read timed N-Quads: the times here, and all statements at once by pyoxigraph.

    Both sides check what they read, so its `lenient` reading, a little faster, is not used.
    """
    times, statements = list[int](), list[bytes]()
    for line in data.splitlines():
        time, _, statement = line.partition(b"\t")
        times.append(int(time))
        statements.append(statement)
    return Parsed(times, list(ox.parse(b"\n".join(statements), format=ox.RdfFormat.N_TRIPLES)))


def their_windows(stream: Parsed, slide: int) -> Iterator[tuple[int, list[ox.QuerySolution]]]:
    """The rows of each window that closes at a multiple of the slide: (close - width, close]."""
    times, quads = stream.times, stream.quads
    for close in range(-(-times[0] // slide) * slide, times[-1] + WIDTH, slide):
        store = ox.Store()
        store.extend(quads[bisect_right(times, close - WIDTH) : bisect_right(times, close)])
        found = store.query(f"{PREFIX}{HEAD} WHERE {BODY}")
        assert isinstance(found, ox.QuerySolutions)
        yield close, list(found)


def their_elements(stream: Parsed, slide: int) -> int:
    """Count their rows, from statements that are ready."""
    return sum(len(rows) for _, rows in their_windows(stream, slide))


def their_text(data: bytes, slide: int) -> int:
    """Count their rows, from the bytes of a file."""
    return their_elements(parsed(data), slide)


# -- headrace -------------------------------------------------------------------------------------


def our_windows(data: bytes, slide: int) -> Iterator[tuple[int, Sequence[tuple[Term | None, ...]]]]:
    """The rows of each window, from the bytes of a file."""
    engine = Engine()
    stream = engine.stream(STREAM)
    query = engine.register(continuous(WIDTH, slide), name="warm")
    stream.feed_timed(data)
    engine.step()
    engine.finish()
    for evaluation in query.results():
        yield evaluation.at // 1000, evaluation.rows


def our_text(data: bytes, slide: int) -> int:
    """Count our rows, from the bytes of a file."""
    return sum(len(rows) for _, rows in our_windows(data, slide))


@dataclass(frozen=True, slots=True)
class Run:
    """A kernel that knows its query and the terms to come, and encoded elements in batches."""

    kernel: Kernel
    batches: Sequence[Arrivals]


def prepared(data: bytes, period: int, slide: int) -> Run:
    """A stream in the kernel's own form, a batch for each so many milliseconds of it."""
    read = read_timed_columns(data)
    _, highs = Gate().passed(read.elements[TIME].to_numpy(), None)
    before = pl.Series(HIGH, highs[read.statements[POSITION].to_numpy()]).replace(NEVER, None)
    statements = read.statements.with_columns(before).select(*ARRIVALS)
    batches = []
    for _, part in statements.group_by(pl.col(TIME) // (1000 * period), maintain_order=True):
        counted = part.with_columns(pl.col(POSITION) - part[POSITION][0])
        batches.append(Arrivals(counted, part[TIME][-1]))
    dictionary = Dictionary()
    plan = make_plan(parse(continuous(WIDTH, slide)).query, "warm")
    kernel = Kernel([plan], Around(dictionary, Quads(QUADS.to_frame())))
    dictionary.learn(read.terms)
    return Run(kernel, batches)


def encoded(run: Run) -> Iterator[Report]:
    """What the kernel reports of encoded elements: rows as columns of canonical texts."""
    for batch in run.batches[:-1]:
        yield from run.kernel.step({Iri(STREAM): batch}).reports
    yield from run.kernel.finish({Iri(STREAM): run.batches[-1]}).reports


def our_elements(run: Run) -> int:
    """Count our rows, from elements that are ready."""
    return sum(report.rows.height for report in encoded(run))


# -- figures --------------------------------------------------------------------------------------


def summary(windows: Iterable[tuple[int, Iterable[Row]]]) -> Summary:
    """What must be equal on both sides; empty windows too."""
    found = {}
    for close, rows in windows:
        counted = Counter(rows)
        found[close] = counted.total(), hash(frozenset(counted.items()))
    return found


def their_rows(rows: Iterable[ox.QuerySolution]) -> Iterator[Row]:
    """Rows to compare; pyoxigraph writes a number anew, so that it is compared by its value."""
    for row in rows:
        yield tuple(
            float(term.value) if isinstance(term, ox.Literal) else str(term) for term in row
        )


def our_rows(rows: Iterable[tuple[Term | None, ...]]) -> Iterator[Row]:
    """Rows to compare."""
    for row in rows:
        yield tuple(float(term.lexical) if isinstance(term, Literal) else str(term) for term in row)


def our_ready_rows(reports: Iterable[Report]) -> Iterator[tuple[int, Iterator[Row]]]:
    """The rows of each window, to compare."""
    for report in reports:
        found = report.rows.rows_by_key(INSTANT)
        for place, time in enumerate(report.times.tolist()):
            rows = (tuple(map(read_term, row)) for row in found.get(place, ()))
            yield time // 1000, our_rows(rows)


def turns(
    theirs: Callable[[], int], make: Callable[[], Callable[[], int]], repeats: int
) -> tuple[list[float], list[float]]:
    """Time both sides by turns: whatever else the machine does meets both.

    Args:
        theirs: the side of pyoxigraph.
        make: makes our side ready, which is not timed.
        repeats: how many turns there are.

    Returns:
        the seconds of each turn, theirs and ours.
    """
    both: tuple[list[float], list[float]] = ([], [])
    for _ in range(repeats):
        ours = make()
        both[0].append(timed(theirs))
        both[1].append(timed(ours))
    return both


def timed(action: Callable[[], int]) -> float:
    """How long an action takes."""
    began = perf_counter()
    action()
    return perf_counter() - began


def from_text(data: bytes, slide: int) -> Callable[[], int]:
    """Make nothing ready: our side begins with the bytes of a file."""
    return partial(our_text, data, slide)


def from_elements(data: bytes, period: int, slide: int) -> Callable[[], int]:
    """Make a run of encoded elements ready."""
    return partial(our_elements, prepared(data, period, slide))


@dataclass(frozen=True, slots=True)
class Figure:
    """What was found out about one stream, kind of window and way to begin; times in seconds."""

    stream: str
    window: str
    begin: str
    windows: int
    rows: int
    pyoxigraph: list[float]
    headrace: list[float]

    @property
    def ratios(self) -> list[float]:
        """How many times faster than pyoxigraph, in each turn."""
        return [a / b for a, b in zip(self.pyoxigraph, self.headrace, strict=True)]


def measured(name: str, size: Size, begins: Sequence[str]) -> Iterator[Figure]:
    """Time both sides on one stream, by turns."""
    data = as_timed(observations(size))
    expected = {}
    stream = parsed(data)
    for kind, slide in SLIDES.items():
        windows = their_windows(stream, slide)
        expected[kind] = summary((close, their_rows(rows)) for close, rows in windows)
    counts = {kind: sum(count for count, _ in each.values()) for kind, each in expected.items()}
    del stream  # while text is read, neither side holds elements
    for kind, slide in SLIDES.items():
        found = summary((close, our_rows(rows)) for close, rows in our_windows(data, slide))
        assert found == expected[kind], kind
        theirs = partial(their_text, data, slide)
        for _ in range(size.warm_up):
            theirs()
        times = turns(theirs, partial(from_text, data, slide), size.repeats)
        yield Figure(name, kind, TEXT, len(expected[kind]), counts[kind], *times)
    stream = parsed(data)
    for begin in begins:
        period = BATCHES[begin]
        for kind, slide in SLIDES.items():
            found = summary(our_ready_rows(encoded(prepared(data, period, slide))))
            assert found == expected[kind], kind
            # A kernel remembers what it has seen: each turn has its own, made ready before.
            theirs = partial(their_elements, stream, slide)
            times = turns(theirs, partial(from_elements, data, period, slide), size.repeats)
            yield Figure(name, kind, begin, len(expected[kind]), counts[kind], *times)


def main() -> None:
    """Print the figures, and write them where asked."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--json", type=Path)
    options.add_argument("--sizes", nargs="+", choices=SIZES, default=list(SIZES))
    options.add_argument("--steps", action="store_true", help="also a second at a time")
    asked = options.parse_args()
    print(
        f"{'stream':8} {'window':15} {'from':14} {'windows':>7} {'rows':>9}"
        f" {'pyoxigraph':>11} {'headrace':>9} {'ratio':>7}  of each turn"
    )
    figures = []
    for name in asked.sizes:
        for each in measured(name, SIZES[name], [ELEMENTS, STEPS] if asked.steps else [ELEMENTS]):
            figures.append(each)
            print(
                f"{each.stream:8} {each.window:15} {each.begin:14} {each.windows:7} {each.rows:9,}"
                f" {median(each.pyoxigraph):9.2f} s {median(each.headrace):7.2f} s"
                f" {median(each.ratios):6.1f}x  {min(each.ratios):.1f}x to {max(each.ratios):.1f}x",
                flush=True,
            )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory of both sides together: {peak:,.0f} MB")
    if asked.json:
        shown = [{**asdict(each), "ratios": each.ratios} for each in figures]
        content = {"figures": shown, "peak_mb": peak}
        asked.json.write_text(json.dumps(content, indent=2) + "\n")


if __name__ == "__main__":
    main()
