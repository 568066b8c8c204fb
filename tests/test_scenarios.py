"""Every scenario comes out as it says, however its input is cut and whatever runs it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Final

import pytest

from headrace.errors import DataError, QueryError, SettingError
from headrace.inline import LateElement, RejectedElement
from headrace.kernel.stream_counters import Counters
from headrace.rdf.elements import Element
from headrace.rdf.terms import BlankNode, Iri, Literal, Quad, QuotedTriple, Term
from headrace.rdf.vocabulary import XSD_DATE_TIME, XSD_INTEGER
from headrace.results.evaluations import Evaluation
from headrace.scenarios import Scenario, played, problems, pushed, read_scenario
from headrace.testing import Played
from tests.shared import ROOT

FOLDER = ROOT / "tests" / "scenarios"
FILES = sorted(FOLDER.glob("*.scenario"))

Runner = Callable[[Scenario], Played]

# -- What runs a scenario, and how its input is cut ---------------------------------------------


def stream_after_stream(scenario: Scenario) -> Played:
    """All of the first stream before anything of the second, and so on."""
    return played(scenario, [[(iri, len(each) * 99)] for iri, each in scenario.streams.items()])


RUNS: Final[Mapping[str, Runner]] = {
    "at once": played,
    "line by line": partial(played, batches=1),
    "by threes": partial(played, batches=3),
    "stream after stream": stream_after_stream,
    "pushed": pushed,
}


@cache
def scenario_of(path: Path) -> Scenario:
    return read_scenario(path.read_text("utf-8"), path.name, path.parent)


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_scenario_comes_out_as_it_says(path: Path, run: str) -> None:
    scenario = scenario_of(path)
    if scenario.refused:
        with pytest.raises((QueryError, SettingError)) as raised:
            RUNS[run](scenario)
        assert [text for text in scenario.refused if text not in str(raised.value)] == []
        return
    differences = problems(scenario, RUNS[run](scenario))
    assert not differences, f"{scenario.title}\n" + "\n".join(differences)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_scenario_says_what_it_shows_and_what_it_expects(path: Path) -> None:
    scenario = scenario_of(path)
    assert len(scenario.title.split()) > 3
    assert bool(scenario.emits) != bool(scenario.refused)


# -- The format ---------------------------------------------------------------------------------

SMALL = """\
# A scenario that tests of the format change.
prefix : <http://example.org/>
set bounds=[] delay.s=2s
query csparql
  REGISTER QUERY q AS SELECT ?x ?y FROM STREAM <s> [RANGE 5s TUMBLING] WHERE { ?x :p ?y }
stream <s>
  1s     :a :p "# no comment"@en   # a comment
  1m30s                            # a heartbeat
  250    :g { :a :p 1 , 2.5 }
  2026-01-01T00:00:00Z  << :a :p :b >> :p true
