"""Parse trees as the translators see them: where they are, and what they hold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from lark import Token, Tree

from headrace.errors import InternalError, Span

Node: TypeAlias = "Tree[Token] | Token"


def tokens(node: Node | None) -> Iterator[Token]:
    """The tokens below a node, in the order of the text."""
    stack: list[Node | None] = [node]
    while stack:
        current = stack.pop()
        if isinstance(current, Token):
            yield current
        elif current is not None:
            stack.extend(reversed(current.children))


def span(node: Node) -> Span:
    """From the first to the last token of a node that the tree kept."""
    found = [node] if isinstance(node, Token) else list(tokens(node))
    if not found:
        return Span(0, 0)
    return Span(found[0].start_pos or 0, found[-1].end_pos or 0)


def present(tree: Tree[Token]) -> list[Node]:
    """The children that are there; an optional part that is missing is None."""
    return [child for child in tree.children if child is not None]


def subtrees(tree: Tree[Token], *names: str) -> list[Tree[Token]]:
    """The children that are trees of one of these rules."""
    return [child for child in tree.children if isinstance(child, Tree) and child.data in names]


def subtree(tree: Tree[Token], name: str) -> Tree[Token] | None:
    """The child of a rule, if there is one."""
    found = subtrees(tree, name)
    return found[0] if found else None


def as_tree(node: Node | None) -> Tree[Token]:
    """A child that the grammar says is a tree."""
    if isinstance(node, Tree):
        return node
    raise InternalError(f"expected a subtree, found {node!r}")


def as_token(node: Node | None) -> Token:
    """A child that the grammar says is a token."""
    if isinstance(node, Token):
        return node
    raise InternalError(f"expected a token, found {node!r}")


def variable_tokens(node: Node) -> Iterator[Token]:
    """The variables that an expression reads itself: not those in its aggregates and EXISTS."""
    stack: list[Node | None] = [node]
    while stack:
        current = stack.pop()
        if isinstance(current, Token):
            if current.type == "VAR":
                yield current
        elif current is not None and current.data not in {"aggregate", "exists"}:
            stack.extend(reversed(current.children))
