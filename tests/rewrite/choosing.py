"""Which rules a query is answered with: none, all, or one alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from headrace.algebra.query import Query
from headrace.rewrite.optimise import PHYSICAL, optimised
from headrace.rewrite.rule import Rule
from headrace.rewrite.rules import RULES

Rules = Sequence[Rule]

EVERY: Final[Rules] = tuple(replace(rule, on=True) for rule in RULES)
"""Also those that are off unless a query switches them on."""


def applying(queries: Iterable[Query]) -> list[Rule]:
    """The rules that change some of the queries, each by itself; others need not be tried."""
    asked = list(queries)
    return [rule for rule in EVERY if any(_changes(rule, query) for query in asked)]


def _changes(rule: Rule, query: Query) -> bool:
    return optimised(query, rules=(rule,)) != query.pattern


def choices(queries: Iterable[Query]) -> Iterator[tuple[str, Rules]]:
    """All rules together, and each alone that makes a difference, by name."""
    yield "all rules", EVERY
    for rule in applying(queries):
        yield f"{rule.name} alone", (rule,)


def switched(rules: Rules) -> Mapping[str, str]:
    """The settings that leave only some rules on; without any, nothing else is made better."""
    chosen = {rule.name for rule in rules} | set(PHYSICAL if rules else ())
    names = [*(rule.name for rule in RULES), *PHYSICAL]
    return {f"rules.{name}": "on" if name in chosen else "off" for name in names}
