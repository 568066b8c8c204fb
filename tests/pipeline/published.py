"""The published benchmarks as jobs: their streams as files, their results as NDJSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from headrace.algebra.query import Registration
from headrace.dialects import Parsed, parse
from headrace.engine import Engine
from headrace.launching import RunnerKind
from headrace.rdf.formats import Format
from headrace.rdf.reading import read
from headrace.results.ndjson import ndjson_lines
from headrace.running import Job, Voice, run_job
from tests.field import csrbench, yabench


@dataclass(frozen=True)
class Benchmark:
    """Queries over one stream of elements, each a time in milliseconds and what it says.

    Attributes:
        stream: its IRI.
        queries: by name, in C-SPARQL.
        elements: times, texts and their media types.
        settings: as of `--set`.
    """

    stream: str
    queries: Mapping[str, str]
    elements: Sequence[tuple[int, str, str]]
    settings: Mapping[str, str]

    def pushed(self) -> list[str]:
        """What the engine in this process makes of the elements, pushed one after the other."""
        engine = Engine(settings=self.settings)
        stream = engine.stream(self.stream)
        for name, text in self.queries.items():
            engine.register(text, name=name)
        for time, text, kind in self.elements:
            stream.push(text, at=time, syntax=kind)
        engine.finish()
        return [
            line
            for query in engine.queries.values()
            for each in query.results()
            for line in ndjson_lines(each)
        ]

    def written(self, folder: Path, files: int) -> Path:
        """The elements as so many files of envelopes, or of timed N-Quads if they are lines."""
        folder.mkdir(parents=True)
        size = -(-len(self.elements) // files)
        for number in range(files):
            part = self.elements[number * size : (number + 1) * size]
            if all(kind == "application/n-quads" for _, _, kind in part):
                lines = [f"{time}\t{text.strip()}\n" for time, text, _ in part]
                path = folder / f"{number:04}.tnq"
            else:
                records = [{"time": time, "data": text, "type": kind} for time, text, kind in part]
                lines = [json.dumps(each) + "\n" for each in records]
                path = folder / f"{number:04}.ndjson"
            path.write_text("".join(lines), "utf-8")
        return folder

    def run(
        self,
        source: Path,
        out: Path,
        *,
        runner: RunnerKind = RunnerKind.INLINE,
        pieces: int = 0,
        partitions: int = 1,
    ) -> list[str]:
        """The lines that a run writes."""
        job = Job(
            [
                _named(parse(text, settings=dict(self.settings)), name)
                for name, text in self.queries.items()
            ],
            {self.stream: [str(source)]},
            settings=self.settings,
            outs=[str(out)],
            runner=runner,
            pieces=pieces,
            partitions=partitions,
        )
        outcome = run_job(job, Voice(lambda _: None, lambda _: None))
        assert not outcome.stopped
        assert outcome.counters[self.stream].elements == len(self.elements)
        return out.read_text("utf-8").splitlines()


def _named(parsed: Parsed, name: str) -> Parsed:
    return replace(parsed, query=replace(parsed.query, registration=Registration(name)))


def in_order(lines: Sequence[str]) -> list[str]:
    """Lines by query and then as they were written: runs take their queries in turns."""
    return sorted(lines, key=lambda line: json.loads(line)["query"])


def sensors(emit: str = "rstream") -> Benchmark:
    """CSRBench: a graph of Turtle every second, seven queries."""
    elements = [
        (1000 * second, text, "text/turtle") for second, text in enumerate(csrbench.texts())
    ]
    assert all(list(read(text, Format.TURTLE)) for _, text, _ in elements)
    queries = {name: task.csparql for name, task in csrbench.tasks().items()}
    return Benchmark(csrbench.STREAM, queries, elements, {"bounds": "[)", "emit": emit})


def stations(experiment: str, bounds: str = "(]") -> Benchmark:
    """YABench: a triple a line, the queries of its experiment."""
    from tests.field.test_yabench import TESTS
    from tests.field.yabench import query

    elements = []
    for line in yabench.timed(experiment).splitlines():
        time, _, statement = line.partition("\t")
        elements.append((int(time), statement, "application/n-quads"))
    test = TESTS[experiment[:2]]
    queries = {f"every{slide}": query(test, 5000, slide) for slide in (5000, 1000)}
    settings = {"bounds": bounds, "emit": "rstream"}
    return Benchmark(yabench.STREAM, queries, elements, settings)
