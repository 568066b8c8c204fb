"""All rules at work on a query, each step checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from headrace.algebra.operators import Operator
from headrace.algebra.query import Query
from headrace.algebra.scope import certain, possible
from headrace.algebra.walk import within
from headrace.errors import InternalError, SettingError
from headrace.rdf.terms import Iri
from headrace.rewrite.knowledge import Known
from headrace.rewrite.rule import Rule
from headrace.rewrite.rules import RULES


@dataclass(frozen=True, slots=True)
class Stage:
    """A pattern after a rule has changed it."""

    rule: Rule
    pattern: Operator


Observe = Callable[[Stage], None]


def optimised(
    query: Query,
    predicates: frozenset[Iri] | None = None,
    observe: Observe = lambda _stage: None,
    rules: Sequence[Rule] = RULES,
) -> Operator:
    """An equivalent pattern that costs less.

    Args:
        query: what is asked.
        predicates: those of the static data, if they are known.
        observe: told of each step.
        rules: what may be applied, unless the query switches it off.

    Raises:
        SettingError: the query switches a rule that there is not.
        InternalError: a rule made something else of the query, or they never come to rest.
    """
    chosen = _switched(query, rules)
    pattern, known = query.pattern, Known.of(query, predicates)
    for _ in range(_most_passes(pattern)):
        before = pattern
        for rule in chosen:
            made = rule.rewrite(pattern, known)
            if made != pattern:
                _check(rule, pattern, made)
                pattern = made
                observe(Stage(rule, pattern))
        if pattern == before:
            return pattern
    raise InternalError(f"the rules of rewriting never come to rest on {query.pattern}")


def _switched(query: Query, rules: Sequence[Rule]) -> list[Rule]:
    """The rules that are applied to a query."""
    wanted = {rule.name: rule.on for rule in rules}
    for name, on in query.semantics.switched_rules:
        if name not in wanted and name not in {rule.name for rule in RULES}:
            names = ", ".join(rule.name for rule in RULES)
            raise SettingError(f"there is no rule '{name}'; there are {names}")
        wanted[name] = on
    return [rule for rule in rules if wanted[rule.name]]


def _most_passes(pattern: Operator) -> int:
    """How often rules can be of use: a condition goes down at least one level in each pass."""
    return 30 + sum(1 for _ in within(pattern))


def _check(rule: Rule, before: Operator, after: Operator) -> None:
    """Refuse a step that changed what a query is about; tests compare the answers."""
    if possible(after) != possible(before):
        problem = "other variables"
    elif not certain(after) >= certain(before):
        problem = "variables that may be unbound"
    else:
        return
    raise InternalError(f"rule {rule.name} made a pattern with {problem}: {after}")
