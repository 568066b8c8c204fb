"""Terms from their canonical texts."""

from __future__ import annotations

import re
from typing import Final

from headrace.errors import InternalError
from headrace.rdf.terms import BlankNode, Iri, Literal, QuotedTriple, Term
from headrace.rdf.vocabulary import XSD_STRING

_TOKEN: Final = re.compile(
    r'<<|>>|<[^<> ]*>|_:[^ ]+|"(?:[^"\\]|\\.)*"(?:@[A-Za-z0-9-]+|\^\^<[^<> ]*>)?', re.DOTALL
)
_ESCAPE: Final = re.compile(r"\\u([0-9A-F]{4})|\\U([0-9A-F]{8})|\\(.)", re.DOTALL)
_CHARACTERS: Final = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f"}


def read_term(text: str) -> Term:
    r"""The term that a canonical text stands for.

    >>> read_term('"a\\tb"@en').lexical
    'a\tb'
    """
    if text.startswith("<<"):
        tokens = _TOKEN.findall(text)
        return _quoted(tokens, 0)[0]
    return _plain(text)


def _plain(text: str) -> Term:
    match text[0]:
        case "<":
            return Iri(_unescaped(text[1:-1]))
        case "_":
            return BlankNode(text[2:])
        case '"':
            lexical, _, tail = text[1:].rpartition('"')
            if not tail:
                return Literal(_unescaped(lexical), XSD_STRING)
            if tail[0] == "@":
                return Literal(_unescaped(lexical), language=tail[1:])
            return Literal(_unescaped(lexical), _unescaped(tail[3:-1]))
        case _:
            raise InternalError(f"{text!r} is not the text of a term")


def _quoted(tokens: list[str], position: int) -> tuple[Term, int]:
    """The term that begins at a token, and the position after it; as deep as the guard allows."""
    if tokens[position] != "<<":
        return _plain(tokens[position]), position + 1
    subject, position = _quoted(tokens, position + 1)
    predicate, position = _quoted(tokens, position)
    object_, position = _quoted(tokens, position)
    return QuotedTriple(subject, predicate, object_), position + 1


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(_character, text) if "\\" in text else text


def _character(found: re.Match[str]) -> str:
    digits = found[1] or found[2]
    return chr(int(digits, 16)) if digits else _CHARACTERS.get(found[3], found[3])
