"""The same data as elements of a stream: one at a time, and by queries of equal shape together."""

from __future__ import annotations

from hypothesis import assume, given

from headrace.dialects import parse
from headrace.errors import QueryError
from headrace.rdf.formats import Format
from headrace.rdf.reading import read
from headrace.results.table import Table
from tests.continuous.ways import play_every_way
from tests.differential.generators import datasets, queries
from tests.differential.oracle import oracle
from tests.differential.test_against_pyoxigraph import deviates
from tests.fuzzing import repeat
from tests.w3c.isomorphism import same

S = "http://x/stream"
FRAME = f"FROM NAMED WINDOW <http://x/window> ON <{S}> [RANGE 1s STEP 1s]"


def as_stream(data: str) -> str:
    """Statements as elements; what stands in one graph is one element."""
    quads = sorted(read(data, Format.TRIG), key=lambda quad: str(quad.graph))
    lines = []
    for number, quad in enumerate(quads):
        parts = (quad.subject, quad.predicate, quad.object, quad.graph)
        time = number if quad.graph is None else len(quads)
        lines.append(f"{1 + time}\t{' '.join(str(each) for each in parts if each is not None)} .\n")
    return "".join(sorted(lines, key=lambda line: int(line.partition("\t")[0])))


def over_window(text: str) -> str:
    """A query over static data as one over what a window holds."""
    head, _, rest = text.partition("{")
    body, _, modifiers = rest.rpartition("}")
    return f"{head} {FRAME} WHERE {{ WINDOW <http://x/window> {{ {body} }} }} {modifiers}"


@repeat(40, share=1 / 4)
@given(datasets(), queries())
def test_a_window_agrees_with_pyoxigraph(data: str, text: str) -> None:
    query = parse(text, "sparql").query
    assume(not deviates(query))
    try:
        theirs = oracle(data, text)
        parse(over_window(text), "rspql")
    except (SyntaxError, QueryError):  # SELECT ?x ?x, and what RSP-QL does not allow
        assume(condition=False)
        raise
    played = play_every_way(over_window(text), {S: as_stream(data)}, dialect="rspql")
    assert not played.errors
    [ours] = played.evaluations
    if isinstance(theirs, bool):
        assert ours.boolean == theirs
        return
    assert isinstance(theirs, Table)
    order = [ours.variables.index(name) for name in theirs.variables]
    assert same([tuple(row[place] for place in order) for row in ours.rows], theirs.rows)
