"""The static parts of a branch as tables that matches are joined with.

Parts are joined with each other beforehand as far as that stays small, so that frequent paths are
tables too. Where static data have a keeper, tables are kept with the version that they follow from:
the next process that asks for the same, by whatever names, has nothing to compute.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, Protocol

import polars as pl

from headrace.algebra.expressions import Variable
from headrace.algebra.scope import possible
from headrace.kernel.budget import Budget
from headrace.kernel.columns import ID, INSTANT, TERMS, TEXT, column
from headrace.kernel.data import Data, Quads
from headrace.kernel.dictionary import Dictionary
from headrace.kernel.differences import Difference, Differences, Factor, product
from headrace.kernel.join import join, join_size
from headrace.kernel.keeping import Keeper, KeptTable, computed, named
from headrace.kernel.lookup import Lookup
from headrace.kernel.mapped import BY, MappedLookup, Mended, order_key
from headrace.kernel.patching import patch_of
from headrace.kernel.solutions import Solutions, complete
from headrace.planning.matching import StaticPart

PATHS_PAY: Final = 4
MOST_OF_PATHS: Final = 10_000_000
"""Static parts are joined beforehand if that makes at most so many times the larger, and rows."""
_HIDDEN_ROW: Final = "?_:.row"
_ROW: Final = "row"
_MUCH: Final = 2
"""If more than one row in so many has come or gone, a table is made anew."""

StaticTable = Lookup | MappedLookup


class Asks(Protocol):
    """How static data are looked at."""

    @property
    def dictionary(self) -> Dictionary:
        """The terms."""

    @property
    def static(self) -> Data:
        """What is the same at every instant."""

    @property
    def budget(self) -> Budget:
        """What that may cost."""

    @property
    def solve(self) -> Callable[[StaticPart], Solutions]:
        """Finds the solutions of a part."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What a branch asks of its static parts.

    Attributes:
        parts: the parts.
        asked: the columns that somebody asks for; all if not given.
        keys: the columns that they are joined by with what is not static.
    """

    parts: Sequence[StaticPart]
    asked: frozenset[str] | None
    keys: frozenset[str]

    def needed(self, frame: pl.DataFrame, others: Sequence[frozenset[str]]) -> pl.DataFrame:
        """A table with the columns that it is joined by, or that somebody asks for."""
        if self.asked is None:
            return frame
        needed = (self.asked | self.keys).union(*others)
        kept = [name for name in frame.columns if name in needed]
        return frame.select(kept) if kept else frame


@dataclass(frozen=True, slots=True)
class Made:
    """A table as it was made.

    Attributes:
        frame: its rows.
        members: the parts that it is made of, by number.
        mended: what it was before, if it is in order with no row twice, and no more is to be done.
    """

    frame: pl.DataFrame
    members: tuple[int, ...]
    mended: Mended | None = None


def static_tables(wish: Wish, asks: Asks) -> list[StaticTable]:
    """The tables of the static parts of a branch."""
    if not wish.parts:
        return []
    keeper = asks.static.quads.keeper
    called = None if keeper is None else called_by(wish, asks.static)
    if keeper is None or called is None:
        return [Lookup(_numbered(made.frame, number)) for number, made in _made(wish, asks)]
    kept = kept_tables(keeper, called, asks)
    mended: list[Mended | None] = []
    if kept is None:
        made = refreshed(wish, called, asks) or [each for _, each in _made(wish, asks)]
        if not _worth_keeping(made, keeper):
            return [Lookup(_numbered(each.frame, place)) for place, each in enumerate(made)]
        mended = [each.mended for each in made]
        kept = keep(keeper, called, wish, made, asks)
        del made
    asks.budget.check(max(each.frame.height for each in kept), "a static part")
    befores = mended or [None] * len(kept)
    return [
        _looked_up(keeper, called, number, table, before)
        for number, (table, before) in enumerate(zip(kept, befores, strict=True))
    ]


# -- what tables are called ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Called:
    """What the tables of a branch are called, whatever its variables are.

    Attributes:
        key: by which they are kept.
        names: their columns here, by what they are called there.
    """

    key: str
    names: Mapping[str, str]

    def there(self, name: str) -> str:
        """What a column of here is called there."""
        return next(there for there, here in self.names.items() if here == name)


def called_by(wish: Wish, data: Data) -> Called | None:
    """What the tables of some parts are called; none if they cannot be kept."""
    numbers: dict[str, int] = {}
    texts = []
    for part in wish.parts:
        known = named(part.operator)
        if known is None:
            return None
        names = dict(part.names)
        own = sorted(possible(part.operator), key=lambda each: known.numbers[each.name])
        shown = [
            f"{known.numbers[each.name]}={numbers.setdefault(_here(each, names), len(numbers))}"
            for each in own
        ]
        texts.append(f"{known.text} as {' '.join(shown)}")
    columns = [
        "all" if some is None else sorted(numbers[name] for name in some if name in numbers)
        for some in (wish.asked, wish.keys)
    ]
    graphs = [data.default, data.named, data.active]
    key = " | ".join(map(str, ["tables", *graphs, *texts, *columns]))
    return Called(key, {f"c{number}": name for name, number in numbers.items()})


def _here(variable: Variable, names: Mapping[Variable, Variable]) -> str:
    return column(names.get(variable, variable))


# -- making --------------------------------------------------------------------------------------


def _made(wish: Wish, asks: Asks) -> Iterator[tuple[int, Made]]:
    """The tables of some parts, with the columns that are needed."""
    parts = [_named(asks.solve(part), part) for part in wish.parts]
    together = _put_together(parts, asks.budget)
    parts.clear()
    every = [frozenset(found.names) for _, found in together]
    for number, (members, found) in enumerate(together):
        others = [names for place, names in enumerate(every) if place != number]
        yield number, Made(wish.needed(found.frame.drop(INSTANT), others), members)


def _named(solutions: Solutions, part: StaticPart) -> Solutions:
    """Solutions with the names that their variables have in matches."""
    whole = complete(solutions.frame, sorted(column(each) for each in possible(part.operator)))
    return Solutions(whole.rename({column(old): column(new) for old, new in part.names}))


def _put_together(
    parts: Sequence[Solutions], budget: Budget
) -> list[tuple[tuple[int, ...], Solutions]]:
    """Parts joined with each other as far as the joins stay small, and which went where."""
    done: list[tuple[tuple[int, ...], Solutions]] = []
    for number, part in enumerate(parts):
        members: tuple[int, ...] = (number,)
        merged = part
        for other in list(done):
            size = join_size(merged, other[1])
            larger = max(merged.height, other[1].height)
            if size is not None and size <= min(MOST_OF_PATHS, PATHS_PAY * larger):
                done = [each for each in done if each is not other]
                members, merged = (*members, *other[0]), join(merged, other[1], budget)
        done.append((members, merged))
    return done


def _worth_keeping(made: Sequence[Made], keeper: Keeper) -> bool:
    """Whether tables are large enough; one without columns says only that something is there."""
    rows = sum(each.frame.height for each in made)
    return rows >= keeper.least and all(each.frame.width for each in made)


def _numbered(frame: pl.DataFrame, number: int) -> pl.DataFrame:
    """A table in which equal solutions are several rows that differ."""
    if frame.n_unique() == frame.height:
        return frame
    rows = pl.int_range(frame.height, dtype=pl.Int64, eager=True)
    return frame.with_columns(rows.alias(f"{_HIDDEN_ROW}{number}"))


# -- making them of those of another version -----------------------------------------------------


def refreshed(wish: Wish, called: Called, asks: Asks) -> list[Made] | None:
    """Tables of the version before, with what differs; none if they must be made anew."""
    keeper = asks.static.quads.keeper
    before = None if keeper is None else keeper.before
    if before is None or before.keeper is None:
        return None
    about = before.keeper.get(called.key)
    tables = kept_tables(before.keeper, called, asks)
    if about is None or tables is None:
        return None
    old, new = (
        replace(asks.static, quads=Quads(each.frame)) for each in (before, asks.static.quads)
    )
    between = Differences(old, new, asks.dictionary, asks.budget)
    made: list[Made] = []
    for table, members in zip(tables, _members(about.note), strict=True):
        found = _difference([wish.parts[number] for number in members], between)
        if found is None or found.rows * _MUCH > table.frame.height:
            return None
        made.append(_mended(table, len(made), tuple(members), found, called, before.keeper))
    return made


def _mended(
    table: KeptTable,
    number: int,
    members: tuple[int, ...],
    found: Difference,
    called: Called,
    keeper: Keeper,
) -> Made:
    """A table with what differs: mended where it is, if that is plain."""
    names = [name for name in table.frame.columns if name != _ROW]
    frame = table.frame.select(names).rename({name: called.names[name] for name in names})
    by = called.names[table.note[BY]]
    repeated = _ROW in table.frame.columns
    plain = None
    if table.checksum is not None:
        come, gone = found.come.frame, found.gone.frame
        plain = patch_of(frame, by, come, gone, repeated=repeated)
    if plain is None:
        return Made(found.applied(frame), members)
    patch, new = plain
    if repeated:
        hidden = f"{_HIDDEN_ROW}{number}"
        rows = table.frame[_ROW]
        first = int(rows.max() or 0) + 1  # type: ignore[arg-type]  # of numbers
        frame = frame.with_columns(rows.alias(hidden))
        numbers = pl.int_range(first, first + new.height, dtype=pl.Int64, eager=True)
        new = new.with_columns(numbers.alias(hidden))
    columns = {
        name: patch.of_column(frame[name].to_numpy(), new[name].to_numpy())
        for name in frame.columns
    }
    key = order_key(_table(called, number), table)
    return Made(pl.DataFrame(columns), members, Mended(keeper, key, patch))


def _difference(parts: Sequence[StaticPart], between: Differences) -> Difference | None:
    """What differs of some parts, joined."""
    factors = []
    for part in parts:
        found = between.of(part.operator)
        if found is None:
            return None
        factors.append(
            Factor(
                partial(_solved, part, between, between.old),
                partial(_solved, part, between, between.new),
                found.each(partial(_named, part=part)),
            )
        )
    return factors[0].difference if len(factors) == 1 else product(factors, between.budget)


def _solved(part: StaticPart, between: Differences, data: Data) -> Solutions:
    return _named(between.solved(part.operator, data), part)


# -- keeping -------------------------------------------------------------------------------------


def keep(
    keeper: Keeper, called: Called, wish: Wish, made: list[Made], asks: Asks
) -> list[KeptTable]:
    """Keep tables, each in the order of a column that it is joined by; they are taken away."""
    members = [list(each.members) for each in made]
    terms = _terms(wish, [each.frame for each in made], asks.dictionary)
    every = [
        frozenset(name for name in each.frame.columns if not name.startswith(_HIDDEN_ROW))
        for each in made
    ]
    kept = []
    for number in range(len(members)):
        table = made.pop(0)
        joins = wish.keys.union(*(each for place, each in enumerate(every) if place != number))
        frame = _numbered(table.frame, number) if table.mended is None else table.frame
        frame = frame.rename({name: _stored(called, name) for name in frame.columns})
        own = [name for name in table.frame.columns if not name.startswith(_HIDDEN_ROW)]
        keys = [name for name in own if name in joins] or own
        by = min((_stored(called, name) for name in keys), key=lambda each: int(each[1:]))
        if table.mended is None:
            frame = frame.sort(pl.col(by).reinterpret(signed=False))
        kept.append(keeper.put(_table(called, number), frame, {BY: by}))
    keeper.put(called.key, terms, {"members": members})
    return kept


def kept_tables(keeper: Keeper, called: Called, asks: Asks) -> list[KeptTable] | None:
    """The tables that were kept; none if one of them is missing."""
    about = keeper.get(called.key)
    if about is None:
        return None
    found = [keeper.get(_table(called, number)) for number in range(len(_members(about.note)))]
    tables = [each for each in found if each is not None]
    if len(tables) < len(found):
        return None
    if about.frame.height:
        asks.dictionary.learn(about.frame)
    return tables


def _members(note: Mapping[str, Any]) -> list[list[int]]:
    found: list[list[int]] = note["members"]
    return found


def _table(called: Called, number: int) -> str:
    return f"{called.key} | table {number}"


def _stored(called: Called, name: str) -> str:
    return _ROW if name.startswith(_HIDDEN_ROW) else called.there(name)


def _looked_up(
    keeper: Keeper, called: Called, number: int, table: KeptTable, before: Mended | None
) -> StaticTable:
    here = {**called.names, _ROW: f"{_HIDDEN_ROW}{number}"}
    names = {there: here[there] for there in table.frame.columns}
    if table.checksum is None or table.frame.height < max(1, keeper.least):
        return Lookup(table.frame.rename(names))
    return MappedLookup(keeper, _table(called, number), table, names, before)


def _terms(wish: Wish, frames: Sequence[pl.DataFrame], dictionary: Dictionary) -> pl.DataFrame:
    """The terms of tables that were computed, and may stand in no statement."""
    names = {
        _here(variable, dict(part.names))
        for part in wish.parts
        for variable in computed(part.operator)
    }
    ids = [frame[name].unique() for frame in frames for name in frame.columns if name in names]
    if not ids:
        return TERMS.to_frame()
    every = pl.concat([each.alias(ID) for each in ids]).unique().drop_nulls()
    return pl.DataFrame([every, dictionary.texts(every).alias(TEXT)])
