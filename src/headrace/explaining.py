"""What `headrace explain` prints."""

from __future__ import annotations

import json
from pathlib import Path

from headrace.dialects import Parsed
from headrace.errors import MachineError, SettingError
from headrace.graphs.drawing import GraphForm, GraphKind, drawn
from headrace.planning.explain import Run, as_json, as_text


def explained(parsed: Parsed, form: str, graph: str | None, run: Run | None = None) -> str:
    """A query in one of the forms `text`, `json`, `mermaid` and `svg`.

    The last two show a graph, that of the operators if none is named; text does if one is named.
    Where the query was run, text and JSON have what was seen of it.

    Raises:
        SettingError: a graph is asked for as JSON.
    """
    if form == "json":
        if graph is not None:
            raise SettingError("--graph goes with --format text, mermaid or svg, not with json")
        return _json(parsed, run)
    if form == "text" and graph is None:
        return _text(parsed, run)
    return drawn(parsed.query, GraphKind(graph or GraphKind.OPERATORS), GraphForm(form))


def _json(parsed: Parsed, run: Run | None) -> str:
    notes = [note.text for note in parsed.notes]
    shown = as_json(parsed.query, parsed.dialect, parsed.profile.name, run)
    return json.dumps({**shown, "notes": notes}, indent=2) + "\n"


def _text(parsed: Parsed, run: Run | None) -> str:
    shown = [as_text(parsed.query, parsed.dialect, parsed.profile.name, run)]
    shown += [f"\nnote: {note.text}\n{note.at}".rstrip() for note in parsed.notes]
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
