"""The random tests find every wrong rule that is put in the place of a right one."""

from __future__ import annotations

import pytest

from tests.execution.wrong_rules import RULES, WrongRule, count_cases


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_every_wrong_rule_is_found(rule: WrongRule) -> None:
    assert count_cases(rule) is not None


def test_wrong_rules_have_names_of_their_own() -> None:
    names = [rule.name for rule in RULES]
    assert len(set(names)) == len(names)
