"""DISTINCT: each row once at each instant."""

from __future__ import annotations

from headrace.execution.relation.coalesce import coalesce
from headrace.execution.relation.relation import Relation


def distinct(relation: Relation) -> Relation:
    """Make rows with equal terms one. Times fall away: the row has none of its own."""
    return coalesce(relation.select(relation.variables))
