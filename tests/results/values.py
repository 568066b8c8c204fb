"""Random tables: terms of every kind, with characters that formats have trouble with."""

from __future__ import annotations

from hypothesis import strategies as st

from headrace.rdf.terms import BlankNode, Iri, Literal, QuotedTriple, Term
from headrace.rdf.vocabulary import XSD, XSD_BOOLEAN, XSD_DECIMAL, XSD_DOUBLE, XSD_INTEGER
from headrace.results.table import Table

awkward = st.sampled_from(
    ["\t", "\n", "\r", "\r\n", '"', "'", "\\", ",", "<", "&", "]]>", "\\u0041"]
)
texts = st.lists(
    st.one_of(st.text(st.characters(exclude_categories=["Cs"]), max_size=4), awkward), max_size=4
).map("".join)
xml_texts = texts.filter(
    lambda text: (
        all(each in "\t\n\r" or each >= " " for each in text)
        and not {"\ufffe", "\uffff"} & set(text)
    )
)
iris = st.from_regex(r"http://[a-zé]{1,4}/[a-z0-9#?=&~é]{0,6}", fullmatch=True).map(Iri)
blanks = st.from_regex(r"[a-z0-9_]{1,5}", fullmatch=True).map(BlankNode)
numbers = st.sampled_from(
    ["1", "-2", "+3", "1.5", ".5", "-0.5", "1e3", "1.E-3", "07", "1.", "x", ""]
)
datatypes = st.sampled_from(
    [XSD_INTEGER, XSD_DECIMAL, XSD_DOUBLE, XSD_BOOLEAN, XSD + "date", "x:d"]
)


def literals(text: st.SearchStrategy[str]) -> st.SearchStrategy[Literal]:
    return st.one_of(
        st.builds(Literal, text),
        st.builds(Literal, st.one_of(numbers, text), datatypes),
        st.builds(lambda each: Literal(each, language="en-GB"), text),
    )


def terms(text: st.SearchStrategy[str] = texts) -> st.SearchStrategy[Term]:
    resources: st.SearchStrategy[Term] = st.one_of(iris, blanks)
    quoted = st.recursive(
        st.one_of(iris, blanks, literals(text)),
        lambda inner: st.builds(
            QuotedTriple,
            st.one_of(resources, inner.filter(lambda term: not isinstance(term, Literal))),
            iris,
            inner,
        ),
        max_leaves=4,
    )
    return st.one_of(iris, blanks, literals(text), quoted)


@st.composite
def tables(draw: st.DrawFn, text: st.SearchStrategy[str] = texts) -> Table:
    width = draw(st.integers(0, 3))
    row = st.tuples(*[st.one_of(st.none(), terms(text))] * width)
    rows = draw(st.lists(row, max_size=4))
    return Table(("x", "y2", "é")[:width], tuple(rows))
