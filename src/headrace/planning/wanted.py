"""Which statements of a stream a query can ask for; the others need not be kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final, assert_never

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
    Filter,
    Graph,
    Group,
    Operator,
    Service,
    Values,
    Window,
)
from headrace.algebra.paths import (
    Alternative,
    Inverse,
    NegatedSet,
    OneOrMore,
    Path,
    Sequence,
    ZeroOrMore,
    ZeroOrOne,
)
from headrace.algebra.query import Describe, Form
from headrace.algebra.walk import (
    arguments,
    conjuncts,
    everywhere,
    expressions,
    inputs,
    parts,
)
from headrace.planning.limits import Limit, limits
from headrace.planning.plan import Plan
from headrace.rdf.terms import Iri, Literal
from headrace.rewrite.optimise import FILTER_EARLY


@dataclass(frozen=True, slots=True)
class Shape:
    """Statements with some terms in some places; None is any term.

    Attributes:
        subject: what stands there.
        predicate: what stands there.
        object: what stands there.
        limits: what the object must meet, if it is a number; other objects are not judged.
    """

    subject: Iri | Literal | None = None
    predicate: Iri | Literal | None = None
    object: Iri | Literal | None = None
    limits: tuple[Limit, ...] = ()

    @property
    def is_any(self) -> bool:
        """Whether every statement is of this shape."""
        return self == Shape()


def wanted_shapes(plans: Iterable[Plan], stream: Iri) -> tuple[Shape, ...] | None:
    """The shapes of the statements that some of the queries may ask a stream for.

    None if they may ask for all of them: patterns without constants, paths of no length, graphs
    whose mere presence counts, DESCRIBE.
    """
    found: dict[Shape, None] = {}
    for plan in plans:
        if stream not in plan.streams:
            continue
        shapes = _shapes(plan)
        if shapes is None:
            return None
        found |= dict.fromkeys(shapes)
    return tuple(_widened(found))


_MOST_LIMITED: Final = 32
"""Of statements with the same terms, so many different limits are looked at one by one."""


def _widened(shapes: Iterable[Shape]) -> Iterator[Shape]:
    """Shapes, of which those that differ in limits only are one if they are many."""
    by_terms: dict[Shape, list[Shape]] = {}
    for shape in shapes:
        by_terms.setdefault(replace(shape, limits=()), []).append(shape)
    for terms, same in by_terms.items():
        yield from same if len(same) <= _MOST_LIMITED else [terms]


def _shapes(plan: Plan) -> list[Shape] | None:
    # What a filter removes may have been newer than what it lets pass.
    early = plan.applies(FILTER_EARLY) and not plan.semantics.consumes
    found = shapes_in(plan.pattern, plan.query.form, early=early)
    return None if any(shape.is_any for shape in found) else found


def shapes_in(pattern: Operator, form: Form, *, early: bool = True) -> list[Shape]:
    """The shapes of the statements that a query may ask for; one of them may be any statement.

    Args:
        pattern: what is evaluated.
        form: what is made of it.
        early: whether filters on numbers count.
    """
    if isinstance(form, Describe) or _counts_graphs(pattern):
        return [Shape()]
    found: list[Shape] = []
    for bgp, conditions in _filtered(pattern):
        tested = conditions if early else ()
        found += [shape for each in bgp.patterns for shape in _of_pattern(each, tested)]
    for operator in everywhere(pattern):
        for expression in expressions(operator):
            found += [_of_call(part) for part in parts(expression) if _looks_up(part)]
    return found


Conditions = tuple[Expression, ...]


def _filtered(pattern: Operator) -> Iterator[tuple[Bgp, Conditions]]:
    """The graph patterns of a query, those in EXISTS too, with what their solutions must meet."""
    stack: list[tuple[Operator, Conditions]] = [(pattern, ())]
    while stack:
        operator, conditions = stack.pop()
        match operator:
            case Bgp():
                yield operator, conditions
            case Filter(condition, source):
                stack.append((source, (*conditions, *conjuncts(condition))))
            case _:
                stack += [(source, ()) for source in inputs(operator)]
        for expression in expressions(operator):
            tests = [part for part in parts(expression) if isinstance(part, Exists)]
            stack += [(test.pattern, ()) for test in tests]


def _counts_graphs(pattern: Operator) -> bool:
    """Whether a graph counts by being there, whatever it holds."""
    return any(
        isinstance(each, Values | Service | Group) or each == Bgp()
        for operator in everywhere(pattern)
        if isinstance(operator, Graph | Window) and isinstance(operator.name, Variable)
        for each in everywhere(operator.input)
    )


def _of_pattern(pattern: object, conditions: Conditions) -> Iterator[Shape]:
    if isinstance(pattern, TriplePattern):
        term = pattern.object
        yield Shape(
            _constant(pattern.subject),
            _constant(pattern.predicate),
            _constant(term),
            tuple(limits(conditions, term)) if isinstance(term, Variable) else (),
        )
    else:
        path: Path = pattern.path  # type: ignore[attr-defined]  # there is no third sort
        for link in _links(path):
            yield Shape(predicate=link)


_TRIPLE: Final = 3


def _looks_up(part: Expression) -> bool:
    """Whether a call asks for the time of a triple, which need not match any pattern."""
    return isinstance(part, Timestamp) and len(part.arguments) == _TRIPLE


def _of_call(call: Expression) -> Shape:
    subject, predicate, object_ = arguments(call)
    return Shape(_constant(subject), _constant(predicate), _constant(object_))


def _constant(term: PatternTerm | Expression) -> Iri | Literal | None:
    return term if isinstance(term, Iri | Literal) else None


def _links(path: Path) -> Iterator[Iri | None]:
    """The properties that a path goes along; None if it may be any, or if it may not move."""
    match path:
        case Iri():
            yield path
        case Inverse(inner) | OneOrMore(inner):
            yield from _links(inner)
        case Sequence(parts) | Alternative(parts):
            for part in parts:
                yield from _links(part)
        case ZeroOrOne() | ZeroOrMore() | NegatedSet():
            yield None
        case _:
            assert_never(path)
