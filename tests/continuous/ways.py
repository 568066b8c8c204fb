"""Ways to run a query that make no difference: one element at a time, and in a group."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Final

from headrace.errors import QueryError
from headrace.results.evaluations import Evaluation
from headrace.testing import Batches, Played, in_elements, play

NAME: Final = "q1"
_PATTERN: Final = re.compile(r"\bWHERE\b|\{")
_CONSTANT: Final = re.compile(
    r"(?P<iri>(?<![\w?:./<\"^])(?::[abc]|<http://x/[abc]>)(?![\w\"]))"
    r"|(?P<number>(?<![\w?:./<\"^\[-])(?<!LIMIT )(?<!OFFSET )[123](?![\w\".\]]))"
)
_OTHER: Final = {":a": ":b", ":b": ":c", ":c": ":a", "1": "2", "2": "3", "3": "1"}
_REGISTERED: Final = re.compile(r"(REGISTER\s+\w+\s+)(?:<([^>]*)>|(\w+))")
_FRAME: Final = re.compile(r"\[[^\[\]{}]*\]")


def sibling_of(text: str) -> str:
    """Write a query that differs from another one in some constants of its patterns only."""
    start = _PATTERN.search(text)
    if start is None:
        return text
    frames = [found.span() for found in _FRAME.finditer(text)]

    def other(found: re.Match[str]) -> str:
        if any(first <= found.start() < last for first, last in frames):
            return found[0]
        short = found[0].replace("<http://x/", ":").removesuffix(">")
        changed = _OTHER[short]
        return found[0].replace(short.removeprefix(":"), changed.removeprefix(":"))

    return text[: start.start()] + _CONSTANT.sub(other, text[start.start() :])


def _renamed(text: str, name: str) -> str:
    """Register a query by another name: a stream has one query that makes it."""
    return _REGISTERED.sub(
        lambda found: (
            f"{found[1]}<{found[2]}{name}>" if found[2] else f"{found[1]}{found[3]}{name}"
        ),
        text,
        count=1,
    )


def one_at_a_time(streams: Mapping[str, str]) -> Batches:
    """Cut streams into steps that each bring one element of one stream."""
    sizes = {iri: [len(lines) for lines in in_elements(text)] for iri, text in streams.items()}
    turns = zip_longest(*([(iri, size) for size in found] for iri, found in sizes.items()))
    return [[one] for turn in turns for one in turn if one is not None]


def play_every_way(  # noqa: PLR0913 - each is a part of the script
    text: str,
    streams: Mapping[str, str],
    *,
    static: Mapping[str | None, str] | None = None,
    settings: Mapping[str, str] | None = None,
    dialect: str | None = None,
    batches: Batches = None,
    live: bool = False,
) -> Played:
    """Play a query alone; one element at a time and in a group it has to report the same."""

    def played(queries: Mapping[str, str], cut: Batches) -> Played:
        return play(
            queries,
            streams,
            static=static,
            settings=settings,
            dialect=dialect,
            batches=cut,
            live=live,
        )

    alone = played({NAME: text}, batches)
    apart = played({NAME: text}, one_at_a_time(streams))
    _same(apart, alone, "one element at a time")
    one = sibling_of(text)
    try:
        together = played(_group(one, text, sibling_of(one)), batches)
    except QueryError:  # other constants may be wrong, such as limits in the wrong order
        together = played(_group(text, text, text), batches)
    _same(together, alone, "in a group")
    return alone


def _group(before: str, text: str, after: str) -> dict[str, str]:
    return {"before": _renamed(before, "1"), NAME: text, "after": _renamed(after, "2")}


def _same(found: Played, alone: Played, way: str) -> None:
    assert _of(found.evaluations) == _of(alone.evaluations), way
    assert found.errors.get(NAME) == alone.errors.get(NAME), way


def _of(evaluations: Sequence[Evaluation]) -> list[Evaluation]:
    return [each for each in evaluations if each.query == NAME]
