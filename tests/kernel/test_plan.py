from __future__ import annotations

import pickle
from dataclasses import replace

import pytest

from headrace.algebra.expressions import Aggregate, TriplePattern, Variable
from headrace.algebra.operators import (
    Bgp,
    Distinct,
    Extend,
    Filter,
    Group,
    Join,
    Operator,
    OrderBy,
    Slice,
    Union,
)
from headrace.algebra.paths import OneOrMore, PathPattern
from headrace.algebra.query import Ask, Dataset, Query, Registered, Registration
from headrace.algebra.reporting import (
    FIRST,
    BlankNodes,
    Bounds,
    Contents,
    Emit,
    Every,
    Semantics,
    Strategy,
)
from headrace.algebra.windows import CountWindow, TimeWindow
from headrace.errors import UnsupportedError
from headrace.planning.plan import Plan, make_plan
from headrace.rdf.terms import Iri, QuotedTriple

from .streams import CAR, PASSAGES, PASSES, REGISTERS, STREAM, TOLLGATE, tollgate_query


def with_semantics(**choices: object) -> Query:
    return replace(tollgate_query(), semantics=replace(Semantics(), **choices))  # type: ignore[arg-type]  # the constructor checks fields


def test_the_plan_of_a_query_has_its_window() -> None:
    plan = make_plan(tollgate_query(delay=5))
    assert (plan.stream, plan.width, plan.slide) == (STREAM, 600_000_000, 60_000_000)
    assert (plan.origin, plan.delay, plan.variables) == (0, 5, (TOLLGATE, PASSAGES))


def test_a_plan_can_be_pickled_and_known_again() -> None:
    plan = make_plan(tollgate_query())
    again = pickle.loads(pickle.dumps(plan))
    assert isinstance(again, Plan)
    assert again == plan
    assert again.digest == plan.digest
    assert make_plan(tollgate_query(width=1)).digest != plan.digest


@pytest.mark.parametrize(
    "choices",
    [
        {"t0": 7},
        {"delay": 7},
        {"stream_delays": ((STREAM.value, 7),)},
        {"blank_nodes": BlankNodes.STREAM},
        {"strategy": Strategy.SNAPSHOT},
    ],
)
def test_choices_that_can_be_run(choices: dict[str, object]) -> None:
    plan = make_plan(with_semantics(**choices))
    assert 7 in (plan.origin, plan.delay) or not {"t0", "delay", "stream_delays"} & set(choices)


@pytest.mark.parametrize(
    "choices",
    [
        {"bounds": Bounds.CLOSED},
        {"t0": FIRST},
        {"contents": Contents.TIMED},
        {"report": Every(5)},
        {"emit": Emit.ISTREAM},
        {"strategy": Strategy.INCREMENTAL},
        {"assert_quoted": True},
        {"max_ahead": 7},
    ],
)
def test_choices_that_cannot_be_run_are_named(choices: dict[str, object]) -> None:
    with pytest.raises(UnsupportedError, match=next(iter(choices))):
        make_plan(with_semantics(**choices))


QUOTED = QuotedTriple(Iri("x:s"), Iri("x:p"), Iri("x:o"))
PATH = PathPattern(TOLLGATE, OneOrMore(REGISTERS), CAR)


@pytest.mark.parametrize(
    ("pattern", "named"),
    [
        (Join(PASSES, PASSES), "joins of groups"),
        (Union((PASSES, PASSES)), "UNION"),
        (Filter(CAR, PASSES), "FILTER"),
        (Distinct(OrderBy(PASSES, ())), "ORDER BY"),
        (Slice(PASSES, limit=1), "LIMIT"),
        (Extend(PASSES, PASSAGES, CAR), "EXTEND"),
        (Bgp(()), "an empty pattern"),
        (Bgp((PATH,)), "property paths"),
        (Bgp((TriplePattern(QUOTED, REGISTERS, CAR),)), "quoted triples"),
        (Group(PASSES, (), ((PASSAGES, Aggregate("SUM", CAR)),)), "SUM"),
        (Group(PASSES, (), ((PASSAGES, Aggregate("COUNT", None, True)),)), "DISTINCT"),
        (Group(PASSES, (), ((PASSAGES, Aggregate("COUNT", REGISTERS)),)), "an expression"),
    ],
)
def test_patterns_that_cannot_be_run_are_named(pattern: Operator, named: str) -> None:
    with pytest.raises(UnsupportedError, match=named):
        make_plan(replace(tollgate_query(), pattern=pattern))


def test_windows_that_cannot_be_run_are_named() -> None:
    query = tollgate_query()
    [window] = query.windows
    for windows, named in [
        ((), "exactly one window"),
        ((window, window), "exactly one window"),
        ((replace(window, in_default_graph=False),), "default graph"),
        ((replace(window, stream=Variable("s")),), "every stream"),
        ((replace(window, frame=CountWindow(3)),), "time windows"),
        ((replace(window, frame=TimeWindow(3)),), "time windows"),
    ]:
        with pytest.raises(UnsupportedError, match=named):
            make_plan(replace(query, windows=windows))


def test_forms_that_cannot_be_run_are_named() -> None:
    query = tollgate_query()
    with pytest.raises(UnsupportedError, match="ASK"):
        make_plan(replace(query, form=Ask()))
    with pytest.raises(UnsupportedError, match="static"):
        make_plan(replace(query, dataset=Dataset(default=(Iri("x:g"),))))
    with pytest.raises(UnsupportedError, match="stream"):
        make_plan(replace(query, registration=Registration("q", Registered.STREAM)))
    make_plan(replace(query, registration=Registration("q")))
