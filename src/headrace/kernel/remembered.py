"""What is found in static data: the same at every instant, so it is found once for each version.

A pattern outside GRAPH and WINDOW sees static data and windows as one. It is static at some
instants if no statement that windows hold then has one of its predicates.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from headrace.algebra.expressions import TriplePattern
from headrace.algebra.operators import Bgp, Distinct, Filter, Graph, Join, Operator, Project, Union
from headrace.algebra.paths import PathPattern
from headrace.algebra.walk import inputs, within
from headrace.functions.dependence import is_local
from headrace.kernel.budget import Budget
from headrace.kernel.data import Data, Quads
from headrace.kernel.dictionary import Dictionary
from headrace.kernel.join import join, join_size
from headrace.kernel.solutions import Solutions
from headrace.planning.sharing import Parameters
from headrace.rdf.terms import Iri

_MOST_ROWS: Final = 20_000_000
"""So many rows are remembered of a version; the oldest are forgotten first."""
_PAYS: Final = 2
"""Static solutions are joined beforehand if that makes at most so many times the larger side."""

Predicates = frozenset[Iri]


def predicates_of(operator: Operator) -> Predicates | None:
    """The predicates of a pattern whose solutions can be remembered; None if they cannot be.

    What computes new terms is left out: a dictionary forgets terms that no statement has.
    """
    match operator:
        case Bgp(patterns):
            found = [
                each.predicate
                for each in patterns
                if isinstance(each, TriplePattern) and isinstance(each.predicate, Iri)
            ]
            return frozenset(found) if patterns and len(found) == len(patterns) else None
        case Filter(condition, _) if not is_local(condition):
            return None
        case Graph(name, _) if not isinstance(name, Iri):
            return None
        case Parameters():
            return frozenset()  # whoever has a plan sees to it that their terms stay
        case Join() | Union() | Filter() | Project() | Distinct() | Graph():
            below = [predicates_of(each) for each in inputs(operator)]
            known = [each for each in below if each is not None]
            return frozenset().union(*known) if len(known) == len(below) else None
        case _:
            return None


@dataclass(frozen=True, slots=True)
class Static:
    """Which operators of a query can be static, and where their solutions are remembered.

    Attributes:
        predicates: those of each operator that can be, by its identity.
        dictionary: the terms.
    """

    predicates: Mapping[int, Predicates]
    dictionary: Dictionary

    @classmethod
    def of(cls, operators: Iterable[Operator], dictionary: Dictionary) -> Static:
        """Find those of some operators that can be static."""
        found = {id(each): predicates_of(each) for each in operators}
        known = {key: names for key, names in found.items() if names is not None}
        return cls(known, dictionary)

    def beneath(self, operator: Operator, data: Data) -> Data | None:
        """The static data that have all solutions of an operator; None if windows may have some."""
        predicates = self.predicates.get(id(operator))
        return None if predicates is None else self._without(predicates, data)

    def beneath_pattern(self, pattern: TriplePattern | PathPattern, data: Data) -> Data | None:
        """The same for a triple pattern."""
        if not self.predicates or not isinstance(pattern, TriplePattern):
            return None
        predicate = pattern.predicate
        return self._without({predicate}, data) if isinstance(predicate, Iri) else None

    def _without(self, predicates: Collection[Iri], data: Data) -> Data | None:
        """Static data, if no window above them has one of some predicates."""
        if data.beneath is None:
            return None if data.keyed else data
        ids = map(self.dictionary.encode, predicates)
        return None if any(map(data.quads.has_predicate, ids)) else data.beneath


def remembered(data: Data, key: Hashable, find: Callable[[], list[Solutions]]) -> list[Solutions]:
    """What was found in static data before, or what is found now."""
    known = data.quads.remembered
    place = (key, data.active, data.default, data.named)
    if place not in known:
        known[place] = find()
        rows = [sum(each.height for each in found) for found in known.values()]
        while sum(rows) > _MOST_ROWS and len(rows) > 1:
            known.pop(next(iter(known)))
            rows.pop(0)
    return known[place]


def forget_tables(quads: Quads, needed: Collection[Parameters]) -> None:
    """Drop what was found for the members of groups that are no more."""
    for place in list(quads.remembered):
        if any(table not in needed for table in tables_in(place)):
            del quads.remembered[place]


def tables_in(key: object) -> Iterator[Parameters]:
    """The tables of parameters in whatever something is remembered by."""
    if isinstance(key, tuple):
        for part in key:
            yield from tables_in(part)
    elif isinstance(key, Operator):
        yield from (each for each in within(key) if isinstance(each, Parameters))


def put_together(
    parts: list[Solutions], budget: Budget, pays: int = _PAYS, most: int = _MOST_ROWS
) -> list[Solutions]:
    """Solutions joined with each other as far as the joins stay small.

    Args:
        parts: what may be joined.
        budget: what that may cost.
        pays: how many times the larger side a join may have.
        most: how many rows it may have at all.
    """
    done: list[Solutions] = []
    for part in parts:
        merged = part
        for other in list(done):
            size = join_size(merged, other)
            larger = max(merged.height, other.height)
            if size is not None and size <= min(most, pays * larger):
                done = [each for each in done if each is not other]
                merged = join(merged, other, budget)
        done.append(merged)
    return done
