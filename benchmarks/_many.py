"""Many instances of a query at once, each for another author: in this process, and on Spark."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter

import _systemx
import polars as pl
from _cqels import BaseLine, Running, World, instances, made, shown
from _dblp import STREAM

from headrace.dialects import parse
from headrace.launching import RunnerKind
from headrace.pipeline.manifest import Manifest
from headrace.pipeline.results import Told
from headrace.running import Job, Voice, run_job
from headrace.spark.session import start

CORES = 2
STEPS = {1: 10, 50: 6}
FEW_STEPS = 2
"""So many steps of each size are a repeat; of larger ones a few."""
BASE_UPDATES = 50
SECONDS = 60
ON_SPARK = 40
"""Seconds of the stream that is run on Spark."""
_NEEDED = {"q1p": ("one",), "q2p": ("one", "two"), "q3p": ("one", "two"), "q4p": ("two",)}
"""Which people of a static binding must be in the stream for an instance to match."""


@dataclass(frozen=True, slots=True)
class Concurrent:
    """Milliseconds of an update, for many instances of a query.

    Attributes:
        query: which.
        asked: how many instances were asked for.
        number: how many were registered, each for another author: no more than there are authors.
        matching: how many of these can match, because the people that they need are in the stream.
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
    asked: int
    number: int
    matching: int
    static: int
    rate: int
    batch: int
    registering: float
    first: float
    base_line: float | None
    ours: float
    load: float


@dataclass(frozen=True, slots=True)
class Asked:
    """How many instances are measured, and how."""

    numbers: Sequence[int]
    batches: Sequence[int]
    repeats: int
    cache: int
    base_line_instances: int


def inline(query: str, world: World, triples: int, asked: Asked) -> Iterator[Concurrent]:
    """The figures of one query, by number of instances and size of steps."""
    before: dict[int, Concurrent] = {}
    for number in asked.numbers:
        if number > world.graph.authors:
            print(
                f"{shown(query):4} {number:9,} instances were asked for: there are only"
                f" {world.graph.authors:,} authors in {triples:,} triples"
            )
        for each in _measured(query, number, world, triples, asked):
            _tell(each, before.get(each.batch))
            before[each.batch] = each
            yield each


def heading() -> None:
    """Print what the columns are."""
    print(
        f"\n{'':4} {'instances':>9} {'can match':>9} {'static':>10} {'updates/s':>9} {'batch':>5}"
        f" {'registered':>10} {'first step':>10} {'System X':>12} {'Headrace':>12} {'growth':>14}"
        "  load"
    )


def _tell(each: Concurrent, before: Concurrent | None) -> None:
    theirs = "-" if each.base_line is None else f"{each.base_line:,.2f} ms"
    growth = "-"
    if before is not None:
        more = each.number / before.number
        growth = f"{each.ours / before.ours:.1f}x for {more:.0f}x"
    print(
        f"{shown(each.query):4} {each.number:9,} {each.matching:9,} {each.static:10,}"
        f" {each.rate:9,} {each.batch:5} {each.registering:8.2f} s {each.first:8.2f} s"
        f" {theirs:>12} {each.ours:9,.3f} ms {growth:>14}  {each.load:.1f}",
        flush=True,
    )


def authors_of(world: World, number: int) -> list[int]:
    """List authors for instances: first those at the conference, then others.

    There are fewer than asked for if the graph has fewer authors.
    """
    there = world.people[:number]
    others = set(range(world.graph.authors)).difference(there)
    return [*there, *sorted(others)[: number - len(there)]]


def matching(query: str, authors: Sequence[int], world: World) -> int:
    """Count the instances that can match: all people of a static binding are in the stream.

    Where an author is does not matter for Q4', which asks where those are whom the author cites.
    """
    wanted = pl.DataFrame(
        {"one": authors, "statement": range(len(authors))},
        schema={"one": pl.Int64, "statement": pl.Int64},
    )
    bindings = _systemx.bindings_of(query, world.graph, wanted)
    heard = pl.DataFrame({"heard": world.updates.people}).unique()
    for each in _NEEDED[query]:
        bindings = bindings.join(heard, left_on=each, right_on="heard", how="semi")
    return bindings["statement"].n_unique()


