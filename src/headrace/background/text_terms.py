"""Terms, variables and paths of a pattern as SPARQL text that means the same elsewhere.

The text goes to a server that reads it by its own rules. So nothing is written that it could
read as more than one term: IRIs with characters that SPARQL does not allow are refused, and a
string never has a backslash before a `u`, which some readers take for the code of a character.
"""

from __future__ import annotations

import re
from typing import Final, assert_never

from headrace.algebra.expressions import PatternTerm, TriplePattern, Variable
from headrace.algebra.paths import (
    Alternative,
    Inverse,
    NegatedSet,
    OneOrMore,
    Path,
    Sequence,
    ZeroOrMore,
    ZeroOrOne,
)
from headrace.errors import InternalError, UnsupportedError
from headrace.rdf.iri import is_well_formed
from headrace.rdf.terms import BlankNode, Iri, Literal, QuotedTriple, Term
from headrace.rdf.vocabulary import XSD_BOOLEAN, XSD_DECIMAL, XSD_INTEGER, XSD_STRING

_LANGUAGE: Final = re.compile(r"[A-Za-z]+(?:-[A-Za-z0-9]+)*")
_NAME: Final = re.compile(r"\w+")
_BARE: Final = {
    XSD_INTEGER: re.compile(r"[0-9]+"),
    XSD_DECIMAL: re.compile(r"[0-9]+\.[0-9]+"),
    XSD_BOOLEAN: re.compile(r"true|false"),
}
"""Literals that stand for themselves; one with a sign could be read as part of a sum."""
_ESCAPES: Final = {
    '"': '\\"',
    "\\": "\\\\",
    "\b": "\\b",
    "\t": "\\t",
    "\n": "\\n",
    "\f": "\\f",
    "\r": "\\r",
    "\x00": "\\u0000",
}
_ESCAPED: Final = re.compile(r'["\\\x08\t\n\f\r\x00](?P<u>[uU])?')
_FRESH: Final = "anon"


def is_writable(term: Term) -> bool:
    """Whether a term means the same to a server as to us, and can be written down.

    >>> is_writable(Iri("x:a")), is_writable(BlankNode("b"))
    (True, False)
    """
    match term:
        case Iri(value):
            return is_well_formed(value)
        case BlankNode():
            return False
        case Literal(lexical, datatype, language):
            tagged = language is None or _LANGUAGE.fullmatch(language) is not None
            return tagged and is_well_formed(datatype) and _is_text(lexical)
        case QuotedTriple(subject, predicate, object_):
            return all(map(is_writable, (subject, predicate, object_)))
        case _:
            assert_never(term)


def _is_text(text: str) -> bool:
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)


def string_text(text: str) -> str:
    r"""A string with what must be escaped in it.

    >>> print(string_text('a"b\\n'), string_text("\\u0041"))
    "a\"b\\n" "\\\u00750041"
    """

    def escaped(found: re.Match[str]) -> str:
        after = f"\\u{ord(found['u']):04x}" if found["u"] and found[0][0] == "\\" else found["u"]
        return _ESCAPES[found[0][0]] + (after or "")

    return f'"{_ESCAPED.sub(escaped, text)}"'


def ground_text(term: Term) -> str:
    """A term without variables.

    Raises:
        UnsupportedError: if it cannot be written.
    """
    if not is_writable(term):
        raise unwritable(term)
    match term:
        case Iri(value):
            return f"<{value}>"
        case Literal(lexical, datatype, language):
            bare = _BARE.get(datatype)
            if bare is not None and bare.fullmatch(lexical):
                return lexical
            if language is not None:
                return f"{string_text(lexical)}@{language}"
            text = string_text(lexical)
            return text if datatype == XSD_STRING else f"{text}^^<{datatype}>"
        case QuotedTriple(subject, predicate, object_):
            return f"<< {' '.join(map(ground_text, (subject, predicate, object_)))} >>"
        case _:
            raise unwritable(term)


def unwritable(term: Term) -> UnsupportedError:
    """The error for a term that means nothing elsewhere."""
    if isinstance(term, BlankNode):
        return UnsupportedError(f"the blank node {term} means nothing to a remote endpoint")
    return UnsupportedError(f"the term {str(term)[:100]} cannot be written in SPARQL")


class TermWriter:
    """Writes terms with variables, and gives those that have no name one."""

    def __init__(self, taken: frozenset[str]) -> None:
        """Start with the names that are in use."""
        self._taken = set(taken)
        self._fresh: dict[str, str] = {}

    def name(self, variable: Variable) -> str:
        """A variable; one that stands for a blank node gets a name that nothing else has."""
        if not variable.is_anonymous:
            if not _NAME.fullmatch(variable.name):
                raise InternalError(f"{variable.name!r} is not the name of a variable")
            return f"?{variable.name}"
        if variable.name not in self._fresh:
            self._fresh[variable.name] = self.unused()
        return f"?{self._fresh[variable.name]}"

    def unused(self) -> str:
        """A name that nothing else has."""
        number = len(self._fresh)
        while f"{_FRESH}{number}" in self._taken:
            number += 1
        self._taken.add(f"{_FRESH}{number}")
        return f"{_FRESH}{number}"

    def term(self, term: PatternTerm) -> str:
        """A term of a pattern."""
        match term:
            case Variable():
                return self.name(term)
            case TriplePattern(subject, predicate, object_):
                return f"<< {self.triple(subject, predicate, object_)} >>"
            case Iri() | BlankNode() | Literal() | QuotedTriple():
                return ground_text(term)
            case _:
                assert_never(term)

    def triple(self, subject: PatternTerm, predicate: PatternTerm, object_: PatternTerm) -> str:
        """Subject, predicate and object."""
        if not isinstance(predicate, Variable | Iri):
            raise UnsupportedError(f"{self.term(predicate)} cannot be the predicate of a pattern")
        return " ".join(map(self.term, (subject, predicate, object_)))

    def path(self, path: Path) -> str:
        """A path, in brackets unless it is one step."""
        match path:
            case Iri():
                return ground_text(path)
            case Inverse(inner):
                return f"(^{self.path(inner)})"
            case Sequence(steps):
                return f"({'/'.join(map(self.path, steps))})"
            case Alternative(choices):
                return f"({'|'.join(map(self.path, choices))})"
            case ZeroOrOne(inner):
                return f"({self.path(inner)}?)"
            case ZeroOrMore(inner):
                return f"({self.path(inner)}*)"
            case OneOrMore(inner):
                return f"({self.path(inner)}+)"
            case NegatedSet(forward, backward):
                excluded = [
                    *map(ground_text, forward),
                    *(f"^{ground_text(each)}" for each in backward),
                ]
                return f"!({'|'.join(excluded)})"
            case _:
                assert_never(path)
