"""Texts that nest or go on without end: refused in one pass, never by a crash."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

import pytest

from headrace.dialects import parse
from headrace.errors import QueryError, QuerySyntaxError, TooLargeError

Text: TypeAlias = Callable[[int], str]

DEEP = (129, 10_000, 100_000, 1_000_000)
FINE = 100  # levels that each construct must allow
PATIENCE = 15  # seconds; the slowest text that is accepted took 4.5 on two shared cores


def nested(opening: str, core: str, closing: str) -> Text:
    return lambda depth: opening * depth + core + closing * depth


def where(pattern: Text) -> Text:
    return lambda depth: f"SELECT * WHERE {{ {pattern(depth)} }}"


def condition(expression: Text) -> Text:
    return lambda depth: f"SELECT * WHERE {{ ?s ?p ?o FILTER ({expression(depth)}) }}"


# Each nests as deep as it is told to; the outer brackets of the query leave room for 100.
NESTED: dict[str, Text] = {
    "brackets": condition(nested("(", "?o", ")")),
    "groups": where(nested("{", "?s ?p ?o", "}")),
    "property-lists": where(nested("[ <p> ", "?o", " ]")),
    "quoted-triples": where(lambda depth: nested("<< ", "?s", " <p> ?o >>")(depth) + " ?q ?r"),
    "optionals": where(nested("OPTIONAL { ?s ?p ?o ", "", "}")),
    "subselects": where(nested("{ SELECT * WHERE ", "{ ?s ?p ?o }", " }")),
    "paths": where(lambda depth: "?s " + nested("(", "<p>", ")")(depth) + " ?o"),
    "functions": condition(nested("STR(", "?o", ")")),
    "unions": where(nested("{ ?s ?p ?o } UNION { ", "?a ?b ?c", " }")),
    "not-exists": where(nested("FILTER NOT EXISTS { ?s ?p ?o ", "", "}")),
    "graphs": where(nested("GRAPH <g> { ", "?s ?p ?o", " }")),
    "services": where(nested("SERVICE <e> { ", "?s ?p ?o", " }")),
    "collections": where(lambda depth: nested("( ", "1", " )")(depth) + " ?p ?o"),
    "minus": where(lambda depth: "?s ?p ?o " + nested("MINUS { ?s ?p ?o ", "", "}")(depth)),
    "annotations": where(lambda depth: "?s ?p ?o " + nested("{| <p> ?o ", "", "|}")(depth)),
    "negations": condition(nested("!(", "?o", ")")),
    "lists-of-in": condition(nested("?o IN (", "1", ")")),
    "aggregates": lambda depth: f"SELECT ({nested('MAX(', '?o', ')')(depth)} AS ?x) {{ ?s ?p ?o }}",
}
# What cannot nest a hundred deep because the language forbids it, or because the algebra says so.
SHALLOW = {"aggregates"}

UNCLOSED: dict[str, Text] = {
    "brackets": lambda depth: "SELECT * WHERE { FILTER " + "(" * depth,
    "groups": lambda depth: "SELECT * WHERE " + "{" * depth,
    "property-lists": lambda depth: "SELECT * WHERE { " + "[ <p> " * depth,
    "quoted-triples": lambda depth: "SELECT * WHERE { " + "<< " * depth,
    "closing-only": lambda depth: "}" * depth,
    "signs": lambda depth: "SELECT * WHERE { FILTER (" + "-" * depth,
    "not": lambda depth: "SELECT * WHERE { FILTER (" + "!" * depth,
    "inverse": lambda depth: "SELECT * WHERE { ?s " + "^" * depth,
    "quotes": lambda depth: "SELECT * WHERE { ?s ?p " + '"' * depth,
    "long-quotes": lambda depth: 'SELECT * WHERE { ?s ?p """' + '\\"' * depth,
    "angle": lambda depth: "SELECT * WHERE { " + "<" * depth,
    "hashes": lambda depth: "#" * depth,
    "spaces": lambda depth: " " * depth,
    "one-word": lambda depth: "S" * depth,
    "one-number": lambda depth: "SELECT * { ?s ?p " + "9" * depth,
    "dots": lambda depth: "SELECT * { a:" + "." * depth,
    "names": lambda depth: "SELECT * { " + "a." * depth,
}

