"""Streams in every format: what is an element, when it happened, and whose its blank nodes are."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.errors import DataError, InternalError
from headrace.rdf import joined
from headrace.rdf.canonical import read_term
from headrace.rdf.columns import TimedColumns, read_timed_columns
from headrace.rdf.formats import Format
from headrace.rdf.options import DEFAULT_OPTIONS, Limits, ReadOptions, StarMode
from headrace.rdf.reading import read
from headrace.rdf.streams import Message, read_messages, read_stream
from headrace.rdf.terms import Iri
from headrace.rdf.timestamps import SAID_TIME, SOURCE_TIME, TimeRule
from headrace.results.evaluations import Evaluation
from headrace.results.ndjson import ndjson_lines
from tests.rdf.test_rdf_columns import lines, mostly, texts

AT = "<http://www.w3.org/ns/prov#generatedAtTime>"
S = "<x:a> <x:b> <x:c> ."
MIXED = ReadOptions(limits=Limits(size=200, literal=6, quoted=1, nested=4))
NEVER = 10**12


@pytest.fixture(scope="module", params=[0, NEVER], ids=["together", "one by one"], autouse=True)
def least(request: pytest.FixtureRequest) -> Iterator[None]:
    """Whether even the smallest texts are read together, or none are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(joined, "LEAST", request.param)
        yield


def said(found: TimedColumns) -> list[tuple[int, list[str]]]:
    """The elements of columns, each with its time and its statements."""
    text = dict(found.terms.iter_rows())
    elements = [(time, list[str]()) for time, _ in found.elements.iter_rows()]
    for position, time, graph, *triple in found.statements.iter_rows():
        assert elements[position][0] == time
        terms = [text[each] for each in (*triple, graph) if each is not None]
        elements[position][1].append(" ".join(terms))
    assert [len(each) for _, each in elements] == found.elements["size"].to_list()
    for each in text.values():
        read_term(each)
    return elements


def ndjson(*objects: object) -> bytes:
    return "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in objects).encode()


def told(data: bytes, form: Format = Format.NDJSON) -> list[str]:
    """The problems of a stream of which nothing else is left."""
    problems = list[DataError]()
    found = read_stream(data, form, name="s", on_error=problems.append)
    assert not found.elements.height
    return list(map(str, problems))


# -- envelopes -----------------------------------------------------------------------------


def test_an_envelope_has_a_time_and_data_in_any_format() -> None:
    data = ndjson(
        {"time": 1.5, "data": f"{S}\n<x:a> <x:b> <x:d> <x:g> .\n"},
        {"time": "1970-01-01T00:00:00.002Z", "data": "<x:a> <x:b> 1 .", "type": "text/turtle"},
        {"time": 3, "data": '{"@id": "x:a", "x:b": "c"}', "type": "application/ld+json"},
        {"time": 4, "data": "<x:g> { <x:a> <x:b> <x:c> }", "type": "application/trig; a=b"},
        {"time": 5, "base64": b64encode(S.encode()).decode(), "type": "application/n-triples"},
        {"id": "7", "at": 1, "more": {}, "received": 5, "data": S, "time": 6},
    )
    assert said(read_stream(data, Format.NDJSON)) == [
        (1500, ["<x:a> <x:b> <x:c>", "<x:a> <x:b> <x:d> <x:g>"]),
        (2000, ['<x:a> <x:b> "1"^^<http://www.w3.org/2001/XMLSchema#integer>']),
        (3000, ['<x:a> <x:b> "c"']),
        (4000, ["<x:a> <x:b> <x:c> <x:g>"]),
        (5000, ["<x:a> <x:b> <x:c>"]),
        (6000, ["<x:a> <x:b> <x:c>"]),
    ]


@pytest.mark.parametrize(
    ("time", "expected"),
    [
        ("0", 0),
        ("-1.5", -1500),
        ("1700000000000.123", 1_700_000_000_000_123),
        ("9007199254740.993", 9_007_199_254_740_993),  # not a float
        ("1.5e3", 1_500_000),
        ("17E11", 1_700_000_000_000_000),
        ("1e-3", 1),
        ('"1500"', 1_500_000),
        ('"1970-01-01"', 0),
    ],
)
def test_times_are_exact(time: str, expected: int) -> None:
    found = read_stream(f'{{"time": {time}}}'.encode(), Format.NDJSON)
    assert said(found) == [(expected, [])]


