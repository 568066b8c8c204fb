"""Names and values of a query: IRIs with their prefixes, literals, variables and blank nodes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from lark import Token, Tree

from headrace.algebra.expressions import PatternTerm, TriplePattern, Variable
from headrace.dialects.durations import LONGEST, UNITS, iso_duration, unit_duration
from headrace.dialects.text import shortened
from headrace.dialects.translate.trees import Node, as_token, as_tree, present, span
from headrace.errors import QueryError, QuerySyntaxError, ScopeError, Source, Span, nearest
from headrace.rdf.iri import resolve
from headrace.rdf.terms import BlankNode, Iri, Literal, QuotedTriple, Term
from headrace.rdf.vocabulary import (
    RDF_NIL,
    RDF_TYPE,
    WELL_KNOWN_PREFIXES,
    XSD_BOOLEAN,
    XSD_DECIMAL,
    XSD_DOUBLE,
    XSD_INTEGER,
)

_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES: Final = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f"}
_MOST_DIGITS: Final = 18
_DIGITS_OF_A_SECOND: Final = 4
"""Of one in milliseconds."""
_MOST_NOTES: Final = 20
_LONG_QUOTES: Final = ('"""', "'''")


@dataclass(frozen=True, slots=True)
class Note:
    """Something about a query that is not wrong but worth knowing.

    Attributes:
        text: what it says.
        at: an excerpt of the query.
        span: where that stands.
        is_reading: whether it says how the query is read; a run says so only where it matters.
    """

    text: str
    at: str = ""
    span: Span | None = None
    is_reading: bool = False


