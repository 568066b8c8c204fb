"""What is looked for in the same window."""

from __future__ import annotations

from headrace.algebra.operators import Join, Operator, Window


def merge_windows(operator: Operator) -> Operator:
    """What is looked for in the same window is one pattern.

    (WINDOW n P1) AND (WINDOW n P2)  ->  WINDOW n (P1 AND P2)
    """
    match operator:
        case Join(Window(name, ours, stream), Window(same, theirs, other)) if (
            name == same and stream == other
        ):
            return Window(name, Join(ours, theirs), stream)
        case Join(Join(first, Window() as left), Window() as right):
            merged = merge_windows(Join(left, right))
            return Join(first, merged) if isinstance(merged, Window) else operator
        case _:
            return operator
