"""Matching what is new gives what looking at whole windows gives, however the input is cut."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.errors import SettingError
from headrace.testing import Played, play
from tests.continuous.generators import Case, cases
from tests.continuous.test_invariance import Steps, steps

pytestmark = pytest.mark.slow
CASES = int(os.environ.get("HEADRACE_FUZZ", "300"))
often = settings(max_examples=CASES, deadline=None, suppress_health_check=list(HealthCheck))


def played(case: Case, strategy: str, batches: Steps | int | None, *, live: bool = False) -> Played:
    return play(
        [case.text],
        case.inputs,
        static=case.static,
        settings={**case.settings, "strategy": strategy},
        dialect=case.dialect,
        batches=batches,
        live=live,
    )


@often
@given(cases(), st.booleans(), st.data())
def test_what_is_new_is_enough(case: Case, live: bool, more: st.DataObject) -> None:
    cuts = more.draw(st.one_of(steps(case), steps(case), st.integers(1, 4), st.none()))
    whole = played(case, "snapshot", None, live=live)
    try:
        found = played(case, "incremental", cuts, live=live)
    except SettingError:
        found = played(case, "auto", cuts, live=live)
    assert found.evaluations == whole.evaluations
    assert found.errors == whole.errors
