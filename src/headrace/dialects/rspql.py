"""RSP-QL and RSP-QL*: named windows, declared in FROM clauses and read by WINDOW patterns."""

from __future__ import annotations

from lark import Token, Tree

from headrace.algebra.operators import Window
from headrace.algebra.windows import WindowDeclaration
from headrace.dialects.translate.continuous import ContinuousTranslator
from headrace.dialects.translate.patterns import OpenGroup
from headrace.dialects.translate.trees import Node, as_tree, present, span, subtree, subtrees
from headrace.errors import nearest
from headrace.rdf.terms import Iri


class RspQl(ContinuousTranslator):
    """RSP-QL with RDF-star patterns."""

    grammar = ("sparql", "continuous", "rspql")

    def source_clause(self, tree: Tree[Token]) -> None:
        """FROM NAMED WINDOW <w> ON <s> [frame]."""
        name, stream = (self.iri(each) for each in subtrees(tree, "iri"))
        frame = self.frame(as_tree(subtree(tree, "window")))
        if any(window.name == name for window in self.windows):
            raise self.wrong(f"two windows are called <{name.value}>", subtrees(tree, "iri")[0])
        self.declare(WindowDeclaration(name, stream, frame, span=span(tree)), tree)

    def other_element(self, tree: Tree[Token], group: OpenGroup) -> None:
        """WINDOW <w> { ... }."""
        if tree.data != "window_pattern":
            super().other_element(tree, group)
            return
        node, inner = present(tree)
        name = self.name(node)
        if isinstance(name, Iri):
            self._check_declared(name, node)
        elif not self.windows:
            raise self.wrong(
                f"WINDOW ?{name.name} ranges over the declared windows, but there are none",
                node,
                "declare one with FROM NAMED WINDOW <w> ON <stream> [RANGE 10s STEP 5s]",
            )
        group.join(Window(name, self.group(as_tree(inner))))

    def _check_declared(self, name: Iri, at: Node) -> None:
        declared = [window.name.value for window in self.windows]
        if name.value in declared:
            return
        near = nearest(name.value, declared)
        if near is not None:
            hint = f"did you mean <{near}>?"
        elif declared:
            hint = f"declared are {', '.join(f'<{each}>' for each in declared)}"
        else:
            hint = f"add FROM NAMED WINDOW <{name.value}> ON <stream> [RANGE 10s STEP 5s]"
        raise self.wrong(f"window <{name.value}> is not declared", at, hint)
