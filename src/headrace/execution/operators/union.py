"""UNION: the rows of all relations, with all their copies."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.execution.relation.relation import Relation, concat_relations


def union(relations: Sequence[Relation], instants: int) -> Relation:
    """Unite bags of rows; a variable that one relation lacks is unbound in its rows."""
    return concat_relations(relations, instants)
