"""Where what was played differs from what a scenario says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import permutations
from typing import TYPE_CHECKING, Final, TypeAlias

from headrace.rdf.elements import Element
from headrace.rdf.terms import BlankNode, Iri, Literal, Quad, QuotedTriple, Term, canonical
from headrace.rdf.times import microseconds, milliseconds
from headrace.rdf.vocabulary import XSD_DATE_TIME, XSD_INTEGER
from headrace.scenarios.values import (
    NOTHING,
    UNBOUND,
    UNREADABLE,
    Bounds,
    Counts,
    Emission,
    Instant,
    Row,
    Scenario,
)

if TYPE_CHECKING:
    from headrace.results.evaluations import Evaluation
    from headrace.testing import Played

_EMPTY: Final = Instant(0, 0)


def problems(scenario: Scenario, played: Played) -> list[str]:
    """Where what was played differs from what the scenario says; empty if nowhere."""
    found = [f"{query} has stopped: {reason}" for query, reason in played.errors.items()]
    found += [each for emission in scenario.emits for each in _unlike(emission, scenario, played)]
    for stream in scenario.streams:
        late = [each.element for each in played.late if each.stream == stream]
        found += _unlike_late(scenario.late.get(stream, ()), late, stream)
        rejected = [
            None if each.element is None else each.element.time
            for each in played.rejected
            if each.stream == stream
        ]
        expected = scenario.rejected.get(stream, ())
        if Counter(rejected) != Counter(expected):
            found.append(
                f"rejected of <{stream}>: expected {_times(expected)}, found {_times(rejected)}"
            )
    for stream, counts in scenario.counts.items():
        for name in Counts.__dataclass_fields__:
            number, counted = getattr(counts, name), getattr(played.counters[stream], name)
            if number is not None and number != counted:
                found.append(f"{name} of <{stream}>: expected {number}, found {counted}")
    return found


def _unlike(emission: Emission, scenario: Scenario, played: Played) -> Iterator[str]:
    reported = [each for each in played.evaluations if each.query == emission.query]
    keys = [(each.at, each.seq) for each in reported]
    if sorted(set(keys)) != keys:
        order = ", ".join(_moment(*key) for key in keys)
        yield f"{emission.query}: expected each instant once, one after the other, found {order}"
    expected = {(each.at, each.seq): each for each in emission.instants}
    found = dict(zip(keys, reported, strict=True))
    show = _Shown(scenario.prefixes)
    for key in sorted(expected.keys() | found.keys()):
        where = f"{emission.query} at {_moment(*key)}"
        if key not in found:
            yield f"{where}: expected {show.instant(expected[key])}, found no report"
        elif key not in expected:
            yield f"{where}: expected no report, found {show.instant(_as_instant(found[key]))}"
        else:
            yield from _unlike_instant(where, expected[key], found[key], emission.in_order, show)


def _unlike_instant(
    where: str, expected: Instant, reported: Evaluation, in_order: bool, show: _Shown
) -> Iterator[str]:
    where = f"{where} (line {expected.line})"
    for name, bounds in expected.windows:
        windows = dict(reported.windows)
        held = windows.get(name) if name is not None else next(iter(windows.values()), None)
        if held != bounds or (name is None and len(windows) != 1):
            shown = ", ".join(f"{each} {_interval(its)}" for each, its in windows.items())
            yield f"{where}: expected the window {_interval(bounds)}, found {shown or 'none'}"
    if expected.error is not None or reported.error is not None:
        if expected.error is None or expected.error not in (reported.error or ""):
            yield f"{where}: expected {show.instant(expected)}, found error {reported.error}"
        return
    found = _as_instant(reported)
    same = (
        _same([_flat(row) for row in expected.rows], [_flat(row) for row in found.rows], in_order)
        and _same([_parts(each) for each in expected.quads], [_parts(each) for each in found.quads])
        and expected.boolean == found.boolean
    )
    if not same:
        yield f"{where}: expected {show.instant(expected)}, found {show.instant(found)}"


def _as_instant(reported: Evaluation) -> Instant:
    rows = (
        tuple(
            sorted(
                (name, term)
                for name, term in zip(reported.variables, row, strict=True)
                if term is not None
            )
        )
        for row in reported.rows
    )
    return replace(
        _EMPTY,
        rows=tuple(rows),
        quads=tuple(reported.quads),
        boolean=reported.boolean,
        error=reported.error,
    )


_Part: TypeAlias = Term | str | None


def _flat(row: Row) -> tuple[_Part, ...]:
    return tuple(part for column in row for part in column)


def _parts(quad: Quad) -> tuple[_Part, ...]:
    return (quad.subject, quad.predicate, quad.object, quad.graph)


def _same(
    expected: Sequence[tuple[_Part, ...]],
    found: Sequence[tuple[_Part, ...]],
    in_order: bool = False,
) -> bool:
    """Whether they are equal, in some order and for some names of the blank nodes."""
    labels, others = _labels(expected), _labels(found)
    if len(labels) != len(others):
        return False
    collected = tuple if in_order else Counter
    wanted = collected(_renamed(each, {}) for each in expected)
    return any(
        collected(_renamed(each, dict(zip(others, names, strict=True))) for each in found) == wanted
        for names in permutations(labels)
    )


def _labels(rows: Iterable[tuple[_Part, ...]]) -> list[str]:
    """The blank nodes, each once."""

    def within(part: _Part) -> Iterator[str]:
        if isinstance(part, BlankNode):
            yield part.label
        elif isinstance(part, QuotedTriple):
            for each in (part.subject, part.predicate, part.object):
                yield from within(each)

    return sorted({label for row in rows for part in row for label in within(part)})


def _renamed(row: tuple[_Part, ...], names: Mapping[str, str]) -> tuple[_Part, ...]:
    return tuple(_part(part, names) for part in row)


def _part(part: _Part, names: Mapping[str, str]) -> _Part:
    match part:
        case BlankNode(label):
            return BlankNode(names.get(label, label))
        case QuotedTriple(subject, predicate, object_):
            inner = (_part(each, names) for each in (subject, predicate, object_))
            return " ".join(map(str, inner))
        case Literal(lexical, datatype) if datatype == XSD_DATE_TIME:
            return str(microseconds(lexical))  # 00:00:05Z and 00:00:05.000Z are one time
        case _:
            return part


def _unlike_late(
    expected: Iterable[Element], found: Iterable[Element], stream: str
) -> Iterator[str]:
    wanted = Counter((each.time, frozenset(each.quads)) for each in expected)
    late = Counter((each.time, frozenset(each.quads)) for each in found)
    if wanted != late:
        texts = (_times(time for time, _ in each.elements()) for each in (wanted, late))
        yield f"late of <{stream}>: expected {next(texts)}, found {next(texts)}"


# -- Showing ----------------------------------------------------------------------------------


class _Shown:
    """Writes things as a scenario has them."""

    def __init__(self, prefixes: Mapping[str, str]) -> None:
        self._prefixes = prefixes

    def instant(self, instant: Instant) -> str:
        if instant.error is not None:
            return f"error {instant.error}"
        if instant.boolean is not None:
            return str(instant.boolean).lower()
        if instant.quads:
            return " ".join(sorted(map(self._quad, instant.quads)))
        return " | ".join(map(self._row, instant.rows)) or NOTHING

    def _row(self, row: Row) -> str:
        return " ".join(f"{name}={self._term(term)}" for name, term in row) or UNBOUND

    def _quad(self, quad: Quad) -> str:
        statement = " ".join(map(self._term, (quad.subject, quad.predicate, quad.object)))
        graph = "" if quad.graph is None else f"{self._term(quad.graph)} "
        return f"{graph}{{ {statement} }}"

    def _term(self, term: Term) -> str:
        if isinstance(term, Literal) and term.datatype in (XSD_INTEGER, XSD_DATE_TIME):
            return term.lexical
        if isinstance(term, Iri):
            for prefix, start in self._prefixes.items():
                if term.value.startswith(start):
                    return f"{prefix}:{term.value.removeprefix(start)}"
        return canonical(term)


def _times(times: Iterable[int | None]) -> str:
    shown = (UNREADABLE if time is None else _time(time) for time in times)
    return ", ".join(shown) or "none"


def _interval(bounds: Bounds) -> str:
    return f"[{', '.join('-' if each is None else _time(each) for each in bounds)}]"


def _moment(at: int, seq: int) -> str:
    return f"{_time(at)}#{seq}" if seq else _time(at)


def _time(time: int) -> str:
    return f"{time // _SECOND}s" if time % _SECOND == 0 else f"{milliseconds(time)}ms"


_SECOND: Final = 1_000_000
