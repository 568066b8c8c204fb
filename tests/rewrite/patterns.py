"""Random patterns of the algebra: few variables, so that the conditions of rules are often met.

They have shapes that queries have, and shapes that only other rules make.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from hypothesis import strategies as st

from headrace.algebra.expressions import (
    Aggregate,
    BuiltIn,
    Exists,
    Expression,
    Membership,
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
    Slice,
    Union,
    Values,
    Window,
)
from headrace.algebra.paths import OneOrMore, PathPattern, ZeroOrMore
from headrace.algebra.scope import possible_in_order
from headrace.rdf.terms import Iri
from tests.rewrite.worlds import GRAPHS, NODES, NUMBERS, PROPERTIES, WINDOWS

VARIABLES: Final = tuple(map(Variable, "xyz"))
HIDDEN: Final = Variable("_:.b")
"""What stands for a blank node of a pattern."""
MADE: Final = tuple(map(Variable, "uvk"))
GRAPH: Final = Variable("g")
WINDOW: Final = Variable("w")
STREAM: Final = Variable("s")

Name = Variable | Iri
graph_names: st.SearchStrategy[Name] = st.sampled_from((GRAPH, GRAPHS[0], Iri("x:absent")))
window_names: st.SearchStrategy[Name] = st.sampled_from((WINDOW, WINDOW, WINDOWS[0][0]))
variables = st.sampled_from(VARIABLES)
asked = st.sampled_from((*VARIABLES, *VARIABLES, *MADE, GRAPH, WINDOW))
constants = st.sampled_from((*NODES[:2], *NUMBERS))
subjects: st.SearchStrategy[PatternTerm] = st.one_of(
    variables, variables, variables, st.sampled_from((NODES[0], HIDDEN, GRAPH))
)
objects: st.SearchStrategy[PatternTerm] = st.one_of(
    variables, variables, variables, st.sampled_from((*NODES[:1], *NUMBERS[:2], HIDDEN, *MADE))
)
predicates: st.SearchStrategy[PatternTerm] = st.one_of(
    st.sampled_from(PROPERTIES), st.sampled_from(PROPERTIES), variables
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


operands: st.SearchStrategy[Expression] = st.one_of(asked, asked, constants)
computed: st.SearchStrategy[Expression] = st.one_of(
    operands,
    st.builds(_operation, st.sampled_from(["+", "*"]), operands, operands),
    st.builds(lambda a, b: BuiltIn("COALESCE", (a, b)), asked, operands),
    st.builds(lambda a: BuiltIn("STR", (a,)), asked),
    st.builds(lambda a: Timestamp((a,)), variables),
)
tests: st.SearchStrategy[Expression] = st.one_of(
    st.builds(_operation, st.sampled_from(["=", "!=", "<", ">"]), computed, operands),
    st.builds(lambda a: BuiltIn("BOUND", (a,)), asked),
    st.builds(lambda a: _operation("!", BuiltIn("BOUND", (a,))), asked),
    st.builds(lambda a: BuiltIn("ISIRI", (a,)), asked),
    st.builds(Membership, asked, st.lists(constants, min_size=1, max_size=2).map(tuple)),
    st.builds(lambda a: Membership(a, tuple(name for name, _ in WINDOWS), negated=True), asked),
    asked,
)
plain = st.recursive(
    tests,
    lambda inner: st.one_of(
        st.builds(_operation, st.sampled_from(["&&", "||"]), inner, inner),
        st.builds(lambda a: _operation("!", a), inner),
    ),
    max_leaves=3,
)
nested: st.SearchStrategy[Expression] = st.builds(
    Exists,
    st.one_of(bgps, st.builds(Filter, plain, bgps), st.builds(Graph, st.just(GRAPH), bgps)),
    st.booleans(),
)
conditions = st.one_of(plain, plain, plain, plain, nested)

aggregates = st.sampled_from(
    (
        Aggregate("COUNT"),
        Aggregate("COUNT", distinct=True),
        Aggregate("COUNT", VARIABLES[1]),
        Aggregate("SUM", VARIABLES[1]),
        Aggregate("SUM", VARIABLES[2], distinct=True),
        Aggregate("SAMPLE", MADE[0]),
        Aggregate("MAX", Timestamp((VARIABLES[0],))),
    )
)


@st.composite
def patterns(draw: st.DrawFn, depth: int = 3, *, inside: bool = False) -> Operator:
    """A pattern; inside GRAPH and WINDOW there is no WINDOW."""
    if depth == 0:
        return draw(st.one_of(bgps, bgps, bgps, values))
    inner = patterns(depth - 1, inside=inside)
    kinds = ["bgp", "join", "join", "optional", "union", "minus", "filter", "filter", "filter"]
    kinds += ["extend", "extend", "graph", "graph", "group", "annotate", "project", "distinct"]
    kinds += ["slice", "alike", *([] if inside else ["window"] * 4)]
    match draw(st.sampled_from(kinds)):
        case "join":
            return Join(draw(inner), draw(inner))
        case "optional":
            return LeftJoin(draw(inner), draw(inner), draw(st.one_of(st.none(), conditions)))
        case "union":
            return Union(tuple(draw(st.lists(inner, min_size=2, max_size=3))))
        case "minus":
            return Minus(draw(inner), draw(inner))
        case "filter":
            return Filter(draw(conditions), draw(inner))
        case "extend":
            return draw(extended(draw(inner)))
        case "graph":
            source = draw(patterns(depth - 1, inside=True))
            return Graph(draw(graph_names), source)
        case "window":
            source = draw(patterns(depth - 1, inside=True))
            return Window(draw(window_names), source, draw(st.sampled_from([None, None, STREAM])))
        case "group" | "annotate" | "project" | "distinct" | "slice" as kind:
            return draw(modified(draw(inner), kind))
        case "alike":
            return draw(alike(inner))
        case _:
            return draw(bgps)


@st.composite
def extended(draw: st.DrawFn, source: Operator) -> Operator:
    """BIND of a variable that its pattern does not have."""
    free = [each for each in (*MADE, *VARIABLES, GRAPH) if each not in possible_in_order(source)]
    return Extend(source, draw(st.sampled_from(free)), draw(computed)) if free else source


@st.composite
def alike(draw: st.DrawFn, inner: st.SearchStrategy[Operator]) -> Operator:
    """Neighbours that rules bring together: the same place, or the same part, twice."""
    one, two, three = draw(inner), draw(inner), draw(inner)
    match draw(st.sampled_from(["graph", "joins", "optionals", "same"])):
        case "graph":
            name = draw(graph_names)
            return Join(Graph(name, one), Graph(name, two))
        case "joins":
            return Union((Join(one, three), Join(two, three)))
        case "optionals":
            condition = draw(st.one_of(st.none(), plain))
            return Union((LeftJoin(one, three, condition), LeftJoin(two, three, condition)))
        case _:
            return Join(one, one)


@st.composite
def modified(draw: st.DrawFn, source: Operator, kind: str) -> Operator:
    """A subquery, or part of one."""
    have = possible_in_order(source)
    if kind in {"group", "annotate"}:
        made = [Variable(name) for name in ("n", "m") if Variable(name) not in have]
        calls = [(variable, draw(aggregates)) for variable in made]
        keys = tuple(draw(_some(have, most=2)))
        if kind == "group":
            return Group(source, keys, tuple(calls))
        others = draw(st.sampled_from([keys, keys, keys[:1]]))
        shared = [
            Annotation(v, call, k) for (v, call), k in zip(calls, (keys, others), strict=False)
        ]
        return Annotate(source, tuple(shared)) if shared else source
    shown = tuple(draw(_some(have, most=3))) or have[:1]
    ordered = OrderBy(source, (OrderKey(draw(operands)),)) if draw(st.booleans()) else source
    if kind == "project":
        return Project(ordered, shown)
    if kind == "distinct":
        cut = Project(ordered, shown)
        return Distinct(cut) if draw(st.booleans()) else Reduced(cut)
    return Slice(Project(ordered, shown), draw(st.integers(0, 1)), draw(st.integers(1, 3)))


def _some(have: Sequence[Variable], most: int) -> st.SearchStrategy[list[Variable]]:
    return st.lists(st.sampled_from(have), max_size=most, unique=True) if have else st.just([])