@pytest.mark.parametrize(
    "time",
    [
        "1e400",
        "1e-400",
        "1e99999999999999999999",
        "NaN",
        "-Infinity",
        "true",
        "{}",
        '"now"',
        "1.0001",
        "0.0000001",
        "9223372036854776",
        "[1]",
        "9" * 5000,
        "9" * 5000 + "e1",
    ],
)
def test_what_is_no_time_is_refused(time: str) -> None:
    [problem] = told(f'{{"time": {time}, "data": "{S}"}}'.encode())
    assert problem.startswith("s:1")


def test_without_data_it_is_a_heartbeat_and_what_cannot_be_read_is_none() -> None:
    data = ndjson(
        {"time": 1},
        {"time": 2, "data": None},
        {"time": 3, "data": ""},
        {"time": 4, "data": "\ufeff# nothing\n\n"},
        {"time": 5, "data": "\ufeff"},
        {"time": 5.5, "type": "application/x-ndjson"},
        {"time": 6, "data": "bad"},
        {"time": 7, "data": f"bad\n{S}"},
    )
    problems = list[DataError]()
    found = read_stream(data, Format.NDJSON, name="s", on_error=problems.append)
    assert [time for time, quads in said(found) if not quads] == [
        1000,
        2000,
        3000,
        5000,
        5500,
    ]
    assert said(found)[5:] == [(7000, ["<x:a> <x:b> <x:c>"])]
    assert [str(each).split(": ")[:2] for each in problems] == [
        ["s:4", "in its data"],
        ["s:7", "in its data at 1:1"],
        ["s:8", "in its data at 1:1"],
    ]


def test_blank_nodes_are_those_of_the_byte_at_which_the_line_begins() -> None:
    envelope = {"time": 1, "data": "_:a <x:b> _:a ."}
    turtle = {"time": 2, "data": "_:a <x:\u00e9> [] .", "type": "text/turtle"}
    data = ndjson(envelope, turtle, envelope)
    second, third = data.index(b'{"time": 2'), data.rindex(b'{"time": 1')
    expected = [
        "_:f.7.10.a <x:b> _:f.7.10.a",
        f"_:f.7.{second + 10}.a <x:\u00e9> _:f.7.{second + 10}.genid-0",
        f"_:f.7.{third + 10}.a <x:b> _:f.7.{third + 10}.a",
    ]
    found = read_stream(data, Format.NDJSON, prefix="f.7", first_byte=10)
    assert [quads[0] for _, quads in said(found)] == expected
    found = read_stream(data.replace(b"\n", b"\r\n"), Format.NDJSON)
    assert said(found)[2][1] == [f"_:{third + 2}.a <x:b> _:{third + 2}.a"]
    found = read_stream(data, Format.NDJSON, prefix="f", per_stream=True)
    assert [quads[0] for _, quads in said(found)] == [
        "_:f.a <x:b> _:f.a",
        f"_:f.a <x:\u00e9> _:f-{second}.genid-0",
        "_:f.a <x:b> _:f.a",
    ]


def test_envelopes_may_hold_lines_with_times_of_their_own() -> None:
    line = "1\t_:a <x:b> <x:c> .\n"
    inner = ndjson({"time": 7, "data": "_:a <x:b> <x:d> ."}, {"time": 8})
    data = ndjson(
        {"received": 1, "type": "application/vnd.headrace.timed-n-quads", "data": line + line},
        {"received": 1, "type": "application/x-ndjson", "data": inner.decode()},
    )
    second = data.index(b"\n") + 1
    assert said(read_stream(data, Format.NDJSON)) == [
        (1000, ["_:0.0.a <x:b> <x:c>"]),
        (1000, [f"_:0.{len(line)}.a <x:b> <x:c>"]),
        (7000, [f"_:{second}.0.a <x:b> <x:d>"]),
        (8000, []),
    ]
    again = {"type": "application/x-ndjson", "data": data.decode()}
    problems = told(ndjson(again).splitlines()[0].replace(b"timed-n-quads", b"unknown"))
    assert "s:1: in its data at 1: expected the media type" in problems[0]
    assert "s:1: in its data at 2: in its data: expected RDF in an envelope" in problems[1]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("x", "s:1:1: expected JSON: expecting value"),
        ('{"time": 1', "s:1:11: expected JSON"),
        ("[]", "s:1:1: expected an object of JSON on a line"),
        ('{"time": 1} {"time": 2}', "s:1:12: expected one object of JSON on a line"),
        ("{}", "found nothing in it"),
        ('{"a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 6}', "found 'a', 'b', 'c', 'd', 'e', ..."),
        ('{"data": 1, "time": 1}', "s:1: expected a text as 'data'"),
        ('{"data": "", "base64": "", "time": 1}', "found both"),
        ('{"base64": "?", "time": 1}', "expected base64"),
        ('{"data": "", "type": "text/turle", "time": 1}', "did you mean 'text/turtle'?"),
        ('{"data": "", "type": 1.5, "time": 1}', "expected the media type"),
        ('{"data": "", "type": [], "time": 1}', "expected a media type as 'type'"),
        ('{"data": "\\ud800", "time": 1}', "in its data: expected a character"),
        ('{"data": "<r/>", "type": "application/rdf+xml", "time": 1}', "switched on"),
        ('{"data": null}', "expected 'time' or 'data', found neither"),
        ('{"data": "<x:a> <x:b> <x:c> ."}', "in its data: expected one event time"),
    ],
)
def test_a_bad_line_says_what_was_expected_and_leaves_the_others(line: str, problem: str) -> None:
    assert problem in told(line.encode())[0]
    good = ndjson({"time": 1, "data": S})
    problems = list[DataError]()
    data = good + line.encode() + b"\n" + good
    found = read_stream(data, Format.NDJSON, name="s", on_error=problems.append, first_line=5)
    assert len(said(found)) == 2
    assert [(each.name, each.line) for each in problems] == [("s", 6)]
    with pytest.raises(DataError) as raised:
        read_stream(data, Format.NDJSON, name="s", first_line=5)
    assert str(raised.value) == str(problems[0])


