"""A query in the pieces that C-SPARQL evaluates: what is static, what streams, and how they meet.

The static query and the streaming views are evaluated apart, their join with the conditions between
them is the comprehensive view, and each aggregate is joined to it by its keys. Where alternatives,
OPTIONAL, MINUS or subqueries stand between patterns, a query has no such pieces.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from headrace.algebra.expressions import Expression, TriplePattern, Variable
from headrace.algebra.operators import (
    Annotate,
    Bgp,
    Distinct,
    Extend,
    Filter,
    Graph,
    Group,
    Join,
    Operator,
    OrderBy,
    Project,
    Reduced,
    Slice,
    Union,
    Window,
)
from headrace.algebra.paths import PathPattern
from headrace.algebra.query import Query
from headrace.algebra.scope import possible_in_order
from headrace.algebra.walk import conjuncts, inputs, rewritten, within
from headrace.planning.tree import call_text, text
from headrace.rdf.terms import Iri
from headrace.rewrite.knowledge import Known
from headrace.rewrite.sources import KnownPredicates, Origin

Piece = tuple[str, str]
"""What a piece is called, and what it says."""
Pattern = TriplePattern | PathPattern
Views = dict[Iri | None, list[Pattern]]
"""What is matched in each window; what is matched in all of them is under none."""


def pieces(query: Query, predicates: KnownPredicates | None = None) -> Iterator[Piece]:
    """Return the pieces of a query, if it has such.

    Args:
        query: the query.
        predicates: which are known to occur in static data and in streams.
    """
    pattern = _conjunction(query.pattern)
    if pattern is None:
        return
    static: list[Pattern] = []
    views: Views = {}
    known = Known.of(query, predicates)
    _collect(pattern, known, None, static, views)
    ours = _variables(static)
    graphs = " ".join(f"<{graph.value}>" for graph in query.dataset.default)
    if static:
        yield "static query", f"SELECT DISTINCT {_names(ours)} {_from(graphs)}{_group(static)}"
    for window, patterns in views.items():
        read = [_streams(query, window)]
        if window is None and any(known.origin(each) is Origin.EITHER for each in patterns):
            read.append(graphs or "static data")
        shown = f"SELECT {_names(_variables(patterns))} {_from(' '.join(read))}"
        yield "streaming view", f"{shown}{_group(patterns)}"
    yield from _comprehensive(pattern, static, views)
    yield from _aggregations(pattern)


def _conjunction(operator: Operator) -> Operator | None:
    """A pattern whose parts must all match, under its modifiers; None if it is of another sort.

    What is looked for in streams and in static graphs alike is what streams bring.
    """
    match operator:
        case Bgp():
            return operator
        case Union(branches) if len({_bare(each) for each in branches}) == 1:
            streaming = [each for each in branches if isinstance(each, Window)]
            return streaming[0] if streaming else None
        case Join(left, right):
            ours, theirs = _joinable(left), _joinable(right)
            return None if ours is None or theirs is None else Join(ours, theirs)
        case (
            Filter(_, source)
            | Graph(_, source)
            | Window(_, source)
            | Annotate(source)
            | Group(source)
            | Extend(source)
            | OrderBy(source)
            | Project(source)
            | Distinct(source)
            | Reduced(source)
            | Slice(source)
        ):
            below = _conjunction(source)
            return None if below is None else replace(operator, input=below)
        case _:
            return None


def _joinable(operator: Operator) -> Operator | None:
    """The same of a part of a join, where nothing may be modified."""
    plain = (Bgp, Join, Filter, Graph, Window, Union)
    below = _conjunction(operator)
    if below is None or not all(isinstance(each, plain) for each in within(below)):
        return None
    return below


def _bare(operator: Operator) -> Operator:
    """A pattern without where it is matched and what is asked of it."""
    while isinstance(operator, Filter | Graph | Window):
        operator = operator.input
    return operator


def _collect(
    operator: Operator, known: Known, window: Iri | None, static: list[Pattern], views: Views
) -> None:
    """Put triple patterns apart by where their matches are expected."""
    if isinstance(operator, Bgp):
        for each in operator.patterns:
            if known.expected(each) is Origin.STREAM:
                views.setdefault(window, []).append(each)
            else:
                static.append(each)
    if isinstance(operator, Window) and isinstance(operator.name, Iri):
        window = operator.name
    for source in inputs(operator):
        _collect(source, known.inside(operator), window, static, views)


def _streams(query: Query, window: Iri | None) -> str:
    """The streams of a window, or of all."""
    chosen = [each for each in query.windows if window is None or each.name == window]
    return " ".join(dict.fromkeys(text(each.stream) for each in chosen))


def _comprehensive(pattern: Operator, static: list[Pattern], views: Views) -> Iterator[Piece]:
    """Describe how the pieces meet."""
    parts = [("the static query", _variables(static))] if static else []
    number = len(views)
    for place, patterns in enumerate(views.values()):
        which = "the streaming view" if number == 1 else f"streaming view {place + 1}"
        parts.append((which, _variables(patterns)))
    conditions = _conditions(below for below in within(pattern) if not _is_above(below))
    if len(parts) <= 1 and not conditions:
        return
    mentioned = [each for _, variables in parts for each in variables]
    shared = [each for each in dict.fromkeys(mentioned) if mentioned.count(each) > 1]
    said = " joined with ".join(name for name, _ in parts)
    if len(parts) > 1:
        said += f" on {_names(shared)}" if shared else ", all with all"
    if conditions:
        said += f", where {' and '.join(conditions)}"
    yield "comprehensive", said


def _is_above(operator: Operator) -> bool:
    """Test whether an operator is evaluated after an aggregation."""
    return any(isinstance(each, Annotate | Group) for each in within(operator))


def _conditions(operators: Iterable[Operator]) -> list[str]:
    """List the conditions of some operators."""
    return [
        text(part)
        for operator in operators
        if isinstance(operator, Filter)
        for part in conjuncts(operator.condition)
    ]


def _variables(patterns: list[TriplePattern | PathPattern]) -> list[Variable]:
    found = possible_in_order(Bgp(tuple(patterns)))
    return [each for each in found if not each.is_anonymous]


def _names(variables: list[Variable] | tuple[Variable, ...]) -> str:
    return " ".join(f"?{each.name}" for each in variables) or "*"


def _from(names: str) -> str:
    return f"FROM {names} " if names else ""


def _group(patterns: list[TriplePattern | PathPattern]) -> str:
    written = " . ".join(_written(each) for each in dict.fromkeys(patterns))
    return f"WHERE {{ {written} }}"


def _written(pattern: TriplePattern | PathPattern) -> str:
    middle = pattern.predicate if isinstance(pattern, TriplePattern) else pattern.path
    return f"{text(pattern.subject)} {text(middle)} {text(pattern.object)}"


def _aggregations(pattern: Operator) -> Iterator[Piece]:
    shown = {
        each.expression: each.variable
        for each in within(pattern)
        if isinstance(each, Extend) and isinstance(each.expression, Variable)
    }
    for operator in reversed(list(within(pattern))):  # each after what it reads
        match operator:
            case Annotate(_, annotations):
                for each in annotations:
                    call = call_text(each.variable, each.aggregate)
                    yield "aggregation", f"{call}{_by(each.keys)}, as an outer join on these keys"
            case Group(_, keys, aggregates):
                named = [(shown.get(variable, variable), call) for variable, call in aggregates]
                calls = ", ".join(call_text(*each) for each in named)
                yield "aggregation", f"{calls or 'groups'}{_by(keys)}"
            case Filter(condition) if _is_above(operator):
                tested = rewritten(condition, _renaming(shown))
                parts = " and ".join(map(text, conjuncts(tested)))
                yield "filter", f"what was aggregated, where {parts}"


def _renaming(names: Mapping[Variable, Variable]) -> Callable[[Expression], Expression | None]:
    return lambda part: names.get(part) if isinstance(part, Variable) else None


def _by(keys: tuple[Variable, ...]) -> str:
    return f" by {_names(keys)}" if keys else " of all together"
