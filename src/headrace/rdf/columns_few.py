"""What a few lines of timed N-Quads say, if all of them are plain statements.

A live stream comes a few lines at a time, with mostly the same terms. Tokens that were plain before
are known by their texts; to look at the others one by one takes less than to have a library look at
all of them at once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

from headrace.rdf.columns_terms import (
    DATATYPE_BESIDE_THE_RULE,
    OBJECT,
    PLAIN,
    PREDICATE,
    SUBJECT,
)
from headrace.rdf.ids import text_ids
from headrace.rdf.options import Limits
from headrace.rdf.times import microseconds

Ids = npt.NDArray[np.int64]

_FEW: Final = 300_000
"""Of texts with more bytes than these, all tokens are looked at at once."""
_LONG: Final = 1_000
"""Longer lines are left to others."""
_MOST_KNOWN: Final = 60_000
_END: Final = " .\n"
_PLAIN: Final = re.compile(PLAIN[OBJECT])
"""What may stand anywhere; at other places than the last, not all of it."""
_BEGINS: Final = {SUBJECT: frozenset("<_"), PREDICATE: frozenset("<")}
"""What a plain token begins with at a place."""
_STEMS: Final = set[str]()
"""What plain IRIs have before their last slash: with letters and digits after it, all are plain."""
_TAILS: Final = set[str]()
"""What plain literals have after their characters: a language or a datatype."""
_MOST_SEEN: Final = 1_000


@dataclass(frozen=True, slots=True)
class FewLines:
    """Statements in no graph, a row for each.

    Attributes:
        sizes: how many bytes each line has.
        times: in microseconds.
        ids: those of subjects, predicates and objects.
        texts: the text of each id.
        has_blank_nodes: whether there are some among the terms.
    """

    sizes: Ids
    times: Ids
    ids: dict[str, Ids]
    texts: dict[int, str]
    has_blank_nodes: bool


def few_lines(text: bytes, limits: Limits, seed: int) -> FewLines | None:
    r"""What a text of lines says, if they are few and all of them are plain statements.

    >>> few_lines(b'1\t<x:a> <x:b> "a b" .\n', Limits(), 0).times.tolist()
    [1000]
    >>> few_lines(b"1\t<x:a> <x:b> <x:c> <x:graph> .\n", Limits(), 0) is None
    True
    """
    if len(text) > _FEW or not text.isascii() or not text.endswith(_END.encode()):
        return None
    lines = text.decode("ascii").split(_END)
    lines.pop()
    if len(lines) < text.count(b"\n"):  # a line ends otherwise
        return None
    written, subjects, predicates, objects = list[str](), list[str](), list[str](), list[str]()
    try:
        # One after the other: thousands of lists at once would wake up the garbage collector.
        for line in lines:
            time, rest = line.split("\t", 1)
            subject, predicate, object_ = rest.split(" ", 2)
            written.append(time)
            subjects.append(subject)
            predicates.append(predicate)
            objects.append(object_)
        times = _times(written)
    except ValueError:  # a line has another shape
        return None
    sizes = np.fromiter(map(len, lines), np.int64, len(lines)) + len(_END)
    longest = min(_LONG, limits.literal, _LONG if limits.size is None else limits.size)
    if int(sizes.max()) - 1 > longest:
        return None
    columns = {SUBJECT: subjects, PREDICATE: predicates, OBJECT: objects}
    ids = _ids({*subjects}, {*predicates}, {*objects}, seed)
    if ids is None:
        return None
    texts = {identity: token for token, identity in ids.items()}
    if len(texts) < len(ids):  # two have the same id, and somebody else says so
        return None
    found = {place: _looked_up(ids, column) for place, column in columns.items()}
    return FewLines(sizes, times, found, texts, any(map(_is_blank_node, texts.values())))


def _ids(
    subjects: set[str], predicates: set[str], objects: set[str], seed: int
) -> dict[str, int] | None:
    """The ids of tokens, unless one of them is not plain."""
    for place, tokens in ((SUBJECT, subjects), (PREDICATE, predicates)):
        if not {token[:1] for token in tokens} <= _BEGINS[place]:
            return None
    known, every = _known(seed), subjects | predicates | objects
    new = every.difference(known)  # which looks at these only
    if not all(map(_is_plain, new)):
        return None
    if len(known) > _MOST_KNOWN:
        known.clear()
        new = every
    known.update(zip(new, text_ids([token.encode() for token in new], seed).tolist(), strict=True))
    return {token: known[token] for token in every}


def _is_blank_node(token: str) -> bool:
    return token[0] == "_"


def _looked_up(ids: dict[str, int], tokens: Sequence[str]) -> Ids:
    return np.fromiter(map(ids.__getitem__, tokens), np.int64, len(tokens))


@lru_cache(maxsize=3)
def _known(_seed: int) -> dict[str, int]:
    """The ids of tokens that were plain, to be filled."""
    return {}


def _is_plain(token: str) -> bool:
    if token.startswith('"'):
        if token.endswith(DATATYPE_BESIDE_THE_RULE):
            return False
        characters, end, tail = token[1:].partition('"')
        seen, part = _TAILS, end + tail
        if part in _TAILS and characters.isprintable() and "\\" not in characters:
            return True
    else:
        seen = _STEMS
        # What ends with letters and digits after a slash, may also have a slash after these.
        part, _, rest = token.removesuffix(">").removesuffix("/").rpartition("/")
        if part in _STEMS and rest.isalnum() and token[-1] == ">":
            return True
    if _PLAIN.match(token) is None:
        return False
    _remember(part, seen)
    return True


def _remember(part: str, seen: set[str]) -> None:
    """Take note of a part of a plain token, but for a blank node's, which has none."""
    if part and part[0] in '<"':
        if len(seen) > _MOST_SEEN:
            seen.clear()
        seen.add(part)


def _times(tokens: Sequence[str]) -> Ids:
    """The microseconds that tokens stand for.

    Raises:
        ValueError: one of them is no time.
    """
    known = {token: microseconds(token) for token in set(tokens)}
    return _looked_up(known, tokens)