class TermTranslator:
    """Translates the leaves of a query and keeps what they depend on."""

    def __init__(self, source: Source) -> None:
        """Start with no base, no prefixes and nothing noted."""
        self.source = source
        self.base: str | None = None
        self.prefixes: dict[str, str] = {}
        self.notes: list[Note] = []
        self._labels: dict[str, int] = {}
        self._fresh = 0
        self._grouped_values = 0
        """How many aggregates of GROUP BY have a variable."""
        self._chances = 0
        self.bgp: int | None = None
        """Which basic graph pattern is being read; None in a CONSTRUCT template."""

    # -- errors and notes ------------------------------------------------------------------

    def wrong(
        self,
        problem: str,
        at: Node,
        hint: str | None = None,
        kind: type[QueryError] = ScopeError,
    ) -> QueryError:
        """The error to raise where the query is wrong at a place of it."""
        return kind(problem, self.source, span(at), hint)

    def note(self, text: str, at: Node | None = None, *, is_reading: bool = False) -> None:
        """Remember a remark about the query, once."""
        if len(self.notes) >= _MOST_NOTES:
            return
        where = None if at is None else span(at)
        remark = Note(text, "" if where is None else self.source.excerpt(where), where, is_reading)
        if remark not in self.notes:
            self.notes.append(remark)

    # -- names -----------------------------------------------------------------------------

    def prologue(self, tree: Tree[Token]) -> None:
        """Take over BASE and PREFIX declarations, each in force from where it stands."""
        for declaration in tree.children:
            match as_tree(declaration):
                case Tree(data="base", children=[Token() as iri]):
                    self.base = self._resolved(iri[1:-1])
                case Tree(data="prefix", children=[Token() as name, Token() as iri]):
                    if name.index(":") != len(name) - 1:
                        raise self.wrong(
                            f"expected a prefix such as '{name.split(':')[0]}:', found '{name}'",
                            name,
                            kind=QuerySyntaxError,
                        )
                    self.prefixes[name[:-1]] = self._resolved(iri[1:-1])

    def iri(self, tree: Node) -> Iri:
        """An IRI, written out or by prefix."""
        if isinstance(tree, Tree) and tree.data == "a":
            return Iri(RDF_TYPE)
        token = tree if isinstance(tree, Token) else as_token(tree.children[0])
        if token.type == "IRIREF":
            return Iri(self._resolved(token[1:-1]))
        prefix, _, local = token.partition(":")
        if prefix not in self.prefixes:
            raise self._unknown_prefix(shortened(prefix), token)
        return Iri(self.prefixes[prefix] + re.sub(r"\\(.)", r"\1", local))

    def _resolved(self, reference: str) -> str:
        return reference if self.base is None else resolve(reference, self.base)

    def _unknown_prefix(self, prefix: str, at: Token) -> QueryError:
        known = nearest(prefix, self.prefixes)
        if known is not None:
            hint = f"did you mean '{known}:'?"
        elif prefix in WELL_KNOWN_PREFIXES:
            hint = f"add PREFIX {prefix}: <{WELL_KNOWN_PREFIXES[prefix]}>"
        else:
            hint = f"add PREFIX {prefix}: <...> at the top of the query"
        return self.wrong(f"prefix '{prefix}:' is not declared", at, hint)

    def name(self, node: Node) -> Variable | Iri:
        """A variable or an IRI, as GRAPH and its kin take."""
        if isinstance(node, Token) and node.type == "VAR":
            return self.variable(node)
        return self.iri(node)

    def variable(self, token: Token) -> Variable:
        """A variable; `?x` and `$x` are the same one."""
        return Variable(token[1:])

    def fresh(self, kind: str = "") -> Variable:
        """A variable that no query can name, for what has no name in the text."""
        self._fresh += 1
        return Variable(f"_:.{kind}{self._fresh - 1}")

    def blank(self, tree: Tree[Token]) -> Variable:
        """A blank node of a pattern: a variable that lives in one basic graph pattern."""
        if not tree.children:
            return self.fresh()
        token = as_token(tree.children[0])
        if self.bgp is not None and self._labels.setdefault(token, self.bgp) != self.bgp:
            raise self.wrong(
                f"blank node '{token}' is used in two graph patterns",
                token,
                "a blank node lives in one basic graph pattern; use a variable to join two",
            )
        return Variable(str(token))

    # -- values ----------------------------------------------------------------------------

    def literal(self, tree: Tree[Token]) -> Literal:
        """A string with its language or datatype, a number, or a truth value."""
        match present(tree):
            case [Token(type="STRING") as text]:
                return Literal(self.string(text))
            case [Token(type="STRING") as text, Token(type="LANGTAG") as tag]:
                return Literal(self.string(text), language=tag[1:])
            case [Token(type="STRING") as text, datatype]:
                return Literal(self.string(text), self.iri(datatype).value)
            case [Tree(data="boolean", children=[word])]:
                return Literal(str(word).lower(), XSD_BOOLEAN)
            case [number]:
                return self.number(as_token(number))
            case _:
                raise self.wrong("expected a literal", tree, kind=QuerySyntaxError)

    def string(self, token: Token) -> str:
        """The text between the quotes, with its escapes undone."""
        quotes = 3 if token[:3] in _LONG_QUOTES and len(token) > 5 else 1  # noqa: PLR2004
        return _ESCAPED.sub(lambda found: _ESCAPES.get(found[1], found[1]), token[quotes:-quotes])

    def number(self, token: Token) -> Literal:
        """A number, whose form says its datatype."""
        if "e" in token or "E" in token:
            return Literal(str(token), XSD_DOUBLE)
        return Literal(str(token), XSD_DECIMAL if "." in token else XSD_INTEGER)

    def natural(self, token: Token, what: str) -> int:
        """A whole number that is not negative, as LIMIT and count windows take."""
        if not token.isdigit():
            found = shortened(token)
            raise self.wrong(f"expected a whole number for {what}, found '{found}'", token)
        if len(token) > _MOST_DIGITS:
            raise self.wrong(f"the number for {what} is too large", token)
        return int(token)

    def duration(self, tree: Tree[Token]) -> int:
        """A duration in microseconds: `30s`, `1h 30m`, `PT0.5S`, or a number of milliseconds."""
        children = [as_token(child) for child in present(tree)]
        first = children[0]
        if first.type == "DURATION":
            return self.exact(iso_duration(first), first)
        if len(children) == 1:
            if len(first) < _DIGITS_OF_A_SECOND:
                self.note(
                    f"'{first}' has no unit, so it is {first} ms; for seconds: {first}s", first
                )
            return self.exact(unit_duration(first, "ms"), first)
        total = Decimal(0)
        for number, unit in zip(children[::2], children[1::2], strict=True):
            total += self.unit_duration(number, unit)
        return self.exact(total, tree)

    def unit_duration(self, number: Token, unit: Token) -> Decimal:
        """One number with its unit, in microseconds."""
        if unit.lower() not in UNITS:
            known = nearest(unit, UNITS)
            hint = f"did you mean '{known}'? " if known else ""
            raise self.wrong(
                f"unknown unit of time '{shortened(unit)}'",
                unit,
                hint + "units are ns, us, ms, s, m, h and d",
            )
        return unit_duration(number, unit)

    def exact(self, microseconds: Decimal | None, at: Node) -> int:
        """A duration in whole microseconds, which is all that the clock counts."""
        if microseconds is None:
            raise self.wrong(
                "a duration in years or months has no fixed length",
                at,
                "write it in days, such as P30D",
            )
        if microseconds > LONGEST:
            raise self.wrong("a duration is longer than 3,000 years", at)
        if microseconds != int(microseconds):
            raise self.wrong(
                "a duration is finer than a microsecond", at, "the clock counts microseconds"
            )
        return int(microseconds)

    # -- terms of patterns -----------------------------------------------------------------

    def term(self, node: Node) -> PatternTerm:
        """A term of a pattern that stands for itself; lists and property lists do not."""
        if isinstance(node, Token):
            return self.variable(node)
        match node.data:
            case "iri" | "a":
                return self.iri(node)
            case "literal":
                return self.literal(node)
            case "blank":
                return self.blank(node)
            case "nil":
                return Iri(RDF_NIL)
            case _:
                return self.quoted(node)

    def quoted(self, tree: Tree[Token]) -> TriplePattern | QuotedTriple:
        """A quoted triple, or a pattern of one if it has variables."""
        subject, predicate, object_ = (self.term(child) for child in present(tree))
        if isinstance(subject, Literal):
            raise self.wrong("a literal cannot be the subject of a triple", present(tree)[0])
        if _is_ground(subject) and _is_ground(predicate) and _is_ground(object_):
            return QuotedTriple(_ground(subject), _ground(predicate), _ground(object_))
        return TriplePattern(subject, predicate, object_)


def _is_ground(term: PatternTerm) -> bool:
    return not isinstance(term, Variable | TriplePattern)


def _ground(term: PatternTerm) -> Term:
    assert isinstance(term, Iri | BlankNode | Literal | QuotedTriple)
    return term
