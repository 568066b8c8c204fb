"""Aggregates that are pushed to their streams, evaluated in parts: one or some streams each."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from headrace import Engine
from headrace.planning.partitioning import partitioning

EXCHANGE = "http://stockexchange.org/"
MARKETS = [f"{EXCHANGE}market{number}" for number in range(4)]
FROM = "\n".join(f"FROM NAMED STREAM <{market}> [RANGE 10s STEP 5s]" for market in MARKETS)
BODY = "WHERE { GRAPH ?market { ?t <x:seller> ?seller ; <x:with> ?amount } }"
QUERIES = {
    "annotated": f"SELECT DISTINCT ?seller ?market ?tot {FROM} {BODY}"
    " AGGREGATE { (?tot, SUM(?amount), {?seller, ?market}) }",
    "grouped": f"SELECT ?market ?seller (SUM(?amount) AS ?tot) (AVG(?amount) AS ?m) {FROM} {BODY}"
    " GROUP BY ?market ?seller",
    "kept": f"SELECT ?t ?market ?n {FROM} {BODY} AGGREGATE {{ (?n, COUNT, {{?market}}) }}",
}
WHOLE = f"SELECT ?seller (SUM(?amount) AS ?tot) {FROM} {BODY} GROUP BY ?seller"


@pytest.fixture(scope="module")
def streams(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("markets")
    chance = Random(3)
    found = {}
    for place, market in enumerate(MARKETS):
        lines = []
        for number in range(200):
            time = number * 150 + chance.randrange(100)
            deal, seller = f"<x:t{place}-{number}>", f"<x:s{chance.randrange(7)}>"
            amount = f'"{chance.randrange(1000) / 10}"^^<http://www.w3.org/2001/XMLSchema#double>'
            lines.append(f"{time}\t{deal} <x:seller> {seller} .\n")
            lines.append(f"{time}\t{deal} <x:with> {amount} .\n")
        found[market] = folder / f"{place}.tnq"
        found[market].write_text("".join(lines))
    return found


def answers(
    text: str, streams: dict[str, Path], partitions: int | None, rules: str = "on"
) -> list[tuple[int, list[str]]]:
    switched = {"rules.push_aggregates_into_union": rules, "rules.spread_windows": rules}
    engine = Engine(settings=switched)
    for iri, path in streams.items():
        engine.stream(iri, source=str(path))
    query = engine.register(text, name="q", dialect="csparql")
    if partitions is None:
        engine.run(once=True)
    else:
        engine.run(once=True, runner="inline", partitions=partitions)
    return [(each.at, [str(row) for row in each.rows]) for each in query.results()]


@pytest.mark.parametrize("partitions", [1, 2, 3, 8])
@pytest.mark.parametrize("name", QUERIES)
def test_parts_by_stream_give_the_same(
    name: str, partitions: int, streams: dict[str, Path]
) -> None:
    found = answers(QUERIES[name], streams, partitions)
    assert found == answers(QUERIES[name], streams, None, rules="off")
    assert any(rows for _, rows in found)


@pytest.mark.parametrize("name", QUERIES)
def test_aggregates_go_to_the_streams(name: str, streams: dict[str, Path]) -> None:
    assert branches(QUERIES[name], streams) == len(MARKETS) + 1  # and what is static


def test_groups_over_several_streams_stay_whole(streams: dict[str, Path]) -> None:
    assert branches(WHOLE, streams) == 0


def branches(text: str, streams: dict[str, Path]) -> int:
    engine = Engine()
    for iri in streams:
        engine.stream(iri)
    engine.register(text, dialect="csparql")
    [plan] = engine.plans()
    return partitioning(plan).branches
