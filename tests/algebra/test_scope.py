from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from headrace.algebra.operators import Operator
from headrace.algebra.scope import certain, mentioned, possible
from headrace.algebra.walk import depth, expressions, inputs, within
from headrace.dialects import parse
from tests.algebra.values import operators

SLOW = [HealthCheck.too_slow]


def names(text: str) -> tuple[str, str]:
    """The certain and the possible variables of the pattern of a query."""
    pattern = parse(f"ASK {{ {text} }}").query.pattern
    return tuple(
        " ".join(sorted(each.name for each in scope))
        for scope in (certain(pattern), possible(pattern))
    )  # type: ignore[return-value]  # two of them


@pytest.mark.parametrize(
    ("pattern", "always", "maybe"),
    [
        ("?s ?p ?o", "o p s", "o p s"),
        ("?s <x:p>/<x:q>* ?o", "o s", "o s"),
        ("<< ?s ?p ?o >> ?q ?c", "c o p q s", "c o p q s"),
        ("?a ?b ?c OPTIONAL { ?a ?d ?e }", "a b c", "a b c d e"),
        ("{ ?a ?b ?c } UNION { ?a ?d ?e }", "a", "a b c d e"),
        ("?a ?b ?c MINUS { ?a ?d ?e }", "a b c", "a b c"),
        ("?a ?b ?c BIND (1 AS ?d)", "a b c d", "a b c d"),
        ("?a ?b ?c BIND (?c + 1 AS ?d)", "a b c", "a b c d"),
        ("VALUES (?a ?b) { (1 UNDEF) (2 3) }", "a", "a b"),
        ("GRAPH ?g { ?a ?b ?c }", "a b c g", "a b c g"),
        ("SERVICE <x:s> { ?a ?b ?c }", "a b c", "a b c"),
        ("SERVICE SILENT <x:s> { ?a ?b ?c }", "", "a b c"),
        ("{ SELECT ?a (COUNT(*) AS ?n) { ?a ?b ?c } GROUP BY ?a }", "a n", "a n"),
        ("{ SELECT ?a { ?a ?b ?c } ORDER BY ?a LIMIT 3 }", "a", "a"),
        ("{ SELECT DISTINCT ?a ?z { ?a ?b ?c } }", "a", "a z"),
        ("?a ?b ?c FILTER EXISTS { ?a ?d ?e }", "a b c", "a b c"),
    ],
)
def test_variables_of_a_pattern(pattern: str, always: str, maybe: str) -> None:
    assert names(pattern) == (always, maybe)


def test_a_condition_mentions_the_variables_of_its_exists() -> None:
    pattern = parse("ASK { ?a ?b ?c FILTER (?c > 1 && EXISTS { ?a <x:p> ?d }) }").query.pattern
    (condition,) = expressions(pattern)
    assert {each.name for each in mentioned(condition)} == {"a", "c", "d"}


@settings(max_examples=150, deadline=None, suppress_health_check=SLOW)
@given(operators)
def test_what_is_certain_is_possible(operator: Operator) -> None:
    for each in within(operator):
        assert certain(each) <= possible(each)


@settings(max_examples=100, deadline=None, suppress_health_check=SLOW)
@given(operators)
def test_depth_is_more_than_that_of_any_input(operator: Operator) -> None:
    assert all(depth(operator) > depth(each) for each in inputs(operator))
