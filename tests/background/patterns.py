"""Random patterns of every shape that a SERVICE can hold, with variables in scope as they must."""

from __future__ import annotations

from collections.abc import Sequence as Many
from typing import TypeVar

from hypothesis import strategies as st

from headrace.algebra.expressions import (
    Aggregate,
    BuiltIn,
    Exists,
    Expression,
    FunctionCall,
    Membership,
    Operation,
    PatternTerm,
    TriplePattern,
    Variable,
)
from headrace.algebra.operators import (
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
    Service,
    Slice,
    Union,
    Values,
)
from headrace.algebra.paths import (
    Alternative,
    Inverse,
    NegatedSet,
    OneOrMore,
    Path,
    PathPattern,
    Sequence,
    ZeroOrMore,
    ZeroOrOne,
)
from headrace.algebra.scope import possible, possible_in_order
from headrace.algebra.walk import within
from headrace.rdf.terms import Iri, Literal, QuotedTriple, Term
from headrace.rdf.vocabulary import XSD_BOOLEAN, XSD_DECIMAL, XSD_DOUBLE, XSD_INTEGER

T = TypeVar("T")
NAMES = ("a", "b", "c", "anon0", "anon1")
BINARY = ("=", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/")
ENDPOINT = Iri("http://other.example/sparql")

awkward = st.sampled_from(["\\", '"', "'", "\n", "\r", "\t", "\\u0041", "\\U", "} #", "\x00", "é"])
texts = st.lists(
    st.one_of(st.text(st.characters(exclude_categories=["Cs"]), max_size=3), awkward), max_size=3
).map("".join)
iris = st.sampled_from(["p", "q", "r#x", "é"]).map(lambda name: Iri(f"http://x/{name}"))
literals = st.one_of(
    st.builds(Literal, texts),
    st.builds(lambda text: Literal(text, language="en-GB"), texts),
    st.builds(
        Literal,
        st.sampled_from(["1", "-1", "+1", "1.5", ".5", "1.", "1e3", "true", "1 ", ""]),
        st.sampled_from([XSD_INTEGER, XSD_DECIMAL, XSD_DOUBLE, XSD_BOOLEAN, "http://x/d"]),
    ),
)
ground: st.SearchStrategy[Term] = st.recursive(
    st.one_of(iris, literals),
    lambda inner: st.builds(QuotedTriple, iris, iris, inner),
    max_leaves=3,
)
variables = st.sampled_from(NAMES).map(Variable)
paths: st.SearchStrategy[Path] = st.recursive(
    st.one_of(
        iris,
        st.builds(
            NegatedSet, st.lists(iris, max_size=2).map(tuple), st.lists(iris, max_size=2).map(tuple)
        ),
    ),
    lambda inner: st.one_of(
        *(st.builds(kind, inner) for kind in (Inverse, ZeroOrOne, ZeroOrMore, OneOrMore)),
        *(
            st.builds(kind, st.lists(inner, min_size=1, max_size=3).map(tuple))
            for kind in (Sequence, Alternative)
        ),
    ),
    max_leaves=5,
)


@st.composite
def bgps(draw: st.DrawFn) -> Bgp:
    # The blank nodes of one pattern are those of no other.
    own = draw(st.integers(0, 10**9))
    anonymous = st.integers(0, 1).map(lambda number: Variable(f"_:b{own}-{number}"))
    named: st.SearchStrategy[Variable] = st.one_of(variables, variables, anonymous)
    predicates: st.SearchStrategy[Variable | Iri] = st.one_of(variables, iris)
    subjects: st.SearchStrategy[PatternTerm] = st.one_of(
        named, iris, st.builds(TriplePattern, named, predicates, st.one_of(named, ground))
    )
    objects: st.SearchStrategy[PatternTerm] = st.one_of(subjects, ground)
    triples = st.builds(TriplePattern, subjects, predicates, objects)
    either = st.one_of(triples, triples, st.builds(PathPattern, subjects, paths, objects))
    return Bgp(tuple(draw(st.lists(either, max_size=3))))


@st.composite
def values(draw: st.DrawFn) -> Values:
    names = draw(st.lists(variables, max_size=2, unique=True))
    row = st.tuples(*[st.one_of(st.none(), ground)] * len(names))
    return Values(tuple(names), tuple(draw(st.lists(row, max_size=2))))


def _calls(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    two = st.tuples(inner, inner)
    some = st.lists(inner, max_size=3).map(tuple)
    return st.one_of(
        st.builds(
            Operation,
            st.sampled_from(["||", "&&"]),
            st.lists(inner, min_size=2, max_size=3).map(tuple),
        ),
        st.builds(Operation, st.sampled_from(BINARY), two),
        st.builds(Operation, st.sampled_from(["!", "u-", "u+"]), st.tuples(inner)),
        st.builds(Membership, inner, some, st.booleans()),
        st.builds(BuiltIn, st.sampled_from(["STR", "ABS", "LANG", "ISTRIPLE"]), st.tuples(inner)),
        st.builds(BuiltIn, st.sampled_from(["COALESCE", "CONCAT"]), some),
        st.builds(BuiltIn, st.just("IF"), st.tuples(inner, inner, inner)),
        st.builds(BuiltIn, st.just("BOUND"), st.tuples(variables)),
        st.builds(BuiltIn, st.just("IRI"), st.tuples(inner, st.just(Iri("http://base/")))),
        st.builds(FunctionCall, iris, some),
        st.builds(Exists, bgps(), st.booleans()),
    )


expressions: st.SearchStrategy[Expression] = st.recursive(
    st.one_of(variables, iris, literals), _calls, max_leaves=5
)
arguments = st.recursive(
    st.one_of(variables, iris, literals),
    lambda inner: st.builds(Operation, st.just("+"), st.tuples(inner, inner)),
    max_leaves=2,
)
aggregates = st.one_of(
    st.builds(Aggregate, st.just("COUNT"), st.none(), st.booleans()),
    st.builds(Aggregate, st.sampled_from(["SUM", "MIN", "SAMPLE"]), arguments, st.booleans()),
    st.builds(Aggregate, st.just("GROUP_CONCAT"), arguments, st.booleans(), texts),
)


def _unused(operator: Operator, start: str) -> Variable:
    taken = {variable for each in within(operator) for variable in possible(each)}
    return next(
        each for number in range(999) if (each := Variable(f"{start}{number}")) not in taken
    )


@st.composite
def _extended(draw: st.DrawFn, inner: st.SearchStrategy[Operator]) -> Operator:
    source = draw(inner)
    return Extend(source, _unused(source, "new"), draw(expressions))


@st.composite
def _projected(draw: st.DrawFn, inner: st.SearchStrategy[Operator]) -> Operator:
    source = draw(inner)
    named = [each for each in possible_in_order(source) if not each.is_anonymous]
    columns = draw(st.lists(st.sampled_from(named), unique=True)) if named else []
    if draw(st.booleans()):
        source = OrderBy(source, draw(_keys))
    result: Operator = Project(source, tuple(columns))
    quantifier = draw(st.sampled_from([None, Distinct, Reduced]))
    result = result if quantifier is None else quantifier(result)
    return draw(_sliced(result))


def _sliced(operator: Operator) -> st.SearchStrategy[Operator]:
    whole = st.just(operator)
    sliced = st.builds(Slice, whole, st.integers(0, 3), st.one_of(st.none(), st.integers(0, 3)))
    return st.one_of(whole, sliced)


_keys = st.lists(st.builds(OrderKey, expressions, st.booleans()), min_size=1, max_size=2).map(tuple)


@st.composite
def _grouped(draw: st.DrawFn, inner: st.SearchStrategy[Operator]) -> Operator:
    """GROUP BY as a query says it: some keys, computed columns, HAVING, and only those selected."""
    source = draw(inner)
    named = [each for each in possible_in_order(source) if not each.is_anonymous]
    keys = tuple(draw(st.lists(st.sampled_from(named), max_size=2, unique=True))) if named else ()
    calls = draw(st.lists(aggregates, min_size=1, max_size=2, unique=True))
    lifted = tuple((_unused(source, f"_:.agg{place}x"), call) for place, call in enumerate(calls))
    group: Operator = Group(source, keys, lifted)
    if draw(st.booleans()):  # one whose aggregates are used elsewhere, under names of their own
        named_calls = ((_unused(source, f"call{place}x"), call) for place, call in enumerate(calls))
        return Group(source, keys, tuple(named_calls))
    terms: Many[Expression] = [*keys, *(variable for variable, _ in lifted)]
    having = draw(st.one_of(st.none(), _over(terms)))
    result = group if having is None else Filter(having, group)
    computed: list[Variable] = []
    for place, (variable, _) in enumerate(lifted):
        column = _unused(source, f"column{place}x")
        value = draw(st.one_of(st.just(variable), _over(terms)))
        result = Extend(result, column, value)
        computed.append(column)
    if draw(st.booleans()):
        order = draw(_over([*terms, *computed]))
        result = OrderBy(result, (OrderKey(order, draw(st.booleans())),))
    selected = draw(st.permutations([*keys, *computed]))
    if draw(st.booleans()):
        selected = selected[1:] or selected
    return Project(result, tuple(selected))


def _over(terms: Many[Expression]) -> st.SearchStrategy[Expression]:
    chosen: st.SearchStrategy[Expression] = st.sampled_from(terms)
    return st.builds(Operation, st.sampled_from(["+", "="]), st.tuples(chosen, chosen))


def _above(inner: st.SearchStrategy[Operator]) -> st.SearchStrategy[Operator]:
    names: st.SearchStrategy[Variable | Iri] = st.one_of(variables, iris)
    return st.one_of(
        st.builds(Join, inner, inner),
        st.builds(LeftJoin, inner, inner, st.one_of(st.none(), expressions)),
        st.builds(Union, st.lists(inner, max_size=3).map(tuple)),
        st.builds(Minus, inner, inner),
        st.builds(Filter, expressions, inner),
        _extended(inner),
        st.builds(Graph, names, inner),
        st.builds(Service, st.one_of(variables, st.just(ENDPOINT)), inner, st.booleans()),
        _projected(inner),
        _grouped(inner),
        st.builds(Distinct, inner),
        st.builds(Slice, inner, st.integers(0, 3), st.one_of(st.none(), st.integers(0, 3))),
    )


patterns: st.SearchStrategy[Operator] = st.recursive(
    st.one_of(bgps(), values()), _above, max_leaves=6
)
