"""Every operator over random relations, compared with the naive oracle at every instant."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.execution import checks, group_checks, plan_checks
from tests.fuzzing import repeat


def _checks_of(module: ModuleType) -> list[Callable[[Random], Any]]:
    return [each for name, each in vars(module).items() if name.startswith("check_")]


CHECKS = [each for module in (checks, group_checks, plan_checks) for each in _checks_of(module)]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__.removeprefix("check_"))
@repeat(60, share=0.1)
@given(seed=st.integers(0, 2**32 - 1))
def test_operators_give_what_the_oracle_gives(check: Callable[[Random], Any], seed: int) -> None:
    check(Random(seed))
