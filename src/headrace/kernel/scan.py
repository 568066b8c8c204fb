"""Which statements match a triple pattern, and at which instants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from headrace.algebra.expressions import (
    Aggregate,
    Operation,
    PatternTerm,
    Timestamp,
    TriplePattern,
    Variable,
)
from headrace.algebra.operators import Operator, Temporal
from headrace.algebra.scope import of_term
from headrace.algebra.walk import arguments, everywhere, expressions, parts, within
from headrace.kernel.columns import (
    END,
    FIRST,
    GRAPH,
    ID,
    INSTANT,
    LAST,
    OBJECT,
    PREDICATE,
    SPAN,
    START,
    STREAM,
    SUBJECT,
    TIME,
    column,
    kind_of,
    number_of,
    time_of,
)
from headrace.kernel.data import Data, EachNamedGraph, Quads
from headrace.kernel.dictionary import Dictionary
from headrace.kernel.interval_rows import coalesced_rows, intervals_of, single_instant_rows
from headrace.kernel.solutions import Solutions, complete
from headrace.kernel.values import KIND, NUMBER
from headrace.planning.limits import Limit
from headrace.rdf.terms import BlankNode, Iri, Literal, QuotedTriple

_FLOATS_DIFFER: Final = 1e-6
_SAMPLE: Final = 1_000
"""If so many terms are not all different, the others are not looked at."""


@dataclass(slots=True)
class _Places:
    """Where the variables of a pattern stand, and what the rest of it asks of a statement."""

    within: str = ""
    columns: dict[str, str] = field(default_factory=dict)
    conditions: list[pl.Expr] = field(default_factory=list)
    tested: set[str] = field(default_factory=set)
    quoted: list[tuple[str, TriplePattern]] = field(default_factory=list)

    def add(self, place: str, term: PatternTerm, dictionary: Dictionary) -> None:
        match term:
            case Variable():
                self.bind(place, column(term))
            case Iri() | BlankNode() | Literal() | QuotedTriple():
                self.conditions.append(pl.col(place) == dictionary.encode(term))
                self.tested.add(place)
            case TriplePattern():
                hidden = f"{self.within} quoted {place}"
                self.columns[hidden] = place
                self.quoted.append((hidden, term))

    def bind(self, place: str, name: str) -> None:
        if name in self.columns:
            self.conditions.append(pl.col(place) == pl.col(self.columns[name]))
            self.tested.add(place)
        else:
            self.columns[name] = place

    def names(self, data: Data, *, stamped: bool) -> list[str]:
        """The columns of statements that are looked at."""
        apart = data.quads.instants is not None and len(data.quads.instants) > 1
        instants = [FIRST, LAST] if apart else []
        times = [TIME, STREAM] if data.quads.timed or stamped else []
        graph = [GRAPH] if data.conditions() else []
        return [*instants, *times, *graph, *self.columns.values(), *self.tested]

    def key_of(self, matches: pl.DataFrame) -> str | None:
        """A variable whose terms alone tell all matches apart, if there is: none is repeated."""
        for name, place in self.columns.items():
            terms = matches[place]
            some = terms[:_SAMPLE]
            differ = name.startswith("?") and some.n_unique() == some.len()
            if differ and terms.n_unique() == terms.len():
                return name
        return None


@dataclass(frozen=True, slots=True)
class Share:
    """The solutions that fall to one of several parts, by the term of a variable.

    Attributes:
        key: the variable.
        part: which part.
        parts: how many there are.
    """

    key: Variable
    part: int
    parts: int

    def owns(self, ids: pl.Expr) -> pl.Expr:
        """Which terms fall to it; an id is a hash, so its lowest bits are as good as any."""
        return (ids & (BUCKETS - 1)) % self.parts == self.part

    def of(self, found: pl.DataFrame) -> pl.DataFrame:
        """Those of some solutions that fall to it; all, if they do not say."""
        name = column(self.key)
        return found.filter(self.owns(pl.col(name))) if name in found.columns else found


BUCKETS: Final = 64
"""Terms fall into so many buckets, and buckets to parts: their number may change."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked of a variable besides its term.

    Attributes:
        valued: the variables whose kinds and numbers come along where they are at hand.
        stamped: the variables whose latest stream times come along.
        share: the part of the solutions that is looked for here.
        spanned: whether the intervals of solutions come along.
        intervals: whether solutions may hold from one instant to another, instead of at one.
    """

    valued: frozenset[Variable] = frozenset()
    stamped: frozenset[Variable] = frozenset()
    share: Share | None = None
    spanned: bool = False
    intervals: bool = False

    @property
    def timed(self) -> bool:
        """Whether somebody asks for times."""
        return self.spanned or bool(self.stamped)

    @classmethod
    def by(cls, operator: Operator, share: Share | None, *, with_intervals: bool) -> Wanted:
        """What a pattern asks of its variables."""
        asked = _valued(operator), _with_times(operator), share, asks_intervals(operator)
        return cls(*asked, with_intervals)


NOTHING_MORE: Final = Wanted()


def scan(
    data: Data,
    pattern: TriplePattern,
    dictionary: Dictionary,
    wanted: Wanted = NOTHING_MORE,
    limits: tuple[Limit, ...] = (),
    loose_from: int | None = None,
) -> Solutions:
    """The solutions of a triple pattern; equal triples of a graph are one.

    Args:
        data: where to look.
        pattern: what to look for.
        dictionary: the terms.
        wanted: what is asked of variables besides their terms.
        limits: what will be asked of the object afterwards; what does not meet them may be missing.
        loose_from: from how many matches on some may be there twice, if few seem to be.
    """
    below = None
    if data.beneath is not None:
        below = scan(data.beneath, pattern, dictionary, wanted, limits)
    if below is None or below.height == 0:
        return _scanned(data, pattern, dictionary, wanted, limits, loose_from)
    found = _scanned(data, pattern, dictionary, wanted, limits)
    return below if found.height == 0 else _united(found, below, data)


def _united(above: Solutions, below: Solutions, data: Data) -> Solutions:
    """What is in windows, and what is static and not in a window too."""
    assert data.quads.instants is not None, "only windows lie above other data"
    if above.has_intervals and data.quads.timed:  # there may be several of a statement
        above = above.expanded(data.quads.instants)
    if above.has_intervals:  # what is static holds at all instants, so that it adds nothing then
        names = above.names
        if not names:
            return below
        rows = above.frame.join(below.frame.select(names), on=names, how="anti")
        static = complete(below.with_intervals(data.quads.instants).frame, names)
        return above.with_frame(pl.concat([rows.select(FIRST, LAST, *names), static]))
    rest = below.expanded(data.quads.instants).frame.select(INSTANT, *above.names)
    rest = rest.join(above.frame, on=[INSTANT, *above.names], how="anti")
    frame = above.frame.select(INSTANT, *above.names, *above.stamps)
    return above.with_frame(pl.concat([frame, rest], how="diagonal"))


def _scanned(
    data: Data,
    pattern: TriplePattern,
    dictionary: Dictionary,
    wanted: Wanted,
    limits: tuple[Limit, ...],
    loose_from: int | None = None,
) -> Solutions:
    places = _Places()
    for place, term in _parts(pattern):
        if place != PREDICATE or not isinstance(term, Iri):
            places.add(place, term, dictionary)
    if isinstance(data.active, EachNamedGraph):
        places.bind(GRAPH, column(data.active.variable))
    predicate = pattern.predicate
    fixed = dictionary.encode(predicate) if isinstance(predicate, Iri) else None
    if fixed is not None and pattern.object in wanted.valued and data.quads.is_indexed:
        name = column(pattern.object)
        places.columns |= {kind_of(name): KIND, number_of(name): NUMBER}
        statements = data.quads.with_values(fixed, dictionary)
    else:
        names = places.names(data, stamped=wanted.timed)
        statements = data.quads.with_predicate(fixed, names)
    statements, conditions = data.active_part(statements, fixed)
    met: tuple[Limit, ...] = ()
    if limits and fixed is not None and not data.keyed and NUMBER in statements.columns:
        exact = data.quads.has_only_plain_numbers(fixed)
        statements, met = within_limits(statements, limits, exact), limits if exact else ()
    conditions += places.conditions
    matches = statements.filter(*conditions) if conditions else statements
    variables = [column(each) for each in of_term(pattern) if each in wanted.stamped]
    stamped = [*variables, SPAN] if wanted.spanned else variables
    plain = data.keyed and not stamped and not data.quads.timed
    loose = plain and loose_from is not None and matches.height >= loose_from
    loose = loose and places.key_of(matches[:_SAMPLE]) is not None
    key = places.key_of(matches) if data.keyed and not stamped and not loose else None
    repeated = key is None and not loose
    if wanted.intervals and not stamped and lasts(matches):
        found = _with_intervals(matches, places.columns, data.quads, repeated)
    else:
        found = at_instants(matches, places.columns, data.quads, data.merges, stamped, repeated)
    for hidden, quoted in places.quoted:
        found = unquoted(found, hidden, quoted, dictionary)
    if wanted.share is not None:
        found = wanted.share.of(found)
    if loose:
        return Solutions(found, data.quads.keyed, repeated=True)
    identified = None
    if key is not None:
        identified = frozenset({INSTANT, key})
    elif data.keyed and not data.quads.timed and not stamped:
        identified = frozenset({INSTANT, *(n for n in found.columns if n.startswith("?"))})
    if fixed is not None and isinstance(pattern.subject, Variable) and not places.quoted:
        functional = data.quads.is_functional(fixed)
        identified = frozenset({column(pattern.subject)}) if functional else identified
    return Solutions(found, data.quads.keyed, identified, met)


def _valued(operator: Operator) -> frozenset[Variable]:
    """The variables whose values are compared or summed up, not only passed on."""
    found: set[Variable] = set()
    for each in within(operator):
        for expression in expressions(each):
            for part in parts(expression):
                if isinstance(part, Operation | Aggregate):
                    found |= {term for term in arguments(part) if isinstance(term, Variable)}
    return frozenset(found)


def _with_times(operator: Operator) -> frozenset[Variable]:
    """The variables whose times are asked for."""
    calls = [
        part
        for each in everywhere(operator)
        for expression in expressions(each)
        for part in parts(expression)
        if isinstance(part, Timestamp) and len(part.arguments) == 1
    ]
    return frozenset(call.arguments[0] for call in calls if isinstance(call.arguments[0], Variable))


def asks_intervals(operator: Operator) -> bool:
    """Whether somebody asks from when to when the stream triples behind a solution happened."""
    return any(
        isinstance(each, Temporal)
        or any(
            isinstance(part, Timestamp) and part.moment is not None
            for expression in expressions(each)
            for part in parts(expression)
        )
        for each in everywhere(operator)
    )


def within_limits(
    statements: pl.DataFrame, limits: Sequence[Limit], exact: bool = False
) -> pl.DataFrame:
    """Statements in the order of their numbers, without those that do not meet limits.

    Args:
        statements: what is no plain number stands at the end, and stays.
        limits: what to meet.
        exact: whether numbers compare as doubles do. Floats have a precision of their own, so that
            otherwise some beside a limit stay too.
    """
    count = statements.height - statements[NUMBER].null_count()
    numbers = statements[NUMBER][:count].to_numpy()
    start, stop = 0, count
    for limit in limits:
        slack = 0.0 if exact else abs(limit.number) * _FLOATS_DIFFER
        if limit.symbol in {">", ">=", "="}:
            beyond = exact and limit.symbol == ">"
            start = max(start, _place(numbers, limit.number - slack, after=beyond))
        if limit.symbol in {"<", "<=", "="}:
            beyond = not exact or limit.symbol != "<"
            stop = min(stop, _place(numbers, limit.number + slack, after=beyond))
    met = statements[start : max(start, stop)]
    return pl.concat([met, statements[count:]]) if count < statements.height else met


def _place(numbers: npt.NDArray[np.float64], number: float, *, after: bool) -> int:
    """Where a number stands among sorted ones: before its equals, or after them."""
    return int(np.searchsorted(numbers, number, "right" if after else "left"))


def _parts(pattern: TriplePattern) -> tuple[tuple[str, PatternTerm], ...]:
    return (SUBJECT, pattern.subject), (PREDICATE, pattern.predicate), (OBJECT, pattern.object)


def at_instants(
    matches: pl.DataFrame,
    columns: dict[str, str],
    quads: Quads,
    merge: bool = False,
    stamped: Sequence[str] = (),
    repeated: bool = True,
) -> pl.DataFrame:
    """Columns of matches with the instant they hold at, at each one from first to last.

    Args:
        matches: statements.
        columns: where each column is found.
        quads: what they are of.
        merge: whether equal triples of several graphs must be made one.
        stamped: the columns whose latest stream times come along; that of no variable is the
            interval of the whole match.
        repeated: whether a triple may be there several times.
    """
    if quads.instants is None:
        found = matches.with_columns(pl.lit(0, pl.Int64).alias(INSTANT)).select(INSTANT, **columns)
        return found.unique() if merge else found
    if stamped and STREAM in matches.columns:
        return _stamped(matches, columns, quads, stamped)
    times = [TIME] if quads.timed and repeated else []
    expanded = _at_each(matches, quads.instants, [*times, *columns.values()])
    named = [expanded[place].alias(name) for name, place in columns.items()]
    found = pl.DataFrame([expanded[INSTANT], *(expanded[name] for name in times), *named])
    if not repeated:
        return found
    # The windows that hold a triple may overlap those that hold it again: it counts once.
    distinct = found.unique()
    return distinct.drop(times) if times else distinct


def lasts(matches: pl.DataFrame) -> bool:
    """Whether a match holds at several instants."""
    if FIRST not in matches.columns:  # all of them hold at the only instant, or always
        return False
    first, last = intervals_of(matches)
    return not np.array_equal(first, last)


def _with_intervals(
    matches: pl.DataFrame, columns: dict[str, str], quads: Quads, repeated: bool
) -> pl.DataFrame:
    """Columns of matches with the first and the last instant at which they hold."""
    times = [TIME] if quads.timed and repeated else []
    kept = [matches[name] for name in (FIRST, LAST, *times)]
    found = pl.DataFrame([*kept, *(matches[place].alias(name) for name, place in columns.items())])
    if not repeated:
        return found
    ids = [name for name, place in columns.items() if place not in {KIND, NUMBER}]
    return coalesced_rows(found, [*times, *ids]).drop(times)


def _at_each(matches: pl.DataFrame, instants: range, names: Sequence[str]) -> pl.DataFrame:
    """Some columns of matches, with a row for each instant at which they hold."""
    needed = [matches[name] for name in dict.fromkeys(names) if name not in {FIRST, LAST}]
    if len(instants) <= 1:  # all of them hold at the only one
        only = pl.Series(INSTANT, [instants.start], pl.Int64).new_from_index(0, matches.height)
        return pl.DataFrame([only, *needed])
    return single_instant_rows(pl.DataFrame([matches[FIRST], matches[LAST], *needed]))


def _stamped(
    matches: pl.DataFrame, columns: dict[str, str], quads: Quads, stamped: Sequence[str]
) -> pl.DataFrame:
    """Matches with the latest time of each stream in which they are, at each instant."""
    assert quads.instants is not None, "only what windows hold has times"
    named = matches.with_columns(pl.col(place).alias(name) for name, place in columns.items())
    key = [*columns, *([TIME] if quads.timed else [])]
    streams = matches[STREAM].unique().sort().to_list()
    latest = {stream: f"latest {stream}" for stream in streams}
    again = named.select(key).is_duplicated() if key else named.select(STREAM)[STREAM] >= 0
    # What is there once need not be put together, which is dear where it is there at many instants.
    alone = _at_each(named.filter(~again), quads.instants, named.columns).with_columns(
        pl.when(pl.col(STREAM) == stream).then(pl.col(TIME)).alias(name)
        for stream, name in latest.items()
    )
    several = _at_each(named.filter(again), quads.instants, named.columns)
    together = several.group_by([INSTANT, *key], maintain_order=True).agg(
        pl.col(TIME).filter(pl.col(STREAM) == stream).max().alias(name)
        for stream, name in latest.items()
    )
    times = [
        pl.col(latest[stream]).alias(time_of(name, stream))
        for name in dict.fromkeys(stamped)  # a triple may bind a variable twice
        if name != SPAN
        for stream in streams
    ]
    if SPAN in stamped:
        moment = pl.max_horizontal(pl.lit(None, pl.Int64), *latest.values())
        times += [moment.alias(END), (-moment).alias(START)]
    parts = [part.select(INSTANT, *columns, *times) for part in (alone, together)]
    return pl.concat(parts)


def unquoted(
    found: pl.DataFrame, hidden: str, pattern: TriplePattern, dictionary: Dictionary
) -> pl.DataFrame:
    """Solutions in which a column holds quoted triples that match a pattern."""
    places = _Places(hidden)
    for place, term in _parts(pattern):
        places.add(place, term, dictionary)
    triples = dictionary.quoted.filter(*places.conditions).select(
        pl.col(ID).alias(hidden), **places.columns
    )
    shared = [name for name in places.columns if name in found.columns]
    joined = found.join(triples, on=[hidden, *shared], how="inner").drop(hidden)
    for deeper, quoted in places.quoted:
        joined = unquoted(joined, deeper, quoted, dictionary)
    return joined