def _measured(
    query: str, number: int, world: World, triples: int, asked: Asked
) -> Iterator[Concurrent]:
    authors = authors_of(world, number)
    can_match = matching(query, authors, world)
    theirs = None
    if number <= asked.base_line_instances:
        system = _systemx.many(query, world.graph, authors, asked.cache)
        theirs = BaseLine(system, world, BASE_UPDATES).timed(BASE_UPDATES) / 1000
        del system
    running = Running.of(world, instances(query, authors))
    first = running.take(1)
    running.fill()
    for batch in asked.batches:
        steps = STEPS.get(batch, FEW_STEPS)
        times = [running.timed(batch, steps) for _ in range(asked.repeats)]
        yield Concurrent(
            query,
            number,
            len(authors),
            can_match,
            triples,
            world.rate,
            batch,
            running.registering,
            first,
            theirs,
            median(times) / 1000,
            os.getloadavg()[0],
        )


# -- on Spark --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OnSpark:
    """What a run on Spark took, end to end.

    Attributes:
        query: which.
        asked: how many instances were asked for.
        number: how many were registered, each for another author.
        matching: how many of these can match.
        static: triples.
        updates: how many came, all of them from a file.
        batches: in how many micro-batches.
        seconds: of the whole run, with the static data and the start of its tasks.
        staged: milliseconds of an update in the stages of all micro-batches, as the driver tells.
        rows: how many results were written.
        load: of the machine.
    """

    query: str
    asked: int
    number: int
    matching: int
    static: int
    updates: int
    batches: int
    seconds: float
    staged: float
    rows: int
    load: float


def on_spark(
    queries: Sequence[str], numbers: Sequence[int], triples: int, rate: int, folder: Path
) -> Iterator[OnSpark]:
    """Many instances over a file, written to a file; durable, with a checkpoint."""
    world = made(triples, rate, ON_SPARK, folder)
    source = folder / f"stream-{triples}-{rate}.tnq"
    source.write_bytes(world.updates.timed())
    session = start(CORES, folder / "spark.log")
    try:
        for query in queries:
            for number in numbers:
                yield _ran(query, number, world, triples, source, folder)
    finally:
        session.stop()


def _ran(
    query: str, number: int, world: World, triples: int, source: Path, folder: Path
) -> OnSpark:
    out = folder / f"{query}-{number}.ndjson"
    out.unlink(missing_ok=True)
    spent: list[float] = []

    def tell(_manifest: Manifest, told: Told) -> None:
        spent.append(sum(told.spent.values()))

    authors = authors_of(world, number)
    texts = instances(query, authors)
    parsed = [parse(text, name=f"q{place}") for place, text in enumerate(texts)]
    job = Job(
        parsed,
        {STREAM: [str(source)]},
        static=[(None, folder / f"dblp-{triples}.nq")],
        outs=[str(out)],
        runner=RunnerKind.SPARK,
    )
    began = perf_counter()
    run_job(job, Voice(lambda _text: None, print, tell))
    seconds = perf_counter() - began
    return OnSpark(
        query,
        number,
        len(authors),
        matching(query, authors, world),
        triples,
        len(world.updates),
        len(spent),
        seconds,
        sum(spent) / len(world.updates) * 1000,
        out.read_bytes().count(b"\n"),
        os.getloadavg()[0],
    )


def tell_spark(each: OnSpark) -> None:
    """Print the figures of a run."""
    print(
        f"{shown(each.query):4} {each.number:9,} instances on Spark ({each.asked:,} asked for,"
        f" {each.matching:,} can match), {each.static:,} static triples, {each.updates:,} updates"
        f" in {each.batches} micro-batches: {each.seconds:.1f} s in all,"
        f" {each.staged:.3f} ms an update in the driver's stages; {each.rows:,} rows;"
        f" load {each.load:.1f}",
        flush=True,
    )
