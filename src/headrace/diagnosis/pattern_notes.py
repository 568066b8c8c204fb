"""Notes about patterns that cannot match: the missing statement, and where it is instead."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, assert_never

from headrace.algebra.expressions import Variable
from headrace.algebra.query import Ask, Construct, Select
from headrace.diagnosis.demands import AllOf, AnyOf, Demand, Needs, Statement, required_statements
from headrace.diagnosis.facts import Facts, StreamFacts
from headrace.diagnosis.name_suggestions import iri, shown_names, similar_name
from headrace.diagnosis.note import Code, Note, Severity
from headrace.diagnosis.probes import Probe
from headrace.errors import listing
from headrace.planning.plan import Plan
from headrace.rdf.terms import Iri, canonical
from headrace.rdf.vocabulary import RDF_TYPE

_MOST_SEARCHED: Final = 100
"""In so many static graphs a statement is looked for that a query does not see."""


@dataclass(frozen=True)
class PatternDiagnosis:
    """The diagnosis of the patterns of a query.

    Attributes:
        facts: what is known about the run.
        needs: the query, and what it needs.
        makers: the queries that make streams, by the IRIs of these.
        idle: the streams of such queries that have given nothing.
    """

    facts: Facts
    needs: Needs
    makers: Mapping[str, Plan]
    idle: frozenset[str] = frozenset()

    @property
    def plan(self) -> Plan:
        """The query."""
        return self.needs.plan

    @cached_property
    def missing(self) -> Statement | None:
        """The first statement that the query needs and that cannot be found; None if unknown."""
        return self._missing(self.needs.demand)

    def _missing(self, demand: Demand) -> Statement | None:
        match demand:
            case Statement():
                return None if self._may_match(demand) else demand
            case AllOf(parts):
                return next((each for each in map(self._missing, parts) if each is not None), None)
            case AnyOf(parts):
                found = [self._missing(part) for part in parts]
                return None if not found or None in found else found[0]
            case _:
                assert_never(demand)

    def _may_match(self, statement: Statement) -> bool:
        if self._static(statement.probe, statement):
            return True
        return any(self._count(name, statement.probe) != 0 for name in self.streams(statement))

    @cached_property
    def required_streams(self) -> frozenset[str]:
        """The streams without which the patterns cannot match, as far as that is certain."""
        found = [
            self.streams(each)
            for each in required_statements(self.needs.demand)
            if not self._static(each.probe, each)
        ]
        return frozenset(names[0] for names in found if len(names) == 1)

    def streams(self, statement: Statement) -> list[str]:
        """Return the streams in whose windows a statement is searched for."""
        name = statement.scope.window
        return list(
            dict.fromkeys(
                window.stream.value
                for window in self.plan.windows
                if (window.in_default_graph if name is None else self._is(name, window.name))
            )
        )

    @staticmethod
    def _is(name: Variable | Iri, window: Iri) -> bool:
        return isinstance(name, Variable) or name == window

    def _count(self, stream: str, probe: Probe) -> int | None:
        """Count the statements of a stream that matched a probe; None if it was not counted."""
        if stream in self.idle:
            return 0
        if stream in self.makers:
            return 0 if can_make(self.makers[stream], stream, probe) is False else None
        known = self.facts.streams.get(stream)
        return None if known is None else known.tally.count(probe)

    def _came(self, stream: str, probe: Probe) -> bool:
        return bool(self._count(stream, probe))

    def _static(self, probe: Probe, statement: Statement) -> bool:
        """Match a probe against the static data that a statement is searched for in."""
        if statement.scope.window is not None:
            return False
        dataset = self.plan.query.dataset
        given = bool(dataset.default or dataset.named)
        graphs: Sequence[Iri | None] | None
        if not probe.named:
            graphs = dataset.default if given else (None,)
        elif probe.graph is not None:
            visible = not given or probe.graph in dataset.named
            graphs = (probe.graph,) if visible else ()
        else:
            graphs = dataset.named if given else None
        return self.facts.static.has(probe, graphs)

    # -- why it is missing -----------------------------------------------------------------

    def note(self, statement: Statement) -> Note | None:
        """Make the note on a missing statement; None if a silent stream is the cause."""
        streams = self.streams(statement)
        alive = [name for name in streams if self._has_statements(name)]
        if len(alive) < len(streams):
            return None
        reasons = (
            self._unknown_term,
            self._wrong_graph,
            self._wrong_place,
            self._elsewhere,
            self._unknown,
        )
        for reason in reasons:
            note = reason(statement, alive)
            if note is not None:
                return note
        return None

    def _has_statements(self, stream: str) -> bool:
        if stream in self.makers:
            return stream not in self.idle
        return self._came(stream, Probe()) or self._came(stream, Probe(named=True))

    def _unknown_term(self, statement: Statement, streams: Sequence[str]) -> Note | None:
        """Make the note on a predicate that came without the subject or object."""
        probe = statement.probe
        if probe == probe.by_predicate:
            return None
        found = any(self._came(name, probe.by_predicate) for name in streams)
        if not found and not self._static(probe.by_predicate, statement):
            return None
        where = self._where(statement, streams)
        if probe.predicate == Iri(RDF_TYPE) and probe.object is not None and probe.subject is None:
            thing = f"things of class {canonical(probe.object)}"
            subject = canonical(probe.object)
            what = f"looks for {thing}, and nothing in {where} is of that class"
        else:
            terms = {"subject": probe.subject, "object": probe.object}
            named = [f"the {role} {canonical(term)}" for role, term in terms.items() if term]
            subject = canonical(probe.object or probe.subject or Iri(""))
            what = (
                f"looks for {self._shown(probe)} with {listing(named, 'and')}, and no statement"
                f" with that predicate in {where} has it"
            )
        return self._made(
            Code.UNKNOWN_TERM,
            f"{what}: compare the spelling with the data, or put a variable there",
            subject,
            streams,
        )

    def _wrong_graph(self, statement: Statement, streams: Sequence[str]) -> Note | None:
        """Make the note on statements that came in another graph of the stream."""
        probe = statement.probe
        default = Probe(predicate=probe.predicate)
        named = Probe(named=True, predicate=probe.predicate)
        shown = self._shown(probe)
        in_default = [name for name in streams if self._came(name, default)]
        in_named = [name for name in streams if self._came(name, named)]
        if not probe.named and in_named:
            graphs = self._graphs(in_named)
            return self._made(
                Code.NAMED_GRAPHS_ONLY,
                f"looks for {shown} outside of GRAPH, and on {_streams(in_named)} it stands in"
                f" named graphs only, such as {graphs[0]}: put GRAPH ?g {{ ... }} around the"
                " pattern",
                shown,
                in_named,
            )
        if probe.named and in_default and not in_named:
            return self._made(
                Code.DEFAULT_GRAPH_ONLY,
                f"looks for {shown} in {self._graph(statement)}, and on {_streams(in_default)} it"
                " stands in no named graph: leave GRAPH out",
                shown,
                in_default,
            )
        if probe.graph is not None and in_named:
            return self._unknown_graph(statement, probe.graph, in_named)
        return None

    def _unknown_graph(self, statement: Statement, graph: Iri, streams: Sequence[str]) -> Note:
        wanted, graphs = canonical(graph), self._graphs(streams)
        shown = self._shown(statement.probe)
        if any(self._came(name, Probe(named=True, graph=graph)) for name in streams):
            what = f"looks for {shown} in GRAPH {wanted}, and on {_streams(streams)} that graph"
            text = f"{what} never has it: look into GRAPH ?g, or ask for what the graph has"
            return self._made(Code.UNKNOWN_GRAPH, text, wanted, streams)
        near = similar_name(wanted, graphs)
        hint = f"did you mean {near}?" if near else f"graphs that came are {shown_names(graphs)}"
        return self._made(
            Code.UNKNOWN_GRAPH,
            f"looks into GRAPH {wanted}, which never came on {_streams(streams)}: {hint}",
            wanted,
            streams,
        )

    def _wrong_place(self, statement: Statement, streams: Sequence[str]) -> Note | None:
        """Make the note on statements that are static instead of streamed, or the reverse."""
        probe, scope = statement.probe, statement.scope
        shown, plain = self._shown(probe), Probe(predicate=probe.predicate)
        everywhere = (plain, Probe(named=True, predicate=probe.predicate))
        own = self.streams(statement) or list(streams)
        others = [
            window.stream.value for window in self.plan.windows if window.stream.value not in own
        ]
        came = [
            name for name in dict.fromkeys(others) if any(self._came(name, p) for p in everywhere)
        ]
        if scope.window is None and came and not own:
            return self._made(
                Code.OUTSIDE_WINDOW,
                f"looks for {shown} outside of its windows, where static data are, and it came on"
                f" {_streams(came)}: put the pattern into the window of that stream",
                shown,
                came,
            )
        if came:
            return self._made(
                Code.OTHER_STREAM,
                f"looks for {shown} on {_streams(own)}, and it came on {_streams(came)}: put the"
                " pattern into the window of that stream",
                shown,
                came,
            )
        return self._in_other_static_data(statement, everywhere, own)

    def _in_other_static_data(
        self, statement: Statement, everywhere: Sequence[Probe], own: Sequence[str]
    ) -> Note | None:
        """Make the note on static statements that the pattern does not see."""
        shown, dataset = self._shown(statement.probe), self.plan.query.dataset
        in_default = self.facts.static.has(everywhere[0], (None,))
        in_named = self.facts.static.has(everywhere[1], None)
        if not in_default and not in_named:
            return None
        if statement.scope.window is not None:
            return self._made(
                Code.ONLY_STATIC,
                f"looks for {shown} in the window of {_streams(own)}, and it stands in static data"
                " only: write the pattern outside of the window",
                shown,
                own,
            )
        if not statement.probe.named and not dataset.default and dataset.named:
            return self._made(
                Code.EMPTY_DEFAULT_GRAPH,
                f"looks for {shown} in the default graph, which is empty because the query has"
                f" FROM NAMED {canonical(dataset.named[0])} and no FROM: add FROM, or put"
                " GRAPH ?g { ... } around the pattern",
                shown,
                (),
            )
        if dataset.default or dataset.named:
            return self._outside_dataset(statement, everywhere)
        if not statement.probe.named and in_named:
            return self._made(
                Code.NAMED_GRAPHS_ONLY,
                f"looks for {shown} outside of GRAPH, and in static data it stands in named graphs"
                " only: put GRAPH ?g { ... } around the pattern",
                shown,
                (),
            )
        if statement.probe.named and in_default and not in_named:
            return self._made(
                Code.DEFAULT_GRAPH_ONLY,
                f"looks for {shown} in {self._graph(statement)}, and static data have it in the"
                " default graph only: leave GRAPH out",
                shown,
                (),
            )
        if statement.probe.graph is not None and in_named:
            return self._unknown_static_graph(shown, statement.probe.graph)
        return None

    def _outside_dataset(self, statement: Statement, everywhere: Sequence[Probe]) -> Note | None:
        """The statements are in a static graph that FROM and FROM NAMED leave out."""
        probe, static = statement.probe, self.facts.static
        shown = self._shown(probe)
        place = self._graph(statement) if probe.named else "the graphs of FROM"
        holders = [
            graph
            for graph in sorted(static.graphs)[:_MOST_SEARCHED]
            if static.has(everywhere[1], (Iri(graph),))
        ]
        if holders:
            clause = "FROM NAMED" if probe.named else "FROM"
            holder = iri(holders[0])
            what = (
                f"it stands in the static graph {holder}: ask in that one, with {clause} {holder}"
            )
        elif static.has(everywhere[0], (None,)):
            what = "static data have it in the default graph, which FROM and FROM NAMED leave out"
            what = f"{what}: load it as a named graph (--static IRI=FILE), or drop these clauses"
        else:
            return None
        return self._made(
            Code.OUTSIDE_DATASET, f"looks for {shown} in {place}, and {what}", shown, ()
        )

    def _unknown_static_graph(self, shown: str, graph: Iri) -> Note:
        """The statements are in static graphs, and not in the one that is named."""
        wanted, known = canonical(graph), sorted(map(iri, self.facts.static.graphs))
        if wanted in known:
            text = (
                f"looks for {shown} in GRAPH {wanted}, and that static graph never has it: look"
                " into GRAPH ?g, or ask for what the graph has"
            )
        else:
            near = similar_name(wanted, known)
            hint = f"did you mean {near}?" if near else f"static graphs are {shown_names(known)}"
            text = f"looks into GRAPH {wanted}, and no static graph has that name: {hint}"
        return self._made(Code.UNKNOWN_GRAPH, text, wanted, ())

    def _elsewhere(self, statement: Statement, streams: Sequence[str]) -> Note | None:
        """The predicate came on a stream that the query does not read."""
        predicate, read = statement.probe.predicate, {each.value for each in self.plan.streams}
        if predicate is None:
            return None
        wanted = canonical(predicate)
        others = [name for name in self.facts.streams if name not in read]
        came = [each.iri for each in self._known(others) if wanted in each.tally.predicates]
        if not came:
            return None
        where, there = self._where(statement, streams), iri(came[0])
        return self._made(
            Code.OTHER_STREAM,
            f"looks for {wanted} in {where}, and it came on {there}, which the query does not"
            f" read: declare a window on {there}, and put the pattern into it",
            wanted,
            came[:1],
        )

    def _unknown(self, statement: Statement, streams: Sequence[str]) -> Note:
        """Make the note on statements that came nowhere."""
        probe = statement.probe
        where = self._where(statement, streams)
        if probe.predicate is None:
            constants = [canonical(term) for term in (probe.subject, probe.object) if term]
            if not constants:
                graph = self._graph(statement)
                return self._made(
                    Code.UNKNOWN_GRAPH,
                    f"looks into {graph}, and no statement in {where} stands there: leave GRAPH"
                    " out, or compare the name with the data",
                    graph,
                    streams,
                )
            return self._made(
                Code.UNKNOWN_TERM,
                f"looks for statements with {listing(constants, 'and')}, and there are none in"
                f" {where}: compare the spelling with the data",
                constants[-1],
                streams,
            )
        wanted = canonical(probe.predicate)
        static = self.facts.static.predicates if statement.scope.window is None else ()
        came = sorted({*self._predicates(streams), *static})
        near = similar_name(wanted, came)
        if near is not None:
            hint = f"did you mean {near}?"
        elif came:
            hint = f"predicates that came are {shown_names(came)}"
        elif not streams and not self._sees_static:
            hint = "none are loaded, so load some (--static FILE), or put the pattern into a window"
        else:
            hint = "compare the spelling with the data"
        text = f"looks for {wanted}, which is the predicate of no statement in {where}: {hint}"
        return self._made(Code.UNKNOWN_PREDICATE, text, wanted, streams)

    # -- words -----------------------------------------------------------------------------

    def _made(self, code: Code, text: str, subject: str, streams: Sequence[str]) -> Note:
        stream = streams[0] if len(streams) == 1 else None
        name = self.plan.name
        return Note(code, Severity.WARNING, f"'{name}' {text}", name, stream, subject)

    def _where(self, statement: Statement, streams: Sequence[str]) -> str:
        static = statement.scope.window is None and self._sees_static
        parts = [_streams(streams)] if streams else []
        return listing([*parts, *(["static data"] if static or not parts else [])], "and")

    @property
    def _sees_static(self) -> bool:
        return self.facts.static.has(Probe(), (None,)) or bool(self.facts.static.graphs)

    @staticmethod
    def _shown(probe: Probe) -> str:
        return "statements" if probe.predicate is None else canonical(probe.predicate)

    @staticmethod
    def _graph(statement: Statement) -> str:
        graph = statement.scope.graph
        name = canonical(graph) if isinstance(graph, Iri) else f"?{getattr(graph, 'name', 'g')}"
        return f"GRAPH {name}"

    def _graphs(self, streams: Sequence[str]) -> list[str]:
        return sorted({name for each in self._known(streams) for name in each.tally.graphs})

    def _predicates(self, streams: Sequence[str]) -> list[str]:
        made = {
            iri(name)
            for stream in streams
            if stream in self.makers
            for name in made_predicates(self.makers[stream], stream) or ()
        }
        came = {name for each in self._known(streams) for name in each.tally.predicates}
        return sorted(made | came)

    def _known(self, streams: Sequence[str]) -> Iterator[StreamFacts]:
        return (self.facts.streams[name] for name in streams if name in self.facts.streams)


def _streams(names: Sequence[str]) -> str:
    return listing(map(iri, names), "and")


def can_make(maker: Plan, stream: str, probe: Probe) -> bool | None:
    """Test whether a query can put a statement into its stream; None if unknown."""
    form = maker.query.form
    predicates = made_predicates(maker, stream)
    if predicates is None:
        return None
    graphs = form.template if isinstance(form, Construct) else ()
    named = any(each.graph is not None for each in graphs)
    plain = not isinstance(form, Construct) or any(each.graph is None for each in graphs)
    if not (named if probe.named else plain):
        return False
    known = not isinstance(probe.predicate, Iri) or probe.predicate.value in predicates
    return None if known else False


def made_predicates(maker: Plan, stream: str) -> frozenset[str] | None:
    """Collect the predicates that a query can put into its stream; None if unknown."""
    if maker.schema or maker.semantics.assert_quoted:  # others may follow from what it makes
        return None
    match maker.query.form:
        case Select(variables):
            return frozenset(f"{stream}#{each.name}" for each in variables)
        case Construct(template):
            names = [each.predicate for each in template]
            known = [each.value for each in names if isinstance(each, Iri)]
            return frozenset(known) if len(known) == len(names) else None
        case Ask():
            return frozenset()
        case _:
            return None
