"""Graph patterns in joins that fall apart."""

from __future__ import annotations

import pytest

from headrace import Engine
from headrace.algebra.expressions import TriplePattern, Variable
from headrace.algebra.operators import Bgp, Join, Service, Union
from headrace.planning.apart import taken_apart
from headrace.rdf.terms import Iri, Quad


def triple(subject: str, object_: str) -> TriplePattern:
    return TriplePattern(Variable(subject), Iri("x:p"), Variable(object_))


A, B, AB = triple("a", "m"), triple("b", "n"), triple("a", "b")


def test_what_shares_no_variable_is_an_operand_of_its_own() -> None:
    between = Union((Bgp((AB,)), Bgp((AB,))))
    assert taken_apart(Join(Bgp((A, B)), between)) == Join(Join(Bgp((A,)), Bgp((B,))), between)
    assert taken_apart(Join(between, Bgp((A, B)))) == Join(Join(between, Bgp((A,))), Bgp((B,)))


@pytest.mark.parametrize("patterns", [(A, AB, B), (A, B, AB)])
def test_what_hangs_together_stays(patterns: tuple[TriplePattern, ...]) -> None:
    whole = Join(Bgp(patterns), Bgp((A,)))
    assert taken_apart(whole) is whole


def test_a_pattern_that_nothing_is_joined_with_stays() -> None:
    alone = Bgp((A, B))
    assert taken_apart(alone) is alone


def test_the_neighbour_of_an_endpoint_stays() -> None:
    asked = Service(Iri("x:endpoint"), Bgp((AB,)))
    for whole in (Join(Bgp((A, B)), asked), Join(asked, Bgp((A, B)))):
        assert taken_apart(whole) is whole


def test_people_who_cite_each_other_are_no_product_of_all() -> None:
    """Q3 of the CQELS paper: what brings both sides together stands between them."""
    engine = Engine(max_rows=500, clock=None)
    people = [Iri(f"x:person{number}") for number in range(100)]
    papers = [Iri(f"x:paper{number}") for number in range(100)]
    by, cites = Iri("x:by"), Iri("x:cites")
    engine.static.add(Quad(*each) for each in zip(papers, [by] * 100, people, strict=True))
    engine.static.add([Quad(papers[0], cites, papers[1])])
    stream = engine.stream("x:s")
    query = engine.register(
        """SELECT ?one ?two FROM NAMED WINDOW <x:w> ON <x:s> [RANGE 30s STEP 1s]
        WHERE {
          WINDOW <x:w> { ?one <x:at> ?room . ?two <x:at> ?room }
          ?p1 <x:by> ?one . ?p2 <x:by> ?two
          { { ?p1 <x:cites> ?p2 } UNION { ?p2 <x:cites> ?p1 } }
        }"""
    )
    stream.push([Quad(people[number], Iri("x:at"), Iri("x:room")) for number in (0, 1)], at=500)
    stream.heartbeat(at=1_500)
    engine.step()
    assert query.error is None
    [found] = query.results()
    assert sorted(str(one) for one, _ in found.rows) == ["<x:person0>", "<x:person1>"]
