"""Many instants in one pass give what each gives on its own."""

from __future__ import annotations

from collections import Counter

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from headrace.dialects import parse
from headrace.kernel.columns import FIRST, INSTANT, LAST, STATEMENT
from headrace.kernel.data import Data, Quads
from headrace.kernel.dictionary import Dictionary
from headrace.kernel.snapshot import evaluate
from headrace.kernel.solutions import Solutions
from headrace.kernel.surroundings import Surroundings
from headrace.rdf.formats import Format
from headrace.rdf.reading import read
from tests.differential.generators import datasets, queries
from tests.fuzzing import repeat

INSTANTS = range(10, 50, 10)


def rows(found: Solutions, instant: int) -> Counter[tuple[object, ...]]:
    frame = found.frame.filter(pl.col(INSTANT) == instant) if found.keyed else found.frame
    return (
        Counter(frame.select(sorted(found.names)).rows())
        if found.names
        else Counter({(): frame.height})
    )


@repeat(150)
@given(datasets(), queries(), st.data())
def test_many_instants_at_once_equal_each_alone(data: str, text: str, more: st.DataObject) -> None:
    pattern = parse(text, "sparql").query.pattern
    dictionary = Dictionary()
    quads = dictionary.encode_quads(read(data, Format.TRIG))
    ends = st.tuples(st.sampled_from(INSTANTS), st.sampled_from(INSTANTS)).map(sorted)
    spans = more.draw(st.lists(ends, min_size=quads.height, max_size=quads.height))
    held = quads.with_columns(
        pl.Series(FIRST, [first for first, _ in spans], dtype=pl.Int64),
        pl.Series(LAST, [last for _, last in spans], dtype=pl.Int64),
    )
    around = Surroundings(dictionary, INSTANTS)
    together = evaluate(pattern, Data(Quads(held, INSTANTS)), around).expanded(INSTANTS)
    for instant in INSTANTS:
        then = held.filter(pl.col(FIRST) <= instant, pl.col(LAST) >= instant)
        alone = evaluate(pattern, Data(Quads(then.select(*STATEMENT))), Surroundings(dictionary))
        assert rows(together, instant) == rows(alone, instant), instant
