"""Projections of projections."""

from __future__ import annotations

from headrace.algebra.operators import Operator, OrderBy, Project


def merge_projections(operator: Operator) -> Operator:
    """Only the last projection counts.

    PROJECT S (PROJECT T P)  ->  PROJECT S P    if S is in T
    """
    match operator:
        case Project(Project(OrderBy())):
            return operator  # else the order of a subquery would become that of the query
        case Project(Project(source, wider), variables) if set(variables) <= set(wider):
            return Project(source, variables)
        case _:
            return operator
