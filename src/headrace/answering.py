"""What `headrace query` does: load files, ask one query, and write the answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from headrace.background.config import ServiceConfig
from headrace.dialects import Parsed
from headrace.errors import DataError, SettingError
from headrace.kernel.answer import Answer, Statements, Truth
from headrace.metering import EvaluationLimits
from headrace.rdf.iri import is_absolute
from headrace.results.formats import ResultFormat, format_named
from headrace.results.writing import graph_text, result_text
from headrace.store import Store


def ask(
    parsed: Parsed,
    data: list[Path],
    graphs: list[str],
    services: ServiceConfig,
    limits: EvaluationLimits,
    schemas: Sequence[tuple[str | None, Path]] = (),
) -> tuple[Answer, list[DataError], list[str]]:
    """Answer a query over files; return unreadable parts and notes too."""
    given = Store(
        services=services,
        max_rows=limits.rows,
        max_bytes=limits.bytes,
        timeout=limits.seconds,
    )
    with given as store:
        store.check(parsed)
        for name, schema in schemas:
            store.schemas.add(name, schema)
        problems = [problem for path in data for problem in store.load(path)]
        for each in graphs:
            name, file = _named_graph(each)
            problems += store.load(file, name)
        found = store.answer(parsed.query, source=parsed.source)
        notes = store.schemas.notes_on(parsed.query, parsed.source)
        return found, problems, [*notes, *map(str, store.failures)]


def _named_graph(text: str) -> tuple[str, Path]:
    name, found, file = text.rpartition("=")
    name = name.removeprefix("<").removesuffix(">")
    if not found or not is_absolute(name) or re.search(r"[\x00-\x20<>\"{}|^`\\]", name):
        raise SettingError(f"expected --graph IRI=FILE, found '{text}'")
    return name, Path(file)


def written(answer: Answer, asked: str = "") -> str:
    """The answer as text, in the format that was asked for or the one that suits it."""
    match answer:
        case Statements(quads):
            named = any(quad.graph is not None for quad in quads)
            suits = ResultFormat.NQUADS if named else ResultFormat.TURTLE
            return graph_text(quads, format_named(asked) if asked else suits)
        case Truth(value):
            return result_text(value, format_named(asked) if asked else ResultFormat.TABLE)
        case _:
            return result_text(answer, format_named(asked) if asked else ResultFormat.TABLE)
