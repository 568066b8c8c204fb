"""Whether memory, files and folders stay as they are while a live run on Spark goes on and on.

Weather stations report at a rate of 20 million triples in 15 minutes, every observation with names
that never come again; time passes faster for them than for us. Asked for are the temperatures above
50 degrees in the last 5 seconds, every 5 seconds. Every other second it is noted what the driver,
the JVM and the Python workers hold in memory and have open, and what the checkpoint holds on disk.

Memory is flat if after a warm-up (the first third) the driver and the workers together grow by less
than 5 % of what they hold, over the rest of the run: the slope is the median of those between all
pairs of samples. The JVM fills its heap before it collects: it must stay below its limit.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field
from itertools import combinations
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from _live import running, write_fast
from _processes import Role, usages
from _yabench import PER_OBSERVATION, STREAM, continuous

from headrace.dialects import parse
from headrace.launching import RunnerKind
from headrace.pipeline.manifest import Manifest
from headrace.pipeline.results import Told
from headrace.running import Job, Voice, run_job
from headrace.spark.session import start

CORES = 2
WIDTH = 5000
STATIONS = 1000
PER_SECOND = 20_000_000 / (15 * 60)
EVERY = 2.0
"""Seconds from sample to sample."""
LEAST_MINUTES = 1
WARM_UP = 1 / 3
GROWTH = 0.05
HEAP = "1g"
JVM_LIMIT_MB = 2048
"""The heap, and about as much for code, threads and buffers."""
MB = 1 << 20


@dataclass(frozen=True, slots=True)
class Sample:
    """What was there at a moment.

    Attributes:
        minute: of the run.
        memory: megabytes in memory, by role.
        files: open files and sockets, by role.
        panes: megabytes in the folder of panes.
        checkpoint: how many files the checkpoint has.
        log: kilobytes of the source log.
        elements: how many elements have been read.
        batch: how many batches there were.
    """

    minute: float
    memory: dict[Role, float]
    files: dict[Role, int]
    panes: float
    checkpoint: int
    log: float
    elements: int
    batch: int


@dataclass
class Watch:
    """Takes samples of a run."""

    directory: Path
    writer: int
    samples: list[Sample] = field(default_factory=list)
    elements: int = 0
    batch: int = 0
    began: float = field(default_factory=time.monotonic)

    def tell(self, manifest: Manifest, _told: Told) -> None:
        """Hear how far the run has come."""
        self.elements = sum(state.elements for state in manifest.streams.values())
        self.batch = manifest.batch + 1

    def sample(self) -> None:
        """Look at processes and folders."""
        memory, files = dict.fromkeys(Role, 0.0), dict.fromkeys(Role, 0)
        for usage in usages(os.getpid(), apart=(self.writer,)):
            memory[usage.role] += usage.memory / MB
            files[usage.role] += usage.files
        sizes = {path: size for path in self.directory.rglob("*") if (size := _size(path))}
        panes = sum(size for path, size in sizes.items() if path.parent.name == "panes")
        self.samples.append(
            Sample(
                (time.monotonic() - self.began) / 60,
                memory,
                files,
                panes / MB,
                len(sizes),
                _size(self.directory / "source.log") / 1024,
                self.elements,
                self.batch,
            )
        )


def _size(path: Path) -> int:
    """The size of a file; none if it is no file, or is gone."""
    with suppress(OSError):
        return path.stat().st_size if path.is_file() else 0
    return 0


def watched(folder: Path, minutes: float) -> list[Sample]:
    """Run a stream and take samples until it has ended."""
    stream, directory = folder / "stream", folder / "checkpoint"
    stream.mkdir()
    job = Job(
        [parse(continuous(WIDTH, WIDTH))],
        {STREAM: [str(stream)]},
        outs=[str(folder / "out.ndjson")],
        checkpoint=directory,
        once=False,
        runner=RunnerKind.SPARK,
    )
    speed = PER_SECOND / PER_OBSERVATION / STATIONS
    arguments = (stream, STATIONS, int(minutes * 60), speed)
    with running(write_fast, *arguments) as writer:
        assert writer.pid is not None, "it has been started"
        watch = Watch(directory, writer.pid)

        def look() -> None:
            while writer.is_alive():
                watch.sample()
                time.sleep(EVERY)
            os.kill(os.getpid(), signal.SIGINT)  # as a user would

        threading.Thread(target=look, daemon=True).start()
        run_job(job, Voice(print, print, watch.tell))
    return watch.samples


def slope(samples: Sequence[Sample], value: Callable[[Sample], float]) -> float:
    """By how much something grows in a minute: the median over all pairs of samples."""
    pairs = combinations([(each.minute, value(each)) for each in samples], 2)
    return median((late - soon) / (end - begin) for (begin, soon), (end, late) in pairs)


def python_memory(sample: Sample) -> float:
    """What the driver and the workers hold, in megabytes."""
    return sample.memory[Role.DRIVER] + sample.memory[Role.WORKERS]


def show(settled: Sequence[Sample]) -> bool:
    """Print the figures of a run that has warmed up; whether memory is flat."""
    last = settled[-1]
    if not last.elements:
        sys.exit(f"nothing was read in {last.minute:.1f} minutes, so nothing was measured")
    minutes = last.minute - settled[0].minute
    print(f"{last.elements:,} elements in {last.minute:.1f} minutes, {last.batch} batches")
    values: dict[str, Callable[[Sample], float]] = {
        "driver, MB": lambda each: each.memory[Role.DRIVER],
        "workers, MB": lambda each: each.memory[Role.WORKERS],
        "JVM, MB": lambda each: each.memory[Role.JVM],
        "open files": lambda each: sum(each.files.values()),
        "panes, MB": lambda each: each.panes,
        "files of checkpoint": lambda each: each.checkpoint,
        "source log, KB": lambda each: each.log,
    }
    print(f"{'after the warm-up':20} {'least':>8} {'median':>8} {'most':>8} {'a minute':>9}")
    for name, value in values.items():
        found = [value(each) for each in settled]
        print(
            f"{name:20} {min(found):8,.1f} {median(found):8,.1f} {max(found):8,.1f}"
            f" {slope(settled, value):+9.2f}"
        )
    grown = slope(settled, python_memory) * minutes / median(map(python_memory, settled))
    most = max(each.memory[Role.JVM] for each in settled)
    print(f"driver and workers have grown by {grown:+.1%} (limit {GROWTH:.0%});", end=" ")
    print(f"the JVM held {most:,.0f} MB at most (limit {JVM_LIMIT_MB:,})")
    return grown < GROWTH and most < JVM_LIMIT_MB


def plot(samples: Sequence[Sample], path: Path) -> None:
    """Draw what was sampled."""
    import matplotlib as mpl  # noqa: PLC0415

    mpl.use("agg")
    from matplotlib import pyplot as plt  # noqa: PLC0415

    minutes = [each.minute for each in samples]
    figure, (memory, disk) = plt.subplots(2, 1, sharex=True, figsize=(9, 7))
    for role in Role:
        memory.plot(minutes, [each.memory[role] for each in samples], label=role.value)
        disk.plot(minutes, [each.files[role] for each in samples], label=f"open, {role.value}")
    memory.set_ylabel("MB in memory")
    disk.plot(minutes, [each.panes for each in samples], label="panes, MB")
    disk.plot(minutes, [each.checkpoint for each in samples], label="files of checkpoint")
    disk.set_xlabel("minutes")
    for axes in (memory, disk):
        axes.legend()
        axes.set_ylim(bottom=0)
    figure.savefig(path, dpi=120)


def main() -> None:
    """Run, print the figures, and write them where asked; exit with 1 if memory is not flat."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--json", type=Path)
    options.add_argument("--plot", type=Path, help="a PNG; needs matplotlib")
    options.add_argument("--minutes", type=float, default=15)
    asked = options.parse_args()
    if asked.minutes < LEAST_MINUTES:
        options.error(f"--minutes must be at least {LEAST_MINUTES}: growth shows in many samples")
    with TemporaryDirectory(prefix="headrace-soak-") as folder, ExitStack() as stack:
        settings = {"spark.driver.memory": HEAP}
        stack.callback(start(CORES, Path(folder) / "spark.log", settings).stop)
        samples = watched(Path(folder), asked.minutes)
    if asked.json:
        asked.json.write_text(json.dumps([asdict(each) for each in samples], indent=2) + "\n")
    if asked.plot:
        plot(samples, asked.plot)
    if not show(samples[int(len(samples) * WARM_UP) :]):
        sys.exit("memory is not flat")


if __name__ == "__main__":
    main()
