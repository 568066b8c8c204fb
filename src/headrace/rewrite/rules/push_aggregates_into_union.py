"""Aggregates above unions of streams."""

from __future__ import annotations

from headrace.algebra.operators import Annotate, Group, Operator, Union
from headrace.rewrite.branches import branches_of, differ


def push_aggregates_into_union(operator: Operator) -> Operator:
    """Totally distributable aggregates: each branch is added up on its own.

    GROUP (P1 UNION P2) BY G  ->  (GROUP P1 BY G) UNION (GROUP P2 BY G)    and so for AGGREGATE
        if no two branches can have a group in common: a key is another constant in each
    """
    match operator:
        case Group(source, keys, aggregates):
            branches = branches_of(source)
            if len(branches) > 1 and differ(branches, keys):
                return Union(tuple(Group(branch, keys, aggregates) for branch in branches))
        case Annotate(source, annotations):
            branches = branches_of(source)
            if len(branches) > 1 and all(differ(branches, each.keys) for each in annotations):
                return Union(tuple(Annotate(branch, annotations) for branch in branches))
    return operator
