"""Cases of rules as text: a pattern, and what a rule makes of it.

A file of `pairs/` is of one rule. Its cases stand apart by blank lines:

    # What the case shows.
    (filter (> ?x one) (join XU YZ))
    -> (join (filter (> ?x one) XU) YZ)

Both are in the notation of the algebra, over as many lines as they need. `-> (same)` is a pattern
that the rule must leave as it is. Short names stand for what `names.txt` says. Before the cases a
file may say what is known where the patterns stand: `windows = [...]`, `static = [...]` (the graphs
of FROM) and `predicates = [...]` (those of the static data).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from headrace.algebra.notation import read
from headrace.algebra.operators import Operator
from headrace.algebra.query import Dataset, Query, Select
from headrace.rewrite.knowledge import Known
from headrace.rewrite.sources import KnownPredicates

FOLDER: Final = Path(__file__).parent / "pairs"
NAMES: Final = Path(__file__).parent / "names.txt"
SAME: Final = "(same)"
_DEFINITION: Final = re.compile(r"(\S+) = (.+)")
_WORD: Final = re.compile(r"[^\s()\[\]]+")


@dataclass(frozen=True)
class Case:
    """What a rule makes of a pattern.

    Attributes:
        rule: the name of the rule.
        line: where the case begins in the file of the rule.
        before: the pattern.
        after: what it becomes, which may be itself.
        known: what is known where it stands.
    """

    rule: str
    line: int
    before: Operator
    after: Operator
    known: Known

    @property
    def is_same(self) -> bool:
        """Whether the rule must leave the pattern as it is."""
        return self.before == self.after

    @property
    def id(self) -> str:
        """What tests call it."""
        return f"{self.rule}:{self.line}"


def cases(rule: str) -> Iterator[Case]:
    """The cases of a rule."""
    given: dict[str, Any] = {}
    for line, lines in _blocks((FOLDER / f"{rule}.txt").read_text("utf-8")):
        if all(map(_DEFINITION.fullmatch, lines)):
            given |= {name: read(text) for name, text in _definitions(lines)}
            continue
        before, arrow, after = "\n".join(lines).partition("\n->")
        assert arrow, f"{rule}.txt:{line} has no line that begins with '->'"
        pattern = _pattern(before)
        same = after.strip() == SAME
        yield Case(rule, line, pattern, pattern if same else _pattern(after), _known(given))


def _blocks(text: str) -> Iterator[tuple[int, list[str]]]:
    """Lines that stand together, without comments, and where they begin."""
    held: list[tuple[int, str]] = []
    for number, line in enumerate([*text.splitlines(), ""], start=1):
        if line.strip():
            held.append((number, line))
            continue
        kept = [line for _, line in held if not line.startswith("#")]
        if kept:
            yield held[0][0], kept
        held = []


def _definitions(lines: list[str]) -> Iterator[tuple[str, str]]:
    for line in lines:
        if found := _DEFINITION.fullmatch(line):
            yield found[1], found[2]


@cache
def names() -> Mapping[str, str]:
    """What short names stand for."""
    return dict(_definitions(NAMES.read_text("utf-8").splitlines()))


def _pattern(text: str) -> Operator:
    found: Operator = read(_WORD.sub(lambda word: names().get(word[0], word[0]), text))
    return found


def _known(given: Mapping[str, Any]) -> Known:
    predicates = given.get("predicates")
    query = Query(
        Select(()), read("(bgp)"), Dataset(given.get("static", ())), given.get("windows", ())
    )
    known = (
        None
        if predicates is None
        else KnownPredicates.of_static(predicates, given.get("static") or (None,))
    )
    return Known.of(query, known)
