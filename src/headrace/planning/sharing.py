"""Which queries are one but for constants, and the plan by which they are evaluated as one.

The constants of what only gains matches (:mod:`headrace.planning.matching`) become variables, and
a table says which values they have for each of the queries: its members. So a match is of some
member, and it is found in the same way whether there is one of them or fifty thousand.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final, cast

from headrace.algebra.expressions import Expression, PatternTerm, TriplePattern, Variable
from headrace.algebra.operators import (
    Bgp,
    Distinct,
    Extend,
    Filter,
    Graph,
    Join,
    Operator,
    OrderBy,
    Project,
    Reduced,
    Slice,
    Union,
    Values,
    Window,
)
from headrace.algebra.paths import PathPattern
from headrace.algebra.scope import certain, possible_in_order
from headrace.algebra.walk import inputs, rewritten, with_inputs
from headrace.functions.dependence import is_local
from headrace.planning.matching import reads_windows
from headrace.planning.plan import Plan
from headrace.planning.templates import Filled, constants_of
from headrace.rdf.terms import Iri, Literal
from headrace.rewrite.optimise import SHARE

MEMBER: Final = Variable("_:.member")
"""Says which member a match is of, by number; it stands for no term."""
_PARAMETER: Final = "_:.parameter"

Constant = Iri | Literal


@dataclass(frozen=True, slots=True, eq=False)
class Parameters(Values):
    """The values of parameters for each member, by reference: no two of them are compared.

    Attributes:
        columns: the values of each parameter, member by member.
        number: how many members there are.
    """

    columns: tuple[tuple[Constant, ...], ...] = field(default=(), repr=False)
    number: int = 0

    def __eq__(self, other: object) -> bool:
        """No table is equal to another one."""
        return self is other

    def __hash__(self) -> int:
        """Fast, however many members there are."""
        return id(self)


@dataclass(frozen=True)
class Shape:
    """What all queries have in common that are equal but for constants of their cores."""

    parts: Hashable

    @cached_property
    def _hash(self) -> int:
        return hash(self.parts)

    def __hash__(self) -> int:
        """A hash that is computed once: many queries are looked up by one shape."""
        return self._hash


@dataclass(frozen=True, slots=True)
class Lifted:
    """A query as a shape with constants.

    Attributes:
        plan: the query.
        shape: what it has in common with others.
        constants: in the order in which the shape has places for them.
    """

    plan: Plan
    shape: Shape
    constants: tuple[Constant, ...]


def lifted(plan: Plan) -> Lifted | None:
    """The shape of a query; none if it can only be evaluated alone."""
    if not plan.applies(SHARE) or plan.stream is not None:
        return None
    if plan.filled is None:
        found = _lifted(plan)
        return None if found is None else found.query
    recipe = _recipe(plan, plan.filled)
    if recipe is None:
        return None
    own = plan.filled.constants
    constants = (own[at] if isinstance(at, int) else at for at in recipe.places)
    return Lifted(plan, recipe.shape, tuple(constants))


@dataclass(frozen=True, slots=True)
class _Recipe:
    """How queries of a template are lifted: what is in conditions is the same for all of them.

    Attributes:
        shape: of those that have the same constants outside of cores.
        places: for each place of the shape, which constant of the query, or what stands there.
    """

    shape: Shape
    places: tuple[int | Constant, ...]


@dataclass(frozen=True, slots=True)
class _Found:
    """A query that was lifted.

    Attributes:
        query: what it is.
        in_patterns: which of its constants stood in triple patterns.
        staying: the constants of triple patterns that are part of the shape.
    """

    query: Lifted
    in_patterns: tuple[bool, ...]
    staying: frozenset[Constant]


_MOST_RECIPES: Final = 1_000
"""So many are known for a template; more are found anew for each query."""


def _recipe(plan: Plan, filled: Filled) -> _Recipe | None:
    """How a query is lifted, if others of its template were; none if it is evaluated alone."""
    known, base = filled.template.known, (plan.windows, plan.delays)
    numbers = {constant: number for number, constant in enumerate(filled.constants)}
    found = None
    if base not in known:  # which of the constants are part of the shape
        found = _lifted(plan)
        staying = frozenset() if found is None else found.staying
        known[base] = tuple(sorted(numbers[each] for each in staying))
    own = (base, tuple(filled.constants[each] for each in cast("tuple[int, ...]", known[base])))
    if own in known:
        return cast("_Recipe | None", known[own])
    found = found or _lifted(plan)
    recipe = None
    if found is not None:
        pairs = zip(found.query.constants, found.in_patterns, strict=True)
        places = (numbers[each] if in_pattern else each for each, in_pattern in pairs)
        recipe = _Recipe(found.query.shape, tuple(places))
    if len(known) < _MOST_RECIPES:
        known[own] = recipe
    return recipe


def _lifted(plan: Plan) -> _Found | None:
    """A query with its constants lifted, as if there were no other."""
    if not plan.matching.cores:
        return None
    lifting = _Lifting(plan, _numbered, Values((MEMBER,), ()))
    pattern = lifting.everything()
    shape = (
        pattern,
        replace(plan.query, pattern=Bgp(), registration=None),
        plan.windows,
        plan.delays,
        possible_in_order(plan.query.pattern),
        _spine(plan.query.pattern),
    )
    query = Lifted(plan, Shape(shape), tuple(lifting.constants))
    return _Found(query, tuple(lifting.in_patterns), constants_of(pattern))


def together(members: Sequence[Lifted]) -> Plan | None:
    """The plan that evaluates queries of one shape as one; none if there is no such plan."""
    first = members[0].plan
    table = list(zip(*(each.constants for each in members), strict=True))
    chosen: dict[tuple[Constant, ...], Variable] = {}
    for values in table:
        if any(value != values[0] for value in values):
            # What is the same for every member in two places is one parameter.
            chosen.setdefault(values, Variable(f"{_PARAMETER}{len(chosen)}"))
    variables = [chosen.get(values) for values in table]
    parameters = Parameters((MEMBER, *chosen.values()), (), tuple(chosen), len(members))
    pattern = _Lifting(first, variables.__getitem__, parameters).everything()
    names = tuple(each.plan.name for each in members)
    plan = replace(first, rewritten=pattern, members=names)
    cores = len(plan.matching.cores) == len(first.matching.cores)
    return plan if cores else None


def is_parameter(name: str) -> bool:
    """Whether a variable of a name stands for a constant that members differ in."""
    return name.startswith(_PARAMETER)


def parameters_of(plan: Plan) -> Parameters | None:
    """The table of a plan's parameters, if it has some."""
    stack = [plan.pattern] if plan.members else []
    while stack:
        operator = stack.pop()
        if isinstance(operator, Parameters):
            return operator
        stack += inputs(operator)
    return None


