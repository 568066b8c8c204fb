"""Random blocks in time over random streams, against the definitions: plain loops over matches.

Nothing here is shared with the kernel: a match is a dictionary and the times of its triples.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import Final, NamedTuple

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from headrace.pipeline.local import LocalRunner
from headrace.rdf.terms import Iri, Literal, Term
from headrace.results.evaluations import Evaluation
from headrace.rewrite.rules import RULES
from headrace.scenarios import Scenario, ScenarioQuery
from headrace.testing import Played
from tests.continuous.ways import play_every_way
from tests.fuzzing import repeat
from tests.pipeline.scenarios import Deployed

pytestmark = pytest.mark.slow
often = repeat(60)

Triple = tuple[str, str, str]
STREAMS: Final = ("http://x/s", "http://x/t")
WINDOWS: Final = {"http://x/w": STREAMS[0], "http://x/v": STREAMS[1]}
VARIABLES: Final = ("?x", "?y", "?z")

# Where an interval begins and ends, compared with another: start with start, start with end,
# end with start, end with end.
RELATIONS: Final[Mapping[str, Callable[[int, int, int, int], bool]]] = {
    "BEFORE": lambda _a, b, c, _d: b < c,
    "SEQ": lambda _a, b, c, _d: b < c,
    "AFTER": lambda a, _b, _c, d: a > d,
    "MEETS": lambda a, b, c, d: b == c and a != b and c != d,
    "METBY": lambda a, b, c, d: a == d and a != b and c != d,
    "OVERLAPS": lambda a, b, c, d: a < c < b < d,
    "OVERLAPPEDBY": lambda a, b, c, d: c < a < d < b,
    "STARTS": lambda a, b, c, d: a == c and b < d,
    "STARTEDBY": lambda a, b, c, d: a == c and b > d,
    "DURING": lambda a, b, c, d: a > c and b < d,
    "CONTAINS": lambda a, b, c, d: a < c and b > d,
    "FINISHES": lambda a, b, c, d: b == d and a > c,
    "FINISHEDBY": lambda a, b, c, d: b == d and a < c,
    "EQUALS": lambda a, b, c, d: (a, b) == (c, d),
}


class Match(NamedTuple):
    terms: Mapping[str, str]
    times: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Held:
    """What can be seen somewhere: triples, each with a time of its own, or with none."""

    triples: frozenset[tuple[Triple, int | None]]

    @classmethod
    def of(cls, found: Sequence[tuple[Triple, int]], static: Sequence[Triple], timed: bool) -> Held:
        streaming = {triple for triple, _ in found}
        if timed:
            kept = set(found)
        else:
            kept = {(triple, max(at for t, at in found if t == triple)) for triple in streaming}
        return cls(frozenset({*kept, *((each, None) for each in static if each not in streaming)}))


Places = Mapping[str | None, Held]
"""What each window holds; what is seen outside of them is that of None."""


# -- blocks ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Leaf:
    """Triple patterns in a window or outside, and how long a match may take, in milliseconds."""

    patterns: tuple[Triple, ...]
    window: str | None = None
    longest: int | None = None

    def text(self) -> str:
        inner = " . ".join(" ".join(each) for each in self.patterns)
        if self.window is not None:
            inner = f"WINDOW <{self.window}> {{ {inner} }}"
        limit = "" if self.longest is None else f" FILTER(DURATION() <= 0.{self.longest:03})"
        return f"{{ {inner}{limit} }}"

    def matches(self, places: Places) -> list[Match]:
        found = [Match({})]
        for pattern in self.patterns:
            found = list(_joined(found, list(_matches(pattern, places[self.window]))))
        longest = self.longest
        if longest is None:
            return found
        return [m for m in found if m.times and max(m.times) - min(m.times) <= longest]


@dataclass(frozen=True)
class Either:
    one: Block
    other: Block

    def text(self) -> str:
        return f"{{ {self.one.text()} UNION {self.other.text()} }}"

    def matches(self, places: Places) -> list[Match]:
        return self.one.matches(places) + self.other.matches(places)


@dataclass(frozen=True)
class Related:
    left: Block
    right: Block
    word: str
    within: int | None = None
    optional: bool = False

    def text(self) -> str:
        return f"{{ {self.bare()} }}"

    def bare(self) -> str:
        """Without braces: a chain is read from left to right."""
        left = self.left.bare() if isinstance(self.left, Related) else self.left.text()
        far = "" if self.within is None else f" WITHIN {self.within}ms"
        maybe = " OPTIONAL" if self.optional else ""
        return f"{left} {self.word}{far}{maybe} {self.right.text()}"

    def matches(self, places: Places) -> list[Match]:
        ours, theirs, found = self.left.matches(places), self.right.matches(places), []
        for one in ours:
            fitting = list(_joined([one], [each for each in theirs if self._fits(one, each)]))
            found += fitting or ([one] if self.optional else [])
        return found

    def _fits(self, one: Match, other: Match) -> bool:
        if not one.times or not other.times:
            return False
        a, b, c, d = min(one.times), max(one.times), min(other.times), max(other.times)
        gap = a - d if self.word == "AFTER" else c - b
        near = self.within is None or gap <= self.within
        return near and RELATIONS[self.word](a, b, c, d)


Block = Leaf | Either | Related


def _matches(pattern: Triple, held: Held) -> Iterator[Match]:
    for triple, at in held.triples:
        terms: dict[str, str] = {}
        fits = all(
            terms.setdefault(asked, term) == term if asked.startswith("?") else asked == term
            for asked, term in zip(pattern, triple, strict=True)
        )
        if fits:
            yield Match(terms, frozenset() if at is None else frozenset({at}))


def _joined(left: Sequence[Match], right: Sequence[Match]) -> Iterator[Match]:
    for one, other in product(left, right):
        if all(other.terms.get(name, term) == term for name, term in one.terms.items()):
            yield Match({**one.terms, **other.terms}, one.times | other.times)


# -- cases -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A query and its data; times and widths are milliseconds."""

    block: Block
    streams: tuple[tuple[tuple[int, Triple], ...], ...]
    static: tuple[Triple, ...]
    widths: tuple[int, int]
    step: int | None
    timed: bool
    named: bool

    @property
    def text(self) -> str:
        step = "" if self.step is None else f" STEP {self.step}ms"
        frames = [f"[RANGE {width}ms{step or ' STEP'}]" for width in self.widths]
        if self.named:
            named = zip(WINDOWS.items(), frames, strict=True)
            clauses = [f"FROM NAMED WINDOW <{w}> ON <{s}> {frame}" for (w, s), frame in named]
        else:
            both = zip(STREAMS, frames, strict=True)
            clauses = [f"FROM STREAM <{stream}> {frame}" for stream, frame in both]
        return (
            f"SELECT {' '.join(VARIABLES)} (STARTTIME() AS ?start) (DURATION() AS ?took) "
            f"{' '.join(clauses)} WHERE {self.block.text()}"
        )

    @property
    def settings(self) -> dict[str, str]:
        found = {"contents": "timed" if self.timed else "set", "emit": "rstream"}
        return found if self.step is not None else {**found, "report": "on-arrival"}

    @property
    def scripts(self) -> dict[str, str]:
        return {
            name: "".join(f"{at}\t{' '.join(triple)} .\n" for at, triple in found)
            for name, found in zip(STREAMS, self.streams, strict=True)
        }

    @property
    def turtle(self) -> dict[str | None, str]:
        return {None: "".join(f"{' '.join(triple)} .\n" for triple in self.static)}

    @property
    def dialect(self) -> str:
        return "rspql" if self.named else "csparql"

    def expected(self) -> dict[tuple[int, int], Counter[tuple[object, ...]]]:
        """What there is at each instant at which there is something."""
        found = {}
        for at, seq, keys in self._instants():
            held = self._places(at, keys)
            rows = Counter(_row(each) for each in self.block.matches(held))
            if rows:
                found[at, seq] = rows
        return found

    def _instants(self) -> Iterator[tuple[int, int, frozenset[tuple[int, int]]]]:
        """The time of each instant, its number, and the elements that have come."""
        order = sorted(
            (at, stream, position)
            for stream, found in enumerate(self.streams)
            for position, (at, _) in enumerate(found)
        )
        if self.step is not None:
            last = max((at for at, _, _ in order), default=0) + max(self.widths) + self.step
            every = frozenset((stream, position) for _, stream, position in order)
            closes = [at for at in range(0, last, self.step) if any(self._windows(at, every))]
            # From the first window that holds something to the last that does.
            between = range(closes[0], closes[-1] + 1, self.step) if closes else ()
            yield from ((close, 0, every) for close in between)
            return
        for number, (at, _, _) in enumerate(order):
            seq = sum(other[0] == at for other in order[:number])
            yield at, seq, frozenset((s, p) for _, s, p in order[: number + 1])

    def _windows(self, at: int, come: frozenset[tuple[int, int]]) -> list[list[tuple[Triple, int]]]:
        return [
            [
                (triple, time)
                for position, (time, triple) in enumerate(found)
                if (stream, position) in come and at - width < time <= at
            ]
            for stream, (found, width) in enumerate(zip(self.streams, self.widths, strict=True))
        ]

    def _places(self, at: int, come: frozenset[tuple[int, int]]) -> Places:
        windows = self._windows(at, come)
        if self.named:
            named = zip(WINDOWS, windows, strict=True)
            return {window: Held.of(held, (), self.timed) for window, held in named}
        everything = [each for found in windows for each in found]
        return {None: Held.of(everything, self.static, self.timed)}


