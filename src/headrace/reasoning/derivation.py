"""Why a statement holds: the statement it follows from, and the statements of the schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from headrace.rdf.terms import Iri, Literal, Term, Triple
from headrace.rdf.vocabulary import (
    OWL_EQUIVALENT_CLASS,
    OWL_EQUIVALENT_PROPERTY,
    OWL_INVERSE_OF,
    OWL_SYMMETRIC,
    RDF_PROPERTY,
    RDFS_DOMAIN,
    RDFS_RANGE,
    RDFS_RESOURCE,
    RDFS_SUB_CLASS_OF,
    RDFS_SUB_PROPERTY_OF,
)
from headrace.reasoning.closure import RESOURCE, inverses, steps, sub_classes, sub_properties
from headrace.reasoning.schema import TYPE, Node, Pair, Schema

_PROPERTY: Final = Iri(RDF_PROPERTY)
OF_EVERYTHING: Final = (RESOURCE, _PROPERTY)
"""The classes of whatever is spoken of, which follow only for who asks for them."""


@dataclass(frozen=True, slots=True)
class Step:
    """One use of a rule.

    Attributes:
        rule: its name.
        because: the statement of the schema that it used, if it needs one.
        then: what follows.
    """

    rule: str
    because: Triple | None
    then: Triple


@dataclass(frozen=True)
class Rules:
    """The online rules of a schema, statement by statement: for explanations, not for batches."""

    schema: Schema

    @cached_property
    def _relations(self) -> Mapping[str, Mapping[Node, tuple[Node, ...]]]:
        schema = self.schema
        return {
            RDFS_SUB_PROPERTY_OF: steps(sub_properties(schema)),
            RDFS_SUB_CLASS_OF: steps(sub_classes(schema)),
            RDFS_DOMAIN: steps(schema.domains),
            RDFS_RANGE: steps(schema.ranges),
            OWL_INVERSE_OF: steps(inverses(schema)),
            OWL_SYMMETRIC: steps((each, each) for each in schema.symmetric),
        }

    def _of(self, relation: str, node: Term) -> tuple[Node, ...]:
        return self._relations[relation].get(node, ())  # type: ignore[arg-type]  # a literal is no key

    def from_one(self, triple: Triple) -> Iterator[Step]:
        """Derive statements from one statement in one step."""
        s, p, o = triple.subject, triple.predicate, triple.object
        is_node = not isinstance(o, Literal)
        for q in self._of(RDFS_SUB_PROPERTY_OF, p):
            rule, because = self._by_equivalence(p, q) or (
                "rdfs7",
                Triple(p, Iri(RDFS_SUB_PROPERTY_OF), q),
            )
            yield Step(rule, because, Triple(s, q, o))
        for c in self._of(RDFS_DOMAIN, p):
            yield Step("rdfs2", Triple(p, Iri(RDFS_DOMAIN), c), Triple(s, TYPE, c))
        for c in self._of(RDFS_RANGE, p) if is_node else ():
            yield Step("rdfs3", Triple(p, Iri(RDFS_RANGE), c), Triple(o, TYPE, c))
        for q in self._of(OWL_INVERSE_OF, p) if is_node else ():
            yield Step("inv2", Triple(p, Iri(OWL_INVERSE_OF), q), Triple(o, q, s))
        if is_node and self._of(OWL_SYMMETRIC, p):
            yield Step("sym", Triple(p, TYPE, Iri(OWL_SYMMETRIC)), Triple(o, p, s))
        for c in self._of(RDFS_SUB_CLASS_OF, o) if p == TYPE else ():
            rule, because = self._by_equivalence(o, c) or (
                "rdfs9",
                Triple(o, Iri(RDFS_SUB_CLASS_OF), c),
            )
            yield Step(rule, because, Triple(s, TYPE, c))

    @cached_property
    def _equivalences(self) -> Mapping[Pair, tuple[str, Triple]]:
        """The rules by which classes and properties pass for others, and the axioms for them."""
        schema, found = self.schema, dict[Pair, tuple[str, Triple]]()
        for pairs, iri, rule in (
            (schema.equivalent_classes, OWL_EQUIVALENT_CLASS, "cax-eqc"),
            (schema.equivalent_properties, OWL_EQUIVALENT_PROPERTY, "prp-eqp"),
        ):
            for one, other in pairs:
                axiom = Triple(one, Iri(iri), other)
                found.setdefault((one, other), (f"{rule}1", axiom))
                found.setdefault((other, one), (f"{rule}2", axiom))
        stated = {*schema.sub_classes, *schema.sub_properties}
        return {pair: axiom for pair, axiom in found.items() if pair not in stated}

    def _by_equivalence(self, lower: Term, upper: Node) -> tuple[str, Triple] | None:
        return self._equivalences.get((lower, upper))  # type: ignore[arg-type]  # a literal is no key

    def always(self, triple: Triple) -> Iterator[Step]:
        """What follows from any statement, for those who ask for it."""
        yield Step("rdfs4a", None, Triple(triple.subject, TYPE, Iri(RDFS_RESOURCE)))
        if not isinstance(triple.object, Literal):
            yield Step("rdfs4b", None, Triple(triple.object, TYPE, Iri(RDFS_RESOURCE)))
        yield Step("rdf1", None, Triple(triple.predicate, TYPE, _PROPERTY))

    def derivation(self, cause: Triple, goal: Triple) -> tuple[Step, ...] | None:
        """The shortest way from a statement to another that follows from it; None if it does not.

        No steps lead from a statement to itself.
        """
        came: dict[Triple, tuple[Triple, Step] | None] = {cause: None}
        waiting = [cause]
        general = goal.predicate == TYPE and goal.object in OF_EVERYTHING
        for triple in waiting:
            if triple == goal:
                return tuple(_way(goal, came))
            found = [*self.from_one(triple), *(self.always(triple) if general else ())]
            for step in found:
                if step.then not in came:
                    came[step.then] = (triple, step)
                    waiting.append(step.then)
        return None


def _way(goal: Triple, came: Mapping[Triple, tuple[Triple, Step] | None]) -> list[Step]:
    way: list[Step] = []
    at = came[goal]
    while at is not None:
        way.append(at[1])
        at = came[at[0]]
    return way[::-1]
