"""What of a query only gains matches as elements come, so that each can be found once.

Triple patterns, joins, unions and conditions on terms are of that sort: a match that was found
stays one until the first of its triples leaves its window. What stands above them, such as OPTIONAL
and aggregates, is computed from the matches of an instant.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from headrace.algebra.expressions import (
    Exists,
    Expression,
    PatternTerm,
    Timestamp,
    TriplePattern,
    Variable,
)
from headrace.algebra.operators import (
    Bgp,
    Extend,
    Filter,
    Graph,
    Join,
    Operator,
    Project,
    Reduced,
    Service,
    Temporal,
    Union,
    Values,
    Window,
)
from headrace.algebra.query import Describe, Query
from headrace.algebra.reporting import Contents, OnArrival, OnChange
from headrace.algebra.scope import certain, mentioned, of_term, possible
from headrace.algebra.walk import conjuncts, everywhere, expressions, inputs, parts, rewritten
from headrace.algebra.windows import CountWindow, NowWindow
from headrace.functions.dependence import is_local
from headrace.planning.join_order import unconnected
from headrace.planning.planned import PlannedWindow
from headrace.rdf.terms import Iri

_MOST_BRANCHES = 16
"""With more alternatives than these, looking at what is new costs more than it saves."""


@dataclass(frozen=True, slots=True)
class Scanned:
    """A triple pattern that is matched in windows.

    Attributes:
        pattern: what to look for.
        windows: in which of the query's windows, by number; they are read as one.
        graph: the graph within them, if the pattern names one.
        over_static: whether static data are looked at too, as if they were in the windows.
    """

    pattern: TriplePattern
    windows: tuple[int, ...]
    graph: Variable | Iri | None = None
    over_static: bool = False

    @property
    def variables(self) -> frozenset[Variable]:
        """What a match binds."""
        graph = {self.graph} if isinstance(self.graph, Variable) else set()
        return frozenset(of_term(self.pattern)) | graph


@dataclass(frozen=True, slots=True)
class StaticPart:
    """A pattern whose solutions are the same at every instant.

    Attributes:
        operator: the pattern.
        names: what its variables are called in the matches, where that differs.
    """

    operator: Operator
    names: tuple[tuple[Variable, Variable], ...] = ()

    @property
    def variables(self) -> frozenset[Variable]:
        """What a solution binds."""
        names = dict(self.names)
        return frozenset(names.get(each, each) for each in possible(self.operator))


@dataclass(frozen=True, slots=True)
class Branch:
    """Patterns that must all match, and conditions on what they bind."""

    scanned: tuple[Scanned, ...] = ()
    static: tuple[StaticPart, ...] = ()
    conditions: tuple[Expression, ...] = ()

    @property
    def variables(self) -> frozenset[Variable]:
        """What a match binds."""
        return frozenset[Variable]().union(
            *(each.variables for each in self.scanned), *(each.variables for each in self.static)
        )


@dataclass(frozen=True, slots=True)
class Core:
    """An operator whose solutions are the matches of some branches."""

    operator: Operator
    branches: tuple[Branch, ...]


@dataclass(frozen=True, slots=True)
class Matching:
    """The parts of a query that together read all of its windows, each of them a core.

    Attributes:
        cores: the parts; none if there is an obstacle.
        obstacle: why they cannot be matched element by element, for who reads it.
    """

    cores: tuple[Core, ...] = ()
    obstacle: str | None = None

    def is_whole(self, pattern: Operator) -> bool:
        """Whether each solution of a query is made of one match, whatever others there are."""
        while isinstance(pattern, Project | Reduced | Extend | Filter):
            if any(pattern is core.operator for core in self.cores):
                return True
            if not all(map(is_local, expressions(pattern))):
                return False
            [pattern] = inputs(pattern)
        return any(pattern is core.operator for core in self.cores)

    def is_steady(self, pattern: Operator) -> bool:
        """Whether the solutions of a query are the same as long as the matches are."""
        cores = frozenset(id(core.operator) for core in self.cores)
        above = _outside(pattern, cores)
        return all(is_local(expression) for each in above for expression in expressions(each))


def _outside(operator: Operator, cores: frozenset[int]) -> Iterator[Operator]:
    if id(operator) not in cores:
        yield operator
        for each in inputs(operator):
            yield from _outside(each, cores)


def matching_of(query: Query, pattern: Operator, windows: Sequence[PlannedWindow]) -> Matching:
    """Find the cores of what is evaluated for a query."""
    obstacle = _obstacle(query, pattern, windows)
    if obstacle is not None:
        return Matching(obstacle=obstacle)
    found = cores_of(pattern, windows)
    if isinstance(found, str):
        return Matching(obstacle=f"{found} is looked at as a whole")
    return Matching(found)


def cores_of(pattern: Operator, windows: Sequence[PlannedWindow]) -> tuple[Core, ...] | str:
    """The parts of a pattern that read windows, each of them a core; else what is of no core."""
    search = _Search(tuple(windows))
    found = search.cores(pattern, _Place())
    return search.obstacle if found is None else tuple(found)


def _obstacle(query: Query, pattern: Operator, windows: Sequence[PlannedWindow]) -> str | None:
    """What makes a query differ from instant to instant in other ways than by its matches."""
    report = query.semantics.report
    if query.semantics.consumes:
        return f"consumption={query.semantics.consumption} chooses among all that windows hold"
    if any(isinstance(window.frame, CountWindow) for window in windows):
        return "what a count window holds is not known before others have come"
    timed = query.semantics.contents is Contents.TIMED
    if timed and any(window.in_default_graph for window in windows):
        return "contents=timed counts triples that static data may have too as a whole"
    if isinstance(report, OnChange):
        return "report=on-change looks at windows that have not closed"
    now = any(isinstance(window.frame, NowWindow) for window in windows)
    if now and isinstance(report, OnArrival) and len({each.stream for each in windows}) > 1:
        return "[NOW] beside another stream ends with the next element"
    if isinstance(query.form, Describe):
        return "DESCRIBE looks at all that windows hold"
    for operator in everywhere(pattern):
        if isinstance(operator, Service):
            return "SERVICE is asked at each instant"
        if isinstance(operator, Temporal):
            word = operator.relation.upper()
            return f"{word} is about times, which change when a triple comes again"
        asked = [part for each in expressions(operator) for part in parts(each)]
        if any(isinstance(part, Exists) for part in asked):
            return "EXISTS looks at all that windows hold"
        for part in asked:
            if isinstance(part, Timestamp):
                return f"{part.called} changes when a triple comes again"
    return None


def reads_windows(operator: Operator, windows: Sequence[PlannedWindow], inside: bool) -> bool:
    """Whether a part of a query can see what windows hold; inside of one, it does."""
    seen = inside or any(each.in_default_graph for each in windows)
    return seen or any(isinstance(each, Window) for each in everywhere(operator))


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a pattern stands."""

    window: Iri | None = None
    graph: Variable | Iri | None = None


