"""SPARQL 1.1 Query Results JSON, with quoted triples as in SPARQL-star."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final, assert_never

from headrace.errors import DataError
from headrace.rdf.formats import Format
from headrace.rdf.guard import check_document
from headrace.rdf.options import Limits
from headrace.rdf.scopes import UNSCOPED, Scope
from headrace.rdf.terms import BlankNode, Iri, Literal, QuotedTriple, Term
from headrace.rdf.vocabulary import XSD_STRING
from headrace.results.checks import Checked, shown
from headrace.results.table import DEFAULT_LIMITS, Result, ResultLimits, Row, Table

Json = Any
"""What json reads: anything."""

_LEVELS_AROUND_A_TERM: Final = 5
_LEVELS_OF_A_TRIPLE: Final = 2
_PARTS: Final = (("subject", "s"), ("predicate", "p"), ("object", "o"))
"""The keys of a quoted triple: those of the standard, and those that RDF4J writes."""


# -- writing -------------------------------------------------------------------------------


def json_parts(result: Result) -> Iterator[str]:
    r"""An answer as JSON, a row a part.

    >>> print("".join(json_parts(Table(("x",), ((Iri("x:a"),), (None,))))), end="")
    {"head": {"vars": ["x"]}, "results": {"bindings": [
    {"x": {"type": "uri", "value": "x:a"}},
    {}
    ]}}
    """
    if isinstance(result, bool):
        yield json.dumps({"head": {}, "boolean": result}) + "\n"
        return
    names = json.dumps(list(result.variables), ensure_ascii=False)
    yield f'{{"head": {{"vars": {names}}}, "results": {{"bindings": ['
    separator = "\n"
    for row in result.rows:
        bound = {
            name: term_to_json(term)
            for name, term in zip(result.variables, row, strict=True)
            if term is not None
        }
        yield separator + json.dumps(bound, ensure_ascii=False)
        separator = ",\n"
    yield "\n]}}\n"


def term_to_json(term: Term) -> dict[str, Json]:
    """A term as an object of JSON.

    >>> term_to_json(Literal("chat", language="fr"))
    {'type': 'literal', 'value': 'chat', 'xml:lang': 'fr'}
    """
    match term:
        case Iri(value):
            return {"type": "uri", "value": value}
        case BlankNode(label):
            return {"type": "bnode", "value": label}
        case Literal(lexical, datatype, language):
            said: dict[str, Json] = {"type": "literal", "value": lexical}
            if language is not None:
                return said | {"xml:lang": language}
            return said if datatype == XSD_STRING else said | {"datatype": datatype}
        case QuotedTriple(subject, predicate, object_):
            spoken = {"subject": subject, "predicate": predicate, "object": object_}
            parts = {name: term_to_json(part) for name, part in spoken.items()}
            return {"type": "triple", "value": parts}
        case _:
            assert_never(term)


# -- reading -------------------------------------------------------------------------------


def read_json(
    text: str, *, scope: Scope = UNSCOPED, limits: ResultLimits = DEFAULT_LIMITS
) -> Result:
    """The answer that a text of JSON is.

    Raises:
        DataError: saying what is wrong with it.
    """
    levels = _LEVELS_AROUND_A_TERM + _LEVELS_OF_A_TRIPLE * (limits.quoted + 1)
    check_document(text, Format.JSON_LD, Limits(nested=levels))
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise DataError(f"expected JSON: {error.msg}", None, error.lineno, error.colno) from None
    except ValueError as error:  # a number of too many digits
        raise DataError(f"expected JSON: {error}") from None
    return _Reader(Checked(scope, limits), limits).result(document)


def term_from_json(
    found: Json, *, scope: Scope = UNSCOPED, limits: ResultLimits = DEFAULT_LIMITS
) -> Term:
    """The term that an object of JSON is.

    Raises:
        DataError: saying what is wrong with it.
    """
    return _Reader(Checked(scope, limits), limits).term(found)


class _Reader:
    def __init__(self, checked: Checked, limits: ResultLimits) -> None:
        self._checked = checked
        self._limits = limits

    def result(self, document: Json) -> Result:
        answer = _object(document, "an answer")
        if "boolean" in answer:
            return _boolean(answer["boolean"])
        if "results" not in answer:
            raise DataError("expected 'results' or 'boolean' in the answer, found neither")
        head = _object(_member(answer, "head", "the answer"), "'head'")
        results = _object(answer["results"], "'results'")
        names = _array(_member(head, "vars", "'head'"), "'vars'")
        variables = self._checked.check_columns([_string(name, "a variable") for name in names])
        bindings = _array(_member(results, "bindings", "'results'"), "'bindings'")
        self._checked.check_rows(len(bindings))
        return Table(variables, tuple(self._row(each, variables) for each in bindings))

    def _row(self, found: Json, variables: tuple[str, ...]) -> Row:
        binding = _object(found, "a row")
        row = tuple(self.term(binding[name]) if name in binding else None for name in variables)
        if len(binding) > sum(name in binding for name in variables):
            unknown = next(name for name in binding if name not in variables)
            raise DataError(f"expected only variables of the head in a row, found {shown(unknown)}")
        return row

    def term(self, found: Json, level: int = 0) -> Term:
        parts = _object(found, "a term")
        value = _member(parts, "value", "a term")
        match parts.get("type"):
            case "uri":
                return self._checked.iri(_string(value, "an IRI"))
            case "bnode":
                return self._checked.blank(_string(value, "the label of a blank node"))
            case "literal" | "typed-literal":  # the second one is of 2007, and of Virtuoso
                return self._literal(value, parts)
            case "triple":
                return self._quoted(value, level + 1)
            case other:
                raise DataError(
                    f"expected a term of type 'uri', 'bnode', 'literal' or 'triple',"
                    f" found {shown(other)}"
                )

    def _literal(self, value: Json, parts: dict[str, Json]) -> Literal:
        if parts.get("its:dir") is not None:
            raise DataError("text with a base direction is not supported, found 'its:dir'")
        datatype, language = parts.get("datatype"), parts.get("xml:lang")
        return self._checked.literal(
            _string(value, "the text of a literal"),
            None if datatype is None else _string(datatype, "a datatype"),
            None if language is None else _string(language, "a language"),
        )

    def _quoted(self, value: Json, level: int) -> QuotedTriple:
        self._checked.check_level(level)
        parts = _object(value, "a triple")
        said = (
            _member(parts, name if name in parts or short not in parts else short, "a triple")
            for name, short in _PARTS
        )
        subject, predicate, object_ = (self.term(part, level) for part in said)
        return self._checked.quoted(subject, predicate, object_)


def _object(found: Json, what: str) -> dict[str, Json]:
    if not isinstance(found, dict):
        raise DataError(f"expected an object of JSON for {what}, found {shown(found)}")
    return found


def _array(found: Json, what: str) -> list[Json]:
    if not isinstance(found, list):
        raise DataError(f"expected an array of JSON for {what}, found {shown(found)}")
    return found


def _string(found: Json, what: str) -> str:
    if not isinstance(found, str):
        raise DataError(f"expected a string of JSON for {what}, found {shown(found)}")
    return found


def _boolean(found: Json) -> bool:
    if not isinstance(found, bool):
        raise DataError(f"expected true or false as the answer, found {shown(found)}")
    return found


def _member(parts: dict[str, Json], name: str, what: str) -> Json:
    if name not in parts:
        raise DataError(f"expected '{name}' in {what}, found {shown(', '.join(parts))}")
    return parts[name]
