"""A poison corpus: bad elements between good ones, in every format and as messages.

The good ones are read exactly, each bad one is told with its place and a reason, and the process
that reads them lives on: all of this runs in the process of the tests.
"""

from __future__ import annotations

import json
from base64 import b64encode
from dataclasses import dataclass

import pytest

from headrace.errors import DataError
from headrace.rdf import joined
from headrace.rdf.formats import Format
from headrace.rdf.streams import Message, read_messages, read_stream
from headrace.rdf.timestamps import SOURCE_TIME
from tests.rdf.test_rdf_streams import said

NT, NQ, TTL, TRIG, LD = (
    Format.N_TRIPLES,
    Format.N_QUADS,
    Format.TURTLE,
    Format.TRIG,
    Format.JSON_LD,
)
TNQ, NDJ = Format.TIMED_N_QUADS, Format.NDJSON
S = "<x:a> <x:b> "


@dataclass(frozen=True)
class Poison:
    """Something bad, of which nothing can be used.

    Attributes:
        kind: what is bad about it.
        form: what it claims to be.
        data: what it is.
        where: the line and the column of the problem in it, as far as there are any.
        reason: part of what is said about it.
    """

    kind: str
    form: Format
    data: bytes
    where: str
    reason: str

    def __str__(self) -> str:
        return f"{self.kind}, {self.form.value}, {self.data[:30]!r}"


def poison(kind: str, form: Format, data: str | bytes, where: str, reason: str) -> Poison:
    return Poison(kind, form, data.encode() if isinstance(data, str) else data, where, reason)


def nested(levels: int, inner: str) -> str:
    return "<< <x:a> <x:b> " * levels + inner + " >>" * levels


LONG = "c" * 1_000_001
DEEP = 100_000
HUGE = f"{S}<x:c> .\n".encode() * 10**6

