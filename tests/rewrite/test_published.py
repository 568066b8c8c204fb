"""The tests of the W3C and our scenarios come out the same with no rules, all, or one alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from headrace.algebra.query import Query
from headrace.dialects import parse
from headrace.scenarios import Scenario, played, problems
from tests.rewrite.choosing import Rules, choices, switched
from tests.test_scenarios import FILES, scenario_of
from tests.w3c.cases import Evaluation
from tests.w3c.test_evaluation import (
    DEVIATIONS,
    agrees,
    answered,
    asked,
    expected,
    loaded,
    params,
)


@pytest.mark.parametrize("case", params())
def test_a_query_of_the_w3c_gives_its_result_with_any_rules(case: Evaluation) -> None:
    query = asked(case)
    data, theirs = loaded(case, query), expected(case)
    for name, rules in [("no rules", ()), *choices([query])]:
        right = agrees(case, answered(query, data, rules), theirs)
        assert right is (case.id not in DEVIATIONS), name


def told(scenario: Scenario, rules: Rules) -> list[str]:
    """Where a scenario comes out otherwise with some rules."""
    chosen = {**scenario.settings, **switched(rules)}
    return problems(scenario, played(replace(scenario, settings=chosen)))


def queries(scenario: Scenario) -> Iterator[Query]:
    for each in scenario.queries:
        yield parse(each.text, each.dialect, settings=dict(scenario.settings)).query


RUN = [path for path in FILES if not scenario_of(path).refused]


@pytest.mark.parametrize("path", RUN, ids=lambda path: path.stem)
def test_a_scenario_comes_out_as_it_says_with_any_rules(path: Path) -> None:
    scenario = scenario_of(path)
    for name, rules in [("no rules", ()), *choices(queries(scenario))]:
        assert not told(scenario, rules), name
