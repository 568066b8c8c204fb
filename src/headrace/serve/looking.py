"""A query run once over the current contents of its streams, to see what its operators find."""

from __future__ import annotations

import json
from dataclasses import replace

from headrace.dialects import Parsed
from headrace.engine import Engine
from headrace.kernel.columns import ID, PREDICATE, TEXT
from headrace.planning.explain import Run, Seen, as_json, as_text
from headrace.rdf.formats import Format
from headrace.rdf.terms import Iri
from headrace.rewrite.sources import KnownPredicates
from headrace.serve.hub import Hub


def seen(parsed: Parsed, run: Run, form: str) -> str:
    """The plan of a query with how much each of its operators has found, as text or as JSON."""
    if form == "json":
        shown = as_json(parsed.query, parsed.dialect, parsed.profile.name, run)
        return json.dumps(shown, indent=2) + "\n"
    return as_text(parsed.query, parsed.dialect, parsed.profile.name, run) + "\n"


def looked(hub: Hub, parsed: Parsed) -> Run:
    """Observe the operators of a query over the content of its streams.

    It is run in an engine of its own, so that the deployment does not notice.

    Raises:
        HeadraceError: it cannot be run so.
    """
    engine = Engine(
        settings=hub.settings.settings,
        max_rows=hub.limits.rows,
        max_bytes=hub.limits.bytes,
        timeout=hub.limits.seconds,
    )
    engine.static.schemas.declare(hub.settings.schemas, hub.settings.static, ())
    engine.static.add(hub.static.all_quads())
    inlets = list(hub.inlets.values())
    for inlet in inlets:
        engine.stream(inlet.entry.iri, delay=inlet.entry.delay)
    engine.register_parsed(parsed)
    found: dict[int, Seen] = {}

    def note(node: object, rows: int, seconds: float) -> None:
        before = found.get(id(node), Seen())
        found[id(node)] = Seen(before.times + 1, before.rows + rows, before.seconds + seconds)

    [plan] = engine.plans()
    kernel = engine.runner.kernel
    kernel.around = replace(kernel.around, observe=note)
    for inlet in inlets:
        feed = engine.feed(inlet.entry.iri)
        lines = inlet.recent.envelopes()
        if lines:
            engine.runner.push_data(feed, lines, Format.NDJSON)
    engine.finish()
    return Run(plan.pattern, found, known=known_predicates(hub))


def known_predicates(hub: Hub) -> KnownPredicates:
    """Say which predicates occur in static graphs, and in what streams hold."""
    found: set[Iri] = set()
    for inlet in list(hub.inlets.values()):
        columns = inlet.recent.columns(hub.deployed.seed)
        texts = dict(columns.terms.select(ID, TEXT).iter_rows())
        names = (texts[each] for each in columns.statements[PREDICATE].unique().to_list())
        found.update(Iri(name.strip("<>")) for name in names)
    static = frozenset(
        (quad.graph if isinstance(quad.graph, Iri) else None, quad.predicate)
        for quad in hub.static.all_quads()
        if isinstance(quad.predicate, Iri)
    )
    return KnownPredicates(static, not hub.settings.schemas, frozenset(found))
