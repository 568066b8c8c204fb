"""Matching what is new gives what looking at whole windows gives, however the input is cut."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import nullcontext

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.errors import SettingError
from headrace.testing import Played, play
from tests.continuous.generators import Case, cases
from tests.continuous.test_invariance import Steps, steps
from tests.continuous.thresholds import made_small, without_hubs

pytestmark = pytest.mark.slow
CASES = int(os.environ.get("HEADRACE_FUZZ", "150"))
often = settings(max_examples=CASES, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(autouse=True, scope="module")
def small() -> Iterator[None]:
    """Let small streams reach what only large ones do else."""
    with made_small():
        yield


def played(
    case: Case,
    how: str,
    batches: Steps | int | None,
    *,
    live: bool = False,
    more: Mapping[str, str] | None = None,
) -> Played:
    return play(
        [case.text],
        case.inputs,
        static=case.static,
        settings={**case.settings, "strategy": how, **(more or {})},
        dialect=case.dialect,
        batches=batches,
        live=live,
    )


@often
@given(cases(), st.booleans(), st.data())
def test_what_is_new_is_enough(case: Case, live: bool, more: st.DataObject) -> None:
    cuts = more.draw(st.one_of(steps(case), steps(case), st.integers(1, 4), st.none()))
    whole = played(case, "snapshot", None, live=live)
    with without_hubs() if more.draw(st.booleans()) else nullcontext():
        try:
            seen = played(case, "incremental", cuts, live=live)
        except SettingError:
            seen = played(case, "auto", cuts, live=live)
    assert seen.evaluations == whole.evaluations
    assert seen.errors == whole.errors


@often
@given(cases(), st.data())
def test_the_order_of_joins_changes_no_answer(case: Case, more: st.DataObject) -> None:
    cuts = more.draw(st.one_of(steps(case), st.integers(1, 4)))
    adapting = played(case, "auto", cuts)
    fixed = played(case, "auto", cuts, more={"rules.adapt_routes": "off"})
    assert fixed.evaluations == adapting.evaluations