@dataclass(slots=True)
class _Search:
    """Finds cores from the top down: the largest parts that are of the right sort."""

    windows: tuple[PlannedWindow, ...]
    obstacle: str = ""
    fresh: Iterator[int] = field(default_factory=count)

    def cores(self, operator: Operator, place: _Place) -> list[Core] | None:
        """The cores of a part of the query; none at all if some of it is of another sort."""
        if self._is_static(operator, place):
            return []
        branches = self._branches(operator, place)
        if branches is not None and 0 < len(branches) <= _MOST_BRANCHES:
            return [Core(operator, tuple(branches))]
        match operator:
            case Window(Iri() as name, source, None) if place == _Place():
                return self.cores(source, _Place(name))
            case Bgp():
                self.obstacle = "a property path" if operator.patterns else "an empty pattern"
                return None
            case Graph() | Window():
                several = "graphs" if isinstance(operator, Graph) else "windows"
                self.obstacle = f"a pattern in each of several {several}"
                return None
        found: list[Core] = []
        for each in inputs(operator):
            below = self.cores(each, place)
            if below is None:
                return None
            found += below
        return found

    def _is_static(self, operator: Operator, place: _Place) -> bool:
        """Whether a part reads no window."""
        if isinstance(operator, Values) and place.graph is None:
            return True
        return not reads_windows(operator, self.windows, place.window is not None)

    def _branches(self, operator: Operator, place: _Place) -> list[Branch] | None:
        """The alternatives that a part is made of; none if it is of another sort."""
        if self._is_static(operator, place):
            return self._of_static(operator)
        match operator:
            case Bgp(patterns):
                return self._of_bgp(Bgp(patterns), place)
            case Join(left, right):
                ours, theirs = self._branches(left, place), self._branches(right, place)
                if ours is None or theirs is None or len(ours) * len(theirs) > _MOST_BRANCHES:
                    return None
                return [_together(one, other) for one in ours for other in theirs]
            case Union(alternatives):
                found = [self._branches(each, place) for each in alternatives]
                if any(each is None for each in found):
                    return None
                return [branch for each in found for branch in each or ()]
            case Filter(condition, source):
                return self._filtered(condition, source, place)
            case Project(source, variables) if not isinstance(place.graph, Variable):
                below = self._branches(source, place)
                return None if below is None else [self._hidden(b, variables) for b in below]
            case Graph(name, source) if place.graph is None:
                return self._branches(source, replace(place, graph=name))
            case Window(Iri() as name, source, None) if place == _Place():
                return self._branches(source, _Place(name))
            case _:
                return None

    def _of_static(self, operator: Operator) -> list[Branch] | None:
        """Static data have their solutions as they are, if all variables are bound in all."""
        local = all(
            is_local(expression)
            for each in everywhere(operator)
            for expression in expressions(each)
        )
        if not local or possible(operator) != certain(operator):
            return None
        return [Branch(static=tuple(map(StaticPart, unconnected(operator))))]

    def _of_bgp(self, bgp: Bgp, place: _Place) -> list[Branch] | None:
        if not bgp.patterns:
            return None
        inside = place.window
        numbers = tuple(
            number
            for number, window in enumerate(self.windows)
            if (window.name == inside if inside is not None else window.in_default_graph)
        )
        scanned = [
            Scanned(each, numbers, place.graph, over_static=inside is None)
            for each in bgp.patterns
            if isinstance(each, TriplePattern)
        ]
        return [Branch(tuple(scanned))] if len(scanned) == len(bgp.patterns) else None

    def _filtered(
        self, condition: Expression, source: Operator, place: _Place
    ) -> list[Branch] | None:
        below = self._branches(source, place)
        blind = place.graph not in mentioned(condition)
        if below is None or not blind or not is_local(condition):
            return None
        if any(not mentioned(condition) <= each.variables for each in below):
            return None
        more = conjuncts(condition)
        return [replace(each, conditions=(*each.conditions, *more)) for each in below]

    def _hidden(self, branch: Branch, shown: tuple[Variable, ...]) -> Branch:
        """A branch in which no other pattern can mean its variables, but for some."""
        number = next(self.fresh)
        hidden = sorted(branch.variables - set(shown), key=lambda each: each.name)
        return _renamed(
            branch, {each: Variable(f"_:.within{number}.{each.name}") for each in hidden}
        )


