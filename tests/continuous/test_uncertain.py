"""Random queries with uncertainty functions: no switch, no strategy and no order changes answers.

`make fuzz` runs thousands of them.
"""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from headrace.dialects import parse
from headrace.errors import QueryError
from headrace.rdf.terms import Term
from headrace.rewrite.optimise import PHYSICAL
from headrace.rewrite.rules import RULES
from tests.continuous.uncertain import Script, scripts
from tests.continuous.ways import play_every_way
from tests.fuzzing import repeat

pytestmark = pytest.mark.slow
often = repeat(15)

NAMES = (*(rule.name for rule in RULES), *PHYSICAL)
NONE = {f"rules.{name}": "off" for name in NAMES}
SWITCHED = ("lazy_variables", "cache_calls", "choose_filters", "pull_costly_filters")
some = st.sets(st.sampled_from(SWITCHED)).map(
    lambda names: {f"rules.{name}": "on" if name in names else "off" for name in SWITCHED}
)
alone = st.sampled_from(NAMES).map(lambda name: {**NONE, f"rules.{name}": "on"})
ways = st.one_of(some, some, alone)
strategies = st.sampled_from(["auto", "snapshot"])

Answers = list[tuple[int, Counter[frozenset[tuple[str, Term]]]]]


def answers(
    script: Script, switches: dict[str, str], batches: int | None = None, *, reverse: bool = False
) -> Answers:
    """What is told at each instant; in which order columns stand is left out of account."""
    found = play_every_way(
        script.text(reverse=reverse),
        script.streams,
        static={None: script.static},
        settings=switches,
        batches=batches,
        dialect="rspql",
    )
    assert not found.errors
    return [
        (each.at, Counter(frozenset(row.items()) for row in each.bindings()))
        for each in found.evaluations
    ]


def assume_valid(script: Script) -> None:
    """Some that are made are no queries, as when BIND binds a variable twice."""
    try:
        parse(script.text(), "rspql")
    except QueryError:
        assume(condition=False)


@often
@given(scripts(), ways, strategies, st.sampled_from([None, 1, 3]))
def test_no_switch_changes_answers(
    script: Script, switches: dict[str, str], strategy: str, batches: int | None
) -> None:
    assume_valid(script)
    expected = answers(script, {**NONE, "strategy": "snapshot"})
    assert answers(script, {}, batches) == expected
    assert answers(script, {**switches, "strategy": strategy}, batches) == expected


@often
@given(scripts())
def test_the_order_of_what_is_joined_does_not_matter(script: Script) -> None:
    assume_valid(script)
    assert answers(script, {}, reverse=True) == answers(script, {})
