"""A query in the pieces that C-SPARQL evaluates: what is static, what streams, and how they meet.

The static query and the streaming view are evaluated apart, their join with the conditions between
them is the comprehensive view, and each aggregate is joined to it by its keys.
"""

from __future__ import annotations

from collections.abc import Iterator

from headrace.algebra.expressions import TriplePattern, Variable
from headrace.algebra.operators import (
    Annotate,
    Bgp,
    Filter,
    Group,
    Operator,
)
from headrace.algebra.paths import PathPattern
from headrace.algebra.query import Query
from headrace.algebra.scope import possible_in_order
from headrace.algebra.walk import conjuncts, inputs, within
from headrace.planning.tree import call_text, text
from headrace.rewrite.knowledge import Known
from headrace.rewrite.sources import Origin

Piece = tuple[str, str]
"""What a piece is called, and what it says."""


def pieces(query: Query) -> Iterator[Piece]:
    """The pieces of a query."""
    known = Known.of(query)
    static = list(_patterns(query.pattern, known, Origin.STATIC))
    streaming = list(_patterns(query.pattern, known, Origin.STREAM))
    ours, theirs = _variables(static), _variables(streaming)
    if static:
        graphs = " ".join(f"<{graph.value}>" for graph in query.dataset.default)
        yield "static query", f"SELECT DISTINCT {_names(ours)} {_from(graphs)}{_group(static)}"
    if streaming:
        streams = dict.fromkeys(text(window.stream) for window in query.windows)
        yield (
            "streaming view",
            f"SELECT {_names(theirs)} {_from(' '.join(streams))}{_group(streaming)}",
        )
    conditions = [
        text(part)
        for operator in within(query.pattern)
        if isinstance(operator, Filter)
        for part in conjuncts(operator.condition)
    ]
    if static and streaming:
        shared = [each for each in theirs if each in ours]
        how = f"on {_names(shared)}" if shared else "all with all"
        tested = f", where {' and '.join(conditions)}" if conditions else ""
        yield "comprehensive", f"the static query joined with the streaming view {how}{tested}"
    elif conditions:
        yield "comprehensive", f"where {' and '.join(conditions)}"
    yield from _aggregations(query.pattern)


def _patterns(
    operator: Operator, known: Known, origin: Origin
) -> Iterator[TriplePattern | PathPattern]:
    if isinstance(operator, Bgp):
        yield from (each for each in operator.patterns if known.expected(each) is origin)
    for source in inputs(operator):
        yield from _patterns(source, known.inside(operator), origin)


def _variables(patterns: list[TriplePattern | PathPattern]) -> list[Variable]:
    found = possible_in_order(Bgp(tuple(patterns)))
    return [each for each in found if not each.is_anonymous]


def _names(variables: list[Variable] | tuple[Variable, ...]) -> str:
    return " ".join(f"?{each.name}" for each in variables) or "*"


def _from(names: str) -> str:
    return f"FROM {names} " if names else ""


def _group(patterns: list[TriplePattern | PathPattern]) -> str:
    written = " . ".join(_written(each) for each in dict.fromkeys(patterns))
    return f"WHERE {{ {written} }}"


def _written(pattern: TriplePattern | PathPattern) -> str:
    middle = pattern.predicate if isinstance(pattern, TriplePattern) else pattern.path
    return f"{text(pattern.subject)} {text(middle)} {text(pattern.object)}"


def _aggregations(pattern: Operator) -> Iterator[Piece]:
    for operator in within(pattern):
        match operator:
            case Annotate(_, annotations):
                for each in annotations:
                    call = call_text(each.variable, each.aggregate)
                    by = _names(each.keys) if each.keys else "nothing"
                    yield "aggregation", f"{call} by {by}, as an outer join on these keys"
            case Group(_, keys, aggregates):
                calls = ", ".join(call_text(*each) for each in aggregates)
                yield "aggregation", f"{calls or 'groups'} by {_names(keys) if keys else 'nothing'}"
