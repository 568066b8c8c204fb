"""Terms, their canonical text, their ids, and texts read back."""

from __future__ import annotations

import subprocess
import sys

import pytest

from headrace.errors import DataError
from headrace.rdf.ids import term_id
from headrace.rdf.terms import Iri, Literal, Quad, QuotedTriple, Term
from headrace.rdf.vocabulary import RDF_LANG_STRING
from headrace.rdf.writing import to_ntriples

P = Iri("x:p")


def test_languages_that_differ_in_case_are_one() -> None:
    assert Literal("a", language="EN-gb") == Literal("a", language="en-GB")
    assert Literal("a", language="EN").datatype == RDF_LANG_STRING


def test_ntriples_has_no_place_for_a_graph() -> None:
    with pytest.raises(DataError, match="no place for the graph <x:g>"):
        to_ntriples([Quad(P, P, P, Iri("x:g"))])


def test_ids_stay_what_they_are() -> None:
    # They are stored in checkpoints: a change here makes every checkpoint unreadable.
    assert term_id(Iri("x:a")) == -5719365593181751606
    assert term_id(Literal("a", language="en"), 7) == 4119610836986224308
    quoted = QuotedTriple(Iri("x:a"), Iri("x:b"), Literal("c"))
    assert term_id(quoted) == -6395385095989050682


def test_different_terms_have_different_ids() -> None:
    different: list[Term] = [Iri("a:1"), Literal("a:1"), Literal("a:1", language="en")]
    different += [Literal("a:1", "x:t"), Literal("<a:1>"), QuotedTriple(P, P, P)]
    assert len({term_id(term) for term in different}) == len(different)
    assert len({term_id(P, seed) for seed in range(100)}) == 100


def test_terms_do_not_need_pyoxigraph() -> None:
    code = (
        "import sys, headrace.rdf.terms, headrace.rdf.formats, headrace.rdf.ids\n"
        "sys.exit('pyoxigraph' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
