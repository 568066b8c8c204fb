"""How fast a file of text becomes answers on Spark, against a loop over windows with pyoxigraph.

The workload of the Sparkwave paper: 200,000 offers of an online market, eleven triples each, as
timed N-Quads at 100,000 triples a second of event time; asked for are the offers of products of one
type, with all that is said of them, in the last 5 seconds, every 5 seconds. Both sides are timed
from the bytes of the file to lines of JSON in another; pyoxigraph fills a new store for every
window in one process; Spark has two tasks at a time, and has answered the file once before.
"""

from __future__ import annotations

import argparse
import json
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from itertools import groupby
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter

import pyoxigraph as ox
from _bsbm import QUERY, STREAM, write_stream
from _processes import Role, usages

from headrace.dialects import parse
from headrace.launching import RunnerKind
from headrace.pipeline.manifest import Manifest
from headrace.pipeline.results import Told
from headrace.running import Job, Voice, run_job
from headrace.spark.session import start

WIDTH = 5000
CORES = 2
STAGES = {
    "decode": "waiting for text to become panes, which tasks do ahead",
    "exchange": "panes to the driver",
    "kernel": "windows and answers",
    "commit": "files of the checkpoint",
    "sink": "results",
}
PLAIN = "\n".join(line for line in QUERY.splitlines() if not line.startswith("FROM"))


@dataclass
class Figures:
    """What was found out; times in seconds."""

    triples: int
    megabytes: float
    rows: int
    reading: float
    pyoxigraph: list[float] = field(default_factory=list)
    headrace: list[float] = field(default_factory=list)
    cpu: dict[Role, list[float]] = field(default_factory=lambda: {each: [] for each in Role})
    stages: dict[str, list[float]] = field(default_factory=lambda: {each: [] for each in STAGES})
    load: list[float] = field(default_factory=list)

    @property
    def per_second(self) -> float:
        """Triples a second."""
        return self.triples / median(self.headrace)

    @property
    def around(self) -> list[float]:
        """What is left of the time of each run when all stages are taken off."""
        stages = zip(*self.stages.values(), strict=True)
        return [taken - sum(each) for taken, each in zip(self.headrace, stages, strict=True)]

    @property
    def ratio(self) -> float:
        """How many times faster than pyoxigraph."""
        return median(self.pyoxigraph) / median(self.headrace)


# -- pyoxigraph -----------------------------------------------------------------------------------


