"""How long after a window has closed its rows are in the sink, while stations report in real time.

YABench's first experiment, live: a process adds observations to a file as they happen, so that
event times are those of the clock; asked for are the temperatures above 50 degrees of the last 5
seconds, every second. Timed is from the close of a window to the moment when its rows are there:
that includes the wait for the next element, without which no window is known to be over. Afterwards
the windows are computed from the file; each row must have come, and come once.

On Spark and inline, rows are there when they are durably in a file of JSON, and the run is kept in
a checkpoint. With `engine`, a program reads the file itself, pushes what it reads to an Engine, and
has the rows when a callback has them: nothing is kept. They are columns of texts then; how much
later all their terms are objects of Python is printed too.

`--only release` measures instead how long an element waits for its row if nothing comes after it.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory

from _live import lateness_path, running, write_live
from _release import WAYS, Release
from _release import measured as released
from _yabench import INTERVAL, LIMIT, PER_OBSERVATION, STREAM, continuous

from headrace import Engine, Evaluation
from headrace.dialects import parse
from headrace.launching import RunnerKind
from headrace.pipeline.manifest import Manifest
from headrace.pipeline.results import Told
from headrace.running import Job, Voice, run_job
from headrace.spark.session import start

CORES = 2
WIDTH = 5000
RATES = (7000, 70_020)
ENGINE = "engine"
RUNNERS = (*(each.value for each in RunnerKind), ENGINE)
WARM_UP = 10_000
"""Windows that close in so many milliseconds from the first are not timed."""
PATIENCE = 60.0
"""So many seconds after the last element, what it closes must be there."""

Rows = Counter[tuple[int, str]]
"""When, and which observation."""


@dataclass
class Heard:
    """What a run has told.

    Attributes:
        delays: milliseconds from the close of a window to its rows, by the close in milliseconds.
        terms: milliseconds from the close of a window until its terms are objects of Python.
        stages: milliseconds of each batch that had rows, by stage.
        batches: how many there were.
    """

    delays: dict[int, float] = field(default_factory=dict)
    terms: dict[int, float] = field(default_factory=dict)
    stages: dict[str, list[float]] = field(default_factory=dict)
    batches: int = 0

    def tell(self, _manifest: Manifest, told: Told) -> None:
        """Look at the clock: sinks have what is told."""
        now = time.time() * 1000
        self.batches += 1
        for report in told.reports:
            for at in (report.times // 1000).tolist():
                self.delays[at] = now - at
        for stage, taken in told.spent.items() if told.reports else ():
            self.stages.setdefault(stage, []).append(taken * 1000)


@dataclass(frozen=True, slots=True)
class Figure:
    """What was found out about one runner and one rate; times in milliseconds."""

    runner: str
    rate: int
    windows: int
    rows: int
    recall: float
    extra: int
    p50: float
    p99: float
    worst: float
    lateness: float
    batches: int
    terms: float | None
    stages: dict[str, float]
    load: float


def measured(folder: Path, runner: str, rate: int, asked: argparse.Namespace) -> Figure:
    """Run a stream live, and compute its windows afterwards."""
    name = f"{runner}-{rate}"
    source, out = folder / f"{name}.tnq", folder / f"{name}.ndjson"
    source.touch()
    heard = Heard()
    if runner == ENGINE:
        found = pushed(source, rate, heard, asked)
    else:
        ran(source, out, RunnerKind(runner), rate, heard, asked)
        found = emitted(out)
    wanted, last = expected(source, asked.slide)
    found = Rows({row: count for row, count in found.items() if row[0] < last})
    first = min(heard.delays, default=0)
    timed = [at for at in heard.delays if first + WARM_UP <= at < last]
    delays = [heard.delays[at] for at in timed]
    terms = [heard.terms[at] for at in timed if at in heard.terms]
    return Figure(
        runner,
        rate,
        len(delays),
        wanted.total(),
        (wanted & found).total() / wanted.total(),
        (found - wanted).total(),
        median(delays),
        quantiles(delays, n=100, method="inclusive")[98],
        max(delays),
        json.loads(lateness_path(source).read_text()),
        heard.batches,
        median(terms) if terms else None,
        {stage: median(each) for stage, each in heard.stages.items()},
        os.getloadavg()[0],
    )


def pushed(source: Path, rate: int, heard: Heard, asked: argparse.Namespace) -> Rows:
    """Push what is added to a file to an engine; the rows that came."""
    rows = Rows()
    engine = Engine(live=True)
    stream = engine.stream(STREAM)
    query = engine.register(continuous(WIDTH, asked.slide))

    def take(evaluation: Evaluation) -> None:
        at = evaluation.at // 1000
        heard.delays[at] = time.time() * 1000 - at
        place = evaluation.variables.index("obs")
        terms = [row[place] for row in evaluation.rows]  # they are made when they are looked at
        heard.terms[at] = time.time() * 1000 - at
        rows.update((at, str(term)[1:-1]) for term in terms)

    query.on_result(take)
    with (
        running(write_live, source, rate // PER_OBSERVATION, asked.seconds) as writer,
        source.open("rb") as file,
    ):
        held, more = b"", True
        while more:
            more = writer.is_alive()  # before the last look
            whole, end, held = (held + file.read()).rpartition(b"\n")
            if whole:
                stream.feed_timed(whole + end)
                engine.step()
                heard.batches += 1
            time.sleep(asked.inline_interval)
    return rows


def ran(
    source: Path,
    out: Path,
    runner: RunnerKind,
    rate: int,
    heard: Heard,
    asked: argparse.Namespace,
) -> None:
    """Run a job over a file that is added to."""
    job = Job(
        [parse(continuous(WIDTH, asked.slide))],
        {STREAM: [str(source)]},
        outs=[str(out)],
        once=False,
        runner=runner,
        interval=asked.interval[runner],
    )
    with running(write_live, source, rate // PER_OBSERVATION, asked.seconds) as writer:

        def stop() -> None:
            writer.join()
            given_up = time.monotonic() + PATIENCE
            last_close = (_time_of_last(source) - 1) // asked.slide * asked.slide
            while last_close not in heard.delays and time.monotonic() < given_up:
                time.sleep(0.1)
            os.kill(os.getpid(), signal.SIGINT)  # as a user would

        threading.Thread(target=stop, daemon=True).start()
        run_job(job, Voice(print, print, heard.tell))


def expected(source: Path, slide: int) -> tuple[Rows, int]:
    """The rows of all windows that the stream has closed, and the time of its last element.

    Nothing of the engine is used: an observation is on seven lines, and the times of windows
    (close - width, close] are multiples of the slide.
    """
    rows = Rows()
    time_of_last = 0
    seen = ""
    with source.open(encoding="utf-8") as file:
        for line in file:
            time_text, subject, predicate, *rest = line.split()
            if predicate.endswith("#procedure>"):
                seen = subject[1:-1]
            elif predicate.endswith("#floatValue>"):
                time_of_last = int(time_text)
                if float(rest[0].split('"')[1]) > LIMIT:
                    close = -(-time_of_last // slide) * slide
                    rows.update((at, seen) for at in range(close, time_of_last + WIDTH, slide))
    return Rows({row: n for row, n in rows.items() if row[0] < time_of_last}), time_of_last


def _time_of_last(source: Path) -> int:
    with source.open("rb") as file:
        file.seek(-1000, os.SEEK_END)
        return int(file.read().splitlines()[-1].partition(b"\t")[0])


def emitted(out: Path) -> Rows:
    """The rows that came."""
    lines = map(json.loads, out.read_text(encoding="utf-8").splitlines())
    return Rows((line["at"], line["row"]["obs"]["value"]) for line in lines if line["row"])


def warmed_up(folder: Path) -> None:
    """Let Spark answer once before the clock runs."""
    source = folder / "warm-up.tnq"
    write_live(source, 100, 1)
    streams = {STREAM: [str(source)]}
    job = Job([parse(continuous(WIDTH, INTERVAL))], streams, outs=[str(folder / "warm-up.ndjson")])
    run_job(job, Voice(print, print))


def closes(folder: Path, asked: argparse.Namespace) -> Iterator[Figure]:
    """From the close of a window to its rows."""
    print(
        f"{'runner':7} {'triples/s':>9} {'windows':>7} {'rows':>9} {'recall':>6} {'extra':>5}"
        f" {'p50':>8} {'p99':>8} {'worst':>8} {'writer late':>11} {'batches':>7} {'load':>5}"
    )
    for runner in asked.runners:
        for rate in asked.rates:
            each = measured(folder, runner, rate, asked)
            yield each
            print(
                f"{each.runner:7} {each.rate:9,} {each.windows:7} {each.rows:9,}"
                f" {each.recall:6.4f} {each.extra:5} {each.p50:5.0f} ms {each.p99:5.0f} ms"
                f" {each.worst:5.0f} ms {each.lateness:8.0f} ms {each.batches:7}"
                f" {each.load:5.1f}"
            )
            if each.terms is not None:
                print(f"        all terms are objects of Python at {each.terms:.0f} ms (p50)")
            stages = ", ".join(f"{name} {taken:.0f}" for name, taken in each.stages.items())
            if stages:
                print(f"        a batch with rows, in ms: {stages}", flush=True)


def releases(folder: Path, asked: argparse.Namespace) -> Iterator[Release]:
    """From the write of an element to its row, where nothing comes after it."""
    print("from the write of an element, the close of a window or the end of a silence to the row")
    print(f"{'runner':7} {'way':8} {'elements':>8} {'found':>5} {'p50':>8} {'worst':>8}  batches")
    for runner in asked.runners:
        for way in WAYS if runner != ENGINE else ():
            each = released(folder, runner, way, asked.elements, asked.interval[runner])
            times = (f"{'none' if t is None else f'{t:.0f} ms':>8}" for t in (each.p50, each.worst))
            print(
                f"{each.runner:7} {each.way:8} {each.asked:8} {each.found:5} {' '.join(times)}"
                f" {each.batches:7}",
                flush=True,
            )
            yield each


def main() -> None:
    """Print the figures, and write them where asked."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--json", type=Path)
    options.add_argument("--seconds", type=int, default=75, help="of stream, for each figure")
    options.add_argument("--slide", type=int, default=INTERVAL, help="milliseconds")
    options.add_argument("--rates", type=int, nargs="+", default=RATES, help="triples a second")
    options.add_argument("--runners", nargs="+", choices=RUNNERS, default=RUNNERS)
    options.add_argument("--spark-interval", type=float, default=0.1, help="from look to look")
    options.add_argument("--inline-interval", type=float, default=0.002, help="from look to look")
    options.add_argument("--only", choices=("close", "release"), help="one of the two parts")
    options.add_argument("--elements", type=int, default=10, help="of each part of `release`")
    asked = options.parse_args()
    least = (WARM_UP + 2 * WIDTH) // 1000 + 1
    if asked.seconds < least:
        options.error(f"--seconds must be at least {least}: the first windows are not timed")
    asked.interval = {
        RunnerKind.SPARK: asked.spark_interval,
        RunnerKind.INLINE: asked.inline_interval,
    }
    figures = list[Figure | Release]()
    with TemporaryDirectory(prefix="headrace-latency-") as folder, ExitStack() as stack:
        if RunnerKind.SPARK.value in asked.runners:
            stack.callback(start(CORES, Path(folder) / "spark.log").stop)
            warmed_up(Path(folder))
        if asked.only != "release":
            figures += closes(Path(folder), asked)
        if asked.only != "close":
            figures += releases(Path(folder), asked)
    if asked.json:
        asked.json.write_text(json.dumps([asdict(each) for each in figures], indent=2) + "\n")


if __name__ == "__main__":
    main()