emits q
"""


def small(*lines: str, without: str = "") -> Scenario:
    return read_scenario(SMALL.replace(without, "") + "".join(f"{each}\n" for each in lines), "x")


def iri(name: str) -> Iri:
    return Iri(f"http://example.org/{name}")


def integer(number: int) -> Literal:
    return Literal(str(number), XSD_INTEGER)


def test_what_a_stream_brings() -> None:
    a, p = iri("a"), iri("p")
    first, heartbeat, graph, last = small().streams["s"]
    assert first == Element(1_000_000, (Quad(a, p, Literal("# no comment", language="en")),))
    assert heartbeat == Element(90_000_000)
    assert isinstance(graph, Element)
    assert [(graph.time, quad.graph) for quad in graph.quads] == [(250_000, iri("g"))] * 2
    assert isinstance(last, Element)
    assert last.quads[0].subject == QuotedTriple(a, p, iri("b"))
    assert small().settings == {"bounds": "[]", "delay.s": "2s"}


@pytest.mark.parametrize(
    ("written", "rows"),
    [
        ("(nothing)", []),
        ("()", [()]),
        ("y=2 x=:a", [(("x", iri("a")), ("y", integer(2)))]),
        ("x=_:b | x=:a", [(("x", BlankNode("b")),), (("x", iri("a")),)]),
        ('x="a | b"@en', [(("x", Literal("a | b", language="en")),)]),
        ("x=2026-01-01T00:00:00Z", [(("x", Literal("2026-01-01T00:00:00Z", XSD_DATE_TIME)),)]),
        ("x=<< :a :p 1 >>", [(("x", QuotedTriple(iri("a"), iri("p"), integer(1))),)]),
    ],
)
def test_what_rows_are(written: str, rows: list[tuple[tuple[str, Term], ...]]) -> None:
    [emission] = small(f"  5s#1 [0s, -] {written}").emits
    [instant] = emission.instants
    assert (instant.at, instant.seq) == (5_000_000, 1)
    assert instant.windows == ((None, (0, None)),)
    assert list(instant.rows) == rows


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("streem <s>", "x:12: expected prefix, set, .* did you mean 'stream'"),
        ("query sql", "x:12: expected the dialect sparql, .*, found 'sql'"),
        ("emits r", "x:12: expected the query q, found 'r'"),
        ("stream s", "x:12: expected an IRI such as <s> or ex:s, found 's'"),
        ("set bounds", "x:12: expected settings such as .*, found 'bounds'"),
        ("  5 s  x=:a", "x:12: expected a row .*, found 's  x=:a'"),
        ("  5sec  x=:a", "x:12: expected a time such as .*, not '5sec'"),
        ("  5s  x=:a :b", "x:12: expected a row .*, found ':b'"),
        ("  5s  x=other:a", "x:12: expected statements, found .*other:"),
        ("  5s#x  x=:a", "x:12: expected a number after '#', found 'x'"),
        ("counters <s>\n  elephants=2", "x:13: expected elements=NUMBER, .*, found 'elephants=2'"),
        ("static\n  :a :p :b\n  :c :p", "x:1[34]: "),
    ],
)
def test_a_wrong_line_is_named(line: str, problem: str) -> None:
    with pytest.raises(DataError, match=problem):
        small(line)


def test_a_scenario_needs_a_title() -> None:
    with pytest.raises(DataError, match="x:1: expected a comment that says what"):
        small(without="# A scenario that tests of the format change.\n")


def test_which_query_emits_must_be_said_if_there_are_two() -> None:
    with pytest.raises(DataError, match="x:14: expected which query emits it: q or q2"):
        small("query csparql", "  ASK FROM STREAM <s> [RANGE 5s TUMBLING] { ?x :p ?y }", "emits")


# -- Comparing ----------------------------------------------------------------------------------


def found(*evaluations: Evaluation, **parts: object) -> Played:
    nothing = Played(list(evaluations), [], [], {"s": Counters()}, {})
    return replace(nothing, **parts)  # type: ignore[arg-type]  # the caller knows the fields


def rows(at: int, *values: Term | None, seq: int = 0) -> Evaluation:
    return Evaluation("q", at, seq, {"s": (0, at)}, ("x",), tuple((each,) for each in values))


EXPECTED = small("  5s  [0s, 5s] x=:a | x=:a | x=:b", "  10s  (nothing)")
FIRST, SECOND = rows(5_000_000, iri("b"), iri("a"), iri("a")), rows(10_000_000)


@pytest.mark.parametrize(
    ("now", "problem"),
    [
        (found(FIRST, SECOND), None),
        (found(FIRST), "q at 10s: expected (nothing), found no report"),
        (
            found(FIRST, SECOND, rows(15_000_000, iri("c"))),
            "q at 15s: expected no report, found x=:c",
        ),
        (
            found(rows(5_000_000, iri("a"), iri("b"), iri("b")), SECOND),
            "q at 5s (line 12): expected x=:a | x=:a | x=:b, found x=:a | x=:b | x=:b",
        ),
        (
            found(FIRST, rows(10_000_000, None)),
            "q at 10s (line 13): expected (nothing), found ()",
        ),
        (
            found(replace(FIRST, windows={"s": (1000, None)}), SECOND),
            "q at 5s (line 12): expected the window [0s, 5s], found s [1ms, -]",
        ),
        (
            found(SECOND, FIRST),
            "q: expected each instant once, one after the other, found 10s, 5s",
        ),
        (
            found(FIRST, replace(SECOND, error="no endpoint")),
            "q at 10s (line 13): expected (nothing), found error no endpoint",
        ),
        (
            found(FIRST, SECOND, late=[LateElement("s", Element(1000))]),
            "late of <s>: expected none, found 1ms",
        ),
        (
            found(FIRST, SECOND, rejected=[RejectedElement("s", None, "")]),
            "rejected of <s>: expected none, found (unreadable)",
        ),
        (found(FIRST, SECOND, errors={"q": "too large"}), "q has stopped: too large"),
    ],
)
def test_differences_are_named(now: Played, problem: str | None) -> None:
    assert problems(EXPECTED, now) == ([] if problem is None else [problem])


def test_counters_are_compared_where_they_are_said() -> None:
    scenario = small("counters <s>", "  elements=2 late=0")
    assert problems(scenario, found()) == ["elements of <s>: expected 2, found 0"]


def test_rows_are_in_order_only_if_the_scenario_says_so() -> None:
    scenario = small("emits q in order", "  5s x=:a | x=:b", without="emits q\n")
    assert not problems(scenario, found(rows(5_000_000, iri("a"), iri("b"))))
    assert problems(scenario, found(rows(5_000_000, iri("b"), iri("a"))))


def test_blank_nodes_may_have_any_label_but_must_be_as_many() -> None:
    scenario = small("  5s x=_:a | x=_:a | x=_:b")
    one, other = BlankNode("1"), BlankNode("2")
    assert not problems(scenario, found(rows(5_000_000, one, other, one)))
    assert problems(scenario, found(rows(5_000_000, one, one, one)))
    assert problems(scenario, found(rows(5_000_000, one, other, iri("a"))))


def test_times_are_equal_however_they_are_written() -> None:
    scenario = small("  5s x=2026-01-01T00:00:00Z")
    assert not problems(
        scenario, found(rows(5_000_000, Literal("2026-01-01T00:00:00.000Z", XSD_DATE_TIME)))
    )
