"""The idleness timer: measures the silence of sources, and advances idle ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from headrace.kernel.idleness import Part, advance_idle_parts
from headrace.pipeline.manifest import Manifest, StreamState
from headrace.pipeline.panes import FILES, Pane
from headrace.pipeline.setup import Setup
from headrace.rdf.terms import Iri

_MICROSECONDS: Final = 1_000_000


class IdlenessTimer:
    """Measures the silence of sources by a clock; the manifest of a batch records the advances."""

    def __init__(self, setup: Setup) -> None:
        """Begin all silences now."""
        self._setup = setup
        self._began = setup.clock()
        self._heard: dict[tuple[str, str], float] = {}
        self._advanced: dict[tuple[str, str], float] = {}

    @property
    def _is_on(self) -> bool:
        """True if a stream has an idle time-out."""
        return self._setup.live and bool(self._setup.idles)

    def record_input(self, panes: Iterable[Pane]) -> None:
        """End the silence of the parts that some panes are of."""
        if self._is_on:
            now = self._setup.clock()
            self._heard |= {(pane.stream, pane.partition): now for pane in panes}

    def advance(self, last: Manifest, streams: Mapping[str, StreamState]) -> dict[str, StreamState]:
        """Advance the parts that are idle to where their queries can report.

        Args:
            last: what was committed last; says how far queries have come.
            streams: how far each stream has come by what was read.
        """
        found = dict(streams)
        for part, reached in self._ends(last, streams).items():
            state = found[part.stream.value]
            found[part.stream.value] = replace(
                state,
                highs={**state.highs, part.name: reached},
                idle={**state.idle, part.name: reached},
            )
        return found

    def record_advances(
        self, before: Mapping[str, StreamState], after: Mapping[str, StreamState]
    ) -> None:
        """Record when parts were advanced, so that the next advance waits for the clock."""
        now = self._setup.clock()
        for iri, state in after.items():
            known = before[iri].idle if iri in before else {}
            changed = [name for name, reached in state.idle.items() if known.get(name) != reached]
            self._advanced |= {(iri, name): now for name in changed}

    def is_due(self, last: Manifest) -> bool:
        """True if a batch without input would advance an idle stream."""
        return self._is_on and bool(self._ends(last, last.streams))

    def _ends(self, last: Manifest, streams: Mapping[str, StreamState]) -> Mapping[Part, int]:
        if not self._is_on:
            return {}
        now = self._setup.clock()
        parts = [part for iri in self._setup.decodings for part in self._parts(iri, streams, now)]
        queries = [
            (plan, last.queries[plan.name].progress)
            for plan in self._setup.plans
            if plan.name in last.queries and last.queries[plan.name].failure is None
        ]
        return advance_idle_parts(parts, queries)

    def _parts(self, iri: str, streams: Mapping[str, StreamState], now: float) -> Sequence[Part]:
        state = streams.get(iri, StreamState())
        time_out = self._setup.idles.get(iri)
        found = []
        for name, high in (state.highs or {FILES: None}).items():
            heard = self._heard.get((iri, name), self._began)
            silence = round((now - heard) * _MICROSECONDS)
            since = max(heard, self._advanced.get((iri, name), heard))
            found.append(
                Part(
                    Iri(iri),
                    name,
                    high,
                    state.idle.get(name),
                    time_out is not None and silence >= time_out,
                    round((now - since) * _MICROSECONDS),
                )
            )
        return found
