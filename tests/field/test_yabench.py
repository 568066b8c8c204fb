"""YABench: what windows hold, and what its queries report of its streams."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cache

import pytest

from headrace.engine import Engine
from headrace.kernel.stream_counters import Counters
from headrace.rdf.terms import Literal, Term, canonical
from headrace.results.evaluations import Evaluation
from headrace.testing import play
from tests.field.yabench import (
    BOUNDS,
    FIXTURES,
    STREAM,
    TEMPERATURE,
    Digest,
    Statement,
    computed,
    digest,
    expected,
    filled,
    fixture,
    fixture_as_timed,
    line,
    query,
    timed,
)
from tests.shared import needs_data

pytestmark = [needs_data("yabench"), needs_data("yabench-streams")]

WINDOWS = FIXTURES / "tests" / "WindowFactoryTest"
CONTENTS = {
    "csparql": f"REGISTER QUERY contents AS SELECT ?s ?p ?o"
    f" FROM STREAM <{STREAM}> [RANGE 60s STEP 30s] WHERE {{ ?s ?p ?o }}",
    "rspql": f"SELECT ?s ?p ?o FROM NAMED WINDOW <http://ex.org/w> ON <{STREAM}>"
    " [RANGE PT60S STEP PT30S] WHERE { WINDOW <http://ex.org/w> { ?s ?p ?o } }",
    "construct": f"REGISTER STREAM contents AS CONSTRUCT {{ ?s ?p ?o }}"
    f" FROM STREAM <{STREAM}> [RANGE 60s STEP 30s] WHERE {{ ?s ?p ?o }}",
}


def window_contents(folder: str, count: int) -> list[Counter[Statement]]:
    """What each window of a fixture holds, in their order."""
    files = [WINDOWS / folder / f"{number}.window" for number in range(1, count + 1)]
    assert not (WINDOWS / folder / f"{count + 1}.window").exists()
    return [Counter(statement for _, statement in fixture(file)) for file in files]


def played_contents(folder: str, text: str, settings: dict[str, str]) -> list[Evaluation]:
    """What a query reports of the input of a fixture."""
    streams = {STREAM: fixture_as_timed(WINDOWS / folder / "input.stream")}
    played = play([text], streams, settings=settings)
    assert not played.late
    assert not played.rejected
    assert not played.errors
    return played.evaluations


def held(evaluation: Evaluation) -> Counter[Statement]:
    """The statements that an evaluation emits."""
    assert evaluation.error is None
    triples = [(quad.subject, quad.predicate, quad.object) for quad in evaluation.quads]
    return Counter(map(_statement, [*triples, *evaluation.rows]))


def _statement(terms: Iterable[Term | None]) -> Statement:
    subject, predicate, object_ = (canonical(term) for term in terms if term is not None)
    return subject, predicate, object_


def bounds_of(evaluation: Evaluation) -> tuple[int, int]:
    """When the only window of an evaluation opens and closes, in milliseconds."""
    [(opens, closes)] = evaluation.windows.values()
    assert opens is not None
    assert closes == evaluation.at
    assert evaluation.seq == 0
    assert not opens % 1000
    assert not closes % 1000
    return opens // 1000, closes // 1000


@pytest.mark.parametrize("form", CONTENTS)
def test_contents_when_windows_close(form: str) -> None:
    settings = {"bounds": "[)", "report": "on-close"}
    found = played_contents("testOnWindowClose", CONTENTS[form], settings)
    # They let the first window open with the stream; it has no more in it than ours.
    closes = range(30_000, 180_001, 30_000)
    assert list(map(bounds_of, found)) == [(close - 60_000, close) for close in closes]
    assert list(map(held, found)) == window_contents("testOnWindowClose", 6)


def test_with_both_ends_a_window_more_holds_the_first_element() -> None:
    settings = {"bounds": "[]", "report": "on-close"}
    first, *others = played_contents("testOnWindowClose", CONTENTS["csparql"], settings)
    fixtures = window_contents("testOnWindowClose", 6)
    assert bounds_of(first) == (-60_000, 0)
    assert held(first) == fixtures[0]
    assert list(map(held, others)) == fixtures


@pytest.mark.parametrize("bounds", ["[)", "[]"])
@pytest.mark.parametrize("form", CONTENTS)
def test_contents_when_contents_change(form: str, bounds: str) -> None:
    settings = {"bounds": bounds, "report": "on-change"}
    found = played_contents("testOnContentChange", CONTENTS[form], settings)
    times = sorted({time for time, _ in fixture(WINDOWS / "testOnContentChange/input.stream")})
    # The first element lies on the grid: with both ends it is also the close of a window.
    opens = [-30_000 if bounds == "[)" else -60_000, 0, 0, 0, 0, 30_000, 60_000]
    assert list(map(bounds_of, found)) == list(zip(opens, times, strict=True))
    assert list(map(held, found)) == window_contents("testOnContentChange", 7)


# -- QueryExecutorTest ----------------------------------------------------------------------------


def average_query(test: str, frame: str) -> str:
    """The query of a fixture over a window of its stream, with the standard's AVG."""
    text = filled(FIXTURES / "QueryExecutorTest" / test / "query.template")
    head, brace, body = text.replace("<http://yabench/avg>", "AVG").partition("{")
    return f"{head}FROM STREAM <{STREAM}> {frame} WHERE {brace}{body}"


