"""C-SPARQL: windows in FROM clauses, and AGGREGATE; also how Sparkwave and SPARQLStream write."""

from __future__ import annotations

from lark import Token, Tree

from headrace.algebra.expressions import Aggregate, Expression, Membership, Variable
from headrace.algebra.operators import (
    Annotate,
    Annotation,
    Filter,
    Graph,
    Operator,
    Union,
    Window,
)
from headrace.algebra.scope import possible
from headrace.algebra.windows import WindowDeclaration
from headrace.dialects.translate.continuous import ContinuousTranslator
from headrace.dialects.translate.patterns import conjunction
from headrace.dialects.translate.queries import Head, is_grouped
from headrace.dialects.translate.trees import (
    Node,
    as_token,
    as_tree,
    present,
    span,
    subtree,
    subtrees,
    variable_tokens,
)
from headrace.errors import nearest


class CSparql(ContinuousTranslator):
    """C-SPARQL, by its paper and by its engine."""

    grammar = ("sparql", "continuous", "csparql")
    named_streams_stay_apart = True
    """Whether FROM NAMED STREAM keeps a window out of the default graph."""

    def source_clause(self, tree: Tree[Token]) -> None:
        """FROM STREAM: a window by the name of its stream, in the default graph unless NAMED."""
        named = subtree(tree, "named") is not None
        stream = self.iri(as_tree(subtree(tree, "iri")))
        frame = self.frame(as_tree(subtree(tree, "window")))
        in_default = not (named and self.named_streams_stay_apart)
        self.declare(WindowDeclaration(stream, stream, frame, in_default, span(tree)), tree)

    def graph(self, name: Node, group: Tree[Token]) -> Operator:
        """GRAPH reads a stream's window by its name; a variable ranges over those too."""
        target, pattern = self.name(name), self.group(group)
        if self.in_service:
            return Graph(target, pattern)
        if any(window.name == target for window in self.windows):
            return Window(target, pattern)
        if isinstance(target, Variable) and self.windows:
            names = tuple(dict.fromkeys(window.name for window in self.windows))
            # A static graph of the same name is not what the name stands for.
            others = Filter(Membership(target, names, negated=True), Graph(target, pattern))
            return Union((others, Window(target, pattern)))
        return Graph(target, pattern)

    # -- AGGREGATE -------------------------------------------------------------------------

    def where_clause(self, tree: Tree[Token]) -> Operator:
        """A group, its solutions annotated by the AGGREGATE clauses, then filtered by theirs."""
        pattern = super().where_clause(tree)
        annotations: list[Annotation] = []
        filters: list[Node] = []
        for block in subtrees(tree, "aggregate_block"):
            for part in present(block):
                clause = as_tree(part)
                if clause.data == "filter":
                    filters.append(clause.children[0])
                else:
                    annotations.append(self._annotation(clause, pattern, annotations))
                    filters += [each.children[0] for each in subtrees(clause, "filter")]
        if annotations:
            pattern = Annotate(pattern, tuple(annotations))
        if filters:
            pattern = Filter(conjunction(self._conditions(filters, pattern)), pattern)
        return pattern

    def _conditions(self, nodes: list[Node], pattern: Operator) -> list[Expression]:
        for node in nodes:
            for token in variable_tokens(node):
                self._check_known(token, possible(pattern), "this FILTER")
        return [self.expression(node) for node in nodes]

    def _annotation(
        self, tree: Tree[Token], pattern: Operator, earlier: list[Annotation]
    ) -> Annotation:
        name = as_token(tree.children[0])
        variable = self.variable(name)
        if variable in possible(pattern) or any(variable == each.variable for each in earlier):
            raise self.wrong(
                f"{name} is already bound, and an AGGREGATE clause needs a new variable", name
            )
        call = as_tree(subtree(tree, "aggregate_call"))
        keys = [as_token(key) for key in present(as_tree(subtree(tree, "aggregate_keys")))]
        scope = possible(pattern)
        for token in [*keys, *variable_tokens(call)]:
            self._check_known(token, scope, "WHERE, which is all that AGGREGATE reads")
        aggregate = self.aggregate_of(call)
        self._check_argument(aggregate, call)
        return Annotation(variable, aggregate, tuple(self.variable(key) for key in keys))

    def _check_known(self, token: Token, scope: frozenset[Variable], where: str) -> None:
        if self.variable(token) not in scope:
            known = sorted(each.name for each in scope if not each.is_anonymous)
            near = nearest(token[1:], known)
            raise self.wrong(
                f"{token} is not bound in {where}",
                token,
                f"did you mean ?{near}?" if near else f"bound are ?{', ?'.join(known)}",
            )

    def _check_argument(self, aggregate: Aggregate, call: Tree[Token]) -> None:
        if aggregate.argument is None and aggregate.function != "COUNT":
            raise self.wrong(
                f"{aggregate.function} needs a variable to work on",
                call,
                f"write it as {aggregate.function}(?x)",
            )

    def level(
        self, tree: Tree[Token], pattern: Operator, heads: list[Head]
    ) -> tuple[Operator, list[Head], bool]:
        """AGGREGATE annotates and GROUP BY collapses: a query level has one or the other."""
        where = subtree(tree, "where")
        block = None if where is None else subtree(where, "aggregate_block")
        if block is not None and is_grouped(tree):
            raise self.wrong(
                "AGGREGATE and GROUP BY or an aggregate in SELECT stand in one query",
                block,
                "AGGREGATE keeps every row and GROUP BY merges them; put one into a subquery",
            )
        return super().level(tree, pattern, heads)


class SparqlStream(CSparql):
    """SPARQLStream: C-SPARQL's clauses, where FROM NAMED STREAM is read by bare patterns."""

    named_streams_stay_apart = False
