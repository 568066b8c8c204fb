"""Scenarios as deployments: their streams as files, their queries together in one pipeline."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from headrace.algebra.query import Form
from headrace.deploying import setup_of, version_of
from headrace.dialects import parse
from headrace.engine import Engine
from headrace.errors import DataError
from headrace.inline import LateElement, RejectedElement
from headrace.kernel.evaluations import evaluations
from headrace.kernel.reports import Report
from headrace.pipeline.batches import Batches
from headrace.pipeline.deployment import Deployment, open_deployment
from headrace.pipeline.manifest import Manifest
from headrace.pipeline.results import Told
from headrace.pipeline.streams import Sources, declared
from headrace.rdf.elements import Element
from headrace.rdf.formats import Format
from headrace.rdf.reading import read
from headrace.rdf.terms import Iri
from headrace.results.evaluations import Evaluation
from headrace.scenarios import Scenario, read_scenario
from headrace.sinks.base import Mark
from headrace.testing import Played, in_elements
from tests.shared import ROOT

Run = Callable[[Batches, Sources], Manifest]
"""Runs a pipeline to the end of its sources."""


@cache
def every_scenario() -> tuple[Scenario, ...]:
    """Those whose queries are run, and whose streams can be written as timed N-Quads."""
    paths = sorted((ROOT / "tests" / "scenarios").glob("*.scenario"))
    every = [read_scenario(path.read_text("utf-8"), path.stem, path.parent) for path in paths]
    return tuple(each for each in every if not each.refused and _can_be_files(each))


def _can_be_files(scenario: Scenario) -> bool:
    try:
        scenario.timed()
    except DataError:
        return False
    return True


def in_groups() -> list[list[Scenario]]:
    """Scenarios that can share a deployment: they have the same static data, and all end or not."""
    groups: dict[object, list[Scenario]] = {}
    for each in every_scenario():
        alone = each.name if _must_be_alone(each) else None
        given = (each.live, repr(each.static), repr(each.schemas), alone)
        groups.setdefault(given, []).append(each)
    return list(groups.values())


def _must_be_alone(scenario: Scenario) -> bool:
    """Whether other streams would be seen, or the names of its own are used for other things."""
    texts = "".join((*scenario.timed().values(), *scenario.static.values()))
    named = [*scenario.streams, *(f"{query.name}#" for query in scenario.queries)]
    if any(f"<{name}" in texts or name in scenario.prefixes.values() for name in named):
        return True
    queries = [
        parse(each.text, each.dialect, settings=dict(scenario.settings)).query
        for each in scenario.queries
    ]
    return any(not isinstance(window.stream, Iri) for each in queries for window in each.windows)


@dataclass
class ListSink:
    """A list that keeps the promises of a sink: what comes after a mark can be taken back."""

    found: list[Evaluation]
    forms: Mapping[str, Form]

    def mark(self) -> Mark:
        return len(self.found)

    def recover(self, mark: Mark) -> None:
        del self.found[int(mark or 0) :]

    def write(self, label: str, reports: Sequence[Report]) -> None:
        assert label
        for report in reports:
            self.found += evaluations(report, self.forms[report.query])

    def close(self) -> None:
        pass


@dataclass
class ListOutlet:
    """The same for what is late or rejected."""

    found: list[Told]
    name: str = "told"

    def mark(self) -> Mark:
        return len(self.found)

    def recover(self, mark: Mark) -> None:
        del self.found[int(mark or 0) :]

    def write(self, label: str, told: Told) -> None:
        assert label
        self.found.append(told)


@dataclass
class Deployed:
    """Scenarios in one directory.

    Attributes:
        scenarios: what is run.
        directory: the deployment.
        lines: how many lines of a stream are in each of its files; all of them in one if zero.
        partitions: in how many parts queries are evaluated.
    """

    scenarios: Sequence[Scenario]
    directory: Path
    lines: int = 0
    partitions: int = 1
    found: list[Evaluation] = field(default_factory=list)
    told: list[Told] = field(default_factory=list)

    def played(self, run: Run) -> dict[str, Played]:
        """What comes of each scenario."""
        sources = self._sources()
        with open_deployment(self.directory / "deployment") as deployment:
            last = run(self.batches(deployment, sources), sources)
        return {each.name: self._of(each, last) for each in self.scenarios}

    def batches(self, deployment: Deployment, sources: Sources) -> Batches:
        """The pipeline."""
        engine = self._engine(deployment)
        plans, around = engine.plans(), engine.around()
        forms = {plan.name: plan.query.form for plan in plans}
        setup = setup_of(
            deployment,
            plans,
            {iri: [declared(each) for each in given] for iri, given in sources.streams.items()},
            lambda: (version_of(around.static), around),
            sinks={"list": ListSink(self.found, forms)},
            outlets=[ListOutlet(self.told)],
            live=self.scenarios[0].live,
            partitions=self.partitions,
            tables=around.tables,
        )
        return Batches(deployment, setup)

    def _name(self, scenario: Scenario, name: str) -> str:
        """What tells the names of a scenario from those of another."""
        return name if len(self.scenarios) == 1 else f"{scenario.name}/{name}"

    def _names(self, scenario: Scenario) -> dict[str, str]:
        """The streams of a scenario, also those that its queries make, as they are called here."""
        own = [*scenario.streams, *(query.name for query in scenario.queries)]
        return {name: self._name(scenario, name) for name in own}

    def _sources(self) -> Sources:
        streams: dict[str, list[str]] = {}
        for scenario in self.scenarios:
            for iri, text in scenario.timed().items():
                folder = self.directory / f"stream-{len(streams)}"
                folder.mkdir(parents=True)
                for number, part in enumerate(_parts(text, self.lines)):
                    (folder / f"{number:04}.tnq").write_text(part, encoding="utf-8")
                streams[self._name(scenario, iri)] = [str(folder)]
        return Sources(streams)

    def _engine(self, deployment: Deployment) -> Engine:
        first = self.scenarios[0]
        engine = Engine(live=first.live, clock=None, seed=deployment.seed)
        for schema, text in first.schemas.items():
            engine.static.schemas.add(schema, read(text, Format.TURTLE))
        for graph, text in first.static.items():
            name = None if graph is None else Iri(graph)
            engine.static.add(replace(quad, graph=name) for quad in read(text, Format.TURTLE))
        for scenario in self.scenarios:
            for iri in scenario.streams:
                engine.stream(self._name(scenario, iri))
            names = self._names(scenario)
            for query in scenario.queries:
                parsed = parse(query.text, query.dialect, settings=dict(scenario.settings))
                own = replace(parsed, query=renamed(parsed.query, names))
                engine.register_parsed(own, self._name(scenario, query.name), scenario.settings)
        return engine

    def _of(self, scenario: Scenario, last: Manifest) -> Played:
        names = {new: old for old, new in self._names(scenario).items()}
        return Played(
            [renamed(each, names) for each in self.found if each.query in names],
            [
                LateElement(names[stream], element_of(time, [quad]))
                for told in self.told
                for stream, time, quad in told.late.iter_rows()
                if stream in names
            ],
            [
                RejectedElement(names[stream], time and element_of(time, quads), reason)
                for told in self.told
                for stream, reason, time, quads, _ in told.rejected.iter_rows()
                if stream in names
            ],
            {names[iri]: state.counters for iri, state in last.streams.items() if iri in names},
            {
                names[name]: state.failure
                for name, state in last.queries.items()
                if name in names and state.failure
            },
        )


def renamed(value: Any, names: Mapping[str, str]) -> Any:
    """A value in which streams, and queries that are streams, are called otherwise."""
    if isinstance(value, str):
        return names.get(value, value)
    if isinstance(value, tuple):
        return tuple(renamed(part, names) for part in value)
    if isinstance(value, dict):
        return {renamed(key, names): renamed(part, names) for key, part in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        parts = {each.name: getattr(value, each.name) for each in fields(value) if each.init}
        return replace(value, **{name: renamed(part, names) for name, part in parts.items()})
    return value


def _parts(text: str, lines: int) -> Iterator[str]:
    held: list[str] = []
    for element in in_elements(text):
        held += element
        if lines and len(held) >= lines:
            yield "".join(held)
            held = []
    if held:
        yield "".join(held)


def element_of(time: int, texts: Sequence[str]) -> Element:
    """An element out of what an outlet says of it."""
    return Element(time, tuple(quad for text in texts for quad in read(text, Format.N_QUADS)))
