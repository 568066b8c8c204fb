"""In which order triple patterns stand."""

from __future__ import annotations

from headrace.algebra.expressions import PatternTerm, TriplePattern
from headrace.algebra.operators import Bgp, Operator
from headrace.algebra.paths import PathPattern
from headrace.algebra.scope import of_term


def order_patterns(operator: Operator) -> Operator:
    """H1: triple patterns from the most to the least selective, by what they leave open.

    (s p o) < (s ? o) < (? p o) < (s p ?) < (? ? o) < (s ? ?) < (? p ?) < (? ? ?)
    """
    match operator:
        case Bgp(patterns):
            ordered = tuple(sorted(patterns, key=_place))
            return operator if ordered == patterns else Bgp(ordered)
        case _:
            return operator


_ORDER = ("spo", "s o", " po", "sp ", "  o", "s  ", " p ", "   ")


def _place(pattern: TriplePattern | PathPattern) -> int:
    if isinstance(pattern, PathPattern):  # any number of triples may be on it
        return len(_ORDER)
    known = zip("spo", (pattern.subject, pattern.predicate, pattern.object), strict=True)
    return _ORDER.index("".join(" " if _is_open(term) else place for place, term in known))


def _is_open(term: PatternTerm) -> bool:
    """Whether a term is a variable, or a quoted triple with one."""
    return any(True for _ in of_term(term))
