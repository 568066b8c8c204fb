"""When mappings have come into a window: by what patterns match, and by nothing else."""

from __future__ import annotations

import polars as pl
import pytest

from headrace.algebra.expressions import TriplePattern, Variable
from headrace.kernel.columns import GRAPH, OBJECT, PREDICATE, SUBJECT, TIME
from headrace.kernel.data import Quads, WindowContents
from headrace.kernel.needed import Moment
from headrace.rdf.terms import Iri, Term

IDS: dict[Term, int] = {Iri("p:m"): 10, Iri("p:k"): 11, Iri("x:p"): 12}
STATEMENTS = [(1, 10, 12, 500), (2, 10, 12, 1500), (1, 11, 12, 2500), (3, 11, 1, 2800)]
U, V = Variable("u"), Variable("v")
M, K = (TriplePattern(U, Iri(each), V) for each in ("p:m", "p:k"))


def moment(now: int) -> Moment:
    frame = pl.DataFrame(
        [(0, *each) for each in STATEMENTS],
        schema=dict.fromkeys((GRAPH, SUBJECT, PREDICATE, OBJECT, TIME), pl.Int64),
        orient="row",
    )
    window = WindowContents(Iri("x:w"), Iri("x:s"), Quads(frame))
    return Moment((window,), now, IDS.__getitem__)


@pytest.mark.parametrize(
    ("patterns", "now", "entered"),
    [
        ((M,), 3000, [500, 1500]),
        ((K,), 3000, [2500, 1500]),
        ((M, K), 3000, [2500, 1500]),
        ((M,), 1000, [500, 1000]),
        ((), 3000, [2800, 1500]),
        ((TriplePattern(V, Iri("p:k"), U),), 3000, [2800, 1500]),
        ((TriplePattern(U, Iri("p:m"), Iri("x:p")),), 3000, [500, 1500]),
    ],
)
def test_when_a_mapping_came(
    patterns: tuple[TriplePattern, ...], now: int, entered: list[int]
) -> None:
    values = pl.Series("?u", [1, 2], pl.Int64)
    assert moment(now).entered(values, U, patterns).to_list() == entered


def test_a_term_that_is_nowhere_has_come_now() -> None:
    assert moment(3000).entered(pl.Series("?u", [99]), U, (M,)).to_list() == [3000]


def test_the_predicate_of_a_pattern_may_be_the_key() -> None:
    patterns = (TriplePattern(V, U, Variable("w")),)
    assert moment(3000).entered(pl.Series("?u", [10]), U, patterns).to_list() == [1500]