CHAINS: dict[str, Text] = {
    "sum": condition(lambda length: " + ".join(["?o"] * length)),
    "product": condition(lambda length: " * ".join(["?o"] * length)),
    "or": condition(lambda length: " || ".join(["?o"] * length)),
    "and": condition(lambda length: " && ".join(["?o"] * length)),
    "optional": where(lambda length: "OPTIONAL { ?s ?p ?o } " * length),
    "minus": where(lambda length: "?s ?p ?o " + "MINUS { ?s ?p ?o } " * length),
    "union": where(lambda length: " UNION ".join(["{ ?s ?p ?o }"] * length)),
    "filter": where(lambda length: "?s ?p ?o " + "FILTER (?o) " * length),
    "bind": where(lambda length: " ".join(f"BIND (1 AS ?v{i})" for i in range(length))),
    "group": where(lambda length: "{ ?s ?p ?o } " * length),
    "triples": where(lambda length: "?s ?p ?o . " * length),
    "sequence": where(lambda length: "?s " + "/".join(["<p>"] * length) + " ?o"),
    "alternative": where(lambda length: "?s " + "|".join(["<p>"] * length) + " ?o"),
    "objects": where(lambda length: "?s ?p " + ",".join(["1"] * length)),
    "list": where(lambda length: "(" + "1 " * length + ") ?p ?o"),
    "values": where(lambda length: "VALUES ?v { " + "1 " * length + "}"),
    "columns": lambda length: "SELECT " + "?s " * length + "{ ?s ?p ?o }",
    "prefixes": lambda length: "PREFIX a: <a> " * length + "ASK {}",
}


@contextmanager
def patiently() -> Iterator[None]:
    """Give up in the end, so that one slow text does not hold up all tests."""

    def give_up(*_: object) -> None:
        raise TimeoutError(f"still parsing after {PATIENCE} s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(PATIENCE)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def timed(text: str, what: str) -> QueryError | None:
    """Parse, tell how long it took, and give the error, if it is one of a query."""
    start = time.perf_counter()
    error: QueryError | None = None
    try:
        with patiently():
            parse(text)
    except QueryError as raised:
        error = raised
    elapsed = 1000 * (time.perf_counter() - start)
    print(f"{what}: {elapsed:.1f} ms")  # noqa: T201  # shown by pytest -s, not judged here
    return error


@pytest.mark.parametrize("depth", DEEP)
@pytest.mark.parametrize("construct", NESTED)
def test_what_nests_too_deep_is_refused(construct: str, depth: int) -> None:
    error = timed(NESTED[construct](depth), f"{construct} {depth}")
    assert isinstance(error, TooLargeError)


@pytest.mark.parametrize("construct", [name for name in NESTED if name not in SHALLOW])
def test_what_nests_a_hundred_deep_is_accepted(construct: str) -> None:
    assert timed(NESTED[construct](FINE), f"{construct} {FINE}") is None


@pytest.mark.parametrize("depth", DEEP)
@pytest.mark.parametrize("construct", UNCLOSED)
def test_what_is_never_closed_is_refused(construct: str, depth: int) -> None:
    error = timed(UNCLOSED[construct](depth), f"unclosed {construct} {depth}")
    assert isinstance(error, TooLargeError | QuerySyntaxError)
    assert len(str(error)) < 1000


@pytest.mark.parametrize("length", DEEP)
@pytest.mark.parametrize("construct", CHAINS)
def test_what_goes_on_is_accepted_or_refused(construct: str, length: int) -> None:
    error = timed(CHAINS[construct](length), f"chain {construct} {length}")
    assert error is None or isinstance(error, TooLargeError)


@pytest.mark.parametrize("construct", CHAINS)
def test_what_goes_on_a_hundred_times_is_accepted(construct: str) -> None:
    assert timed(CHAINS[construct](FINE), f"chain {construct} {FINE}") is None


NUMBERS = {
    "5000-digits": "9" * 5_000,
    "20000-digits": "9" * 20_000,
    "1e400": "1e400",
    "1e99999": "1e99999",
    "1e999999999": "1e999999999",
}
COUNTED = {
    "range": "SELECT * FROM STREAM <s> [RANGE {}s STEP 1s] {{ ?s ?p ?o }}",
    "triples": "SELECT * FROM STREAM <s> [RANGE TRIPLES {}] {{ ?s ?p ?o }}",
    "every": "REGISTER QUERY q COMPUTED EVERY {}s AS ASK FROM STREAM <s> [NOW] {{ ?s ?p ?o }}",
    "limit": "SELECT * {{ ?s ?p ?o }} LIMIT {}",
    "offset": "SELECT * {{ ?s ?p ?o }} OFFSET {}",
    "budget": "SELECT * {{ SERVICE <s> [BUDGET {}] {{ ?s ?p ?o }} }}",
    "accuracy": "SELECT * {{ SERVICE <s> [ACCURACY {}] {{ ?s ?p ?o }} }}",
    "within": "SELECT * {{ SERVICE <s> [WITHIN {}s] {{ ?s ?p ?o }} }}",
}


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("counted", COUNTED)
def test_a_number_beyond_all_use_is_refused(counted: str, number: str) -> None:
    error = timed(COUNTED[counted].format(NUMBERS[number]), f"{counted} {number}")
    assert error is not None
    assert len(str(error)) < 1000
