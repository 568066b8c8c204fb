"""Operators: what a query computes, from patterns to solution modifiers."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from headrace.algebra.expressions import Aggregate, Expression, TriplePattern, Variable
from headrace.algebra.paths import PathPattern
from headrace.errors import Span
from headrace.rdf.terms import Iri, Term


@dataclass(frozen=True, slots=True)
class Bgp:
    """Triple patterns and path patterns that must all match; none is the one empty solution."""

    patterns: tuple[TriplePattern | PathPattern, ...] = ()


@dataclass(frozen=True, slots=True)
class Join:
    """Compatible unions of a left and a right solution."""

    left: Operator
    right: Operator


@dataclass(frozen=True, slots=True)
class LeftJoin:
    """OPTIONAL: the left solutions, extended by the right where the condition holds."""

    left: Operator
    right: Operator
    condition: Expression | None = None


@dataclass(frozen=True, slots=True)
class Union:
    """The solutions of all branches together."""

    branches: tuple[Operator, ...]


@dataclass(frozen=True, slots=True)
class Minus:
    """The left solutions without those compatible with a right one that shares a variable."""

    left: Operator
    right: Operator


class Relation(StrEnum):
    """How the interval of one solution lies to that of another: Allen's thirteen relations.

    Of any two intervals exactly one holds, also where some begin and end at the same time.
    """

    BEFORE = "before"
    AFTER = "after"
    MEETS = "meets"
    METBY = "metby"
    OVERLAPS = "overlaps"
    OVERLAPPEDBY = "overlappedby"
    STARTS = "starts"
    STARTEDBY = "startedby"
    DURING = "during"
    CONTAINS = "contains"
    FINISHES = "finishes"
    FINISHEDBY = "finishedby"
    EQUALS = "equals"


@dataclass(frozen=True, slots=True)
class Temporal:
    """Compatible unions of a left and a right solution whose intervals are related.

    The interval of a solution is from the earliest to the latest of the stream triples that made
    it; one that no stream triple has made is related to none.

    Attributes:
        left: the block that the relation is said of.
        right: the block that it is related to.
        relation: how.
        within: how far the two may be apart, in microseconds; only what is before or after is.
        optional: whether a left solution stays that is related to no right one.
        span: where the relation is written.
    """

    left: Operator
    right: Operator
    relation: Relation
    within: int | None = None
    optional: bool = False
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Filter:
    """The solutions for which the condition is true."""

    condition: Expression
    input: Operator


@dataclass(frozen=True, slots=True)
class Extend:
    """BIND: the solutions with one more variable, unbound where the expression is an error."""

    input: Operator
    variable: Variable
    expression: Expression


@dataclass(frozen=True, slots=True)
class Values:
    """Solutions written down in the query; None is unbound."""

    variables: tuple[Variable, ...]
    rows: tuple[tuple[Term | None, ...], ...]


@dataclass(frozen=True, slots=True)
class Graph:
    """A pattern matched in a named graph, or in each of them."""

    name: Variable | Iri
    input: Operator


@dataclass(frozen=True, slots=True)
class Window:
    """A pattern matched in a named window, or in each of them.

    Where the window is on every stream, `stream` is bound to the one it matched in.
    """

    name: Variable | Iri
    input: Operator
    stream: Variable | None = None


@dataclass(frozen=True, slots=True)
class Budget:
    """What a SERVICE may cost and must be worth: `[ACCURACY 0.75 WITHIN 2s POLICY WBM BUDGET 5]`.

    Attributes:
        accuracy: the share of an answer's rows that must be right, at least.
        within: how long an evaluation may wait for it, in microseconds.
        policy: which mappings of the local view are refreshed first.
        requests: how many of them may be refreshed in one evaluation.
        policy_span: where the query names the policy.
        rate: how many requests may be sent in a second between evaluations; none are otherwise.
    """

    accuracy: float | None = None
    within: int | None = None
    policy: str | None = None
    requests: int | None = None
    policy_span: Span | None = field(default=None, compare=False, repr=False)
    # Not in the text by which checkpoints know queries: a view goes on with another rate.
    rate: float | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Service:
    """A pattern that a remote endpoint evaluates."""

    endpoint: Variable | Iri
    input: Operator
    silent: bool = False
    budget: Budget | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Group:
    """GROUP BY: a solution for each group, with its keys and its aggregates."""

    input: Operator
    keys: tuple[Variable, ...]
    aggregates: tuple[tuple[Variable, Aggregate], ...]


@dataclass(frozen=True, slots=True)
class Annotation:
    """One clause of AGGREGATE: a new variable, its aggregate, and the variables it groups by."""

    variable: Variable
    aggregate: Aggregate
    keys: tuple[Variable, ...]


@dataclass(frozen=True, slots=True)
class Annotate:
    """AGGREGATE: every solution with the aggregates of its groups; none is lost or merged."""

    input: Operator
    annotations: tuple[Annotation, ...]


@dataclass(frozen=True, slots=True)
class OrderKey:
    """One key of ORDER BY."""

    expression: Expression
    descending: bool = False


@dataclass(frozen=True, slots=True)
class OrderBy:
    """The solutions in an order."""

    input: Operator
    keys: tuple[OrderKey, ...]


@dataclass(frozen=True, slots=True)
class Project:
    """The solutions cut down to some variables."""

    input: Operator
    variables: tuple[Variable, ...]


@dataclass(frozen=True, slots=True)
class Distinct:
    """Every solution once."""

    input: Operator


@dataclass(frozen=True, slots=True)
class Reduced:
    """Every solution at least once and at most as often as it is there."""

    input: Operator


@dataclass(frozen=True, slots=True)
class Slice:
    """LIMIT and OFFSET."""

    input: Operator
    offset: int = 0
    limit: int | None = None


Operator: TypeAlias = (
    Bgp
    | Join
    | LeftJoin
    | Union
    | Minus
    | Temporal
    | Filter
    | Extend
    | Values
    | Graph
    | Window
    | Service
    | Group
    | Annotate
    | OrderBy
    | Project
    | Distinct
    | Reduced
    | Slice
)
