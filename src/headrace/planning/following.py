"""Whether the named graphs of a dataset can be matched all at once."""

from __future__ import annotations

from headrace.algebra.expressions import TriplePattern, Variable
from headrace.algebra.operators import Bgp, Filter, Join, Operator, Union
from headrace.algebra.scope import mentioned
from headrace.functions.dependence import is_local


def follows_graph(operator: Operator, name: Variable | None = None) -> bool:
    """Whether every part of a pattern says which graph it was matched in.

    Then the graphs can be matched all at once, their names being one more variable to join on,
    which no condition inside may see.
    """
    match operator:
        case Bgp(patterns):
            return bool(patterns) and all(isinstance(each, TriplePattern) for each in patterns)
        case Join(left, right):
            return follows_graph(left, name) and follows_graph(right, name)
        case Union(branches):
            return all(follows_graph(branch, name) for branch in branches)
        case Filter(condition, source):
            blind = is_local(condition) and name not in mentioned(condition)
            return blind and follows_graph(source, name)
        case _:
            return False
