from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest

from headrace.background.config import ServiceConfig
from headrace.background.errors import ServiceError
from headrace.errors import DataError, LimitError, QueryError, SettingError, UnsupportedError
from headrace.functions.table import Functions
from headrace.functions.value_failures import Cause
from headrace.kernel.answer import Statements, Truth
from headrace.rdf.ids import text_id
from headrace.rdf.terms import Iri, Literal, Quad, Term
from headrace.rdf.vocabulary import XSD_DECIMAL, XSD_INTEGER
from headrace.results.frames import to_arrow, to_pandas, to_polars
from headrace.results.table import Table
from headrace.store import Store
from tests.background.endpoint_server import serving

PEOPLE = """@prefix : <http://ex/> .
:ann :age 41 ; :knows :bob . :bob :age 12 ; :name "Bob"@en .
this line is wrong .
"""


@pytest.fixture
def store(tmp_path: Path) -> Store:
    path = tmp_path / "people.ttl"
    path.write_text(PEOPLE)
    store = Store()
    (problem,) = store.load(path)
    assert problem.line == 3
    return store


def table(store: Store, text: str) -> Table:
    answer = store.query(f"PREFIX : <http://ex/> {text}")
    assert isinstance(answer, Table)
    return answer


def test_rows_truths_and_graphs(store: Store) -> None:
    found = table(store, "SELECT ?s ?n { ?s :age ?a OPTIONAL { ?s :name ?n } } ORDER BY ?a")
    assert found.rows == (
        (Iri("http://ex/bob"), Literal("Bob", language="en")),
        (Iri("http://ex/ann"), None),
    )
    assert store.query("ASK { ?s ?p 41 }") == Truth(value=True)
    made = store.query("PREFIX : <http://ex/> CONSTRUCT { ?b :knownBy ?a } { ?a :knows ?b }")
    assert made == Statements(
        (Quad(Iri("http://ex/bob"), Iri("http://ex/knownBy"), Iri("http://ex/ann")),)
    )


