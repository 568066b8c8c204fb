"""Queries of one shape that are evaluated as one give what each of them gives alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.engine import Engine
from headrace.results.evaluations import Evaluation
from headrace.testing import Batches, Played, in_elements, play, static_quads
from tests.continuous.families import Family, families
from tests.continuous.test_invariance import steps
from tests.continuous.thresholds import made_small
from tests.continuous.ways import one_at_a_time
from tests.fuzzing import repeat

often = repeat(80)
STRATEGIES = st.sampled_from(["auto", "auto", "snapshot"])


@pytest.fixture(autouse=True, scope="module")
def small() -> Iterator[None]:
    """Let small streams reach what only large ones do else."""
    with made_small():
        yield


def played(
    family: Family,
    batches: Batches,
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
    apart = one_at_a_time(family.case.inputs)
    one_by_one = played(family, apart, how, shared=True, live=live)
    assert in_order(one_by_one) == in_order(alone)


def in_order(found: Played) -> list[Evaluation]:
    """The evaluations of each query: how those of several are mixed depends on the steps."""
    return sorted(found.evaluations, key=lambda each: each.query)


@dataclass(frozen=True)
class Course:
    """Queries that come and go between steps.

    Attributes:
        cut: how many elements of each stream each step has.
        comes: before which step each query is registered.
        goes: before which step it is removed, if it is.
    """

    cut: int
    comes: tuple[int, ...]
    goes: tuple[int | None, ...]


@st.composite
def courses(draw: st.DrawFn, family: Family) -> Course:
    number = len(family.bodies)
    comes = tuple(draw(st.sampled_from([0, 0, 1, 2, 4])) for _ in range(number))
    goes = tuple(draw(st.sampled_from([None, None, None, 3, 5])) for _ in range(number))
    pairs = zip(comes, goes, strict=True)
    later = tuple(None if last is None or last <= first else last for first, last in pairs)
    return Course(draw(st.integers(1, 3)), comes, later)


def run(family: Family, course: Course, how: str, *, shared: bool) -> Ran:
    case = family.case
    own = {"strategy": how, "rules.share_shapes": "on" if shared else "off"}
    engine = Engine(settings={**case.settings, **own}, clock=None)
    for graph, text in (case.static or {}).items():
        engine.static.add(static_quads(text, graph))
    found: list[Evaluation] = []
    scripts = {iri: list(in_elements(text)) for iri, text in case.inputs.items()}
    for iri in scripts:
        engine.stream(iri)
    sizes, step = list[int](), 0
    while step < 6 or any(scripts.values()):
        for number, (name, text) in enumerate(family.texts.items()):
            if course.comes[number] == step:
                engine.register(text, name=name, dialect=case.dialect).on_result(found.append)
            if course.goes[number] == step:
                engine.remove(name)
        for iri, elements in scripts.items():
            taken, scripts[iri] = elements[: course.cut], elements[course.cut :]
            engine.stream(iri).feed_timed("".join(line for each in taken for line in each))
        engine.step()
        sizes.append(len(engine.runner.kernel.queries))
        step += 1
    engine.finish()
    return Ran(found, {name: query.error for name, query in engine.queries.items()}, sizes)


@dataclass(frozen=True)
class Ran:
    """What came of it, and how many queries or groups there were after each step."""

    evaluations: list[Evaluation]
    errors: dict[str, str | None]
    sizes: list[int]


@pytest.mark.slow
@often
@given(families(events=40), STRATEGIES, st.data())
def test_queries_may_come_and_go(family: Family, how: str, more: st.DataObject) -> None:
    course = more.draw(courses(family))
    alone = run(family, course, how, shared=False)
    found = run(family, course, how, shared=True)
    assert found.evaluations == alone.evaluations
    assert found.errors == alone.errors
