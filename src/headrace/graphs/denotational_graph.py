"""Making the denotational graph of a query, from its operators."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, assert_never

from headrace.algebra.display_names import choose_display_names
from headrace.algebra.expressions import (
    Aggregate,
    Exists,
    Expression,
    Operation,
    PatternTerm,
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
    Project,
    Reduced,
    Service,
    Slice,
    Temporal,
    Union,
    Values,
    Window,
)
from headrace.algebra.paths import Path, PathPattern
from headrace.algebra.query import Ask, Construct, Describe, Query, Select
from headrace.algebra.scope import of_term, possible
from headrace.algebra.walk import parts, rewritten
from headrace.algebra.windows import WindowDeclaration
from headrace.graphs.denotation import (
    Box,
    BoxKind,
    DGraph,
    HyperNode,
    Link,
    LinkKind,
    PatternPath,
    Role,
    Vertex,
)
from headrace.graphs.names import Names
from headrace.graphs.places import (
    Place,
    Reading,
    Source,
    StaticGraph,
    service_lines,
    static_text,
    stream_text,
)
from headrace.graphs.words import Words
from headrace.planning.explain import frame_text
from headrace.planning.tree import relation_text
from headrace.rdf.terms import QuotedTriple
from headrace.rewrite.sources import KnownPredicates, Origin

_VALUES_SHOWN: Final = 4


def denotational_graph(
    query: Query, pattern: Operator | None = None, known: KnownPredicates | None = None
) -> DGraph:
    """Draw the graph of a query's terms and sources, or of an equivalent pattern.

    Args:
        query: the query.
        pattern: what is shown in place of its own pattern.
        known: which predicates occur in static data and in streams.
    """
    shown = query.pattern if pattern is None else pattern
    names = Names.of(query, shown)
    words = Words(names, choose_display_names((query.form, shown)))
    builder = _Builder(query, words, Reading.of(query, known))
    builder.add(_below_modifiers(shown), _Standing(Place(), _Scope()))
    return builder.graph(names)


def _below_modifiers(operator: Operator) -> Operator:
    """What the query's own projection and modifiers are applied to."""
    while isinstance(operator, Distinct | Reduced | Slice | OrderBy | Project):
        operator = operator.input
    return operator


@dataclass(eq=False)
class _Scope:
    """Where a variable is the same one: inside a subquery, others may have its name."""

    outer: _Scope | None = None
    seen_outside: frozenset[Variable] = frozenset()
    aliases: dict[Variable, Variable] = field(default_factory=dict)

    def home(self, variable: Variable) -> tuple[_Scope, Variable]:
        """The scope that a variable belongs to, and its name there."""
        variable = self.aliases.get(variable, variable)
        if self.outer is not None and variable in self.seen_outside:
            return self.outer.home(variable)
        return self, variable

    def named(self, expression: Expression, variable: Variable) -> bool:
        """Whether a variable is the first name of what is computed without a name below."""
        if not isinstance(expression, Variable) or not expression.is_anonymous:
            return False
        return self.aliases.setdefault(expression, variable) == variable


@dataclass(frozen=True)
class _Standing:
    """Where an operator stands: its place, its scope, and what it is needed for."""

    place: Place
    scope: _Scope
    note: str = ""

    def noted(self, note: str) -> _Standing:
        return _Standing(self.place, self.scope, ", ".join(filter(None, (self.note, note))))

    def scoped(self, seen_outside: frozenset[Variable]) -> _Standing:
        return _Standing(self.place, _Scope(self.scope, seen_outside), self.note)

    def at(self, place: Place) -> _Standing:
        return _Standing(place, self.scope, self.note)


@dataclass
class _Draft:
    """A vertex in the making."""

    term: PatternTerm | Path
    label: str
    role: Role
    sources: list[int] = field(default_factory=list)
    annotations: list[str] = field(default_factory=list)
    in_result: bool = False


