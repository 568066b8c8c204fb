"""Filters that call functions which may be dear."""

from __future__ import annotations

from headrace.algebra.operators import Operator
from headrace.rewrite.late import pulled


def pull_costly_filters(operator: Operator) -> Operator:
    """H4: what calls an uncertainty function, or an added one, is tested as late as possible.

    (P1 FILTER R) AND P2  ->  (P1 AND P2) FILTER R    and so for OPT, GRAPH and WINDOW
        if R calls such a function, and P1 always binds the variables of R
    """
    return pulled(operator)
