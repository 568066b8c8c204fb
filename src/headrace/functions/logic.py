"""Truth: the effective boolean value, and AND, OR and NOT where a truth may be an error.

A      B      A || B   A && B
true   true   true     true
true   false  true     false
false  false  false    false
true   error  true     error
error  true   true     error
false  error  error    false
error  false  error    false
error  error  error    error
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from headrace.functions.errors import ExpressionError
from headrace.functions.numerals import Number
from headrace.functions.values import FALSE, NUMERIC, TRUE, LanguageText, value_of
from headrace.rdf.terms import Literal, Term
from headrace.rdf.vocabulary import XSD_BOOLEAN


def truth(term: Term) -> bool:
    """The effective boolean value; an ill-typed boolean or number is false.

    Raises:
        ExpressionError: the term is neither a boolean, a number nor text.
    """
    if isinstance(term, Literal):
        match value_of(term):
            case bool() as value:
                return value
            case Number(_, number):
                return number != 0 and not (isinstance(number, float) and math.isnan(number))
            case str(text) | LanguageText(text, _):
                return text != ""
            case None if term.datatype == XSD_BOOLEAN or term.datatype in NUMERIC:
                return False
            case _:
                pass
    raise ExpressionError(f"{term} is neither true nor false")


def negation(term: Term) -> Literal:
    """`!`."""
    return FALSE if truth(term) else TRUE


def disjunction(terms: Iterable[Callable[[], Term]]) -> bool:
    """`||`: one that is true decides, whatever is unknown of the others.

    Raises:
        ExpressionError: none is true, and for one of them it is not known.
    """
    return _decided(terms, by=True)


def conjunction(terms: Iterable[Callable[[], Term]]) -> bool:
    """`&&`: one that is false decides, whatever is unknown of the others.

    Raises:
        ExpressionError: none is false, and for one of them it is not known.
    """
    return _decided(terms, by=False)


def _decided(terms: Iterable[Callable[[], Term]], *, by: bool) -> bool:
    unknown: ExpressionError | None = None
    for term in terms:
        try:
            if truth(term()) is by:
                return by
        except ExpressionError as error:
            unknown = error
    if unknown is not None:
        raise unknown
    return not by
