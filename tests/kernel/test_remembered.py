"""What is found in static data is found once, as long as no window has something to add."""

from __future__ import annotations

import polars as pl
import pytest

from headrace import Engine
from headrace.kernel.columns import QUADS
from headrace.kernel.data import Quads
from headrace.rdf.ids import TermId

STATIC = """
<x:a> <x:from> "CH" . <x:b> <x:from> "IT" . <x:c> <x:from> "CH" .
<x:a> <x:lives> <x:z> . <x:c> <x:lives> <x:z> . <x:z> <x:part> <x:e> .
"""
QUERY = """
SELECT ?b ?t FROM STREAM <x:s> [RANGE 10s STEP 10s]
WHERE { ?b <x:from> ?c . ?b <x:lives> ?z . ?z <x:part> <x:e> . ?b <x:does> ?t FILTER (?c = "CH") }
"""


def played(*batches: str, rules: str = "on") -> tuple[Engine, list[list[str]]]:
    engine = Engine(settings={"rules.precompute_static": rules})
    engine.static.load_text(STATIC)
    stream = engine.stream("x:s")
    query = engine.register(QUERY)
    for number, batch in enumerate(batches):
        stream.push(batch, at=1000 + 10_000 * number)
        engine.step()
    engine.finish()
    return engine, [sorted(str(row) for row in each.rows) for each in query.results()]


BATCHES = (
    "<x:a> <x:does> <x:1> .",
    "<x:b> <x:does> <x:2> .\n<x:c> <x:does> <x:3> .",
    # Of a broker that the static data do not know, and of one they know otherwise.
    '<x:d> <x:from> "CH" .\n<x:d> <x:lives> <x:z> .\n<x:d> <x:does> <x:4> .',
    '<x:b> <x:from> "CH" .\n<x:b> <x:lives> <x:z> .\n<x:b> <x:does> <x:5> .',
    "<x:a> <x:does> <x:6> .",
)


def test_answers_are_the_same() -> None:
    assert played(*BATCHES)[1] == played(*BATCHES, rules="off")[1]
    assert [len(rows) for rows in played(*BATCHES)[1]] == [1, 1, 1, 1, 1]


def test_a_whole_query_can_be_static_at_an_instant() -> None:
    engine = Engine()
    engine.static.load_text(STATIC)
    stream = engine.stream("x:s")
    query = engine.register(
        """SELECT ?b ?c FROM STREAM <x:s> [RANGE 10s STEP 10s]
        WHERE { ?b <x:from> ?c { ?b <x:lives> <x:z> } UNION { ?z <x:part> <x:none> } }"""
    )
    stream.push("<x:a> <x:does> <x:1> .", at=1000)
    stream.push("<x:b> <x:lives> <x:z> .", at=11_000)
    engine.finish()
    assert query.error is None
    assert [len(each.rows) for each in query.results()] == [2, 3]


def test_static_patterns_are_looked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[TermId] = []
    original = Quads.with_predicate

    def counted(self: Quads, predicate: TermId, names: list[str] | None = None) -> pl.DataFrame:
        if not self.keyed and self.has_predicate(predicate):
            looked.append(predicate)
        return original(self, predicate, names)

    monkeypatch.setattr(Quads, "with_predicate", counted)
    played(BATCHES[0], BATCHES[1], BATCHES[4])
    assert len(looked) == len(set(looked))
    looked.clear()
    played(BATCHES[0], BATCHES[1], BATCHES[4], rules="off")
    assert len(looked) > len(set(looked))


def test_a_new_version_is_looked_at_anew() -> None:
    engine = Engine()
    engine.static.load_text('<x:a> <x:from> "CH" .')
    stream = engine.stream("x:s")
    query = engine.register(
        "SELECT ?b FROM STREAM <x:s> [RANGE 10s STEP 10s] { ?b <x:from> 'CH' ; <x:does> ?t }"
    )
    stream.push("<x:a> <x:does> <x:1> .\n<x:b> <x:does> <x:2> .", at=1_000)
    stream.push("<x:b> <x:does> <x:2> .", at=11_000)
    engine.step()
    engine.static.load_text('<x:b> <x:from> "CH" .')
    engine.finish()
    assert [[str(row[0]) for row in each.rows] for each in query.results()] == [
        ["<x:a>"],
        ["<x:b>"],
    ]


def test_statements_in_any_order_are_found_by_their_predicates() -> None:
    frame = pl.DataFrame(
        [(None, each, each % 3, each) for each in range(60_000)],
        schema=QUADS,
        orient="row",
    )
    for quads in (Quads(frame), Quads(frame.sort("predicate", maintain_order=True))):
        assert quads.is_indexed
        for predicate in range(4):
            expected = frame.filter(pl.col("predicate") == predicate)
            assert quads.with_predicate(TermId(predicate)).equals(expected)
