"""Aggregates above unions of streams."""

from __future__ import annotations

from headrace.algebra.expressions import Membership, Variable
from headrace.algebra.operators import Annotate, Extend, Filter, Group, Operator, Project, Union
from headrace.rdf.terms import Iri


def push_aggregates_into_union(operator: Operator) -> Operator:
    """Totally distributable aggregates: each branch is added up on its own.

    GROUP (P1 UNION P2) BY G  ->  (GROUP P1 BY G) UNION (GROUP P2 BY G)    and so for AGGREGATE
        if no two branches can have a group in common: a key is another constant in each
    """
    match operator:
        case Group(Union(branches), keys, aggregates) if _apart(branches, keys):
            return Union(tuple(Group(branch, keys, aggregates) for branch in branches))
        case Annotate(Union(branches), annotations):
            if all(_apart(branches, each.keys) for each in annotations):
                return Union(tuple(Annotate(branch, annotations) for branch in branches))
    return operator


def _apart(branches: tuple[Operator, ...], keys: tuple[Variable, ...]) -> bool:
    return any(_differs(key, branches) for key in keys)


def _differs(key: Variable, branches: tuple[Operator, ...]) -> bool:
    """Whether a variable has a constant of its own in each branch but one, which excludes them."""
    constants = [_constant(key, branch) for branch in branches]
    known = {each for each in constants if each is not None}
    others = [branch for branch, each in zip(branches, constants, strict=True) if each is None]
    if len(known) + len(others) < len(branches) or len(others) > 1:
        return False
    return all(known <= _excluded(key, branch) for branch in others)


def _constant(key: Variable, branch: Operator) -> Iri | None:
    """The name that a branch binds a variable to, whatever it matches."""
    match branch:
        case Extend(_, variable, Iri() as value) if variable == key:
            return value
        case Extend(source) | Filter(_, source):
            return _constant(key, source)
        case Project(source, variables) if key in variables:
            return _constant(key, source)
        case _:
            return None


def _excluded(key: Variable, branch: Operator) -> frozenset[Iri]:
    """The names that a variable never has in a branch, because a filter says so."""
    match branch:
        case Filter(Membership(value, candidates, True), source) if value == key:
            here = frozenset(each for each in candidates if isinstance(each, Iri))
            return here | _excluded(key, source)
        case Filter(_, source) | Extend(source):
            return _excluded(key, source)
        case Project(source, variables) if key in variables:
            return _excluded(key, source)
        case _:
            return frozenset()
