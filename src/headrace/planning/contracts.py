"""What a SERVICE under a budget is held to: its key, its window, its policy and its limits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from headrace.algebra.expressions import Exists, TriplePattern, Variable
from headrace.algebra.operators import (
    Annotate,
    Bgp,
    Budget,
    Group,
    Join,
    LeftJoin,
    Operator,
    Service,
)
from headrace.algebra.scope import certain, mentioned
from headrace.algebra.walk import everywhere, expressions, inputs, parts
from headrace.algebra.windows import TimeWindow, WindowFrame
from headrace.errors import SettingError, Source, UnsupportedError
from headrace.freshness.policies import Policy, Sliding

_NO_TIME: Final = Sliding(1, 1)
"""Where no window is one of time, mappings are ordered by how long they stay fresh."""


@dataclass(frozen=True, slots=True)
class Contract:
    """What a SERVICE under a budget is held to.

    Attributes:
        service: which.
        keys: the variables that it is joined by; the local view is kept by them.
        window: of the stream, which says how long a mapping is used.
        policy: which mappings are refreshed first.
        limits: what the query says.
        merges: whether rows of the answer are made of many solutions, as by GROUP BY.
        beside: how many such services the query has; a row is right if what each gives is.
        patterns: what is matched beside it, by which a mapping comes into the window.
    """

    service: Service
    keys: tuple[Variable, ...]
    window: Sliding
    policy: Policy
    limits: Budget
    merges: bool = False
    beside: int = 1
    patterns: tuple[TriplePattern, ...] = ()

    @property
    def aim(self) -> float:
        """The accuracy that this service has to have, for all of them together to be enough."""
        return float((self.limits.accuracy or 0.0) ** (1 / self.beside))

    @property
    def is_unlimited(self) -> bool:
        """Whether everything may be asked for at each evaluation."""
        limits = self.limits
        return limits.requests is None and limits.within is None and limits.accuracy is None

    @property
    def wants_only_accuracy(self) -> bool:
        """Whether there may be as many requests as an accuracy takes."""
        limits = self.limits
        return limits.requests is None and limits.within is None and limits.accuracy is not None

    def __str__(self) -> str:
        """What explain says of it."""
        names = ", ".join(f"?{each.name}" for each in self.keys)
        return f"a view by {names}, refreshed by {described(self.limits, self.policy)}"


def described(limits: Budget, policy: Policy) -> str:
    """What is promised, in the words of a query.

    >>> described(Budget(accuracy=0.8, requests=5), Policy())
    'WSJ-WBM, at most 5 requests, accuracy 0.8'
    """
    said = [f"{policy.proposer.value}-{policy.ranker.value}"]
    if limits.requests is not None:
        said.append(f"at most {limits.requests} requests")
    if limits.within is not None:
        said.append(f"within {limits.within / 1_000_000:g} s")
    if limits.accuracy is not None:
        said.append(f"accuracy {limits.accuracy:g}")
    return ", ".join(said)


def contracts_of(
    pattern: Operator, frames: Sequence[WindowFrame], source: Source | None = None
) -> tuple[Contract, ...]:
    """The contracts of all SERVICEs with a budget in a pattern, each once.

    Raises:
        UnsupportedError: one of them cannot be kept; it says where.
    """
    window = _window(frames)
    found = dict[Service, Contract]()
    for service, beside in _asked(pattern):
        contract = _contract(service, beside, window, source)
        other = found.setdefault(service, contract)
        if other.keys != contract.keys:
            problem = "the same SERVICE with a budget stands twice, joined by other variables"
            raise UnsupportedError(problem, source, service.span)
        both = dict.fromkeys((*other.patterns, *contract.patterns))
        found[service] = replace(other, patterns=tuple(both))
    _check_inside_exists(pattern, source)
    merges = _merges(pattern)
    return tuple(replace(each, merges=merges, beside=len(found)) for each in found.values())


def _merges(operator: Operator) -> bool:
    """Whether rows are made of many solutions, here and not at an endpoint."""
    match operator:
        case Group() | Annotate():
            return True
        case Service():
            return False
        case _:
            return any(map(_merges, inputs(operator)))


def _window(frames: Sequence[WindowFrame]) -> Sliding:
    for frame in frames:
        if isinstance(frame, TimeWindow):
            return Sliding(frame.width, frame.slide or frame.width)
    return _NO_TIME


def _asked(
    operator: Operator, beside: Operator | None = None
) -> Iterator[tuple[Service, Operator | None]]:
    """Each SERVICE with a budget, and what it is joined with, as the kernel evaluates it."""
    match operator:
        case Service(budget=Budget()):
            yield operator, beside
        case Join(left, Service() as right) | LeftJoin(left, Service() as right):
            yield from _asked(left)
            yield from _asked(right, left)
        case Join(Service() as left, right):
            yield from _asked(left, right)
            yield from _asked(right)
        case _:
            for below in inputs(operator):
                yield from _asked(below)


def _contract(
    service: Service, beside: Operator | None, window: Sliding, source: Source | None
) -> Contract:
    assert service.budget is not None, "only those are looked for"
    if isinstance(service.endpoint, Variable):
        raise UnsupportedError(
            "a SERVICE with a budget needs its endpoint as an IRI",
            source,
            service.span,
            hint="write the IRI of the endpoint, or leave the budget out",
        )
    both = set() if beside is None else certain(beside) & certain(service.input)
    keys = sorted((each for each in both if not each.is_anonymous), key=lambda each: each.name)
    if not keys:
        raise UnsupportedError(
            "a SERVICE with a budget needs a variable that it shares with the pattern beside it, "
            "and that both always bind",
            source,
            service.span,
            hint="put it after the pattern that binds its variables, or leave the budget out",
        )
    try:
        policy = Policy.named(service.budget.policy or "WBM")
    except SettingError as error:
        place = service.budget.policy_span or service.span
        raise UnsupportedError(str(error), source, place) from None
    patterns = tuple(each for each in _matched(beside) if mentioned(each) & set(keys))
    return Contract(service, tuple(keys), window, policy, service.budget, patterns=patterns)


def _matched(operator: Operator | None) -> Iterator[TriplePattern]:
    """The triple patterns that are matched here, and not at an endpoint."""
    match operator:
        case None | Service():
            return
        case Bgp(patterns):
            yield from (each for each in patterns if isinstance(each, TriplePattern))
        case _:
            for below in inputs(operator):
                yield from _matched(below)


def _check_inside_exists(pattern: Operator, source: Source | None) -> None:
    for operator in everywhere(pattern):
        tests = (part for each in expressions(operator) for part in parts(each))
        for test in tests:
            if not isinstance(test, Exists):
                continue
            for below in everywhere(test.pattern):
                if isinstance(below, Service) and below.budget is not None:
                    problem = "a SERVICE with a budget inside EXISTS is not supported"
                    raise UnsupportedError(problem, source, below.span)
