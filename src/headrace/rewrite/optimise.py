"""All rules at work on a query, each step checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from headrace.algebra.operators import Operator
from headrace.algebra.query import Query
from headrace.algebra.scope import certain, possible
from headrace.algebra.walk import within
from headrace.errors import InternalError, SettingError, nearest
from headrace.rewrite.knowledge import Known
from headrace.rewrite.rule import Rule
from headrace.rewrite.rules import RULES
from headrace.rewrite.rules.pull_costly_filters import pull_costly_filters
from headrace.rewrite.sources import KnownPredicates

PRECOMPUTE: Final = "precompute_static"
"""Whether what is found in static data is kept for the next evaluation."""
FILTER_EARLY: Final = "filter_while_decoding"
"""Whether statements that no filter lets pass are dropped where they are read."""
ADAPT: Final = "adapt_routes"
"""Whether new matches are joined in the order that costs least now, or as patterns are written."""
SHARE: Final = "share_shapes"
"""Whether queries that are equal but for constants are evaluated as one."""
LAZY: Final = "lazy_variables"
"""Whether values that BIND gives are computed only where somebody reads them."""
CHOOSE: Final = "choose_filters"
"""Whether filters that may be dear are tested before or after a join by what either costs."""
CACHE: Final = "cache_calls"
"""Whether a function by IRI is called once for the same terms in an evaluation."""
PHYSICAL: Final = (PRECOMPUTE, FILTER_EARLY, ADAPT, SHARE, CACHE, LAZY, CHOOSE)
"""What can be switched like a rule, and changes no pattern."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A pattern after a rule has changed it."""

    rule: Rule
    pattern: Operator


Observe = Callable[[Stage], None]


def optimised(
    query: Query,
    predicates: KnownPredicates | None = None,
    observe: Observe = lambda _stage: None,
    rules: Sequence[Rule] = RULES,
) -> Operator:
    """Rewrite a query to an equivalent pattern that costs less.

    Args:
        query: what is asked.
        predicates: which are known to occur in static data and in streams.
        observe: told of each step.
        rules: what may be applied, unless the query switches it off.

    Raises:
        SettingError: the query switches a rule that there is not.
        InternalError: a rule made something else of the query, or they never come to rest.
    """
    chosen = _switched(query, rules)
    late = any(rule.name == pull_costly_filters.__name__ for rule in chosen)
    pattern, known = query.pattern, replace(Known.of(query, predicates), late=late)
    for _ in range(_most_passes(pattern)):
        before = pattern
        for rule in chosen:
            made = rule.rewrite(pattern, known)
            if made is not pattern and made != pattern:
                _check(rule, pattern, made)
                pattern = made
                observe(Stage(rule, pattern))
        if pattern == before:
            return pattern
    raise InternalError(f"the rules of rewriting never come to rest on {query.pattern}")


def _switched(query: Query, rules: Sequence[Rule]) -> list[Rule]:
    """The rules that are applied to a query."""
    switched = dict(query.semantics.switched_rules)
    check_names(switched)
    if query.semantics.consumes:
        return []  # what is chosen among triples depends on the patterns as they are written
    wanted = {rule.name: rule.on for rule in rules} | switched
    lazy = wanted.get(LAZY, True)
    return [rule for rule in rules if wanted[rule.name] and (lazy or not _waits_for_use(rule))]


def _waits_for_use(rule: Rule) -> bool:
    """Whether a rule has values computed later, or not at all if nobody reads them."""
    return rule.name in {"pull_bind_out_of_join", "pull_bind_out_of_optional", "prune_binds"}


def check_names(names: Iterable[str]) -> None:
    """Refuse the name of a rule that there is not."""
    known = [*(rule.name for rule in RULES), *PHYSICAL]
    for name in names:
        if name not in known:
            near = nearest(name, known)
            suggestion = f"; did you mean '{near}'?" if near else ""
            listed = ", ".join(known)
            raise SettingError(f"there is no rule '{name}'{suggestion}\nthere are {listed}")


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
