"""What `headrace query` does: load files, ask one query, and write the answer."""

from __future__ import annotations

from pathlib import Path

from headrace.background.config import ServiceConfig
from headrace.dialects import Parsed
from headrace.errors import DataError, SettingError, UnsupportedError
from headrace.kernel.answer import Answer, Statements, Truth
from headrace.results.formats import ResultFormat, format_named
from headrace.results.writing import graph_text, result_text
from headrace.store import Store


def ask(
    parsed: Parsed,
    data: list[Path],
    graphs: list[str],
    allowed: tuple[str, ...] = (),
    timeout: float | None = None,
) -> tuple[Answer, list[DataError]]:
    """The answer to a query over some files, and what of them could not be read."""
    if parsed.query.is_continuous:
        raise UnsupportedError(
            "the query reads a stream, and `headrace query` reads files",
            parsed.source,
            parsed.query.windows[0].span,
        )
    with Store(services=ServiceConfig(allow=allowed), timeout=timeout) as store:
        problems = [problem for path in data for problem in store.load(path)]
        for each in graphs:
            name, found, file = each.rpartition("=")
            if not found:
                raise SettingError(f"expected --graph IRI=FILE, found '{each}'")
            problems += store.load(Path(file), name)
        store.check_functions(parsed)
        return store.answer(parsed.query), problems


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
