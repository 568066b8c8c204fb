"""Queries of one shape that are evaluated as one give what each of them gives alone."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.kernel import contents, incremental, lookup, matches, snapshot, strategy
from headrace.testing import Played, play
from tests.continuous.families import Family, families
from tests.continuous.test_invariance import Steps, steps

CASES = int(os.environ.get("HEADRACE_FUZZ", "150"))
often = settings(max_examples=CASES, deadline=None, suppress_health_check=list(HealthCheck))
STRATEGIES = st.sampled_from(["auto", "auto", "snapshot"])


@pytest.fixture(autouse=True, scope="module")
def small() -> Iterator[None]:
    """Let small streams reach what only large ones do else."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(strategy, "_WORTH_IT", 1)
        patch.setattr(strategy, "_AT_LEAST", 3)
        patch.setattr(incremental, "_FEW", 1)
        patch.setattr(matches, "_SMALL", 0)
        patch.setattr(matches, "_GROWN", 1.1)
        patch.setattr(lookup, "_LARGE", 2)
        patch.setattr(lookup, "_FEW", 0.1)
        patch.setattr(contents, "BLOCK_ROWS", 60)
        patch.setattr(snapshot, "_MUCH_MORE", 0)
        yield


def played(
    family: Family,
    batches: Steps | int | None,
    how: str,
    *,
    shared: bool,
    live: bool,
) -> Played:
    case = family.case
    own = {"strategy": how, "rules.share_shapes": "on" if shared else "off"}
    return play(
        family.texts,
        case.inputs,
        static=case.static,
        settings={**case.settings, **own},
        dialect=case.dialect,
        batches=batches,
        live=live,
    )


@pytest.mark.slow
@often
@given(families(), STRATEGIES, st.booleans(), st.data())
def test_as_one_they_give_what_each_gives_alone(
    family: Family, how: str, live: bool, more: st.DataObject
) -> None:
    cuts = more.draw(st.one_of(steps(family.case), st.integers(1, 4), st.none()))
    alone = played(family, cuts, how, shared=False, live=live)
    found = played(family, cuts, how, shared=True, live=live)
    assert found.evaluations == alone.evaluations
    assert found.errors == alone.errors
    assert found.late == alone.late
