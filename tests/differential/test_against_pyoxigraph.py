"""Random queries over random data: the kernel and pyoxigraph must agree.

`make fuzz` runs ten thousand of them. What pyoxigraph is known to do otherwise than the standard
says is either not generated (see generators.py) or named here.
"""

from __future__ import annotations

import re

from hypothesis import assume, given

from headrace.algebra.expressions import Variable
from headrace.algebra.notation import show
from headrace.algebra.operators import Graph, Project, Values
from headrace.algebra.query import Query
from headrace.algebra.scope import mentioned, possible
from headrace.algebra.walk import everywhere, expressions, within
from headrace.dialects import parse
from headrace.kernel.answer import Truth, answer
from headrace.kernel.dictionary import Dictionary
from headrace.kernel.surroundings import Surroundings
from headrace.rdf.formats import Format
from headrace.rdf.reading import read
from headrace.results.table import Table
from tests.differential.generators import datasets, queries
from tests.differential.oracle import oracle
from tests.fuzzing import repeat
from tests.w3c.isomorphism import same


def deviates(query: Query) -> bool:
    """Whether pyoxigraph is known to answer otherwise than the standard says."""
    return _mixes_graphs(query) or _stands_still_in_exists(query)


def _stands_still_in_exists(query: Query) -> bool:
    """Whether EXISTS holds a path of no length, or MINUS.

    The standard puts values in for variables before it looks at the pattern. Then such a path
    leads from the value to itself, wherever it is, and both sides of MINUS no longer share the
    variable; pyoxigraph puts them in while it evaluates.
    """
    outside = set(map(id, within(query.pattern)))
    return any(
        re.search(r"zero-or-(one|more)|minus", show(operator))
        for operator in everywhere(query.pattern)
        if id(operator) not in outside
    )


def _mixes_graphs(query: Query) -> bool:
    """Whether GRAPH ?g holds VALUES, a subquery or ?g itself.

    The name of the graph is joined with what the pattern gives; pyoxigraph binds it before.
    """
    return any(
        isinstance(inner, Project | Values)
        or operator.name in possible(inner)
        or any(operator.name in mentioned(each) for each in expressions(inner))
        for operator in everywhere(query.pattern)
        if isinstance(operator, Graph) and isinstance(operator.name, Variable)
        for inner in everywhere(operator.input)
    )


@repeat(300)
@given(datasets(), queries())
def test_the_kernel_agrees_with_pyoxigraph(data: str, text: str) -> None:
    query = parse(text, "sparql").query
    assume(not deviates(query))
    try:
        theirs = oracle(data, text)
    except SyntaxError:  # it refuses SELECT ?x ?x
        assume(condition=False)
    dictionary = Dictionary()
    quads = dictionary.encode_quads(read(data, Format.TRIG))
    ours = answer(query, quads, Surroundings(dictionary))
    match ours, theirs:
        case Truth(value), bool():
            assert value == theirs
        case Table(), Table():
            assert set(ours.variables) == set(theirs.variables)
            order = [ours.variables.index(name) for name in theirs.variables]
            assert same([tuple(row[place] for place in order) for row in ours.rows], theirs.rows)
        case _:
            raise AssertionError(f"{type(ours)} against {type(theirs)}")
