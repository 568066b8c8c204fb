"""Queries under a schema find what they find in data that say all that follows."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from headrace import Engine, Store
from headrace.rdf.terms import Iri, Literal, Quad, Term, Triple
from headrace.reasoning.reduction import EVERYTHING
from headrace.reasoning.schema import TYPE
from tests.continuous.ways import sibling_of
from tests.fuzzing import repeat
from tests.reasoning.worlds import CLASSES, NODES, PROPERTIES, data, found, read, schema_statements

VARIABLES = ("?x", "?y", "?z")
variable = st.sampled_from(VARIABLES)


def _or_term(terms: list[Any]) -> st.SearchStrategy[str]:
    named = [str(each) for each in terms if isinstance(each, Iri | Literal)]
    return st.one_of(variable, st.sampled_from(named))


patterns = st.lists(
    st.one_of(
        st.tuples(variable, st.just(str(TYPE)), _or_term(list(CLASSES))),
        st.tuples(variable, st.sampled_from([str(each) for each in PROPERTIES]), _or_term(NODES)),
        st.tuples(_or_term(NODES), variable, _or_term([*NODES, *CLASSES])),
        st.tuples(variable, st.just(f"{PROPERTIES[0]}/{PROPERTIES[1]}"), variable),
        st.tuples(variable, st.just(f"({PROPERTIES[0]}|^{PROPERTIES[2]})+"), variable),
    ),
    min_size=1,
    max_size=3,
)
elements = st.lists(data.filter(bool), min_size=1, max_size=6)
semantics = st.sampled_from(
    [
        ("[RANGE 3s STEP 2s]", {"contents": "set"}),
        ("[RANGE 3s STEP 2s]", {"contents": "timed"}),
        ("[RANGE 3s STEP 2s]", {"report": "on-arrival", "emit": "istream"}),
        ("[TRIPLES 3 STEP 2]", {}),
    ]
)


def _body(chosen: list[tuple[str, str, str]]) -> str:
    return " . ".join(" ".join(each) for each in chosen)


def _quads(triples: list[Triple] | set[Triple]) -> list[Quad]:
    return [Quad(each.subject, each.predicate, each.object) for each in triples]


@repeat(100)
@given(schema_statements(), data, patterns)
def test_over_static_data(
    schema: list[Triple], statements: list[Triple], chosen: list[tuple[str, str, str]]
) -> None:
    text = f"SELECT * {{ {_body(chosen)} }}"
    under, plain = Store(schema=_quads(schema)), Store()
    under.add(_quads(statements))
    plain.add(_quads(found(read(schema), statements, EVERYTHING)))
    assert _rows(under.query(text)) == _rows(plain.query(text))


def _rows(answer: Any) -> list[str]:
    return sorted(map(str, answer.rows))


@repeat(60, share=1 / 6)
@given(schema_statements(), elements, patterns, semantics)
def test_over_streams(
    schema: list[Triple],
    script: list[list[Triple]],
    chosen: list[tuple[str, str, str]],
    how: tuple[str, dict[str, str]],
) -> None:
    frame, declared = how
    text = f"SELECT * FROM STREAM <s> {frame} {{ {_body(chosen)} }}"
    counts = frame.startswith("[TRIPLES")
    entailed = [found(read(schema), each, EVERYTHING) for each in script]
    if counts and [len(each) for each in script] != [len(each) for each in entailed]:
        return  # what follows does not count, and the same stated would
    theirs = _evaluated(Engine(settings=declared), [text], [sorted(e, key=str) for e in entailed])
    for texts, step in (([text], 2), ([text], 1), ([sibling_of(text), text, text], 2)):
        ours = _evaluated(Engine(schema=_quads(schema), settings=declared), texts, script, step)
        assert ours == theirs


def _evaluated(
    engine: Engine, texts: list[str], script: list[list[Triple]], step: int = 2
) -> list[tuple[object, ...]]:
    """What the query in the middle finds."""
    stream = engine.stream("s")
    queries = [engine.register(text, dialect="csparql") for text in texts]
    query = queries[len(queries) // 2]
    for number, element in enumerate(script):
        stream.push(_named(_quads(element)), at=1000 * number)
        if number % step == step - 1:
            engine.step()
    engine.finish()
    assert query.error is None
    return [(each.at, each.seq, sorted(map(str, each.rows))) for each in query.results()]


def _named(quads: list[Quad]) -> list[Quad]:
    """Blank nodes are those of an element; these are to be the same in all."""
    return [Quad(_name(each.subject), each.predicate, _name(each.object)) for each in quads]


def _name(term: Term) -> Term:
    return term if isinstance(term, Iri | Literal) else Iri("x:n")
