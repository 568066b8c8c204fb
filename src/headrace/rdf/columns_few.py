"""What a few lines of timed N-Quads say, if all of them are plain statements.

A live stream comes a few lines at a time, with mostly the same terms. Tokens that were plain at a
place before are known by their texts; to look at the others one by one takes less than to have a
library look at all of them at once.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Final

from headrace.rdf.columns_terms import (
    DATATYPE_BESIDE_THE_RULE,
    OBJECT,
    PLAIN,
    PREDICATE,
    SUBJECT,
)
from headrace.rdf.ids import text_id
from headrace.rdf.options import Limits
from headrace.rdf.times import microseconds

_FEW: Final = 300_000
"""Of texts with more bytes than these, all tokens are looked at at once."""
_LONG: Final = 1_000
"""Longer lines are left to others."""
_MOST_KNOWN: Final = 30_000
_END: Final = " ."
_PLAIN: Final = {place: re.compile(pattern) for place, pattern in PLAIN.items()}
_STEMS: Final = set[str]()
"""What plain IRIs have before their last slash: with letters and digits after it, all are plain."""
_MOST_STEMS: Final = 1_000
_PLACES: Final = (SUBJECT, PREDICATE, OBJECT)


@dataclass(frozen=True, slots=True)
class FewLines:
    """Statements in no graph, a row for each.

    Attributes:
        starts: the bytes at which lines start.
        times: in microseconds.
        ids: those of subjects, predicates and objects.
        terms: the text of each id.
    """

    starts: list[int]
    times: list[int]
    ids: dict[str, list[int]]
    terms: dict[int, str]


def few_lines(text: bytes, limits: Limits, seed: int) -> FewLines | None:
    r"""What a text of lines says, if they are few and all of them are plain statements.

    >>> few_lines(b'1\t<x:a> <x:b> "a b" .\n', Limits(), 0).times
    [1000]
    >>> few_lines(b"1\t<x:a> <x:b> <x:c> <x:graph> .\n", Limits(), 0) is None
    True
    """
    if len(text) > _FEW or not text.isascii() or not text.endswith(b"\n"):
        return None
    lines = text.decode("ascii").split("\n")
    lines.pop()
    written, subjects, predicates, rests = list[str](), list[str](), list[str](), list[str]()
    try:
        # One after the other: thousands of lists at once would wake up the garbage collector.
        for line in lines:
            time, rest = line.split("\t", 1)
            subject, predicate, object_ = rest.split(" ", 2)
            written.append(time)
            subjects.append(subject)
            predicates.append(predicate)
            rests.append(object_)
        times = _times(written)
    except ValueError:  # a line has another shape
        return None
    longest = min(_LONG, limits.literal, _LONG if limits.size is None else limits.size)
    if max(map(len, lines)) > longest or not all(rest.endswith(_END) for rest in rests):
        return None
    objects = [rest[: -len(_END)] for rest in rests]
    ids, terms = dict[str, list[int]](), dict[str, int]()
    for place, column in zip(_PLACES, (subjects, predicates, objects), strict=True):
        known = _known(place, seed)
        distinct = set(column)
        new = distinct.difference(known)  # which looks at these only
        if not all(_is_plain(token, place) for token in new):
            return None
        if len(known) > _MOST_KNOWN:
            known.clear()
            new = distinct
        known.update({token: text_id(token.encode(), seed) for token in new})
        terms.update({token: known[token] for token in distinct})
        ids[place] = [known[token] for token in column]
    texts = {identity: token for token, identity in terms.items()}
    if len(texts) < len(terms):  # two have the same id, and somebody else says so
        return None
    starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
    return FewLines(starts[:-1], times, ids, texts)


@lru_cache(maxsize=3 * len(_PLACES))
def _known(_place: str, _seed: int) -> dict[str, int]:
    """The ids of tokens that were plain at a place, to be filled."""
    return {}


def _is_plain(token: str, place: str) -> bool:
    if place == OBJECT and token.endswith(DATATYPE_BESIDE_THE_RULE):
        return False
    stem, slash, rest = token.rpartition("/")
    if stem in _STEMS and token[0] == "<" and rest[:-1].isalnum() and rest[-1] == ">":
        return True
    if _PLAIN[place].match(token) is None:
        return False
    if slash and token[0] == "<":
        if len(_STEMS) > _MOST_STEMS:
            _STEMS.clear()
        _STEMS.add(stem)
    return True


def _times(tokens: list[str]) -> list[int]:
    """The microseconds that tokens stand for.

    Raises:
        ValueError: one of them is no time.
    """
    known = {token: microseconds(token) for token in set(tokens)}
    return [known[token] for token in tokens]
