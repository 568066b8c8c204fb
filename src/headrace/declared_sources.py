"""Checks of the sources of streams: when they are declared, and before they are read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from headrace.errors import SettingError
from headrace.pipeline.messages import topic_source
from headrace.pipeline.streams import KAFKA, LOG, RATE, Declared, declared, files_of

Given = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]
"""A source of a stream, or several."""

_EXPECTED: Final = "expected a file, a folder, a pattern or an address such as kafka://HOST/TOPIC"
_VOWELS: Final = tuple("aeiou")


def given_sources(iri: str, given: object) -> tuple[str, ...]:
    """Read the sources that a program gives to a stream.

    >>> given_sources("s", Path("in")), given_sources("s", ["a.tnq", "rate:10"])
    (('in',), ('a.tnq', 'rate:10'))

    Args:
        iri: the stream.
        given: a source, or several in a list, a tuple, a set or an iterator.

    Raises:
        SettingError: one of them cannot be read.
    """
    match given:
        case str() | os.PathLike():
            every: list[object] = [given]
        case list() | tuple() | set() | frozenset() | Iterator() if not hasattr(given, "read"):
            every = list(given)
            if not every and given != ():
                raise SettingError(
                    f"{_EXPECTED} as the source of stream <{iri}>, found none in {_kind(given)}"
                )
        case _:
            raise SettingError(
                f"{_EXPECTED} as the source of stream <{iri}>, found {_kind(given)}; "
                "statements are pushed instead: stream.push(data, at=time)"
            )
    return tuple(_source(iri, each, number) for number, each in enumerate(every, 1))


def _source(iri: str, given: object, number: int) -> str:
    if not isinstance(given, str | os.PathLike):
        raise SettingError(
            f"{_EXPECTED} as source {number} of stream <{iri}>, found {_kind(given)}"
        )
    text = os.fspath(given)
    if not isinstance(text, str) or not text.strip():
        found = "an empty text" if isinstance(text, str) else _kind(text)
        raise SettingError(f"{_EXPECTED} as source {number} of stream <{iri}>, found {found}")
    try:
        found_source = declared(text)
        if found_source.kind == KAFKA:
            topic_source(iri, found_source)
        elif found_source.kind == "file" and Path(found_source.place).is_file():
            files_of(found_source.place)  # it may also be of a format that is not read
    except SettingError as error:
        raise SettingError(f"stream <{iri}>: {error}") from None
    return text


def _kind(value: object) -> str:
    """Name the type of a value for an error.

    >>> _kind({}), _kind(1), _kind(None)
    ('a dict', 'an int', 'None')
    """
    if value is None:
        return "None"
    kind = type(value)
    home = "" if kind.__module__ == "builtins" else f"{kind.__module__.partition('.')[0]}."
    name = f"{home}{kind.__name__}"
    return f"an {name}" if name.lower().startswith(_VOWELS) else f"a {name}"


def check_sources(
    sources: Mapping[str, Sequence[Declared]], *, once: bool, inline: bool | None
) -> None:
    """Refuse sources that a run cannot read.

    Args:
        sources: those of each stream.
        once: whether the run ends with its input, so that all of it has to be there.
        inline: whether it takes place in this process; None if that is not known yet.

    Raises:
        SettingError: naming the stream and the source.
    """
    for iri, given in sources.items():
        if len({each.rule for each in given}) > 1:
            raise SettingError(f"the sources of <{iri}> differ in where their times stand")
        for each in given:
            try:
                _check_source(iri, each, once=once, inline=inline)
            except SettingError as error:
                raise SettingError(f"stream <{iri}>: {error}") from None


def _check_source(iri: str, source: Declared, *, once: bool, inline: bool | None) -> None:
    if source.kind == "file":
        files_of(source.place, there=once)
    elif source.kind == LOG and not Path(source.place).is_dir():
        raise SettingError(f"there is no folder '{source.place}' with a log in it")
    elif (source.kind == RATE or source.is_received) and once:
        raise SettingError(
            f"'{source.place}' has no end: leave out --once, or run a live engine with once=False"
        )
    elif source.kind == KAFKA:
        topic_source(iri, source)
        if inline:
            raise SettingError(
                f"'{source.place}' is read on Spark only: leave out --runner, or say runner='spark'"
            )
