"""Engines under a schema: queries come and go, static data are added, nothing else changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace import Engine, QueryError, SettingError, Store
from headrace.rdf.formats import Format
from headrace.rdf.reading import read

SCHEMA = """
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
<x:Cat> rdfs:subClassOf <x:Animal> . <x:Animal> rdfs:subClassOf <x:Being> .
<x:feeds> rdfs:range <x:Animal> ; rdfs:subPropertyOf <x:likes> .
"""
QUADS = tuple(read(SCHEMA, Format.TURTLE))


def asked(pattern: str, extra: str = "") -> str:
    return f"SELECT ?x FROM STREAM <s> [RANGE 10s STEP 10s] {extra} {{ {pattern} }}"


def names(query: object) -> list[list[str]]:
    found = query.results()  # type: ignore[attr-defined]  # a Query
    return [sorted(row[0].value for row in each.rows) for each in found]


def test_queries_come_and_go_and_the_network_with_them() -> None:
    engine = Engine(schema=QUADS)
    stream = engine.stream("s")
    animals = engine.register(asked("?x a <x:Animal>"), name="animals")
    stream.push("<x:tom> a <x:Cat> .", at=1_000, syntax="text/turtle")
    engine.step()
    before = engine.entailing.tables()
    beings = engine.register(asked("?x a <x:Being>"), name="beings")
    stream.push("<x:ann> <x:feeds> <x:kit> .", at=2_000)
    engine.step()
    both = engine.entailing.tables()
    assert before is not None
    assert both is not None
    assert before.digest != both.digest
    animals.remove()
    stream.push("<x:rex> a <x:Cat> .", at=12_000, syntax="text/turtle")
    engine.step()
    after = engine.entailing.tables()
    assert after is not None
    assert after.digest not in {before.digest, both.digest}
    engine.finish()
    assert names(animals) == []
    assert names(beings) == [["x:kit"], ["x:rex"]]


def test_tables_are_kept_as_long_as_the_same_is_asked_for() -> None:
    engine = Engine(schema=QUADS)
    engine.stream("s")
    engine.register(asked("?x a <x:Animal>"), name="one")
    tables = engine.entailing.tables()
    engine.register(asked("?x a <x:Animal> . ?x <x:unknown> ?y"), name="two")
    engine.remove("two")
    assert engine.entailing.tables() is not None
    assert tables is not None
    assert engine.entailing.tables().digest == tables.digest  # type: ignore[union-attr]  # as said


def test_static_data_that_are_added_later_are_entailed_too() -> None:
    engine = Engine(schema=QUADS)
    stream = engine.stream("s")
    query = engine.register(asked("?x <x:seen> ?y . ?x a <x:Being>"))
    engine.static.load_text("<x:tom> a <x:Cat> .")
    stream.push("<x:tom> <x:seen> 1 . <x:kit> <x:seen> 2 .", at=1_000, syntax="text/turtle")
    engine.step()
    engine.static.load_text("<x:ann> <x:feeds> <x:kit> .")
    stream.heartbeat(at=11_000)
    engine.step()
    engine.finish()
    assert names(query) == [["x:kit", "x:tom"]]
    assert len(engine.static) == 2, "what follows is not stored"


def test_a_query_without_a_schema_has_no_tables() -> None:
    engine = Engine()
    engine.stream("s")
    engine.register(asked("?x a <x:Animal>"))
    assert engine.entailing.tables() is None
    assert engine.around().tables is None


def test_a_schema_that_does_not_matter_costs_nothing() -> None:
    engine = Engine(schema=QUADS)
    engine.stream("s")
    engine.register(asked("?x <x:unrelated> ?y"))
    assert engine.entailing.tables() is None


@pytest.mark.parametrize("dialect", ["csparql", "rspql", "cqels"])
def test_every_dialect_names_a_schema(dialect: str) -> None:
    texts = {
        "csparql": asked("?x a <x:Being>", "FROM SCHEMA <x:schema>"),
        "rspql": "SELECT ?x FROM SCHEMA <x:schema> FROM NAMED WINDOW <w> ON <s>"
        " [RANGE PT10S STEP PT10S] { WINDOW <w> { ?x a <x:Being> } }",
        "cqels": "SELECT ?x FROM SCHEMA <x:schema> WHERE { STREAM <s> [RANGE 10s SLIDE 10s]"
        " { ?x a <x:Being> } }",
    }
    engine = Engine(schema={"x:schema": QUADS})
    stream = engine.stream("s")
    query = engine.register(texts[dialect], dialect=dialect)
    stream.push("<x:tom> a <x:Cat> .", at=1_000, syntax="text/turtle")
    engine.finish()
    assert [row for each in names(query) for row in each] == ["x:tom"]


def test_a_static_graph_is_a_schema_if_it_is_named_so() -> None:
    engine = Engine()
    engine.static.load_text(SCHEMA, "x:schema")
    stream = engine.stream("s")
    query = engine.register(asked("?x a <x:Being>", "FROM SCHEMA <x:schema>"))
    stream.push("<x:tom> a <x:Cat> .", at=1_000, syntax="text/turtle")
    engine.finish()
    assert names(query) == [["x:tom"]]


def test_a_name_without_a_declaration_is_that_of_the_only_schema() -> None:
    store = Store(schema=QUADS)
    store.load_text("<x:tom> a <x:Cat> .")
    text = "SELECT ?x FROM SCHEMA <http://elsewhere/> { ?x a <x:Being> }"
    assert len(store.query(text).rows) == 1  # type: ignore[union-attr]  # it is a SELECT


def test_a_schema_that_is_not_known_is_an_error_that_helps() -> None:
    with pytest.raises(QueryError, match="did you mean <x:schema>"):
        Engine(schema={"x:schema": QUADS}).register(asked("?x a ?y", "FROM SCHEMA <x:schemas>"))
    with pytest.raises(QueryError, match="--schema x:a=FILE") as raised:
        Store().query("SELECT ?s\nFROM SCHEMA <x:a> { ?s ?p ?o }")
    assert "line 2, column 1" in str(raised.value)


def test_schemas_of_a_run_are_one() -> None:
    engine = Engine(schema={"x:one": QUADS, "x:other": QUADS[:1]})
    engine.stream("s")
    first = engine.register(asked("?x a <x:Being>", "FROM SCHEMA <x:one>"), name="first")
    with pytest.raises(SettingError, match="'second' and 'first' read their data under different"):
        engine.register(asked("?x a <x:Being>", "FROM SCHEMA <x:other>"), name="second")
    first.remove()
    engine.register(asked("?x a <x:Being>", "FROM SCHEMA <x:other>"), name="second")


def test_a_schema_is_a_file_of_any_format(tmp_path: Path) -> None:
    (tmp_path / "schema.ttl").write_text(SCHEMA)
    (tmp_path / "schema.owl").write_text(SCHEMA)
    (tmp_path / "xml.owl").write_text(
        '<?xml version="1.0"?><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"'
        ' xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#"><rdfs:Class rdf:about="x:Cat">'
        '<rdfs:subClassOf rdf:resource="x:Being"/></rdfs:Class></rdf:RDF>'
    )
    for name in ("schema.ttl", "schema.owl", "xml.owl"):
        store = Store(schema=tmp_path / name)
        store.load_text("<x:tom> a <x:Cat> .")
        assert len(store.query("SELECT ?x { ?x a <x:Being> }").rows) == 1  # type: ignore[union-attr]
    with pytest.raises(SettingError, match="cannot read schema"):
        Store(schema=tmp_path / "missing.ttl")
    (tmp_path / "wrong.ttl").write_text("<x:a> <x:b>")
    with pytest.raises(SettingError, match="cannot read schema"):
        Store(schema=tmp_path / "wrong.ttl")


def test_late_and_rejected_elements_are_told_as_they_came() -> None:
    engine = Engine(schema=QUADS, settings={"max_ahead": "1d"})
    stream = engine.stream("s")
    engine.register(asked("?x a ?y"))
    stream.push("<x:ann> <x:feeds> <x:a> .", at=1_000)
    stream.push("<x:ann> <x:feeds> <x:b> .", at=25_000)
    stream.push("<x:ann> <x:feeds> <x:c> .", at=2_000)
    engine.step()
    stream.push("<x:ann> <x:feeds> <x:d> .", at=3_000)
    stream.push("<x:ann> <x:feeds> <x:e> .", at=10**12)
    engine.finish()
    late = [[str(quad.object) for quad in each.element.quads] for each in engine.late]
    assert late == [["<x:c>"], ["<x:d>"]]
    [rejected] = engine.rejected
    assert rejected.element is not None
    assert len(rejected.element.quads) == 1


def test_schemas_are_declared_before_queries() -> None:
    engine = Engine(schema=QUADS)
    engine.stream("s")
    engine.register(asked("?x a <x:Animal>"))
    with pytest.raises(SettingError, match="before queries are registered"):
        engine.static.schemas.add(None, QUADS)


def test_a_schema_of_which_too_much_follows_is_refused_at_registration(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("headrace.reasoning.effects._MOST", 3)
    engine = Engine(schema=QUADS)
    engine.stream("s")
    with pytest.raises(SettingError, match="ask for classes and properties by name"):
        engine.register(asked("?x a ?y"))
    assert not engine.queries
    engine.register(asked("?x a <x:Animal>"))


def test_queries_of_one_shape_are_one_under_a_schema_too() -> None:
    chain = "".join(f"<x:C{at}> rdfs:subClassOf <x:C{at + 1}> ." for at in range(40))
    head = "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> ."
    engine = Engine(schema=read(f"{head} {chain}", Format.TURTLE))
    stream = engine.stream("s")
    pattern = "?x a <x:C{at}> . ?x <x:seen> ?y"
    queries = [engine.register(asked(pattern.replace("{at}", str(at)))) for at in range(41)]
    for at in range(0, 40, 5):
        text = f"<x:n{at}> a <x:C{at}> ; <x:seen> {at} ."
        stream.push(text, at=1_000, syntax="text/turtle")
    engine.finish()
    assert max(map(len, engine.shared)) == 41
    for at, query in enumerate(queries):
        expected = sorted(f"x:n{lower}" for lower in range(0, 40, 5) if lower <= at)
        assert names(query) == [expected]


@pytest.mark.parametrize("named", ["rdf:Property", "rdfs:Resource"])
@pytest.mark.parametrize("any_class", ["?x a ?class", "?x ?p ?y"])
def test_that_everything_is_a_resource_is_seen_by_who_asks_only(named: str, any_class: str) -> None:
    prefixes = """PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
        PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>"""
    resources, others = f"{prefixes} {asked(f'?x a {named}')}", asked(any_class)
    for one, other in ((resources, others), (others, resources)):
        engine = Engine(schema=QUADS)
        engine.stream("s")
        engine.register(asked("?x a <x:Being>"))
        first = engine.register(one)
        with pytest.raises(SettingError, match="names rdfs:Resource or rdf:Property"):
            engine.register(other)
        first.remove()
        engine.register(other)


def test_resources_and_properties_are_the_same_with_either_query() -> None:
    both = asked("?x a <http://www.w3.org/2000/01/rdf-schema#Resource>")
    other = asked("?x a <http://www.w3.org/1999/02/22-rdf-syntax-ns#Property>")
    found = []
    for queries in ([both], [both, other]):
        engine = Engine(schema=QUADS)
        stream = engine.stream("s")
        query = engine.register(queries[0])
        for each in queries[1:]:
            engine.register(each)
        stream.push("<x:ann> <x:feeds> <x:kit> .", at=1_000)
        engine.finish()
        found.append(names(query))
    assert found[0] == found[1]
    assert "x:feeds" in found[0][0]


def test_answers_are_equal_on_every_runner(tmp_path: Path) -> None:
    lines = [f"{at * 1000}\t<x:ann> <x:feeds> <x:n{at % 5}> .\n" for at in range(1, 21)]
    (tmp_path / "s.tnq").write_text("".join(lines))
    every = [f"x:n{at}" for at in range(5)]
    for runner, partitions in ((None, 1), ("inline", 1), ("inline", 2)):
        engine = Engine(schema=QUADS)
        engine.static.load_text("<x:bob> <x:feeds> <x:n7> . <x:n3> a <x:Cat> .")
        engine.stream("s", source=str(tmp_path / "s.tnq"))
        liked = engine.register(asked("<x:ann> <x:likes> ?x . ?x a <x:Being>"), name="liked")
        cats = engine.register(asked("?x a <x:Being> . ?x a <x:Cat>"), name="cats")
        engine.run(once=True, runner=runner, partitions=partitions)
        assert names(liked) == [every, every]
        assert names(cats) == [["x:n3"], ["x:n3"]]


def test_a_store_remembers_what_follows_until_its_data_change() -> None:
    store = Store(schema=QUADS)
    text = "SELECT ?x { ?x a <x:Being> }"
    store.load_text("<x:tom> a <x:Cat> .")
    assert len(store.query(text).rows) == 1  # type: ignore[union-attr]  # it is a SELECT
    assert store.query(text) == store.query(text)
    store.load_text("<x:kit> a <x:Cat> .")
    assert len(store.query(text).rows) == 2  # type: ignore[union-attr]  # it is a SELECT
