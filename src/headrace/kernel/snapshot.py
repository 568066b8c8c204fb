"""What a pattern evaluates to over the contents of windows, at many instants in one pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Final, assert_never

import polars as pl

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
from headrace.algebra.walk import conjuncts, exists_in, expressions
from headrace.functions.dependence import depends_on_instant
from headrace.functions.evaluate import is_volatile
from headrace.kernel.aggregate import annotate, group
from headrace.kernel.budget import Budget
from headrace.kernel.chains import chain_of
from headrace.kernel.columns import INSTANT, column
from headrace.kernel.data import (
    Active,
    Data,
    EachNamedGraph,
    NamedGraph,
    Quads,
    united,
)
from headrace.kernel.exists import exists
from headrace.kernel.expressions import Expressions
from headrace.kernel.interval_groups import group_with_intervals
from headrace.kernel.intervals import related
from headrace.kernel.join import join, left_join, minus, union
from headrace.kernel.lasting_solutions import solutions_kept
from headrace.kernel.order import distinct, is_ordered, ordered, sliced
from headrace.kernel.paths import Paths
from headrace.kernel.remembered import Static, put_together, remembered
from headrace.kernel.remote import annotated, with_chances
from headrace.kernel.scan import Wanted, at_instants, scan
from headrace.kernel.solutions import Solutions, nothing, unit
from headrace.kernel.stamps import Stamps
from headrace.kernel.surroundings import Surroundings, candidates_of
from headrace.kernel.values_clause import values_of
from headrace.kernel.waiting import Opened, Waiting
from headrace.planning.following import follows_graph
from headrace.planning.limits import Limit, limit, limits
from headrace.rdf.terms import Iri
from headrace.rewrite.late import can_wait


def evaluate(operator: Operator, data: Data, around: Surroundings) -> Solutions:
    """The solutions of an operator over some data."""
    wanted = Wanted.by(operator, around.share, with_intervals=around.intervals)
    if wanted.timed or around.observe is not None:  # who looks sees each operator by itself
        around = replace(around, chooses=False)
    candidates = candidates_of(operator, around) if around.precomputes else ()
    static = Static.of(candidates, around.dictionary)
    return _Snapshot(around, data, wanted, static).solutions(operator)


def within_budget(parts: Iterable[Solutions], budget: Budget) -> Iterator[Solutions]:
    """Yield solutions that are kept until all of them are there, as long as they may be."""
    values = 0
    for part in parts:
        values += part.height * part.frame.width
        budget.check_values(values, "what is joined or united")
        yield part


def holds(
    condition: Expression, solutions: Solutions, data: Data, around: Surroundings
) -> pl.Series:
    """On which solutions a condition is true; null where it is an error."""
    static = Static.of((), around.dictionary)
    within_data = _Snapshot(around, data, Wanted(), static)
    return within_data.expressions.condition(condition, solutions)


@dataclass(frozen=True, slots=True)
class _Snapshot:
    """One evaluation, with one active graph."""

    around: Surroundings
    data: Data
    wanted: Wanted
    static: Static

    def solutions(self, operator: Operator) -> Solutions:
        return self._observed(operator, lambda: self._kept(operator))

    def _observed(
        self, node: Operator | TriplePattern | PathPattern, find: Callable[[], Solutions]
    ) -> Solutions:
        if self.around.observe is None:
            return find()
        began = perf_counter()
        found = find()
        self.around.observe(node, found.solution_count, perf_counter() - began)
        return found

    def _kept(self, operator: Operator) -> Solutions:
        apart, budget = self.around.apart, self.around.budget
        if apart is None or id(operator) not in apart.operators:
            found = self._known(operator)
        else:
            below = replace(self.around, instants=apart.instants, apart=None)
            found = apart.spread(replace(self, around=below)._known(operator), budget)
        budget.check(found.height, type(operator).__name__.lower(), found.frame.width)
        return found

    def _known(self, operator: Operator) -> Solutions:
        beneath = self.static.beneath(operator, self.data)
        if id(operator) in self.around.given:
            return self.around.given[id(operator)]
        if beneath is None:
            return self._solutions(operator)

        def find(data: Data) -> list[Solutions]:
            return [self._over(data)._solutions(operator)]

        def found() -> list[Solutions]:
            return solutions_kept(beneath, [operator], self.wanted, find)

        return remembered(beneath, (operator, self.wanted), found)[0]

    def _solutions(self, operator: Operator) -> Solutions:
        instants, budget = self.around.instants, self.around.budget
        match operator:
            case Bgp(patterns):
                return self._bgp(patterns)
            case Join(left, Service() as right):
                ours = self._at_instants(left)
                return join(ours, self.around.remote(right, ours), budget)
            case Join(Service() as left, right):
                theirs = self._at_instants(right)
                return join(self.around.remote(left, theirs), theirs, budget)
            case Join():
                return self._waiting.settled(self._chain(operator))
            case LeftJoin():
                return self._optional(operator)
            case Union(branches):
                found_by_branch = (self.solutions(branch) for branch in branches)
                return union(list(within_budget(found_by_branch, budget)), instants)
            case Minus(left, right):
                return self._minus(left, right)
            case Temporal(left, right):
                ours, theirs = self._at_instants(left), self._at_instants(right)
                return related(operator, ours, theirs, instants, budget)
            case Filter(condition, source):
                return self._filtered(condition, source)
            case Extend():
                return self._extended(operator)
            case Values():
                return values_of(operator, self.around.dictionary)
            case Graph(name, source):
                return self._graph(name, source)
            case Window():
                return self._window(operator)
            case Service():
                return self.around.remote(operator, self.around.beside or unit())
            case Group(source, keys, aggregates):
                found = self._timely(self.solutions(source), *expressions(operator))
                grouped = group_with_intervals if found.has_intervals else group
                made = grouped(found, keys, aggregates, instants, self.expressions)
                return with_chances(made, found, keys, self.around.lacking(found))
            case Annotate(source, annotations):
                found = self._timely(self._at_instants(source), *expressions(operator))
                # All clauses read the same solutions: none sees the variable of another.
                columns = [
                    annotate(found, each.variable, each.aggregate, each.keys, self.expressions)
                    for each in annotations
                ]
                found = found.with_frame(found.frame.with_columns(columns))
                return annotated(
                    found, [each.keys for each in annotations], self.around.lacking(found)
                )
            case OrderBy(source, keys):
                found = self._timely(self._at_instants(source), *expressions(operator))
                return ordered(found, keys, self.expressions)
            case Project(source, variables):
                found = self.solutions(source)
                return found.only([*map(column, variables), *found.chances])
            case Distinct(source):
                return distinct(self.solutions(source))
            case Reduced(source):
                return self.solutions(source)
            case Slice(source, offset, limit):
                found = self._at_instants(source)
                dictionary = self.around.dictionary
                kept = sliced(found, offset, limit, is_ordered(source), dictionary)
                return self.around.cut(kept) if kept.height < found.height else kept
            case _:
                assert_never(operator)

    @property
    def expressions(self) -> Expressions:
        around = self.around
        stamps = Stamps(around.streams, tuple(window.quads for window in around.windows))
        known = around.dictionary, around.context, around.moment, around.label
        return Expressions(*known, self._exists, stamps, around.budget)

    def _exists(self, pattern: Operator, solutions: Solutions) -> pl.Series:
        inside, instants = self.around.compared_with(solutions), tuple(self.around.instants)
        evaluate = replace(self, around=inside)._at_instants
        return exists(pattern, solutions, evaluate, self.around.dictionary, instants)

    def _minus(self, left: Operator, right: Operator) -> Solutions:
        ours = self.solutions(left)
        inside = replace(self, around=self.around.compared_with(ours))
        kept = minus(ours, inside.solutions(right), self.around.instants)
        return self.around.tested([right], kept)

    def _at_instants(self, operator: Operator) -> Solutions:
        """The solutions of an operator, for those that take none with intervals."""
        found = self.solutions(operator)
        return found.expanded(self.around.instants) if found.has_intervals else found

    def _timely(self, found: Solutions, *computed: Expression | None) -> Solutions:
        """Solutions apart by instant, if what is computed of them differs between instants."""
        differs = any(each is not None and depends_on_instant(each) for each in computed)
        return found.expanded(self.around.instants) if differs and self._many else found

    @property
    def _many(self) -> bool:
        return self.data.keyed or len(self.around.instants) > 1

    def _extended(self, operator: Extend) -> Solutions:
        """Compute a run of BINDs and columns over the same solutions."""
        chain: list[Extend] = []
        source: Operator = operator
        while isinstance(source, Extend):
            chain.append(source)
            source = source.input
        found = self._timely(self.solutions(source), *(each.expression for each in chain))
        seeds: list[bytes] | None = None
        for each in reversed(chain):
            if seeds is None and is_volatile(each.expression):
                seeds = self.expressions.seeds(found.frame)
            ids = self.expressions.value(each.expression, found, seeds)
            found = found.with_frame(found.frame.with_columns(ids.alias(column(each.variable))))
            found = self.around.tested(exists_in(each.expression), found)
        return found

    def _optional(self, operator: LeftJoin) -> Solutions:
        """OPTIONAL; a service on its right side is asked only for what fits the left."""
        right, condition = operator.right, operator.condition
        ours = self._timely(self.solutions(operator.left), condition)
        if isinstance(right, Service):
            ours = ours.expanded(self.around.instants) if ours.has_intervals else ours
            theirs = self.around.remote(right, ours)
        else:
            theirs = self._timely(self.solutions(right), condition)
        test = None
        if condition is not None:
            test = lambda found: self.expressions.condition(condition, found)  # noqa: E731
        found = left_join(ours, theirs, test, self.around.instants, self.around.budget)
        return self.around.optional(right, found)

    @property
    def _waiting(self) -> Waiting:
        costs = self.around.context.functions.costs
        return Waiting(costs, self.expressions.condition, self.around.budget)

    def _open(self, operator: Operator) -> Opened:
        """The solutions of an operator, of which conditions that may be dear may wait."""
        if not self.around.chooses or self._is_closed(operator):
            return Opened(self.solutions(operator))
        opened = self._opened(operator)
        self.around.budget.check(opened.found.height, type(operator).__name__.lower())
        return opened

    def _is_closed(self, operator: Operator) -> bool:
        """Whether an operator is looked at as it is: it is given, or known beforehand."""
        return (
            id(operator) in self.around.whole
            or self.static.beneath(operator, self.data) is not None
        )

    def _opened(self, operator: Operator) -> Opened:
        match operator:
            case Join(left, right) if not isinstance(left, Service) and not isinstance(
                right, Service
            ):
                return self._chain(operator, may_wait=True)
            case Filter(condition, source):
                return self._open_filter(condition, source, may_wait=True)
            case Project(source, variables):
                kept = [*map(column, variables)]
                opened = self._showing(self._open(source), kept)
                kept += opened.found.chances
                read = [name for name in opened.reads if name not in kept]
                found = opened.found.only([*kept, *read])
                return Opened(found, opened.pending, frozenset(read))
            case Window(Iri() as name, source, None):
                held = [each.quads for each in self.around.windows if each.name == name]
                inside = self._over(Data(united(held))) if held else None
                return inside._open(source) if inside else Opened(self.solutions(operator))
            case Graph(Variable() as name, source) if follows_graph(source, name):
                return self._within(EachNamedGraph(name))._open(source)
            case _:
                return Opened(self.solutions(operator))

    def _showing(self, opened: Opened, names: list[str]) -> Opened:
        """Solutions for who asks for some columns: what is hidden is not among them."""
        is_shown = not opened.hidden.isdisjoint(names)
        return Opened(self._waiting.settled(opened)) if is_shown else opened

    def _chain(
        self, operator: Join, may_wait: bool = False, conditions: tuple[Expression, ...] = ()
    ) -> Opened:
        """A chain of joins, in whatever order is good; what is static is joined beforehand."""
        found: list[Opened] = []
        static: list[Operator] = []
        patterns: list[TriplePattern | PathPattern] = []
        closed = self._is_closed if self.around.chooses else None
        chain = chain_of(operator, self.around.whole, closed)
        values = 0
        for each in chain.operands:
            if self.static.beneath(each, self.data) is not None:
                static.append(each)
            elif isinstance(each, Bgp) and each.patterns and id(each) not in self.around.whole:
                patterns += each.patterns
            else:
                found.append(self._open(each))
                values += found[-1].found.height * found[-1].found.frame.width
                self.around.budget.check_values(values, "what is joined")
        found += map(Opened, self._static(static))
        # What is much more than it is joined with is looked at for what is there twice afterwards.
        loose_from = None
        if found and all(each.found.identified_by is not None for each in found):
            loose_from = _MUCH_MORE * min(each.found.height for each in found)
        matched = (self._pattern(each, loose_from=loose_from) for each in patterns)
        scanned = list(map(Opened, within_budget(matched, self.around.budget)))
        hidden = frozenset(map(column, chain.hidden))
        conditions = (*chain.conditions, *conditions)
        return self._waiting.joined([*scanned, *found], conditions, hidden, may_wait)

    def _static(self, operators: list[Operator]) -> list[Solutions]:
        """The solutions of static operators, joined with each other as far as that pays."""
        beneath = self.static.beneath(operators[0], self.data) if operators else None
        keeps = beneath is not None and beneath.quads.keeper is not None
        budget = self.around.budget
        found_each = (self.solutions(each) for each in operators)
        parts = [] if keeps else list(within_budget(found_each, budget))
        if len(operators) < _SOME:
            return parts or [self.solutions(each) for each in operators]
        assert beneath is not None, "they are static"

        def find(data: Data) -> list[Solutions]:
            over = self._over(data)
            found = parts or [over.solutions(each) for each in operators]
            return put_together(found, self.around.budget)

        def found() -> list[Solutions]:
            return solutions_kept(beneath, operators, self.wanted, find)

        return remembered(beneath, (tuple(operators), self.wanted), found)

    def _filtered(self, condition: Expression, source: Operator) -> Solutions:
        """The solutions that meet a chain of conditions."""
        return self._waiting.settled(self._open_filter(condition, source))

    def _open_filter(
        self, condition: Expression, source: Operator, may_wait: bool = False
    ) -> Opened:
        """Test the conditions of filters, the innermost first; some may wait."""
        conditions = conjuncts(condition)
        while isinstance(source, Filter) and id(source) not in self.around.whole:
            conditions = (*conjuncts(source.condition), *conditions)
            source = source.input
        dear: tuple[Expression, ...] = ()
        if self.around.chooses:
            bound = certain(source)
            dear = tuple(each for each in conditions if can_wait(each) and mentioned(each) <= bound)
            conditions = tuple(each for each in conditions if each not in dear)
        match source:
            case Bgp((TriplePattern(_, _, Variable() as object_) as pattern,)) if (
                id(source) not in self.around.whole
            ):
                opened = Opened(self._pattern(pattern, tuple(limits(conditions, object_))))
                met = opened.found.met
                conditions = tuple(each for each in conditions if limit(each, object_) not in met)
            case Join() if dear and not self._is_closed(source):
                opened, dear = self._chain(source, may_wait, dear), ()
            case _:
                opened = self._open(source)
        read = [column(each) for one in conditions for each in mentioned(one)]
        opened = self._showing(opened, read)
        found = opened.found
        for each in conditions:
            found = self._timely(found, each)
            found = found.filtered(self.expressions.condition(each, found))
            found = self.around.tested(exists_in(each), found)
        return replace(opened, found=found, pending=(*opened.pending, *dear))

    def _bgp(self, patterns: tuple[TriplePattern | PathPattern, ...]) -> Solutions:
        if not patterns:
            return unit()
        parts = [Opened(self._pattern(pattern)) for pattern in patterns]
        return self._waiting.joined(parts).found

    def _pattern(
        self,
        pattern: TriplePattern | PathPattern,
        limited: tuple[Limit, ...] = (),
        loose_from: int | None = None,
    ) -> Solutions:
        """The solutions of a triple pattern, remembered if they are static."""
        self.around.budget.meter.check("a pattern")
        return self._observed(pattern, lambda: self._kept_pattern(pattern, limited, loose_from))

    def _kept_pattern(
        self,
        pattern: TriplePattern | PathPattern,
        limited: tuple[Limit, ...],
        loose_from: int | None,
    ) -> Solutions:
        beneath = self.static.beneath_pattern(pattern, self.data)
        if beneath is None:
            return self._found(pattern, limited, loose_from)
        over, key = self._over(beneath), (pattern, limited, self.wanted)
        return remembered(beneath, key, lambda: [over._found(pattern, limited)])[0]

    def _found(
        self,
        pattern: TriplePattern | PathPattern,
        limited: tuple[Limit, ...],
        loose_from: int | None = None,
    ) -> Solutions:
        terms, instants = self.around.dictionary, self.around.instants
        if isinstance(pattern, TriplePattern):
            return scan(self.data, pattern, terms, self.wanted, limited, loose_from)
        return Paths(self.data, terms, tuple(instants), self.around.budget).solutions(pattern)

    # -- windows and graphs ----------------------------------------------------------------

    def _over(self, data: Data) -> _Snapshot:
        return _Snapshot(self.around, data, self.wanted, self.static)

    def _window(self, operator: Window) -> Solutions:
        """The solutions in a window, or in each one with its name and its stream."""
        named: dict[tuple[Iri, Iri | None], list[Quads]] = {}
        for window in self.around.windows:
            if isinstance(operator.name, Variable) or window.name == operator.name:
                stream = window.stream if operator.stream is not None else None
                named.setdefault((window.name, stream), []).append(window.quads)
        branches = []
        for (name, stream), quads in named.items():
            found = self._over(Data(united(quads))).solutions(operator.input)
            bound = {operator.name: name, operator.stream: stream}
            terms = {
                variable: term
                for variable, term in bound.items()
                if isinstance(variable, Variable) and term is not None
            }
            if terms:
                row = Values(tuple(terms), (tuple(terms.values()),))
                values = values_of(row, self.around.dictionary)
                found = join(found, values, self.around.budget)
            branches.append(found)
        if len(branches) == 1:
            return branches[0]
        empty = nothing(sorted(map(column, possible(operator))))
        return union(branches, self.around.instants) if branches else empty

    def _within(self, active: Active) -> _Snapshot:
        return self._over(self.data.within(active))

    def _graph(self, name: Variable | Iri, source: Operator) -> Solutions:
        if isinstance(name, Iri):
            active = NamedGraph(self.around.dictionary.encode(name))
            if active.name not in self.data.graph_names():
                return nothing()
            return self._in_graph(active, source)
        if follows_graph(source, name):
            return self._within(EachNamedGraph(name)).solutions(source)
        return self._graph_by_graph(name, source)

    def _in_graph(self, graph: NamedGraph, source: Operator) -> Solutions:
        """The solutions in a named graph, at the instants at which there is such a graph."""
        inner = self._within(graph)
        found = inner.solutions(source)
        if not self.data.keyed or graph.name in self.data.fixed_names() or follows_graph(source):
            return found
        present = at_instants(inner.data.statements(), {}, self.data.quads).unique()
        return join(found, Solutions(present, keyed=True), self.around.budget)

    def _graph_by_graph(self, name: Variable, source: Operator) -> Solutions:
        """The solutions in each named graph, with its name; a graph need not hold a match."""
        branches = []
        for identity in self.data.graph_names():
            schema = {INSTANT: pl.Int64, column(name): pl.Int64}
            frame = pl.DataFrame({INSTANT: [0], column(name): [identity]}, schema)
            found = self._in_graph(NamedGraph(identity), source)
            branches.append(join(found, Solutions(frame), self.around.budget))
            rows = sum(branch.height for branch in branches)
            self.around.budget.check(rows, "all named graphs", branches[-1].frame.width)
        return union(branches, self.around.instants) if branches else nothing([column(name)])


_SOME: Final = 2
_MUCH_MORE: Final = 4
