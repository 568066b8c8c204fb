"""The second query of the CQELS paper over the data of its Figure 3: the route follows the data."""

from __future__ import annotations

import pytest

from headrace import Engine
from headrace.kernel.matches import Matches
from headrace.kernel.routes import changes_of, route_lines
from headrace.planning import routing
from headrace.rdf.terms import Iri, Quad

S = "http://x/s"
QUERY = f"""
SELECT ?p ?q ?l
FROM NAMED WINDOW <http://x/now> ON <{S}> [NOW]
FROM NAMED WINDOW <http://x/last> ON <{S}> [RANGE 30s]
WHERE {{
  WINDOW <http://x/now> {{ ?p <http://x/at> ?l }}
  WINDOW <http://x/last> {{ ?q <http://x/at> ?l }}
  ?p <http://x/coauthor> ?q
}}
"""
WRITES_NOTHING, KNOWS_MANY = "1", "2"
RANGE, COAUTHORS = 0, 1
"""The two legs from what is new in [NOW]."""
PAIRS = 10_000
"""In static tables of at least so many rows it is counted how many of them new matches meet."""


def person(name: str) -> Iri:
    return Iri(f"http://x/p{name}")


def heard_one_by_one(
    pairs: int, monkeypatch: pytest.MonkeyPatch
) -> tuple[Engine, list[tuple[int, ...]], int]:
    """Hear four others in a room, then who has no co-authors, then who has 50.

    Args:
        pairs: how many pairs of co-authors the static data have.
        monkeypatch: notes the routes, and changes none of them.

    Returns:
        the engine, the routes of the last two, and how many rows they gave.
    """
    taken: list[tuple[int, ...]] = []
    route = routing.Router.route

    def noted(
        self: routing.Router, pattern: int, start: routing.Start, legs: list[routing.Leg]
    ) -> tuple[int, ...]:
        found = route(self, pattern, start, legs)
        if pattern == 0:  # what is new in [NOW]
            taken.append(found)
        return found

    monkeypatch.setattr(routing.Router, "route", noted)
    settings = {"report": "on-arrival", "order": "arrival", "emit": "istream"}
    engine = Engine(settings=settings, clock=None)
    coauthor = Iri("http://x/coauthor")
    others = [person(f"other{number}") for number in range(pairs)]
    engine.static.add(Quad(person(KNOWS_MANY), coauthor, other) for other in others[:50])
    engine.static.add(  # three for each of the others
        Quad(others[number // 3], coauthor, others[number // 3 + number % 3 + 1])
        for number in range(pairs - 50)
    )
    stream = engine.stream(S)
    heard: list[tuple[object, ...]] = []
    engine.register(QUERY).on_result(lambda each: heard.extend(each.rows))
    for time in range(1, 5):
        stream.feed_timed(f"{time}\t<http://x/pother{time}> <http://x/at> <http://x/l> .\n")
    engine.step()
    heard.clear()
    taken.clear()
    for time, name in ((1001, WRITES_NOTHING), (1002, KNOWS_MANY)):
        stream.feed_timed(f"{time}\t<{person(name).value}> <http://x/at> <http://x/l> .\n")
        engine.step()
    return engine, taken, len(heard)


def test_the_best_plan_changes_with_who_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    engine, taken, rows = heard_one_by_one(PAIRS, monkeypatch)
    assert taken == [(COAUTHORS, RANGE), (RANGE, COAUTHORS)]
    assert rows == 4
    [matches] = _matches(engine)
    assert [each.after.legs for each in matches.router.changes][-1] == (RANGE, COAUTHORS)
    [query] = engine.runner.kernel.queries
    shown = list(route_lines([matches], query.plan.windows))
    assert changes_of([matches]) > 0
    start = "from (triple ?p <http://x/at> ?l) in <http://x/now>: "
    legs = "(triple ?q <http://x/at> ?l) in <http://x/last>, then static (?p ?q); cost "
    assert any(line.startswith(start + legs) for line in shown), shown
    assert any("last changed with 1 new that meet" in line for line in shown), shown


def test_beside_a_small_table_averages_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    _, taken, rows = heard_one_by_one(PAIRS - 1, monkeypatch)
    assert taken == [(COAUTHORS, RANGE)] * 2
    assert rows == 4


def _matches(engine: Engine) -> list[Matches]:
    [query] = engine.runner.kernel.queries
    assert query.matching.matches, "they are kept"
    return query.matching.matches
