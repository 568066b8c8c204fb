"""Which triples of windows make the matches of a query, where not all of them do.

The triple patterns of a query that read windows are one conjunction, with what static data they are
joined with. Triples are chosen for each of them, or matches of all of them, before a condition is
looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from headrace.algebra.expressions import Exists, Timestamp, Variable
from headrace.algebra.operators import (
    Annotate,
    Bgp,
    Distinct,
    Extend,
    Filter,
    Graph,
    Group,
    LeftJoin,
    Minus,
    Operator,
    OrderBy,
    Project,
    Reduced,
    Service,
    Slice,
    Temporal,
    Window,
)
from headrace.algebra.query import Query
from headrace.algebra.reporting import Consumption
from headrace.algebra.walk import everywhere, expressions, inputs, parts
from headrace.planning.matching import Branch, Core, Scanned, StaticPart, cores_of
from headrace.planning.planned import PlannedWindow


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why triples cannot be chosen for a query, and what to do about it."""

    problem: str
    hint: str


@dataclass(frozen=True, slots=True)
class Chosen:
    """A triple pattern in windows, for which triples are chosen.

    Attributes:
        scanned: what to look for, and where.
        key: the variables that it shares with other patterns.
    """

    scanned: Scanned
    key: tuple[Variable, ...]


@dataclass(frozen=True, slots=True)
class Consuming:
    """How triples make the matches of a query.

    Attributes:
        how: by which strategy.
        core: the operator whose solutions are the matches; none if there is an obstacle.
        patterns: those that read windows, in the order of the query.
        obstacle: why a query cannot be run so.
    """

    how: Consumption
    core: Core | None = None
    patterns: tuple[Chosen, ...] = ()
    obstacle: Obstacle | None = None

    @property
    def branch(self) -> Branch:
        """All that a match is made of."""
        assert self.core is not None, "there is no obstacle"
        [branch] = self.core.branches
        return branch


def consuming_of(
    query: Query, pattern: Operator, windows: Sequence[PlannedWindow]
) -> Consuming | None:
    """How triples make the matches of a query; none if all do that could."""
    how = query.semantics.consumption
    if how is Consumption.UNRESTRICTED:
        return None
    found = _core(pattern, windows)
    if isinstance(found, Obstacle):
        problem = f"consumption={how} chooses among the matches of triple patterns, {found.problem}"
        return Consuming(how, obstacle=Obstacle(problem, f"{found.hint}, or {_LEAVE}"))
    return Consuming(how, found, tuple(_with_keys(found.branches[0])))


_LEAVE: Final = "leave consumption=unrestricted"


def _with_keys(branch: Branch) -> Iterator[Chosen]:
    """The patterns of a branch, each with the variables that it shares with what stands beside."""
    everything: tuple[Scanned | StaticPart, ...] = (*branch.scanned, *branch.static)
    for each in branch.scanned:
        others = (other.variables for other in everything if other is not each)
        shared = each.variables & frozenset[Variable]().union(*others)
        yield Chosen(each, tuple(sorted(shared, key=lambda variable: variable.name)))


def _core(pattern: Operator, windows: Sequence[PlannedWindow]) -> Core | Obstacle:
    asked = _asked(pattern)
    if asked is not None:
        return asked
    found = cores_of(pattern, windows)
    if isinstance(found, str):
        return Obstacle(f"and {found} is none", "write it as triple patterns of one window")
    if len(found) > 1:
        return Obstacle(
            "and patterns that read streams stand apart in this query",
            "put all of them into one group, without OPTIONAL, MINUS, BIND or subqueries between",
        )
    if not found or not found[0].branches[0].scanned:
        return Obstacle("and none of them reads a window", "ask for some triple of a stream")
    if len(found[0].branches) > 1:
        return Obstacle(
            "and each branch of UNION has its own", "register a query for each branch of UNION"
        )
    beside = _beside(pattern, found[0].operator)
    return found[0] if beside is None else beside


def _asked(pattern: Operator) -> Obstacle | None:
    """What a query asks for besides its matches that would not fit them."""
    for operator in everywhere(pattern):
        if isinstance(operator, Service):
            return Obstacle("and SERVICE is none", "ask the endpoint in another query")
        if isinstance(operator, Temporal):
            problem = f"and {operator.relation.upper()} looks at the matches of each of its blocks"
            return Obstacle(problem, "let elements say their time in a triple, and compare that")
        for part in (part for each in expressions(operator) for part in parts(each)):
            if isinstance(part, Exists):
                problem = "and EXISTS looks at all that windows hold"
                return Obstacle(problem, "write it as triple patterns, if it can be")
            if isinstance(part, Timestamp):
                problem = f"and {part.called} does not follow what is chosen"
                return Obstacle(problem, "let elements say their time in a triple")
    return None


def _beside(pattern: Operator, core: Operator) -> Obstacle | None:
    """What stands beside the matches and would change them; what is made of them does not."""
    operator = pattern
    while operator is not core:
        match operator:
            case LeftJoin(left, _) | Minus(left, _) if _holds(left, core):
                operator = left
            case (
                Project()
                | Distinct()
                | Reduced()
                | Slice()
                | OrderBy()
                | Group()
                | Annotate()
                | Extend()
                | Filter()
                | Graph()
                | Window()
            ):
                [operator] = inputs(operator)
            case _:
                return Obstacle(
                    "and what is joined with them here may have variables without a value",
                    "put OPTIONAL and MINUS after all patterns that read streams",
                )
    return None


def _holds(operator: Operator, core: Operator) -> bool:
    if isinstance(operator, Bgp) or operator is core:
        return operator is core
    return any(_holds(each, core) for each in inputs(operator))
