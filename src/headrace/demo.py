"""The main job on generated data: cars at the tollgates of a city, counted on local Spark."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from headrace.pipeline.manifest import Manifest
    from headrace.rdf.terms import Term
    from headrace.results.evaluations import Evaluation
    from headrace.spark.session import SparkSession

# Importing this module must stay cheap: the command line does it to show its help.
# ruff: noqa: PLC0415

QUERY: Final = """\
PREFIX t: <http://linkedurbandata.org/traffic#>

SELECT DISTINCT ?tollgate ?passages
FROM STREAM <http://streams.org/citytollgates.trdf> [RANGE 10m STEP 1m]
WHERE { ?tollgate t:registers ?car . }
AGGREGATE { (?passages, COUNT, {?tollgate}) }
"""

STREAM: Final = "http://streams.org/citytollgates.trdf"
TRAFFIC: Final = "http://linkedurbandata.org/traffic#"
GATES: Final = ("east", "north", "ring", "south", "west")
CARS: Final = 400
MINUTES: Final = 12
START: Final = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)
TABLE_WIDTH: Final = 26
"""So many columns of the terminal a window's table takes, with the space beside it."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A car that a tollgate registers; the time is in milliseconds since the epoch."""

    time: int
    gate: str
    car: str

    @property
    def line(self) -> str:
        """The passage as an element of the stream, in timed N-Quads."""
        statement = f"<{TRAFFIC}{self.gate}> <{TRAFFIC}registers> <{TRAFFIC}{self.car}> ."
        return f"{self.time}\t{statement}\n"


@dataclass(frozen=True, slots=True)
class Demo:
    """What was put in and what came out."""

    passages: tuple[Passage, ...]
    answers: tuple[Evaluation, ...]
    manifest: Manifest
    seconds: float


def generate(count: int = 1_200, seed: int = 23) -> tuple[Passage, ...]:
    """The same morning traffic every time: some gates are busier, and some cars come again."""
    chance = random.Random(seed)
    start = int(START.timestamp() * 1000)
    times = sorted(chance.randrange(MINUTES * 60_000) for _ in range(count))
    gates = chance.choices(GATES, weights=range(1, len(GATES) + 1), k=count)
    return tuple(
        Passage(start + time, gate, f"car{chance.randrange(CARS)}")
        for time, gate in zip(times, gates, strict=True)
    )


