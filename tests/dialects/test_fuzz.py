"""Whatever the text, parsing gives a query or an error of ours, and the same one each time."""

from __future__ import annotations

import re
from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.algebra.query import Query
from headrace.dialects import DIALECTS, parse
from headrace.errors import HeadraceError, InternalError
from tests.shared import ROOT

SEEDS = [
    *sorted(file.read_text("utf-8") for file in (ROOT / "examples" / "papers").iterdir()),
    "SELECT (SUM(?x) AS ?n) { ?s (:a|^:b)*/!(:c|^:d) ?x MINUS { ?s a ?t } } GROUP BY (?s AS ?k)",
    "ASK { VALUES (?a ?b) { (1 UNDEF) ('x'@en <i>) } FILTER NOT EXISTS { _:b ?p [ ?q (1 2) ] } }",
    "SELECT * { << ?s ?p ?o >> ?q ?r {| ?v -1.5e3 |} FILTER (?x IN (1, 'a') || !BOUND(?y)) }",
    "DESCRIBE <a> ?b FROM <c> FROM NAMED <d> WHERE { OPTIONAL { ?b <p> '''x''' } } LIMIT 5",
    "SELECT * FROM NAMED STREAM <s> [NOW - 10 S SLIDE 1 S] { ?a ?b ?c } ORDER BY DESC(?a) ?b",
]
WORDS = sorted(set(re.findall(r"<[^>\s]*>|\w+|[^\w\s]", " ".join(SEEDS))))
TOKEN = re.compile(r"\s+|<[^>\s]*>|\w+|[^\w\s]")
FUZZED = settings(max_examples=300, deadline=None)

dialects = st.sampled_from([None, *DIALECTS])
characters = st.sampled_from("(){}[]<>?$\"'\\:;.,|^*+-/!=&@#_0aPT\n\t\u00e9\u2028\U0001f600\x00")


def outcome(text: str, dialect: str | None) -> Query | str:
    """The query of a text, or what is wrong with it; any other exception is a fault of ours."""
    try:
        return parse(text, dialect).query
    except InternalError:
        raise
    except HeadraceError as error:
        return str(error)


@st.composite
def mutated(
    draw: st.DrawFn, split: Callable[[str], list[str]], other: st.SearchStrategy[str]
) -> str:
    """A right query with a few of its pieces dropped, doubled, swapped or replaced."""
    pieces = split(draw(st.sampled_from(SEEDS)))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(pieces) - 1))
        match draw(st.sampled_from(("drop", "double", "swap", "replace", "insert", "cut"))):
            case "drop":
                del pieces[at]
            case "double":
                pieces.insert(at, pieces[at])
            case "swap":
                to = draw(st.integers(0, len(pieces) - 1))
                pieces[at], pieces[to] = pieces[to], pieces[at]
            case "replace":
                pieces[at] = draw(other)
            case "insert":
                pieces.insert(at, draw(other))
            case _:
                del pieces[at + 1 :]
        if not pieces:
            return ""
    return "".join(pieces)


@FUZZED
@given(st.text(max_size=200), dialects)
def test_any_text_is_a_query_or_an_error_of_ours(text: str, dialect: str | None) -> None:
    outcome(text, dialect)


@FUZZED
@given(st.lists(st.sampled_from(WORDS), max_size=40).map(" ".join), dialects)
def test_any_words_are_a_query_or_an_error_of_ours(text: str, dialect: str | None) -> None:
    outcome(text, dialect)


@FUZZED
@given(mutated(list, characters), dialects)
def test_a_query_with_wrong_characters_gives_no_other_error(text: str, dialect: str | None) -> None:
    outcome(text, dialect)


@FUZZED
@given(mutated(TOKEN.findall, st.sampled_from(WORDS).map(" {} ".format)), dialects)
def test_a_query_with_wrong_words_gives_no_other_error(text: str, dialect: str | None) -> None:
    outcome(text, dialect)


@FUZZED
@given(mutated(TOKEN.findall, st.sampled_from(WORDS).map(" {} ".format)), dialects)
def test_the_same_text_gives_the_same_outcome(text: str, dialect: str | None) -> None:
    assert outcome(text, dialect) == outcome(text, dialect)
