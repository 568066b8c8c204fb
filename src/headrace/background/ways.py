"""How a plain SERVICE is joined: by single bindings, by blocks of them, or with everything."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from headrace.algebra.operators import Operator
from headrace.background.errors import LargeAnswerError
from headrace.rdf.terms import Iri
from headrace.results.table import Table

_FEW: Final = 4
"""So many blocks cost less than it would to find out what everything costs."""
_NEW: Final = 0.25


class Way(StrEnum):
    """What is sent along with the pattern of a SERVICE."""

    NESTED = "nested"
    """A nested loop: one binding in each request, put into the pattern."""
    BLOCKS = "blocks"
    """A block of bindings in each request."""
    HASH = "hash"
    """A symmetric hash join: everything is asked for in one request, and joined here."""


Ask = Callable[[Way], Table]


@dataclass(slots=True)
class Cost:
    """What the answers of an endpoint to a pattern have cost.

    Attributes:
        request: seconds of a request with a block of bindings.
        whole: seconds of the request for everything; None if it was never asked for.
        too_large: whether everything is more than is allowed.
    """

    request: float | None = None
    whole: float | None = None
    too_large: bool = False

    def way(self, requests: int) -> Way:
        """The cheapest way, if blocks took so many requests.

        >>> Cost(request=0.1, whole=2.0).way(10), Cost(request=0.1, whole=2.0).way(50)
        (<Way.BLOCKS: 'blocks'>, <Way.HASH: 'hash'>)
        """
        if self.too_large or requests <= _FEW:
            return Way.BLOCKS
        if self.whole is None or self.request is None:
            return Way.HASH if self.whole is None else Way.BLOCKS
        return Way.HASH if self.whole < requests * self.request else Way.BLOCKS

    def took(self, way: Way, seconds: float, requests: int) -> None:
        """Learn what an answer has cost."""
        if way is Way.HASH:
            self.whole = _mixed(self.whole, seconds)
        elif requests:
            self.request = _mixed(self.request, seconds / requests)


def _mixed(before: float | None, now: float) -> float:
    return now if before is None else before + _NEW * (now - before)


@dataclass(slots=True)
class Ways:
    """Chooses by cost, unless it was told.

    Attributes:
        clock: seconds.
        told: which way to go; None chooses.
    """

    clock: Callable[[], float]
    told: Way | None = None
    costs: dict[tuple[Iri, Operator], Cost] = field(default_factory=dict)

    def asked(self, endpoint: Iri, pattern: Operator, requests: int, ask: Ask) -> Table:
        """What an endpoint answers, in the way that costs least.

        Args:
            endpoint: whom to ask.
            pattern: for what.
            requests: how many it would take in blocks.
            ask: does it.
        """
        if self.told is not None:
            return ask(self.told)
        cost = self.costs.setdefault((endpoint, pattern), Cost())
        way = cost.way(requests)
        began = self.clock()
        try:
            found = ask(way)
        except LargeAnswerError:
            if way is not Way.HASH:
                raise
            cost.too_large = True
            way, began = Way.BLOCKS, self.clock()
            found = ask(way)
        cost.took(way, self.clock() - began, requests)
        return found