def write_stream(passages: Sequence[Passage], folder: Path, files: int) -> None:
    """Write passages to a folder as a stream of several files, in order."""
    folder.mkdir()
    size = -(-len(passages) // files)
    for number in range(files):
        part = passages[number * size : (number + 1) * size]
        path = folder / f"passages-{number:03}.tnq"
        path.write_text("".join(passage.line for passage in part), encoding="utf-8")


def main(
    console: Console | None = None,
    spark: SparkSession | None = None,
    count: int = 1_200,
    files: int = 6,
) -> Demo:
    """Generate a stream, run the query on it, and show what each window holds.

    Args:
        console: where to print.
        spark: the session to run in; if not given, one is started and stopped again.
        count: how many passages to generate.
        files: how many files they are written to; each of them is a batch.

    Raises:
        HeadraceError: the demonstration cannot run here; the message says what to do.
    """
    from rich.console import Console
    from rich.syntax import Syntax

    console = console or Console()
    began = perf_counter()
    console.print("[bold]Cars at the tollgates of a city[/], in the last 10 minutes, every minute")
    console.print(Syntax(QUERY, "sparql", background_color="default", padding=(1, 2)))
    passages = generate(count)
    with tempfile.TemporaryDirectory(prefix="headrace-demo-") as name:
        folder = Path(name) / "stream"
        write_stream(passages, folder, files)
        console.print(f"{count:,} passages in {MINUTES} minutes, in {files} files")
        with _session(spark, Path(name) / "spark.log", console) as session:
            answers, manifest = _run(session, folder, Path(name) / "deployment", console)
    demo = Demo(passages, tuple(answers), manifest, perf_counter() - began)
    _conclude(demo, console)
    return demo


def _run(
    spark: SparkSession, folder: Path, directory: Path, console: Console
) -> tuple[list[Evaluation], Manifest]:
    from headrace.deploying import setup_of, version_of
    from headrace.engine import Engine
    from headrace.pipeline.batches import Batches
    from headrace.pipeline.deployment import open_deployment
    from headrace.pipeline.streams import Sources, declared
    from headrace.sinks.memory import MemorySink
    from headrace.spark.run import Pace, Runner

    answers: list[Evaluation] = []
    in_a_row = max(1, console.width // TABLE_WIDTH)
    console.print("running the query ...\n")

    def publish(answer: Evaluation) -> None:
        answers.append(answer)
        if len(answers) % in_a_row == 0:
            console.print(_side_by_side(answers[-in_a_row:]))

    with open_deployment(directory) as deployment:
        engine = Engine(seed=deployment.seed)
        engine.stream(STREAM)
        query = engine.register(QUERY, name="tollgates")
        around = engine.around()
        sink = MemorySink({query.name: query.parsed.query.form}, publish)
        setup = setup_of(
            deployment,
            engine.plans(),
            {STREAM: [declared(str(folder))]},
            lambda: (version_of(around.static), around),
            sinks={"tables": sink},
        )
        sources = Sources({STREAM: [str(folder)]})
        manifest = Runner(spark, Batches(deployment, setup), sources, Pace(1)).run()
    shown = len(answers) // in_a_row * in_a_row
    if answers[shown:]:
        console.print(_side_by_side(answers[shown:]))
    return answers, manifest


@contextmanager
def _session(spark: SparkSession | None, log: Path, console: Console) -> Iterator[SparkSession]:
    """A session to run in, which is stopped afterwards unless it was there before."""
    if spark is not None:
        yield spark
        return
    from headrace.spark.java import find_java
    from headrace.spark.session import start

    java = find_java()
    console.print(f"starting Spark (Java {java.version}) ...")
    began = perf_counter()
    session = start(log=log)
    console.print(f"Spark {session.version} is up after {perf_counter() - began:.1f} s")
    try:
        yield session
    finally:
        session.stop()


def _conclude(demo: Demo, console: Console) -> None:
    batches, elements = demo.manifest.batch + 1, demo.manifest.streams[STREAM].elements
    console.print(
        f"[bold]{len(demo.answers)} windows[/] over {elements:,} elements in "
        f"{batches} micro-batches, {demo.seconds:.0f} seconds in all",
        highlight=False,
    )
    console.print(
        "A car that passes the same gate twice within a window counts once in it.\n\n"
        "Next:\n"
        "  source .venv/bin/activate           puts headrace on your path\n"
        "  headrace run QUERY --stream IRI=FILE --once\n"
        "                                      your own queries over your own streams\n"
        "  headrace check examples/papers/*    what queries mean, and what is wrong\n"
        "  headrace explain QUERY              how a query will be run\n"
        "  headrace query QUERY --data FILE    plain SPARQL over your own files\n\n"
        "To see streams move, start the console and open http://127.0.0.1:7870 in a browser:\n"
        "  .venv/bin/headrace serve --demo",
        highlight=False,
        markup=False,
    )


def _side_by_side(answers: Sequence[Evaluation]) -> Table:
    from rich.table import Table

    grid = Table.grid(padding=(0, 3))
    grid.add_row(*(_table(answer) for answer in answers))
    return grid


def _table(answer: Evaluation) -> Table:
    from rich.table import Table

    [(opens, closes)] = answer.windows.values()
    assert opens is not None, "a window of time opens"
    assert closes is not None, "and closes"
    table = Table(title=f"({clock(opens)}, {clock(closes)}]", title_style="cyan")
    table.add_column("tollgate")
    table.add_column("passages", justify="right")
    for row in answer.rows:
        table.add_row(*(_short(term) for term in row))
    return table


def _short(term: Term | None) -> str:
    """A term as a person would write it: without the namespace, or just the value."""
    from headrace.rdf.terms import Literal

    if term is None:
        return ""
    if isinstance(term, Literal):
        return term.lexical
    return str(term).strip("<>").replace(TRAFFIC, "t:")


def clock(time: int) -> str:
    """The time of day of an event time.

    >>> clock(int(START.timestamp() * 1_000_000))
    '08:00'
    """
    return f"{datetime.fromtimestamp(time / 1_000_000, tz=UTC):%H:%M}"
