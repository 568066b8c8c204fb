"""What commands are told about queries, streams, static data and schemas, as users write it."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from headrace.dialects import EXTENSIONS, Parsed, parse
from headrace.errors import QueryError, SettingError, nearest
from headrace.metering import RunLimits

if TYPE_CHECKING:
    from headrace.background.config import ServiceConfig
    from headrace.engine import Engine
    from headrace.inline import StreamFeed
    from headrace.schemas import Schemas


L = TypeVar("L", bound=Any)
"""Limits: a dataclass of numbers."""


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


_UNITS: Final = {
    "": 1,
    "kB": 10**3,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "KiB": 1 << 10,
    "MiB": 1 << 20,
    "GiB": 1 << 30,
}
_TIMES: Final = {"": 1.0, "ms": 0.001, "s": 1.0, "min": 60.0, "h": 3600.0}
_QUANTITY: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?) *([A-Za-z]*)")


def with_limits(limits: L, given: Sequence[str]) -> L:
    """Set limits by `--limit NAME=VALUE`: numbers, sizes as in 512MB, and times as in 10s.

    Raises:
        SettingError: there is no such limit, or the value is not one of its kind.

    >>> with_limits(RunLimits(), ["bytes=64MB", "seconds=1.5"])
    RunLimits(rows=20000000, bytes=64000000, seconds=1.5, memory=None, batch_seconds=1.0)
    """
    known = {each.name: str(each.type) for each in fields(limits)}
    changed: dict[str, int | float] = {}
    for each in given:
        name, equals, text = each.partition("=")
        name = name.strip()
        if not equals and name in known:
            raise SettingError(f"expected a value in --limit {name}=VALUE, found '{each}'")
        if name not in known:
            near = nearest(name, known)
            hint = f"; did you mean '{near}'?" if near else ""
            raise SettingError(
                f"expected --limit NAME=VALUE with one of {', '.join(sorted(known))}, "
                f"found '{each}'{hint}"
            )
        units = _TIMES if "float" in known[name] else _UNITS
        found = _QUANTITY.fullmatch(text.strip())
        if found is None or found[2] not in units or not float(found[1]):
            listed = ", ".join(filter(None, units))
            raise SettingError(
                f"expected a positive number in --limit {name}=, with or without a unit "
                f"({listed}), found '{text}'"
            )
        value = float(found[1]) * units[found[2]]
        changed[name] = value if units is _TIMES else max(1, int(value))
    return replace(limits, **changed)


def run_limits(given: Sequence[str], timeout: float | None = None) -> RunLimits:
    """Set the limits of a run by `--limit NAME=VALUE`, and its time by `--timeout`.

    Raises:
        SettingError: there is no such limit, or the value is not one of its kind.
    """
    limits = RunLimits()
    return with_limits(limits if timeout is None else replace(limits, seconds=timeout), given)


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
