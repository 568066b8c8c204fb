"""How many instants a step evaluates at once makes no difference."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from math import lcm

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace import Engine, Evaluation
from headrace.kernel import derived, slices, stretches
from tests.continuous.generators import Case, cases
from tests.continuous.test_invariance import played, same_run
from tests.fuzzing import repeat
from tests.kernel.test_stretches import check_same, shown

pytestmark = pytest.mark.slow


@contextmanager
def sliced(instants: int, rows: int) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(slices, "MOST_INSTANTS", instants)
        patch.setattr(slices, "MOST_ROWS", rows)
        patch.setattr(derived, "MOST_INSTANTS", instants)
        yield


few_instants = st.integers(1, 4)
sizes = st.tuples(st.integers(1, 6), st.integers(1, 200))


@repeat(150)
@given(cases(), st.booleans(), sizes, st.one_of(st.none(), st.integers(1, 4)))
def test_slices_of_any_size_give_the_same(
    case: Case, live: bool, size: tuple[int, int], batches: int | None
) -> None:
    whole = played(case, batches, live=live)
    with sliced(*size):
        found = played(case, batches, live=live)
    same_run(found, whole)


@repeat(150)
@given(cases(), st.booleans(), few_instants, few_instants, st.one_of(st.none(), sizes))
def test_stretches_stand_for_instants_with_the_same_answers(
    case: Case, live: bool, few: int, many: int, size: tuple[int, int] | None
) -> None:
    whole = played(case, live=live)
    with pytest.MonkeyPatch.context() as patch, sliced(*(size or (100, 10_000))):
        patch.setattr(stretches, "FEW", few)
        patch.setattr(stretches, "MANY", many)
        found = played(case, live=live)
    check_same(found.evaluations, whole.evaluations)
    same_run(replace(found, evaluations=[]), replace(whole, evaluations=[]))


EVERY_STEP = lcm(*range(1, 13))
"""Milliseconds that are a multiple of every width and step that cases have."""
YEARS = 50 * 365 * 86_400_000 // EVERY_STEP * EVERY_STEP


@repeat(60)
@given(cases(), st.booleans(), st.integers(0, 8), st.one_of(st.none(), st.integers(1, 3)))
def test_a_gap_of_years_has_the_answers_of_a_gap_of_seconds(
    case: Case, live: bool, place: int, batches: int | None
) -> None:
    near, far = (gapped(case, place, gap) for gap in (EVERY_STEP, YEARS))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stretches, "FEW", 10 * EVERY_STEP)
        patch.setattr(stretches, "MANY", 10 * EVERY_STEP)
        whole = played(near, batches, live=live)
    found = played(far, batches, live=live)
    left = list(whole.evaluations)
    for each in found.evaluations:
        last = without_gap(each.at)
        meant = [left.pop(0)]
        while each.since is not None and meant[-1].at < last:
            meant.append(left.pop(0))
        assert meant[-1].at == last
        assert all(shown(one) == shown(each) for one in meant)
    assert not left
    kept = replace(whole, evaluations=[], late=[], rejected=[])
    same_run(replace(found, evaluations=[], late=[], rejected=[]), kept)


def gapped(case: Case, place: int, gap: int) -> Case:
    """The same case with all elements later from a place of each stream on."""
    streams = {
        stream: [
            event._replace(time=event.time + gap) if number >= place else event
            for number, event in enumerate(found)
        ]
        for stream, found in case.streams.items()
    }
    return replace(case, query=replace(case.query, max_ahead=None), streams=streams)


def without_gap(at: int) -> int:
    """The moment within a gap of seconds that is as far from its end."""
    return at if at < 500 * YEARS else at - 1_000 * (YEARS - EVERY_STEP)


def beside(case: Case, quick: int, *, live: bool) -> tuple[list[Evaluation], list[Evaluation]]:
    """The evaluations of a case and of a query beside it, in the order in which they come."""
    engine = Engine(live=live, clock=None)
    for quads in (case.static or {}).values():
        engine.static.load_text(quads)
    streams = {iri: engine.stream(iri) for iri in case.streams}
    text = f"SELECT (COUNT(*) AS ?n) FROM STREAM <{min(streams)}> [RANGE 3ms STEP {quick}ms] " + (
        "{ ?x ?y ?z }"
    )
    first = engine.register(case.text, name="q", dialect=case.dialect, settings=case.settings)
    given = {key: value for key, value in case.settings.items() if key.startswith("delay")}
    ahead = {key: value for key, value in case.settings.items() if key == "max_ahead"}
    other = engine.register(text, name="other", settings={**given, **ahead, "bounds": "[)"})
    order: list[Evaluation] = []
    first.on_result(order.append)
    other.on_result(order.append)
    for iri, found in case.inputs.items():
        streams[iri].feed_timed(found)
    engine.step()
    engine.finish()
    return [each for each in order if each.query == "q"], order


@repeat(150)
@given(cases(), st.booleans(), sizes, st.integers(1, 3))
def test_a_slice_ends_at_the_same_moment_for_all_queries(
    case: Case, live: bool, size: tuple[int, int], quick: int
) -> None:
    alone, whole = beside(case, quick, live=live)
    with sliced(*size):
        found, order = beside(case, quick, live=live)
    assert found == alone
    assert sorted(order, key=lambda each: each.query) == sorted(whole, key=lambda each: each.query)
