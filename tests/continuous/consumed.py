"""What consumption strategies mean, in plain Python: one instant after the other, all with all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

Triple = tuple[str, str, str]
Binding = frozenset[tuple[str, str]]
Age = tuple[int, str, int]
Answers = list[tuple[int, Counter[tuple[str, ...]]]]


@dataclass(frozen=True)
class Came:
    """An element: when, on which stream, as which of it, and what it says."""

    time: int
    stream: str
    position: int
    triples: frozenset[Triple]

    @property
    def age(self) -> Age:
        return (self.time, self.stream, self.position)


@dataclass(frozen=True)
class Asked:
    """A query: patterns with variables `?x`, those over static data only, and a filter.

    Attributes:
        patterns: what streams are asked for, and static data too if they are seen there.
        fixed: what only static data are asked for.
        sees_static: whether patterns over streams see static data.
        without: what no answer may bind, if there is a filter.
        widths: of the window on each stream.
    """

    patterns: tuple[Triple, ...]
    fixed: tuple[Triple, ...]
    sees_static: bool
    without: tuple[str, str] | None
    widths: Mapping[str, int]

    @property
    def names(self) -> list[str]:
        every = (*self.patterns, *self.fixed)
        return sorted({term for each in every for term in each if term.startswith("?")})


def bound(pattern: Triple, triple: Triple) -> Binding | None:
    found: dict[str, str] = {}
    for asked, term in zip(pattern, triple, strict=True):
        if asked.startswith("?"):
            if found.setdefault(asked, term) != term:
                return None
        elif asked != term:
            return None
    return frozenset(found.items())


def together(bindings: Iterable[Binding]) -> Binding | None:
    found: dict[str, str] = {}
    for binding in bindings:
        for name, term in binding:
            if found.setdefault(name, term) != term:
                return None
    return frozenset(found.items())


def key_of(asked: Asked, place: int) -> set[str]:
    everything = [*asked.patterns, *asked.fixed]
    own = {term for term in everything[place] if term.startswith("?")}
    others = [each for number, each in enumerate(everything) if number != place]
    return own & {term for each in others for term in each}


def row(asked: Asked, binding: Binding) -> tuple[str, ...]:
    terms = dict(binding)
    return tuple(terms[name] for name in asked.names)


def passes(asked: Asked, binding: Binding) -> bool:
    return asked.without is None or asked.without not in binding


def held(asked: Asked, elements: Sequence[Came], at: int) -> list[Came]:
    return [each for each in elements if at - asked.widths[each.stream] < each.time <= at]


def of_static(pattern: Triple, static: frozenset[Triple]) -> set[Binding]:
    found = (bound(pattern, triple) for triple in static)
    return {each for each in found if each is not None}


def recent(
    asked: Asked, window: Sequence[Came], static: frozenset[Triple]
) -> Counter[tuple[str, ...]]:
    choices: list[set[Binding]] = []
    for place, pattern in enumerate(asked.patterns):
        key = key_of(asked, place)
        matched = [
            (each.age, binding)
            for each in window
            for triple in each.triples
            if (binding := bound(pattern, triple)) is not None
        ]
        kept = of_static(pattern, static) if asked.sees_static else set()
        for age, binding in matched:
            same = {pair for pair in binding if pair[0] in key}
            rivals = [a for a, b in matched if {pair for pair in b if pair[0] in key} == same]
            if age == max(rivals):
                kept.add(binding)
        choices.append(kept)
    choices += [of_static(pattern, static) for pattern in asked.fixed]
    found = (together(each) for each in product(*choices))
    return Counter(row(asked, each) for each in found if each is not None and passes(asked, each))


Occurrence = tuple[Triple, int, str]
Token = tuple[Occurrence | None, ...]


@dataclass
class Chronological:
    """What has been made so far, by which triples."""

    asked: Asked
    static: frozenset[Triple]
    made: set[Token] = field(default_factory=set)
    used: set[tuple[int, Occurrence]] = field(default_factory=set)

    def at(self, window: Sequence[Came]) -> Counter[tuple[str, ...]]:
        tokens: dict[Token, set[Binding]] = {}
        ages: dict[Token, list[tuple[object, ...]]] = {}
        slots = [list(self._slot(pattern, window)) for pattern in self.asked.patterns]
        fixed = [of_static(pattern, self.static) for pattern in self.asked.fixed]
        for chosen in product(*slots):
            token = tuple(occurrence for _, occurrence, _ in chosen)
            for completing in product(*fixed):
                whole = together([*(binding for _, _, binding in chosen), *completing])
                if whole is not None:
                    tokens.setdefault(token, set()).add(whole)
                    ages[token] = [age for age, _, _ in chosen]
        for token in sorted(tokens, key=lambda each: ages[each]):
            own = {(place, each) for place, each in enumerate(token) if each is not None}
            if token not in self.made and not own & self.used:
                self.made.add(token)
                self.used |= own
        return Counter(
            row(self.asked, binding)
            for token, bindings in tokens.items()
            if token in self.made
            for binding in bindings
            if passes(self.asked, binding)
        )

    def _slot(
        self, pattern: Triple, window: Sequence[Came]
    ) -> Iterator[tuple[tuple[object, ...], Occurrence | None, Binding]]:
        static = self.static if self.asked.sees_static else frozenset[Triple]()
        for binding in of_static(pattern, static):
            yield (-1,), None, binding
        first: dict[Occurrence, int] = {}
        for each in window:
            for triple in each.triples - static:
                occurrence = (triple, each.time, each.stream)
                first[occurrence] = min(each.position, first.get(occurrence, each.position))
        for (triple, time, stream), position in first.items():
            found = bound(pattern, triple)
            if found is not None:
                yield (time, stream, position, triple), (triple, time, stream), found


def on_close(
    how: str, asked: Asked, elements: Sequence[Came], static: frozenset[Triple], closes: list[int]
) -> Answers:
    """The answers at some closes."""
    state = Chronological(asked, static)
    windows = [(at, held(asked, elements, at)) for at in closes]
    if how == "recent":
        return [(at, recent(asked, window, static)) for at, window in windows]
    return [(at, state.at(window)) for at, window in windows]


def on_arrival(
    how: str, asked: Asked, elements: Sequence[Came], static: frozenset[Triple]
) -> Answers:
    """The answers at each element."""
    state, answers = Chronological(asked, static), list[tuple[int, Counter[tuple[str, ...]]]]()
    ordered = sorted(elements, key=lambda each: each.age)
    for number, each in enumerate(ordered, 1):
        window = held(asked, ordered[:number], each.time)
        found = recent(asked, window, static) if how == "recent" else state.at(window)
        answers.append((each.time, found))
    return answers
