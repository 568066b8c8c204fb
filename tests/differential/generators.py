"""Random datasets and queries: small data, nested patterns, and many values unbound."""

from __future__ import annotations

from hypothesis import strategies as st

NODES = ("a", "b", "c", "d")
PROPERTIES = ("p", "q", "r")
# pyoxigraph writes literals anew when it stores them, so all are as it writes them; and it
# subtracts times, which the standard does not.
NUMBERS = (
    "1",
    "2",
    "2.5",
    "3.5",
    "1e0",
    "-1",
    '"x"',
    '"y"@en',
    "true",
)
VARIABLES = ("x", "y", "z", "w", "v")

nodes = st.sampled_from(NODES).map(lambda name: f":{name}")
values = st.one_of(nodes, st.sampled_from(NUMBERS))
properties = st.sampled_from(PROPERTIES).map(lambda name: f":{name}")
variables = st.sampled_from(VARIABLES).map(lambda name: f"?{name}")
statements = st.builds("{} {} {} .".format, nodes, properties, values)


@st.composite
def datasets(draw: st.DrawFn) -> str:
    """TriG with a default graph and two named ones.

    The named ones are not empty: whether an empty graph is there at all, stores may decide.
    """
    default = draw(st.lists(statements, max_size=14))
    some = st.lists(statements, min_size=1, max_size=5).map(" ".join)
    graphs = [f":{name} {{ {draw(some)} }}" for name in ("g", "h")]
    prefixes = "@prefix : <http://x/> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> ."
    return "\n".join([prefixes, *default, *graphs])


ends = st.one_of(variables, variables, nodes)
objects = st.one_of(variables, variables, variables, values)


def _longer(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        inner.map(lambda path: f"^({path})"),
        st.builds("({}/{})".format, inner, inner),
        # Outside a repetition both ways count where both lead to the same node; to pyoxigraph they
        # are one.
        st.builds("({}|{})+".format, inner, inner),
        inner.map(lambda path: f"({path})+"),
        st.sampled_from(["!(:p)", "!(:p|:q)", "!(^:p)", "!(^:q|^:r)"]),
    )


def _or_none(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        _longer(inner),
        inner.map(lambda path: f"({path})?"),
        inner.map(lambda path: f"({path})*"),
    )


paths = st.recursive(properties, _longer, max_leaves=3)
paths_of_any_length = st.recursive(properties, _or_none, max_leaves=3)
triples = st.one_of(
    st.builds("{} {} {} .".format, ends, st.one_of(properties, variables), objects),
    st.builds("{} {} {} .".format, ends, properties, objects),
    st.builds("{} {} {} .".format, ends, paths, ends),
    # From a constant that is not in the graph, a path of no length leads to itself; pyoxigraph
    # says that it leads nowhere. So the ends of such paths are variables here.
    st.builds("{} {} {} .".format, variables, paths_of_any_length, variables),
)
operands = st.one_of(variables, st.sampled_from(["1", "2", "3.5", '"x"', ":a"]))
numeric = st.one_of(
    operands,
    st.builds("({} {} {})".format, operands, st.sampled_from("+-*/"), operands),
    st.builds("COALESCE({}, {})".format, variables, operands),
    st.builds("IF(BOUND({}), {}, {})".format, variables, operands, operands),
)
tests = st.one_of(
    st.builds("{} {} {}".format, numeric, st.sampled_from(["=", "!=", "<", ">"]), numeric),
    # Two equal names are neither less nor equal, which is an error; to pyoxigraph they are equal.
    st.builds("{} {} {}".format, numeric, st.sampled_from(["<=", ">="]), st.sampled_from("123")),
    st.builds("BOUND({})".format, variables),
    st.builds("isIRI({})".format, variables),
    st.builds("isLiteral({})".format, variables),
    st.builds("{} IN ({}, {})".format, variables, operands, operands),
    st.builds("{} NOT IN ({}, {})".format, variables, operands, operands),
    st.builds("sameTerm({}, {})".format, operands, operands),
    st.builds("DATATYPE({}) = xsd:integer".format, variables),
    st.builds("LANG({}) = 'en'".format, variables),
    variables,
)
conditions = st.recursive(
    tests,
    lambda inner: st.one_of(
        st.builds("({} && {})".format, inner, inner),
        st.builds("({} || {})".format, inner, inner),
        inner.map(lambda condition: f"!({condition})"),
    ),
    max_leaves=3,
)


def _groups(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    block = inner.map(lambda body: f"{{ {body} }}")
    element = st.one_of(
        triples,
        triples,
        block,
        st.builds("{} UNION {}".format, block, block),
        block.map(lambda body: f"OPTIONAL {body}"),
        block.map(lambda body: f"MINUS {body}"),
        st.builds("GRAPH {} {}".format, st.one_of(variables, st.just(":g")), block),
        conditions.map(lambda condition: f"FILTER ({condition})"),
        block.map(lambda body: f"FILTER EXISTS {body}"),
        block.map(lambda body: f"FILTER NOT EXISTS {body}"),
        st.builds("VALUES {} {{ {} {} UNDEF }}".format, variables, nodes, st.just("1")),
        st.builds(
            "{{ SELECT {} {} {{ {} }} }}".format,
            variables,
            st.one_of(st.just(""), variables),
            inner,
        ),
        st.builds(
            "{{ SELECT ?x (COUNT({}) AS ?count) {{ {} }} GROUP BY ?x }}".format, variables, inner
        ),
    )
    return st.lists(element, min_size=1, max_size=3).map(" ".join)


groups = st.recursive(
    st.lists(triples, min_size=1, max_size=2).map(" ".join), _groups, max_leaves=4
)

PREFIXES = "PREFIX : <http://x/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> "
aggregates = st.sampled_from(
    [
        "COUNT(*)",
        "COUNT({v})",
        "COUNT(DISTINCT {v})",
        "SUM({v})",
        "AVG({v})",
        # In which order terms of different kinds stand is left to each engine.
        "MIN(COALESCE(IF(DATATYPE({v}) = xsd:integer, {v}, 0), 0))",
        "MAX(COALESCE(IF(DATATYPE({v}) = xsd:integer, {v}, 0), 0))",
        "SUM(DISTINCT {v})",
    ]
)


@st.composite
def queries(draw: st.DrawFn) -> str:
    """SELECT, ASK and grouped SELECT queries whose answers do not depend on an order."""
    body = draw(groups)
    kind = draw(st.sampled_from(["all", "all", "some", "distinct", "computed", "grouped", "ask"]))
    match kind:
        case "ask":
            return f"{PREFIXES} ASK {{ {body} }}"
        case "some":
            return f"{PREFIXES} SELECT ?x ?y {{ {body} }}"
        case "distinct":
            return f"{PREFIXES} SELECT DISTINCT ?x ?z {{ {body} }}"
        case "computed":
            return f"{PREFIXES} SELECT ?x ({draw(numeric)} AS ?made) {{ {body} }}"
        case "grouped":
            call = draw(aggregates).format(v=draw(variables))
            having = draw(st.sampled_from(["", "HAVING (COUNT(*) > 1)"]))
            keys = draw(st.sampled_from(["GROUP BY ?x", "GROUP BY ?x ?y", ""]))
            shown = {"GROUP BY ?x": "?x", "GROUP BY ?x ?y": "?x ?y", "": ""}[keys]
            return f"{PREFIXES} SELECT {shown} ({call} AS ?made) {{ {body} }} {keys} {having}"
        case _:
            return f"{PREFIXES} SELECT * {{ {body} }}"
