"""What is written is read back: terms, statements and elements of every kind."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headrace.rdf.elements import Element
from headrace.rdf.formats import Format
from headrace.rdf.ids import TermId, quoted_id, term_id
from headrace.rdf.reading import read
from headrace.rdf.scopes import UNSCOPED
from headrace.rdf.terms import (
    BlankNode,
    Iri,
    Literal,
    Quad,
    QuotedTriple,
    Term,
    Triple,
    canonical,
)
from headrace.rdf.timed import read_timed, to_timed
from headrace.rdf.times import microseconds, milliseconds
from headrace.rdf.vocabulary import RDF_LANG_STRING, XSD_INTEGER, XSD_STRING
from headrace.rdf.writing import to_nquads, to_ntriples

P = Iri("x:p")
ODD = (
    "\x00\x01\t\n\r\x0b\x0c\x7f\x85\"'\\<>{}|^`#\u00e9\u2028\u2029\ufeff\ufffd\U0001f600\U000e0001"
)
CHARACTERS = st.one_of(
    st.sampled_from(ODD), st.characters(exclude_categories=["Cs"]), st.sampled_from("ab .:_<")
)
LABEL = r"[A-Za-z0-9_\u00e9](?:[A-Za-z0-9_.\-\u00b7]{0,8}[A-Za-z0-9_\-])?"
DATATYPES = st.sampled_from([XSD_STRING, XSD_INTEGER, "x:t", "http://e/\u00e9"])


def iris() -> st.SearchStrategy[Iri]:
    rest = st.text("abcXYZ019-._~!$&'()*+,;=:@/\u00e9\u4e2d\U00010000", max_size=12)
    # After two slashes an authority must follow, which has rules of its own.
    return rest.filter(lambda text: not text.startswith("//")).map(lambda text: Iri(f"x:{text}"))


def blank_nodes() -> st.SearchStrategy[BlankNode]:
    return st.from_regex(LABEL, fullmatch=True).map(BlankNode)


def literals() -> st.SearchStrategy[Literal]:
    text = st.text(CHARACTERS, max_size=20)
    languages = st.sampled_from(["en", "EN-gb", "de-DE-1996", "zh-Hant"])
    return st.one_of(
        text.map(Literal),
        st.builds(Literal, text, DATATYPES),
        st.builds(Literal, text, st.just(RDF_LANG_STRING), languages),
    )


def subjects() -> st.SearchStrategy[Term]:
    return st.one_of(iris(), blank_nodes(), quoted_triples())


def terms() -> st.SearchStrategy[Term]:
    return st.one_of(iris(), blank_nodes(), literals(), quoted_triples())


def quoted_triples() -> st.SearchStrategy[QuotedTriple]:
    return st.recursive(
        st.builds(
            QuotedTriple,
            iris() | blank_nodes(),
            iris(),
            st.one_of(iris(), blank_nodes(), literals()),
        ),
        lambda inner: st.builds(QuotedTriple, iris() | inner, iris(), st.one_of(literals(), inner)),
        max_leaves=4,
    )


def triples() -> st.SearchStrategy[Triple]:
    return st.builds(Triple, subjects(), iris(), terms())


def quads() -> st.SearchStrategy[Quad]:
    graphs = st.one_of(st.none(), iris(), blank_nodes())
    return st.builds(Quad, subjects(), iris(), terms(), graphs)


@given(terms())
def test_a_term_is_read_back_from_its_canonical_text(term: Term) -> None:
    quoted = QuotedTriple(Iri("x:s"), P, term)
    for syntax in (Format.N_TRIPLES, Format.N_QUADS):
        [quad] = read(f"<x:s> <x:p> {canonical(term)} .", syntax)
        assert quad == Quad(Iri("x:s"), P, term)
        [quad] = read(f"{canonical(quoted)} <x:p> {canonical(term)} .", syntax)
        assert quad == Quad(quoted, P, term)


@given(st.lists(quads()))
def test_statements_are_read_back_from_nquads(given_quads: list[Quad]) -> None:
    assert list(read(to_nquads(given_quads), Format.N_QUADS)) == given_quads
    assert list(read(to_nquads(given_quads).encode(), Format.N_QUADS)) == given_quads


@given(st.lists(triples()))
def test_statements_are_read_back_from_ntriples(given_triples: list[Triple]) -> None:
    text = to_ntriples(given_triples)
    assert [quad.triple for quad in read(text, Format.N_TRIPLES)] == given_triples
    turtle = [quad.triple for quad in read(text, Format.TURTLE)]
    assert turtle == given_triples


@given(st.lists(quads()))
def test_nquads_without_graphs_are_ntriples(given_quads: list[Quad]) -> None:
    plain = [Quad(quad.subject, quad.predicate, quad.object) for quad in given_quads]
    assert to_nquads(plain) == to_ntriples(plain)


@given(terms(), st.integers(0, 2**64 - 1))
def test_an_id_is_a_signed_64_bit_number_and_depends_on_nothing_else(term: Term, seed: int) -> None:
    assert -(2**63) <= term_id(term, seed) < 2**63
    assert term_id(term, seed) == term_id(term, seed)


@given(iris(), iris(), terms(), st.integers(0, 2**64 - 1))
def test_the_id_of_a_quoted_triple_is_made_of_ids(
    subject: Iri, predicate: Iri, object_: Term, seed: int
) -> None:
    parts: list[TermId] = [term_id(term, seed) for term in (subject, predicate, object_)]
    quoted = QuotedTriple(subject, predicate, object_)
    assert term_id(quoted, seed) == quoted_id(parts[0], parts[1], parts[2], seed)


TIMES = st.integers(-(2**63) + 1, 2**63 - 1)


@given(TIMES)
def test_a_time_is_read_back_exactly(time: int) -> None:
    assert microseconds(milliseconds(time)) == time


def elements() -> st.SearchStrategy[list[Element]]:
    single = quads().map(lambda quad: (quad,))
    grouped = st.builds(
        lambda graph, found: tuple(Quad(*_parts(triple), graph) for triple in found),
        iris() | blank_nodes(),
        st.lists(triples(), min_size=1, max_size=4),
    )
    contents = st.one_of(st.just(()), single, grouped)
    return st.lists(st.builds(Element, TIMES, contents), unique_by=lambda element: element.time)


def _parts(triple: Triple) -> tuple[Term, Term, Term]:
    return triple.subject, triple.predicate, triple.object


@given(elements())
def test_elements_are_read_back_from_timed_nquads(given_elements: list[Element]) -> None:
    text = to_timed(given_elements)
    assert list(read_timed(text, scope=UNSCOPED)) == given_elements
    assert list(read_timed(text.encode())) == list(read_timed(text))
    flat = [quad for element in given_elements for quad in element.quads]
    assert list(read(text, Format.TIMED_N_QUADS)) == flat
