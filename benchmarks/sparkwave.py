"""The experiment of the Sparkwave paper: offers of products of some type, found as they come.

200,000 offers of eleven triples, 10,000 triples a second of event time, so that triples expire.
Three patterns: offers of products of a type; of vendors in a country; by producers in another. A
match is reported with the triple that completes it. What reasoning costs is measured as the paper
does it: offers a second of the plain stream with reasoning, against a stream in which products have
all their types, without; both must find the same.

Streams are read beforehand, except on Spark, for latency and against pyoxigraph, where text is read
in the time. All figures are medians; engines of a row take turns. A ratio is printed only if it is
larger than the noise, that is if the repeats of the two engines do not overlap. What cannot be
measured, because the stream is too short to fill the window before the timed steps, is named.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, sleep

import numpy as np
import pyoxigraph as ox
from _bsbm import PER_OFFER, STREAM
from _offers import (
    RATE,
    Watching,
    encoded,
    in_chunks,
    lines,
    pattern,
    schema,
    static,
    target,
)

from headrace.dialects import parse
from headrace.launching import RunnerKind
from headrace.rdf.columns import TimedColumns
from headrace.rdf.terms import Iri, Quad
from headrace.running import Job, Voice, run_job
from headrace.spark.session import start

CLASSES = (329, 731, 2011, 3949, 8191, 22_527)
STATIC = (0, 10_000, 100_000, 1_000_000)
WINDOWS = (1, 5, 10, 25)
SUBTYPES = 40
BATCH = 50_000
"""Triples in a step, or fewer if the stream is short."""
WARM = 5
"""At least so many steps are not timed, and as many as it takes to fill the window."""
TIMED = 5
"""At least so many steps are timed."""
LEAST = 1_000
"""Fewer offers are not measured: a step would last no longer than its overhead."""
SMALL = 329
EXPERIMENTS = ("windows", "schemas", "static", "peer", "state", "latency", "spark")


@dataclass(frozen=True, slots=True)
class Row:
    """A figure of an experiment.

    Attributes:
        experiment: which.
        what: the case.
        offers: a second.
        triples: a second, of the plain stream.
        matches: that were found.
        state: megabytes of what is kept.
        ratio: to what the experiment compares it with.
        noise: the least and the greatest ratio of two repeats; a ratio of 1 inside is none.
    """

    experiment: str
    what: str
    offers: float
    triples: float
    matches: int
    state: float
    ratio: float | None = None
    noise: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Timed:
    """An engine that has been timed.

    Attributes:
        seconds: of each repeat.
        triples: of the plain stream that were taken in this time.
        watching: the engine of the last repeat.
    """

    seconds: tuple[float, ...]
    triples: int
    watching: Watching

    @property
    def rate(self) -> float:
        """Triples a second, by the median of the repeats."""
        return self.triples / median(self.seconds)

    def ratio_to(self, base: Timed) -> tuple[float, tuple[float, float]]:
        """Divide the rate by that of another engine; between which numbers repeats have it."""
        least = self.triples / max(self.seconds) / (base.triples / min(base.seconds))
        most = self.triples / min(self.seconds) / (base.triples / max(base.seconds))
        return self.rate / base.rate, (least, most)


class Streams:
    """The plain stream and the one with all types, read."""

    def __init__(self, offers: int) -> None:
        """Read so many offers; steps of both hold the same offers."""
        if offers < LEAST:
            raise SystemExit(f"--offers {offers:,} is too few to measure: at least {LEAST:,}")
        plain, typed = lines(offers), lines(offers, materialised=True)
        steps = max(WARM + TIMED, len(plain) // BATCH)
        self.text = in_chunks(plain, -(-len(plain) // steps))
        self.plain = encoded(self.text)
        self.typed = encoded(in_chunks(typed, -(-len(typed) // steps)))
        self.triples = [part.elements.height for part in self.plain]

    def warm(self, window: float) -> int | None:
        """Count the steps that fill a window of so many seconds; None if too few are left."""
        full = np.flatnonzero(np.cumsum(self.triples) >= window * RATE)
        warm = max(WARM, int(full[0]) + 1) if full.size else len(self.plain)
        return warm if warm + TIMED <= len(self.plain) else None


Made = Callable[[], tuple[Watching, Sequence[TimedColumns]]]


def turns(made: Sequence[Made], streams: Streams, warm: int, repeats: int) -> list[Timed]:
    """Time several engines that take turns, each made anew for each repeat."""
    spent: list[list[float]] = [[] for _ in made]
    last: list[Watching] = []
    for _ in range(repeats):
        last = []
        for place, make in enumerate(made):
            gc.collect()
            watching, parts = make()
            spent[place].append(watching.timed(parts, warm))
            last.append(watching)
    triples = sum(streams.triples[warm:])
    return [
        Timed(tuple(each), triples, watching) for each, watching in zip(spent, last, strict=True)
    ]


def told(row: Row) -> Row:
    """Print a figure."""
    print(
        f"{row.experiment:9} {row.what:44} {row.offers:9,.0f} offers/s"
        f" {row.triples:11,.0f} triples/s {row.matches:8,} matches {row.state:7.1f} MB"
        f"{ratio_text(row.ratio, row.noise)}",
        flush=True,
    )
    return row


def ratio_text(ratio: float | None, noise: tuple[float, float] | None) -> str:
    """Write a ratio, or that it is not known to differ from one."""
    if ratio is None:
        return ""
    if noise is None:
        return f"{ratio:8.2f}"
    least, most = noise
    if least == most:
        return f"{ratio:8.2f} (one repeat: the noise is not known)"
    if least <= 1 <= most:
        return f"   no difference beyond noise ({least:.2f} to {most:.2f})"
    return f"{ratio:8.2f} ({least:.2f} to {most:.2f})"


def _row(name: str, what: str, found: Timed, base: Timed | None = None) -> Row:
    ratio, noise = (None, None) if base is None or base is found else found.ratio_to(base)
    watching, offers = found.watching, found.rate / PER_OFFER
    return told(
        Row(name, what, offers, found.rate, watching.matches, watching.state / 1e6, ratio, noise)
    )


def not_measured(name: str, what: str, window: float) -> None:
    """Print why there is no figure."""
    needed = (round(window * RATE) + TIMED * BATCH) // PER_OFFER
    print(
        f"{name:9} {what:44} not measured: too few steps are left once the window is full; "
        f"--offers {needed:,} is enough",
        flush=True,
    )


def _reasoning(
    streams: Streams, number: int, kind: int, window: str, known: Sequence[Quad]
) -> list[Made]:
    """With reasoning, and with all types in the stream."""
    text = pattern(number, kind, window)
    return [
        lambda: (Watching.of(text, schema(SMALL), known), streams.plain),
        lambda: (Watching.of(text, None, known), streams.typed),
    ]


def windows(streams: Streams, asked: argparse.Namespace) -> Iterator[Row]:
    """Patterns and windows, with reasoning and with all types in the stream."""
    kind = target(SUBTYPES)
    for number in asked.patterns:
        known = static(10_000) if number > 1 else []
        narrowest: Timed | None = None
        for seconds in asked.windows:
            what = f"pattern {number}, window {seconds} s"
            warm = streams.warm(seconds)
            if warm is None:
                not_measured("windows", what, seconds)
                continue
            made = _reasoning(streams, number, kind, f"{seconds}s", known)
            with_, without = turns(made, streams, warm, asked.repeats)
            assert with_.watching.matches == without.watching.matches, "both find the same"
            yield _row("windows", f"{what}, reasoning", with_, without)
            yield _row("windows", f"{what}, types in the stream", without)
            if narrowest is None:
                narrowest, width = with_, seconds
            else:
                ratio = ratio_text(*with_.ratio_to(narrowest)).strip()
                print(f"{'':10}of the figure for {width} s: {ratio}", flush=True)


def schemas(streams: Streams, asked: argparse.Namespace) -> Iterator[Row]:
    """Schemas of more and more classes."""
    warm = streams.warm(5)
    if warm is None:
        not_measured("schemas", "window 5 s", 5)
        return
    text = pattern(1, target(SUBTYPES), "5s")
    made = [
        partial(_with_schema, text, schema(classes), streams.plain) for classes in asked.classes
    ]
    found = turns(made, streams, warm, asked.repeats)
    for classes, each in zip(asked.classes, found, strict=True):
        yield _row("schemas", f"{classes:,} classes", each, found[0])


def _with_schema(
    text: str, known: Sequence[Quad], parts: Sequence[TimedColumns]
) -> tuple[Watching, Sequence[TimedColumns]]:
    return Watching.of(text, known), parts


def statics(streams: Streams, asked: argparse.Namespace) -> Iterator[Row]:
    """More and more static triples, a window of a second."""
    warm = streams.warm(1)
    if warm is None:
        not_measured("static", "window 1 s", 1)
        return
    for number in (2, 3):
        text = pattern(number, target(SUBTYPES), "1s")
        made = [
            partial(_with_static, text, static(triples), streams.plain) for triples in asked.static
        ]
        found = turns(made, streams, warm, asked.repeats)
        base = found[min(1, len(found) - 1)]  # without static data nothing matches
        for triples, each in zip(asked.static, found, strict=True):
            yield _row("static", f"pattern {number}, {triples:,} static triples", each, base)


def _with_static(
    text: str, known: Sequence[Quad], parts: Sequence[TimedColumns]
) -> tuple[Watching, Sequence[TimedColumns]]:
    return Watching.of(text, schema(SMALL), known), parts


# -- against pyoxigraph ----------------------------------------------------------------------


def peer(streams: Streams, asked: argparse.Namespace) -> Iterator[Row]:
    """From text: a store for each window, in which types are made."""
    chunks = streams.text[: asked.peer_steps]
    offers = sum(chunk.count(b"\n") for chunk in chunks) / PER_OFFER
    for width in asked.peer_windows:
        text = pattern(1, target(SUBTYPES), f"{width}s STEP 1s")
        ours, theirs, matches = [], [], (0, 0)
        for _ in range(asked.repeats):
            watching = Watching.of(text, schema(SMALL), settings={"emit": "rstream"})
            began = perf_counter()
            for chunk in chunks:
                watching.take_text(chunk)
            watching.engine.finish()
            ours.append(perf_counter() - began)
            began = perf_counter()
            found = their_matches(b"".join(chunks), text, width)
            theirs.append(perf_counter() - began)
            matches = watching.matches, found
        assert matches[0] == matches[1], f"both find the same: {matches}"
        for name, spent in (("headrace", ours), ("pyoxigraph", theirs)):
            rate = offers / median(spent)
            ratio = median(theirs) / median(spent)
            what = f"{name}, {width} s every second, from text"
            yield told(Row("peer", what, rate, rate * PER_OFFER, matches[0], 0.0, ratio))


def their_matches(text: bytes, query: str, width: int) -> int:
    """How many rows a loop over windows finds that close at each second."""
    plain = "\n".join(line for line in query.splitlines() if not line.startswith("FROM"))
    subclass = ox.NamedNode("http://www.w3.org/2000/01/rdf-schema#subClassOf")
    links = [
        ox.Quad(ox.NamedNode(_name(each.subject)), subclass, ox.NamedNode(_name(each.object)))
        for each in schema(SMALL)
    ]
    closure = (
        "PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> "
        "INSERT { ?x a ?above } WHERE { ?x a ?type . ?type rdfs:subClassOf+ ?above }"
    )
    split = (line.partition(b"\t") for line in text.splitlines(keepends=True))
    seconds = [
        (second, b"".join(each[2] for each in group))
        for second, group in groupby(split, lambda parts: -(-int(parts[0]) // 1000))
    ]
    texts, rows = dict(seconds), 0
    for close in range(seconds[0][0], seconds[-1][0] + width):
        store = ox.Store()
        held = b"".join(texts.get(second, b"") for second in range(close - width + 1, close + 1))
        store.extend(ox.parse(held, ox.RdfFormat.N_TRIPLES))
        store.extend(links)
        store.update(closure)
        found = store.query(plain)
        assert isinstance(found, ox.QuerySolutions)
        rows += sum(1 for _ in found)
    return rows


# -- state, latency, Spark ---------------------------------------------------------------------


def state(streams: Streams, asked: argparse.Namespace) -> Iterator[Row]:
    """Twenty windows' worth of stream: what is kept after each of them."""
    width = asked.state_window
    needed = 20 * width * RATE
    watching = Watching.of(pattern(1, target(SUBTYPES), f"{width}s"), schema(SMALL))
    kept: list[float] = []
    taken = 0
    began = perf_counter()
    for part in streams.plain:
        watching.take(part)
        taken += part.elements.height
        if taken >= (len(kept) + 1) * width * RATE:
            kept.append(watching.state / 1e6)
        if taken >= needed:
            break
    spent = perf_counter() - began
    if not kept:
        least = -(-width * RATE // PER_OFFER)
        raise SystemExit(f"state: the stream ends before the first window; --offers {least:,}")
    print(
        f"state     MB after each window of {width} s:", ", ".join(f"{each:.1f}" for each in kept)
    )
    settled = kept[len(kept) // 4 :]
    ratio = max(settled) / min(settled)
    offers = taken / PER_OFFER / spent
    what = f"window {width} s, {len(kept)} windows"
    yield told(Row("state", what, offers, offers * PER_OFFER, watching.matches, max(kept), ratio))


def latency(asked: argparse.Namespace) -> Iterator[Row]:
    """From the last triple of a match to its result, live in this process, from text."""
    rate, seconds = asked.latency_rate, asked.latency_seconds
    text = lines(rate * (seconds + 4) // PER_OFFER, rate=rate)
    watching = Watching.of(pattern(1, target(SUBTYPES), "1s"), schema(SMALL))
    late: list[float] = []
    begins = [0.0]

    def note(at: int, rows: int) -> None:
        late.extend([perf_counter() - begins[0] - at / 1e6] * rows)

    watching.query.on_result(lambda each: note(each.at, len(each.rows)))
    warm = 2 * rate
    for chunk in in_chunks(text[:warm], rate // 100):
        watching.take_text(chunk)
    late.clear()
    place, steps = warm, 0
    begins[0] = perf_counter() - place / rate
    while place < len(text):
        due = min(len(text), int((perf_counter() - begins[0]) * rate))
        if due <= place:
            sleep(0.0005)
            continue
        watching.take_text(b"".join(text[place:due]))
        place, steps = due, steps + 1
    if not late:
        raise SystemExit("latency: nothing matched in so short a time; --latency-seconds 5")
    found = np.array(late) * 1000
    p50, p99 = (float(np.percentile(found, each)) for each in (50, 99))
    print(
        f"latency   {rate:,} triples/s, {found.size:,} matches, {steps:,} steps: "
        f"p50 {p50:.1f} ms, p99 {p99:.1f} ms, worst {found.max():.1f} ms"
    )
    what = f"{rate:,} triples/s: p99 in ms"
    yield Row("latency", what, rate / PER_OFFER, rate, int(found.size), 0.0, p99)


def canonical_line(quad: Quad) -> str:
    """A statement of a schema as N-Triples."""
    return f"<{_name(quad.subject)}> <{_name(quad.predicate)}> <{_name(quad.object)}> ."


def on_spark(asked: argparse.Namespace, folder: Path) -> Iterator[Row]:
    """From text to lines of JSON on Spark, with reasoning and with all types in the stream."""
    text = pattern(1, target(SUBTYPES), "5s")
    hierarchy = folder / "schema.nt"
    hierarchy.write_text("".join(f"{canonical_line(each)}\n" for each in schema(SMALL)))
    spent: dict[str, list[float]] = {"reasoning": [], "types in the stream": []}
    sources = {}
    for name in spent:
        sources[name] = folder / f"{name[:5]}.tnq"
        typed = name != "reasoning"
        sources[name].write_bytes(b"".join(lines(asked.spark_offers, materialised=typed)))
    rows = {}
    with ExitStack() as stack:
        stack.callback(start(2, folder / "spark.log").stop)
        for turn in range(asked.repeats + 1):
            for name, source in sources.items():
                out = folder / "out.ndjson"
                job = Job(
                    [parse(text, settings={"profile": "sparkwave"})],
                    {STREAM: [str(source)]},
                    outs=[str(out)],
                    schemas=[(None, hierarchy)] if name == "reasoning" else [],
                    runner=RunnerKind.SPARK,
                )
                began = perf_counter()
                run_job(job, Voice(print, print, lambda *_: None))
                if turn:  # the first warms up
                    spent[name].append(perf_counter() - began)
                rows[name] = sum('"row": {' in line for line in out.open(encoding="utf-8"))
                out.unlink()
    assert len(set(rows.values())) == 1, f"both find the same: {rows}"
    base = median(spent["types in the stream"])
    for name, each in spent.items():
        offers = asked.spark_offers / median(each)
        what = f"pattern 1, window 5 s, {name}, from text"
        ratio = base / median(each)
        yield told(Row("spark", what, offers, offers * PER_OFFER, rows[name], 0.0, ratio))


def _name(term: object) -> str:
    assert isinstance(term, Iri), "a schema of classes"
    return term.value


def main() -> None:
    """Print the figures, and write them where asked."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--json", type=Path)
    options.add_argument("--only", nargs="+", choices=EXPERIMENTS, default=EXPERIMENTS)
    options.add_argument("--offers", type=int, default=200_000)
    options.add_argument("--repeats", type=int, default=3)
    options.add_argument("--patterns", type=int, nargs="+", default=[1, 2, 3])
    options.add_argument("--windows", type=int, nargs="+", default=WINDOWS)
    options.add_argument("--classes", type=int, nargs="+", default=CLASSES)
    options.add_argument("--static", type=int, nargs="+", default=STATIC)
    options.add_argument(
        "--peer-steps", type=int, default=6, help="steps of the stream for pyoxigraph"
    )
    options.add_argument("--peer-windows", type=int, nargs="+", default=[1, 5], help="seconds")
    options.add_argument("--state-window", type=int, default=10, help="seconds")
    options.add_argument("--latency-rate", type=int, default=50_000)
    options.add_argument("--latency-seconds", type=int, default=20)
    options.add_argument("--spark-offers", type=int, default=100_000)
    asked = options.parse_args()
    rows: list[Row] = []
    streams = Streams(asked.offers) if {*asked.only} - {"latency", "spark"} else None
    of_streams = {
        "windows": windows,
        "schemas": schemas,
        "static": statics,
        "peer": peer,
        "state": state,
    }
    for name, experiment in of_streams.items():
        if name in asked.only and streams is not None:
            rows += experiment(streams, asked)
    if "latency" in asked.only:
        rows += latency(asked)
    if "spark" in asked.only:
        with TemporaryDirectory(prefix="headrace-sparkwave-") as folder:
            rows += on_spark(asked, Path(folder))
    print("load of the machine:", f"{os.getloadavg()[0]:.1f}")
    if asked.json:
        asked.json.write_text(json.dumps([asdict(row) for row in rows], indent=2) + "\n")


if __name__ == "__main__":
    main()
