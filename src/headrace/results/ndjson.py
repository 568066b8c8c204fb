"""Evaluations as lines of JSON: the results file of a run."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from headrace.results.evaluations import Evaluation
from headrace.results.json_format import term_to_json


def ndjson_lines(evaluation: Evaluation) -> Iterator[str]:
    """The lines of an evaluation: one for each row or statement, one if there is none.

    >>> print(*ndjson_lines(Evaluation("q", 1_500_000, windows={"w": (500_000, 1_500_000)})))
    {"query": "q", "at": 1500, "seq": 0, "windows": {"w": [500, 1500]}, "row": null}
    """
    head = _head(evaluation)
    for part in _parts(evaluation):
        yield json.dumps({**head, **part}, ensure_ascii=False)


def notes_line(query: str, notes: Iterable[Mapping[str, Any]]) -> str:
    """Write the line with the notes on a query, which follows all of its evaluations.

    >>> print(notes_line("q", [{"code": "no-elements", "text": "<s> had no elements"}]))
    {"query": "q", "notes": [{"code": "no-elements", "text": "<s> had no elements"}]}
    """
    return json.dumps({"query": query, "notes": list(notes)}, ensure_ascii=False)


def _head(evaluation: Evaluation) -> dict[str, Any]:
    windows = {
        name: [_milliseconds(opens), _milliseconds(closes)]
        for name, (opens, closes) in evaluation.windows.items()
    }
    at = _milliseconds(evaluation.at)
    quality = {"accuracy": evaluation.accuracy, "completeness": evaluation.completeness}
    return {
        "query": evaluation.query,
        "at": at,
        "seq": evaluation.seq,
        "windows": windows,
        **{name: round(share, 4) for name, share in quality.items() if share is not None},
        **_stretch(evaluation),
    }


def _stretch(evaluation: Evaluation) -> dict[str, Any]:
    if evaluation.since is None:
        return {}
    return {"since": _milliseconds(evaluation.since), "instants": evaluation.instants}


def _parts(evaluation: Evaluation) -> Iterator[dict[str, Any]]:
    if evaluation.error is not None:
        yield {"error": evaluation.error}
        return
    if evaluation.skipped:
        yield {"skipped": True}
        return
    for bound in evaluation.bindings():
        yield {"row": {name: term_to_json(term) for name, term in bound.items()}}
    for quad in evaluation.quads:
        triple = [term_to_json(term) for term in (quad.subject, quad.predicate, quad.object)]
        graph = {} if quad.graph is None else {"graph": term_to_json(quad.graph)}
        yield {"triple": triple, **graph}
    if evaluation.boolean is not None:
        yield {"boolean": evaluation.boolean}
    if evaluation.is_empty:
        yield {"row": None}


def _milliseconds(time: int | None) -> int | float | None:
    """Milliseconds, whole where they are."""
    if time is None:
        return None
    return time // 1000 if time % 1000 == 0 else time / 1000
