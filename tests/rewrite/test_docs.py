"""The documentation has every rule, with what it says."""

from __future__ import annotations

import pytest

from headrace.rewrite.optimise import PHYSICAL
from headrace.rewrite.rule import Rule
from headrace.rewrite.rules import RULES
from tests.shared import ROOT

PAGE = (ROOT / "docs" / "rewriting.md").read_text("utf-8")


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_is_documented(rule: Rule) -> None:
    shown = f"`{rule.name}`" if rule.on else f"`{rule.name}` (off)"
    said = rule.equation.partition("\n")[0]
    assert f"| {shown} | {said} |" in PAGE


@pytest.mark.parametrize("name", PHYSICAL)
def test_what_else_can_be_switched_is_documented(name: str) -> None:
    assert f"`rules.{name}`" in PAGE
