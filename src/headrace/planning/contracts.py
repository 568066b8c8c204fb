"""What a SERVICE under a budget is held to: its key, its window, its policy and its limits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from headrace.algebra.expressions import Exists, Expression, Operation, TriplePattern, Variable
from headrace.algebra.operators import (
    Annotate,
    Bgp,
    Budget,
    Filter,
    Group,
    Join,
    LeftJoin,
    Minus,
    Operator,
    Service,
    Union,
    Window,
)
from headrace.algebra.reporting import Every, OnClose, Report
from headrace.algebra.scope import certain, mentioned
from headrace.algebra.substitution import is_plain
from headrace.algebra.walk import arguments, everywhere, expressions, inputs, parts, within
from headrace.algebra.windows import TimeWindow, WindowDeclaration
from headrace.errors import SettingError, Source, UnsupportedError
from headrace.freshness.policies import Policy, Sliding
from headrace.planning.planned import PlannedWindow
from headrace.rdf.terms import Iri

_NO_TIME: Final = Sliding(1, 1)
"""Where no window is one of time, mappings are ordered by how long they stay fresh."""
CHANGES_EVERY: Final = Variable("headraceChangesEvery")
"""The column in which an endpoint says how often a key changes."""
_NO_SERVICE: Final = Service(Iri(""), Bgp())
_ON_CLOSE: Final = OnClose()


@dataclass(frozen=True, slots=True)
class Binding:
    """A triple pattern that binds the key of a SERVICE, and where it is matched.

    Attributes:
        pattern: which.
        window: the WINDOW that it stands in; None outside any, a variable in every one.
        required: whether every solution has a match of it.
    """

    pattern: TriplePattern
    window: Variable | Iri | None
    required: bool = True


@dataclass(frozen=True, slots=True)
class Contract:
    """What a SERVICE under a budget is held to.

    Attributes:
        service: which.
        keys: the variables that it is joined by; the local view is kept by them.
        window: the window that binds the key, with the time between two evaluations as its slide:
            how many of them a mapping is used in follows from both.
        policy: which mappings are refreshed first.
        limits: what the query says.
        merges: whether rows of the answer are made of many solutions, as by GROUP BY.
        beside: how many such services the query has; a row is right if what each gives is.
        patterns: what is matched beside it, by which a mapping comes into the window.
        bindings: the same, and in which windows that is.
        adds_rows: whether rows are missing where a mapping is: not so in MINUS and NOT EXISTS, nor
            where rows are made of groups that have other solutions too.
        groups: the keys of such groups; None where rows are not made of them.
    """

    service: Service
    keys: tuple[Variable, ...]
    window: Sliding
    policy: Policy
    limits: Budget
    merges: bool = False
    beside: int = 1
    patterns: tuple[TriplePattern, ...] = ()
    bindings: tuple[Binding, ...] = ()
    adds_rows: bool = True
    groups: tuple[Variable, ...] | None = None

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
    """Write a contract in the words of a query.

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
    if limits.rate is not None:
        said.append(f"{limits.rate:g} requests in a second between evaluations")
    return ", ".join(said)


@dataclass(frozen=True, slots=True)
class _Site:
    """The place of a SERVICE with a budget in a pattern.

    Attributes:
        service: which.
        beside: what it is joined with.
        outer: what MINUS or EXISTS compares its solutions with, if it stands inside one.
        removes: whether its solutions remove rows, as in MINUS and NOT EXISTS.
        groups: the keys of every GROUP BY above it.
        window: the WINDOW that what it is joined with stands in; None outside any.
    """

    service: Service
    beside: Operator | None = None
    outer: Operator | None = None
    removes: bool = False
    groups: tuple[frozenset[Variable], ...] = ()
    window: Variable | Iri | None = None