def averages(test: str, frame: str, settings: dict[str, str]) -> dict[int, list[dict[str, str]]]:
    """The rows of each window that holds an element, by its close in milliseconds."""
    streams = {STREAM: fixture_as_timed(FIXTURES / "QueryExecutorTest" / test / "input.stream")}
    asked = {"non_empty": "content", **settings}
    played = play([average_query(test, frame)], streams, settings=asked, dialect="csparql")
    assert not played.errors
    assert not any(evaluation.error for evaluation in played.evaluations)
    return {
        bounds_of(each)[1]: [_values(each.variables, terms) for terms in each.rows]
        for each in played.evaluations
    }


def _values(variables: tuple[str, ...], terms: tuple[Term | None, ...]) -> dict[str, str]:
    return {
        variable: term.lexical if isinstance(term, Literal) else canonical(term)
        for variable, term in zip(variables, terms, strict=True)
        if term is not None
    }


def test_the_average_of_nothing_is_zero_and_there_is_no_group_of_nothing() -> None:
    # Their window [60000, 75445] holds one observation, of 42 degrees. To their own function the
    # average of nothing is unbound, and their Jena answers one row for no group; to SPARQL 1.1 it
    # is zero, and no row.
    frame, settings = "[RANGE 15445ms STEP 60s]", {"bounds": "[]", "t0": "75445"}
    assert averages("testAvgOneVar", frame, settings)[75_445] == [{"avg": "0"}]
    assert averages("testAvgTwoVar", frame, settings)[75_445] == []


@pytest.mark.parametrize(("width", "slide"), [(60_000, 60_000), (60_000, 30_000)])
def test_averages(width: int, slide: int) -> None:
    values = {
        (time, subject.replace("MeasureData", "Observation")): float(object_.split('"')[1])
        for time, (subject, predicate, object_) in fixture(
            FIXTURES / "QueryExecutorTest/testAvgOneVar/input.stream"
        )
        if predicate.endswith("#floatValue>")
    }
    frame = f"[RANGE {width}ms STEP {slide}ms]"
    whole = averages("testAvgOneVar", frame, {"bounds": "[)"})
    single = averages("testAvgTwoVar", frame, {"bounds": "[)"})
    assert set(whole) == set(single)
    assert set(whole) == {
        close
        for close in range(0, 600_000, slide)
        if any(close - width <= time < close for time, _ in values)
    }
    for close, [answer] in whole.items():
        warm = {
            observation: value
            for (time, observation), value in values.items()
            if close - width <= time < close and value > TEMPERATURE
        }
        mean = sum(warm.values()) / len(warm) if warm else 0
        assert float(answer["avg"]) == pytest.approx(mean, rel=1e-6), close
        assert {row["obs"]: float(row["avg"]) for row in single[close]} == warm, close


