"""Values that expressions cannot compute are counted for each query, by cause, with an example."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace import Engine
from headrace.functions.errors import ExpressionError
from headrace.functions.table import Functions
from headrace.functions.value_failures import Cause, FailuresByQuery, ValueFailure
from headrace.functions.values import literal_of
from headrace.pipeline.metrics import Figures, exposition, measures
from headrace.rdf.terms import Term
from headrace.rdf.vocabulary import RSPU, RSPU_DISTRIBUTION, XSD_STRING

STREAM = "http://example.org/s"
PREFIX = f"PREFIX : <http://example.org/> PREFIX rspu: <{RSPU}>\n"
WINDOW = f"FROM STREAM <{STREAM}> [RANGE 1s STEP 1s]"
ADDED = "http://example.org/half"


def half(term: Term) -> Term:
    raise ExpressionError(f"{term} has no half")


def failures(
    pattern: str, *values: str, select: str = "*", settings: dict[str, str] | None = None
) -> tuple[ValueFailure, ...]:
    functions = Functions().with_function(ADDED, half, arity=1)
    engine = Engine(functions=functions, settings=settings or {})
    query = engine.register(f"{PREFIX}SELECT {select} {WINDOW} {{ {pattern} }}")
    stream = engine.stream(STREAM)
    for number, value in enumerate(values):
        stream.push(f"<http://example.org/{number}> <http://example.org/is> {value} .", at=100)
    engine.finish()
    assert all(each.error is None for each in query.results())
    assert query.error is None
    return query.failures


def uncertain(text: str) -> str:
    return f'"{text}"^^<{RSPU_DISTRIBUTION}>'


FIVE, SIX = str(literal_of(5)), str(literal_of(6))
WRONG = [uncertain("N(1)"), uncertain("N(0,1)"), uncertain("M(0,1)"), '"text"', uncertain("N(1)")]


@pytest.mark.parametrize("cache", ["on", "off"])
@pytest.mark.parametrize(
    "pattern",
    [
        "?s :is ?d FILTER(rspu:lessThan(?d, 1) > 0.5)",
        "?s :is ?d BIND(rspu:mean(?d) AS ?m)",
        "?s :is ?d BIND(COALESCE(rspu:quantile(?d, 0.5), 0) AS ?m)",
    ],
)
def test_values_that_cannot_be_read_are_counted_by_datatype(pattern: str, cache: str) -> None:
    found = failures(pattern, *WRONG, settings={"rules.cache_calls": cache})
    assert [(each.cause, each.subject, each.count) for each in found] == [
        (Cause.VALUE, RSPU_DISTRIBUTION, 2),
        (Cause.VALUE, XSD_STRING, 1),
    ]
    assert found[0].example in {
        "'N(1)' is no distribution: expected N(mean, variance)",
        "there is no distribution 'M'. There are N, U, T, LN, E, B, H, P",
    }
    assert str(found[0]).startswith(f"2 values of <{RSPU_DISTRIBUTION}> could not be read; the")


def test_what_is_right_is_not_counted() -> None:
    assert not failures("?s :is ?d BIND(rspu:mean(?d) AS ?m)", uncertain("N(0,1)"), FIVE)
    assert not failures("?s :is ?d OPTIONAL { ?s :no ?e } BIND(rspu:mean(?e) AS ?m)", FIVE)


@pytest.mark.parametrize("cache", ["on", "off"])
@pytest.mark.parametrize(
    ("call", "subject", "reason"),
    [
        ("rspu:mean(?d)", "mean", "too large for a double"),
        ("rspu:add(?d, 1e0/0)", "add", "a sum with an infinite number"),
        ("rspu:quantile(?d, STRLEN(STR(?s)))", "quantile", "no probability"),
    ],
)
def test_calls_without_a_result_are_counted_by_function(
    call: str, subject: str, reason: str, cache: str
) -> None:
    pattern = f"?s :is ?d BIND({call} AS ?m)"
    value = uncertain("LN(800,1)")
    found = failures(pattern, value, value, settings={"rules.cache_calls": cache})
    [failure] = found
    assert (failure.cause, failure.subject) == (Cause.CALL, RSPU + subject)
    assert reason in failure.example


def test_functions_that_a_program_adds_are_counted_too() -> None:
    [failure] = failures(f"?s :is ?d BIND(<{ADDED}>(?d) AS ?m)", FIVE, SIX, SIX)
    assert failure == ValueFailure(Cause.CALL, ADDED, 2, f"{FIVE} has no half")
    assert str(failure) == f"2 calls of <{ADDED}> had no result; the first: {FIVE} has no half"


def test_aggregates_without_a_result_are_counted() -> None:
    wild = uncertain("LN(0,100)")
    others = [uncertain(f"LN({number},100)") for number in range(2)]
    [failure] = failures("?s :is ?d", wild, *others, select="(SUM(?d) AS ?n)")
    assert (failure.cause, failure.subject, failure.count) == (Cause.AGGREGATE, "SUM", 1)
    assert "cannot be computed" in failure.example
    [unread] = failures("?s :is ?d", wild, uncertain("N(1)"), select="(AVG(?d) AS ?n)")
    assert (unread.cause, unread.subject) == (Cause.VALUE, RSPU_DISTRIBUTION)
    every = failures("?s :is ?d", wild, *WRONG, select="(SUM(?d) AS ?n)")
    assert [(each.cause, each.subject, each.count) for each in every] == [
        (Cause.VALUE, RSPU_DISTRIBUTION, 2),
        (Cause.VALUE, XSD_STRING, 1),
    ]


@pytest.mark.parametrize(
    ("condition", "name"),
    [
        ("REGEX('abc', ?d)", "REGEX"),
        ("REGEX('abc', 'a', ?d)", "REGEX"),
        ("REPLACE('abc', ?d, 'x') = 'xbc'", "REPLACE"),
    ],
)
def test_computed_patterns_that_cannot_be_used_are_counted(condition: str, name: str) -> None:
    [failure] = failures(f"?s :is ?d FILTER({condition})", '"(a)\\\\1"', '"i"', '"(a)\\\\1"')
    assert (failure.cause, failure.subject) == (Cause.PATTERN, name)
    assert failure.count == 1, "an evaluation counts a pattern once"


def test_each_query_of_one_shape_has_its_own_counts() -> None:
    engine = Engine()
    texts = [
        f"{PREFIX}SELECT ?s {WINDOW} {{ ?s :is ?d FILTER(rspu:lessThan(?d, {limit}) > 0.5) }}"
        for limit in (1, 2, 3)
    ]
    queries = [engine.register(text) for text in texts]
    stream = engine.stream(STREAM)
    stream.push(f"<http://example.org/a> <http://example.org/is> {WRONG[0]} .", at=100)
    engine.finish()
    for query in queries:
        [failure] = query.failures
        assert (failure.cause, failure.count) == (Cause.VALUE, 1)


def test_a_query_that_is_removed_takes_its_counts_along() -> None:
    counted = FailuresByQuery()
    counted.add("q", ValueFailure(Cause.CALL, "x:f", 2, "no"))
    counted.add("q", ValueFailure(Cause.CALL, "x:f", 3, "later"))
    assert counted.by_query() == {"q": (ValueFailure(Cause.CALL, "x:f", 5, "no"),)}
    counted.remove("q")
    assert counted.by_query() == {}


def test_subjects_without_end_are_counted_together() -> None:
    counted = FailuresByQuery()
    for number in range(1_000):
        counted.add("q", ValueFailure(Cause.VALUE, f"x:{number}", 1, "e" * 1_000))
    found = counted.by_query()["q"]
    assert len(found) <= 101
    assert sum(each.count for each in found) == 1_000
    assert max(len(each.example) for each in found) <= 200


def test_counts_are_metrics() -> None:
    figures = Figures(failures={"q": [ValueFailure(Cause.VALUE, RSPU_DISTRIBUTION, 3, "N(1)")]})
    text = exposition(measures(figures, 0.0))
    line = (
        f'headrace_value_failures_total{{query="q",cause="value",subject="{RSPU_DISTRIBUTION}"}} 3'
    )
    assert line in text


@pytest.mark.parametrize("partitions", [1, 2])
def test_a_run_in_batches_and_parts_counts_them(tmp_path: Path, partitions: int) -> None:
    file = tmp_path / "s.tnq"
    lines = [
        f"{100 * number}\t<http://example.org/{number}> <http://example.org/is> {value} .\n"
        for number, value in enumerate(WRONG)
    ]
    file.write_text("".join(lines), "utf-8")
    engine = Engine(checkpoint=tmp_path / "kept")
    query = engine.register(
        f"{PREFIX}SELECT ?s {WINDOW} {{ ?s :is ?d FILTER(rspu:lessThan(?d, 1) > 0.5) }}"
    )
    engine.stream(STREAM, source=str(file))
    engine.run(once=True, runner="inline", partitions=partitions)
    found = [(each.subject, each.count) for each in query.failures]
    # The first element is in a window of its own.
    assert found == [(RSPU_DISTRIBUTION, 3), (XSD_STRING, 1)]