def contracts_of(
    pattern: Operator,
    windows: Sequence[WindowDeclaration | PlannedWindow],
    source: Source | None = None,
    report: Report = _ON_CLOSE,
) -> tuple[Contract, ...]:
    """Make the contracts of all SERVICEs with a budget in a pattern, each once.

    Args:
        pattern: of the query.
        windows: of the query.
        source: its text, for errors.
        report: when it is evaluated.

    Raises:
        UnsupportedError: one of them cannot be kept; it says where.
    """
    found = dict[Service, Contract]()
    sites = list(_sites(pattern, _Site(_NO_SERVICE)))
    for site in sites:
        contract = _contract(site, windows, report, source)
        other = found.setdefault(site.service, contract)
        if other.keys != contract.keys:
            problem = "the same SERVICE with a budget stands twice, joined by other variables"
            raise UnsupportedError(problem, source, site.service.span)
        found[site.service] = replace(
            other,
            patterns=tuple(dict.fromkeys((*other.patterns, *contract.patterns))),
            bindings=tuple(dict.fromkeys((*other.bindings, *contract.bindings))),
            adds_rows=other.adds_rows or contract.adds_rows,
        )
    _check_inside_exists(pattern, source)
    merges = _merges(pattern)
    return tuple(replace(each, merges=merges, beside=len(found)) for each in found.values())


def with_changes(contract: Contract, by: Iri) -> Service:
    """Add to the SERVICE of a contract the request for change intervals.

    Args:
        contract: whose.
        by: the property that says it.
    """
    service = contract.service
    subjects = {each.subject for each in _patterns_in(service.input)}
    key = next((each for each in contract.keys if each in subjects), contract.keys[0])
    asked = Bgp((TriplePattern(key, by, CHANGES_EVERY),))
    return replace(service, input=LeftJoin(service.input, asked))


def _patterns_in(operator: Operator) -> Iterator[TriplePattern]:
    for each in within(operator):
        if isinstance(each, Bgp):
            yield from (part for part in each.patterns if isinstance(part, TriplePattern))


def budgeted(pattern: Operator) -> tuple[Service, ...]:
    """Yield the SERVICEs with a budget in a pattern, those inside EXISTS too."""
    return tuple(
        each
        for each in everywhere(pattern)
        if isinstance(each, Service) and each.budget is not None
    )


def _merges(operator: Operator) -> bool:
    """Whether rows are made of many solutions, here and not at an endpoint."""
    match operator:
        case Group() | Annotate():
            return True
        case Service():
            return False
        case _:
            return any(map(_merges, inputs(operator)))


def _sites(operator: Operator, site: _Site) -> Iterator[_Site]:
    """Yield each SERVICE with a budget, with its place in the evaluation."""
    match operator:
        case Service(budget=Budget()):
            yield replace(site, service=operator)
        case Service():
            return
        case Join(left, Service() as right) | LeftJoin(left, Service() as right):
            yield from _sites(left, replace(site, beside=None))
            yield from _sites(right, replace(site, beside=left))
        case Join(Service() as left, right):
            yield from _sites(left, replace(site, beside=right))
            yield from _sites(right, replace(site, beside=None))
        case Minus(left, right):
            yield from _sites(left, replace(site, beside=None))
            removes = not site.removes
            yield from _sites(right, replace(site, beside=None, outer=left, removes=removes))
        case _:
            below = replace(site, beside=None)
            match operator:
                case Group(_, keys):
                    below = replace(below, groups=(*site.groups, frozenset(keys)))
                case Window(name):
                    below = replace(below, window=name)
            for each in inputs(operator):
                yield from _sites(each, below)
    yield from _sites_in_exists(operator, site)


def _sites_in_exists(operator: Operator, site: _Site) -> Iterator[_Site]:
    match operator:
        case LeftJoin(left, right):
            outer: Operator = Join(left, right)
        case _:
            outer = next(iter(inputs(operator)), operator)
    for each in expressions(operator):
        for test, negated in _tests(each):
            # What a mapping decides without removing a row is wrong, and none is missing.
            removes = site.removes != negated if isinstance(operator, Filter) else True
            inside = replace(site, beside=None, outer=outer, removes=removes)
            yield from _sites(test.pattern, inside)


def _tests(expression: Expression, negated: bool = False) -> Iterator[tuple[Exists, bool]]:
    """Yield each EXISTS of an expression, and the truth of the expression without it."""
    match expression:
        case Exists():
            yield expression, negated != expression.negated
        case Operation("!", (inner,)):
            yield from _tests(inner, not negated)
        case _:
            for each in arguments(expression):
                yield from _tests(each, negated)