# -- JSON-LD -------------------------------------------------------------------------------


def test_json_ld_says_its_time_itself_or_beside_its_graph() -> None:
    context = {"@vocab": "x:", "at": {"@id": AT[1:-1]}}
    data = ndjson(
        {"@context": context, "@id": "x:a", "at": "1970-01-01T00:00:01Z"},
        {"@context": context, "time": 2000, "@graph": [{"@id": "x:a", "b": "c"}]},
        {"@context": context, "@graph": [{"@id": "x:a", "b": 1.5}], "time": 3000},
        {"@id": "x:a", "x:b": {"@id": "_:c"}, "time": 4000, AT[1:-1]: "4000"},
    )
    fourth = data.rindex(b"\n", 0, -1) + 1
    found = said(read_stream(data, Format.NDJSON))
    assert [(time, sorted(quads)) for time, quads in found] == [
        (1_000_000, [f'<x:a> {AT} "1970-01-01T00:00:01Z"']),
        (2_000_000, ['<x:a> <x:b> "c"']),
        (3_000_000, ['<x:a> <x:b> "1.5E0"^^<http://www.w3.org/2001/XMLSchema#double>']),
        (4_000_000, [f'<x:a> {AT} "4000"', f"<x:a> <x:b> _:{fourth}.c"]),
    ]


def test_problems_of_json_ld_are_where_they_are_in_the_line() -> None:
    line = b'{"time": 1, "@graph": [{"@id": "x:a", "x:b": {"@value": {}}}], "time": 2}'
    without = b'{"@graph": [{"@id": "x:a", "x:b": {"@value": {}}}]}'
    [problem] = told(b"\n" + line)
    [expected] = told(without, Format.JSON_LD)
    assert problem.startswith("s:2")
    assert problem.split(": ", 1)[1] == expected.split(": ", 1)[1]
    for spaced in (b'{"time":1,"@graph":[]}', b' { "@graph" : [ ] , "time" : 1 } '):
        [empty] = told(spaced)
        assert "there is no statement in it: JSON has statements only" in empty


# -- results of queries --------------------------------------------------------------------


def results() -> Iterator[str]:
    quads = "_:a <x:b> << <x:a> <x:b> _:a >> .\n_:a <x:b> \"a\\n\"@en .\n<x:a> <x:b> 'c' <x:g> .\n"
    found = tuple(read(quads.replace("'", '"'), Format.N_QUADS))
    for query, at, seq in (("q", 1_000_000, 0), ("q", 1_000_000, 1), ("r", 1_000_000, 1)):
        yield from ndjson_lines(Evaluation(query, at, seq, quads=found))
    yield from ndjson_lines(Evaluation("q", 1_500_500, 0))
    yield from ndjson_lines(Evaluation("q", 2_000_001, 0, quads=found[2:]))


def test_the_results_of_a_run_are_a_stream() -> None:
    written = list(results())
    starts = [0, *(sum(len(each) + 1 for each in written[:count]) for count in (3, 6))]
    found = said(read_stream("\n".join(written).encode(), Format.NDJSON))
    plain = '<x:a> <x:b> "c" <x:g>'
    for (time, quads), start in zip(found[:3], starts, strict=True):
        a = f"_:{start}.a"
        assert time == 1_000_000
        assert quads == [f"{a} <x:b> << <x:a> <x:b> {a} >>", f'{a} <x:b> "a\\n"@en', plain]
    assert found[3:] == [(1_500_500, []), (2_000_001, [plain])]


