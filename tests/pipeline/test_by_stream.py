"""Aggregates that are pushed to their streams, evaluated in parts: one or some streams each."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from headrace import Engine
from headrace.algebra.operators import Group
from headrace.planning.partitioning import Partitioning, partitioning

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
OVER_ALL = {
    "sums": f"SELECT ?seller (SUM(?amount) AS ?tot) {FROM} {BODY} GROUP BY ?seller",
    "counts": "SELECT ?seller (COUNT(*) AS ?n) (MAX(?amount) AS ?most) (MIN(?amount) AS ?least)"
    f" (SAMPLE(?market) AS ?one) {FROM} {BODY} GROUP BY ?seller",
    "all": f"SELECT (COUNT(?amount) AS ?n) {FROM} {BODY}",
    "few": f"SELECT ?t ?amount {FROM} {BODY} ORDER BY DESC(?amount) LIMIT 5",
    "distinct": f"SELECT (COUNT(DISTINCT ?seller) AS ?n) {FROM} {BODY}",
    "having": f"SELECT ?seller (COUNT(*) AS ?n) {FROM} {BODY} GROUP BY ?seller"
    " HAVING (COUNT(*) > 8) ORDER BY ?n ?seller",
}
KEYED = {
    name: text.replace(FROM, f"FROM STREAM <{MARKETS[0]}> [RANGE 10s STEP 5s]").replace(
        BODY, "WHERE { ?t <x:seller> ?seller ; <x:with> ?amount BIND (<x:m> AS ?market) }"
    )
    for name, text in OVER_ALL.items()
}


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


@pytest.mark.parametrize("texts", [OVER_ALL, KEYED], ids=["by stream", "by key"])
@pytest.mark.parametrize("name", OVER_ALL)
def test_what_parts_found_is_put_together(
    name: str, texts: dict[str, str], streams: dict[str, Path]
) -> None:
    found = answers(texts[name], streams, 3)
    assert found == answers(texts[name], streams, None)
    assert any(rows for _, rows in found)
    assert how(texts[name], streams).split is not None


@pytest.mark.parametrize("name", ["counts", "all"])
def test_what_is_exact_is_added_up_in_parts(name: str, streams: dict[str, Path]) -> None:
    split = how(KEYED[name], streams).split
    assert split is not None
    assert isinstance(split.below, Group)


def test_sums_are_not_added_up_in_parts(streams: dict[str, Path]) -> None:
    split = how(KEYED["sums"], streams).split
    assert split is not None
    assert not isinstance(split.below, Group)


@pytest.mark.parametrize("name", QUERIES)
def test_aggregates_go_to_the_streams(name: str, streams: dict[str, Path]) -> None:
    assert branches(QUERIES[name], streams) == len(MARKETS) + 1  # and what is static


def branches(text: str, streams: dict[str, Path]) -> int:
    return how(text, streams).branches


def how(text: str, streams: dict[str, Path]) -> Partitioning:
    engine = Engine()
    for iri in streams:
        engine.stream(iri)
    engine.register(text, dialect="csparql")
    [plan] = engine.plans()
    return partitioning(plan)
