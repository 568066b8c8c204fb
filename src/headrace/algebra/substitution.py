"""A pattern with values in the place of some of its variables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import assert_never

from headrace.algebra.expressions import (
    BuiltIn,
    Exists,
    Expression,
    PatternTerm,
    Timestamp,
    TriplePattern,
    Variable,
)
from headrace.algebra.operators import (
    Annotate,
    Bgp,
    Budget,
    Distinct,
    Extend,
    Filter,
    Graph,
    Group,
    Join,
    LeftJoin,
    Minus,
    Operator,
    OrderBy,
    Project,
    Reduced,
    Service,
    Slice,
    Temporal,
    Union,
    Values,
    Window,
)
from headrace.algebra.paths import PathPattern
from headrace.algebra.scope import certain, mentioned, possible
from headrace.algebra.walk import parts, rewritten
from headrace.rdf.terms import BlankNode, Iri, Literal, QuotedTriple, Term
from headrace.rdf.vocabulary import XSD_BOOLEAN

Bindings = Mapping[Variable, Term]


def is_plain(pattern: Operator) -> bool:
    """Test whether substitution commutes with the evaluation of an operator."""
    match pattern:
        case Bgp(patterns):
            return not any(isinstance(each, PathPattern) for each in patterns)
        case Join(left, right) | Temporal(left, right, optional=False):
            return is_plain(left) and is_plain(right)
        case Union(branches):
            return all(is_plain(branch) for branch in branches)
        case Graph(_, source) | Window(_, source):
            return is_plain(source)
        case Service(Iri(), source, budget=Budget()):
            return is_plain(source)  # its local view is kept by key, and values are no part of it
        case Filter(condition, source):
            nested = any(isinstance(part, Exists) for part in parts(condition))
            return not nested and mentioned(condition) <= certain(source) and is_plain(source)
        case _:
            return False


def substituted(operator: Operator, bindings: Bindings) -> Operator:
    """The operator with values put in wherever one of the variables stands.

    A subquery, whose other variables are its own, is joined with the values instead.
    """
    match operator:
        case Bgp(patterns):
            return Bgp(tuple(_pattern(pattern, bindings) for pattern in patterns))
        case Join(left, right):
            return Join(substituted(left, bindings), substituted(right, bindings))
        case LeftJoin(left, right, condition):
            return LeftJoin(
                substituted(left, bindings),
                substituted(right, bindings),
                None if condition is None else _expression(condition, bindings),
            )
        case Union(branches):
            return Union(tuple(substituted(branch, bindings) for branch in branches))
        case Minus(left, right):
            return Minus(substituted(left, bindings), substituted(right, bindings))
        case Temporal(left, right):
            return replace(
                operator, left=substituted(left, bindings), right=substituted(right, bindings)
            )
        case Filter(condition, source):
            return Filter(_expression(condition, bindings), substituted(source, bindings))
        case Extend(source, variable, expression) if variable not in bindings:
            inner = substituted(source, bindings)
            return Extend(inner, variable, _expression(expression, bindings))
        case Graph(name, source):
            return Graph(_name(name, bindings), substituted(source, bindings))
        case Window(name, source):
            return replace(
                operator, name=_name(name, bindings), input=substituted(source, bindings)
            )
        case Service(endpoint, source):
            return replace(
                operator,
                endpoint=_name(endpoint, bindings),
                input=substituted(source, bindings),
            )
        case (
            Extend()
            | Values()
            | Project()
            | Group()
            | Annotate()
            | OrderBy()
            | Distinct()
            | Reduced()
            | Slice()
        ):
            return _joined(operator, bindings)
        case _:
            assert_never(operator)


def is_substitutable(operator: Operator, variables: frozenset[Variable]) -> bool:
    """Whether values in the place of variables give what a join with these values gives.

    They do not where a group sees a variable that it does not bind itself: a FILTER in it would
    see a value, an OPTIONAL in it would meet less, and a MINUS would share nothing any more.
    """
    match operator:
        case Bgp(patterns):  # a path of length zero is one of any value, in the data or not
            return all(isinstance(each, TriplePattern) for each in patterns)
        case Join(left, right):
            return all(is_substitutable(each, variables) for each in (left, right))
        case Union(branches):
            return all(is_substitutable(each, variables) for each in branches)
        case Graph(name, source):
            return name not in variables and is_substitutable(source, variables)
        case Filter(condition, source):
            plain = not any(isinstance(each, Exists) for each in parts(condition))
            seen = mentioned(condition) & variables
            return plain and seen <= certain(source) and is_substitutable(source, variables)
        case LeftJoin(left, right, condition):
            seen = variables & (possible(right) | (mentioned(condition) if condition else set()))
            both = all(is_substitutable(each, variables) for each in (left, right))
            return both and seen <= certain(left)
        case _:
            return False


def without_impossible(operator: Operator) -> Operator | None:
    """What is left of an operator without patterns that match nothing in any data; none if nothing.

    Values that were put in may have made some: a literal is no subject and no predicate.
    """
    match operator:
        case Bgp(patterns):
            return operator if all(map(_may_match, patterns)) else None
        case Join(left, right):
            kept = without_impossible(left), without_impossible(right)
            return None if kept[0] is None or kept[1] is None else Join(kept[0], kept[1])
        case Union(branches):
            rest = tuple(each for each in map(without_impossible, branches) if each is not None)
            return Union(rest) if rest else None
        case LeftJoin(left, right, condition):
            kept = without_impossible(left), without_impossible(right)
            if kept[0] is None or kept[1] is None:
                return kept[0]
            return LeftJoin(kept[0], kept[1], condition)
        case Graph(_, source) | Filter(_, source):
            inner = without_impossible(source)
            return None if inner is None else replace(operator, input=inner)
        case _:
            return operator


def _may_match(pattern: TriplePattern | PathPattern) -> bool:
    terms = (pattern.subject, pattern.object)
    if isinstance(pattern, TriplePattern) and not isinstance(pattern.predicate, Variable | Iri):
        return False
    inner = all(_may_match(each) for each in terms if isinstance(each, TriplePattern))
    return inner and not isinstance(pattern.subject, Literal)


def _joined(operator: Operator, bindings: Bindings) -> Operator:
    """The operator joined with those of the values that it has variables for."""
    names = tuple(variable for variable in bindings if variable in possible(operator))
    if not names:
        return operator
    return Join(operator, Values(names, (tuple(bindings[name] for name in names),)))


def _pattern(
    pattern: TriplePattern | PathPattern, bindings: Bindings
) -> TriplePattern | PathPattern:
    subject, object_ = _term(pattern.subject, bindings), _term(pattern.object, bindings)
    if isinstance(pattern, PathPattern):
        return PathPattern(subject, pattern.path, object_)
    return TriplePattern(subject, _term(pattern.predicate, bindings), object_)


def _term(term: PatternTerm, bindings: Bindings) -> PatternTerm:
    if isinstance(term, Variable):
        return bindings.get(term, term)
    if isinstance(term, TriplePattern):
        parts = [_term(part, bindings) for part in (term.subject, term.predicate, term.object)]
        subject, predicate, object_ = parts
        if (
            isinstance(subject, Iri | BlankNode | QuotedTriple)
            and isinstance(predicate, Iri)
            and isinstance(object_, Iri | BlankNode | Literal | QuotedTriple)
        ):
            return QuotedTriple(subject, predicate, object_)
        return TriplePattern(subject, predicate, object_)
    return term


def _name(name: Variable | Iri, bindings: Bindings) -> Variable | Iri:
    value = bindings.get(name, name) if isinstance(name, Variable) else name
    # A graph is never named by a literal: such a value matches no graph, as the variable would.
    return value if isinstance(value, Iri) else name


def _expression(expression: Expression, bindings: Bindings) -> Expression:
    def change(part: Expression) -> Expression | None:
        match part:
            case Variable():
                return bindings.get(part)
            case BuiltIn("BOUND", (Variable() as variable,)):
                bound = variable in bindings
                return Literal("true", XSD_BOOLEAN) if bound else part
            case Exists(pattern, negated):
                return Exists(substituted(pattern, bindings), negated)
            case Timestamp():
                return part  # it is about the variable, not about its value
            case _:
                return None

    return rewritten(expression, change)
