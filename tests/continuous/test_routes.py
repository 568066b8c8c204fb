"""The second query of the CQELS paper over the data of its Figure 3: the route follows the data."""

from __future__ import annotations

import pytest

from headrace import Engine
from headrace.kernel import lookup
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


def person(name: str) -> Iri:
    return Iri(f"http://x/p{name}")


def test_the_best_plan_changes_with_who_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookup, "_LARGE", 1)
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
    others = [person(f"other{number}") for number in range(50)]
    engine.static.add(Quad(person(KNOWS_MANY), Iri("http://x/coauthor"), other) for other in others)
    engine.static.add(Quad(other, Iri("http://x/coauthor"), others[0]) for other in others)
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
    range_, coauthors = 0, 1
    assert taken == [(coauthors, range_), (range_, coauthors)]
    assert len(heard) == 4
    [matches] = _matches(engine)
    assert [each.after.legs for each in matches.router.changes][-1] == (range_, coauthors)
    [query] = engine.runner.kernel.queries
    shown = list(route_lines([matches], query.plan.windows))
    assert changes_of([matches]) > 0
    start = "from (triple ?p <http://x/at> ?l) in <http://x/now>: "
    legs = "(triple ?q <http://x/at> ?l) in <http://x/last>, then static (?p ?q); cost "
    assert any(line.startswith(start + legs) for line in shown), shown
    assert any("last changed with 1 new that meet" in line for line in shown), shown


def _matches(engine: Engine) -> list[Matches]:
    [query] = engine.runner.kernel.queries
    assert query.matching.matches, "they are kept"
    return query.matching.matches
