"""Random values of the algebra, each of a shape that a query can have."""

from __future__ import annotations

from typing import TypeVar

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
    OrderKey,
    Project,
    Reduced,
    Relation,
    Service,
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
    Sequence,
    ZeroOrMore,
    ZeroOrOne,
)
from headrace.algebra.query import (
    Ask,
    Construct,
    Dataset,
    Describe,
    Query,
    Registered,
    Registration,
    Select,
    TemplateQuad,
)
from headrace.algebra.reporting import (
    Align,
    Bounds,
    Contents,
    Emit,
    Every,
    Keep,
    NonEmpty,
    OnArrival,
    OnChange,
    OnClose,
    Order,
    Semantics,
    Skip,
)
from headrace.algebra.windows import (
    AllWindow,
    Counted,
    CountWindow,
    NowWindow,
    TimeWindow,
    WindowDeclaration,
)
from headrace.rdf.terms import BlankNode, Iri, Literal, QuotedTriple

T = TypeVar("T")


def tuples(values: st.SearchStrategy[T], most: int = 3) -> st.SearchStrategy[tuple[T, ...]]:
    return st.lists(values, max_size=most).map(tuple)


names = st.from_regex(r"[a-z][a-z0-9_]{0,5}", fullmatch=True)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
variables = st.builds(Variable, st.one_of(names, names.map(lambda name: f"_:{name}")))
iris = st.builds(Iri, st.one_of(texts.map(lambda text: f"http://example.org/{text}"), names))
literals = st.one_of(
    st.builds(Literal, texts),
    st.builds(Literal, texts, iris.map(lambda iri: iri.value)),
    st.builds(lambda text: Literal(text, language="en-gb"), texts),
)
terms = st.recursive(
    st.one_of(iris, st.builds(BlankNode, names), literals),
    lambda inner: st.builds(QuotedTriple, inner, iris, inner),
    max_leaves=4,
)
pattern_terms: st.SearchStrategy[PatternTerm] = st.recursive(
    st.one_of(variables, terms),
    lambda inner: st.builds(TriplePattern, inner, st.one_of(variables, iris), inner),
    max_leaves=4,
)
triples = st.builds(TriplePattern, pattern_terms, st.one_of(variables, iris), pattern_terms)
paths: st.SearchStrategy[Path] = st.recursive(
    st.one_of(iris, st.builds(NegatedSet, tuples(iris), tuples(iris))),
    lambda inner: st.one_of(
        st.builds(Inverse, inner),
        st.builds(Sequence, tuples(inner)),
        st.builds(Alternative, tuples(inner)),
        st.builds(ZeroOrOne, inner),
        st.builds(ZeroOrMore, inner),
        st.builds(OneOrMore, inner),
    ),
    max_leaves=4,
)
bgps = st.builds(
    Bgp, tuples(st.one_of(triples, st.builds(PathPattern, pattern_terms, paths, pattern_terms)))
)
aggregates = st.builds(
    Aggregate,
    st.sampled_from(["COUNT", "SUM", "GROUP_CONCAT"]),
    st.one_of(st.none(), variables),
    st.booleans(),
    st.one_of(st.none(), texts),
)


