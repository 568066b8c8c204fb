"""Blocks with a window or a stream of their own, under every profile, over what follows too.

Whatever stands between blocks, they find under a schema what they find in data that say all that
follows, and by every strategy the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, Final, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace import Engine
from headrace.errors import SettingError
from headrace.rdf.terms import Iri, Quad, Triple
from headrace.reasoning.reduction import EVERYTHING
from headrace.reasoning.schema import TYPE
from tests.continuous.ways import sibling_of
from tests.fuzzing import repeat
from tests.reasoning.worlds import (
    CLASSES,
    LITERALS,
    NODES,
    PROPERTIES,
    found,
    read,
    schema_statements,
)

pytestmark = pytest.mark.slow

BETWEEN: Final = (
    "{one} {other}",
    "{one} OPTIONAL {{ {other} }}",
    "{one} MINUS {{ {other} }}",
    "{one} FILTER NOT EXISTS {{ {other} }}",
    "{one} FILTER EXISTS {{ {other} }}",
    "{{ {one} }} UNION {{ {other} }}",
    "{one} {other} FILTER(?x != ?y || ISLITERAL(?z))",
    "{one} OPTIONAL {{ {other} FILTER(STRLEN(STR(?y)) > 2) }} BIND(BOUND(?z) AS ?b)",
    "{{ {one} }} BEFORE {{ {other} }}",
    "{{ {one} }} AFTER WITHIN 2s OPTIONAL {{ {other} }}",
    "{{ {one} FILTER(DURATION() <= 2) }} BEFORE {{ {other} BIND(STARTTIME() AS ?t) }}",
    "{{ {one} }} STARTS {{ {other} }}",
    "{{ {{ {one} }} DURING {{ {other} }} }} UNION {{ {{ {one} }} EQUALS {{ {other} }} }}",
)
SHOWN: Final = ("?x ?y ?z {times}", "?x (COUNT(*) AS ?n) (MAX(STR(?y)) AS ?m)", "DISTINCT ?y")


class Profile(NamedTuple):
    """How a dialect binds two blocks to two streams, each with a width of its own."""

    dialect: str
    clauses: str
    block: str
    settings: Mapping[str, str] = {}


def _named(frame: str, other: str) -> str:
    return f"FROM NAMED STREAM <x:s> {frame} FROM NAMED STREAM <x:t> {other}"


def _windows(frame: str, other: str) -> str:
    return f"FROM NAMED WINDOW <x:s> ON <x:s> {frame} FROM NAMED WINDOW <x:t> ON <x:t> {other}"


STEPS: Final = ("[RANGE 6s STEP 3s]", "[RANGE 9s STEP 3s]")
PROFILES: Final = (
    Profile("csparql", _named(*STEPS), "GRAPH <{stream}> {{ {body} }}"),
    Profile("csparql", _named(*STEPS), "GRAPH <{stream}> {{ {body} }}", {"contents": "timed"}),
    Profile("sparkwave", _named("[RANGE 6s]", "[RANGE 9s]"), "GRAPH <{stream}> {{ {body} }}"),
    Profile("rspql", _windows(*STEPS), "WINDOW <{stream}> {{ {body} }}"),
    Profile("cqels", "", "STREAM <{stream}> [RANGE {width}s] {{ {body} }}"),
    Profile("cqels", "", "STREAM <{stream}> [RANGE {width}s SLIDE 3s] {{ {body} }}"),
)

FEW: Final[Mapping[Any, Any]] = {
    each: names[number % 2] for names in (CLASSES, PROPERTIES) for number, each in enumerate(names)
}
"""Few classes and properties, so that much is joined."""
variable = st.sampled_from(["?x", "?y", "?z"])
patterns = st.lists(
    st.one_of(
        st.tuples(
            variable, st.just(str(TYPE)), st.sampled_from([str(each) for each in CLASSES[:2]])
        ),
        st.tuples(variable, st.sampled_from([str(each) for each in PROPERTIES[:2]]), variable),
        st.tuples(
            variable,
            st.sampled_from([str(each) for each in PROPERTIES[:2]]),
            st.sampled_from([str(each) for each in NODES if isinstance(each, Iri)]),
        ),
    ),
    min_size=1,
    max_size=2,
)
Script = Sequence[tuple[str, int, Sequence[Triple]]]


def random_script(seed: int) -> Script:
    """Both streams go on together, so that what their windows hold is often joined."""
    random = Random(seed)
    return [
        (
            random.choice(["x:s", "x:t"]),
            random.choice([0, 1, 1, 2]),
            [_random_triple(random) for _ in range(random.randint(1, 3))],
        )
        for _ in range(random.randint(4, 12))
    ]


def _random_triple(random: Random) -> Triple:
    subject = random.choice([each for each in NODES if isinstance(each, Iri)])
    if random.random() < 0.3:
        return Triple(subject, TYPE, random.choice(CLASSES[:2]))
    return Triple(subject, random.choice(PROPERTIES[:2]), random.choice([*NODES[:3], *LITERALS]))


scripts = st.integers(0, 1_000_000).map(random_script)


@st.composite
def texts(draw: st.DrawFn, profile: Profile) -> str:
    def block(stream: str, width: int) -> str:
        body = " . ".join(" ".join(each) for each in draw(patterns))
        return profile.block.format(stream=stream, width=width, body=body)

    between = draw(st.sampled_from(BETWEEN))
    body = between.format(one=block("x:s", 6), other=block("x:t", 9))
    shown = draw(st.sampled_from(SHOWN))
    times = "(ENDTIME() AS ?end)" if draw(st.booleans()) else ""
    grouped = " GROUP BY ?x" if "COUNT" in shown else ""
    return f"SELECT {shown.format(times=times)} {profile.clauses} WHERE {{ {body} }}{grouped}"


def evaluated(
    profile: Profile, text: str, script: Script, schema: list[Triple], strategy: str = "auto"
) -> list[tuple[object, ...]]:
    """What a query finds: in steps of three elements, and one by one in a group of its like."""
    found = _evaluated(profile, [text], script, schema, strategy, 3)
    group = [sibling_of(text), text, text]
    assert _evaluated(profile, group, script, schema, strategy, 1) == found
    return found


def _evaluated(
    profile: Profile,
    texts: Sequence[str],
    script: Script,
    schema: list[Triple],
    strategy: str,
    step: int,
) -> list[tuple[object, ...]]:
    engine = Engine(
        schema=[Quad(*each) for each in map(_parts, schema)] if schema else None,
        settings={**profile.settings, "strategy": strategy},
    )
    streams = {name: engine.stream(name) for name in ("x:s", "x:t")}
    queries = [engine.register(text, dialect=profile.dialect) for text in texts]
    query = queries[len(queries) // 2]
    now = 0
    for number, (stream, later, element) in enumerate(script):
        now += later
        streams[stream].push([Quad(*_parts(each)) for each in element], at=1000 * now)
        if number % step == 0:
            engine.step()
    engine.finish()
    assert query.error is None
    return [(each.at, each.seq, sorted(map(str, each.rows))) for each in query.results()]


def _few(triple: Triple) -> Triple:
    return Triple(
        FEW.get(triple.subject, triple.subject),
        FEW.get(triple.predicate, triple.predicate),
        FEW.get(triple.object, triple.object),
    )


def _parts(triple: Triple) -> tuple[Any, Any, Any]:
    return triple.subject, triple.predicate, triple.object


@pytest.mark.parametrize("profile", PROFILES, ids=lambda each: each.dialect)
@repeat(25, share=1 / 6)
@given(st.data(), schema_statements(), scripts)
def test_blocks_find_what_follows(
    profile: Profile, draws: st.DataObject, schema: list[Triple], script: Script
) -> None:
    text = draws.draw(texts(profile))
    schema = [_few(each) for each in schema]
    stated = [
        (stream, later, sorted(found(read(schema), list(element), EVERYTHING), key=str))
        for stream, later, element in script
    ]
    expected = evaluated(profile, text, stated, [], "snapshot")
    assert evaluated(profile, text, script, schema, "snapshot") == expected
    assert evaluated(profile, text, script, schema) == expected
    try:
        matched = evaluated(profile, text, script, schema, "incremental")
    except SettingError:
        return
    assert matched == expected
