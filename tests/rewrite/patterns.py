"""Random patterns of the algebra: few variables, so that the conditions of rules are often met.

They have shapes that queries have, and shapes that only other rules make.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Final

from hypothesis import strategies as st

from headrace.algebra.expressions import (
    Aggregate,
    BuiltIn,
    Exists,
    Expression,
    FunctionCall,
    Membership,
    Moment,
    Operation,
    PatternTerm,
    Timestamp,
    TriplePattern,
    Variable,
)
from headrace.algebra.operators import (
    Annotate,
    Annotation,
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
from headrace.algebra.paths import OneOrMore, PathPattern, ZeroOrMore
from headrace.algebra.scope import possible_in_order
from headrace.rdf.terms import Iri, Literal
from headrace.rdf.vocabulary import RSPU, XSD_DECIMAL
from tests.rewrite.worlds import DISTRIBUTIONS, GRAPHS, NODES, NUMBERS, PROPERTIES, WINDOWS

VARIABLES: Final = tuple(map(Variable, "xyz"))
WINDOW_NAMES: Final = tuple(name for name, _ in WINDOWS)
HIDDEN: Final = Variable("_:.b")
"""What stands for a blank node of a pattern."""
HALF: Final = Literal("0.5", XSD_DECIMAL)
MADE: Final = tuple(map(Variable, "uvk"))
GRAPH: Final = Variable("g")
WINDOW: Final = Variable("w")
STREAM: Final = Variable("s")

Name = Variable | Iri
names = st.sampled_from((GRAPH, GRAPHS[0]))
streams = st.sampled_from((None, None, STREAM))
graph_names: st.SearchStrategy[Name] = st.sampled_from((GRAPH, GRAPHS[0], Iri("x:absent")))
window_names: st.SearchStrategy[Name] = st.sampled_from((WINDOW, WINDOW, WINDOWS[0][0]))
variables = st.sampled_from(VARIABLES)
constants = st.sampled_from((*NODES[:2], *NUMBERS))
subjects: st.SearchStrategy[PatternTerm] = st.one_of(
    variables, variables, variables, st.sampled_from((NODES[0], HIDDEN, GRAPH))
)
objects: st.SearchStrategy[PatternTerm] = st.one_of(
    variables, variables, variables, st.sampled_from((*NODES[:1], *NUMBERS[:2], HIDDEN, *MADE))
)
predicates: st.SearchStrategy[PatternTerm] = st.sampled_from(
    (*PROPERTIES, *PROPERTIES, VARIABLES[0], Variable("p"))
)
triples = st.builds(TriplePattern, subjects, predicates, objects)
paths = st.builds(
    PathPattern,
    subjects,
    st.sampled_from((ZeroOrMore(PROPERTIES[0]), OneOrMore(PROPERTIES[0]))),
    variables,
)
bgps = st.lists(st.one_of(triples, triples, triples, paths), min_size=1, max_size=2).map(
    lambda found: Bgp(tuple(found))
)
values: st.SearchStrategy[Operator] = st.sampled_from(
    (
        Values((VARIABLES[0],), ((NODES[0],), (NODES[1],))),
        Values((VARIABLES[1], MADE[0]), ((NUMBERS[0], None), (None, NODES[0]))),
        Values((VARIABLES[0], VARIABLES[1]), ()),
        Values((), ()),
        Bgp(()),
    )
)


def _operation(symbol: str, *arguments: Expression) -> Operation:
    return Operation(symbol, arguments)


Asked = tuple[Variable, ...]
"""The variables that an expression may read."""


@cache
def operands(asked: Asked) -> st.SearchStrategy[Expression]:
    """A variable or a constant."""
    return st.one_of(st.sampled_from(asked), st.sampled_from(asked), constants)


_SUMS: Final = ("add", "subtract")
_COMPARED: Final = ("lessThan", "greaterThanOrEqual", "between")


def _call(name: str, *arguments: Expression) -> FunctionCall:
    return FunctionCall(Iri(RSPU + name), arguments)


@st.composite
def uncertain(draw: st.DrawFn, asked: Asked) -> Expression:
    """A call of an uncertainty function."""
    variable = st.sampled_from(asked)
    limits = st.one_of(variable, st.sampled_from((*NUMBERS[:2], *DISTRIBUTIONS)))
    name = draw(st.sampled_from([*_COMPARED, *_COMPARED, *_SUMS, "mean", "variance", "cdf"]))
    value: Expression = draw(variable)
    if name in _SUMS:
        return _call(name, value, draw(limits))
    if name in _COMPARED and draw(st.booleans()):
        value = _call(draw(st.sampled_from(_SUMS)), value, draw(limits))
    match name:
        case "cdf":
            return _call(name, value, NUMBERS[1])
        case "between":
            return _call(name, value, draw(limits), draw(limits))
        case "mean" | "variance":
            return _call(name, value)
        case _:
            return _call(name, value, draw(limits))


@cache
def computed(asked: Asked) -> st.SearchStrategy[Expression]:
    """What BIND computes; many of them are errors for some solutions."""
    variable = st.sampled_from(asked)
    return st.one_of(
        operands(asked),
        uncertain(asked),
        st.builds(_operation, st.sampled_from(["+", "*"]), operands(asked), operands(asked)),
        st.builds(lambda a, b: BuiltIn("COALESCE", (a, b)), variable, operands(asked)),
        st.builds(lambda a: BuiltIn("STR", (a,)), variable),
        st.builds(lambda a: Timestamp((a,)), variable),
        st.builds(lambda moment: Timestamp((), moment=moment), st.sampled_from(Moment)),
    )


@cache
def plain(asked: Asked) -> st.SearchStrategy[Expression]:
    """What FILTER tests, without EXISTS."""
    variable = st.sampled_from(asked)
    tests: st.SearchStrategy[Expression] = st.one_of(
        st.builds(
            _operation, st.sampled_from(["=", "!=", "<", ">"]), computed(asked), operands(asked)
        ),
        st.builds(lambda a: BuiltIn("BOUND", (a,)), variable),
        st.builds(lambda a: _operation("!", BuiltIn("BOUND", (a,))), variable),
        st.builds(lambda a: BuiltIn("ISIRI", (a,)), variable),
        st.builds(Membership, variable, st.lists(constants, min_size=1, max_size=2).map(tuple)),
        st.builds(lambda a: Membership(a, WINDOW_NAMES, negated=True), variable),
        st.builds(_operation, st.sampled_from(["=", "<"]), constants, constants),
        st.builds(lambda a: _operation(">", a, HALF), uncertain(asked)),
        variable,
    )
    return st.recursive(
        tests,
        lambda inner: st.one_of(
            st.builds(_operation, st.sampled_from(["&&", "||"]), inner, inner),
            st.builds(lambda a: _operation("!", a), inner),
        ),
        max_leaves=3,
    )


@cache
def conditions(asked: Asked) -> st.SearchStrategy[Expression]:
    """What FILTER tests."""
    inside = st.one_of(bgps, st.builds(Filter, plain(asked), bgps), st.builds(Graph, names, bgps))
    nested = st.builds(Exists, inside, st.booleans())
    return st.one_of(plain(asked), plain(asked), plain(asked), plain(asked), nested)


def about(*sources: Operator) -> Asked:
    """Mostly the variables of some patterns, now and then others."""
    have = [each for source in sources for each in possible_in_order(source)]
    return (*have, *have, *have, *VARIABLES, *MADE, GRAPH, WINDOW)


aggregates = st.sampled_from(
    (
        Aggregate("COUNT"),
        Aggregate("COUNT", distinct=True),
        Aggregate("COUNT", VARIABLES[1]),
        Aggregate("SUM", VARIABLES[1]),
        Aggregate("SUM", VARIABLES[2], distinct=True),
        Aggregate("SAMPLE", MADE[0]),
        Aggregate("MAX", Timestamp((VARIABLES[0],))),
        Aggregate("MIN", Timestamp((), moment=Moment.START)),
    )
)


@st.composite
def patterns(draw: st.DrawFn, depth: int = 3, *, inside: bool = False) -> Operator:
    """A pattern; inside GRAPH and WINDOW there is no WINDOW."""
    if depth == 0:
        return draw(st.one_of(bgps, bgps, bgps, values))
    one, other = (patterns(depth - 1, inside=inside) for _ in range(2))
    held = patterns(depth - 1, inside=True)
    kinds = ["bgp", "join", "optional", "union", "minus", "graph", "filter", "extend", "group"]
    kinds += ["temporal", "annotate", "project", "slice", "alike", *["ripe"] * 10]
    kinds += [] if inside else ["window", "window"]
    match draw(st.sampled_from(kinds)):
        case "join" | "optional" | "union" | "minus" | "temporal" as kind:
            return draw(pairs(kind, draw(one), draw(other)))
        case "graph":
            return Graph(draw(graph_names), draw(held))
        case "window":
            return Window(draw(window_names), draw(held), draw(streams))
        case "filter" | "extend" | "group" | "annotate" | "project" | "slice" as kind:
            return draw(modified(kind, draw(one)))
        case "alike":
            return draw(alike(one, held, inside=inside))
        case "ripe":
            return draw(ripe(one, held, inside=inside))
        case _:
            return draw(bgps)


@st.composite
def pairs(draw: st.DrawFn, kind: str, left: Operator, right: Operator) -> Operator:
    """Two patterns together."""
    match kind:
        case "join":
            return Join(left, right)
        case "optional":
            asked = about(left, right)
            return LeftJoin(left, right, draw(st.one_of(st.none(), conditions(asked))))
        case "minus":
            return Minus(left, right)
        case "temporal":
            return draw(temporal(left, right))
        case _:
            more = draw(st.sampled_from([(), (), (left,)]))
            return Union((left, right, *more))


def temporal(left: Operator, right: Operator) -> st.SearchStrategy[Operator]:
    """Two blocks in time; those relations that single triples can have are the most frequent."""
    moments = (Relation.BEFORE, Relation.AFTER, Relation.EQUALS)
    return st.builds(
        lambda relation, within, optional: Temporal(left, right, relation, within, optional),
        st.sampled_from((*Relation, *moments, *moments)),
        st.sampled_from((None, None, 1, 2_000_000)),
        st.booleans(),
    )


@st.composite
def modified(draw: st.DrawFn, kind: str, source: Operator) -> Operator:
    """A pattern of which something is computed, or a part is taken."""
    have = possible_in_order(source)
    shown = tuple(draw(_some(have, most=3))) or have[:1]
    match kind:
        case "filter":
            return Filter(draw(conditions(about(source))), source)
        case "extend":
            free = [each for each in (*MADE, *VARIABLES, GRAPH) if each not in have]
            if not free:
                return source
            return Extend(source, draw(st.sampled_from(free)), draw(computed(about(source))))
        case "group":
            keys, calls = tuple(draw(_some(have, most=2))), draw(_calls(source))
            return Group(source, keys, tuple(calls))
        case "annotate":
            keys = draw(st.sampled_from([have[:1], have[1:2], have[:2], ()]))
            others = draw(st.sampled_from([keys, keys, keys, keys[:1]]))
            made = zip(draw(_calls(source)), (keys, others), strict=False)
            found = tuple(Annotation(variable, call, by) for (variable, call), by in made)
            return Annotate(source, found) if found else source
        case "project":
            return draw(cut(draw(ordered(source)), shown))
        case _:
            offset, limit = draw(st.integers(0, 1)), draw(st.integers(1, 3))
            return Slice(draw(cut(draw(ordered(source)), shown)), offset, limit)


@st.composite
def ordered(draw: st.DrawFn, source: Operator) -> Operator:
    """A pattern with ORDER BY, or without."""
    key = OrderKey(draw(operands(about(source))))
    return OrderBy(source, (key,)) if draw(st.booleans()) else source


def cut(source: Operator, shown: tuple[Variable, ...]) -> st.SearchStrategy[Operator]:
    """SELECT, SELECT DISTINCT and SELECT REDUCED."""
    made = Project(source, shown)
    return st.sampled_from([made, made, Distinct(made), Reduced(made)])


@st.composite
def alike(
    draw: st.DrawFn,
    inner: st.SearchStrategy[Operator],
    held: st.SearchStrategy[Operator],
    *,
    inside: bool,
) -> Operator:
    """Neighbours that rules bring together: the same place, or the same part, twice."""
    kinds = ["graph", "joins", "optionals", "same", "named"]
    kind = draw(st.sampled_from([*kinds, *([] if inside else ["window", "named"])]))
    one, two = draw(held if kind in {"graph", "window"} else inner), draw(held)
    three = draw(inner)
    match kind:
        case "graph":
            name = draw(graph_names)
            return Join(Graph(name, one), Graph(name, two))
        case "window":
            where, stream = draw(window_names), draw(streams)
            return Join(Window(where, one, stream), Window(where, two, stream))
        case "joins":
            return Union((Join(one, three), Join(two, three)))
        case "optionals":
            condition = draw(st.one_of(st.none(), plain(about(one, three))))
            return Union((LeftJoin(one, three, condition), LeftJoin(two, three, condition)))
        case "named":
            return draw(named((one, two)))
        case _:
            return Join(one, one)


@st.composite
def named(draw: st.DrawFn, branches: Sequence[Operator]) -> Operator:
    """Groups of branches that are called by a name each, or by the same."""
    calls = draw(_calls(*branches))
    if any(WINDOW in possible_in_order(each) for each in branches) or not calls:
        return Union(tuple(branches))
    called = draw(st.sampled_from([WINDOW_NAMES, WINDOW_NAMES, WINDOW_NAMES[:1] * 2]))
    found = [Extend(each, WINDOW, name) for each, name in zip(branches, called, strict=True)]
    excluded = Membership(WINDOW, WINDOW_NAMES, negated=True)
    rest = draw(st.sampled_from([(), (Filter(excluded, Graph(WINDOW, draw(bgps))),)]))
    keys = draw(st.sampled_from([(WINDOW,), (WINDOW, VARIABLES[0]), (VARIABLES[0],)]))
    if draw(st.booleans()):
        return Group(Union((*found, *rest)), keys, tuple(calls))
    if draw(st.booleans()):
        parts: list[Operator] = [*found, *rest]
        apart = Union(tuple(Group(each, keys, tuple(calls)) for each in parts))
        return Distinct(Project(apart, keys) if draw(st.booleans()) else apart)
    clauses = tuple(Annotation(variable, call, keys) for variable, call in calls)
    return Annotate(Union((*found, *rest)), clauses)


@st.composite
def ripe(
    draw: st.DrawFn,
    inner: st.SearchStrategy[Operator],
    held: st.SearchStrategy[Operator],
    *,
    inside: bool,
) -> Operator:
    """A filter or BIND that could go through the operator beside it, if its variables let it."""
    kinds = ["join", "optional", "union", "minus", "graph", "extend", "group", "annotate"]
    kinds += ["temporal", "project", "whole", *([] if inside else ["window"])]
    kind = draw(st.sampled_from(kinds))
    source = draw(held if kind in {"graph", "window"} else inner)
    moved = draw(st.sampled_from(["filter", "extend"]))
    if kind in {"extend", "group", "annotate", "project"}:
        return Filter(draw(plain(about(source))), draw(modified(kind, source)))
    if kind == "whole":
        return draw(whole(draw(modified("annotate", source))))
    below = source if moved == "filter" else draw(modified("extend", source))
    match kind:
        case "graph":
            above: Operator = Graph(draw(graph_names), below)
        case "window":
            above = Window(draw(window_names), below, draw(streams))
        case _:
            above = draw(pairs(kind, below, draw(inner)))
    return above if moved == "extend" else Filter(draw(plain(about(source))), above)


@st.composite
def whole(draw: st.DrawFn, source: Operator) -> Operator:
    """All that is the same within groups, once."""
    if not isinstance(source, Annotate):
        return source
    keys = source.annotations[0].keys
    shown = (*keys, *(each.variable for each in source.annotations))
    if draw(st.booleans()):
        calls = tuple((each.variable, each.aggregate) for each in source.annotations)
        return Distinct(Project(Group(source.input, keys, calls), shown))
    test = st.one_of(st.none(), plain(shown))
    condition = draw(test)
    return Distinct(Project(source if condition is None else Filter(condition, source), shown))


@st.composite
def _calls(draw: st.DrawFn, *sources: Operator) -> list[tuple[Variable, Aggregate]]:
    """Aggregates, in variables that the patterns do not have."""
    have = {each for source in sources for each in possible_in_order(source)}
    free = [each for each in map(Variable, "nm") if each not in have]
    return [(variable, draw(aggregates)) for variable in free]


def _some(have: Sequence[Variable], most: int) -> st.SearchStrategy[list[Variable]]:
    return st.lists(st.sampled_from(have), max_size=most, unique=True) if have else st.just([])
