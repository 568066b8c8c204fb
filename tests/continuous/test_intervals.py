"""Solutions with intervals give what solutions at single instants give."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.execution.relation import coalesce as coalescing
from headrace.execution.relation import keys
from headrace.execution.relation.coalesce import unite_pieces, unite_rows
from headrace.kernel import evaluation
from headrace.kernel.surroundings import Surroundings
from headrace.testing import Played, play
from tests.continuous.generators import Case, cases
from tests.fuzzing import repeat

S = "http://x/s"
VALUES = (
    *("1", "2", "7", "-3", "0", "123456789012345", "-99999999999999999999"),
    *("0.5", "1.25", "-2.0", "1e0", "2.5e0", "1e16", "-1e16", "0e0", "1.1e308"),
    '"INF"^^xsd:double',
    '"-INF"^^xsd:double',
    '"NaN"^^xsd:double',
    '"1.5"^^xsd:float',
    '"x"',
    '"y"@en',
    "<http://x/a>",
    "true",
)
PREFIX = "PREFIX : <http://x/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> "
AGGREGATES = ("COUNT", "SUM", "AVG", "MIN", "MAX", "SAMPLE", "GROUP_CONCAT")


def written(value: str) -> str:
    """A term of SPARQL as N-Triples has it."""
    xsd = "http://www.w3.org/2001/XMLSchema#"
    if "^^" in value:
        return value.replace("xsd:", f"<{xsd}") + ">"
    if value[0] in '<"':
        return value
    kind = "boolean" if value == "true" else "integer"
    kind = "double" if "e" in value and value != "true" else "decimal" if "." in value else kind
    return f'"{value}"^^<{xsd}{kind}>'


@pytest.fixture
def at_single_instants(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Played]], Played]:
    surroundings = evaluation._Evaluation._surroundings

    def single(self: evaluation._Evaluation, *arguments: object) -> Surroundings:
        return replace(surroundings(self, *arguments), intervals=False)  # type: ignore[arg-type]

    def run(function: Callable[[], Played]) -> Played:
        with monkeypatch.context() as patched:
            patched.setattr(evaluation._Evaluation, "_surroundings", single)
            return function()

    return run


def same(one: Played, other: Played) -> None:
    assert len(one.evaluations) == len(other.evaluations)
    for ours, theirs in zip(one.evaluations, other.evaluations, strict=True):
        assert (ours.at, ours.seq, ours.error) == (theirs.at, theirs.seq, theirs.error)
        assert ours.rows == theirs.rows
        assert (ours.boolean, ours.quads) == (theirs.boolean, theirs.quads)


EVENTS = st.lists(
    st.tuples(st.integers(0, 12), st.integers(0, 2), st.integers(0, 3), st.integers(0, 11)),
    min_size=1,
    max_size=14,
)


@pytest.mark.slow
@repeat(150)
@given(EVENTS, st.sampled_from(AGGREGATES), st.booleans(), st.booleans(), st.data())
def test_aggregates(
    at_single_instants: Callable[[Callable[[], Played]], Played],
    events: list[tuple[int, int, int, int]],
    function: str,
    distinct: bool,
    keyed: bool,
    data: st.DataObject,
) -> None:
    some = data.draw(st.sets(st.sampled_from(VALUES), min_size=1, max_size=4).map(sorted))
    lines = [
        f"{1000 * time}\t<http://x/k{key}> <http://x/v> <http://x/n{node}> .\n"
        f"{1000 * time}\t<http://x/n{node}> <http://x/w> {written(some[place % len(some)])} .\n"
        for time, key, node, place in sorted(events)
    ]
    call = f"{function}({'DISTINCT ' if distinct else ''}?w)"
    by = "GROUP BY ?k" if keyed else ""
    text = (
        f"{PREFIX} SELECT {'?k ' if keyed else ''}({call} AS ?x) (COUNT(*) AS ?c) "
        f"(COUNT(DISTINCT *) AS ?d) FROM NAMED WINDOW :w ON <{S}> [RANGE PT4S STEP PT1S] "
        f"WHERE {{ WINDOW :w {{ ?k :v ?n OPTIONAL {{ ?n :w ?w }} }} }} {by}"
    )

    def run() -> Played:
        return play({"q": text}, {S: "".join(lines)}, dialect="rspql")

    same(run(), at_single_instants(run))


@pytest.mark.slow
@repeat(60)
@given(cases())
def test_random_queries(
    at_single_instants: Callable[[Callable[[], Played]], Played], case: Case
) -> None:
    def run() -> Played:
        return play(
            {"q1": case.text},
            case.inputs,
            static=case.static,
            settings=case.settings,
            dialect=case.dialect,
        )

    same(run(), at_single_instants(run))


LINES = "".join(
    f"{1000 * time}\t<http://x/{'a' if time % 3 else 'b'}> <http://x/{name}> <http://x/{end}> .\n"
    for time, name, end in [
        *((time, "p" if time in {1, 2, 6} else "r", "b") for time in range(12)),
        (3, "v", "c"),
        (5, "q", "a"),
    ]
)
STATIC = "@prefix : <http://x/> . :a :p :b . :b :v :d ."


@pytest.mark.parametrize("condition", [
    "SECONDS(NOW()) > 3",
    "EXISTS { ?s :q ?n }",
    "NOT EXISTS { ?s :q ?n }",
    "?x = :k || EXISTS { ?o :v ?n }",
    "RAND() < 0.5",
])  # fmt: skip
@pytest.mark.parametrize("contents", ["set", "timed"])
@pytest.mark.parametrize("emit", ["", "REGISTER ISTREAM q AS", "REGISTER DSTREAM q AS"])
def test_conditions_that_depend_on_the_instant(
    at_single_instants: Callable[[Callable[[], Played]], Played],
    condition: str,
    contents: str,
    emit: str,
) -> None:
    text = (
        f"{PREFIX} {emit} SELECT * FROM NAMED WINDOW :w ON <{S}> [RANGE PT5S STEP PT1S] "
        f"WHERE {{ ?s :p ?o WINDOW :w {{ ?s ?p ?o OPTIONAL {{ ?o :v ?x FILTER({condition}) }} }} "
        f"OPTIONAL {{ WINDOW :w {{ ?s :p ?y }} FILTER({condition}) }} }}"
    )

    def run() -> Played:
        return play(
            {"q": text}, {S: LINES}, static={None: STATIC}, settings={"contents": contents},
            dialect="rspql",
        )  # fmt: skip

    same(run(), at_single_instants(run))


@pytest.mark.parametrize("contents", ["set", "timed"])
@pytest.mark.parametrize("pattern", ["?s :p ?o", ":a :p :b", "?s :p ?o . ?o :v ?x"])
def test_static_data_beneath_windows(
    at_single_instants: Callable[[Callable[[], Played]], Played], contents: str, pattern: str
) -> None:
    text = (
        f"{PREFIX} SELECT (COUNT(*) AS ?n) FROM STREAM <{S}> [RANGE 5s STEP 1s] "
        f"WHERE {{ {pattern} }}"
    )

    def run() -> Played:
        return play(
            {"q": text}, {S: LINES}, static={None: STATIC}, settings={"contents": contents},
            dialect="csparql",
        )  # fmt: skip

    same(run(), at_single_instants(run))


@pytest.mark.parametrize("hashes", ["all equal", "few different"])
def test_different_rows_may_have_the_same_hash(
    hashes: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(7)
    columns = [random.integers(1, 4, 60), random.integers(1, 4, 60)]
    first = random.integers(0, 20, 60)
    last = first + random.integers(0, 5, 60)
    numbers = keys.number_rows(columns, 60)
    known = unite_pieces(numbers, first, last)
    expected = sorted(zip(numbers[known.row], known.first, known.last, strict=True))
    most = 1 if hashes == "all equal" else 3

    def hashed(found: list[np.ndarray]) -> np.ndarray:
        return (found[0] % most) << 40

    monkeypatch.setattr(keys, "hash_rows", hashed)
    monkeypatch.setattr(coalescing, "hash_rows", hashed)
    again = keys.number_rows(columns, 60)
    pairs = set(zip(again.tolist(), numbers.tolist(), strict=True))
    assert len(pairs) == len(set(numbers.tolist())) == len(set(again.tolist()))
    pieces = unite_rows(columns, first, last)
    assert sorted(zip(numbers[pieces.row], pieces.first, pieces.last, strict=True)) == expected
