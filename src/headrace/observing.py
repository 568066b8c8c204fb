"""A query run over data, to see how many solutions each operator has and how long it takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from headrace.dialects import Parsed
from headrace.engine import Engine
from headrace.planning.explain import Observed, Seen
from headrace.planning.plan import Plan


def observed(
    parsed: Parsed,
    streams: Mapping[str, Sequence[str]],
    static: Sequence[tuple[str | None, Path]],
    settings: Mapping[str, str],
) -> tuple[Plan, Observed]:
    """Run a query over all there is, in this process; its plan, and what was seen of its operators.

    Raises:
        HeadraceError: it cannot be run so.
    """
    engine = Engine(settings=settings)
    for graph, path in static:
        engine.static.load(path, graph)
    for iri, sources in streams.items():
        engine.stream(iri, source=sources)
    engine.register_parsed(parsed)
    seen: dict[int, Seen] = {}

    def note(node: object, rows: int, seconds: float) -> None:
        before = seen.get(id(node), Seen())
        seen[id(node)] = Seen(before.times + 1, before.rows + rows, before.seconds + seconds)

    kernel = engine.runner.kernel
    kernel.around = replace(kernel.around, observe=note)
    [plan] = engine.plans()
    engine.run(once=True)
    return plan, seen