# -- the generated streams ------------------------------------------------------------------------

EXPERIMENTS = ("E1_small", "E1_medium", "E3_small", "E3_medium")
TESTS = {"E1": "csparql_Q1_1", "E3": "csparql_Q3_1"}
WIDTH, SLIDES = 5000, (5000, 1000)


@cache
def digests(experiment: str, bounds: str) -> dict[int, list[Digest]]:
    """The answers of an experiment's query by its slide, both from one run."""
    test = TESTS[experiment[:2]]
    return run(experiment, {slide: query(test, WIDTH, slide) for slide in SLIDES}, bounds)


def run(
    experiment: str, queries: dict[int, str], bounds: str, *, lines: int | None = None
) -> dict[int, list[Digest]]:
    """The answers of queries, by what they are called; a step after every so many lines."""
    engine = Engine(settings={"bounds": bounds, "emit": "rstream"})
    stream = engine.stream(STREAM)
    registered = {name: engine.register(text, name=str(name)) for name, text in queries.items()}
    text = timed(experiment).splitlines(keepends=True)
    for start in range(0, len(text), lines or len(text)):
        stream.feed_timed("".join(text[start : start + (lines or len(text))]))
        engine.step()
    engine.finish()
    assert engine.counters[STREAM] == Counters(elements=len(text), messages=len(text))
    assert not any(each.error for each in registered.values())
    return {name: list(map(shortened, each.results())) for name, each in registered.items()}


def shortened(evaluation: Evaluation) -> Digest:
    """The rows of an evaluation, in short."""
    assert evaluation.error is None
    return digest(*bounds_of(evaluation), map(line, evaluation.rows))


def outside(found: list[Digest], published: list[Digest]) -> list[int]:
    """The closes of windows that we report and they do not."""
    theirs = {each.closes for each in published}
    return [each.closes for each in found if each.closes not in theirs]


@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_the_answers_of_the_tests_are_the_published_ones(experiment: str, bounds: str) -> None:
    published = expected(experiment, WIDTH, WIDTH, bounds)
    mine = {each.closes: each for each in computed(experiment, WIDTH, WIDTH, bounds)}
    assert [mine[each.closes] for each in published] == published


@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_every_window_is_the_published_one(experiment: str, bounds: str) -> None:
    published = expected(experiment, WIDTH, WIDTH, bounds)
    found = digests(experiment, bounds)[WIDTH]
    mine = {each.closes: each for each in found}
    assert [mine[each.closes] for each in published] == published
    # Theirs run from the beginning of the stream to 30 s. Ours are all that hold an element: one
    # at 0 is also the end of a window, and one at 30 s also the beginning of one.
    at_end = experiment != "E1_small"
    before, after = ([0] if bounds[1] == "]" else []), ([35_000] if bounds[0] == "[" else [])
    assert outside(found, published) == [*before, *(after if at_end else [])]


@pytest.mark.parametrize("slide", SLIDES)
@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_every_window_is_as_computed(experiment: str, bounds: str, slide: int) -> None:
    assert digests(experiment, bounds)[slide] == computed(experiment, WIDTH, slide, bounds)


def test_the_query_in_cqels_ql_finds_the_same() -> None:
    queries = {slide: query("cqels_Q1_1", WIDTH, slide) for slide in SLIDES}
    assert run("E1_small", queries, "[)") == digests("E1_small", "[)")


@pytest.mark.parametrize("lines", [1000, 777])
def test_how_the_input_is_cut_makes_no_difference(lines: int) -> None:
    queries = {slide: query("csparql_Q3_1", WIDTH, slide) for slide in SLIDES}
    assert run("E3_small", queries, "[)", lines=lines) == digests("E3_small", "[)")
