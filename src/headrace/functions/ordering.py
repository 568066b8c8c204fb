"""In which order ORDER BY puts terms: a total one, so that answers do not depend on the input."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Final, TypeAlias

from headrace.functions.calendars import Date, DateTime
from headrace.functions.numerals import Number
from headrace.functions.values import LanguageText, value_of
from headrace.rdf.terms import BlankNode, Iri, Literal, QuotedTriple, Term, canonical

OrderKey: TypeAlias = tuple[object, ...]
"""Keys compare with each other by `<`; nothing else about them is promised."""

_UNBOUND, _BLANK, _IRI, _LITERAL, _TRIPLE = range(5)
_NAN, _NUMBER, _STRING, _LANGUAGE, _BOOLEAN, _DATE_TIME, _DATE, _OTHER = range(8)
_WRITTEN_IN_MANY_WAYS: Final = frozenset({_NAN, _NUMBER, _BOOLEAN, _DATE_TIME, _DATE})
_CACHED: Final = 1 << 14


def order_key(term: Term | None) -> OrderKey:
    """The key by which terms are sorted; None is an unbound value.

    Unbound < blank nodes < IRIs < literals < quoted triples. Literals: numbers by value (NaN
    first), strings, strings with a language, booleans, moments (as UTC if they have no zone),
    days, all others by datatype and form. Where `<` of the language knows an order this one
    agrees with it; values that are equal are in the order of their canonical forms.

    >>> from headrace.rdf.vocabulary import XSD_DECIMAL, XSD_INTEGER
    >>> terms = [Literal("b"), None, Literal("10", XSD_INTEGER), Literal("9.5", XSD_DECIMAL)]
    >>> [None if term is None else term.lexical for term in sorted(terms, key=order_key)]
    [None, '9.5', '10', 'b']
    """
    return (_UNBOUND,) if term is None else _key(term)


def value_key(term: Term | None) -> OrderKey:
    """The same for the value of a term: equal values have equal keys, however they are written.

    >>> from headrace.rdf.vocabulary import XSD_DECIMAL, XSD_INTEGER
    >>> value_key(Literal("1", XSD_INTEGER)) == value_key(Literal("1.0", XSD_DECIMAL))
    True
    """
    key = order_key(term)
    return key[:-1] if key[0] == _LITERAL and key[1] in _WRITTEN_IN_MANY_WAYS else key


@lru_cache(_CACHED)
def _key(term: Term) -> OrderKey:
    match term:
        case BlankNode(label):
            return (_BLANK, label)
        case Iri(iri):
            return (_IRI, iri)
        case Literal():
            return (_LITERAL, *_literal_key(term))
        case QuotedTriple(subject, predicate, object_):
            return (_TRIPLE, _key(subject), _key(predicate), _key(object_))


def _literal_key(literal: Literal) -> OrderKey:
    match value_of(literal):
        case Number(_, value) if isinstance(value, float) and math.isnan(value):
            return (_NAN, 0, canonical(literal))
        case Number(_, value):
            # Python compares int, Decimal and float exactly, so this stays transitive.
            return (_NUMBER, value, canonical(literal))
        case str() as text:
            return (_STRING, text)
        case LanguageText(text, language):
            return (_LANGUAGE, text, language)
        case bool() as truth:
            return (_BOOLEAN, truth, literal.lexical)
        case Date() as day:
            return (_DATE, day.seconds, literal.lexical)
        case DateTime() as moment:
            return (_DATE_TIME, moment.seconds, literal.lexical)
        case None:
            return (_OTHER, literal.datatype, literal.lexical)
