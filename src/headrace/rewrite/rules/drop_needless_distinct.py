"""DISTINCT of what differs anyway."""

from __future__ import annotations

from headrace.algebra.operators import Distinct, Operator
from headrace.rewrite.branches import is_distinct


def drop_needless_distinct(operator: Operator) -> Operator:
    """Groups differ by their keys, and what is distinct stays so.

    DISTINCT (PROJECT S (GROUP P BY G))  ->  PROJECT S (GROUP P BY G)    if G is in S
    """
    match operator:
        case Distinct(source) if is_distinct(source):
            return source
        case _:
            return operator
