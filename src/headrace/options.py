"""What `headrace run` is told about streams and static data, as users write it."""

from __future__ import annotations

import re
from pathlib import Path

from headrace.errors import SettingError


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
