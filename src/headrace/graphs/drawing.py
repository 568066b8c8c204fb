"""A query as one of its graphs, in one of the forms they are shown in."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, assert_never

from headrace.algebra.query import Query
from headrace.errors import SettingError
from headrace.graphs.denotation import DGraph
from headrace.graphs.denotational_drawing import terms_in_svg
from headrace.graphs.denotational_graph import denotational_graph
from headrace.graphs.mermaid import operators_in_mermaid, terms_in_mermaid
from headrace.graphs.operator_drawing import operators_in_svg
from headrace.graphs.operator_graph import OGraph, operator_graph
from headrace.graphs.outline import inventory, outline
from headrace.rewrite.optimise import optimised
from headrace.rewrite.sources import KnownPredicates

_MOST_NODES: Final = 2_000
"""Pictures have no more nodes than these."""


class GraphKind(StrEnum):
    """Which graph: of what is computed, as written or as run, or of what is spoken about."""

    OPERATORS = "operators"
    REWRITTEN = "rewritten"
    DENOTATIONAL = "denotational"


class GraphForm(StrEnum):
    """How it is shown."""

    TEXT = "text"
    MERMAID = "mermaid"
    SVG = "svg"


def drawn(
    query: Query, kind: GraphKind, form: GraphForm, known: KnownPredicates | None = None
) -> str:
    """Draw a graph of a query as text.

    Args:
        query: the query.
        kind: which graph.
        form: how it is shown.
        known: which predicates occur in static data and in streams.

    Raises:
        SettingError: the graph is too large for a picture.
    """
    match kind:
        case GraphKind.OPERATORS:
            return _operators(operator_graph(query, known=known), form)
        case GraphKind.REWRITTEN:
            return _operators(operator_graph(query, optimised(query, known), known), form)
        case GraphKind.DENOTATIONAL:
            return _terms(denotational_graph(query, known=known), form)
        case _:
            assert_never(kind)


def _check_size(nodes: int) -> None:
    """Refuse a picture that would take long to draw, and that could not be read."""
    if nodes > _MOST_NODES:
        raise SettingError(
            f"the graph has {nodes:,} nodes, and at most {_MOST_NODES:,} are drawn as SVG; "
            "ask for text or mermaid"
        )


def _operators(graph: OGraph, form: GraphForm) -> str:
    match form:
        case GraphForm.TEXT:
            return f"{outline(graph)}\n"
        case GraphForm.MERMAID:
            return operators_in_mermaid(graph)
        case GraphForm.SVG:
            _check_size(len(graph.nodes))
            return operators_in_svg(graph)
        case _:
            assert_never(form)


def _terms(graph: DGraph, form: GraphForm) -> str:
    match form:
        case GraphForm.TEXT:
            return f"{inventory(graph)}\n"
        case GraphForm.MERMAID:
            return terms_in_mermaid(graph)
        case GraphForm.SVG:
            _check_size(len(graph.vertices))
            return terms_in_svg(graph)
        case _:
            assert_never(form)
