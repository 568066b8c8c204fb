"""A second opinion: owlrl's RDFS rules, kept to those that Headrace has, over rdflib graphs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import owlrl
import rdflib
from owlrl.RDFSClosure import RDFS_Semantics
from rdflib.namespace import OWL, RDF, RDFS

from headrace.rdf.terms import BlankNode, Iri, Literal, Term, Triple

Statement = tuple[Any, Any, Any]


_EQUIVALENCES = {
    OWL.equivalentClass: RDFS.subClassOf,
    OWL.equivalentProperty: RDFS.subPropertyOf,
}


class _Rules(RDFS_Semantics):  # type: ignore[misc]  # owlrl has no types
    """RDFS without axioms and datatypes, with the two rules of OWL."""

    resources = False

    def add_axioms(self) -> None:
        """None of RDFS: only what is given counts."""

    def add_d_axioms(self) -> None:
        """None of datatypes."""

    def one_time_rules(self) -> None:
        """None: rdfs1 is about literals."""

    def store_triple(self, t: Statement) -> None:
        """Literals never become subjects, nor blank nodes predicates.

        That everything is a resource, and each predicate a property, is passed over if not asked.
        """
        if not self.resources and t[1] == RDF.type and t[2] in (RDFS.Resource, RDF.Property):
            return
        if not isinstance(t[0], rdflib.Literal) and isinstance(t[1], rdflib.URIRef):
            super().store_triple(t)

    def rules(self, t: Statement, cycle_num: int) -> None:  # noqa: ARG002 - as owlrl has it
        """Those of owlrl and two more, on one statement."""
        super().rules(t, 1)  # rdfs4a and rdfs4b are of the first cycle only, else
        s, p, o = t
        if p == OWL.inverseOf:
            self.store_triple((o, OWL.inverseOf, s))
            for x, _, y in self.graph.triples((None, s, None)):
                self.store_triple((y, o, x))
        elif p in _EQUIVALENCES:
            self.store_triple((s, _EQUIVALENCES[p], o))
            self.store_triple((o, _EQUIVALENCES[p], s))
        elif p == RDF.type and o == OWL.SymmetricProperty:
            for x, _, y in self.graph.triples((None, s, None)):
                self.store_triple((y, s, x))
        for q in self.graph.objects(p, OWL.inverseOf):
            self.store_triple((o, q, s))
        if (p, RDF.type, OWL.SymmetricProperty) in self.graph:
            self.store_triple((o, p, s))


class _AllRules(_Rules):
    """With rdfs4a, rdfs4b and rdf1."""

    resources = True


def closure(
    schema: Iterable[Triple], data: Iterable[Triple], *, resources: bool = False
) -> set[Triple]:
    """All that a schema and data entail by owlrl's rules, whatever stands where."""
    graph = rdflib.Graph()
    for triple in (*schema, *data):
        graph.add(tuple(map(_node, (triple.subject, triple.predicate, triple.object))))
    rules = _AllRules if resources else _Rules
    owlrl.DeductiveClosure(rules, axiomatic_triples=False, datatype_axioms=False).expand(graph)
    return {Triple(*map(_term, each)) for each in graph}


def _node(term: Term) -> Any:
    match term:
        case Iri(value):
            return rdflib.URIRef(value)
        case BlankNode(label):
            return rdflib.BNode(label)
        case Literal(lexical):
            return rdflib.Literal(lexical)
        case _:
            raise TypeError(term)


def _term(node: Any) -> Term:
    if isinstance(node, rdflib.URIRef):
        return Iri(str(node))
    return BlankNode(str(node)) if isinstance(node, rdflib.BNode) else Literal(str(node))
