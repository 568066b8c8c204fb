"""The matches of a query for which triples are chosen: the newest, or the oldest, each once.

What is chosen is given to the evaluation of the query as the solutions of its patterns. The oldest
are chosen from evaluation to evaluation: a match stays one as long as windows hold its triples, and
none of them makes another one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, assert_never

import numpy as np
import polars as pl

from headrace.algebra.reporting import Consumption
from headrace.algebra.scope import possible
from headrace.algebra.windows import TimeWindow
from headrace.errors import InternalError
from headrace.functions.times import date_time
from headrace.kernel.answer import active_data
from headrace.kernel.arrived import active_graph
from headrace.kernel.columns import (
    CONTENTS,
    FIRST,
    GRAPH,
    INSTANT,
    LAST,
    OBJECT,
    POSITION,
    PREDICATE,
    STATEMENT,
    STREAM,
    SUBJECT,
    TIME,
    column,
)
from headrace.kernel.contents import Held
from headrace.kernel.data import Data, Quads
from headrace.kernel.evaluation import Around, context_of
from headrace.kernel.interval_rows import single_instant_rows
from headrace.kernel.join import join
from headrace.kernel.scan import scan
from headrace.kernel.snapshot import evaluate, holds
from headrace.kernel.solutions import Solutions
from headrace.kernel.surroundings import Surroundings
from headrace.planning.consuming import Chosen, Consuming
from headrace.planning.join_order import Estimate, greedy
from headrace.planning.matching import Scanned
from headrace.rewrite.optimise import PRECOMPUTE

_AGE: Final = (TIME, STREAM, POSITION)
_RANK: Final = "rank"
_ALL: Final = "all"
"""A column that is the same for all, so that there is always one to go by."""
_NEXT_FIRST: Final = "first of the next"
_NEXT_LAST: Final = "last of the next"
_OCCURRENCE: Final = (*STATEMENT, TIME, STREAM)
"""What tells the triple of one time from any other; it may have come several times then."""
_STATIC: Final = -1
"""The number of what is static: older than all, and never used up."""
_GONE: Final = -2
"""The number of what no window holds any more."""
_FEW: Final = 1_000
"""So many statements are looked at in one pass, whether or not a window holds all of them."""

Token = tuple[int, ...]
"""A match by the numbers of its triples, pattern by pattern."""


@dataclass(frozen=True)
class Consumed(Held):
    """The contents of a query's windows, and what is chosen of them.

    Attributes:
        around: what the query shares with others.
        used: the matches that were made before.
    """

    around: Around
    used: pl.DataFrame | None = None
    _made: dict[int, pl.DataFrame] = field(default_factory=dict, repr=False)

    @property
    def consuming(self) -> Consuming:
        """How triples are chosen."""
        assert self.plan.consuming is not None, "triples are chosen for the query"
        return self.plan.consuming

    def blocks(self) -> Iterator[tuple[int, int]]:
        """The instants in runs that can each be evaluated in one pass.

        What comes in a run is joined with all that comes in it, if it is used once only: then time
        goes on by no more than a window, but for small runs.
        """
        frames = [window.frame for window in self.plan.windows]
        widths = [frame.width for frame in frames if isinstance(frame, TimeWindow)]
        if self.consuming.how is Consumption.RECENT or len(widths) < len(frames):
            yield from super().blocks()
            return
        times, rows = self.instants.times, np.cumsum(self.sizes())
        for start, end in super().blocks():
            begin = start
            while begin < end:
                before = int(rows[begin - 1]) if begin else 0
                few = int(np.searchsorted(rows, before + _FEW, "right"))
                until = int(np.searchsorted(times, times[begin] + max(widths), "right"))
                stop = min(end, max(few, until, begin + 1))
                yield begin, stop
                begin = stop

    def given(self, start: int, stop: int) -> Mapping[int, Solutions]:
        """The matches at a run of instants, numbered from 0."""
        number = stop - start
        tables = [self._table(each.scanned, start, stop) for each in self.consuming.patterns]
        match self.consuming.how:
            case Consumption.RECENT:
                found = self._recent(tables, number)
            case Consumption.CHRONOLOGICAL:
                found, self._made[stop] = self._oldest(tables, number, self._before(start))
            case Consumption.UNRESTRICTED:
                raise InternalError("all triples make matches where none are chosen")
            case _:
                assert_never(self.consuming.how)
        core = self.consuming.core
        assert core is not None, "there are matches to choose from"
        names = [name for name in map(column, possible(core.operator)) if name in found.names]
        matches = found.expanded(range(number)).frame.select(INSTANT, *sorted(names))
        return {id(core.operator): Solutions(matches, keyed=True)}

    @property
    def reached(self) -> pl.DataFrame | None:
        """The matches that were made, of which a window may still hold a triple."""
        if self.consuming.how is not Consumption.CHRONOLOGICAL:
            return None
        made = self._before(len(self.instants))
        oldest = {
            number: int(elements.times.min(initial=np.iinfo(np.int64).max))
            for number, (_, elements) in enumerate(self.logs)
        }
        kept = [
            pl.col(_slot(place, TIME))
            >= pl.col(_slot(place, STREAM)).replace_strict(oldest, return_dtype=pl.Int64)
            for place in range(len(self.consuming.patterns))
        ]
        return made.filter(pl.any_horizontal(each.fill_null(value=False) for each in kept))

    def _before(self, start: int) -> pl.DataFrame:
        """The matches that had been made before an instant."""
        earlier = [place for place in self._made if place <= start]
        if earlier:
            return self._made[max(earlier)]
        if self.used is not None:
            return self.used
        slots = range(len(self.consuming.patterns))
        names = [_slot(place, name) for place in slots for name in _OCCURRENCE]
        return pl.DataFrame(schema=dict.fromkeys(names, pl.Int64))

    # -- what there is to choose from ------------------------------------------------------

    def _table(self, scanned: Scanned, start: int, stop: int) -> _Table:
        """All that matches a pattern, in windows and in static data."""
        dictionary = self.around.dictionary
        active = active_graph(scanned.graph, dictionary)
        held = [
            self.statements(number, start, stop, (*CONTENTS, POSITION))
            for number in scanned.windows
        ]
        statements = pl.concat(held) if held else _no_statements()
        rows = pl.int_range(statements.height, dtype=pl.Int64, eager=True)
        alone = statements.with_columns(rows.alias(FIRST), rows.alias(LAST)).select(*CONTENTS)
        # Each as if it were of an instant of its own, so that it is known which one matches.
        data = Data(Quads(alone, range(statements.height))).within(active)
        found = scan(data, scanned.pattern, dictionary).frame
        names = sorted(column(each) for each in scanned.variables)
        where = statements[found[INSTANT]]
        matched = where.hstack(found.select(names))
        static = None
        if scanned.over_static:
            below = scan(self._static.within(active), scanned.pattern, dictionary)
            # A pattern without variables has rows too, by their instant.
            bound = below.frame.with_columns(pl.lit(0, pl.Int64).alias(INSTANT))
            static = bound.select(INSTANT, *names).unique() if below.height else None
        return _Table(matched, static, tuple(names))

    @cached_property
    def _static(self) -> Data:
        return active_data(self.plan.query.dataset, self.around.static, self.around.dictionary)

    @cached_property
    def _surroundings(self) -> Surroundings:
        return Surroundings(
            self.around.dictionary,
            budget=self.around.budget(),
            context=context_of(
                self.plan, date_time(0), self.around.functions, self.around.failures
            ),
            precomputes=self.plan.applies(PRECOMPUTE),
        )

    def _joined(self, parts: Sequence[Solutions]) -> Solutions:
        """What matches all patterns, and the static ones too."""
        every = [*parts, *self._static_parts()]
        estimates = [Estimate(frozenset(part.names), part.height) for part in every]
        found: Solutions | None = None
        for position in greedy(estimates):
            part = every[position]
            found = part if found is None else join(found, part, self._surroundings.budget)
        assert found is not None, "there is a pattern"
        self._surroundings.budget.check(found.height, "the join of all patterns")
        return found

    def _static_parts(self) -> Iterator[Solutions]:
        for part in self.consuming.branch.static:
            found = evaluate(part.operator, self._static, self._surroundings)
            names = {column(one): column(other) for one, other in part.names}
            yield Solutions(found.frame.select(INSTANT, *found.names).rename(names, strict=False))

    def _meeting_conditions(self, found: Solutions) -> Solutions:
        for condition in self.consuming.branch.conditions:
            found = found.filtered(holds(condition, found, self._static, self._surroundings))
        return found

    # -- the newest ------------------------------------------------------------------------

    def _recent(self, tables: Sequence[_Table], number: int) -> Solutions:
        pairs = zip(self.consuming.patterns, tables, strict=True)
        newest = [_newest(chosen, table, number) for chosen, table in pairs]
        return self._meeting_conditions(self._joined(newest))

    # -- the oldest, each once -------------------------------------------------------------

    def _oldest(
        self, tables: Sequence[_Table], number: int, before: pl.DataFrame
    ) -> tuple[Solutions, pl.DataFrame]:
        """The matches at each instant, and all that have been made with them."""
        occurrences = [self._in_order(table) for table in tables]
        parts = [
            _numbered(place, table, each, number)
            for place, (table, each) in enumerate(zip(tables, occurrences, strict=True))
        ]
        found = _lasting(self._joined(parts).frame, len(tables))
        slots = [_slot(place, _RANK) for place in range(len(tables))]
        known = _known(before, occurrences)
        tokens = found.group_by(slots).agg(pl.col(FIRST).min()).sort(FIRST, *slots)
        made, new = _made_of(tokens.select(slots).rows(), known)
        chosen = pl.DataFrame(list(made), schema=dict.fromkeys(slots, pl.Int64), orient="row")
        matches = found.join(chosen, on=slots, how="semi")
        held = self._meeting_conditions(Solutions(matches)).frame
        expanded = single_instant_rows(held.drop(INSTANT)).unique(
            [INSTANT, *slots, *(name for name in held.columns if name.startswith("?"))]
        )
        return Solutions(expanded, keyed=True), pl.concat([before, _written(new, occurrences)])

    def _in_order(self, table: _Table) -> pl.DataFrame:
        """The triples that match a pattern, each once for each of its times, the oldest first."""
        found = table.matched.group_by(_OCCURRENCE).agg(pl.col(POSITION).min())
        if table.static is not None:  # what is static as well is static
            matched = table.matched.with_columns(pl.lit(0, pl.Int64).alias(INSTANT))
            same = matched.join(table.static, on=[INSTANT, *table.names], how="semi")
            found = found.join(same, on=_OCCURRENCE, how="anti", nulls_equal=True)
        places = (GRAPH, SUBJECT, PREDICATE, OBJECT)
        texts = self.around.dictionary.texts_of([found[name] for name in places])
        by_text = [text.alias(f"text {name}") for text, name in zip(texts, places, strict=True)]
        return found.with_columns(by_text).sort(
            *_AGE, *(text.name for text in by_text), nulls_last=False
        )


@dataclass(frozen=True, slots=True)
class _Table:
    """What matches a triple pattern.

    Attributes:
        matched: statements of windows, with what they bind.
        static: `instant` and what static data bind, if there is something.
        names: the columns of variables.
    """

    matched: pl.DataFrame
    static: pl.DataFrame | None
    names: tuple[str, ...]


def _no_statements() -> pl.DataFrame:
    return pl.DataFrame(schema=dict.fromkeys((*CONTENTS, POSITION), pl.Int64))


def _newest(chosen: Chosen, table: _Table, number: int) -> Solutions:
    """At each instant, what has come last for each key; what came with it counts too."""
    key = [column(each) for each in chosen.key]
    ranked = table.matched.with_columns(
        pl.struct(_AGE).rank("dense").cast(pl.Int64).alias(_RANK), pl.lit(0, pl.Int64).alias(_ALL)
    )
    expanded = single_instant_rows(_until_the_next(ranked, [_ALL, *key]))
    last = pl.col(_RANK).max().over(INSTANT, *key)
    return _with_static(expanded.filter(pl.col(_RANK) == last), table, number)


def _until_the_next(ranked: pl.DataFrame, key: list[str]) -> pl.DataFrame:
    """What matches a pattern, without most of the instants at which something newer does."""
    each = ranked.group_by(*key, _RANK).agg(pl.col(FIRST).sort_by(LAST).last(), pl.col(LAST).max())
    newer = each.sort(_RANK).select(
        *key,
        _RANK,
        pl.col(FIRST).shift(-1).over(key, order_by=_RANK).alias(_NEXT_FIRST),
        pl.col(LAST).shift(-1).over(key, order_by=_RANK).alias(_NEXT_LAST),
    )
    found = ranked.join(newer, on=[*key, _RANK], how="inner")
    covered = (pl.col(_NEXT_LAST) >= pl.col(LAST)).fill_null(value=False)
    until = pl.min_horizontal(LAST, pl.col(_NEXT_FIRST) - 1)
    shorter = found.with_columns(pl.when(covered).then(until).otherwise(LAST).alias(LAST))
    return shorter.filter(pl.col(FIRST) <= pl.col(LAST))


def _with_static(matched: pl.DataFrame, table: _Table, number: int) -> Solutions:
    """What windows bind at instants, and what static data do."""
    found = matched.select(INSTANT, *table.names).unique()
    if table.static is None:
        return Solutions(found, keyed=True)
    fixed = Solutions(table.static)
    if found.is_empty():
        return fixed
    below = fixed.expanded(range(number)).frame.select(found.columns)
    return Solutions(pl.concat([found, below]).unique(), keyed=True)


def _slot(place: int, name: str) -> str:
    """The column of something about the triple that matched the pattern at a place."""
    return f"{place} {name}"


def _numbered(place: int, table: _Table, occurrences: pl.DataFrame, number: int) -> Solutions:
    """What matches a pattern, with the number of its triple and the instants at which it holds."""
    ranks = occurrences.select(*_OCCURRENCE).with_columns(
        pl.int_range(pl.len(), dtype=pl.Int64).alias(_RANK)
    )
    found = table.matched.join(ranks, on=_OCCURRENCE, how="inner", nulls_equal=True)
    rows = found.select(FIRST, LAST, _RANK, *table.names).unique()
    if table.static is not None:
        always = [
            pl.lit(value, pl.Int64).alias(name)
            for name, value in ((FIRST, 0), (LAST, number - 1), (_RANK, _STATIC))
        ]
        rows = pl.concat([rows, table.static.with_columns(always).select(rows.columns)])
    named = rows.rename({name: _slot(place, name) for name in (FIRST, LAST, _RANK)})
    return Solutions(named.with_columns(pl.lit(0, pl.Int64).alias(INSTANT)))


def _lasting(found: pl.DataFrame, number: int) -> pl.DataFrame:
    """Matches of patterns, each as long as all of its triples are held, if they ever are."""
    first = pl.max_horizontal(_slot(place, FIRST) for place in range(number))
    last = pl.min_horizontal(_slot(place, LAST) for place in range(number))
    lasting = found.with_columns(first.alias(FIRST), last.alias(LAST))
    return lasting.filter(pl.col(FIRST) <= pl.col(LAST))


def _known(before: pl.DataFrame, occurrences: Sequence[pl.DataFrame]) -> list[Token]:
    """The matches that were made, by the numbers of their triples."""
    columns: list[list[int]] = []
    for place, each in enumerate(occurrences):
        names = [_slot(place, name) for name in _OCCURRENCE]
        ranks = each.select(
            *(pl.col(name).alias(_slot(place, name)) for name in _OCCURRENCE)
        ).with_columns(pl.int_range(pl.len(), dtype=pl.Int64).alias(_RANK))
        found = before.select(names).join(
            ranks, on=names, how="left", nulls_equal=True, maintain_order="left"
        )
        static = pl.col(_slot(place, TIME)).is_null()
        number = pl.when(static).then(_STATIC).otherwise(pl.col(_RANK).fill_null(_GONE))
        columns.append(found.select(number)[:, 0].to_list())
    return list(zip(*columns, strict=True))


def _made_of(tokens: Sequence[Token], known: Sequence[Token]) -> tuple[set[Token], list[Token]]:
    """The matches of which each triple is in no other one, and those of them that are new.

    Args:
        tokens: all that could be made, in the order in which they are looked at.
        known: those that have been made.
    """
    made = {token for token in known if _GONE not in token}
    used = {(place, each) for token in known for place, each in enumerate(token) if each >= 0}
    new = []
    for token in tokens:
        triples = [(place, each) for place, each in enumerate(token) if each >= 0]
        if token in made or not used.isdisjoint(triples):
            continue
        made.add(token)
        used.update(triples)
        if triples:
            new.append(token)
    return made, new


def _written(tokens: Sequence[Token], occurrences: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Matches by what their triples are, so that they are known again."""
    columns: list[pl.Series] = []
    for place, each in enumerate(occurrences):
        ranks = [token[place] for token in tokens]
        rows = pl.Series([None if rank < 0 else rank for rank in ranks], dtype=pl.Int64)
        columns += [each[name].gather(rows).alias(_slot(place, name)) for name in _OCCURRENCE]
    return pl.DataFrame(columns)