def _together(one: Branch, other: Branch) -> Branch:
    return Branch(
        (*one.scanned, *other.scanned),
        (*one.static, *other.static),
        (*one.conditions, *other.conditions),
    )


def _renamed(branch: Branch, names: Mapping[Variable, Variable]) -> Branch:
    return Branch(
        tuple(_scanned(each, names) for each in branch.scanned),
        tuple(_static(each, names) for each in branch.static),
        tuple(_expression(each, names) for each in branch.conditions),
    )


def _scanned(scanned: Scanned, names: Mapping[Variable, Variable]) -> Scanned:
    graph = scanned.graph
    named = names.get(graph, graph) if isinstance(graph, Variable) else graph
    return replace(scanned, pattern=_pattern(scanned.pattern, names), graph=named)


def _static(part: StaticPart, names: Mapping[Variable, Variable]) -> StaticPart:
    known = dict(part.names)
    called = {each: known.get(each, each) for each in possible(part.operator)}
    now = {each: names.get(name, name) for each, name in called.items()}
    changed = sorted((pair for pair in now.items() if pair[0] != pair[1]), key=lambda p: p[0].name)
    return StaticPart(part.operator, tuple(changed))


def _expression(expression: Expression, names: Mapping[Variable, Variable]) -> Expression:
    def change(part: Expression) -> Expression | None:
        return names.get(part) if isinstance(part, Variable) else None

    return rewritten(expression, change)


def _pattern(pattern: TriplePattern, names: Mapping[Variable, Variable]) -> TriplePattern:
    def term(each: PatternTerm) -> PatternTerm:
        if isinstance(each, TriplePattern):
            return _pattern(each, names)
        return names.get(each, each) if isinstance(each, Variable) else each

    predicate = pattern.predicate
    named = names.get(predicate, predicate) if isinstance(predicate, Variable) else predicate
    return replace(
        pattern, subject=term(pattern.subject), predicate=named, object=term(pattern.object)
    )
