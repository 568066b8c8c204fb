"""Consumption strategies give what their definition gives, in any batches and after restarts."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from headrace.dialects import parse
from headrace.engine import Engine
from headrace.errors import SettingError, UnsupportedError
from headrace.pipeline.batches import Batches
from headrace.pipeline.local import LocalRunner
from headrace.pipeline.manifest import Manifest
from headrace.pipeline.pieces import SourceLog
from headrace.pipeline.streams import Sources
from headrace.planning.explain import as_json, as_text
from headrace.planning.plan import make_plan
from headrace.planning.wanted import wanted_shapes
from headrace.rdf.terms import Iri
from headrace.results.evaluations import Evaluation
from headrace.scenarios import Scenario, ScenarioQuery
from headrace.testing import Played, play
from tests.continuous.consumed import Answers, Asked, Came, Triple, on_arrival, on_close
from tests.continuous.ways import play_every_way
from tests.fuzzing import repeat
from tests.pipeline.scenarios import Deployed

BOTH = ("recent", "chronological")
S, U, G = "http://x/s", "http://x/u", "http://x/g"
STATIC_ONLY = "<http://x/r>"


def iri(name: str) -> str:
    return f"<http://x/{name}>"


@dataclass(frozen=True)
class Case:
    """A random query and what it reads.

    Attributes:
        asked: the query, as the definition has it.
        text: the same in a dialect.
        elements: what comes, in its order.
        static: what is there.
        settings: how it is run.
        step: of the windows, if they close.
    """

    asked: Asked
    text: str
    dialect: str
    elements: tuple[Came, ...]
    static: frozenset[Triple]
    settings: Mapping[str, str]
    graph: str
    step: int

    @property
    def inputs(self) -> dict[str, str]:
        found = dict.fromkeys(self.asked.widths, "")
        for each in self.elements:
            for triple in sorted(each.triples):
                line = f"{each.time // 1000}\t{' '.join(triple)} {self.graph}.\n"
                found[each.stream] += line
        return found

    @property
    def turtle(self) -> str:
        return "".join(f"{' '.join(triple)} .\n" for triple in sorted(self.static))

    def played(self, how: str, batches: int | None = None) -> Played:
        return play_every_way(
            self.text,
            self.inputs,
            static={None: self.turtle},
            settings={**self.settings, "consumption": how},
            dialect=self.dialect,
            batches=batches,
        )

    def defined(self, how: str, played: Played) -> Answers:
        if self.settings["report"] == "on-arrival":
            return on_arrival(how, self.asked, self.elements, self.static)
        closes = [each.at for each in played.evaluations]
        return on_close(how, self.asked, self.elements, self.static, closes)


def answers(found: list[Evaluation]) -> Answers:
    return [(each.at, Counter(tuple(map(str, line)) for line in each.rows)) for each in found]


terms = st.sampled_from([iri(f"x{number}") for number in range(3)])
predicates = st.sampled_from([iri("p"), iri("q")])
triples = st.tuples(terms, predicates, terms)
variables = st.sampled_from(["?a", "?b", "?c"])
ends = st.one_of(variables, variables, variables, terms)
patterns = st.tuples(ends, predicates, ends)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    graphs = draw(st.booleans())
    streams = draw(st.sampled_from([[S], [S] if graphs else [S, U]]))
    widths = {each: draw(st.integers(1, 6)) * 1_000_000 for each in streams}
    step = draw(st.integers(1, 4))
    some = tuple(draw(st.lists(patterns, min_size=1, max_size=3)))
    fixed: tuple[Triple, ...] = ()
    if graphs and draw(st.booleans()):
        fixed = ((draw(variables), STATIC_ONLY, draw(variables)),)
    names = sorted({term for each in (*some, *fixed) for term in each if term.startswith("?")})
    without = None
    filters = draw(st.booleans())
    if names and filters:
        without = (draw(st.sampled_from(names)), draw(terms))
    asked = Asked(some, fixed, not graphs, without, widths)
    static = frozenset(draw(st.lists(triples, max_size=2))) if not graphs else frozenset()
    if fixed:
        known = st.tuples(terms, st.just(STATIC_ONLY), terms)
        static |= frozenset(draw(st.lists(known, max_size=3)))
    return Case(
        asked,
        text_of(asked, step, graphs),
        "rspql" if graphs else "csparql",
        draw(elements(streams, several=graphs)),
        static,
        {"report": draw(st.sampled_from(["on-close", "on-arrival"])), "non_empty": "off"}
        | {"emit": "rstream", "delay": "2s", "contents": draw(st.sampled_from(["set", "timed"]))},
        f"<{G}> " if graphs else "",
        step,
    )


@st.composite
def elements(draw: st.DrawFn, streams: list[str], several: bool) -> tuple[Came, ...]:
    """Elements that are out of order by two seconds at most, so that none is late."""
    found: list[Came] = []
    base = 1
    for position in range(draw(st.integers(1, 12))):
        base += draw(st.integers(0, 2))
        time, stream = (base + draw(st.integers(0, 2))) * 1_000_000, draw(st.sampled_from(streams))
        said = frozenset(draw(st.lists(triples, min_size=1, max_size=3 if several else 1)))
        last = next((each for each in reversed(found) if each.stream == stream), None)
        if several and last is not None and last.time == time:  # adjacent lines are one element
            found[found.index(last)] = Came(time, stream, last.position, last.triples | said)
        else:
            found.append(Came(time, stream, position, said))
    return tuple(found)


def text_of(asked: Asked, step: int, graphs: bool) -> str:
    shown = " ".join(asked.names)
    body = " . ".join(" ".join(each) for each in asked.patterns)
    fixed = " . ".join(" ".join(each) for each in asked.fixed)
    test = "" if asked.without is None else f"FILTER({' != '.join(asked.without)})"
    sizes = {each: f"{width // 1_000_000}" for each, width in asked.widths.items()}
    if graphs:
        window = f"FROM NAMED WINDOW <http://x/w> ON <{S}> [RANGE PT{sizes[S]}S STEP PT{step}S]"
        inside = f"WINDOW <http://x/w> {{ GRAPH <{G}> {{ {body} }} }}"
        return (
            f"REGISTER RSTREAM <q1> AS SELECT {shown or '*'} {window} {{ {inside} {fixed} {test} }}"
        )
    sources = " ".join(f"FROM STREAM <{s}> [RANGE {w}s STEP {step}s]" for s, w in sizes.items())
    return f"REGISTER QUERY q1 AS SELECT {shown or '*'} {sources} WHERE {{ {body} {test} }}"


@pytest.mark.slow
@repeat(70)
@given(cases(), st.sampled_from(BOTH), st.sampled_from([None, 1, 2, 3]))
def test_answers_are_those_of_the_definition(case: Case, how: str, batches: int | None) -> None:
    found = case.played(how, batches)
    assert not found.errors
    assert not found.late
    assert answers(found.evaluations) == case.defined(how, found)


@pytest.mark.slow
@repeat(30, share=1 / 5)
@given(cases(), st.sampled_from(BOTH), st.booleans())
def test_a_new_process_for_every_batch_makes_no_difference(
    case: Case, how: str, parts: bool
) -> None:
    assume(all(case.inputs.values()))
    scenario = Scenario(
        "case",
        "a random case",
        queries=(ScenarioQuery("q1", case.dialect, case.text),),
        settings={**case.settings, "consumption": how},
        static={None: case.turtle},
        streams={each: tuple(text.splitlines()) for each, text in case.inputs.items()},
    )
    with tempfile.TemporaryDirectory() as name:
        deployed = Deployed([scenario], Path(name), 1, 2 if parts else 1)

        def run(batches: Batches, sources: Sources) -> Manifest:
            log = SourceLog(batches.layout.source_log)
            sources.look(log, complete=True)
            while batches.last().pieces < log.count:
                LocalRunner(batches, sources, 1).step(log)
                batches = deployed.batches(batches.deployment, sources)
            return batches.finish()

        found = deployed.played(run)["case"].evaluations
    assert answers(found) == answers(case.played(how).evaluations)


# -- what is refused, and what is said ---------------------------------------------------------

FROM = "FROM STREAM <http://x/s> [RANGE 10s STEP 5s]"
NAMED = "FROM NAMED WINDOW <http://x/w> ON <http://x/s> [RANGE PT10S STEP PT5S]"


def query(body: str, source: str = FROM) -> str:
    return f"PREFIX : <http://x/> REGISTER QUERY q AS SELECT * {source} WHERE {{ {body} }}"


@pytest.mark.parametrize("how", BOTH)
@pytest.mark.parametrize(
    ("body", "problem", "hint"),
    [
        ("?a :p ?b OPTIONAL { ?b :q ?c }", "stand apart", "into one group"),
        ("?a :p ?b MINUS { ?b :q ?c }", "stand apart", "into one group"),
        ("{ ?a :p ?b } UNION { ?b :q ?a }", "UNION", "a query for each branch"),
        ("?a :p+ ?b . ?b :q ?c", "a property path", "as triple patterns"),
        ("?a :p ?b FILTER EXISTS { ?b :q ?c }", "EXISTS", "as triple patterns"),
        ("?a :p ?b FILTER(timestamp(?a) > 3)", "timestamp()", "in a triple"),
        ("?a :p ?b SERVICE :e { ?b :q ?c }", "SERVICE", "in another query"),
        ("?a :p ?b BIND(?b AS ?c) ?c :q ?d", "stand apart", "without OPTIONAL, MINUS, BIND"),
        ("{ SELECT ?a (COUNT(*) AS ?n) { ?a :p ?b } GROUP BY ?a } ?a :q ?c", "apart", "one group"),
        ("VALUES ?a { 1 }", "none of them reads a window", "some triple of a stream"),
    ],
)
def test_what_cannot_be_chosen_is_refused_with_its_place(
    how: str, body: str, problem: str, hint: str
) -> None:
    parsed = parse(query(body), "csparql", settings={"consumption": how})
    with pytest.raises(UnsupportedError) as error:
        make_plan(parsed.query, source=parsed.source)
    assert f"consumption={how}" in error.value.problem
    assert problem in error.value.problem
    assert hint in (error.value.hint or "")
    assert "consumption=unrestricted" in (error.value.hint or "")
    assert error.value.line == 1
    assert "a run is refused" in as_text(parsed.query, "csparql", "csparql")


@pytest.mark.parametrize(
    "body",
    [
        "WINDOW :w { ?a :p ?b } OPTIONAL { ?b :q ?c }",
        "WINDOW :w { ?a :p ?b } MINUS { ?b :q ?c }",
        "WINDOW :w { ?a :p ?b FILTER(?a != ?b) } ?b :q+ ?c",
        "{ SELECT ?a (COUNT(*) AS ?n) { WINDOW :w { ?a :p ?b } } GROUP BY ?a }",
        "WINDOW :w { ?a :p ?b } VALUES ?b { :x :y }",
        "WINDOW :w { ?a :p ?b } BIND(NOW() AS ?c)",
    ],
)
def test_what_is_made_of_matches_and_of_static_data_is_not_refused(body: str) -> None:
    text = query(body, NAMED).replace("REGISTER QUERY q", "REGISTER RSTREAM <q>")
    parsed = parse(text, "rspql", settings={"consumption": "recent"})
    assert make_plan(parsed.query, source=parsed.source).consuming is not None


def test_a_pattern_without_variables_may_be_static_and_streamed() -> None:
    text = query(":x :p :y . ?a :q ?b")
    lines = "".join(f"{time}000\t{s} .\n" for time, s in ((1, QUAD), (2, OTHER), (3, OTHER)))
    for how, often in (("recent", 1), ("chronological", 2)):
        found = play(
            [text], {S: lines}, static={None: f"{QUAD} ."}, settings={"consumption": how}
        ).evaluations
        assert [len(each.rows) for each in found] == [often, often]


QUAD, OTHER = "<http://x/x> <http://x/p> <http://x/y>", "<http://x/a> <http://x/q> <http://x/b>"


def test_an_unknown_strategy_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(SettingError, match="'unrestricted', 'recent' or 'chronological'"):
        parse(query("?a :p ?b"), "csparql", settings={"consumption": "newest"})


def test_consumption_cannot_be_had_with_incremental_evaluation() -> None:
    asked = {"consumption": "recent", "strategy": "incremental"}
    parsed = parse(query("?a :p ?b"), "csparql", settings=asked)
    with pytest.raises(SettingError, match="consumption=recent chooses among all"):
        make_plan(parsed.query, source=parsed.source)


def test_explain_says_what_is_chosen() -> None:
    parsed = parse(query("?a :p ?b . ?b :q ?c"), "csparql", settings={"consumption": "recent"})
    text = as_text(parsed.query, "csparql", "csparql")
    assert "consumption     recent" in text
    assert "because consumption=recent chooses among all that windows hold" in text
    assert "(triple ?a <http://x/p> ?b) for each ?b" in text
    assert "as a whole: consumption=recent" in text
    plain = parse(query("?a :p ?b"), "csparql")
    assert as_json(plain.query, "csparql", "csparql")["consumed"] is None
    assert "consumed" not in as_text(plain.query, "csparql", "csparql")


def test_a_query_that_chooses_otherwise_is_another_one_to_a_checkpoint() -> None:
    made = [
        make_plan(parse(query("?a :p ?b"), "csparql", settings={"consumption": how}).query).digest
        for how in ("unrestricted", *BOTH)
    ]
    assert len(set(made)) == len(made)


def test_statements_that_a_filter_would_remove_are_read() -> None:
    text = query("?a :p ?b . ?a :q ?c FILTER(?b > 3)")
    for how, limited in (("unrestricted", True), ("recent", False)):
        parsed = parse(text, "csparql", settings={"consumption": how})
        shapes = wanted_shapes([make_plan(parsed.query)], Iri("http://x/s"))
        assert shapes is not None
        assert any(shape.limits for shape in shapes) == limited


def test_what_has_been_used_is_forgotten_with_its_windows() -> None:
    text = query("?a :p ?k . ?b :q ?k").replace("STEP 5s", "STEP 1s")
    engine = Engine(settings={"consumption": "chronological"}, clock=None)
    engine.stream("http://x/s")
    engine.register(text)
    kept = []
    for second in range(1, 200):
        lines = (f"{second}000\t<http://x/{second}> <http://x/{p}> <http://x/k> .\n" for p in "pq")
        engine.stream("http://x/s").feed_timed("".join(lines))
        engine.step()
        kernel = engine.runner.kernel
        [standing] = kernel.queries
        kept.append(0 if standing.matching.used is None else standing.matching.used.height)
    assert 10 <= max(kept) <= 20