def _stays(variable: Variable) -> bool:
    return variable == MEMBER or is_parameter(variable.name)


def _hidden(operator: Operator, shown: tuple[Variable, ...]) -> list[Variable]:
    """Parameters that a projection must not lose: they are the same everywhere."""
    found = possible_in_order(operator)
    return [each for each in found if _stays(each) and each not in shown]


def _spine(pattern: Operator) -> tuple[str, ...]:
    """The sorts of operators that say in which order the solutions of a query stand."""
    found = []
    while isinstance(pattern, Slice | Distinct | Reduced | Project | OrderBy):
        found.append(type(pattern).__name__)
        pattern = pattern.input
    return tuple(found)


def _numbered(place: int) -> Variable:
    return Variable(f"{_PARAMETER}{place}")


@dataclass(slots=True)
class _Lifting:
    """Puts variables in the places of constants.

    Attributes:
        plan: the query.
        choose: which variable stands in a place; none if the constant stays.
        table: what binds the variables.
        constants: what stood in the places.
        in_patterns: whether it was a triple pattern in which each of them stood.
    """

    plan: Plan
    choose: Callable[[int], Variable | None]
    table: Values
    constants: list[Constant] = field(default_factory=list)
    in_patterns: list[bool] = field(default_factory=list)

    def everything(self) -> Operator:
        """The whole pattern."""
        cores = {id(core.operator) for core in self.plan.matching.cores}
        return self._above(self.plan.pattern, cores, _Place())

    def _above(self, operator: Operator, cores: set[int], place: _Place) -> Operator:
        if id(operator) in cores:
            return self._bound(operator, self._part(operator, place))
        inside = replace(place, window=True) if isinstance(operator, Window) else place
        below = tuple(self._above(each, cores, inside) for each in inputs(operator))
        return with_inputs(operator, below)

    def _bound(self, before: Operator, after: Operator) -> Operator:
        """A part with its parameters bound, if it has got some."""
        is_bound = after is before or MEMBER in certain(after)
        return after if is_bound else Join(after, self.table)

    def _part(self, operator: Operator, place: _Place) -> Operator:
        """A part of a core; of what is static, only that in which a parameter is as good."""
        if not place.static and not reads_windows(operator, self.plan.windows, place.window):
            return self._bound(operator, self._part(operator, replace(place, static=True)))
        match operator:
            case Bgp(patterns):
                lifted = tuple(map(self._pattern, patterns))
                same = all(new is old for new, old in zip(lifted, patterns, strict=True))
                return operator if same else Bgp(lifted)
            case Filter(condition, source):
                return self._filtered(operator, condition, self._part(source, place), place)
            case Project(source, variables):
                below = self._part(source, place)
                if below is source:
                    return operator
                return Project(below, (*variables, *_hidden(below, variables)))
            case Graph(_, source):
                return with_inputs(operator, (self._part(source, replace(place, graph=True)),))
            case Window(_, source):
                return with_inputs(operator, (self._part(source, replace(place, window=True)),))
            case Join() | Union() | Distinct() | Extend():
                return with_inputs(operator, tuple(self._part(e, place) for e in inputs(operator)))
            case _:
                return operator

    def _filtered(
        self, operator: Filter, condition: Expression, below: Operator, place: _Place
    ) -> Operator:
        if place.graph or not is_local(condition):
            return with_inputs(operator, (below,))
        made = rewritten(condition, self._lifted_part)
        if made == condition:
            return with_inputs(operator, (below,))
        return Filter(made, below if MEMBER in certain(below) else Join(below, self.table))

    def _lifted_part(self, part: Expression) -> Expression | None:
        return self._lift(part, in_pattern=False) if isinstance(part, Iri | Literal) else None

    def _pattern(self, pattern: TriplePattern | PathPattern) -> TriplePattern | PathPattern:
        if not isinstance(pattern, TriplePattern):
            return pattern
        subject, object_ = self._term(pattern.subject), self._term(pattern.object)
        if subject is pattern.subject and object_ is pattern.object:
            return pattern
        return TriplePattern(subject, pattern.predicate, object_)

    def _term(self, term: PatternTerm) -> PatternTerm:
        return self._lift(term, in_pattern=True) if isinstance(term, Iri | Literal) else term

    def _lift(self, constant: Constant, *, in_pattern: bool) -> Variable | Constant:
        self.constants.append(constant)
        self.in_patterns.append(in_pattern)
        variable = self.choose(len(self.constants) - 1)
        return constant if variable is None else variable


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a part of a core stands."""

    window: bool = False
    graph: bool = False
    static: bool = False
