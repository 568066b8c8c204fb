"""Rewritten patterns, known for all queries that differ in what stands in triple patterns only.

No rule of rewriting looks at a subject or an object that is no variable, but for whether two are
the same, and for an order where any order will do.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Final

from headrace.algebra.expressions import PatternTerm, TriplePattern
from headrace.algebra.operators import Bgp, Operator
from headrace.algebra.paths import PathPattern
from headrace.algebra.query import Query
from headrace.algebra.walk import inputs, with_inputs
from headrace.rdf.terms import Iri, Literal
from headrace.rewrite.optimise import optimised
from headrace.rewrite.rule import Rule
from headrace.rewrite.rules import RULES

_MOST: Final = 1_000
"""So many patterns are known; the oldest are forgotten first."""

Constant = Iri | Literal


class Templates:
    """Rewritten patterns by the queries that they were made of."""

    def __init__(self, rules: Sequence[Rule] = RULES) -> None:
        """Begin with none; rules are what may be applied."""
        self._rules = rules
        self._known: dict[Hashable, tuple[Operator, list[Constant]]] = {}

    def optimised(self, query: Query) -> Operator:
        """An equivalent pattern that costs less, as if it had been made for this query."""
        found: dict[Constant, int] = {}
        blank = with_constants(
            query.pattern, lambda each: _place(found.setdefault(each, len(found)))
        )
        key = (blank, replace(query, pattern=Bgp(), registration=None))
        known = self._known.get(key)
        if known is None:
            made = optimised(query, rules=self._rules)
            if len(self._known) >= _MOST:
                self._known.pop(next(iter(self._known)))
            self._known[key] = made, list(found)
            return made
        pattern, constants = known
        others = dict(zip(constants, found, strict=True))
        return with_constants(pattern, others.__getitem__)


def _place(number: int) -> Iri:
    return Iri(f"_:.place{number}")


def with_constants(operator: Operator, change: Callable[[Constant], Constant]) -> Operator:
    """A pattern with other subjects and objects where triple patterns name them."""
    if isinstance(operator, Bgp):
        return Bgp(tuple(_pattern(each, change) for each in operator.patterns))
    below = tuple(with_constants(each, change) for each in inputs(operator))
    return with_inputs(operator, below)


def _pattern(
    pattern: TriplePattern | PathPattern, change: Callable[[Constant], Constant]
) -> TriplePattern | PathPattern:
    if not isinstance(pattern, TriplePattern):
        return pattern

    def term(each: PatternTerm) -> PatternTerm:
        return change(each) if isinstance(each, Iri | Literal) else each

    return TriplePattern(term(pattern.subject), pattern.predicate, term(pattern.object))
