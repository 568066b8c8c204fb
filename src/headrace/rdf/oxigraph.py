"""What pyoxigraph says, in our own terms."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

import pyoxigraph as ox

from headrace.errors import DataError, InternalError
from headrace.rdf.options import Limits
from headrace.rdf.scopes import Scope, unlike_anonymous
from headrace.rdf.terms import BlankNode, Iri, Literal, Quad, QuotedTriple, Term

_ANONYMOUS = re.compile(r"[0-9a-f]{16,32}")
_LIKE_ANONYMOUS = re.compile(r"(?<![0-9a-f])[0-9a-f]{16,32}(?![0-9a-f])")
_WHERE = re.compile(r"Parser error (?:at|between) [^:]*: ")
_REMOTE_CONTEXT: Final = "No LoadDocumentCallback"
_LONGEST_SHOWN: Final = 60
_LONGEST_PROBLEM: Final = 300
_CAPITAL = re.compile(r"^[A-Z](?=[a-z ])")
_IN_OUR_WORDS: Final = {
    "Unexpected end": "expected the rest of a statement, found the end of the text",
    "Unexpected end of file": "expected the end of what starts here, found the end of the text",
}


class Terms:
    """The terms of one text.

    pyoxigraph gives each anonymous node a random name. It is known by its form, unless the text
    has the same characters somewhere; then it can only be a label that the text uses.
    """

    def __init__(
        self,
        scope: Scope,
        limits: Limits,
        text: str | None = None,
        reified: Mapping[str, ox.Triple] | None = None,
    ) -> None:
        """Read terms of a text, or without one, terms of a format that has no anonymous nodes."""
        self._scope = scope
        self._longest = limits.literal
        self._labels_only = text is None
        self._label_like_anonymous = frozenset(_LIKE_ANONYMOUS.findall(text or ""))
        self._reified = reified or {}
        self._nodes: dict[str, BlankNode | QuotedTriple] = {}
        self._iris: dict[str, Iri] = {}
        self._anonymous = 0
        self._depth = 0
        self._deepest = limits.quoted

    def quad(self, quad: ox.Quad) -> Quad:
        """A statement.

        Raises:
            DataError: if there is something in it that we cannot keep.
        """
        graph = quad.graph_name
        return Quad(
            self.term(quad.subject),
            self.term(quad.predicate),
            self.term(quad.object),
            None if isinstance(graph, ox.DefaultGraph) else self.term(graph),
        )

    def term(self, term: ox.NamedNode | ox.BlankNode | ox.Literal | ox.Triple) -> Term:
        """A term; the node of a reified triple is that triple, quoted."""
        if isinstance(term, ox.NamedNode):
            value = term.value
            return self._iris.get(value) or self._iris.setdefault(value, Iri(value))
        if isinstance(term, ox.Literal):
            return self._literal(term)
        if isinstance(term, ox.BlankNode):
            name = term.value
            return self._nodes.get(name) or self._nodes.setdefault(name, self._node(name))
        return self._quoted(term)

    def _quoted(self, triple: ox.Triple) -> QuotedTriple:
        self._depth += 1
        try:
            if self._depth > self._deepest:
                limit = f"at most {self._deepest} levels of triples within triples"
                raise DataError(f"expected {limit}, found more")
            return QuotedTriple(
                self.term(triple.subject), self.term(triple.predicate), self.term(triple.object)
            )
        finally:
            self._depth -= 1

    def _node(self, name: str) -> BlankNode | QuotedTriple:
        if name in self._reified:
            return self._quoted(self._reified[name])
        if self._labels_only:
            return BlankNode(self._scope.labelled(name))
        if not _ANONYMOUS.fullmatch(name) or name in self._label_like_anonymous:
            return BlankNode(self._scope.labelled(unlike_anonymous(name)))
        self._anonymous += 1
        return BlankNode(self._scope.anonymous(self._anonymous - 1))

    def _literal(self, literal: ox.Literal) -> Literal:
        lexical = literal.value
        check_literal(lexical, self._longest)
        if literal.direction is not None:
            raise DataError(f"text with a base direction is not supported, found {literal}")
        return Literal(lexical, literal.datatype.value, literal.language)


def check_literal(lexical: str, longest: int) -> None:
    """Refuse a literal that is too long.

    Raises:
        DataError: saying how long it is.
    """
    if len(lexical) > longest:
        found = f"found {len(lexical):,} from {lexical[:_LONGEST_SHOWN]!r} on"
        raise DataError(f"expected at most {longest:,} characters in a literal, {found}")


def data_error(error: SyntaxError, lines: Sequence[str], name: str | None = None) -> DataError:
    """The problem that pyoxigraph found, in our words as far as we have better ones."""
    if _REMOTE_CONTEXT in str(error.msg):
        return DataError(
            "expected a JSON-LD context within the document, found one to be loaded from"
            " elsewhere; copy it into the document",
            name,
        )
    problem = _WHERE.sub("", str(error.msg), count=1).rstrip(".")
    problem = _IN_OUR_WORDS.get(problem) or _CAPITAL.sub(lambda match: match[0].lower(), problem)
    if error.lineno is None or error.offset is None:
        return DataError(_short(problem), name)
    found = _found(error, lines)
    if found and "found" not in problem and found not in problem:
        problem = f"{_short(problem)}, found {found!r}"
    return DataError(_short(problem), name, error.lineno, error.offset)


def _found(error: SyntaxError, lines: Sequence[str]) -> str:
    """What the parser points at, if it is within a line and short enough to show."""
    line, column, end = error.lineno or 1, error.offset or 1, error.end_offset or 1
    if error.end_lineno != line or line > len(lines) or end - column > _LONGEST_SHOWN:
        return ""
    return lines[line - 1][column - 1 : end - 1].strip()


def _short(problem: str) -> str:
    one_line = " ".join(problem.splitlines())
    return one_line if len(one_line) <= _LONGEST_PROBLEM else one_line[:_LONGEST_PROBLEM] + "…"


def ox_format(name: str) -> ox.RdfFormat:
    """The pyoxigraph name of a format, from its media type."""
    found = ox.RdfFormat.from_media_type(name)
    if found is None:
        raise InternalError(f"pyoxigraph does not know {name}")
    return found
