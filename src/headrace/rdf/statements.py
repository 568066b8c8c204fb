"""One line of N-Triples or N-Quads with quoted triples, which pyoxigraph does not read."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyoxigraph as ox
import regex as re  # the possessive loops of re are wrong before Python 3.11.5

from headrace.errors import DataError
from headrace.rdf.options import Limits
from headrace.rdf.oxigraph import check_literal
from headrace.rdf.scopes import Scope
from headrace.rdf.terms import BlankNode, Iri, Literal, Quad, QuotedTriple, Term

_SPACE = re.compile(r"[ \t]*")
_END = re.compile(r"[ \t]*(?:#.*)?\Z", re.DOTALL)
_NAME_START = (
    "A-Z_a-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c-\u200d"
    "\u2070-\u218f\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_NAME = rf"{_NAME_START}0-9\-\u00b7\u0300-\u036f\u203f-\u2040"
_UCHAR = r"\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8}"
_IRI = rf"<(?:[^\x00-\x20<>\"{{}}|^`\\]++|{_UCHAR})*+>"
_TERM = re.compile(
    rf"(?P<quoted><<(?!\())|(?P<iri>{_IRI})"
    rf"|_:(?P<label>[{_NAME_START}0-9](?:[{_NAME}.]*[{_NAME}])?)"
    rf"|\"(?P<lexical>(?:[^\"\\\n\r]++|\\[tbnrf\"'\\]|{_UCHAR})*+)\""
    rf"(?:[ \t]*\^\^[ \t]*(?P<datatype>{_IRI})"
    r"|[ \t]*@(?P<language>[A-Za-z]++(?:-[A-Za-z0-9]++)*+)(?P<direction>--[A-Za-z]*+)?)?"
)
_ESCAPED = re.compile(rf"{_UCHAR}|\\.")
_SIMPLE_ESCAPES = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f"}
_SURROGATES = range(0xD800, 0xE000)
_LAST_CHARACTER = 0x10FFFF
_LONGEST_SHOWN = 30


@dataclass(slots=True)
class StarStatement:
    """A cursor over the one statement of a line."""

    text: str
    scope: Scope
    limits: Limits
    offset: int = 0
    depth: int = field(default=0, init=False)

    def quad(self, graphs: bool) -> Quad:
        """The statement, with a graph if the format has graphs.

        Raises:
            DataError: with the column of what is wrong.
        """
        subject = self._term("a subject: an IRI, a blank node or a quoted triple", "subject")
        predicate = self._term("a predicate: an IRI", "predicate")
        object_ = self._term("an object: an IRI, a blank node, a literal or a quoted triple")
        graph = None
        self._skip()
        if graphs and not self.text.startswith(".", self.offset):
            graph = self._term("a graph (an IRI or a blank node) or '.'", "graph")
        self._expect(".")
        if not _END.match(self.text, self.offset):
            raise self._problem("expected the end of the line after '.'")
        return Quad(subject, predicate, object_, graph)

    def _term(self, expected: str, place: str = "object") -> Term:
        self._skip()
        start = self.offset
        match = _TERM.match(self.text, start)
        if match is None:
            raise self._problem(f"expected {expected}")
        self.offset = match.end()
        term = self._matched(match)
        if not _fits(term, place):
            self.offset = start
            raise self._problem(f"expected {expected}")
        return term

    def _matched(self, match: re.Match[str]) -> Term:
        if match["quoted"]:
            return self._quoted()
        if match["iri"] is not None:
            return self._iri(match["iri"], match.start())
        if match["label"] is not None:
            return BlankNode(self.scope.labelled(match["label"]))
        return self._literal(match)

    def _quoted(self) -> QuotedTriple:
        self.depth += 1
        if self.depth > self.limits.quoted:
            limit = f"at most {self.limits.quoted} levels of triples within triples"
            raise self._problem(f"expected {limit}", at=self.offset - 2, found="more")
        subject = self._term("a subject: an IRI, a blank node or a quoted triple", "subject")
        predicate = self._term("a predicate: an IRI", "predicate")
        object_ = self._term("an object: an IRI, a blank node, a literal or a quoted triple")
        self._expect(">>")
        self.depth -= 1
        return QuotedTriple(subject, predicate, object_)

    def _iri(self, written: str, start: int) -> Iri:
        value = self._unescaped(written[1:-1], start + 1)
        try:
            ox.NamedNode(value)
        except ValueError as error:
            raise self._problem(f"expected an absolute IRI: {error}", at=start) from None
        return Iri(value)

    def _literal(self, match: re.Match[str]) -> Literal:
        lexical = self._unescaped(match["lexical"], match.start("lexical"))
        try:
            check_literal(lexical, self.limits.literal)
        except DataError as error:
            raise DataError(error.problem, column=match.start() + 1) from None
        if match["datatype"] is not None:
            return Literal(lexical, self._iri(match["datatype"], match.start("datatype")).value)
        language = match["language"]
        if language is None:
            return Literal(lexical)
        if match["direction"] is not None:
            at = match.start("direction")
            raise self._problem("expected a language without a base direction", at=at)
        try:
            ox.Literal("", language=language)
        except ValueError as error:
            at = match.start("language")
            raise self._problem(f"expected a language tag: {error}", at=at) from None
        return Literal(lexical, language=language)

    def _unescaped(self, written: str, start: int) -> str:
        if "\\" not in written:
            return written

        def character(match: re.Match[str]) -> str:
            kind = match[0][1]
            if kind not in "uU":
                return _SIMPLE_ESCAPES.get(kind, kind)
            code = int(match[0][2:], 16)
            if code in _SURROGATES or code > _LAST_CHARACTER:
                raise self._problem("expected the code of a character", at=start + match.start())
            return chr(code)

        return _ESCAPED.sub(character, written)

    def _skip(self) -> None:
        if match := _SPACE.match(self.text, self.offset):
            self.offset = match.end()

    def _expect(self, token: str) -> None:
        self._skip()
        if not self.text.startswith(token, self.offset):
            raise self._problem(f"expected {token!r}")
        self.offset += len(token)

    def _problem(
        self, expected: str, *, at: int | None = None, found: str | None = None
    ) -> DataError:
        start = self.offset if at is None else at
        if found is None:
            rest = self.text[start : start + _LONGEST_SHOWN].split(maxsplit=1)
            found = repr(rest[0]) if rest else "the end of the line"
        return DataError(f"{expected}, found {found}", column=start + 1)


def _fits(term: Term, place: str) -> bool:
    match place:
        case "subject":
            return not isinstance(term, Literal)
        case "predicate":
            return isinstance(term, Iri)
        case "graph":
            return isinstance(term, Iri | BlankNode)
        case _:
            return True