def test_bad_lines_do_not_part_results_but_anything_else_does() -> None:
    first, second, *_ = results()
    for between, elements in (
        ("bad", 1),
        ("", 1),
        ('{"time": 1}', 3),
        ('{"at": 1, "row": null}', 3),
        ('{"at": 1, "skipped": true}', 3),
    ):
        data = f"{first}\n{between}\n{second}\n".encode()
        found = read_stream(data, Format.NDJSON, on_error=lambda _: None)
        assert found.elements.height == elements, between


def test_quoted_triples_in_results_are_triple_terms_of_rdf12() -> None:
    options = ReadOptions(star=StarMode.RDF12)
    found = read_stream(next(results()).encode(), Format.NDJSON, options=options)
    assert said(found)[0][1] == ["_:0.a <x:b> << <x:a> <x:b> _:0.a >>"]


@pytest.mark.parametrize(
    ("members", "problem"),
    [
        ('"row": {"x": {"type": "uri", "value": "x:a"}}', "only what CONSTRUCT and DESCRIBE give"),
        ('"boolean": true', "found 'boolean'"),
        ('"error": "x"', "found the error of an evaluation"),
        ('"skipped": false', "found neither"),
        ('"windows": {}', "found neither"),
        ('"triple": [1, 2]', "a list of three terms"),
        ('"triple": [1, 2, 3]', "an object of JSON for a term"),
        ('"triple": [{}, {}, {}]', "a term of type"),
        ('"triple": [U, {"type": "uri", "value": 1}, U]', "expected a text as 'value'"),
        ('"triple": [U, {"type": "uri", "value": "a b"}, U]', "in its triple: "),
        ('"triple": [U, {"type": "uri", "value": "x:a> <x:b> <x:c> . #"}, U]', "in its triple: "),
        ('"triple": [{"type": "bnode", "value": "a <x:b> <x:c> . #"}, U, U]', "expected a label"),
        ('"triple": [U, U, {"type": "literal", "value": "", "xml:lang": "a b"}]', "a language"),
        ('"triple": [U, U, {"type": "literal", "value": "", "datatype": "t"}]', "in its triple: "),
        ('"triple": [U, U, {"type": "literal", "value": "", "its:dir": "ltr"}]', "base direction"),
        ('"triple": [U, U, {"type": "literal", "value": "\\ud800"}]', "the half of one"),
        ('"triple": [U, U, {"type": "triple", "value": []}]', "for a triple"),
        ('"triple": [{"type": "literal", "value": ""}, U, U]', "in its triple: "),
        ('"triple": [U, U, U], "graph": {"type": "literal", "value": ""}', "in its triple: "),
    ],
)
def test_results_that_are_no_triples_are_refused(members: str, problem: str) -> None:
    iri = '{"type": "uri", "value": "x:a"}'
    line = f'{{"query": "q", "at": 1, {members.replace("U", iri)}}}'
    [found] = told(b"\n\n" + line.encode())
    assert problem in found
    assert found.startswith("s:3: ")


def test_a_bad_triple_is_told_with_its_own_line() -> None:
    good, *_ = results()
    bad = good.replace("x:b", "b", 1)
    problems = list[DataError]()
    data = f"{good}\n{bad}\n{good}\n".encode()
    found = read_stream(data, Format.NDJSON, name="s", on_error=problems.append)
    assert found.elements["size"].to_list() == [2]
    assert [(each.name, each.line) for each in problems] == [("s", 2)]


# -- the time of what has no envelope ------------------------------------------------------

DOCUMENTS = {
    Format.N_TRIPLES: "<x:a> <x:b> _:c .\n<x:a> {at} {time} .\n",
    Format.N_QUADS: "<x:a> <x:b> _:c .\n<x:a> {at} {time} .\n",
    Format.TURTLE: "<x:a> <x:b> _:c ; {at} {time} .",
    Format.TRIG: "<x:a> <x:b> _:c ; {at} {time} .",
    Format.JSON_LD: '{{"@id": "x:a", "x:b": {{"@id": "_:c"}}, "{iri}": "5"}}',
}


