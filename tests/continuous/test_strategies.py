"""Matching what is new gives what looking at whole windows gives, however the input is cut."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import nullcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import SettingError
from headrace.testing import Played
from tests.continuous.generators import Case, cases
from tests.continuous.test_invariance import Steps, steps
from tests.continuous.thresholds import made_small, without_hubs
from tests.continuous.ways import play_every_way
from tests.fuzzing import repeat

pytestmark = pytest.mark.slow
often = repeat(70)


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
    return play_every_way(
        case.text,
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
