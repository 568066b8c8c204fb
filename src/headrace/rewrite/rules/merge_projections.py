"""Projections of projections."""

from __future__ import annotations

from headrace.algebra.operators import Operator, Project


def merge_projections(operator: Operator) -> Operator:
    """Only the last projection counts.

    PROJECT S (PROJECT T P)  ->  PROJECT S P    if S is in T
    """
    match operator:
        case Project(Project(source, wider), variables) if set(variables) <= set(wider):
            return Project(source, variables)
        case _:
            return operator