@pytest.mark.parametrize("form", DOCUMENTS)
def test_documents_without_graphs_are_one_element(form: Format) -> None:
    iri = "http://www.w3.org/ns/sosa/resultTime"
    for predicate in (AT[1:-1], iri):
        text = DOCUMENTS[form].format(at=f"<{predicate}>", iri=predicate, time='"5"')
        rule = TimeRule(Iri(predicate))
        [(time, quads)] = said(read_stream(text.encode(), form, rule=rule, first_byte=7))
        assert time == 5000
        assert sorted(quads) == sorted(["<x:a> <x:b> _:7.c", f'<x:a> <{predicate}> "5"'])
        found = read_stream(text.encode(), form, rule=SOURCE_TIME, source_time=9)
        assert [time for time, _ in said(found)] == [9]
    with pytest.raises(DataError, match=r"s: expected one event time .*, found none"):
        read_stream(text.encode(), form, name="s")
    with pytest.raises(DataError, match="s: expected a time of the source"):
        read_stream(text.encode(), form, name="s", rule=SOURCE_TIME)


def test_each_named_graph_is_an_element_in_order_of_time() -> None:
    text = f"""
        <x:g> {AT} "3" . <x:g> <x:by> <x:me> .
        <x:g> {{ <x:a> <x:b> <x:c> }}
        <x:h> {{ <x:a> <x:b> <x:d> . <x:h> {AT} "2" . <x:other> {AT} "9" }}
        <x:i> {{ <x:a> <x:b> <x:e> }}
        <x:other> <x:b> <x:c> .
    """
    problems = list[DataError]()
    found = said(read_stream(text.encode(), Format.TRIG, name="s", on_error=problems.append))
    assert [(time, len(quads)) for time, quads in found] == [(2000, 3), (3000, 3)]
    assert "1 statements of the default graph are about none" in str(problems[0])
    assert "found none; it begins with <x:a>" in str(problems[1])
    by_source = read_stream(
        text.encode(), Format.TRIG, rule=SOURCE_TIME, source_time=4, on_error=problems.append
    )
    assert [(time, len(quads)) for time, quads in said(by_source)] == [(4, 3), (4, 3), (4, 1)]


def test_what_an_ingest_log_received_has_the_time_at_which_it_did() -> None:
    data = ndjson(
        {"received": 5, "data": S},
        {"received": "yesterday", "data": S},
        {"received": 10**30, "data": S},
        {"received": 6, "data": None},
        {"received": 7, "time": 1, "data": S},
    )
    found = read_stream(data, Format.NDJSON, rule=SOURCE_TIME, source_time=9)
    assert [time for time, _ in said(found)] == [5, 9, 9, 6, 1000]


def test_an_empty_message_is_a_heartbeat_if_the_source_has_a_time() -> None:
    def read_one(data: bytes, rule: TimeRule) -> TimedColumns:
        message = Message(data, Format.TURTLE, 9, "t/0@1", "0-1")
        return read_messages([message], rule=rule, on_error=problems.append)

    problems = list[DataError]()
    assert said(read_one(b"", SOURCE_TIME)) == [(9, [])]
    assert not problems
    for data, rule in ((b"", SAID_TIME), (b"# a", SAID_TIME), (b"# a", SOURCE_TIME)):
        found = read_one(data, rule)
        assert (said(found), found.unread) == ([], 1)
    assert [str(each).split(":")[0] for each in problems] == ["t/0@1"] * 3


@pytest.mark.parametrize("form", [Format.N_QUADS, Format.TURTLE, Format.TRIG, Format.JSON_LD])
@pytest.mark.parametrize("rule", [SAID_TIME, SOURCE_TIME])
def test_a_document_without_statements_is_unread(form: Format, rule: TimeRule) -> None:
    data = b"{}" if form is Format.JSON_LD else b"# a"
    for each, said_of_it in ((data, "there is no statement in it"), (b"", "it is empty")):
        problems = list[DataError]()
        found = read_stream(each, form, rule=rule, source_time=9, on_error=problems.append)
        assert (said(found), found.unread, len(problems)) == ([], 1, 1)
        assert said_of_it in problems[0].problem or form is Format.JSON_LD


def test_messages_are_lines_and_documents() -> None:
    at = "<http://www.w3.org/ns/prov#generatedAtTime>"
    two = f'<x:g> {at} "1" . <x:h> {at} "2" . <x:g> {{ {S} }} <x:h> {{ {S} }} <x:i> {{ {S} }}'
    data = ndjson(
        {"received": 1, "type": "application/trig", "data": two},
        {"time": 1, "data": S},
        {"received": 1, "type": "application/vnd.headrace.timed-n-quads", "data": f"1\t{S}\n2\n3"},
        {"time": 1, "type": "application/ld+json", "data": '{"a": 1}'},
        {"time": 3},
        {"a": 3},
    )
    problems = list[DataError]()
    found = read_stream(data, Format.NDJSON, on_error=problems.append)
    assert found.messages is not None
    assert found.messages.to_list() == [0, 0, 1, 2, 3, 4, 5]
    assert found.elements["size"].to_list() == [2, 2, 1, 1, 0, 0, 0]
    assert (found.unread, len(problems)) == (2, 3)


