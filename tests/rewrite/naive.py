"""What a pattern means, straight from the definitions of the SPARQL 1.1 algebra.

Solutions are dictionaries in a list and every join is two loops: slow, short, and independent of
the kernel. Beside its terms a solution has the times of the stream triples that bound them. Only
the values of expressions and aggregates come from the function table of the engine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import product
from typing import NamedTuple

from headrace.algebra import paths
from headrace.algebra.expressions import (
    Aggregate,
    Expression,
    Moment,
    PatternTerm,
    Timestamp,
    TriplePattern,
    Variable,
)
from headrace.algebra.operators import (
    Annotate,
    Bgp,
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
    OrderKey,
    Project,
    Reduced,
    Relation,
    Slice,
    Temporal,
    Union,
    Values,
    Window,
)
from headrace.algebra.paths import (
    Alternative,
    Inverse,
    NegatedSet,
    OneOrMore,
    Path,
    PathPattern,
    ZeroOrMore,
    ZeroOrOne,
)
from headrace.algebra.substitution import substituted
from headrace.functions.aggregates import aggregate
from headrace.functions.errors import ExpressionError
from headrace.functions.evaluate import EvaluationContext, evaluate
from headrace.functions.logic import truth
from headrace.functions.ordering import order_key, value_key
from headrace.functions.times import date_time
from headrace.functions.values import literal_of
from headrace.rdf.terms import Iri, Literal, QuotedTriple, Term, canonical
from headrace.rdf.vocabulary import XSD_DATE_TIME

Triple = tuple[Term, Term, Term]
Times = Mapping[Iri, int]
"""When a triple happened last, by stream; a static one never did."""
Statements = Mapping[Triple, Times]
Row = tuple[Term | None, ...]

NOW = Literal("1970-01-01T00:00:00Z", XSD_DATE_TIME)


Interval = tuple[int, int]


class Solution(NamedTuple):
    """Terms of variables, the latest times of the triples that bound them, by stream, and the
    interval of all stream triples that were matched."""

    terms: dict[Variable, Term]
    times: dict[tuple[Variable, Iri], int]
    interval: Interval | None = None


@dataclass(frozen=True)
class Dataset:
    """A default graph and named ones."""

    default: Statements = field(default_factory=dict)
    named: Mapping[Term, Statements] = field(default_factory=dict)


@dataclass(frozen=True)
class World:
    """What there is to be asked: static data, and what windows hold at an instant.

    Attributes:
        static: seen outside any WINDOW.
        windows: what each holds, by name and stream.
        in_default: the names of those that are seen outside any WINDOW too.
    """

    static: Dataset = field(default_factory=Dataset)
    windows: Mapping[tuple[Iri, Iri], Dataset] = field(default_factory=dict)
    in_default: frozenset[Iri] = frozenset()

    @property
    def seen(self) -> Dataset:
        """What patterns outside any WINDOW see."""
        others = [held for (name, _), held in self.windows.items() if name in self.in_default]
        return united([self.static, *others])


def bag(operator: Operator, world: World) -> Counter[frozenset[tuple[str, Term]]]:
    """The solutions of a pattern, each as often as it is there."""
    found = solutions(operator, world)
    return Counter(
        frozenset((variable.name, term) for variable, term in each.terms.items()) for each in found
    )


def solutions(operator: Operator, world: World) -> list[Solution]:
    """The solutions of a pattern, in its order if it has one."""
    seen = world.seen
    return _Evaluation(world, seen, seen.default).of(operator)


@dataclass(frozen=True)
class _Evaluation:
    """The world, with one dataset and one of its graphs active."""

    world: World
    data: Dataset
    active: Statements

    def of(self, operator: Operator) -> list[Solution]:
        match operator:
            case Bgp(patterns):
                found = [Solution({}, {})]
                for pattern in patterns:
                    found = _join(found, self._matches(pattern))
                return found
            case Join(left, right):
                return _join(self.of(left), self.of(right))
            case LeftJoin(left, right, condition):
                return self._left_join(self.of(left), self.of(right), condition)
            case Temporal():
                return self._related(operator)
            case Minus(left, right):
                others = self.of(right)
                return [
                    each for each in self.of(left) if not any(_cancels(each, o) for o in others)
                ]
            case Union(branches):
                return [each for branch in branches for each in self.of(branch)]
            case Filter(condition, source):
                return [each for each in self.of(source) if self._holds(condition, each)]
            case Extend(source, variable, expression):
                return [self._extended(each, variable, expression) for each in self.of(source)]
            case Values(variables, rows):
                pairs = (zip(variables, row, strict=True) for row in rows)
                return [Solution({v: t for v, t in row if t is not None}, {}) for row in pairs]
            case Graph(name, source):
                return list(self._graph(name, source))
            case Window():
                return list(self._window(operator))
            case Group(source, keys, aggregates):
                return self._group(self.of(source), keys, aggregates)
            case Annotate():
                return self._annotated(operator)
            case Project(source, variables):
                return [_cut(each, variables) for each in self.of(source)]
            case Distinct(source):
                return list({frozenset(s.terms.items()): s for s in self.of(source)}.values())
            case Reduced(source):
                return self.of(source)
            case OrderBy(source, order):
                return self._ordered(self.of(source), order)
            case Slice(source, offset, limit):
                found = self.of(source)
                if not _is_ordered(source):
                    found = _by_text(found)
                return found[offset:][:limit]
            case _:
                raise NotImplementedError(type(operator).__name__)

    # -- patterns ------------------------------------------------------------------------------

    def _matches(self, pattern: TriplePattern | PathPattern) -> list[Solution]:
        if isinstance(pattern, PathPattern):
            ends = (pattern.subject, pattern.object)
            pairs = _pairs(pattern.path, self.active, ends)
            found = (_matched(ends, pair, {}) for pair in pairs)
        else:
            terms = (pattern.subject, pattern.predicate, pattern.object)
            found = (_matched(terms, triple, times) for triple, times in self.active.items())
        return [each for each in found if each is not None]

    def _graph(self, name: Variable | Iri, source: Operator) -> Iterator[Solution]:
        for graph, statements in self.data.named.items():
            if isinstance(name, Variable):
                named = [Solution({name: graph}, {})]
            elif name == graph:
                named = [Solution({}, {})]
            else:
                continue
            yield from _join(_Evaluation(self.world, self.data, statements).of(source), named)

    def _window(self, operator: Window) -> Iterator[Solution]:
        """Windows of one name are their union, unless it is asked which stream they are on."""
        together: dict[tuple[Iri, Iri | None], list[Dataset]] = {}
        for (name, stream), held in self.world.windows.items():
            if isinstance(operator.name, Variable) or operator.name == name:
                asked = stream if operator.stream is not None else None
                together.setdefault((name, asked), []).append(held)
        for (name, on), parts in together.items():
            bound: dict[Variable, Term] = {}
            if isinstance(operator.name, Variable):
                bound[operator.name] = name
            if operator.stream is not None and on is not None:
                bound[operator.stream] = on
            data = united(parts)
            found = _Evaluation(self.world, data, data.default).of(operator.input)
            yield from _join(found, [Solution(bound, {})])

    # -- expressions ---------------------------------------------------------------------------

    def _value(self, expression: Expression, solution: Solution) -> Term | None:
        """The value of an expression; None is an error."""
        context = EvaluationContext(
            NOW,
            exists=lambda pattern, terms: bool(self.of(substituted(pattern, terms))),
            timestamp=lambda call, _terms: self._timestamp(call, solution),
        )
        try:
            return evaluate(expression, solution.terms, context)
        except ExpressionError:
            return None

    def _holds(self, condition: Expression, solution: Solution) -> bool:
        value = self._value(condition, solution)
        try:
            return value is not None and truth(value)
        except ExpressionError:
            return False

    def _timestamp(self, call: Timestamp, solution: Solution) -> Term | None:
        found: Iterable[tuple[Iri, int]]
        if call.moment is not None:
            return None if solution.interval is None else _moment(call.moment, solution.interval)
        if len(call.arguments) == 1:
            found = [(on, at) for (v, on), at in solution.times.items() if v == call.arguments[0]]
        else:
            triple = tuple(self._value(each, solution) for each in call.arguments)
            graphs = [
                graph
                for held in self.world.windows.values()
                for graph in (held.default, *held.named.values())
            ]
            found = [
                each
                for g in graphs
                for t, times in g.items()
                if t == triple
                for each in times.items()
            ]
        stream = (
            solution.terms.get(call.stream) if isinstance(call.stream, Variable) else call.stream
        )
        asked = [at for on, at in found if call.stream is None or on == stream]
        return date_time(max(asked)) if asked else None

    # -- operators -----------------------------------------------------------------------------

    def _left_join(
        self, left: list[Solution], right: list[Solution], condition: Expression | None
    ) -> list[Solution]:
        found = []
        for each in left:
            fitting = _join([each], right)
            if condition is not None:
                fitting = [both for both in fitting if self._holds(condition, both)]
            found += fitting or [each]
        return found

    def _related(self, operator: Temporal) -> list[Solution]:
        left, right, found = self.of(operator.left), self.of(operator.right), []
        for one in left:
            fitting = [
                _both(one, other)
                for other in right
                if _compatible(one, other) and _are_related(operator, one, other)
            ]
            found += fitting or ([one] if operator.optional else [])
        return found

    def _extended(self, each: Solution, variable: Variable, expression: Expression) -> Solution:
        value = self._value(expression, each)
        return each if value is None else each._replace(terms={**each.terms, variable: value})

    def _group(
        self,
        found: list[Solution],
        keys: tuple[Variable, ...],
        aggregates: tuple[tuple[Variable, Aggregate], ...],
    ) -> list[Solution]:
        groups = _groups(found, keys)
        if not keys and not groups:
            groups[()] = []
        rows = []
        for key, members in groups.items():
            values = {variable: self._aggregate(call, members) for variable, call in aggregates}
            bound = dict(zip(keys, key, strict=True)) | values
            rows.append(Solution({v: term for v, term in bound.items() if term is not None}, {}))
        return rows

    def _annotated(self, operator: Annotate) -> list[Solution]:
        found = self.of(operator.input)
        made = [dict(each.terms) for each in found]
        for each in operator.annotations:
            groups = _groups(found, each.keys)
            values = {k: self._aggregate(each.aggregate, members) for k, members in groups.items()}
            for solution, terms in zip(found, made, strict=True):
                value = values[_key(solution, each.keys)]
                if value is not None:
                    terms[each.variable] = value
        return [each._replace(terms=terms) for terms, each in zip(made, found, strict=True)]

    def _aggregate(self, call: Aggregate, members: list[Solution]) -> Term | None:
        if call.argument is None:
            rows = [frozenset(i for i in s.terms.items() if not i[0].is_anonymous) for s in members]
            return literal_of(len(set(rows) if call.distinct else rows))
        values = [self._value(call.argument, each) for each in members]
        try:
            return aggregate(
                call.function, values, distinct=call.distinct, separator=call.separator
            )
        except ExpressionError:
            return None

    def _ordered(self, found: list[Solution], keys: tuple[OrderKey, ...]) -> list[Solution]:
        found = _by_text(found)
        for key in reversed(keys):
            values = [self._value(key.expression, each) for each in found]
            order = {
                value_key(term): place
                for place, term in enumerate(sorted(set(values), key=order_key))
            }
            ranked = [(order[value_key(v)], s) for v, s in zip(values, found, strict=True)]
            ranked.sort(key=lambda pair: pair[0], reverse=key.descending)
            found = [each for _, each in ranked]
        return found


def united(parts: Sequence[Dataset]) -> Dataset:
    """Several datasets as one: a triple that is in two of them has the times of both."""
    names = dict.fromkeys(name for part in parts for name in part.named)
    return Dataset(
        _merged(part.default for part in parts),
        {name: _merged(p.named[name] for p in parts if name in p.named) for name in names},
    )


def _merged(graphs: Iterable[Statements]) -> Statements:
    found: dict[Triple, dict[Iri, int]] = {}
    for graph in graphs:
        for triple, times in graph.items():
            known = found.setdefault(triple, {})
            for stream, at in times.items():
                known[stream] = max(at, known.get(stream, at))
    return found


# -- solutions ---------------------------------------------------------------------------------


def _compatible(one: Solution, other: Solution) -> bool:
    return all(other.terms.get(variable, term) == term for variable, term in one.terms.items())


def _join(left: list[Solution], right: list[Solution]) -> list[Solution]:
    return [_both(one, o) for one, o in product(left, right) if _compatible(one, o)]


def _both(one: Solution, other: Solution) -> Solution:
    times = dict(one.times)
    for key, at in other.times.items():
        times[key] = max(at, times.get(key, at))
    known = [each.interval for each in (one, other) if each.interval is not None]
    interval = (min(s for s, _ in known), max(e for _, e in known)) if known else None
    return Solution({**one.terms, **other.terms}, times, interval)


def _are_related(operator: Temporal, one: Solution, other: Solution) -> bool:
    if one.interval is None or other.interval is None:
        return False
    (start, end), (its_start, its_end) = one.interval, other.interval
    gap = its_start - end if operator.relation is Relation.BEFORE else start - its_end
    near = operator.within is None or gap <= operator.within
    return near and relation_of(one.interval, other.interval) is operator.relation


def relation_of(one: Interval, other: Interval) -> Relation:
    """How an interval lies to another, found by asking one thing after the other."""
    (start, end), (its_start, its_end) = one, other
    if end < its_start:
        return Relation.BEFORE
    if its_end < start:
        return Relation.AFTER
    if start == its_start:
        if end == its_end:
            return Relation.EQUALS
        return Relation.STARTS if end < its_end else Relation.STARTEDBY
    if end == its_end:
        return Relation.FINISHES if its_start < start else Relation.FINISHEDBY
    if end == its_start:
        return Relation.MEETS
    if its_end == start:
        return Relation.METBY
    if start < its_start:
        return Relation.OVERLAPS if end < its_end else Relation.CONTAINS
    return Relation.DURING if end < its_end else Relation.OVERLAPPEDBY


def _moment(moment: Moment, interval: Interval) -> Term:
    start, end = interval
    match moment:
        case Moment.START:
            return date_time(start)
        case Moment.END:
            return date_time(end)
        case Moment.DURATION:
            return literal_of(Decimal(end - start) / 1_000_000)


def _cancels(one: Solution, other: Solution) -> bool:
    return bool(one.terms.keys() & other.terms.keys()) and _compatible(one, other)


def _cut(each: Solution, variables: tuple[Variable, ...]) -> Solution:
    return Solution({v: term for v, term in each.terms.items() if v in variables}, {})


def _key(each: Solution, keys: tuple[Variable, ...]) -> Row:
    return tuple(each.terms.get(key) for key in keys)


def _groups(found: list[Solution], keys: tuple[Variable, ...]) -> dict[Row, list[Solution]]:
    groups: dict[Row, list[Solution]] = {}
    for each in found:
        groups.setdefault(_key(each, keys), []).append(each)
    return groups


def _by_text(found: list[Solution]) -> list[Solution]:
    """What ties are broken by, and what a slice without an order is taken from."""
    names = sorted({variable for each in found for variable in each.terms}, key=lambda v: v.name)

    def texts(each: Solution) -> list[str]:
        return [canonical(each.terms[v]) if v in each.terms else "" for v in names]

    return sorted(found, key=texts)


def _is_ordered(operator: Operator) -> bool:
    """Whether a slice is taken from an order that its own query asked for."""
    while isinstance(operator, Slice | Distinct | Reduced):
        operator = operator.input
    below = operator.input if isinstance(operator, Project) else operator
    return isinstance(below, OrderBy)


# -- terms and paths ---------------------------------------------------------------------------


def _matched(
    pattern: Sequence[PatternTerm], terms: Sequence[Term], times: Times
) -> Solution | None:
    found: dict[Variable, Term] = {}
    if not all(_binds(p, term, found) for p, term in zip(pattern, terms, strict=True)):
        return None
    stamps = {(v, stream): at for v in found for stream, at in times.items()}
    latest = max(times.values(), default=None)
    return Solution(found, stamps, None if latest is None else (latest, latest))


def _binds(pattern: PatternTerm, term: Term, found: dict[Variable, Term]) -> bool:
    match pattern:
        case Variable():
            return found.setdefault(pattern, term) == term
        case TriplePattern():
            return isinstance(term, QuotedTriple) and all(
                _binds(part, inner, found)
                for part, inner in zip(
                    (pattern.subject, pattern.predicate, pattern.object),
                    (term.subject, term.predicate, term.object),
                    strict=True,
                )
            )
        case _:
            return pattern == term


Pair = tuple[Term, Term]


def _pairs(path: Path, graph: Statements, ends: Sequence[PatternTerm]) -> list[Pair]:
    """What a path connects, as often as it does; the ends have a path of no length, if terms."""
    match path:
        case Iri():
            return [(s, o) for s, p, o in graph if p == path]
        case Inverse(inner):
            return [(o, s) for s, o in _pairs(inner, graph, ends[::-1])]
        case paths.Sequence((first, *rest)):
            left = _pairs(first, graph, ends)
            if not rest:
                return left
            right = _pairs(paths.Sequence(tuple(rest)), graph, ends)
            return [(s, o) for (s, m), (n, o) in product(left, right) if m == n]
        case Alternative(choices):
            return [pair for choice in choices for pair in _pairs(choice, graph, ends)]
        case ZeroOrOne(inner):
            return list({*_still(graph, ends), *_pairs(inner, graph, ends)})
        case OneOrMore(inner):
            return list(_closure(set(_pairs(inner, graph, ends))))
        case ZeroOrMore(inner):
            return list({*_still(graph, ends), *_closure(set(_pairs(inner, graph, ends)))})
        case NegatedSet(forward, backward):
            there = [(s, o) for s, p, o in graph if p not in forward and (forward or not backward)]
            back = [(o, s) for s, p, o in graph if backward and p not in backward]
            return there + back
        case _:
            raise NotImplementedError(path)


def _still(graph: Statements, ends: Sequence[PatternTerm]) -> set[Pair]:
    nodes = {term for s, _, o in graph for term in (s, o)}
    fixed = {each for each in ends if not isinstance(each, Variable | TriplePattern)}
    return {(node, node) for node in nodes | fixed}


def _closure(pairs: set[Pair]) -> set[Pair]:
    while True:
        longer = pairs | {(s, o) for (s, m), (n, o) in product(pairs, pairs) if m == n}
        if longer == pairs:
            return pairs
        pairs = longer
