"""Calls of RAND() and its like in conditions: no two of them give the same."""

from __future__ import annotations

import pytest

from headrace.results.table import Table
from headrace.store import Store

MANY = 1_000
ROWS = "VALUES ?x { " + " ".join(map(str, range(MANY))) + " }"


def kept(where: str) -> int:
    """How many of a thousand rows a pattern keeps."""
    text = f"PREFIX rspu: <http://w3id.org/rsp/rspu#> SELECT ?x {{ MANY {where} }}"
    with Store() as store:
        answer = store.query(text.replace("MANY", ROWS))
    assert isinstance(answer, Table)
    return len(answer.rows)


@pytest.mark.parametrize(
    ("where", "share"),
    [
        ("FILTER(RAND() < 0.5)", 1 / 2),
        ("FILTER(RAND() < 0.5) FILTER(RAND() < 0.5)", 1 / 4),
        ("FILTER(RAND() < 0.5 && RAND() < 0.5)", 1 / 4),
        ("FILTER(RAND() < 0.5 || RAND() < 0.5)", 3 / 4),
        ("FILTER(RAND() < RAND())", 1 / 2),
        ("FILTER(!(RAND() < 0.5) && !(RAND() < 0.5))", 1 / 4),
        ("FILTER(IF(RAND() < 0.5, RAND() < 0.5, false))", 1 / 4),
        ("FILTER(rspu:mean(RAND()) < 0.5 && rspu:mean(RAND()) < 0.5)", 1 / 4),
        ("FILTER(rspu:mean(RAND()) < rspu:mean(RAND()))", 1 / 2),
        ("BIND(RAND() AS ?r) FILTER(?r < 0.5 && RAND() < 0.5)", 1 / 4),
        (
            "OPTIONAL { BIND(1 AS ?one) FILTER(RAND() < 0.5) } FILTER(BOUND(?one) && RAND() < 0.5)",
            1 / 4,
        ),
        ("{ SELECT ?x { MANY FILTER(RAND() < 0.5) } } FILTER(RAND() < 0.5)", 1 / 4),
    ],
)
def test_every_call_has_its_own_number(where: str, share: float) -> None:
    # Seven standard deviations: once in 400 thousand million runs.
    assert abs(kept(where) - share * MANY) < 7 * (MANY * share * (1 - share)) ** 0.5


@pytest.mark.parametrize("call", ["UUID()", "STRUUID()", "BNODE()", "RAND()"])
def test_no_two_calls_give_the_same(call: str) -> None:
    assert kept(f"FILTER({call} = {call})") == 0
    assert kept(f"FILTER(SAMETERM({call}, {call}))") == 0
    assert kept(f"FILTER({call} IN ({call}, {call}))") == 0


def test_a_call_gives_a_row_one_value() -> None:
    assert kept("BIND(RAND() AS ?r) FILTER(?r = ?r)") == MANY