def _contract(
    site: _Site,
    windows: Sequence[WindowDeclaration | PlannedWindow],
    report: Report,
    source: Source | None,
) -> Contract:
    service = site.service
    assert service.budget is not None, "only those are looked for"
    if isinstance(service.endpoint, Variable):
        raise UnsupportedError(
            "a SERVICE with a budget needs its endpoint as an IRI",
            source,
            service.span,
            hint="write the IRI of the endpoint, or leave the budget out",
        )
    beside = site.beside
    keys = _shared(beside, service)
    if not keys and site.outer is not None:
        beside, keys = site.outer, _shared(site.outer, service)
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
    bindings = tuple(
        each for each in _matched(beside, site.window) if mentioned(each.pattern) & set(keys)
    )
    merged = not all(set(keys) <= group for group in site.groups)
    return Contract(
        service,
        keys,
        _window(bindings, windows, report),
        policy,
        service.budget,
        patterns=tuple(dict.fromkeys(each.pattern for each in bindings)),
        bindings=bindings,
        adds_rows=not site.removes and not merged,
        groups=_ordered(site.groups[0]) if merged and not site.removes else None,
    )


def _shared(beside: Operator | None, service: Service) -> tuple[Variable, ...]:
    """Return the variables that a SERVICE and another pattern both always bind."""
    both = set() if beside is None else certain(beside) & certain(service.input)
    return _ordered(each for each in both if not each.is_anonymous)


def _ordered(variables: Iterable[Variable]) -> tuple[Variable, ...]:
    return tuple(sorted(variables, key=lambda each: each.name))


def _matched(
    operator: Operator | None, window: Variable | Iri | None, required: bool = True
) -> Iterator[Binding]:
    """Return the triple patterns that are matched here, and not at an endpoint."""
    match operator:
        case None | Service():
            return
        case Bgp(patterns):
            for each in patterns:
                if isinstance(each, TriplePattern):
                    yield Binding(each, window, required)
        case Window(name, below):
            yield from _matched(below, name, required)
        case LeftJoin(left, right):
            yield from _matched(left, window, required)
            yield from _matched(right, window, required=False)
        case Minus(left, _):
            yield from _matched(left, window, required)
        case Union(branches):
            for branch in branches:
                yield from _matched(branch, window, required and len(branches) == 1)
        case _:
            for below in inputs(operator):
                yield from _matched(below, window, required)


# -- windows ----------------------------------------------------------------------------------


def _window(
    bindings: Sequence[Binding],
    windows: Sequence[WindowDeclaration | PlannedWindow],
    report: Report,
) -> Sliding:
    """Return the window that binds a key, and how far apart evaluations are.

    Of several that may bind it, one in which elements stay for more than one evaluation is taken,
    because lives differ there.
    """
    step = _step(windows, report)
    frames = [
        window.frame
        for window in windows
        if not bindings or any(may_bind(each, window) for each in bindings)
    ]
    found = [
        Sliding(frame.width, step or frame.slide or frame.width)
        for frame in frames
        if isinstance(frame, TimeWindow)
    ]
    return min(found, key=lambda each: (each.tumbles, each.width), default=_NO_TIME)


def _step(windows: Sequence[WindowDeclaration | PlannedWindow], report: Report) -> int | None:
    """Return the time between two evaluations; None if elements decide it."""
    match report:
        case Every(period):
            return period
        case OnClose():
            frames = [each.frame for each in windows if isinstance(each.frame, TimeWindow)]
            return min((each.slide for each in frames if each.slide is not None), default=None)
        case _:
            return None


def may_bind(binding: Binding, window: WindowDeclaration | PlannedWindow) -> bool:
    """Test whether a pattern is matched against the content of a window."""
    match binding.window:
        case None:
            return window.in_default_graph
        case Iri() as name:
            return window.name == name
        case _:
            return True


# -- EXISTS -----------------------------------------------------------------------------------


def _check_inside_exists(pattern: Operator, source: Source | None) -> None:
    for operator in everywhere(pattern):
        tests = (part for each in expressions(operator) for part in parts(each))
        for test in tests:
            if not isinstance(test, Exists) or is_plain(test.pattern):
                continue
            for below in budgeted(test.pattern):
                raise UnsupportedError(
                    "a SERVICE with a budget inside EXISTS stands beside, or around, a pattern "
                    "whose solutions depend on the row that is tested, such as OPTIONAL, MINUS, "
                    "BIND, a property path or a subquery",
                    source,
                    below.span,
                    hint="leave the budget out, or move that pattern out of EXISTS",
                )