CORPUS = [
    # bytes that are no text
    poison("cut UTF-8", NT, S.encode() + b'"\xc3" .', "1:14", "expected UTF-8"),
    poison("cut UTF-8", NQ, b"\xe2\x82", "1:1", "expected UTF-8"),
    poison("cut UTF-8", TTL, S.encode() + b'"\xf0\x9f\x98" .', "1:14", "0xF0"),
    poison("cut UTF-8", TNQ, b'1\t<x:a> <x:b> "\xc3" .', "1:16", "0xC3"),
    poison("cut UTF-8", NDJ, b'{"time": 1, "data": "\xc3"}', "1:22", "0xC3"),
    poison("no UTF-8", NT, b"\xff\xfe<\0x\0", "1:1", "0xFF"),
    poison("no UTF-8", LD, b'{"@id": "x:a", "x:b": "\x80"}', "1:24", "0x80"),
    poison("no UTF-8", TRIG, "<x:a> <x:b> <x:c> .".encode("utf-16"), "1:1", "0xFF"),
    # halves of characters
    poison("lone surrogate", NT, S.encode() + b'"\xed\xa0\x80" .', "1:14", "0xED"),
    poison("lone surrogate", NQ, f'{S}"\\uD800" .', "1:14", "the escape sequence"),
    poison("lone surrogate", NDJ, '{"time": 1, "data": "\\ud800"}', "1", "the half of one"),
    poison("lone surrogate", TTL, f'{S}"\\uDFFF" .', "1:14", "the escape sequence"),
    poison(
        "lone surrogate",
        LD,
        '{"@id": "x:a", "x:b": "\\ud800"}',
        "1:23",
        "expected the end of what starts here",
    ),
    # escapes
    poison("bad escape", NT, f'{S}"\\x" .', "1:14", "unexpected escape character"),
    poison("bad escape", NQ, f"{S}<x:\\u00zz> .", "1:20", "the escape sequence"),
    poison("bad escape", TNQ, f'1\t{S}"\\U00110000" .', "1:16", "the escape sequence"),
    poison("bad escape", TTL, f'{S}"\\q" .', "1:14", "unexpected escape character"),
    poison("bad escape", NDJ, '{"time": 1, "data": "\\x"}', "1:22", "expected JSON"),
    # sizes
    poison("huge literal", NT, f'{S}"{LONG}" .', "1", "at most 1,000,000 characters in a literal"),
    poison("huge literal", TTL, f'{S}"""{LONG}""" .', "", "at most 1,000,000 characters"),
    poison("huge literal", TNQ, f'1\t{S}"{LONG}" .', "1:3", "at most 1,000,000 characters"),
    poison("huge literal", LD, f'{{"@id": "x:a", "x:b": "{LONG}"}}', "", "at most 1,000,000"),
    poison("huge element", NT, HUGE, "", "at most 16,000,000 bytes"),
    poison("huge element", TTL, HUGE, "", "at most 16,000,000 bytes"),
    poison("huge element", TNQ, f"1\t{S}<x:{'c' * 16_000_000}> .", "1", "16,000,000 bytes"),
    poison("huge element", NDJ, b'{"data": "' + b"c" * 16_000_000 + b'"}', "1", "16,000,000 bytes"),
    # depths
    poison("deep quotes", NT, f"{S}{nested(17, '<x:c>')} .", "1:253", "16 levels of triples"),
    poison("deep quotes", NQ, S + "<< <x:a> <x:b> " * DEEP, "1:253", "16 levels of triples"),
    poison("deep quotes", NQ, S + "<<( <x:a> <x:b> " * DEEP, "1:13", "expected an object: an IRI"),
    poison("deep quotes", TNQ, f"1\t{S}{nested(DEEP, '<x:c>')} .", "1:255", "16 levels of triples"),
    poison("deep quotes", TTL, f"{S}{nested(DEEP, '<x:c>')} .", "1:253", "16 levels of triples"),
    poison("deep JSON", NDJ, '{"time": 1, "a": ' + "[" * DEEP, "1:81", "64 levels of JSON"),
    poison(
        "deep JSON", NDJ, '{"@id": "x:a", "x:b": ' + '{"a": ' * DEEP, "1:401", "64 levels of JSON"
    ),
    poison("deep JSON", LD, '[{"@graph": ' * DEEP, "1:385", "64 levels of JSON"),
    poison("deep nodes", TTL, S + "[ <x:b> " * DEEP + "1" + "]" * DEEP + ".", "1:525", "64 levels"),
    poison(
        "deep nodes", TRIG, f"<x:g> {{ {S}" + "[ <x:b> " * DEEP, "1:533", "64 levels of blank nodes"
    ),
    poison(
        "deep lists", TTL, S + "( " * DEEP + ")" * DEEP + ".", "1:141", "64 levels of blank nodes"
    ),
    # characters that mean nothing there
    poison("NUL", NT, f"{S}<x:\0> .", "1:13", "invalid IRI code point"),
    poison("NUL", TNQ, "1\t\0", "1:3", "is not allowed at the beginning"),
    poison("NUL", TTL, f"{S}\0 .", "1:13", "is not allowed at the beginning"),
    poison("NUL", NDJ, b'{"time": 1, "data": "\0"}', "1:22", "expected JSON"),
    poison("NUL", NDJ, b"\0\0\0\0", "1:1", "expected JSON"),
    poison(
        "byte order mark", NT, f"{S}\ufeff<x:c> .", "1:13", "the object of a triple must be an IRI"
    ),
    poison("byte order mark", TNQ, f"1\ufeff\t{S}<x:c> .", "1:1", "expected a time"),
    poison("byte order mark", NDJ, '{\ufeff"time": 1}', "1:2", "expected JSON"),
    poison("line ends", NT, f"{S}\r<x:c> .", "1:13", "expected the rest of a statement"),
    poison(
        "line ends", TNQ, "1\t<x:a>\u2028<x:b> <x:c> .", "1:8", "is not allowed at the beginning"
    ),
    poison("line ends", NDJ, '{"time":\r1}', "1:9", "expected JSON"),
    # times
    poison("no time", TNQ, f"later\t{S}<x:c> .", "1:1", "expected a time"),
    poison("no time", TNQ, f"{'9' * 30}\t{S}<x:c> .", "1:1", "expected a time"),
    poison("no time", TNQ, f"999999-01-01T00:00:00Z\t{S}<x:c> .", "1:1", "too far from 1970"),
    poison("no time", TNQ, f"2024-02-30\t{S}<x:c> .", "1:1", "there is no day"),
    poison("no time", NDJ, '{"time": 1e400, "data": ""}', "1", "expected a time"),
    poison("no time", NDJ, '{"time": 99999999999999999999, "data": ""}', "1", "in 'time': "),
    poison("no time", NDJ, '{"time": "tomorrow", "data": ""}', "1", "expected a time"),
    poison("no time", NDJ, '{"time": NaN}', "1", "expected JSON"),
    # what does not end
    poison("not ended", NT, f'{S}"c', "1:13", "expected the end of what starts here"),
    poison("not ended", NQ, f"{S}<x:c", "1:13", "expected the end of what starts here"),
    poison("not ended", TNQ, f"1\t{S}<x:c>", "1:20", "triples must be followed by a dot"),
    poison("not ended", TTL, f"{S}'''c", "1:13", "expected the end of what starts here"),
    poison("not ended", TTL, f"{S}[", "1:14", "expected the rest of a statement"),
    poison("not ended", TRIG, "<x:g> {", "1:7", "expected the end of what starts here"),
    poison("not ended", LD, '{"@id": "x:a"', "1:14", "object values must be followed by a comma"),
    poison("not ended", NDJ, '{"time": 1, "data": "', "1:21", "expected JSON"),
    poison("not ended", NQ, f"{S}<< <x:a> <x:b> <x:c> .", "1:34", "expected '>>'"),
    # what is something else
    poison("wrong type", NT, '{"@id": "x:a"}', "1:1", "the subject of a triple must be an IRI or"),
    poison("wrong type", NQ, "<?xml version='1.0'?>", "1:1", "invalid IRI code point"),
    poison("wrong type", TTL, b"\x1f\x8b\x08\0\0\0\0\0", "1:2", "0x8B"),
    poison("wrong type", LD, f"{S}<x:c> .", "1:1", "unexpected char: '<'"),
    poison(
        "wrong type", Format.RDF_XML, "<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>", "", "switched on"
    ),
    poison("wrong type", NDJ, f"1\t{S}<x:c> .", "1:1", "expected an object of JSON"),
    poison("wrong type", NDJ, '{"time": 1, "data": "", "type": "image/png"}', "1", "media type"),
    poison("wrong type", NDJ, '{"time": 1, "base64": "?"}', "1", "expected base64"),
    poison("wrong type", NDJ, '{"temperature": 21.5}', "1", "found 'temperature'"),
    poison("wrong type", TNQ, '{"time": 1}', "1:1", "expected a time"),
    # what would reach out
    poison("remote", LD, '{"@context": "http://127.0.0.1:9/", "a": 1}', "", "copy it into"),
    poison("remote", NDJ, '{"@context": "http://127.0.0.1:9/", "a": 1}', "1", "copy it into"),
    # what would say something else
    poison(
        "injection",
        NDJ,
        '{"at": 1, "triple": [{"type": "bnode", "value": "a> <"}, 1, 2]}',
        "1",
        "label",
    ),
    poison("relative IRI", NQ, f"{S}<c> .", "1:13", "no scheme found in an absolute IRI"),
    poison("relative IRI", TTL, "<a> <x:b> <x:c> .", "1:1", "no scheme found in an absolute IRI"),
]


