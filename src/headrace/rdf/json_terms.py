"""Terms of SPARQL 1.1 Query Results JSON as texts of N-Quads, which a reader of lines then checks.

Nothing in a term can make more than a term of it: what is not escaped is looked at here.
"""

from __future__ import annotations

import re
from typing import Any, Final

from headrace.errors import DataError
from headrace.rdf.options import ReadOptions, StarMode
from headrace.rdf.terms import BlankNode, Iri, Literal, canonical
from headrace.rdf.texts import decoded
from headrace.rdf.vocabulary import XSD_STRING

Object = dict[str, Any]

_LABEL: Final = re.compile(r"[\w.\-\u00b7\u203f\u2040]+")
_LANGUAGE: Final = re.compile(r"[A-Za-z0-9-]+")
_PLACES: Final = ("subject", "predicate", "object")
_SHOWN: Final = 40


class Number(str):
    """A number of JSON, as it is written."""

    __slots__ = ()


def statement_text(members: Object, options: ReadOptions) -> str:
    """The statement of N-Quads that a result of a query is.

    >>> iri = {"type": "uri", "value": "x:a"}
    >>> statement_text({"triple": [iri, iri, {"type": "literal", "value": "b"}]}, ReadOptions())
    '<x:a> <x:a> "b" .'

    Raises:
        DataError: it cannot be one.
    """
    triple = members["triple"]
    if not isinstance(triple, list) or len(triple) != len(_PLACES):
        raise DataError("expected a list of three terms as 'triple', found something else")
    terms = [*triple, members["graph"]] if members.get("graph") is not None else triple
    return " ".join([*(_text(term, options, 0) for term in terms), "."])


def _text(found: object, options: ReadOptions, level: int) -> str:
    if not isinstance(found, dict):
        raise DataError("expected an object of JSON for a term, found something else")
    match found.get("type"):
        case "uri":
            return canonical(Iri(_string(found, "value")))
        case "bnode":
            return canonical(BlankNode(_matching(_LABEL, found, "value")))
        case "literal" | "typed-literal":
            return _literal(found)
        case "triple":
            return _quoted(found.get("value"), options, level + 1)
        case other:
            raise DataError(
                "expected a term of type 'uri', 'bnode', 'literal' or 'triple',"
                f" found {str(other)[:_SHOWN]!r}"
            )


def _literal(term: Object) -> str:
    lexical = _string(term, "value")
    if term.get("its:dir") is not None:
        raise DataError("text with a base direction is not supported, found 'its:dir'")
    if term.get("xml:lang") is not None:
        return canonical(Literal(lexical, language=_matching(_LANGUAGE, term, "xml:lang")))
    if term.get("datatype") is not None:
        return canonical(Literal(lexical, _string(term, "datatype")))
    return canonical(Literal(lexical, XSD_STRING))


def _quoted(triple: object, options: ReadOptions, level: int) -> str:
    if level > options.limits.quoted:
        limit = f"at most {options.limits.quoted} levels of triples within triples"
        raise DataError(f"expected {limit}, found more")
    if not isinstance(triple, dict):
        raise DataError("expected an object of JSON for a triple, found something else")
    parts = " ".join(_text(triple.get(place), options, level) for place in _PLACES)
    return f"<< {parts} >>" if options.star is StarMode.COMMUNITY else f"<<( {parts} )>>"


def _string(term: Object, name: str) -> str:
    found = term.get(name)
    if not isinstance(found, str) or isinstance(found, Number):
        raise DataError(f"expected a text as {name!r} of a term, found something else")
    try:
        return decoded(found)
    except DataError as error:
        raise DataError(error.problem) from None  # a column of the value would say nothing


def _matching(pattern: re.Pattern[str], term: Object, name: str) -> str:
    found = _string(term, name)
    if not pattern.fullmatch(found):
        kind = "language" if pattern is _LANGUAGE else "label of a blank node"
        raise DataError(f"expected a {kind}, found {found[:_SHOWN]!r}")
    return found
