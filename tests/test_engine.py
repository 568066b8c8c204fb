"""The engine as its users meet it."""

from __future__ import annotations

import asyncio
import time as clocks
from datetime import UTC, datetime
from pathlib import Path

import pytest

from headrace import DataError, Engine, Evaluation, QueryError, SettingError, UnsupportedError
from headrace.functions.table import Functions
from headrace.rdf.terms import BlankNode, Iri, Literal, Quad, Term
from headrace.results.table import Table
from headrace.testing import play

COUNT = "SELECT (COUNT(*) AS ?n) FROM STREAM <s> [RANGE 10s STEP 5s] { ?a ?b ?c }"
NODES = "SELECT ?a FROM STREAM <s> [RANGE 10s STEP 10s] { ?a ?b ?c }"


def numbers(found: list[Evaluation]) -> list[tuple[int, list[str]]]:
    """Seconds, and the first column."""
    return [(each.at // 1_000_000, [lexical(row[0]) for row in each.rows]) for each in found]


def lexical(term: Term | None) -> str:
    return term.lexical if isinstance(term, Literal) else str(term)


def pushed(engine: Engine, text: str, *times: float) -> list[Evaluation]:
    stream, query = engine.stream("s"), engine.register(text)
    for time in times:
        stream.push(f"<x:{time}> <x:p> <x:o> .", at=time)
    engine.finish()
    return list(query.results())


def test_results_are_taken_once() -> None:
    engine = Engine()
    stream, query = engine.stream("s"), engine.register(COUNT)
    stream.push("<x:a> <x:p> <x:o> .", at=1000)
    stream.push("<x:b> <x:p> <x:o> .", at=6000)
    engine.step()
    assert numbers(list(query.results())) == [(5, ["1"])]
    assert list(query.results()) == []
    engine.finish()
    assert numbers(list(query.results())) == [(10, ["2"]), (15, ["1"])]


def test_times_are_milliseconds_iso_8601_or_datetimes() -> None:
    engine = Engine()
    stream, query = engine.stream("s"), engine.register(COUNT)
    stream.push("<x:a> <x:p> <x:o> .", at=1000)
    stream.push("<x:b> <x:p> <x:o> .", at="1970-01-01T00:00:01.5Z")
    stream.push("<x:c> <x:p> <x:o> .", at=datetime(1970, 1, 1, 0, 0, 2, tzinfo=UTC))
    stream.push("<x:d> <x:p> <x:o> .", at=2000.5)
    with pytest.raises(DataError, match="expected a time"):
        stream.push("<x:a> <x:p> <x:o> .", at="soon")
    engine.finish()
    assert numbers(list(query.results()))[0] == (5, ["4"])
    with pytest.raises(SettingError, match="has ended"):
        stream.push("<x:a> <x:p> <x:o> .", at=9000)


def test_an_element_is_text_of_any_format_or_statements() -> None:
    engine = Engine()
    stream, query = engine.stream("s"), engine.register(COUNT)
    stream.push("@prefix : <x:> . :a :p :o, :u .", at=1000, syntax="text/turtle")
    stream.push(Quad(Iri("x:b"), Iri("x:p"), Iri("x:o")), at=1000)
    stream.push([Quad(Iri("x:c"), Iri("x:p"), Iri("x:o"))], at=1000)
    with pytest.raises(DataError):
        stream.push("nonsense", at=1000)
    with pytest.raises(DataError, match="there is no statement in it"):
        stream.push("", at=1000)
    engine.finish()
    assert numbers(list(query.results()))[0] == (5, ["4"])


def test_blank_nodes_belong_to_their_element() -> None:
    engine = Engine()
    stream, query = engine.stream("s"), engine.register(NODES)
    for _ in range(2):
        stream.push(Quad(BlankNode("b"), Iri("x:p"), Iri("x:o")), at=1000)
        stream.push("_:b <x:p> <x:o> .", at=1000)
    engine.finish()
    [found] = query.results()
    assert len(set(found.rows)) == 4


def test_callbacks_get_evaluations_as_they_come() -> None:
    engine = Engine()
    stream, found = engine.stream("s"), list[Evaluation]()
    query = engine.register(COUNT).on_result(found.append)
    stream.push("<x:a> <x:p> <x:o> .", at=1000)
    stream.heartbeat(at=7000)
    engine.step()
    assert numbers(found) == [(5, ["1"])]
    assert list(query.results()) == []


def test_answers_can_be_followed_with_asyncio() -> None:
    async def both() -> list[Evaluation]:
        engine = Engine()
        stream, query = engine.stream("s"), engine.register(COUNT)

        async def send() -> None:
            for second in (1, 6, 12):
                await stream.send(f"<x:{second}> <x:p> <x:o> .", at=second * 1000)
            engine.finish()

        async def follow() -> list[Evaluation]:
            return [each async for each in query]

        return (await asyncio.gather(send(), follow()))[1]

    assert [at for at, _ in numbers(asyncio.run(both()))] == [5, 10, 15, 20]


def test_answers_are_data_frames_too() -> None:
    [first, *_] = pushed(Engine(), COUNT, 1000)
    assert first.to_polars()["n"].to_list() == [1]
    assert first.to_pandas()["n"].tolist() == [1]
    assert first.to_arrow().column("n").to_pylist() == [1]
    assert first.time == datetime(1970, 1, 1, 0, 0, 5, tzinfo=UTC)
    assert first.bindings() == [{"n": Literal("1", "http://www.w3.org/2001/XMLSchema#integer")}]


# -- what is refused --------------------------------------------------------------------------


def test_a_stream_that_nobody_has_declared_is_named_with_what_is_near() -> None:
    engine = Engine()
    engine.stream("http://ex/streams")
    engine.register("SELECT * FROM STREAM <http://ex/stream> [RANGE 1s STEP 1s] { ?a ?b ?c }")
    with pytest.raises(SettingError, match="did you mean <http://ex/streams>"):
        engine.start()


def test_a_stream_that_nobody_has_declared_is_told_with_what_to_do() -> None:
    engine = Engine()
    cars = engine.stream("cars")
    engine.register("SELECT * FROM STREAM <other:one> [RANGE 1s STEP 1s] { ?a ?b ?c }")
    with pytest.raises(
        SettingError, match=r"declared are <cars>; say what it is with .*Engine\.stre"
    ):
        cars.push("<x:a> <x:b> <x:c> .", at=1)


@pytest.mark.parametrize("name", ["", "not an iri <", "x:\n", "<>"])
def test_what_is_no_iri_is_no_name_of_a_stream(name: str) -> None:
    with pytest.raises(SettingError, match="expected the IRI of a stream"):
        Engine().stream(name)


def test_a_wrong_query_is_refused_when_it_is_registered_and_leaves_nothing_behind() -> None:
    engine = Engine()
    with pytest.raises(QueryError):
        engine.register("SELECT ?x FROM STREEM <s> [RANGE 1s STEP 1s] { ?x ?p ?o }")
    with pytest.raises(UnsupportedError, match="x:twice") as raised:
        engine.register(
            "SELECT ?x FROM STREAM <s> [RANGE 1s STEP 1s] { ?x ?p ?o FILTER(<x:twice>(?o) > 1) }"
        )
    assert raised.value.column is not None
    with pytest.raises(UnsupportedError, match="reads no stream"):
        engine.register("SELECT * { ?a ?b ?c }")
    assert engine.queries == {}


def test_two_queries_of_one_name_are_refused() -> None:
    engine = Engine()
    engine.register(COUNT, name="n")
    with pytest.raises(SettingError, match="'n' already"):
        engine.register(NODES, name="n")


def test_a_circle_of_queries_is_refused_and_shown() -> None:
    engine = Engine()
    text = (
        "REGISTER STREAM <{}> AS CONSTRUCT {{ ?a ?b ?c }}"
        " FROM STREAM <{}> [RANGE 1s STEP 1s] WHERE {{ ?a ?b ?c }}"
    )
    engine.register(text.format("a", "b"))
    with pytest.raises(QueryError, match="circle: "):
        engine.register(text.format("b", "a"))
    assert list(engine.queries) == ["a"]


# -- several queries --------------------------------------------------------------------------


def test_a_query_that_fails_stops_alone_and_says_so_where_it_was() -> None:
    product = "SELECT * FROM STREAM <s> [RANGE 10s STEP 10s] { ?a ?b ?c . ?d ?e ?f }"
    for step in (True, False):
        engine = Engine(max_rows=10)
        stream = engine.stream("s")
        failing, other = engine.register(product, name="f"), engine.register(COUNT, name="o")
        for time in (1000, 2000, 11000, 12000, 13000, 14000, 25000):
            stream.push(f"<x:{time}> <x:p> <x:o> .", at=time)
            if step:
                engine.step()
        engine.finish()
        found = list(failing.results())
        assert [(each.at // 1_000_000, len(each.rows)) for each in found] == [(10, 4), (20, 0)]
        assert found[1].error is not None
        assert "would make 16 rows" in found[1].error
        assert failing.error == found[1].error
        assert [at for at, _ in numbers(list(other.results()))] == [5, 10, 15, 20, 25, 30]


def test_a_query_that_is_registered_later_sees_what_comes_from_then_on() -> None:
    engine = Engine()
    stream, first = engine.stream("s"), engine.register(COUNT, name="first")
    stream.push("<x:a> <x:p> <x:o> .", at=1000)
    engine.step()
    second = engine.register(COUNT, name="second")
    stream.push("<x:b> <x:p> <x:o> .", at=2000)
    engine.finish()
    assert numbers(list(first.results()))[0] == (5, ["2"])
    assert numbers(list(second.results()))[0] == (5, ["1"])


def test_functions_of_ones_own_are_called_by_iri() -> None:
    def twice(term: Term) -> Term:
        assert isinstance(term, Literal)
        return Literal(term.lexical * 2)

    engine = Engine(functions=Functions().with_function("x:twice", twice, arity=1))
    text = 'SELECT (<x:twice>("ab") AS ?x) FROM STREAM <s> [RANGE 10s STEP 10s] { ?a ?b ?c }'
    [found] = pushed(engine, text, 1000)
    assert found.rows == ((Literal("abab"),),)


def test_what_a_stream_is_called_is_said_once() -> None:
    makes = (
        "REGISTER STREAM <o> AS CONSTRUCT { ?a ?b ?c }"
        " FROM STREAM <s> [RANGE 1s STEP 1s] WHERE { ?a ?b ?c }"
    )
    engine = Engine()
    engine.stream("o")
    with pytest.raises(SettingError, match="declared as a stream of its own already"):
        engine.register(makes)
    engine = Engine()
    engine.register(makes, name="first")
    with pytest.raises(SettingError, match="declared by 'first' already"):
        engine.register(makes, name="second")
    with pytest.raises(SettingError, match="what a query makes"):
        engine.stream("o")


def test_queries_that_want_a_stream_in_different_ways_are_refused() -> None:
    engine = Engine()
    engine.stream("s")
    engine.register(COUNT, name="a")
    engine.register(NODES, name="b", settings={"blank_nodes": "stream"})
    with pytest.raises(SettingError, match="'a' and 'b' read <s> and differ in 'blank_nodes'"):
        engine.start()


def test_a_delay_of_no_stream_is_refused_and_one_of_the_run_goes_first() -> None:
    engine = Engine(settings={"delay.typo": "5s"})
    engine.stream("s")
    engine.register(COUNT)
    with pytest.raises(SettingError, match=r"delay\.typo"):
        engine.start()
    engine = Engine(settings={"delay": "0s"})
    stream, query = engine.stream("s", delay="1h"), engine.register(COUNT)
    stream.push("<x:a> <x:p> <x:o> .", at=1000)
    stream.heartbeat(at=6000)
    engine.step()
    assert len(list(query.results())) == 1


def test_those_that_read_a_query_that_stopped_go_on() -> None:
    engine = Engine(max_rows=10)
    stream = engine.stream("s")
    engine.register(
        "REGISTER STREAM <bad> AS CONSTRUCT { ?a ?b ?f } FROM STREAM <s> [RANGE 10s STEP 10s]"
        " WHERE { ?a ?b ?c . ?d ?e ?f }"
    )
    reader = engine.register(
        "REGISTER QUERY n AS SELECT (COUNT(*) AS ?n) FROM STREAM <bad> [RANGE 10s STEP 10s]"
        " FROM STREAM <s> [RANGE 10s STEP 10s] WHERE { ?a ?b ?c }"
    )
    for second in range(1, 60, 2):
        stream.push(f"<x:{second}> <x:p> <x:o> .", at=second * 1000)
        engine.step()
    assert engine.queries["bad"].error is not None
    assert [at for at, _ in numbers(list(reader.results()))] == [10, 20, 30, 40, 50]


def test_terms_of_late_elements_outlive_their_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headrace.kernel.step._FORGET_FROM", 5)
    engine = Engine()
    stream, _ = engine.stream("s"), engine.register(COUNT)
    for number in range(60):
        late = 20_000 if number % 7 == 6 else 0
        stream.push(f"<x:{number}> <x:p> <x:o{number}> .", at=number * 1000 - late)
        engine.step()
    assert len(engine.late) == 8


@pytest.mark.parametrize("runner", [None, "inline"])
def test_static_data_that_a_callback_adds_keep_their_terms(
    runner: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headrace.kernel.step._FORGET_FROM", 5)
    source = tmp_path / "a.tnq"
    names = (f"{number}00\t<x:u{number % 3}> <x:p> <x:o{number}> .\n" for number in range(50))
    source.write_text("".join(names))
    engine = Engine()
    stream = engine.stream("s", source=str(source))
    query = engine.register(
        "SELECT DISTINCT ?n FROM STREAM <s> [RANGE 1s STEP 1s] { ?s <x:p> ?o . ?s <x:name> ?n }"
    )
    name = Quad(Iri("x:u1"), Iri("x:name"), Literal("Ann"))
    found: list[int] = []

    def take(evaluation: Evaluation) -> None:
        found.append(len(evaluation.rows))
        engine.static.add([name])

    query.on_result(take)
    if runner is None:
        for line in source.read_text().splitlines():
            stream.feed_timed(line)
            engine.step()
        engine.finish()
    else:
        monkeypatch.setattr("headrace.pipeline.cutting.PIECE", 30)
        engine.run(once=True, runner=runner)
    assert query.error is None
    assert found[0] == 0
    assert found[-1] == 1
    table = engine.static.query("SELECT * { ?s ?p ?o }")
    assert isinstance(table, Table)
    assert table.rows == ((name.subject, name.predicate, name.object),)


# -- live runs --------------------------------------------------------------------------------


class Clock:
    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        return self.now


def test_a_silent_stream_holds_back_only_until_it_is_idle() -> None:
    clock = Clock()
    engine = Engine(live=True, clock=clock)
    busy, silent = engine.stream("s"), engine.stream("t", idle="30s")
    text = (
        "SELECT (COUNT(*) AS ?n) FROM STREAM <s> [RANGE 10s STEP 10s]"
        " FROM STREAM <t> [RANGE 10s STEP 10s] { ?a ?b ?c }"
    )
    query = engine.register(text)
    engine.start()
    busy.push("<x:a> <x:p> <x:o> .", at=1000)
    busy.push("<x:b> <x:p> <x:o> .", at=11_000)
    engine.step()
    assert list(query.results()) == []
    clock.now = 31_000_000
    engine.step()
    assert numbers(list(query.results())) == [(10, ["1"])]
    silent.push("<x:c> <x:p> <x:o> .", at=5000)
    busy.push("<x:d> <x:p> <x:o> .", at=21_000)
    engine.step()
    assert engine.counters["t"].late == 1


def test_an_idle_time_out_needs_a_clock() -> None:
    with pytest.raises(SettingError, match="live"):
        Engine().stream("s", idle="5s")


def test_in_a_live_run_the_clock_says_what_is_too_far_ahead() -> None:
    clock = Clock()
    engine = Engine(live=True, clock=clock, settings={"max_ahead": "1h"})
    stream, _ = engine.stream("s"), engine.register(COUNT)
    stream.push("<x:a> <x:p> <x:o> .", at=3_600_001)
    stream.push("<x:b> <x:p> <x:o> .", at=3_600_000)
    stream.push("<x:c> <x:p> <x:o> .")
    assert [each.reason for each in engine.rejected] == [
        "its time 1970-01-01T01:00:00.001Z is more than max_ahead = 1h ahead of the clock; "
        "if that is right, set a longer max_ahead"
    ]
    assert engine.counters["s"].elements == 3


# -- files ------------------------------------------------------------------------------------


def test_a_run_reads_the_files_of_its_streams(tmp_path: Path) -> None:
    (tmp_path / "1.tnq").write_text("1000\t<x:a> <x:p> <x:o> .\n")
    (tmp_path / "2.tnq").write_text("6000\t<x:b> <x:p> <x:o> .\n")
    (tmp_path / "notes.txt").write_text("not RDF")
    for source in (str(tmp_path), f"{tmp_path}/*.tnq"):
        engine = Engine()
        engine.stream("s", source=source)
        query = engine.register(COUNT)
        seen = list[str]()
        engine.run(once=True, progress=seen.append)
        assert numbers(list(query.results())) == [(5, ["1"]), (10, ["2"]), (15, ["1"])]
        assert seen[-1] == "2 elements"


def test_graphs_say_when_they_happened(tmp_path: Path) -> None:
    prov = "@prefix prov: <http://www.w3.org/ns/prov#> . @prefix : <x:> ."
    at = '"1970-01-01T00:00:0{}Z"'
    (tmp_path / "a.trig").write_text(
        f"{prov} :g prov:generatedAtTime {at.format(1)} . :g {{ :a :p :o }}"
        f" :h {{ :b :p :o . :h prov:generatedAtTime {at.format(6)} }} :i {{ :c :p :o }}"
    )
    (tmp_path / "b.ttl").write_text(f"{prov} :d :p :o ; prov:generatedAtTime {at.format(7)} .")
    engine = Engine()
    engine.stream("s", source=str(tmp_path))
    text = (
        "SELECT ?x FROM NAMED WINDOW <w> ON <s> [RANGE 5s STEP 5s]"
        " { WINDOW <w> { { ?x <x:p> ?o } UNION { GRAPH ?g { ?x <x:p> ?o } } } }"
    )
    query = engine.register(text)
    engine.run(once=True)
    [problem] = engine.rejected
    assert "in an element, found none; it begins with <x:c>" in problem.reason
    assert engine.counters["s"].rejected == 1
    assert numbers(list(query.results())) == [(5, ["<x:a>"]), (10, ["<x:b>", "<x:d>"])]


def test_a_source_that_is_not_there_is_named() -> None:
    engine = Engine()
    engine.stream("s", source="/nowhere/*.tnq")
    engine.register(COUNT)
    with pytest.raises(SettingError, match="/nowhere"):
        engine.run(once=True)
    with pytest.raises(SettingError, match="needs a runner"):
        engine.run(once=False)


def test_several_sources_are_one_stream(tmp_path: Path) -> None:
    for name, time in (("a", 1000), ("b", 2000)):
        (tmp_path / f"{name}.tnq").write_text(f"{time}\t<x:{name}> <x:p> <x:o> .\noops\n")
    engine = Engine()
    engine.stream("s", source=[str(tmp_path / "a.tnq"), str(tmp_path / "b.tnq")])
    query = engine.register(COUNT)
    engine.run(once=True)
    assert numbers(list(query.results()))[0] == (5, ["2"])
    places = [each.reason.split(": ")[0].rpartition("/")[2] for each in engine.rejected]
    assert places == ["a.tnq:2:1", "b.tnq:2:1"]


def test_what_is_about_no_graph_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "a.trig"
    path.write_text(
        "<x:g> <http://www.w3.org/ns/prov#generatedAtTime> '1970-01-01T00:00:01Z' . "
        "<x:g> { <x:a> <x:p> <x:o> } <x:lost> <x:p> <x:o> ."
    )
    engine = Engine()
    engine.stream("s", source=str(path))
    engine.register(COUNT)
    engine.run(once=True)
    assert "1 statements of the default graph" in engine.rejected[0].reason


def test_what_looks_like_chance_does_not_depend_on_the_cut() -> None:
    stream = (
        "1000\t<x:a> <x:p> <x:b> .\n7000\t<x:a> <x:p> <x:b> .\n"
        "8000\t<x:b> <x:q> <x:c> <x:g> .\n12000\t<x:a> <x:p> <x:b> .\n"
    )
    text = (
        "SELECT ?a ?x ?r ?u (BNODE() AS ?n) FROM STREAM <s> [RANGE 5s STEP 5s] { ?a <x:p> ?b"
        " OPTIONAL { GRAPH <x:g> { ?b <x:q> ?x } } BIND(RAND() AS ?r) BIND(UUID() AS ?u) }"
    )
    whole = play([text], {"s": stream})
    assert whole.evaluations == play([text], {"s": stream}, batches=1).evaluations
    assert len({row[2] for each in whole.evaluations for row in each.rows}) == 3


def test_pushes_are_not_late_after_a_clock_has_gone_back() -> None:
    now = 0
    engine = Engine(live=True, clock=lambda: now)
    stream, query = engine.stream("s"), engine.register(COUNT)
    for now in (7_000_000, 11_000_000, 3_000_000, 12_000_000, 16_000_000):
        stream.push(f"<x:{now}> <x:p> <x:o> .")
        engine.step()
    assert engine.late == []
    assert numbers(list(query.results())) == [(10, ["1"]), (15, ["4"])]


DAY = 86_400_000_000


@pytest.mark.parametrize("jump", [DAY, -DAY])
def test_a_clock_that_jumps_changes_no_answer_of_event_time(
    jump: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock of the machine is set while the run goes on, and set right again."""
    real, off = clocks.time_ns, 0
    monkeypatch.setattr(clocks, "time_ns", lambda: real() + 1_000 * off)
    start = real() // 1_000_000_000 * 1_000
    answers: list[tuple[int, list[str]]] = []
    engine = Engine(live=True)
    stream, other = engine.stream("s", idle="1h"), engine.stream("t", idle="1h")
    query = engine.register(
        "SELECT ?x ?y FROM NAMED WINDOW <w> ON <s> [RANGE 1s STEP 1s] "
        "FROM NAMED WINDOW <v> ON <t> [RANGE 1s STEP 1s] "
        "WHERE { WINDOW <w> { ?x <x:p> ?o } WINDOW <v> { ?y <x:p> ?o } }",
        settings={"t0": str(start)},
    )
    query.on_result(lambda each: answers.append((each.at, [str(row) for row in each.rows])))
    for second in range(30):
        off = jump if 10 <= second < 20 else 0
        stream.push(f"<x:{second}> <x:p> <x:o> .", at=start + 1000 * second + 1500)
        engine.step()  # it is a second ahead of the other one, which is not idle
        other.push(f"<y:{second}> <x:p> <x:o> .", at=start + 1000 * second + 500)
        engine.step()
    assert not engine.late
    assert not engine.rejected
    assert [at for at, _ in answers] == [1_000 * (start + 1000 * each) for each in range(1, 30)]
    assert [len(rows) for _, rows in answers] == [0, *(28 * [1])]
