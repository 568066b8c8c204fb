"""What an evaluation depends on besides a pattern and data."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from headrace.algebra.expressions import TriplePattern
from headrace.algebra.operators import Operator, Service
from headrace.algebra.paths import PathPattern
from headrace.algebra.walk import within
from headrace.errors import InternalError
from headrace.functions.evaluate import EvaluationContext
from headrace.kernel.budget import Budget
from headrace.kernel.data import WindowContents
from headrace.kernel.dictionary import Dictionary
from headrace.kernel.members import Apart
from headrace.kernel.scan import Share
from headrace.kernel.solutions import Solutions
from headrace.planning.contracts import budgeted
from headrace.rdf.terms import Iri, Literal
from headrace.rdf.vocabulary import XSD_DATE_TIME

Observe = Callable[[Operator | TriplePattern | PathPattern, int, float], None]
CallService = Callable[[Service, Solutions], Solutions]
"""Asks a remote endpoint for the solutions of a pattern that fit some solutions."""


class Views(Protocol):
    """The local views of a query, in one evaluation."""

    def solutions(
        self, service: Service, solutions: Solutions, beside: Solutions | None
    ) -> Solutions:
        """Return the remote solutions that fit some solutions."""

    def doubted(self, service: Service, found: Solutions) -> Solutions:
        """Weigh the solutions of OPTIONAL by the chance that an absent remote solution is real."""

    def weighed(self, service: Service, found: Solutions) -> Solutions:
        """Weigh the solutions of a test by the chance that their mappings are fresh."""

    def cut(self, found: Solutions) -> Solutions:
        """Weigh rows that LIMIT or OFFSET has chosen: missing rows might replace them."""

    def lacking(self, chance: str) -> int:
        """Count the solutions without a mapping in the view of a column of chances."""


def no_service(_service: Service, _solutions: Solutions) -> Solutions:
    """Where no endpoint can be asked."""
    raise InternalError("SERVICE stands where no endpoint can be asked")


def _unlabelled(_instant: int) -> bytes:
    return b""


def _epoch(_instant: int) -> Literal:
    return Literal("1970-01-01T00:00:00Z", XSD_DATE_TIME)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What an evaluation depends on besides the pattern and the data.

    Attributes:
        dictionary: the terms.
        instants: when it is evaluated.
        budget: what it may cost.
        context: what expressions depend on.
        moment: the time of an instant.
        label: what tells an instant from any other, wherever it is evaluated.
        service: how remote endpoints are asked.
        windows: what windows hold.
        streams: the streams they are on, by number.
        share: the part of the solutions that is looked for.
        precomputes: whether what is found in static data is remembered.
        observe: told what each operator and triple pattern has found, and in how many seconds.
        given: what is known already, by the identities of operators.
        apart: what has solutions of several queries, if some are evaluated as one.
        chooses: whether filters that may be dear wait for joins where that costs less.
        views: answer each SERVICE under a budget, from a local view of it.
        beside: the solutions that MINUS or EXISTS compares what is evaluated with, inside one.
        intervals: whether solutions may hold from one instant to another.
    """

    dictionary: Dictionary
    instants: Sequence[int] = (0,)
    budget: Budget = field(default_factory=Budget)
    context: EvaluationContext = field(default_factory=lambda: EvaluationContext(_epoch(0)))
    moment: Callable[[int], Literal] = _epoch
    label: Callable[[int], bytes] = _unlabelled
    service: CallService = no_service
    windows: tuple[WindowContents, ...] = ()
    streams: tuple[Iri, ...] = ()
    share: Share | None = None
    precomputes: bool = False
    observe: Observe | None = None
    given: Mapping[int, Solutions] = field(default_factory=dict)
    apart: Apart | None = None
    chooses: bool = False
    views: Views | None = None
    beside: Solutions | None = None
    intervals: bool = True

    def remote(self, service: Service, solutions: Solutions) -> Solutions:
        """Return the solutions of a SERVICE that fit some solutions."""
        if service.budget is None or self.views is None:
            return self.service(service, solutions)
        return self.views.solutions(service, solutions, self.beside)

    def optional(self, right: Operator, found: Solutions) -> Solutions:
        """Weigh the solutions of OPTIONAL by the chance that an absent remote solution is real."""
        if self.views is None or not isinstance(right, Service) or right.budget is None:
            return found
        return self.views.doubted(right, found)

    def tested(self, asked: Iterable[Operator], found: Solutions) -> Solutions:
        """Weigh the solutions of a test by the certainty of its local views."""
        if self.views is None:
            return found
        for pattern in asked:
            for service in budgeted(pattern):
                found = self.views.weighed(service, found)
        return found

    def cut(self, found: Solutions) -> Solutions:
        """Weigh rows that LIMIT or OFFSET has chosen: missing rows might replace them."""
        return found if self.views is None else self.views.cut(found)

    def lacking(self, found: Solutions) -> dict[str, int]:
        """Count the solutions without a mapping, by the column of chances of each view."""
        if self.views is None:
            return {}
        return {each: self.views.lacking(each) for each in found.chances}

    def compared_with(self, solutions: Solutions) -> Surroundings:
        """Derive the surroundings of a pattern in MINUS or EXISTS."""
        return self if self.views is None else replace(self, beside=solutions)

    @property
    def whole(self) -> Collection[int]:
        """The operators that are looked at as they are, and not put together with others."""
        return self.given if self.apart is None else {*self.given, *self.apart.operators}


def candidates_of(operator: Operator, around: Surroundings) -> list[Operator]:
    """The operators of a pattern that read nothing of what is given: that is of some instants."""
    if not around.whole:
        return list(within(operator))
    apart = around.apart.operators if around.apart is not None else frozenset[int]()
    return [
        each
        for each in within(operator)
        if not any(
            id(below) in around.given or (id(below) in apart and below is not each)
            for below in within(each)
        )
    ]
