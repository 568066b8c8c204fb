"""What `headrace explain` prints."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from headrace.dialects import Parsed
from headrace.errors import MachineError, SettingError
from headrace.graphs.drawing import GraphForm, GraphKind, drawn
from headrace.planning.explain import Run, as_json, as_text


@dataclass(frozen=True, slots=True)
class Over:
    """What a query is run over to see what it costs, as options have it.

    Attributes:
        streams: `--stream`; if there is none, the query is not run.
        static: `--static`; estimates go by what is there.
        settings: `--set`.
    """

    streams: tuple[str, ...] = ()
    static: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)

    def run(self, parsed: Parsed) -> Run | None:
        """What is seen of a query over it, if there is something to look at."""
        if not self.streams and not self.static:
            return None
        from headrace.observing import observed  # noqa: PLC0415 - the engine takes time to load

        return observed(parsed, self.streams, self.static, self.settings)


NOTHING: Final = Over()


def explained(parsed: Parsed, form: str, graph: str | None, over: Over = NOTHING) -> str:
    """A query in one of the forms `text`, `json`, `mermaid` and `svg`.

    The last two show a graph, that of the operators if none is named; text does if one is named.
    Where there is something to run it over, text and JSON have what was seen of it.

    Raises:
        SettingError: a graph is asked for as JSON, or over data.
    """
    if form == "json":
        if graph is not None:
            raise SettingError("--graph goes with --format text, mermaid or svg, not with json")
        return _json(parsed, over.run(parsed))
    if form == "text" and graph is None:
        return _text(parsed, over.run(parsed))
    if over.streams or over.static:
        raise SettingError("--stream and --static go with text and JSON, not with a graph")
    return drawn(parsed.query, GraphKind(graph or GraphKind.OPERATORS), GraphForm(form))


def _json(parsed: Parsed, run: Run | None) -> str:
    notes = [note.text for note in parsed.notes] + list(run.notes if run else ())
    shown = as_json(parsed.query, parsed.dialect, parsed.profile.name, run)
    return json.dumps({**shown, "notes": notes}, indent=2) + "\n"


def _text(parsed: Parsed, run: Run | None) -> str:
    shown = [as_text(parsed.query, parsed.dialect, parsed.profile.name, run)]
    shown += [f"\nnote: {note.text}\n{note.at}".rstrip() for note in parsed.notes]
    shown += [f"\nnote: {note}" for note in (run.notes if run else ())]
    return "\n".join(shown) + "\n"


def write(text: str, path: Path) -> None:
    """Write an explanation to a file.

    Raises:
        MachineError: it cannot be written.
    """
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        raise MachineError(f"cannot write {path}: {error.strerror}") from None
