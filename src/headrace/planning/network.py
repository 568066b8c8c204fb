"""In which order queries are stepped when some read what others emit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headrace.errors import QueryError
from headrace.planning.plan import Plan
from headrace.rdf.terms import Iri


def in_step_order(plans: Sequence[Plan]) -> list[int]:
    """The places of queries such that each comes after those whose streams it reads.

    Raises:
        QueryError: some read each other in a circle.
    """
    makers = {plan.stream: place for place, plan in enumerate(plans) if plan.stream is not None}
    order: list[int] = []
    done: set[int] = set()
    for place in range(len(plans)):
        _visit(place, plans, makers, [], order, done)
    return order


def _visit(
    place: int,
    plans: Sequence[Plan],
    makers: Mapping[Iri, int],
    way: list[int],
    order: list[int],
    done: set[int],
) -> None:
    if place in done:
        return
    if place in way:
        circle = [plans[each].name for each in [*way[way.index(place) :], place]]
        raise QueryError(
            f"queries read each other in a circle: {' -> '.join(reversed(circle))}",
            hint="a stream cannot depend on itself; let one of them read something else",
        )
    for stream in plans[place].streams:
        if stream in makers:
            _visit(makers[stream], plans, makers, [*way, place], order, done)
    done.add(place)
    order.append(place)