def _row(match: Match) -> tuple[object, ...]:
    terms = tuple(match.terms.get(name) for name in VARIABLES)
    if not match.times:
        return (*terms, None, None)
    start, end = min(match.times), max(match.times)
    moment = f"1970-01-01T00:00:00.{start:03}".rstrip("0").rstrip(".") if start else None
    return (*terms, f"{moment or '1970-01-01T00:00:00'}Z", Decimal(end - start) / 1000)


def rows(evaluation: Evaluation) -> Counter[tuple[object, ...]]:
    def shown(term: Term | None) -> object:
        match term:
            case Iri(value):
                return f"<{value}>"
            case Literal(lexical, datatype) if datatype.endswith("decimal"):
                return Decimal(lexical)
            case Literal(lexical):
                return lexical
            case _:
                return None

    return Counter(tuple(map(shown, row)) for row in evaluation.rows)


def found(played: Played) -> dict[tuple[int, int], Counter[tuple[object, ...]]]:
    assert played.errors == {}
    every = {(each.at // 1_000, each.seq): rows(each) for each in played.evaluations}
    return {key: each for key, each in every.items() if each}


def name(letter: str) -> str:
    return f"<http://x/{letter}>"


nodes = st.sampled_from([name(each) for each in "ab"])
properties = st.sampled_from([name(each) for each in "pq"])
triples = st.tuples(nodes, properties, nodes)
variables = st.sampled_from(VARIABLES)
patterns = st.one_of(
    st.tuples(variables, properties, variables),
    st.tuples(variables, properties, variables),
    st.tuples(variables, properties, nodes),
)


@st.composite
def leaves(draw: st.DrawFn, *, named: bool) -> Block:
    window = draw(st.sampled_from(list(WINDOWS))) if named else None
    # A match of several triples has an interval that is longer than a moment.
    asked = tuple(draw(st.lists(patterns, min_size=1, max_size=2)))
    return Leaf(asked, window, draw(st.sampled_from([None, None, None, None, 0, 3])))


@st.composite
def blocks(draw: st.DrawFn, *, named: bool, depth: int = 1) -> Block:
    if depth == 0 or draw(st.integers(0, 3)):
        return draw(leaves(named=named))
    one, other = (draw(blocks(named=named, depth=depth - 1)) for _ in range(2))
    return Either(one, other) if draw(st.booleans()) else draw(related(one, other))


def related(one: Block, other: Block) -> st.SearchStrategy[Block]:
    words = st.sampled_from([*RELATIONS, "BEFORE", "AFTER"])
    maybe = st.sampled_from([False, False, True])
    made = st.builds(Related, st.just(one), st.just(other), words, st.none(), maybe)
    near = st.builds(replace, made, word=st.sampled_from(["BEFORE", "AFTER"]), within=st.just(3))
    return st.one_of(made, made, near)


@st.composite
def scripts(draw: st.DrawFn) -> tuple[tuple[int, Triple], ...]:
    now, made = draw(st.integers(0, 4)), []
    for _ in range(draw(st.sampled_from([0, 3, 6, 6, 9]))):
        now += draw(st.sampled_from([0, 1, 1, 1, 2, 4]))
        made.append((now, draw(triples)))
    return tuple(made)


@st.composite
def cases(draw: st.DrawFn, *, step: bool = True) -> Case:
    named = draw(st.booleans())
    block = draw(related(*(draw(blocks(named=named)) for _ in range(2))))
    width = st.integers(4, 14)
    return Case(
        block,
        (draw(scripts()), draw(scripts())),
        tuple(draw(st.lists(triples, max_size=2, unique=True))),
        (draw(width), draw(width)),
        draw(st.integers(1, 6)) if step else None,
        draw(st.booleans()),
        named,
    )


def run(case: Case, batches: int | None = None, more: Mapping[str, str] | None = None) -> Played:
    return play_every_way(
        case.text,
        case.scripts,
        static=case.turtle,
        settings={**case.settings, **(more or {})},
        dialect=case.dialect,
        batches=batches,
    )


@often
@given(cases(), st.sampled_from([None, 1, 3]))
def test_blocks_in_time_when_windows_close(case: Case, batches: int | None) -> None:
    assert found(run(case, batches)) == case.expected(), case.text


@often
@given(cases(step=False), st.sampled_from([None, 1, 3]))
def test_blocks_in_time_when_elements_arrive(case: Case, batches: int | None) -> None:
    assert found(run(case, batches)) == case.expected(), case.text


@repeat(15, share=1 / 4)
@given(cases())
def test_rules_make_no_difference(case: Case) -> None:
    off = {f"rules.{rule.name}": "off" for rule in RULES}
    assert run(case, more=off).evaluations == run(case).evaluations


@repeat(15, share=1 / 8)
@given(cases(), st.sampled_from([1, 2, 3]), st.sampled_from([(0, 0), (3, 2)]))
def test_parts_make_no_difference(case: Case, partitions: int, cut: tuple[int, int]) -> None:
    assume(any(case.streams))
    scenario = Scenario(
        "case",
        "a random case",
        queries=(ScenarioQuery("q", case.dialect, case.text),),
        settings=case.settings,
        static=case.turtle,
        streams={iri: tuple(text.splitlines()) for iri, text in case.scripts.items()},
    )
    lines, pieces = cut
    with tempfile.TemporaryDirectory() as folder:
        several = Deployed([scenario], Path(folder), lines, partitions)
        made = several.played(lambda b, s: LocalRunner(b, s, pieces).run())["case"]
    assert found(made) == case.expected()