def test_named_graphs(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "more.nt"
    path.write_text("<http://ex/eve> <http://ex/age> <http://ex/old> .\n")
    assert store.load(path, "http://ex/g") == []
    assert len(table(store, "SELECT * { GRAPH ?g { ?s ?p ?o } }").rows) == 1
    assert len(table(store, "SELECT * FROM :g { ?s ?p ?o }").rows) == 1


def test_frames(store: Store) -> None:
    found = table(store, "SELECT ?s ?a ?n { ?s :age ?a OPTIONAL { ?s :name ?n } } ORDER BY ?a")
    frame = to_polars(found)
    assert frame.rows() == [("http://ex/bob", 12, "Bob"), ("http://ex/ann", 41, None)]
    assert to_arrow(found).num_rows == 2
    assert list(to_pandas(found)["a"]) == [12, 41]


def test_a_function_of_our_own() -> None:
    def twice(term: Term) -> Term:
        assert isinstance(term, Literal)
        return Literal(str(2 * int(term.lexical)), XSD_INTEGER)

    store = Store(functions=Functions().with_function("http://ex/twice", twice, arity=1))
    found = table(store, "SELECT (:twice(21) AS ?x) {}")
    assert found.rows == ((Literal("42", XSD_INTEGER),),)


def test_numbers_stay_exact() -> None:
    store = Store()
    huge, fine = str(10**40 + 1), "0.1234567890123456789"
    store.add(
        [
            Quad(Iri("x:a"), Iri("x:p"), Literal(huge, XSD_INTEGER)),
            Quad(Iri("x:b"), Iri("x:p"), Literal(fine, XSD_DECIMAL)),
        ]
    )
    summed = store.query("SELECT (SUM(?v) AS ?s) { ?x <x:p> ?v }")
    assert isinstance(summed, Table)
    assert summed.rows == ((Literal(f"{huge}{fine[1:]}", XSD_DECIMAL),),)
    more = store.query(f"SELECT ?x {{ ?x <x:p> ?v FILTER (?v > {10**40}) }}")
    assert isinstance(more, Table)
    assert more.rows == ((Iri("x:a"),),)


def test_now_is_given() -> None:
    answer = Store().query("SELECT (YEAR(NOW()) AS ?y) {}", now=datetime(2031, 5, 1, tzinfo=UTC))
    assert isinstance(answer, Table)
    assert answer.rows == ((Literal("2031", XSD_INTEGER),),)


def test_computed_patterns_that_cannot_be_used_are_counted() -> None:
    store = Store()
    store.load_text("<x:a> <x:p> 'b' ; <x:pattern> '(b', 'b(?=c)', 'b' .")
    text = "SELECT ?f { ?s <x:p> ?o ; <x:pattern> ?f FILTER(REGEX(?o, ?f)) }"
    assert len(table(store, text).rows) == 1
    [failure] = store.failures
    assert (failure.cause, failure.subject, failure.count) == (Cause.PATTERN, "REGEX", 2)
    store.query("SELECT ?o { ?s <x:p> ?o FILTER(REGEX(?o, 'b')) }")
    assert store.failures == (failure,)


def test_a_product_of_all_with_all_is_refused() -> None:
    store = Store()
    store.add(
        Quad(Iri(f"x:{name}{number}"), Iri(f"x:{name}"), Literal(str(number)))
        for name in "pq"
        for number in range(10_000)
    )
    with pytest.raises(LimitError, match="a join without a shared variable would make 100,000,000"):
        store.query("SELECT * { ?a <x:p> ?b . ?c <x:q> ?d }")


@pytest.mark.parametrize(
    ("pattern", "on"),
    [
        ("?a <x:p> ?m . ?m <x:p> ?b", "?m would make 64 rows"),
        ("?a <x:p> [ <x:p> ?b ]", "what has no name in the query, such as a blank node"),
        ("?a <x:p>/<x:p> ?b", "what has no name in the query, such as a blank node"),
    ],
)
def test_a_join_that_is_too_large_is_refused_by_names_of_the_query(pattern: str, on: str) -> None:
    store = Store(max_rows=20)
    nodes = [Iri(f"x:{number}") for number in range(4)]
    store.add(Quad(one, Iri("x:p"), other) for one in nodes for other in nodes)
    with pytest.raises(LimitError) as raised:
        store.query(f"SELECT * {{ {pattern} }}")
    assert f"a join on {on}" in str(raised.value)
    assert "_:." not in str(raised.value)


def test_a_late_query_is_given_up() -> None:
    with pytest.raises(LimitError, match="took longer than"):
        Store(timeout=0).query("SELECT * { ?s ?p ?o }")


def test_what_a_store_cannot_answer() -> None:
    with pytest.raises(QueryError, match="reads a stream"):
        Store().query("SELECT * FROM STREAM <s> [RANGE 1s STEP 1s] { ?s ?p ?o }")
    with pytest.raises(SettingError, match="cannot read"):
        Store().load("missing.ttl")


def test_services_are_asked_only_if_allowed() -> None:
    with serving("<http://ex/ann> <http://ex/likes> <http://ex/tea> .") as server:
        text = f"SELECT * {{ SERVICE <{server.iri}> {{ ?s <http://ex/likes> ?o }} }}"
        with pytest.raises(ServiceError, match="not allowed"):
            Store().query(text)
        allowed = ServiceConfig(allow=(server.iri,), private=("127.0.0.1",))
        with Store(services=allowed) as store:
            store.add([Quad(Iri("http://ex/ann"), Iri("http://ex/age"), Literal("41"))])
            joined = store.query(
                f"SELECT * {{ ?s <http://ex/age> ?a SERVICE <{server.iri}>"
                " { ?s <http://ex/likes> ?o } }"
            )
            assert isinstance(joined, Table)
            assert joined.rows == ((Iri("http://ex/ann"), Literal("41"), Iri("http://ex/tea")),)
            assert isinstance(store.query(text), Table)
            by_name = store.query(
                f"SELECT ?o {{ VALUES ?e {{ <{server.iri}> }} SERVICE ?e {{ ?s ?p ?o }} }}"
            )
            assert isinstance(by_name, Table)
            assert by_name.rows == ((Iri("http://ex/tea"),),)


def test_a_silent_service_that_fails_binds_nothing() -> None:
    answer = Store().query("SELECT * { SERVICE SILENT <http://nowhere.example/> { ?s ?p ?o } }")
    assert isinstance(answer, Table)
    assert answer.rows == ((None, None, None),)


def test_a_function_that_nobody_knows_is_refused_where_it_stands() -> None:
    with pytest.raises(UnsupportedError) as raised:
        Store().query("SELECT (<http://ex/wibble>(1) AS ?x) {}")
    assert raised.value.column == 9


def test_a_crafted_collision_rejects_its_statement_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "headrace.kernel.dictionary.text_id",
        lambda text, seed=0: 7 if b"evil" in text else text_id(text, seed),
    )
    store = Store()
    errors: list[DataError] = []
    names = ("evil1", "good", "evil2")
    quads = [Quad(Iri(f"x:{name}"), Iri("x:p"), Literal("1")) for name in names]
    store.add(quads, errors.append)
    assert len(store) == 2
    assert "have the same id" in str(errors[0])


