"""What `headrace explain` prints."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

from headrace.dialects import Parsed
from headrace.errors import MachineError, SettingError
from headrace.graphs.drawing import GraphForm, GraphKind, drawn
from headrace.graphs.network_drawing import counts_text, network_drawn
from headrace.options import named_file
from headrace.planning.entailing import asked_by
from headrace.planning.explain import Run, as_json, as_text
from headrace.reasoning.network import Network, network_of
from headrace.reasoning.reduction import reduced
from headrace.reasoning.schema import Schema
from headrace.rewrite.optimise import optimised
from headrace.rewrite.sources import KnownPredicates


@dataclass(frozen=True, slots=True)
class Over:
    """What a query is run over to see what it costs, as options have it.

    Attributes:
        streams: `--stream`; if there is none, the query is not run.
        static: `--static`; estimates go by what is there.
        settings: `--set`.
        schemas: `--schema`.
        why: the triple whose cause is looked for instead.
        known: which predicates occur in static data and in streams, if nothing is looked into.
    """

    streams: tuple[str, ...] = ()
    static: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    schemas: tuple[str, ...] = ()
    why: str | None = None
    known: KnownPredicates | None = None

    def predicates(self) -> KnownPredicates | None:
        """Find the predicates that occur in static data and in streams.

        Raises:
            HeadraceError: something cannot be read.
        """
        if not self.streams and not self.static:
            return self.known
        from headrace.observing import known_predicates  # noqa: PLC0415 - it takes time to load

        return known_predicates(self.streams, self.static, under_schema=bool(self.schemas))

    def run(self, parsed: Parsed) -> Run | None:
        """Observe a query over the data; None if there are none."""
        if not self.streams and not self.static:
            known = self.known
            pattern = parsed.query.pattern if known is None else optimised(parsed.query, known)
            return None if known is None else Run(pattern, known=known)
        from headrace.observing import observed  # noqa: PLC0415 - the engine takes time to load

        return observed(parsed, self.streams, self.static, self.settings, self.schemas)

    def schema(self, parsed: Parsed) -> Schema | None:
        """The schema that a query reads its data under, if it is known here.

        Raises:
            HeadraceError: it names another than those that are given, or a file cannot be read.
        """
        from headrace.schemas import Schemas  # noqa: PLC0415 - it takes time to load

        given, static = list(map(named_file, self.schemas)), list(map(named_file, self.static))
        names = {each.value for each in parsed.query.dataset.schemas}
        if not given and not names.intersection(name for name, _ in static if name):
            return None
        schemas = Schemas()
        schemas.declare(given, static, [parsed.query])
        return schemas.of(parsed.query, parsed.source)


NOTHING: Final = Over()


def explained(parsed: Parsed, form: str, graph: str | None, over: Over = NOTHING) -> str:
    """Explain a query in one of the forms `text`, `json`, `mermaid` and `svg`.

    The last two show a graph, that of the operators if none is named; text does if one is named.
    Where there is something to run it over, text and JSON have what was seen of it.

    Over data, a graph has static data apart from streams by the predicates of either.

    Raises:
        SettingError: a graph is asked for as JSON.
    """
    if over.why is not None:
        return _why(parsed, form, over)
    if graph in _NETWORKS:
        return _network(parsed, form, graph, over)
    if form == "json":
        if graph is not None:
            raise SettingError("--graph goes with --format text, mermaid or svg, not with json")
        return _json(parsed, over)
    if form == "text" and graph is None:
        return _text(parsed, over)
    kind = GraphKind(graph or GraphKind.OPERATORS)
    return drawn(parsed.query, kind, GraphForm(form), over.predicates())


def _json(parsed: Parsed, over: Over) -> str:
    run = over.run(parsed)
    notes = [note.text for note in parsed.notes] + list(run.notes if run else ())
    shown = as_json(parsed.query, parsed.dialect, parsed.profile.name, run)
    schema = over.schema(parsed)
    networks = {name: each.counts() for name, each in _networks(parsed, schema).items()}
    ignored = [asdict(each) for each in schema.ignored] if schema is not None else []
    under = {"reasoning": {**networks, "ignored": ignored}} if networks else {}
    return json.dumps({**shown, **under, "notes": notes}, indent=2) + "\n"


def _text(parsed: Parsed, over: Over) -> str:
    run = over.run(parsed)
    shown = [as_text(parsed.query, parsed.dialect, parsed.profile.name, run)]
    schema = over.schema(parsed)
    networks = _networks(parsed, schema)
    shown += ["\nreasoning"] if networks else []
    shown += [f"  {f'{name} network':17}{counts_text(each)}" for name, each in networks.items()]
    shown += [f"  {'ignored':17}{each}" for each in (schema.ignored if schema else ())]
    shown += [f"\nnote: {note.text}\n{note.at}".rstrip() for note in parsed.notes]
    shown += [f"\nnote: {note}" for note in (run.notes if run else ())]
    return "\n".join(shown) + "\n"


_NETWORKS: Final = {"network": "full", "reduced": "reduced"}
"""What `--graph` calls them, and what they are."""


def _networks(parsed: Parsed, schema: Schema | None) -> dict[str, Network]:
    """Return the network of a query's schema, and what its patterns need of it."""
    if schema is None:
        return {}
    asked = asked_by(optimised(parsed.query), parsed.query.form)
    return {"full": network_of(schema), "reduced": network_of(reduced(schema, asked))}


def _network(parsed: Parsed, form: str, graph: str, over: Over) -> str:
    if form == "json":
        raise SettingError(f"--graph {graph} goes with --format text, mermaid or svg")
    networks = _networks(parsed, over.schema(parsed))
    if not networks:
        raise SettingError(f"--graph {graph} shows a schema: say which with --schema FILE")
    name = _NETWORKS[graph]
    return network_drawn(networks[name], GraphForm(form), f"{name} network")


def _why(parsed: Parsed, form: str, over: Over) -> str:
    """From what a triple follows."""
    from headrace import tracing  # noqa: PLC0415 - the engine takes time to load

    if form not in {"text", "json"}:
        raise SettingError("--why goes with --format text or json")
    if not over.streams and not over.static:
        raise SettingError("--why looks into data: say which with --stream or --static")
    assert over.why is not None, "it is asked for"
    goal = tracing.triple_of(over.why, parsed.prefixes)
    found = tracing.causes(goal, over.schema(parsed), over.streams, over.static)
    if form == "json":
        return json.dumps(tracing.as_json(goal, found), indent=2) + "\n"
    return tracing.as_text(goal, found)


def write(text: str, path: Path) -> None:
    """Write an explanation to a file.

    Raises:
        MachineError: it cannot be written.
    """
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        raise MachineError(f"cannot write {path}: {error.strerror}") from None
