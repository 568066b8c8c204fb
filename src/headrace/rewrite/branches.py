"""The branches of unions, whether they have something in common, and whether solutions differ."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.algebra.expressions import Membership, Variable
from headrace.algebra.operators import Distinct, Extend, Filter, Group, Operator, Project, Union
from headrace.algebra.scope import Variables, possible
from headrace.algebra.walk import expressions, with_inputs
from headrace.rdf.terms import Iri
from headrace.rewrite.conditions import is_movable


def branches_of(operator: Operator) -> tuple[Operator, ...]:
    """What an operator puts together, as the branches of a union; else it is the only one."""
    match operator:
        case Union(branches):
            return tuple(part for branch in branches for part in branches_of(branch))
        case Project(source) | Extend(source) if all(map(is_movable, expressions(operator))):
            parts = branches_of(source)
            if len(parts) > 1:
                return tuple(with_inputs(operator, (part,)) for part in parts)
    return (operator,)


def differ(branches: tuple[Operator, ...], variables: Iterable[Variable]) -> bool:
    """Whether no two branches can have a solution that agrees on some variables."""
    return any(_differs(key, branches) for key in variables)


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
        case Group(source, keys) if key in keys:
            return _constant(key, source)
        case Distinct(source):
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
        case Group(source, keys) if key in keys:
            return _excluded(key, source)
        case Distinct(source):
            return _excluded(key, source)
        case _:
            return frozenset()


def is_distinct(operator: Operator) -> bool:
    """Whether the solutions of an operator differ by themselves."""
    branches = branches_of(operator)
    if len(branches) > 1:
        return all(map(is_distinct, branches)) and differ(branches, possible(operator))
    match operator:
        case Distinct() | Group():
            return True
        case Project(source, variables):
            return _group_keys(source) <= set(variables)
        case _:
            return False


def _group_keys(operator: Operator) -> Variables:
    """The keys of the groups that an operator gives, or else what no projection has."""
    match operator:
        case Filter(_, source) | Extend(source):
            return _group_keys(source)
        case Group(_, keys):
            return frozenset(keys)
        case _:
            return frozenset({Variable("_:no group")})
