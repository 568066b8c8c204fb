"""What commands are told about queries, streams, static data and schemas, as users write it."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.dialects import EXTENSIONS, Parsed, parse
from headrace.errors import QueryError, SettingError

if TYPE_CHECKING:
    from headrace.background.config import ServiceConfig
    from headrace.engine import Engine
    from headrace.inline import StreamFeed
    from headrace.schemas import Schemas


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
    raise SettingError(
        f"expected --stream IRI=SOURCE, found '{text}'; for example --stream cars=cars.tnq"
    )


def named_file(text: str) -> tuple[str | None, Path]:
    """`--static [IRI=]FILE`, `--schema [IRI=]FILE`: the name, if there is one, and the file."""
    if Path(text).exists() or "=" not in text:
        return None, Path(text)
    name, _, file = text.rpartition("=")
    return name.removeprefix("<").removesuffix(">"), Path(file)


def push_files(engine: Engine, streams: Sequence[str]) -> Iterator[StreamFeed]:
    """Push the files of streams to an engine piece by piece, and yield the feed of each piece.

    Args:
        engine: declares the streams.
        streams: as the option `--stream` has them.
    """
    from headrace.sources import files_named, interleaved  # noqa: PLC0415 - it takes time to load

    given = streams_of(list(streams))
    for iri in given:
        engine.stream(iri)
    files = {
        iri: [path for source in sources for path in files_named(source)]
        for iri, sources in given.items()
    }
    feeds = {iri: engine.feed(iri) for iri in files}
    for feed, piece in interleaved(files, feeds):
        piece.push(engine.runner, feed)
        yield feed


def services_of(
    allow: list[str] | None,
    private: list[str] | None,
    descriptions: list[Path] | None = None,
    changes: list[Path] | None = None,
    changes_by: str | None = None,
) -> ServiceConfig:
    """Configure which endpoints SERVICE may ask, and what is declared of them."""
    from headrace.background.change_intervals import read_change_intervals  # noqa: PLC0415 - likewise
    from headrace.background.config import ServiceConfig  # noqa: PLC0415 - it takes time to load
    from headrace.background.descriptions import described  # noqa: PLC0415 - likewise

    return ServiceConfig(
        allow=tuple(allow or ()),
        private=tuple(private or ()),
        described=described(*(descriptions or ())),
        each=read_change_intervals(*(changes or ())),
        changes_by=changes_by,
    )


def check_planned(parsed: Parsed) -> None:
    """Refuse a query that every run would refuse: no plan, or calls that never have a result.

    Raises:
        QueryError: it asks for something that is not supported, at a place that is said.
        SettingError: its settings do not go together with it.
    """
    from headrace.functions.call_checks import refuse_certain_problems  # noqa: PLC0415 - it takes time to load
    from headrace.functions.table import Functions  # noqa: PLC0415
    from headrace.planning.plain import check_plain  # noqa: PLC0415
    from headrace.planning.plan import make_plan  # noqa: PLC0415

    refuse_certain_problems(parsed.query.pattern, Functions(), parsed.source)
    if parsed.query.is_continuous:
        make_plan(parsed.query, source=parsed.source)
    else:
        check_plain(parsed.query, parsed.source)


def calls_in_vain(parsed: Parsed) -> list[QueryError]:
    """Describe calls of functions that are not defined, though a program may define them."""
    from headrace.functions.call_checks import find_call_problems  # noqa: PLC0415 - it takes time to load
    from headrace.functions.table import Functions  # noqa: PLC0415

    return [
        problem.error(parsed.source)
        for problem in find_call_problems(parsed.query.pattern, Functions())
        if not problem.certain
    ]


def schemas_of(options: list[str]) -> Schemas | None:
    """The schemas that `--schema` declares, if there are any.

    Raises:
        SettingError: one cannot be read.
    """
    if not options:
        return None
    from headrace.schemas import Schemas  # noqa: PLC0415 - it takes time to load

    schemas = Schemas()
    schemas.declare(list(map(named_file, options)), (), ())
    return schemas


def parsed_query(query: str, dialect: str | None, settings: list[str] | None) -> Parsed:
    """A query that the command line names: a file, a text, or what standard input holds."""
    from headrace.rewrite.optimise import check_names  # noqa: PLC0415 - it takes time to load

    chosen = settings_of(settings or [])
    check_names(key.removeprefix("rules.") for key in chosen if key.startswith("rules."))
    if query == "-":
        text = _decoded(sys.stdin.buffer.read(), "standard input")
        return parse(text, dialect, name="standard input", settings=chosen)
    path = Path(query)
    if "{" in query or not query.strip() or (_is_text(query) and not path.exists()):
        return parse(query, dialect, name="query", settings=chosen)
    dialect = dialect or EXTENSIONS.get(path.suffix.lower())
    return parse(_text_of(path), dialect, name=query, settings=chosen)


def settings_of(pairs: list[str]) -> dict[str, str]:
    """`--set` options as a mapping.

    >>> settings_of(["bounds=[)", "t0=first"])
    {'bounds': '[)', 't0': 'first'}
    """
    settings: dict[str, str] = {}
    for pair in pairs:
        # The name of a stream may hold an equals sign, a value does not.
        split = pair.rpartition if pair.startswith(("delay.", "idle.")) else pair.partition
        key, found, value = split("=")
        if not found:
            raise SettingError(f"expected --set KEY=VALUE, found '{pair}'")
        settings[key.strip()] = value.strip()
    return settings


def _text_of(path: Path) -> str:
    try:
        return _decoded(path.read_bytes(), str(path))
    except OSError as error:
        raise SettingError(f"cannot read {path}: {error.strerror}") from None


def _decoded(data: bytes, name: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SettingError(f"{name} is not UTF-8: {error.reason} at byte {error.start}") from None


def _is_text(query: str) -> bool:
    """Whether an argument without braces is a query: DESCRIBE <x> is a whole one."""
    words = query.split()
    return len(words) > 1 and words[0].upper() in {"DESCRIBE", "PREFIX", "BASE"}
