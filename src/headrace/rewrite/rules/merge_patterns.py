"""Graph patterns that are joined."""

from __future__ import annotations

from headrace.algebra.operators import Bgp, Join, Operator
from headrace.rewrite.knowledge import Known
from headrace.rewrite.sources import Origin, Patterns, by_source


def merge_patterns(operator: Operator, known: Known) -> Operator:
    """MergeJoinedGPOs: triple patterns of one source are one graph pattern.

    BGP(A) AND BGP(B)  ->  BGP(A, B)    unless one is expected in static data beside streams
    """
    match operator:
        case Join(Bgp(ours), Bgp(theirs)) if _meet(ours, theirs, known):
            return Bgp((*ours, *theirs))
        case Join(Join(first, Bgp(ours)), Bgp(theirs)) if _meet(ours, theirs, known):
            return merge_patterns(Join(first, Bgp((*ours, *theirs))), known)
        case _:
            return operator


def _meet(ours: Patterns, theirs: Patterns, known: Known) -> bool:
    if not known.in_default_graph or not known.sources.streams:
        return True
    return Origin.STATIC not in by_source((*ours, *theirs), known.sources)
