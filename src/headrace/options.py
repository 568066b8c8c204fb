"""What `headrace run` is told about streams and static data, as users write it."""

from __future__ import annotations

import re
from pathlib import Path

from headrace.algebra.expressions import FunctionCall
from headrace.algebra.walk import everywhere, expressions, parts
from headrace.dialects import Parsed
from headrace.errors import QueryError, SettingError


def streams_of(options: list[str]) -> dict[str, list[str]]:
    """The sources of each stream, in the order in which they are given."""
    sources: dict[str, list[str]] = {}
    for name, source in map(_named_source, options):
        sources.setdefault(name, []).append(source)
    return sources


_ADDRESS = re.compile(r"(kafka|mqtts?|tcp)://|rate:|http-log:|[^=]*[?]time=")
"""What is a source although it has an equals sign in it."""


def _named_source(text: str) -> tuple[str, str]:
    """`--stream IRI=SOURCE`: the name of a stream may hold an equals sign, and so may a path."""
    for place in [at for at, character in enumerate(text) if character == "="]:
        name, source = text[:place], text[place + 1 :]
        last = "=" not in source
        if name and source and (last or Path(source).exists() or _ADDRESS.match(source)):
            return name.removeprefix("<").removesuffix(">"), source
    raise SettingError(f"expected --stream IRI=SOURCE, found '{text}'")


def static_file(text: str) -> tuple[str | None, Path]:
    """`--static [IRI=]FILE`: the graph, if there is one, and the file."""
    if Path(text).exists() or "=" not in text:
        return None, Path(text)
    name, _, file = text.rpartition("=")
    return name.removeprefix("<").removesuffix(">"), Path(file)


def unsupported(parsed: Parsed) -> str | None:
    """What of a right query cannot be run, and why."""
    from headrace.functions.table import Functions  # noqa: PLC0415 - it takes time to load
    from headrace.planning.plan import make_plan  # noqa: PLC0415 - likewise

    for operator in everywhere(parsed.query.pattern):
        for call in (part for each in expressions(operator) for part in parts(each)):
            problem = Functions().problem(call) if isinstance(call, FunctionCall) else None
            if problem is not None:
                return f"this release cannot run it: {problem}"
    try:
        if parsed.query.is_continuous:
            make_plan(parsed.query, source=parsed.source)
    except QueryError as error:
        return f"this release cannot run it: {error.problem}"
    except SettingError as error:
        return f"it cannot be run so: {error}"
    return None
