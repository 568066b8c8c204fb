"""Expressions as SPARQL text, in brackets wherever they have parts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import assert_never

from headrace.algebra.expressions import (
    Aggregate,
    BuiltIn,
    Exists,
    Expression,
    FunctionCall,
    Membership,
    Operation,
    Timestamp,
    TriplePattern,
    Variable,
)
from headrace.algebra.operators import Operator
from headrace.background.text_terms import TermWriter, ground_text, string_text
from headrace.errors import UnsupportedError
from headrace.rdf.terms import BlankNode, Iri, Literal, QuotedTriple


class ExpressionWriter(TermWriter, ABC):
    """Writes expressions; patterns inside EXISTS are left to the layer above."""

    def __init__(self, taken: frozenset[str]) -> None:
        """Start without a base."""
        super().__init__(taken)
        self.base: Iri | None = None
        """What IRI() resolves against: part of the meaning of its calls, so it travels along."""

    @abstractmethod
    def group(self, operator: Operator) -> str:
        """What stands between the braces of a group that means an operator."""

    def expression(self, expression: Expression) -> str:
        """Any expression."""
        match expression:
            case Variable():
                return self.name(expression)
            case Iri() | BlankNode() | Literal():
                return ground_text(expression)
            case QuotedTriple(subject, predicate, object_):
                return self._call("TRIPLE", (subject, predicate, object_))
            case TriplePattern(subject, predicate, object_):
                return self._call("TRIPLE", (subject, predicate, object_))
            case Operation(symbol, arguments):
                return self._operation(symbol, arguments)
            case Membership(value, candidates, negated):
                word = "NOT IN" if negated else "IN"
                return f"({self.expression(value)} {self._call(word, candidates)})"
            case BuiltIn("IRI", (argument, Iri() as base)):
                return self._resolving(argument, base)
            case BuiltIn(name, arguments):
                return self._call(name, arguments)
            case FunctionCall(function, arguments):
                return self._call(ground_text(function), arguments)
            case Exists(pattern, negated):
                return f"{'NOT ' if negated else ''}EXISTS {{ {self.group(pattern)} }}"
            case Aggregate():
                return self.aggregate(expression)
            case Timestamp():
                raise UnsupportedError(
                    f"{expression.called} reads a stream, which a remote endpoint does not see",
                    hint="use it outside of the SERVICE",
                )
            case _:
                assert_never(expression)

    def _call(self, name: str, arguments: tuple[Expression, ...]) -> str:
        return f"{name}({', '.join(map(self.expression, arguments))})"

    def _operation(self, symbol: str, arguments: tuple[Expression, ...]) -> str:
        if len(arguments) == 1:
            # In brackets, so that a sign and a number are not read as one number.
            return f"({symbol.removeprefix('u')} ({self.expression(arguments[0])}))"
        return f"({f' {symbol} '.join(map(self.expression, arguments))})"

    def _resolving(self, argument: Expression, base: Iri) -> str:
        if self.base not in (None, base):
            raise UnsupportedError("a remote endpoint can be told of one BASE only")
        self.base = base
        return self._call("IRI", (argument,))

    def aggregate(self, call: Aggregate) -> str:
        """COUNT and its like."""
        distinct = "DISTINCT " if call.distinct else ""
        argument = "*" if call.argument is None else self.expression(call.argument)
        separator = ""
        if call.separator is not None:
            separator = f"; SEPARATOR={string_text(call.separator)}"
        return f"{call.function}({distinct}{argument}{separator})"

    def constraint(self, expression: Expression) -> str:
        """An expression where FILTER, HAVING and ORDER BY want one: in brackets."""
        text = self.expression(expression)
        return text if text.startswith("(") else f"({text})"