def test_timed_lines_are_read_as_columns() -> None:
    data = b"1\t_:a <x:b> <x:c> .\nbad\n2\n"
    told_here, told_there = list[DataError](), list[DataError]()
    found = read_stream(
        data, Format.TIMED_N_QUADS, seed=3, prefix="p", name="s", first_byte=5, first_line=7,
        on_error=told_here.append,
    )  # fmt: skip
    expected = read_timed_columns(
        data, seed=3, prefix="p", name="s", first_byte=5, first_line=7, on_error=told_there.append
    )
    assert said(found) == said(expected)
    assert list(map(str, told_here)) == list(map(str, told_there))


@pytest.mark.parametrize("form", [Format.NDJSON, Format.TIMED_N_QUADS])
def test_a_cut_between_elements_does_not_show(form: Format) -> None:
    first, second, *_ = results()
    some: dict[Format, list[bytes]] = {
        Format.TIMED_N_QUADS: [b"1\t_:a <x:b> _:c .\n", b"bad\n", b"2\t_:a <x:b> _:c _:g .\r\n"],
        Format.NDJSON: [
            ndjson({"time": 1, "data": "_:a <x:b> _:\u00e9 ."}),
            b"bad\r",
            ndjson({"time": 1, "data": "[] <x:b> [] .", "type": "text/turtle"}),
            f"{first}\r\n{second}\r\n".encode(),
        ],
    }
    elements = some[form] * 2
    problems = list[DataError]()
    whole = read_stream(b"".join(elements), form, name="s", on_error=problems.append)
    for count in range(len(elements) + 1):
        start, parts = b"".join(elements[:count]), list[tuple[int, list[str]]]()
        again = list[DataError]()
        line = len(start.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n"))
        rest = b"".join(elements[count:])
        parts += said(read_stream(start, form, name="s", on_error=again.append))
        parts += said(
            read_stream(
                rest, form, name="s", on_error=again.append, first_byte=len(start), first_line=line
            )
        )
        assert parts == said(whole)
        assert list(map(str, again)) == list(map(str, problems))


def test_statements_of_ndjson_without_its_times() -> None:
    first, *_ = results()
    objects = ndjson({"data": "_:a <x:b> [] .", "type": "text/turtle"}, {"time": 1})
    found = [str(quad.object) for quad in read(objects * 2 + first.encode(), Format.NDJSON)]
    assert found == [
        "_:0.genid-0",
        f"_:{len(objects)}.genid-0",
        "<< <x:a> <x:b> _:a >>",
    ]
    problems = list[DataError]()
    assert list(read("\ud800\n{}\n", Format.NDJSON, name="s", on_error=problems.append)) == []
    assert [each.line for each in problems] == [1, 2]


# -- messages ------------------------------------------------------------------------------


def message(data: bytes | str, form: Format = Format.N_QUADS, offset: int = 0) -> Message:
    raw = data.encode() if isinstance(data, str) else data
    return Message(raw, form, offset * 10, f"t/0@{offset}", f"0-{offset}")


def test_messages_are_elements_in_their_order() -> None:
    messages = [
        message("_:a <x:b> <x:c> .", offset=5),
        message("2\t_:a <x:b> <x:c> .\n1\t_:a <x:b> <x:c> .\n", Format.TIMED_N_QUADS, 6),
        message(ndjson({"time": 4, "data": "_:a <x:b> <x:c> ."}), Format.NDJSON, 7),
        message("[] <x:b> <x:c> .", Format.TURTLE, 8),
        message("<x:a> <x:b> <x:c> <x:g> .\n<x:a> <x:b> <x:c> <x:h> .", offset=9),
        message("", offset=10),
    ]
    expected = [
        (50, ["_:p.0-5.a <x:b> <x:c>"]),
        (2000, ["_:p.0-6.0.a <x:b> <x:c>"]),
        (1000, ["_:p.0-6.20.a <x:b> <x:c>"]),
        (4000, ["_:p.0-7.0.a <x:b> <x:c>"]),
        (80, ["_:p.0-8.genid-0 <x:b> <x:c>"]),
        (90, ["<x:a> <x:b> <x:c> <x:g>"]),
        (90, ["<x:a> <x:b> <x:c> <x:h>"]),
        (100, []),
    ]
    assert said(read_messages(messages, prefix="p", rule=SOURCE_TIME)) == expected


def test_problems_of_messages_have_their_places() -> None:
    messages = [
        message("bad", offset=1),
        message(f"{S}\n{S} {S}", offset=2),
        message("1\tbad", Format.TIMED_N_QUADS, 3),
        message('\n{"time": 1, "data": "\\nbad"}', Format.NDJSON, 4),
        message("<x:a> <x:b> [", Format.TURTLE, 5),
        message(b"\xff", offset=6),
    ]
    problems = list[DataError]()
    found = read_messages(messages, rule=SOURCE_TIME, on_error=problems.append)
    assert said(found) == [(20, ["<x:a> <x:b> <x:c>"])]
    assert [str(each).split(" ")[0] for each in problems] == [
        "t/0@1:1:1:",
        "t/0@2:2:21:",
        "t/0@3:1:3:",
        "t/0@4:2:",
        "t/0@5:1:14:",
        "t/0@6:1:1:",
    ]
    with pytest.raises(DataError) as raised:
        read_messages(messages, rule=SOURCE_TIME)
    assert str(raised.value) == str(problems[0])


def test_bytes_of_messages_are_counted_as_they_came() -> None:
    lines = "1\t_:a <x:b> <x:c> .\r\n2\t_:a <x:b> <x:c> .\r\n"
    found = said(read_messages([message(lines, Format.TIMED_N_QUADS, 1)]))
    assert [quads for _, quads in found] == [["_:0-1.0.a <x:b> <x:c>"], ["_:0-1.21.a <x:b> <x:c>"]]


def test_the_limit_on_size_is_for_a_document_but_for_a_line_of_timed_n_quads() -> None:
    options = ReadOptions(limits=Limits(size=30))
    timed = f"1\t{S}\n" * 3
    for form, text, elements in (
        (Format.N_QUADS, f"{S}\n" * 3, 0),
        (Format.N_QUADS, f"{S}\n", 1),
        (Format.TIMED_N_QUADS, timed, 3),
    ):
        problems = list[DataError]()
        found = read_messages(
            [message(text, form)], rule=SOURCE_TIME, options=options, on_error=problems.append
        )
        assert found.elements.height == elements
        assert len(problems) == (not elements)


def test_a_message_without_a_scope_is_our_mistake() -> None:
    for scope in ("", "a b"):
        with pytest.raises(InternalError, match="scope"):
            Message(b"", Format.N_QUADS, None, "t/0@1", scope)


GOOD = [
    "<x:a> <x:b> <x:c>",
    "_:a <x:b> _:b",
    "_:a <x:b> << _:b <x:b> _:c >>",
    '<x:a> <x:b> "\\t\u00e9"@EN-gb',
    "<x:g> <x:b> _:g",
    "<x:\u00e9> <x:b> _:0-0.a",
]
TIMES = ['"5"', '"1970-01-01T00:00:01Z"', '"6.5"^^<x:t>']
ODD_TIMES = ["<x:t>", '"now"', '"\\u0035"', '"5"@en', "_:a", '""']


@st.composite
def documents(draw: st.DrawFn) -> bytes:
    """N-Quads: mostly good ones of one graph that say their time, sometimes anything."""
    graph = draw(st.sampled_from(["", "", "<x:g> ", "_:g "]))
    subjects = st.sampled_from(["<x:g>", "_:g", "<x:a>"])
    written = [f"{each} {graph}." for each in draw(st.lists(st.sampled_from(GOOD), max_size=3))]
    for _ in range(draw(st.sampled_from([0, 1, 1, 1, 2]))):
        written.append(f"{draw(subjects)} {AT} {draw(mostly(TIMES, ODD_TIMES))} {graph}.")
    if draw(st.integers(0, 4)) == 0:
        written.append(draw(lines()).partition("\t")[2])
    if draw(st.integers(0, 4)) == 0:
        written.append(draw(st.sampled_from(GOOD)) + " <x:h> .")
    end = mostly(["\n"], ["\r\n", "\r", "\n\n", "\n# c\n", "\n \n"])
    text = "".join(line + draw(end) for line in draw(st.permutations(written)))
    mark, damage = (draw(mostly([""], [each], out_of=20)) for each in ("\ufeff", "\ud800"))
    return (mark + draw(st.sampled_from([text, text.strip()])) + damage).encode(
        errors="surrogatepass"
    )


@st.composite
def timed_texts(draw: st.DrawFn) -> bytes:
    """Timed N-Quads: mostly good ones, sometimes anything."""
    if draw(st.integers(0, 3)) == 0:
        return draw(texts())
    times, graphs = st.sampled_from(["1", "1", "2"]), st.sampled_from(["", "<x:g> ", "_:g "])
    statements = draw(st.lists(st.sampled_from(GOOD), max_size=4))
    written = [f"{draw(times)}\t{each} {draw(graphs)}." for each in statements]
    if draw(st.booleans()):
        written.insert(len(written) // 2, draw(st.sampled_from(["1", "", "# c", "2\t"])))
    return "\n".join(written).encode() + draw(st.sampled_from([b"", b"\n", b"\n\n"]))


@st.composite
def envelopes(draw: st.DrawFn) -> bytes:
    types = ["n-quads", "n-triples", "vnd.headrace.timed-n-quads", "trig"]
    kind = draw(st.sampled_from(types))
    data = draw(timed_texts() if "timed" in kind else documents())
    found: dict[str, object] = {"type": f"application/{kind}"}
    if draw(st.booleans()):
        found["time"] = draw(st.sampled_from([1, 1.5, 2, "1970-01-01", "x"]))
    return ndjson(found | {"base64": b64encode(data).decode()})


@st.composite
def broker_messages(draw: st.DrawFn) -> list[Message]:
    found = list[Message]()
    for offset in range(draw(st.integers(0, 6))):
        form = draw(st.sampled_from(list(CONTENTS)))
        time = draw(st.sampled_from([None, 10, 20]))
        found.append(Message(draw(CONTENTS[form]), form, time, f"t@{offset}", f"0-{offset}"))
    return found


CONTENTS = {
    Format.N_QUADS: documents(),
    Format.N_TRIPLES: documents(),
    Format.TIMED_N_QUADS: timed_texts(),
    Format.NDJSON: st.lists(envelopes(), max_size=3).map(b"".join),
    Format.TURTLE: documents(),
}


def everything(
    messages: list[Message], least: int, options: ReadOptions, rule: TimeRule, per_stream: bool
) -> list[object]:
    """All there is to compare, if texts of so many bytes are joined."""
    problems = list[DataError]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(joined, "LEAST", least)
        found = read_messages(
            messages,
            seed=7,
            prefix="p",
            per_stream=per_stream,
            rule=rule,
            options=options,
            on_error=problems.append,
        )
    assert found.statements.schema == pl.Schema(
        dict.fromkeys(("position", "time", "graph", "subject", "predicate", "object"), pl.Int64)
    )
    assert found.elements.schema == pl.Schema({"time": pl.Int64, "size": pl.Int64})
    assert found.terms.schema == pl.Schema({"id": pl.Int64, "text": pl.String})
    return [
        list(map(vars, problems)),
        said(found),
        found.statements.rows(),
        found.elements.rows(),
        sorted(found.terms.rows()),
    ]


OPTIONS = [DEFAULT_OPTIONS, DEFAULT_OPTIONS, ReadOptions(star=StarMode.RDF12), MIXED]


@settings(max_examples=200, deadline=None)
@given(
    broker_messages(),
    st.sampled_from(OPTIONS),
    st.sampled_from([SAID_TIME, SOURCE_TIME]),
    st.booleans(),
)
def test_messages_read_together_are_what_they_are_one_by_one(
    messages: list[Message], options: ReadOptions, rule: TimeRule, per_stream: bool
) -> None:
    together = everything(messages, 0, options, rule, per_stream)
    assert together == everything(messages, NEVER, options, rule, per_stream)


def test_plain_messages_are_not_read_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError("read one by one")

    monkeypatch.setattr(joined, "LEAST", 0)
    monkeypatch.setattr("headrace.rdf.streams._elements", never)
    stamped = f'<x:a> {AT} "1970-01-01T00:00:01Z" <x:g> .\r\n<x:a> <x:b> _:c <x:g> .\r\n'
    messages = [
        message(stamped, offset=1),
        message("2\t_:a <x:b> <x:c> .\n3\n", Format.TIMED_N_QUADS, 2),
        message(ndjson({"time": 4, "data": f"{S}\n\n{S}"}), Format.NDJSON, 3),
    ]
    found = said(read_messages(messages))
    assert [time for time, _ in found] == [1_000_000, 2000, 3000, 4000]
    triples = [message(S, Format.N_TRIPLES, offset) for offset in (1, 2)]
    assert said(read_messages(triples, rule=SOURCE_TIME)) == [
        (10, ["<x:a> <x:b> <x:c>"]),
        (20, ["<x:a> <x:b> <x:c>"]),
    ]
