"""How long nothing has come of each part of a stream, and which streams are moved on for that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from headrace.kernel.idleness import Part, moved_on
from headrace.pipeline.manifest import Manifest, StreamState
from headrace.pipeline.panes import FILES, Pane
from headrace.pipeline.setup import Setup
from headrace.rdf.terms import Iri

_MICROSECONDS: Final = 1_000_000


class Silence:
    """Measures silences by a clock; what they lead to is part of the manifest of a batch."""

    def __init__(self, setup: Setup) -> None:
        """Begin now: of what came before, nothing is known."""
        self._setup = setup
        self._began = setup.clock()
        self._heard: dict[tuple[str, str], float] = {}
        self._moved: dict[tuple[str, str], float] = {}

    @property
    def _matters(self) -> bool:
        """Whether a stream has an idle time-out at all."""
        return self._setup.live and bool(self._setup.idles)

    def hear(self, panes: Iterable[Pane]) -> None:
        """Take note of what has come now."""
        if self._matters:
            now = self._setup.clock()
            self._heard |= {(pane.stream, pane.partition): now for pane in panes}

    def moved(self, last: Manifest, streams: Mapping[str, StreamState]) -> dict[str, StreamState]:
        """How far each stream has come, once silent ones are moved on.

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

    def note(self, before: Mapping[str, StreamState], after: Mapping[str, StreamState]) -> None:
        """Take note of what has been moved on now."""
        now = self._setup.clock()
        for iri, state in after.items():
            known = before[iri].idle if iri in before else {}
            changed = [name for name, moved in state.idle.items() if known.get(name) != moved]
            self._moved |= {(iri, name): now for name in changed}

    def is_over(self, last: Manifest) -> bool:
        """Whether a batch that reads nothing would move a stream on."""
        return self._matters and bool(self._ends(last, last.streams))

    def _ends(self, last: Manifest, streams: Mapping[str, StreamState]) -> Mapping[Part, int]:
        if not self._matters:
            return {}
        now = self._setup.clock()
        parts = [part for iri in self._setup.decodings for part in self._parts(iri, streams, now)]
        queries = [
            (plan, last.queries[plan.name].progress)
            for plan in self._setup.plans
            if plan.name in last.queries and last.queries[plan.name].failure is None
        ]
        return moved_on(parts, queries)

    def _parts(self, iri: str, streams: Mapping[str, StreamState], now: float) -> Sequence[Part]:
        state = streams.get(iri, StreamState())
        time_out = self._setup.idles.get(iri)
        found = []
        for name, high in (state.highs or {FILES: None}).items():
            heard = self._heard.get((iri, name), self._began)
            silence = round((now - heard) * _MICROSECONDS)
            since = max(heard, self._moved.get((iri, name), heard))
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
