"""Paths of any length: a fixpoint of join and coalesce over the pieces of edges."""

from __future__ import annotations

from headrace.execution.operators.join import join
from headrace.execution.relation.coalesce import coalesce, find_uncovered
from headrace.execution.relation.relation import Relation, concat_relations
from headrace.execution.relation.row_budget import SizeCheck, check_rows

_BETWEEN = "between"


def close_edges(
    edges: Relation, source: str, target: str, instants: int, check: SizeCheck = check_rows
) -> Relation:
    """Find the pairs of nodes that a path of one edge or more connects, and when.

    Only pairs that were new in the last round are extended, at the instants at which they were.

    Args:
        edges: the columns `source` and `target`, all bound.
        source: where an edge begins.
        target: where it ends.
        instants: how many instants the step has.
        check: refuses too many pairs, before the pairs are made.
    """
    edges = coalesce(edges.select([source, target]))
    known = fresh = edges
    following = edges.rename({source: _BETWEEN})
    while fresh.height:
        reached = join(fresh.rename({target: _BETWEEN}), following, check)
        fresh = _find_new(reached.select([source, target]), known, check)
        known = coalesce(concat_relations([known, fresh], instants))
        check(known.height, "a path")
    return known


def add_empty_paths(
    paths: Relation, nodes: Relation, source: str, target: str, instants: int
) -> Relation:
    """Add the path of length 0 from each node to itself.

    Args:
        paths: pairs of nodes.
        nodes: the nodes of the graph in the column `source`, and when they are there.
        source: where a path begins.
        target: where it ends.
        instants: how many instants the step has.
    """
    empty = nodes.select([source]).with_column(target, nodes[source])
    return coalesce(concat_relations([paths, empty], instants))


def _find_new(reached: Relation, known: Relation, check: SizeCheck) -> Relation:
    """Return the pieces of pairs that are not known yet."""
    if not reached.holds_always:
        return find_uncovered(reached, known, check)
    # Without intervals a pair is known or new as a whole: it is looked for at one instant.
    return find_uncovered(reached.over(1), known.over(1), check).without_intervals()