def _larger(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    return st.one_of(
        st.builds(
            Operation,
            st.sampled_from(["||", "&&", "=", "<", "+", "-", "*", "/", "!", "u-"]),
            tuples(inner),
        ),
        st.builds(Membership, inner, tuples(inner), st.booleans()),
        st.builds(BuiltIn, st.sampled_from(["STRLEN", "IF", "NOW"]), tuples(inner)),
        st.builds(FunctionCall, iris, tuples(inner)),
        st.builds(Timestamp, tuples(inner), st.one_of(st.none(), variables, iris)),
        st.builds(Timestamp, st.just(()), st.none(), st.sampled_from(Moment)),
        st.builds(Exists, bgps, st.booleans()),
    )


expressions: st.SearchStrategy[Expression] = st.recursive(
    st.one_of(variables, iris, literals, aggregates), _larger, max_leaves=4
)
budgets = st.builds(
    Budget,
    st.one_of(st.none(), st.floats(0, 1)),
    st.one_of(st.none(), st.integers(0, 10**9)),
    st.sampled_from([None, "WBM", "LRU"]),
    st.one_of(st.none(), st.integers(0, 9)),
    st.one_of(st.none(), st.floats(0.125, 8)),
)
rows = st.lists(st.one_of(st.none(), terms), min_size=2, max_size=2).map(tuple)
values = st.builds(
    Values, st.just((Variable("a"), Variable("b"))), st.lists(rows, max_size=2).map(tuple)
)


def _above(inner: st.SearchStrategy[Operator]) -> st.SearchStrategy[Operator]:
    named = st.one_of(variables, iris)
    return st.one_of(
        st.builds(Join, inner, inner),
        st.builds(LeftJoin, inner, inner, st.one_of(st.none(), expressions)),
        st.builds(Union, tuples(inner)),
        st.builds(Minus, inner, inner),
        st.builds(
            Temporal,
            inner,
            inner,
            st.sampled_from(Relation),
            st.one_of(st.none(), st.integers(1, 10**9)),
            st.booleans(),
        ),
        st.builds(Filter, expressions, inner),
        st.builds(Extend, inner, variables, expressions),
        st.builds(Graph, named, inner),
        st.builds(Window, named, inner),
        st.builds(Service, named, inner, st.booleans(), st.one_of(st.none(), budgets)),
        st.builds(Group, inner, tuples(variables), tuples(st.tuples(variables, aggregates))),
        st.builds(
            Annotate, inner, tuples(st.builds(Annotation, variables, aggregates, tuples(variables)))
        ),
        st.builds(OrderBy, inner, tuples(st.builds(OrderKey, expressions, st.booleans()))),
        st.builds(Project, inner, tuples(variables)),
        st.builds(Distinct, inner),
        st.builds(Reduced, inner),
        st.builds(Slice, inner, st.integers(0, 9), st.one_of(st.none(), st.integers(0, 9))),
    )


operators: st.SearchStrategy[Operator] = st.recursive(st.one_of(bgps, values), _above, max_leaves=4)
durations = st.integers(1, 10**12)
frames = st.one_of(
    st.builds(TimeWindow, durations, st.one_of(st.none(), durations)),
    st.builds(CountWindow, st.integers(1, 99), st.integers(1, 9), st.sampled_from(Counted)),
    st.builds(NowWindow),
    st.builds(AllWindow),
)
declarations = st.builds(WindowDeclaration, iris, st.one_of(variables, iris), frames, st.booleans())
semantics = st.builds(
    Semantics,
    bounds=st.sampled_from(Bounds),
    align=st.sampled_from(Align),
    t0=st.one_of(st.integers(), st.just("first")),
    contents=st.sampled_from(Contents),
    report=st.one_of(
        st.builds(OnClose),
        st.builds(Every, durations),
        st.builds(OnChange),
        st.builds(OnArrival),
    ),
    emit=st.sampled_from(Emit),
    non_empty=st.sampled_from(NonEmpty),
    order=st.sampled_from(Order),
    stream_delays=tuples(st.tuples(texts, durations)),
    assert_quoted=st.booleans(),
    switched_rules=tuples(st.tuples(names, st.booleans())),
    overload=st.one_of(st.builds(Keep), st.builds(Skip, durations)),
)
quads = st.builds(
    TemplateQuad,
    pattern_terms,
    st.one_of(variables, iris),
    pattern_terms,
    st.one_of(st.none(), variables, iris),
)
forms = st.one_of(
    st.builds(Select, tuples(variables)),
    st.builds(Construct, tuples(quads)),
    st.builds(Ask),
    st.builds(Describe, tuples(st.one_of(variables, iris))),
)
queries = st.builds(
    Query,
    forms,
    operators,
    st.builds(Dataset, tuples(iris), tuples(iris), tuples(iris)),
    tuples(declarations),
    st.one_of(st.none(), st.builds(Registration, texts, st.sampled_from(Registered))),
    semantics,
)