@pytest.mark.parametrize(
    "text",
    [
        "SELECT (timestamp(?s) AS ?t) { ?s ?p ?o }",
        "SELECT * { SERVICE <http://ex/> [BUDGET 5] { ?s ?p ?o } }",
    ],
)
def test_what_would_have_no_effect_is_refused(text: str) -> None:
    with pytest.raises(UnsupportedError):
        Store().query(text)


def test_statements_that_are_encoded_already_are_added_once() -> None:
    one, other = Store(), Store()
    quads = [Quad(Iri("x:a"), Iri("x:p"), Literal(text)) for text in ("1", "2")]
    one.add(quads)
    other.add(quads[:1])
    other.add_encoded(one.quads, one.dictionary.known)
    assert len(other) == 2
    assert other.query("SELECT ?o { ?s <x:p> ?o } ORDER BY ?o") == one.query(
        "SELECT ?o { ?s <x:p> ?o } ORDER BY ?o"
    )


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("SELECT * { ?s " + "<x:p>/" * 300 + "<x:p> ?o }", "a path of several steps|a join"),
        (f"SELECT * {{ ?s ?p ?o FILTER({'||'.join(['?s = ?o'] * 300)}) }}", "many parts"),
    ],
)
def test_long_paths_and_conditions_are_given_up_on_the_way(
    text: str, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = count()
    monkeypatch.setattr("headrace.store.time", SimpleNamespace(monotonic=lambda: next(looks)))
    store = Store(timeout=200)  # looks at the clock
    store.add([Quad(Iri("x:a"), Iri("x:p"), Iri("x:a"))])
    with pytest.raises(LimitError, match=where):
        store.query(text)


def test_a_path_keeps_duplicates_and_its_ends() -> None:
    store = Store()
    pairs = [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"), ("d", "d")]
    store.add(Quad(Iri(f"x:{one}"), Iri("x:p"), Iri(f"x:{other}")) for one, other in pairs)
    found = store.query("SELECT ?s ?o { ?s <x:p>/<x:p>/<x:p> ?o }")
    assert isinstance(found, Table)
    ways = Counter((str(one), str(other)) for one, other in found.rows)
    assert ways == {("<x:a>", "<x:d>"): 2, ("<x:b>", "<x:d>"): 1, ("<x:c>", "<x:d>"): 1,
                    ("<x:d>", "<x:d>"): 1}  # fmt: skip
    same = store.query("SELECT ?s { ?s <x:p>/<x:p> ?s }")
    assert isinstance(same, Table)
    assert same.rows == ((Iri("x:d"),),)
