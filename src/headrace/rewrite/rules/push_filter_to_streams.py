"""Filters of what streams."""

from __future__ import annotations

from headrace.algebra.operators import Operator
from headrace.rewrite.early import tested_early
from headrace.rewrite.knowledge import Known
from headrace.rewrite.sources import Origin


def push_filter_to_streams(operator: Operator, known: Known) -> Operator:
    """What streams is filtered triple pattern by triple pattern, before it is joined.

    BGP(A, B) FILTER R  ->  BGP(A) AND (BGP(B) FILTER R)
        if B has all variables of R, and is expected in a stream
    """
    return tested_early(operator, known, Origin.STREAM)