GOOD = b'_:a <x:b> "good"@en .\n_:a <x:c> << _:a <x:b> _:b >> .\n'


@pytest.fixture(params=[0, joined.LEAST, 10**12], ids=["together", "as usual", "one by one"])
def _least(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """How many bytes are read together."""
    monkeypatch.setattr(joined, "LEAST", request.param)


def check(told: list[DataError], bad: Poison, name: str) -> None:
    """Each problem is of the bad one, and the first says where and why."""
    assert {each.name for each in told} == {name}
    assert bad.reason in told[0].problem
    assert not any("\n" in str(each) or len(str(each)) > 1000 for each in told)


def test_the_corpus_is_as_large_as_it_is_said_to_be() -> None:
    assert len(CORPUS) >= 50
    assert len({each.kind for each in CORPUS}) >= 12
    assert {each.form for each in CORPUS} == set(Format)


@pytest.mark.usefixtures("_least")
@pytest.mark.parametrize("bad", CORPUS, ids=str)
def test_a_bad_message_leaves_the_others(bad: Poison) -> None:
    good = [Message(GOOD, NQ, at, f"t/0@{at}", f"0-{at}") for at in (1, 2, 4)]
    told = list[DataError]()
    messages = [*good[:2], Message(bad.data, bad.form, 3, "t/0@3", "0-3"), good[2]]
    found = read_messages(messages, rule=SOURCE_TIME, on_error=told.append)
    assert said(found) == said(read_messages(good, rule=SOURCE_TIME))
    check(told, bad, "t/0@3")
    where = (told[0].line, told[0].column)
    assert ":".join(str(part) for part in where if part is not None) == bad.where


@pytest.mark.usefixtures("_least")
@pytest.mark.parametrize("bad", [each for each in CORPUS if each.form is not NDJ], ids=str)
def test_a_bad_envelope_leaves_the_others(bad: Poison) -> None:
    good = json.dumps({"time": 1, "data": GOOD.decode()}).encode() + b"\n"
    envelope = {"time": 2, "type": bad.form.media_type, "base64": b64encode(bad.data).decode()}
    line = json.dumps(envelope).encode() + b"\n"
    told = check_between(good, line, bad, NDJ)
    # What is too large to be an element is too large in an envelope, too.
    too_large = len(line) > 16_000_000
    where = f" at {bad.where}" if bad.where else ""
    assert too_large or told[0].problem.startswith(f"in its data{where}: ")


@pytest.mark.parametrize("bad", [each for each in CORPUS if each.form is NDJ], ids=str)
def test_a_bad_line_of_ndjson_leaves_the_others(bad: Poison) -> None:
    good = json.dumps({"time": 1, "data": GOOD.decode()}).encode() + b"\n"
    told = check_between(good, bad.data + b"\n", bad, NDJ)
    check_where(told[0], bad)


@pytest.mark.parametrize("bad", [each for each in CORPUS if each.form is TNQ], ids=str)
def test_a_bad_line_of_timed_n_quads_leaves_the_others(bad: Poison) -> None:
    good = b"".join(b"1\t" + line for line in GOOD.splitlines(keepends=True))
    told = check_between(good, bad.data + b"\n", bad, TNQ)
    check_where(told[0], bad, first_line=3)


def check_between(good: bytes, line: bytes, bad: Poison, form: Format) -> list[DataError]:
    """Read something bad between two good ones, and give what is told about it."""
    told = list[DataError]()
    data = good + line + good
    found = read_stream(data, form, name="s", prefix="p", on_error=told.append)
    after = read_stream(good, form, prefix="p", first_byte=len(good) + len(line))
    assert said(found) == [*said(read_stream(good, form, prefix="p")), *said(after)]
    check(told, bad, "s")
    assert {each.line for each in told} <= {good.count(b"\n") + at for at in (1, 2)}
    return told


def check_where(error: DataError, bad: Poison, first_line: int = 2) -> None:
    """A problem is at a place in what is read from some line on."""
    line, _, column = bad.where.partition(":")
    assert error.line == int(line) + first_line - 1
    assert error.column == (int(column) if column else None)


@pytest.mark.parametrize(
    "bad",
    [each for each in CORPUS if each.form in (NT, NQ) and each.kind != "huge element"],
    ids=str,
)
def test_a_bad_line_of_a_document_leaves_its_other_graphs(bad: Poison) -> None:
    first, second = (f"_:a <x:b> _:c <x:{name}> .\n".encode() for name in "gh")
    told = list[DataError]()
    data = first + bad.data + b"\n" + second
    found = read_stream(data, NQ, name="s", rule=SOURCE_TIME, source_time=5, on_error=told.append)
    assert said(found) == [
        (5, ["_:0.a <x:b> _:0.c <x:g>"]),
        (5, ["_:0.a <x:b> _:0.c <x:h>"]),
    ]
    check(told, bad, "s")
    check_where(told[0], bad)


@pytest.mark.parametrize("form", [TNQ, NDJ, NQ, TTL, LD])
def test_a_stream_of_nothing_but_poison_says_nothing(form: Format) -> None:
    told = list[DataError]()
    every = [each for each in CORPUS if each.form is form and each.kind != "huge element"]
    data = b"\n".join(each.data for each in every)
    read_stream(data, form, rule=SOURCE_TIME, source_time=1, on_error=told.append)
    assert told
    found = read_messages(
        [Message(each.data, form, 1, each.kind, str(at)) for at, each in enumerate(every)],
        rule=SOURCE_TIME,
        on_error=told.append,
    )
    assert not found.elements.height
    assert not found.terms.height
