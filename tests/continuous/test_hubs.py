"""Patterns that meet at one term are joined once for what is new, and find what each would find."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace import Engine
from headrace.kernel.matches import HUB_ROUTE
from headrace.kernel.routes import route_lines
from headrace.testing import play
from tests.continuous.ways import NAME, play_every_way
from tests.fuzzing import repeat

STREAM = "http://x/s"
STAR = """
SELECT ?offer ?price ?vendor ?product ?kind
FROM STREAM <http://x/s> [RANGE {width}ms STEP 40ms]
WHERE {{
  ?offer <http://x/price> ?price . ?offer <http://x/vendor> ?vendor .
  ?offer <http://x/of> ?product .
  ?product <http://x/kind> ?kind . ?vendor <http://x/in> ?country {more}
}}
"""
MORE = ("", "FILTER(?price > 1)", "OPTIONAL { ?offer <http://x/note> ?note }")
OFFERS, OTHERS = [f"<http://x/o{n}>" for n in range(4)], [f"<http://x/p{n}>" for n in range(3)]


@st.composite
def lines(draw: st.DrawFn) -> list[str]:
    """Offers that are nearly always whole, and of which some come again."""
    found, time = list[str](), 0
    for _ in range(draw(st.integers(1, 12))):
        offer, other = draw(st.sampled_from(OFFERS)), draw(st.sampled_from(OTHERS))
        price = draw(st.integers(0, 3))
        for triple in draw(
            st.permutations(
                [
                    f"{offer} <http://x/price> {_number(price)}",
                    f"{offer} <http://x/vendor> {other}",
                    f"{offer} <http://x/of> {other}",
                    f"{other} <http://x/kind> <http://x/k{price}>",
                    f"{other} <http://x/in> <http://x/here>",
                ]
            )
        )[: draw(st.integers(3, 5))]:
            time += draw(st.integers(0, 9))
            found.append(f"{time}\t{triple} .\n")
    return found


def _number(value: int) -> str:
    return f'"{value}"^^<http://www.w3.org/2001/XMLSchema#integer>'


@repeat(60, share=1 / 4)
@given(
    lines(),
    st.integers(20, 120),
    st.sampled_from(MORE),
    st.sampled_from(
        [
            {"report": "on-arrival", "emit": "istream"},
            {"report": "on-arrival", "emit": "dstream"},
            {"report": "on-arrival", "profile": "sparkwave"},
            {"emit": "rstream"},
            {"emit": "istream", "contents": "timed"},
        ]
    ),
    st.integers(1, 5),
)
def test_stars_are_the_same_by_hubs_and_by_snapshots(
    text: list[str], width: int, more: str, how: dict[str, str], batches: int
) -> None:
    query = STAR.format(width=width, more=more)
    if "timed" in how.values():
        query = query.replace("FROM STREAM", "FROM NAMED STREAM")
        query = query.replace("WHERE {", "WHERE { GRAPH <http://x/s> {").replace("\n}\n", "\n}}\n")
    script = {STREAM: "".join(text)}
    whole = play({NAME: query}, script, settings={**how, "strategy": "snapshot"})
    matched = play_every_way(
        query,
        script,
        settings={**how, "strategy": "incremental"},
        dialect="csparql",
        batches=batches,
    )
    assert matched.evaluations == whole.evaluations


def test_the_hub_is_what_most_patterns_share() -> None:
    engine = Engine(settings={"report": "on-arrival", "emit": "istream"}, clock=None)
    stream = engine.stream(STREAM)
    rows: list[object] = []
    engine.register(STAR.format(width=1000, more="")).on_result(lambda each: rows.extend(each.rows))
    for step in range(4):
        for number in range(5):
            offer = f"<http://x/offer{step}-{number}>"
            stream.feed_timed(
                f"{step}\t{offer} <http://x/price> {_number(number)} .\n"
                f"{step}\t{offer} <http://x/vendor> <http://x/v{number}> .\n"
                f"{step}\t{offer} <http://x/of> <http://x/p{number}> .\n"
                f"{step}\t<http://x/p{number}> <http://x/kind> <http://x/k> .\n"
                f"{step}\t<http://x/v{number}> <http://x/in> <http://x/here> .\n"
            )
        engine.step()
    [query] = engine.runner.kernel.queries
    [matches] = query.matching.matches
    assert HUB_ROUTE in matches.router.routes
    [line] = [each for each in route_lines([matches], query.plan.windows) if "?offer" in each]
    assert line.startswith("from the terms of ?offer of which something is new: ")
    engine.finish()
    assert len(rows) == 20


@pytest.mark.parametrize("switch", ["on", "off"])
def test_routes_as_written_know_no_hub(switch: str) -> None:
    settings = {"report": "on-arrival", "rules.adapt_routes": switch}
    engine = Engine(settings=settings, clock=None)
    stream = engine.stream(STREAM)
    engine.register(STAR.format(width=1000, more=""))
    stream.feed_timed("1\t<http://x/o> <http://x/price> <http://x/1> .\n2\n")
    engine.step()
    [query] = engine.runner.kernel.queries
    [matches] = query.matching.matches
    assert (matches.hub is not None) == (switch == "on")
