"""Random queries in words: what the differential tests ask, with BIND, subqueries and orders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from hypothesis import strategies as st

from tests.continuous.generators import STREAMS, events, frame_text, frames, timed
from tests.continuous.generators import triples as stream_triples
from tests.differential.generators import (
    PREFIXES,
    aggregates,
    conditions,
    groups,
    nodes,
    numeric,
    variables,
)

blocks = groups.map(lambda body: f"{{ {body} }}")
some = st.sampled_from(["?x", "?x ?y", "?y ?z", "?x ?y ?z", "?k0 ?x"])
ends = st.sampled_from(
    ["", "", "ORDER BY ?y", "ORDER BY ?x LIMIT 2", "LIMIT 3", "LIMIT 2 OFFSET 1"]
)
modifiers = st.sampled_from(["", "", "DISTINCT", "REDUCED"])
subqueries = st.builds("{{ SELECT {} {} {{ {} }} {} }}".format, modifiers, some, groups, ends)
times = st.builds(
    "timestamp({}) {} '1970-01-01T00:00:00.00{}Z'^^xsd:dateTime".format,
    variables,
    st.sampled_from("<>"),
    st.integers(1, 9),
)


@st.composite
def bodies(draw: st.DrawFn, first: st.SearchStrategy[str], *, stamped: bool = False) -> str:
    """A group, and things that rules move about in it."""
    found = [draw(first)]
    tests = st.one_of(conditions, times) if stamped else conditions
    element = st.one_of(
        first,
        first,
        blocks,
        subqueries,
        st.builds("{} UNION {}".format, blocks, blocks),
        blocks.map(lambda body: f"OPTIONAL {body}"),
        blocks.map(lambda body: f"MINUS {body}"),
        tests.map(lambda test: f"FILTER ({test})"),
        tests.map(lambda test: f"FILTER ({test})"),
        st.builds("VALUES {} {{ {} UNDEF }}".format, variables, nodes),
        st.builds("FILTER EXISTS {{ {} FILTER ({}) }}".format, groups, conditions),
        st.builds("FILTER NOT EXISTS {{ {} FILTER ({}) }}".format, groups, conditions),
        st.just("BIND"),
        st.just("BIND"),
    )
    for number, each in enumerate(draw(st.lists(element, max_size=3))):
        bind = "BIND" in each[:4]
        found.append(f"BIND ({draw(numeric)} AS ?k{number})" if bind else each)
    return " ".join(found)


@st.composite
def selections(draw: st.DrawFn, body: str, clause: str = "") -> str:
    """A SELECT query with a body, where `clause` stands before it."""
    match draw(st.sampled_from(["some", "some", "all", "grouped", "grouped", "ask"])):
        case "ask":
            return f"{PREFIXES} ASK {clause} WHERE {{ {body} }}"
        case "all":
            return f"{PREFIXES} SELECT * {clause} WHERE {{ {body} }}"
        case "grouped":
            call = draw(st.one_of(aggregates, st.just("COUNT(DISTINCT *)"))).format(v="?y")
            keys = draw(st.sampled_from(["", "?x", "?g", "?x ?y"]))
            by = f"GROUP BY {keys}" if keys else ""
            having = draw(st.sampled_from(["", "HAVING (COUNT(*) > 1)"]))
            head = f"SELECT {keys} ({call} AS ?made) {clause}"
            return f"{PREFIXES} {head} WHERE {{ {body} }} {by} {having}"
        case _:
            head = f"SELECT {draw(modifiers)} {draw(some)} {clause}"
            return f"{PREFIXES} {head} WHERE {{ {body} }} {draw(ends)}"


queries = bodies(groups).flatmap(selections)
"""SPARQL over static data."""


# -- continuous queries --------------------------------------------------------------------------


@dataclass(frozen=True)
class Script:
    """A continuous query and all that it reads."""

    text: str
    dialect: str
    streams: dict[str, str]
    static: dict[str | None, str]
    settings: dict[str, str]


AGGREGATES: Final = (
    "AGGREGATE { (?n, COUNT, {?x}) }",
    "AGGREGATE { (?n, COUNT, {?x}) FILTER (?n > 1) }",
    "AGGREGATE { (?n, SUM(?y), {?x}) FILTER (isIRI(?x)) }",
    "AGGREGATE { (?n, COUNT, {}) (?m, SUM(?y), {?x}) FILTER (?n > 1 && ?x != :a) }",
)


@st.composite
def scripts(draw: st.DrawFn) -> Script:
    """One or two windows, static data, and a body that looks into some of it."""
    dialect = draw(st.sampled_from(["rspql", "csparql"]))
    on = [STREAMS[place] for place in range(draw(st.sampled_from([1, 1, 2])))]
    named = draw(st.booleans())
    clauses = [draw(_clause(dialect, place, stream)) for place, stream in enumerate(on)]
    body = draw(bodies(_looking(dialect, on, named=named), stamped=True))
    text = draw(selections(body, " ".join(clauses)))
    if dialect == "csparql" and draw(st.booleans()):
        head = draw(st.sampled_from(["SELECT ?x ?n", "SELECT DISTINCT ?x ?n", "SELECT *"]))
        clause = draw(st.sampled_from(AGGREGATES))
        text = f"{PREFIXES} {head} {' '.join(clauses)} WHERE {{ {body} }} {clause}"
    static = draw(st.lists(stream_triples, max_size=4))
    settings = draw(
        st.sampled_from(
            [{}, {}, {"contents": "timed"}, {"report": "on-change"}, {"emit": "istream"}]
        )
    )
    return Script(
        text,
        dialect,
        {stream: timed(draw(events(named=named, most=8))) for stream in on},
        {None: "\n".join(f"{q.subject} {q.predicate} {q.object} ." for q in static)},
        settings,
    )


@st.composite
def _clause(draw: st.DrawFn, dialect: str, place: int, stream: str) -> str:
    window = draw(frames(f"http://x/w{place}", stream))
    if dialect == "rspql":
        return f"FROM NAMED WINDOW <{window.name}> ON <{stream}> {frame_text(window)}"
    return f"FROM {draw(st.sampled_from(['', 'NAMED ']))}STREAM <{stream}> {frame_text(window)}"


def _looking(dialect: str, on: list[str], *, named: bool) -> st.SearchStrategy[str]:
    """A part of a body: into a window, each of them, or what is seen outside."""
    if dialect == "rspql":
        names = [*(f"WINDOW <http://x/w{place}>" for place in range(len(on))), "WINDOW ?g"]
    else:
        names = [*(f"GRAPH <{stream}>" for stream in on), "GRAPH ?g"]
    inside = groups.map(lambda body: f"GRAPH ?h {{ {body} }}") if named else groups
    place = st.sampled_from(names)
    looking = st.builds("{} {{ {} }}".format, place, st.one_of(groups, inside))
    return st.one_of(looking, looking, groups)
