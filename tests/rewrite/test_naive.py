"""The definitions and the kernel agree, also where the kernel once did not."""

from __future__ import annotations

from random import Random

import pytest

from headrace.algebra.notation import read
from headrace.rdf.terms import Iri
from tests.rewrite.naive import bag
from tests.rewrite.worlds import WINDOWS, kernel_bag, random_world

PATTERNS = {
    "the time of what a triple binds twice": """
        (extend (window ?w (bgp [(triple ?x <x:p> ?x)])) ?t (timestamp [?x]))""",
    "the time of a triple": """
        (extend (window ?w (bgp [(triple ?x ?p ?y)])) ?t (timestamp [?x ?p ?y]))""",
    "the time of a variable in a stream that another one names": """
        (extend (window ?w (bgp [(triple ?x ?p ?y)]) ?s) ?t (timestamp [?x] ?s))""",
    "distinct solutions that bind blank nodes only": """
        (group (bgp [(triple ?_:.a <x:p> ?_:.b)]) [] [[?n (aggregate 'COUNT' - true)]])""",
    "distinct solutions, none of them": """
        (group (values [?x] []) [] [[?n (aggregate 'COUNT' - true)]])""",
    "a slice of an ordered subquery": """
        (slice (project (project (order-by (bgp [(triple ?x ?p ?y)]) [(key ?y)]) [?x ?y]) [?y]) 0 2)
        """,
    "a slice of an ordered query": """
        (slice (distinct (project (order-by (bgp [(triple ?x ?p ?y)]) [(key ?y)]) [?x ?y])) 1 2)""",
    "EXISTS that reads an outer value in a condition of an inner EXISTS": """
        (filter
          (exists (filter (exists (filter (= ?u ?y) (bgp [(triple ?z ?q ?u)])))
            (bgp [(triple ?x <x:q> ?z)])))
          (bgp [(triple ?x <x:p> ?y)]))""",
    "the default graph over windows and static data": """
        (join (bgp [(triple ?x <x:p> ?y)]) (graph ?g (bgp [(triple ?x ?p ?z)])))""",
    "paths of any length": "(bgp [(path ?x (zero-or-more <x:p>) ?y) (triple ?y <x:q> ?z)])",
}


@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS)
@pytest.mark.parametrize("shown", [(), tuple(name for name, _ in WINDOWS)], ids=["apart", "in one"])
def test_the_kernel_finds_what_the_definitions_say(pattern: str, shown: tuple[Iri, ...]) -> None:
    operator = read(pattern)
    worlds = [random_world(Random(number), shown) for number in range(20)]
    expected = [bag(operator, world) for world in worlds]
    assert [kernel_bag(operator, world) for world in worlds] == expected
    assert any(expected), "some world shows something"
