"""Filters of static data."""

from __future__ import annotations

from headrace.algebra.operators import Operator
from headrace.rewrite.early import tested_early
from headrace.rewrite.knowledge import Known
from headrace.rewrite.sources import Origin


def push_filter_to_static(operator: Operator, known: Known) -> Operator:
    """Static data are filtered triple pattern by triple pattern, before they are joined.

    BGP(A, B) FILTER R  ->  BGP(A) AND (BGP(B) FILTER R)
        if B has all variables of R, and is expected in static data
    """
    return tested_early(operator, known, Origin.STATIC)