class _Builder:
    """Adds vertices, patterns and boxes, operator by operator."""

    def __init__(self, query: Query, words: Words, reading: Reading) -> None:
        self.query = query
        self.words = words
        self.reading = reading
        self.drafts: list[_Draft] = []
        self.patterns: list[PatternPath] = []
        self.links: list[Link] = []
        self.aggregations: list[HyperNode] = []
        self.boxes: list[Box] = []
        self._known: dict[object, int] = {}
        self._boxed: dict[tuple[Source, ...], int] = {}
        self._top: _Scope | None = None

    def graph(self, names: Names) -> DGraph:
        """What was added, with the vertices of the result marked."""
        top = self._top or _Scope()
        for variable in self._answered():
            self.drafts[self._variable(variable, top)].in_result = True
        vertices = tuple(
            Vertex(
                position,
                draft.term,
                draft.label,
                draft.role,
                tuple(draft.sources),
                tuple(dict.fromkeys(draft.annotations)),
                draft.in_result,
            )
            for position, draft in enumerate(self.drafts)
        )
        lines = [line for each in vertices for line in (each.label, *each.annotations)]
        lines += [line for box in self.boxes for line in (box.title, *box.details)]
        return DGraph(
            vertices,
            tuple(self.patterns),
            tuple(dict.fromkeys(self.links)),
            tuple(self.aggregations),
            tuple(self.boxes),
            names.used_in(lines),
        )

    def _answered(self) -> Iterator[Variable]:
        match self.query.form:
            case Select(variables):
                yield from variables
            case Construct(template):
                terms = (
                    t for quad in template for t in (quad.subject, quad.predicate, quad.object)
                )
                made = {each for term in terms for each in of_term(term) if not each.is_anonymous}
                yield from sorted(made, key=lambda each: each.name)
            case Describe(targets):
                yield from (each for each in targets if isinstance(each, Variable))
            case Ask():
                pass
            case form:
                assert_never(form)

    # -- operators ---------------------------------------------------------------------------

    def add(self, operator: Operator, standing: _Standing) -> None:
        """Add what an operator and those below it mention."""
        self._top = self._top or standing.scope
        match operator:
            case Bgp(patterns):
                for pattern in patterns:
                    self._pattern(pattern, standing)
            case Join(left, right):
                self.add(left, standing)
                self.add(right, standing)
            case LeftJoin(left, right, condition):
                self.add(left, standing)
                self.add(right, standing.noted("optional"))
                if condition is not None:
                    self._condition(condition, standing.noted("optional"), possible(operator))
            case Temporal(left, right):
                self.add(left, standing)
                self.add(right, standing.noted(f"{relation_text(operator)}, to the right"))
            case Minus(left, right):
                self.add(left, standing)
                self.add(right, standing.noted("minus").scoped(possible(left)))
            case Union():
                branches = self.reading.branches(operator, standing.place)
                for number, branch in enumerate(branches, 1):
                    note = f"union {number}/{len(branches)}" if len(branches) > 1 else ""
                    self.add(branch, standing.noted(note) if note else standing)
            case Filter(condition, source):
                self.add(source, standing)
                self._condition(condition, standing, possible(source))
            case Extend(source, variable, expression):
                self._extend(source, variable, expression, standing)
            case Values():
                self._values(operator, standing)
            case Graph(_, source) | Window(_, source) | Service(_, source):
                self.add(source, standing.at(standing.place.inside(operator)))
            case Group(source, keys, aggregates):
                self.add(source, standing)
                for variable, aggregate in aggregates:
                    self._aggregation(variable, aggregate, keys, standing, keeps=False)
            case Annotate(source, annotations):
                self.add(source, standing)
                for each in annotations:
                    self._aggregation(
                        each.variable, each.aggregate, each.keys, standing, keeps=True
                    )
            case Project(source, variables):
                self.add(source, standing.scoped(frozenset(variables)))
            case OrderBy(source) | Distinct(source) | Reduced(source) | Slice(source):
                self.add(source, standing)
            case _:
                assert_never(operator)

    def _pattern(self, pattern: TriplePattern | PathPattern, standing: _Standing) -> None:
        box = self._box(pattern, standing.place)
        subject = self._term(pattern.subject, standing.scope, box)
        predicate = self._predicate(pattern, standing.scope, box)
        object_ = self._term(pattern.object, standing.scope, box)
        note = ", ".join(filter(None, (standing.note, *self._within(standing, box))))
        if note:
            self.drafts[predicate].annotations.append(note)
        self.patterns.append(PatternPath(subject, predicate, object_, box, note))

    def _within(self, standing: _Standing, box: int) -> Iterator[str]:
        """In which graph of its source a pattern is matched; variables become vertices."""
        place = standing.place
        for name in (place.name, place.graph, place.stream):
            if isinstance(name, Variable):
                self._term(name, standing.scope, box)
        yield from place.remarks(self.words)

    def _condition(
        self, condition: Expression, standing: _Standing, bound: frozenset[Variable]
    ) -> None:
        """Annotate the variables of each condition that must hold; EXISTS becomes patterns."""
        for conjunct in _conjuncts(condition):
            self._asked(conjunct, standing, bound)
            if isinstance(conjunct, Exists):
                continue
            text = self._text(conjunct, standing.scope)
            note = f"{standing.note}: {text}" if standing.note else text
            for vertex in self._vertices_of(conjunct, standing.scope):
                self.drafts[vertex].annotations.append(note)

    def _asked(
        self, expression: Expression, standing: _Standing, bound: frozenset[Variable]
    ) -> None:
        for part in parts(expression):
            if isinstance(part, Exists):
                note = "not exists" if part.negated else "exists"
                self.add(part.pattern, standing.noted(note).scoped(bound))

    def _extend(
        self, source: Operator, variable: Variable, expression: Expression, standing: _Standing
    ) -> None:
        """Note how a variable is computed; a name for an aggregate is no computation."""
        named = standing.scope.named(expression, variable)
        self.add(source, standing)
        if named:
            return
        self._asked(expression, standing, possible(source))
        target = self._variable(variable, standing.scope)
        self.drafts[target].annotations.append(f"= {self._text(expression, standing.scope)}")
        for vertex in self._vertices_of(expression, standing.scope):
            self.links.append(Link(vertex, target, LinkKind.COMPUTED))

    def _values(self, values: Values, standing: _Standing) -> None:
        for column, variable in enumerate(values.variables):
            given = dict.fromkeys(row[column] for row in values.rows)
            texts = ["UNDEF" if each is None else self.words.term(each) for each in given]
            more = ["…"] if len(texts) > _VALUES_SHOWN else []
            text = f"in {{{', '.join(texts[:_VALUES_SHOWN] + more)}}}"
            vertex = self._variable(variable, standing.scope)
            self.drafts[vertex].annotations.append(text)

    def _aggregation(
        self,
        variable: Variable,
        aggregate: Aggregate,
        keys: tuple[Variable, ...],
        standing: _Standing,
        *,
        keeps: bool,
    ) -> None:
        bound = self._variable(variable, standing.scope)
        self.aggregations.append(
            HyperNode(
                bound,
                self.words.aggregate(aggregate),
                tuple(self._vertices_of(aggregate, standing.scope)),
                tuple(self._variable(key, standing.scope) for key in keys),
                keeps,
            )
        )

    # -- vertices ----------------------------------------------------------------------------

    def _text(self, expression: Expression, scope: _Scope) -> str:
        """An expression with the names that its variables have as vertices."""

        def renamed(part: Expression) -> Expression | None:
            return scope.home(part)[1] if isinstance(part, Variable) else None

        return self.words.expression(rewritten(expression, renamed))

    def _vertices_of(self, expression: Expression, scope: _Scope) -> Iterator[int]:
        """The vertices of the variables of an expression, each once."""
        found = dict.fromkeys(part for part in parts(expression) if isinstance(part, Variable))
        return iter(dict.fromkeys(self._variable(each, scope) for each in found))

    def _variable(self, variable: Variable, scope: _Scope) -> int:
        home, named = scope.home(variable)
        if (home, named) in self._known:
            return self._known[home, named]
        others = sum(draft.term == named for draft in self.drafts)
        label = self.words.term(named) + (f" ({others + 1})" if others else "")
        return self._vertex((home, named), named, label, Role.VARIABLE)

    def _term(self, term: PatternTerm, scope: _Scope, box: int) -> int:
        """The vertex of a subject or object."""
        if isinstance(term, Variable):
            vertex = self._variable(term, scope)
        else:
            quoted = isinstance(term, TriplePattern | QuotedTriple)
            role = Role.QUOTED if quoted else Role.CONSTANT
            vertex = self._vertex((scope, term, box), term, self.words.term(term), role)
            for part in of_term(term):
                inner = self._term(part, scope, box)
                self.links.append(Link(inner, vertex, LinkKind.PART))
        return self._from(vertex, box)

    def _predicate(self, pattern: TriplePattern | PathPattern, scope: _Scope, box: int) -> int:
        term = pattern.path if isinstance(pattern, PathPattern) else pattern.predicate
        if isinstance(term, Variable):
            return self._term(term, scope, box)
        self.drafts.append(_Draft(term, self.words.predicate(pattern), Role.PREDICATE))
        return self._from(len(self.drafts) - 1, box)

    def _vertex(self, key: object, term: PatternTerm, label: str, role: Role) -> int:
        if key not in self._known:
            self._known[key] = len(self.drafts)
            self.drafts.append(_Draft(term, label, role))
        return self._known[key]

    def _from(self, vertex: int, box: int) -> int:
        sources = self.drafts[vertex].sources
        if box not in sources:
            sources.append(box)
        return vertex

    # -- boxes -------------------------------------------------------------------------------

    def _box(self, pattern: TriplePattern | PathPattern, place: Place) -> int:
        origin = self.reading.origin(pattern, place)
        sources = self.reading.sources_of(place, origin)
        if sources not in self._boxed:
            number = self._boxed[sources] = len(self.boxes)
            titles = list(dict.fromkeys(self._title(source) for source in sources))
            several = len(sources) > 1
            details = [line for each in sources for line in self._details(each, several=several)]
            known = sources and origin is not Origin.EITHER
            kind = _kind(sources[0]) if known else BoxKind(origin.value)
            self.boxes.append(Box(number, kind, ", ".join(titles), tuple(details)))
        return self._boxed[sources]

    def _title(self, source: Source) -> str:
        match source:
            case StaticGraph():
                return static_text(source, self.words)
            case WindowDeclaration():
                return stream_text(source, self.words)
            case Service():
                return service_lines(source, self.words)[0]
            case _:
                assert_never(source)

    def _details(self, source: Source, *, several: bool) -> list[str]:
        match source:
            case StaticGraph():
                return []
            case WindowDeclaration():
                named = several or source.name != source.stream
                name = f"{self.words.term(source.name)}: " if named else ""
                return [name + frame_text(source.frame)]
            case Service():
                return service_lines(source, self.words)[1:]
            case _:
                assert_never(source)


def _kind(source: Source) -> BoxKind:
    match source:
        case StaticGraph():
            return BoxKind.STATIC
        case WindowDeclaration():
            return BoxKind.STREAM
        case Service():
            return BoxKind.SERVICE
        case _:
            assert_never(source)


def _conjuncts(condition: Expression) -> Iterator[Expression]:
    """The conditions that must all hold."""
    if isinstance(condition, Operation) and condition.symbol == "&&":
        for part in condition.arguments:
            yield from _conjuncts(part)
    else:
        yield condition
