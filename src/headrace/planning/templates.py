"""Rewritten patterns, known for all queries that differ in what stands in triple patterns only.

No rule of rewriting looks at a subject or an object that is no variable, but for whether two are
the same, and for an order where any order will do.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from headrace.algebra.expressions import PatternTerm, TriplePattern
from headrace.algebra.operators import Bgp, Operator
from headrace.algebra.paths import PathPattern
from headrace.algebra.query import Query
from headrace.algebra.walk import inputs, with_inputs
from headrace.planning.apart import to_be_evaluated
from headrace.rdf.terms import Iri, Literal
from headrace.rewrite.rule import Rule
from headrace.rewrite.rules import RULES
from headrace.rewrite.sources import KnownPredicates

_MOST: Final = 1_000
"""So many patterns are known; the oldest are forgotten first."""

Constant = Iri | Literal


@dataclass(frozen=True, eq=False)
class Template:
    """The pattern that a query was rewritten to, for others like it.

    Attributes:
        pattern: with the constants of the first such query.
        constants: these, each once.
        known: what has been found out about all queries that it was made for.
    """

    pattern: Operator
    constants: tuple[Constant, ...]
    known: dict[Hashable, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Filled:
    """A template with the constants of a query, in the order of those of the first."""

    template: Template
    constants: tuple[Constant, ...]

    @property
    def pattern(self) -> Operator:
        """The rewritten pattern of the query."""
        if self.constants == self.template.constants:
            return self.template.pattern
        others = dict(zip(self.template.constants, self.constants, strict=True))
        return with_constants(self.template.pattern, others.__getitem__)


class Templates:
    """Rewritten patterns by the queries that they were made of."""

    def __init__(self, rules: Sequence[Rule] = RULES) -> None:
        """Begin with none; rules are what may be applied."""
        self._rules = rules
        self._known: dict[Hashable, Template] = {}

    def filled(self, query: Query, known: KnownPredicates | None = None) -> Filled:
        """Rewrite a query by a template, as if it were rewritten alone."""
        found: dict[Constant, int] = {}
        blank = with_constants(
            query.pattern, lambda each: _place(found.setdefault(each, len(found)))
        )
        key = (blank, replace(query, pattern=Bgp(), registration=None), known)
        if key not in self._known:
            if len(self._known) >= _MOST:
                self._known.pop(next(iter(self._known)))
            pattern = to_be_evaluated(query, self._rules, known)
            self._known[key] = Template(pattern, tuple(found))
        return Filled(self._known[key], tuple(found))


def _place(number: int) -> Iri:
    return Iri(f"_:.place{number}")


def with_constants(operator: Operator, change: Callable[[Constant], Constant]) -> Operator:
    """A pattern with other subjects and objects where triple patterns name them."""
    if isinstance(operator, Bgp):
        return Bgp(tuple(_pattern(each, change) for each in operator.patterns))
    below = tuple(with_constants(each, change) for each in inputs(operator))
    return with_inputs(operator, below)


def constants_of(operator: Operator) -> frozenset[Constant]:
    """The subjects and objects that triple patterns name."""
    found: set[Constant] = set()

    def note(constant: Constant) -> Constant:
        found.add(constant)
        return constant

    with_constants(operator, note)
    return frozenset(found)


def _pattern(
    pattern: TriplePattern | PathPattern, change: Callable[[Constant], Constant]
) -> TriplePattern | PathPattern:
    if not isinstance(pattern, TriplePattern):
        return pattern

    def term(each: PatternTerm) -> PatternTerm:
        return change(each) if isinstance(each, Iri | Literal) else each

    return TriplePattern(term(pattern.subject), pattern.predicate, term(pattern.object))