def their_run(source: Path, out: Path) -> None:
    """Write the rows of each window that closes at a multiple of its width: (close - width, close].

    What stands beside a window is let go before the next one is read, so that memory stays small.
    """
    with source.open("rb") as lines, out.open("w", encoding="utf-8") as results:
        split = (line.partition(b"\t") for line in lines)
        for close, window in groupby(split, lambda parts: -(-int(parts[0]) // WIDTH) * WIDTH):
            store = ox.Store()
            text = b"".join(parts[2] for parts in window)
            store.extend(ox.parse(text, format=ox.RdfFormat.N_TRIPLES))
            found = store.query(PLAIN)
            assert isinstance(found, ox.QuerySolutions)
            for row in found:
                values = zip(found.variables, row, strict=True)
                shown = {name.value: _as_json(term) for name, term in values}
                results.write(json.dumps({"at": close, "row": shown}) + "\n")
        results.flush()
        os.fsync(results.fileno())


def _as_json(term: object) -> dict[str, str]:
    match term:
        case ox.NamedNode():
            return {"type": "uri", "value": term.value}
        case ox.Literal():
            return {"type": "literal", "value": term.value, "datatype": term.datatype.value}
        case _:
            raise AssertionError(f"the stream has no {term}")


# -- headrace -------------------------------------------------------------------------------------


def our_run(source: Path, out: Path, partitions: int, pieces: int) -> dict[str, float]:
    """Write the rows of each window; what each stage has taken."""
    spent = dict.fromkeys(STAGES, 0.0)

    def tell(_manifest: Manifest, told: Told) -> None:
        for stage, taken in told.spent.items():
            spent[stage] += taken

    job = Job(
        [parse(QUERY)],
        {STREAM: [str(source)]},
        outs=[str(out)],
        runner=RunnerKind.SPARK,
        partitions=partitions,
        pieces=pieces,
    )
    run_job(job, Voice(print, print, tell))
    return spent


def answers(out: Path) -> Counter[tuple[int, str]]:
    """What must be equal on both sides: rows and when; windows without rows say so only here."""
    lines = map(json.loads, out.read_text(encoding="utf-8").splitlines())
    return Counter(
        (line["at"], json.dumps(line["row"], sort_keys=True)) for line in lines if line["row"]
    )


# -- figures --------------------------------------------------------------------------------------


def measured(folder: Path, asked: argparse.Namespace) -> Figures:
    """Time both sides, in turns, so that what else the machine does meets both."""
    source = folder / "offers.tnq"
    theirs, ours = folder / "theirs.ndjson", folder / "ours.ndjson"
    triples = write_stream(source, offers=asked.offers)
    our_run(source, ours, asked.partitions, asked.pieces)
    began = perf_counter()
    size = sum(map(len, _blocks(source)))
    figures = Figures(triples, size / 1e6, 0, perf_counter() - began)
    for _ in range(asked.repeats):
        figures.load.append(os.getloadavg()[0])
        began = perf_counter()
        their_run(source, theirs)
        figures.pyoxigraph.append(perf_counter() - began)
        ours.unlink()
        worked, began = by_role(), perf_counter()
        spent = our_run(source, ours, asked.partitions, asked.pieces)
        figures.headrace.append(perf_counter() - began)
        for role, taken in by_role().items():
            figures.cpu[role].append(taken - worked[role])
        for stage, taken in spent.items():
            figures.stages[stage].append(taken)
        found = answers(ours)
        assert found == answers(theirs), "both sides give the same answers"
        figures.rows = found.total()
    return figures


def by_role() -> dict[Role, float]:
    """Seconds of processor time so far."""
    found = dict.fromkeys(Role, 0.0)
    for usage in usages(os.getpid()):
        found[usage.role] += usage.seconds
    return found


def _blocks(source: Path) -> Iterator[bytes]:
    with source.open("rb") as file:
        while block := file.read(1 << 20):
            yield block


def show(figures: Figures) -> None:
    """Print the figures."""
    taken = median(figures.headrace)
    rate = figures.megabytes / taken
    reading = figures.megabytes / figures.reading
    print(f"{figures.triples:,} triples, {figures.megabytes:,.0f} MB, {figures.rows:,} rows")
    print(f"pyoxigraph {median(figures.pyoxigraph):7.2f} s")
    print(
        f"headrace   {taken:7.2f} s {figures.per_second:11,.0f} triples/s {figures.ratio:6.1f}x"
        f"   {rate:,.0f} MB/s, plain reading {reading:,.0f} MB/s"
    )
    spent = {stage: median(each) for stage, each in figures.stages.items()}
    spent["Spark around it"] = median(figures.around)
    for stage, each in spent.items():
        print(f"  {stage:16} {each:6.2f} s {each / taken:5.0%}  {STAGES.get(stage, '')}".rstrip())
    worked = {role: median(each) for role, each in figures.cpu.items()}
    shown = ", ".join(f"{role} {each:.2f} s" for role, each in worked.items())
    print(f"processor time: {shown}; workers decode")
    print("load of the machine before each repeat:", ", ".join(f"{x:.1f}" for x in figures.load))


def main() -> None:
    """Print the figures, and write them where asked."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--json", type=Path)
    options.add_argument("--repeats", type=int, default=3)
    options.add_argument("--offers", type=int, help="only so many, for a quick run")
    options.add_argument("--partitions", type=int, default=1)
    options.add_argument("--pieces", type=int, default=8, help="of files, in a batch")
    asked = options.parse_args()
    with TemporaryDirectory(prefix="headrace-throughput-") as folder, ExitStack() as stack:
        stack.callback(start(CORES, Path(folder) / "spark.log").stop)
        figures = measured(Path(folder), asked)
    show(figures)
    if asked.json:
        content = {
            **asdict(figures),
            "per_second": figures.per_second,
            "ratio": figures.ratio,
        }
        asked.json.write_text(json.dumps(content, indent=2) + "\n")


if __name__ == "__main__":
    main()
