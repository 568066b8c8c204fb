"""CQELS-QL: windows as patterns, the report's named windows, and its heads without AS."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from lark import Token, Tree

from headrace.algebra.expressions import Aggregate, Expression, Operation, Variable
from headrace.algebra.operators import (
    Annotate,
    Annotation,
    Filter,
    Group,
    Operator,
    Window,
)
from headrace.algebra.windows import WindowDeclaration, WindowFrame
from headrace.dialects.profiles import Profile
from headrace.dialects.translate.continuous import ContinuousTranslator
from headrace.dialects.translate.patterns import OpenGroup
from headrace.dialects.translate.queries import Head
from headrace.dialects.translate.trees import (
    Node,
    as_token,
    as_tree,
    present,
    span,
    subtree,
    tokens,
)
from headrace.errors import Source, UnsupportedError
from headrace.rdf.terms import Iri

_EXTREMES = ("MAX", "MIN")


class Cqels(ContinuousTranslator):
    """CQELS-QL, by its engine and by its technical report."""

    grammar = ("sparql", "continuous", "cqels")

    def __init__(self, source: Source, profile: Profile, settings: Mapping[str, str]) -> None:
        """Start with no window named by a variable."""
        super().__init__(source, profile, settings)
        self._handles: set[str] = set()

    # -- windows ---------------------------------------------------------------------------

    def source_clause(self, tree: Tree[Token]) -> None:
        """FROM NAMED <s> [frame] AS ?w: a window that GRAPH ?w reads."""
        stream, window, handle = tree.children
        name = Iri(as_token(handle)[1:])
        if name.value in self._handles:
            raise self.wrong(f"two windows are called {handle}", as_token(handle))
        frame = self.frame(as_tree(window))
        declaration = WindowDeclaration(name, self.iri(as_tree(stream)), frame, span=span(tree))
        self.declare(declaration, tree)
        self._handles.add(name.value)

    def other_element(self, tree: Tree[Token], group: OpenGroup) -> None:
        """STREAM <s> [frame] { ... } declares a window and matches a pattern in it."""
        if tree.data != "stream":
            super().other_element(tree, group)
            return
        name, window, inner = present(tree)
        stream = self.name(name)
        frame = self.frame(as_tree(window))
        declared = self._block_window(stream, frame, tree)
        bound = stream if isinstance(stream, Variable) else None
        group.join(Window(declared.name, self.group(as_tree(inner)), bound))

    def _block_window(
        self, stream: Variable | Iri, frame: WindowFrame, tree: Tree[Token]
    ) -> WindowDeclaration:
        """The window of a STREAM block; equal ones over a stream are one."""
        for window in self.windows:
            if window.stream == stream and window.frame == frame:
                return window
        base = stream.value if isinstance(stream, Iri) else f"?{stream.name}"
        taken = {window.name.value for window in self.windows}
        numbered = (base if count == 1 else f"{base}#{count}" for count in itertools.count(1))
        value = next(name for name in numbered if name not in taken)
        return self.declare(WindowDeclaration(Iri(value), stream, frame, span=span(tree)), tree)

    def graph(self, name: Node, group: Tree[Token]) -> Operator:
        """GRAPH ?w reads the window that AS ?w declared."""
        handle = self._handle(name)
        if handle is not None:
            return Window(handle, self.group(group))
        return super().graph(name, group)

    def _handle(self, node: Node) -> Iri | None:
        if not (isinstance(node, Token) and node.type == "VAR"):
            return None
        return Iri(node[1:]) if node[1:] in self._handles else None

    def variable(self, token: Token) -> Variable:
        """A variable, unless it is the name of a window."""
        if self._handle(token) is not None:
            raise self.wrong(
                f"{token} is the name of a window and has no value",
                token,
                f"use it only as GRAPH {token} {{ ... }}",
            )
        return super().variable(token)

    # -- heads without AS ------------------------------------------------------------------

    def head(self, node: Node) -> Head:
        """A column; an aggregate without AS is named after its text: count(?x) is ?count_x."""
        if isinstance(node, Token) or node.data == "head":
            return super().head(node)
        if node.data != "aggregate":
            raise self.wrong("a computed column needs a name", node, "write it as (... AS ?name)")
        if _is_extreme(node) and _inner_aggregate(node) is not None:
            return Head(_named(node), None, node)
        return Head(_named(node), self.aggregate_of(node), node)

    def level(
        self, tree: Tree[Token], pattern: Operator, heads: list[Head]
    ) -> tuple[Operator, list[Head], bool]:
        """A bare max(...) or min(...) keeps the rows that reach it in their group."""
        extreme = [head for head in heads if _is_extreme(head.node)]
        if not extreme:
            return super().level(tree, pattern, heads)
        modifiers = as_tree(subtree(tree, "modifiers"))
        head = extreme[0]
        node = as_tree(head.node)
        self._check_alone(node, as_tree(tree.children[0]), modifiers)
        _, keys = self.keys(modifiers, pattern)
        function = str(node.children[0]).upper()
        inner = _inner_aggregate(node)
        if inner is None:
            value: Expression = self._aggregated(present(node)[-1])
        else:
            # max(count(?x)): the groups whose count is the largest of all.
            plain = [each.variable for each in heads if isinstance(each.node, Token)]
            counted = self.fresh("count")
            grouped = tuple(dict.fromkeys((*keys, *plain)))
            pattern = Group(pattern, grouped, ((counted, self.aggregate_of(inner)),))
            value, keys = counted, ()
        best = self.fresh("best")
        annotation = Annotation(best, Aggregate(function, value), keys)
        reached = Filter(Operation("=", (value, best)), Annotate(pattern, (annotation,)))
        named = [Head(each.variable, best, each.node) if each is head else each for each in heads]
        return reached, named, False

    def _check_alone(
        self, extreme: Tree[Token], clause: Tree[Token], modifiers: Tree[Token]
    ) -> None:
        """Rows are kept, not merged, so no other aggregate of this level has a group to work on."""
        own = set(map(id, extreme.iter_subtrees()))
        others = [
            each
            for part in (clause, subtree(modifiers, "having"), subtree(modifiers, "order_by"))
            if part is not None
            for each in part.find_data("aggregate")
            if id(each) not in own
        ]
        if others or subtree(modifiers, "having") is not None:
            raise self.wrong(
                "a bare max or min cannot be combined with another aggregate or with HAVING",
                others[0] if others else as_tree(subtree(modifiers, "having")),
                "compute it in a subquery and name it with AS",
                UnsupportedError,
            )


def _is_extreme(node: Node) -> bool:
    bare = isinstance(node, Tree) and node.data == "aggregate"
    return bare and str(as_tree(node).children[0]).upper() in _EXTREMES


def _inner_aggregate(node: Tree[Token]) -> Tree[Token] | None:
    argument = present(node)[-1]
    nested = isinstance(argument, Tree) and argument.data == "aggregate"
    return as_tree(argument) if nested else None


def _named(node: Tree[Token]) -> Variable:
    words = [
        token.lstrip("?$").lower() if token.type != "VAR" else token[1:] for token in tokens(node)
    ]
    return Variable("_".join(word for word in words if word.isidentifier()))
