"""Terms, patterns and expressions as short lines for people: SPARQL, with short names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, assert_never

from headrace.algebra.expressions import (
    Aggregate,
    BuiltIn,
    Exists,
    Expression,
    FunctionCall,
    Membership,
    Moment,
    Operation,
    PatternTerm,
    Timestamp,
    TriplePattern,
    Variable,
)
from headrace.algebra.paths import (
    Alternative,
    Inverse,
    NegatedSet,
    OneOrMore,
    Path,
    PathPattern,
    Sequence,
    ZeroOrMore,
    ZeroOrOne,
)
from headrace.graphs.names import Names, clipped, visible
from headrace.rdf.terms import BlankNode, Iri, Literal, QuotedTriple, Term, canonical
from headrace.rdf.vocabulary import (
    RDF_TYPE,
    XSD_BOOLEAN,
    XSD_DECIMAL,
    XSD_DOUBLE,
    XSD_INTEGER,
    XSD_STRING,
)

_PLAIN: Final = {XSD_BOOLEAN, XSD_DECIMAL, XSD_DOUBLE, XSD_INTEGER}
_LOOSEST_FIRST: Final = (
    {"||"},
    {"&&"},
    {"=", "!=", "<", "<=", ">", ">="},
    {"+", "-"},
    {"*", "/"},
)
_RANKS: Final = {symbol: rank for rank, group in enumerate(_LOOSEST_FIRST) for symbol in group}
_PREFIXES: Final = {"!": "!", "u-": "-", "u+": "+"}
_TIGHTEST: Final = len(_LOOSEST_FIRST)


@dataclass(frozen=True, slots=True)
class Words:
    """Writes what stands in a query with the names chosen for it.

    Attributes:
        names: short names for IRIs.
        readable: names for the variables that translation made.
    """

    names: Names
    readable: Mapping[Variable, Variable] = field(default_factory=dict)

    def term(self, term: PatternTerm | Term) -> str:
        """Write a term of a pattern."""
        match term:
            case Variable():
                name = self.readable.get(term, term).name
                return name if name.startswith("_:") else f"?{name}"
            case Iri():
                return self.names.short(term)
            case BlankNode(label):
                return f"_:{label}"
            case Literal():
                return self._literal(term)
            case QuotedTriple() | TriplePattern():
                parts = (term.subject, term.predicate, term.object)
                return f"<< {' '.join(map(self.term, parts))} >>"
            case _:
                assert_never(term)

    def _literal(self, literal: Literal) -> str:
        if literal.datatype in _PLAIN and literal.lexical:
            return visible(clipped(literal.lexical.removeprefix("+")))
        text = visible(canonical(Literal(clipped(literal.lexical))))
        if literal.language is not None:
            return f"{text}@{literal.language}"
        if literal.datatype == XSD_STRING:
            return text
        return f"{text}^^{self.names.short(Iri(literal.datatype))}"

    def variables(self, variables: tuple[Variable, ...]) -> str:
        """Variables, one after the other."""
        return " ".join(map(self.term, variables))

    def pattern(self, pattern: TriplePattern | PathPattern) -> str:
        """A triple pattern or a path pattern as one line."""
        subject, object_ = self.term(pattern.subject), self.term(pattern.object)
        return f"{subject} {self.predicate(pattern)} {object_}"

    def predicate(self, pattern: TriplePattern | PathPattern) -> str:
        """How a pattern leads from its subject to its object."""
        if isinstance(pattern, PathPattern):
            return self.path(pattern.path)
        if pattern.predicate == Iri(RDF_TYPE):
            return "a"
        return self.term(pattern.predicate)

    def path(self, path: Path, *, inner: bool = False) -> str:
        """A property path."""
        match path:
            case Iri():
                return self.names.short(path)
            case Inverse(step):
                return f"^{self.path(step, inner=True)}"
            case Sequence(steps):
                text = "/".join(self.path(step, inner=True) for step in steps)
                return f"({text})" if inner else text
            case Alternative(choices):
                text = "|".join(self.path(choice, inner=True) for choice in choices)
                return f"({text})" if inner else text
            case ZeroOrOne(step):
                return f"{self.path(step, inner=True)}?"
            case ZeroOrMore(step):
                return f"{self.path(step, inner=True)}*"
            case OneOrMore(step):
                return f"{self.path(step, inner=True)}+"
            case NegatedSet(forward, backward):
                names = [self.names.short(each) for each in forward]
                names += [f"^{self.names.short(each)}" for each in backward]
                return f"!({'|'.join(names)})"
            case _:
                assert_never(path)

    def expression(self, expression: Expression, rank: int = 0) -> str:
        """An expression, in brackets if what stands around it binds tighter."""
        match expression:
            case Variable() | Iri() | BlankNode() | Literal() | QuotedTriple() | TriplePattern():
                return self.term(expression)
            case Operation(symbol, (argument,)):
                return f"{_PREFIXES.get(symbol, symbol)}{self.expression(argument, _TIGHTEST)}"
            case Operation(symbol, arguments):
                own = _RANKS.get(symbol, 0)
                texts = [
                    self.expression(each, own + (position > 0))
                    for position, each in enumerate(arguments)
                ]
                text = f" {symbol} ".join(texts)
                return f"({text})" if own < rank else text
            case Membership(value, candidates, negated):
                word = "NOT IN" if negated else "IN"
                return f"{self.expression(value, _TIGHTEST)} {word} ({self._list(candidates)})"
            case BuiltIn(name, arguments):
                return f"{name}({self._list(arguments)})"
            case FunctionCall(function, arguments):
                return f"{self.names.short(function)}({self._list(arguments)})"
            case Timestamp(moment=Moment()):
                return expression.called
            case Timestamp(arguments, stream):
                where = "" if stream is None else f", {self.term(stream)}"
                return f"timestamp({self._list(arguments)}{where})"
            case Exists(_, negated):
                return "NOT EXISTS {…}" if negated else "EXISTS {…}"
            case Aggregate():
                return self.aggregate(expression)
            case _:
                assert_never(expression)

    def aggregate(self, aggregate: Aggregate) -> str:
        """A call of an aggregate function."""
        argument = "*" if aggregate.argument is None else self.expression(aggregate.argument)
        distinct = "DISTINCT " if aggregate.distinct else ""
        separator = "" if aggregate.separator is None else f"; {aggregate.separator!r}"
        return f"{aggregate.function}({distinct}{argument}{separator})"

    def _list(self, expressions: tuple[Expression, ...]) -> str:
        return ", ".join(map(self.expression, expressions))
