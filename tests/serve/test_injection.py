"""Values that look like SPARQL: beside a query or in data, none of them becomes part of one."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from itertools import product
from typing import Any

import pytest

from headrace import Engine, SettingError, Store
from headrace.algebra.expressions import TriplePattern, Variable
from headrace.algebra.operators import Bgp, Values
from headrace.background.text import query_text
from headrace.background.text_terms import is_writable
from headrace.dialects import parse
from headrace.errors import HeadraceError
from headrace.rdf.terms import Iri, Literal, QuotedTriple, Term
from headrace.results.table import Table

OPENING = (
    "",
    '"',
    "'",
    '"""',
    "'''",
    ">",
    "x:g>",
    "\\",
    '\\"',
    "\n",
    "\r",
    "\u2028",
    "]",
    ")",
    "|}",
)
CLOSING = (
    " } } #", " } UNION { ?a ?b ?c", " ; <x:p> ?any", " . ?a ?b ?c", " } DROP ALL ; #",
    " FROM <x:h>", " SERVICE <http://evil.example/> { ?s ?p ?o }", " } VALUES ?s { UNDEF",
    ")) || (1 = 1", '"^^<x:d> . ?s ?p "', "@en . ?a ?b '", "> { ?s ?p ?o } } #",
    "\\u0022 . ?a ?b ?c #", "\\U0000003E ?p ?o", "*/ { } /*",
)  # fmt: skip
PAYLOADS = [f"{opening}{closing}" for opening, closing in product(OPENING, CLOSING)]
S, P, O = Variable("s"), Variable("p"), Variable("o")  # noqa: E741
HARMLESS = Literal("harmless")
PATTERN = Bgp((TriplePattern(S, P, O),))


def sent(term: Term) -> str:
    """What an endpoint is asked if data hold a term."""
    return query_text(PATTERN, Values((S,), ((term,),)))


def test_there_are_enough_of_them() -> None:
    assert len(set(PAYLOADS)) >= 200


def swapped(value: Any, term: Term) -> Any:
    """A value of the algebra with another term in the place of the harmless one."""
    if value == HARMLESS:
        return term
    if isinstance(value, tuple):
        return tuple(swapped(part, term) for part in value)
    if not is_dataclass(value) or isinstance(value, type):
        return value
    return replace(
        value, **{each.name: swapped(getattr(value, each.name), term) for each in fields(value)}
    )


@pytest.mark.parametrize("payload", PAYLOADS)
def test_terms_of_data_do_not_change_what_endpoints_are_asked(payload: str) -> None:
    harmless = parse(sent(HARMLESS), "sparql").query.pattern
    for term in (
        Literal(payload),
        Literal(payload, "x:type"),
        Literal(payload, language="en"),
        QuotedTriple(Iri("x:a"), Iri("x:b"), Literal(payload)),
    ):
        assert parse(sent(term), "sparql").query.pattern == swapped(harmless, term)


@pytest.mark.parametrize("payload", PAYLOADS)
def test_iris_that_are_none_are_not_sent(payload: str) -> None:
    for term in (Iri(f"http://e.x/{payload}"), Literal("a", f"http://e.x/{payload}")):
        if is_writable(term):
            harmless = parse(sent(HARMLESS), "sparql").query.pattern
            assert parse(sent(term), "sparql").query.pattern == swapped(harmless, term)
        else:
            with pytest.raises(HeadraceError):
                sent(term)


@pytest.mark.parametrize("payload", PAYLOADS[::7])
def test_parameters_of_python_are_values(payload: str) -> None:
    with Store() as store:
        store.load_text("<x:a> <x:b> <x:c> .", graph="x:g")
        store.load_text("<x:d> <x:e> <x:f> .", graph=payload)
        named = store.query("SELECT ?g { GRAPH ?g { ?s ?p ?o } }")
        default = store.query("SELECT * { ?s ?p ?o }")
        assert isinstance(named, Table)
        assert isinstance(default, Table)
        assert (len(list(named)), len(list(default))) == (2, 0)
    engine = Engine()
    text = "SELECT * FROM STREAM <x:s> [RANGE 1s STEP 1s] WHERE { ?s ?p ?o }"
    plain = engine.register(text, name="plain")
    named_so = engine.register(text, name=payload)
    assert named_so.parsed.query.pattern == plain.parsed.query.pattern
    for setting in ({"report": payload}, {payload: "window-close"}):
        with pytest.raises(SettingError):
            engine.register(text, name="set", settings=setting)
