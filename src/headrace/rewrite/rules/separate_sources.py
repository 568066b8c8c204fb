"""What is static and what streams."""

from __future__ import annotations

from headrace.algebra.operators import Bgp, Join, Operator
from headrace.rewrite.knowledge import Known
from headrace.rewrite.sources import BOTH, Origin, by_source


def separate_sources(operator: Operator, known: Known) -> Operator:
    """A graph pattern over static data and streams becomes a join of the parts about either.

    BGP(A, B, C)  ->  (BGP(C) AND BGP(A)) AND BGP(B)
        if A and B are expected in static data and C in streams

    Static patterns stand alone: a join of them may be large where what streams asks for little.
    """
    match operator:
        case Bgp(patterns) if known.in_default_graph:
            apart = by_source(patterns, known.sources)
            if len(apart) == BOTH:
                made: Operator = Bgp(apart[Origin.STREAM])
                for pattern in apart[Origin.STATIC]:
                    made = Join(made, Bgp((pattern,)))
                return made
    return operator
