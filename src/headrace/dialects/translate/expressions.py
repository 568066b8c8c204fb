"""Expressions of a query: operators, functions, aggregates and EXISTS."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Final

from lark import Token, Tree

from headrace.algebra.expressions import (
    VOLATILE,
    Aggregate,
    BuiltIn,
    Exists,
    Expression,
    FunctionCall,
    Membership,
    Moment,
    Operation,
    Timestamp,
    Variable,
)
from headrace.algebra.operators import Operator
from headrace.algebra.uncertainty import ARITIES
from headrace.dialects.translate.terms import TermTranslator
from headrace.dialects.translate.trees import Node, as_token, as_tree, present, span, subtree
from headrace.dialects.vocabulary import FUNCTIONS, MANY
from headrace.errors import QuerySyntaxError, UnsupportedError
from headrace.rdf.terms import Iri
from headrace.rdf.vocabulary import XSD

MOMENTS: Final = {
    "STARTTIME": Moment.START,
    "GETSTARTTIME": Moment.START,
    "ENDTIME": Moment.END,
    "GETENDTIME": Moment.END,
    "DURATION": Moment.DURATION,
}
# The public C-SPARQL engine knows timestamp() by this name.
TIMESTAMP_FUNCTION: Final = "http://larkc.eu/csparql/sparql/jena/ext#timestamp"

CASTS: Final = {
    XSD + name: (1, 1)
    for name in ("boolean", "double", "float", "decimal", "integer", "dateTime", "string")
}
KNOWN_ARITY: Final = CASTS | ARITIES
_TRIPLE: Final = 3


class ExpressionTranslator(TermTranslator, ABC):
    """Translates expressions; patterns inside EXISTS are left to the layer above."""

    aggregates_allowed: bool = False
    """Whether an aggregate may stand here: in SELECT, HAVING and ORDER BY only."""
    in_aggregate: bool = False
    in_exists: bool = False
    """Whether what is read stands in EXISTS, which sees the variables around it."""

    in_service: bool = False
    """Whether what is read is for a remote endpoint, which has graphs of its own and no streams."""

    @abstractmethod
    def group(self, tree: Tree[Token]) -> Operator:
        """Translate a group graph pattern."""

    def expression(self, node: Node) -> Expression:
        """Translate any expression."""
        if isinstance(node, Token):
            return self.variable(node)
        match node.data:
            case "bracketed":
                return self.expression(present(node)[0])
            case "or":
                return Operation("||", self._all(present(node)))
            case "and":
                return Operation("&&", self._all(present(node)))
            case "comparison":
                return self._comparison(node)
            case "membership":
                return self._membership(node)
            case "sum":
                return self._sum(node)
            case "product":
                return self._chain(present(node))
            case "unary":
                return self._unary(node)
            case "built_in":
                return self._built_in(node)
            case "function":
                return self._function(node)
            case "aggregate":
                return self.aggregate(node)
            case "exists":
                return self._exists(node)
            case "quoted_expression":
                return self._quoted_expression(node)
            case _:
                return self.term(node)

    def _all(self, nodes: list[Node]) -> tuple[Expression, ...]:
        return tuple(self.expression(node) for node in nodes)

    # -- operators -------------------------------------------------------------------------

    def _comparison(self, tree: Tree[Token]) -> Expression:
        left, comparator, right = present(tree)
        symbol = str(as_tree(comparator).children[0])
        return Operation(symbol, (self.expression(left), self.expression(right)))

    def _membership(self, tree: Tree[Token]) -> Expression:
        value, *_, candidates = present(tree)
        negated = subtree(tree, "not") is not None
        members = self._all(present(as_tree(candidates)))
        return Membership(self.expression(value), members, negated)

    def _sum(self, tree: Tree[Token]) -> Expression:
        """Add from left to right; in `?x -1` the sign belongs to the number and adds too."""
        first, *rest = present(tree)
        total = self.expression(first)
        symbol = "+"
        for node in rest:
            if isinstance(node, Tree) and node.data == "adder":
                symbol = str(node.children[0])
            elif isinstance(node, Tree) and node.data == "signed_product":
                number, *factors = present(node)
                product = self._chain([number, *factors])
                total = Operation("+", (total, product))
            else:
                total = Operation(symbol, (total, self.expression(node)))
        return total

    def _chain(self, nodes: list[Node]) -> Expression:
        """Multiply and divide from left to right."""
        first, *rest = nodes
        signed = isinstance(first, Token) and first.type == "SIGNED"
        result = self.number(as_token(first)) if signed else self.expression(first)
        for multiplier, factor in zip(rest[::2], rest[1::2], strict=True):
            symbol = str(as_tree(multiplier).children[0])
            result = Operation(symbol, (result, self.expression(factor)))
        return result

    def _unary(self, tree: Tree[Token]) -> Expression:
        sign, operand = present(tree)
        symbol = str(as_tree(sign).children[0])
        return Operation(symbol if symbol == "!" else f"u{symbol}", (self.expression(operand),))

    def _quoted_expression(self, tree: Tree[Token]) -> Expression:
        """`<< ?s ?p ?o >>` in an expression makes a triple, as TRIPLE(?s, ?p, ?o) does."""
        return BuiltIn("TRIPLE", self._all(present(tree)))

    # -- functions -------------------------------------------------------------------------

    def _built_in(self, tree: Tree[Token]) -> Expression:
        name = as_token(tree.children[0])
        nodes = present(as_tree(tree.children[1]))
        upper = name.upper()
        if upper == "TIMESTAMP":
            return self._timestamp(nodes, name, tree)
        self._check_arity(f"{upper}()", FUNCTIONS[upper], len(nodes), name)
        if upper == "GETDURATION":
            raise self.wrong(
                "getDURATION() gives an xsd:duration in EP-SPARQL, which nothing here compares",
                name,
                "write DURATION(), which is a number of seconds",
                UnsupportedError,
            )
        if upper in MOMENTS:
            return Timestamp((), moment=MOMENTS[upper], span=span(tree))
        if upper == "BOUND" and not (isinstance(nodes[0], Token) and nodes[0].type == "VAR"):
            raise self.wrong("BOUND() takes a variable", nodes[0], kind=QuerySyntaxError)
        synonyms = {"ISURI": "ISIRI", "URI": "IRI"}
        arguments = self._all(nodes)
        if upper in {"IRI", "URI"} and self.base is not None:
            # The base of the query is part of its meaning and must travel with the call.
            arguments = (*arguments, Iri(self.base))
        if upper in VOLATILE and not nodes:
            self._chances += 1
            return BuiltIn(upper, (), self._chances, span(tree))
        return BuiltIn(synonyms.get(upper, upper), arguments, span=span(tree))

    def _function(self, tree: Tree[Token]) -> Expression:
        name, call = as_tree(tree.children[0]), as_tree(tree.children[1])
        function = self.iri(name)
        distinct = subtree(call, "distinct")
        nodes = [node for node in present(call) if node is not distinct]
        if function.value == TIMESTAMP_FUNCTION:
            return self._timestamp(nodes, name, tree)
        if distinct is not None:
            raise self.wrong(
                f"<{function.value}> is not an aggregate, so DISTINCT has no meaning in it",
                distinct,
                kind=QuerySyntaxError,
            )
        if function.value in KNOWN_ARITY:
            shown = "".join(name.scan_values(lambda _: True))
            self._check_arity(f"{shown}()", KNOWN_ARITY[function.value], len(nodes), name)
        return FunctionCall(function, self._all(nodes), span(tree))

    def _check_arity(self, name: str, arity: tuple[int, int], given: int, at: Node) -> None:
        least, most = arity
        if least <= given <= most:
            return
        if most == MANY:
            wanted = f"at least {least}"
        elif least == most:
            wanted = f"{least or 'no'}"
        else:
            wanted = f"{least} to {most}"
        plural = "" if wanted == "1" else "s"
        raise self.wrong(
            f"{name} takes {wanted} argument{plural}, found {given or 'none'}",
            at,
            kind=QuerySyntaxError,
        )

    def _timestamp(self, nodes: list[Node], at: Node, call: Tree[Token]) -> Expression:
        """timestamp(?v), timestamp(?v, <stream>) and timestamp(?s, ?p, ?o)."""
        arguments = self._all(nodes)
        if len(arguments) == _TRIPLE:
            return Timestamp(arguments, span=span(call))
        if not arguments or len(arguments) > _TRIPLE:
            self._check_arity("timestamp()", (1, _TRIPLE), len(arguments), at)
        if not isinstance(arguments[0], Variable):
            raise self.wrong(
                "timestamp() takes a variable, or the three terms of a triple", nodes[0]
            )
        if len(arguments) == 1:
            return Timestamp(arguments, span=span(call))
        stream = arguments[1]
        if not isinstance(stream, Variable | Iri):
            raise self.wrong("the second argument of timestamp() is a stream's IRI", nodes[1])
        return Timestamp(arguments[:1], stream, span=span(call))

    # -- aggregates and patterns -----------------------------------------------------------

    def aggregate(self, tree: Tree[Token]) -> Aggregate:
        """COUNT(*), SUM(DISTINCT ?x), GROUP_CONCAT(?x; SEPARATOR=",") and their like."""
        name = as_token(tree.children[0])
        if self.in_aggregate:
            raise self.wrong(
                f"{name.upper()}() stands inside another aggregate",
                name,
                "compute the inner one in a subquery",
            )
        if not self.aggregates_allowed:
            raise self.wrong(
                f"{name.upper()}() is an aggregate, which cannot stand here",
                name,
                "aggregates stand in SELECT, HAVING and ORDER BY; use a subquery to filter by one",
            )
        return self.aggregate_of(tree)

    def aggregate_of(self, tree: Tree[Token]) -> Aggregate:
        """The aggregate itself, wherever the dialect lets it stand."""
        name, *rest = present(tree)
        function = str(name).upper()
        distinct, separator, argument = False, None, None
        star: Node | None = None
        for node in rest:
            match node:
                case Tree(data="distinct"):
                    distinct = True
                case Tree(data="separator", children=[Token() as text]):
                    separator = self.string(text)
                case Tree(data="star"):
                    star = node
                case _:
                    argument = self._aggregated(node)
        if star is not None and function != "COUNT":
            raise self.wrong(f"only COUNT takes *, not {function}", star, kind=QuerySyntaxError)
        if separator is not None and function != "GROUP_CONCAT":
            raise self.wrong(
                f"only GROUP_CONCAT takes a separator, not {function}", name, kind=QuerySyntaxError
            )
        return Aggregate(function, argument, distinct, separator)

    def _aggregated(self, node: Node) -> Expression:
        """What an aggregate is over, which has no aggregate in it."""
        self.in_aggregate = True
        argument = self.expression(node)
        self.in_aggregate = False
        return argument

    def _exists(self, tree: Tree[Token]) -> Expression:
        before = self.aggregates_allowed, self.in_aggregate, self.in_exists, self.bgp
        self.aggregates_allowed, self.in_aggregate, self.in_exists = False, False, True
        pattern = self.group(as_tree(tree.children[-1]))
        self.aggregates_allowed, self.in_aggregate, self.in_exists, self.bgp = before
        return Exists(pattern, subtree(tree, "not") is not None)
