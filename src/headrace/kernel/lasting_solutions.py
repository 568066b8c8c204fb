"""Solutions of static patterns that are kept with the version of static data they follow from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import polars as pl

from headrace.algebra.operators import Operator
from headrace.algebra.scope import possible
from headrace.kernel.columns import INSTANT, column, kind_of, number_of
from headrace.kernel.data import Data, Quads
from headrace.kernel.keeping import Keeper, KeptTable, is_a_scan, named
from headrace.kernel.scan import Wanted
from headrace.kernel.solutions import Solutions

Find = Callable[[Data], list[Solutions]]
"""Finds solutions in static data."""


def solutions_kept(
    data: Data, operators: Sequence[Operator], wanted: Wanted, find: Find
) -> list[Solutions]:
    """Solutions of static patterns that were kept, or that are found now.

    Args:
        data: static data.
        operators: the patterns, the largest that are static.
        wanted: what is asked of variables besides their terms.
        find: finds the solutions.
    """
    keeper = data.quads.keeper
    if keeper is None:
        return find(data)
    # Nothing within such a pattern is kept apart, in memory or elsewhere.
    alone = replace(data, quads=Quads(data.quads.frame))
    called = None
    if not wanted.timed and wanted.share is None and not _are_a_scan(operators):
        called = _called(data, operators, wanted)
    if called is None:
        return find(alone)
    key, names = called
    known = _kept(keeper, key, names)
    if known is not None:
        return known
    found = find(alone)
    columns = {name for each in found for name in each.frame.columns}
    if sum(each.height for each in found) < keeper.least or not columns <= set(names.values()):
        return found
    return _keep(keeper, key, names, found)


def _are_a_scan(operators: Sequence[Operator]) -> bool:
    return len(operators) == 1 and is_a_scan(operators[0])


def _called(
    data: Data, operators: Sequence[Operator], wanted: Wanted
) -> tuple[str, Mapping[str, str]] | None:
    """What solutions are kept as, and their columns by what they are called there."""
    names = {INSTANT: INSTANT}
    numbers: dict[str, int] = {}
    texts = []
    for each in operators:
        known = named(each)
        if known is None:
            return None
        own = sorted(possible(each), key=lambda variable: known.numbers[variable.name])
        shown = []
        for variable in own:
            number = numbers.setdefault(variable.name, len(numbers))
            shown.append(f"{known.numbers[variable.name]}={number}")
            name, there = column(variable), f"c{number}"
            names |= {there: name, kind_of(there): kind_of(name), number_of(there): number_of(name)}
        texts.append(f"{known.text} as {' '.join(shown)}")
    valued = sorted(numbers[each.name] for each in wanted.valued if each.name in numbers)
    graphs = [data.default, data.named, data.active]
    return " | ".join(map(str, ["solutions", *graphs, *texts, valued])), names


def _keep(
    keeper: Keeper, key: str, names: Mapping[str, str], found: Sequence[Solutions]
) -> list[Solutions]:
    there = {here: each for each, here in names.items()}
    kept = []
    for number, each in enumerate(found):
        identified = each.identified_by
        note = {
            "keyed": each.keyed,
            "repeated": each.repeated,
            "identified": None
            if identified is None
            else sorted(there[name] for name in identified),
        }
        frame = each.frame.rename({name: there[name] for name in each.frame.columns})
        kept.append(_solutions(keeper.put(f"{key} | {number}", frame, note), names))
    keeper.put(key, pl.DataFrame(), {"tables": len(found)})
    return kept


def _kept(keeper: Keeper, key: str, names: Mapping[str, str]) -> list[Solutions] | None:
    about = keeper.get(key)
    if about is None:
        return None
    tables = [keeper.get(f"{key} | {number}") for number in range(about.note["tables"])]
    found = [_solutions(each, names) for each in tables if each is not None]
    return found if len(found) == len(tables) else None


def _solutions(table: KeptTable, names: Mapping[str, str]) -> Solutions:
    frame = table.frame.rename({name: names[name] for name in table.frame.columns})
    identified = table.note["identified"]
    return Solutions(
        frame,
        table.note["keyed"],
        None if identified is None else frozenset(names[name] for name in identified),
        repeated=table.note["repeated"],
    )
