"""Functions that ask what a term is, take it apart or make one."""

from __future__ import annotations

import re
from typing import Final

from headrace.functions.errors import ExpressionError
from headrace.functions.numerals import Number
from headrace.functions.values import FALSE, TRUE, value_of
from headrace.rdf.iri import is_absolute, is_well_formed, resolve
from headrace.rdf.terms import BlankNode, Iri, Literal, QuotedTriple, Term
from headrace.rdf.vocabulary import RDF_LANG_STRING, XSD_STRING

_LANGUAGE: Final = re.compile(r"[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*")


def simple_text(term: Term) -> str:
    """The text of a string without a language.

    Raises:
        ExpressionError: it is none.
    """
    if isinstance(term, Literal) and term.datatype == XSD_STRING:
        return term.lexical
    raise ExpressionError(f"{term} is not a string without a language")


# -- questions ---------------------------------------------------------------------------------


def is_iri(term: Term) -> Literal:
    """ISIRI."""
    return TRUE if isinstance(term, Iri) else FALSE


def is_blank(term: Term) -> Literal:
    """ISBLANK."""
    return TRUE if isinstance(term, BlankNode) else FALSE


def is_literal(term: Term) -> Literal:
    """ISLITERAL."""
    return TRUE if isinstance(term, Literal) else FALSE


def is_numeric(term: Term) -> Literal:
    """ISNUMERIC: a literal of a numeric type, with a form that is valid for it."""
    return TRUE if isinstance(term, Literal) and isinstance(value_of(term), Number) else FALSE


def is_triple(term: Term) -> Literal:
    """ISTRIPLE."""
    return TRUE if isinstance(term, QuotedTriple) else FALSE


# -- parts -------------------------------------------------------------------------------------


def string_form(term: Term) -> Literal:
    """STR: the text of an IRI, or the lexical form of a literal."""
    match term:
        case Iri(iri):
            return Literal(iri)
        case Literal(lexical):
            return Literal(lexical)
        case _:
            raise ExpressionError(f"{term} has no string form")


def language(term: Term) -> Literal:
    """LANG: the language of a literal, empty if it has none."""
    return Literal(_literal(term).language or "")


def datatype(term: Term) -> Iri:
    """DATATYPE."""
    return Iri(_literal(term).datatype)


def subject(term: Term) -> Term:
    """SUBJECT."""
    return _quoted(term).subject


def predicate(term: Term) -> Term:
    """PREDICATE."""
    return _quoted(term).predicate


def object_(term: Term) -> Term:
    """OBJECT."""
    return _quoted(term).object


def _literal(term: Term) -> Literal:
    if isinstance(term, Literal):
        return term
    raise ExpressionError(f"{term} is not a literal")


def _quoted(term: Term) -> QuotedTriple:
    if isinstance(term, QuotedTriple):
        return term
    raise ExpressionError(f"{term} is not a quoted triple")


# -- makers ------------------------------------------------------------------------------------


def iri(term: Term, base: Term | None = None) -> Iri:
    """IRI: the IRI that a string names where the base is in force; an IRI is itself."""
    if isinstance(term, Iri):
        return term
    text = simple_text(term)
    if not is_well_formed(text):
        raise ExpressionError(f"{term} has characters that no IRI has")
    if isinstance(base, Iri):
        return Iri(resolve(text, base.value))
    if not is_absolute(text):
        raise ExpressionError(f"{term} is relative, and there is no base")
    return Iri(text)


def with_datatype(lexical: Term, type_: Term) -> Literal:
    """STRDT."""
    if not isinstance(type_, Iri) or type_.value == RDF_LANG_STRING:
        raise ExpressionError(f"{type_} is no datatype for a string without a language")
    return Literal(simple_text(lexical), type_.value)


def with_language(lexical: Term, tag: Term) -> Literal:
    """STRLANG."""
    name = simple_text(tag)
    if not _LANGUAGE.fullmatch(name):
        raise ExpressionError(f"{tag} is not a language tag")
    return Literal(simple_text(lexical), language=name)


def triple(subject: Term, predicate: Term, object_: Term) -> QuotedTriple:
    """TRIPLE: the quoted triple, if RDF allows these parts."""
    if isinstance(subject, Literal) or not isinstance(predicate, Iri):
        raise ExpressionError(f"{subject} {predicate} {object_} is not a triple")
    return QuotedTriple(subject, predicate, object_)
