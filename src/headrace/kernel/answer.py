"""What a plain query answers: rows, a truth value, or statements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

import polars as pl

from headrace.algebra.expressions import PatternTerm, TriplePattern, Variable
from headrace.algebra.query import (
    Ask,
    Construct,
    Dataset,
    Describe,
    Query,
    Select,
    TemplateQuad,
)
from headrace.kernel.budget import Budget, check_listing
from headrace.kernel.columns import GRAPH, INSTANT, OBJECT, PREDICATE, SUBJECT, column
from headrace.kernel.data import Data, Quads
from headrace.kernel.dictionary import Dictionary
from headrace.kernel.snapshot import evaluate
from headrace.kernel.solutions import Solutions
from headrace.kernel.surroundings import Surroundings
from headrace.metering import current
from headrace.rdf.ids import TermId
from headrace.rdf.terms import BlankNode, Iri, Literal, Quad, QuotedTriple, Term
from headrace.results.table import Table
from headrace.rewrite.optimise import optimised
from headrace.rewrite.rule import Rule
from headrace.rewrite.rules import RULES

_ROW: Final = 7
"""Numbers that take as many bytes as a row besides its terms."""


@dataclass(frozen=True, slots=True)
class Truth:
    """The answer of ASK."""

    value: bool


@dataclass(frozen=True, slots=True)
class Statements:
    """The answer of CONSTRUCT and DESCRIBE, each statement once."""

    quads: tuple[Quad, ...]


Answer = Table | Truth | Statements


def answer(
    query: Query, quads: pl.DataFrame, around: Surroundings, rules: Sequence[Rule] = RULES
) -> Answer:
    """Answer a query that reads no stream."""
    data = active_data(query.dataset, Quads(quads), around.dictionary)
    found = evaluate(optimised(query, rules=rules), data, around)
    match query.form:
        case Select(variables):
            return table(found, variables, around.dictionary)
        case Ask():
            return Truth(found.height > 0)
        case Construct(template):
            graph = constructed(template, found, around.dictionary)
            return Statements(tuple(dict.fromkeys(graph)))
        case Describe(targets):
            return Statements(tuple(described(targets, found, data, around.dictionary)))


def active_data(dataset: Dataset, quads: Quads, dictionary: Dictionary) -> Data:
    """Return the data that a query reads: with FROM or FROM NAMED, only the graphs it names.

    A dialect may keep the default graph beside those of FROM NAMED.
    """
    if not dataset.default and not dataset.named:
        return Data(quads)
    default: tuple[TermId | None, ...] = (None,)
    if not dataset.keeps_default:
        default = tuple(dictionary.encode(graph) for graph in dataset.default)
    named = tuple(dictionary.encode(graph) for graph in dataset.named)
    return Data(quads, default, named)


def table(found: Solutions, variables: tuple[Variable, ...], dictionary: Dictionary) -> Table:
    """The terms of some solutions, in their order."""
    Budget.current().check(found.height, "the answer", 2 * len(variables) + _ROW)
    columns = [dictionary.terms(found.frame[column(variable)]) for variable in variables]
    names = tuple(variable.name for variable in variables)
    if not columns:
        return Table(names, ((),) * found.height)
    return Table(names, tuple(zip(*columns, strict=True)))


# -- CONSTRUCT -------------------------------------------------------------------------------


def constructed(
    template: tuple[TemplateQuad, ...], found: Solutions, dictionary: Dictionary
) -> Iterator[Quad]:
    """The statements that a template makes of each solution; those that cannot be are left out."""
    names = found.names
    check_listing(found.height * (len(names) + 1), "the answer")
    columns = [dictionary.terms(found.frame[name]) for name in names]
    keys = zip(*(found.frame[name].to_list() for name in [INSTANT, *names]), strict=True)
    for position, key in enumerate(current().steps(keys)):
        terms = {name: terms[position] for name, terms in zip(names, columns, strict=True)}
        scope = blake2b(repr((key, position)).encode(), digest_size=8).hexdigest()
        for quad in template:
            statement = made(quad, terms, scope)
            if statement is not None:
                yield statement


def made(quad: TemplateQuad, terms: dict[str, Term | None], scope: str) -> Quad | None:
    """What a template's statement becomes with some terms, if that is a statement at all."""
    subject, predicate, object_ = (
        _filled(part, terms, scope) for part in (quad.subject, quad.predicate, quad.object)
    )
    graph = None if quad.graph is None else _filled(quad.graph, terms, scope)
    right = (
        isinstance(subject, Iri | BlankNode | QuotedTriple)
        and isinstance(predicate, Iri)
        and object_ is not None
        and (quad.graph is None or isinstance(graph, Iri | BlankNode))
    )
    return Quad(subject, predicate, object_, graph) if right else None  # type: ignore[arg-type]  # checked above


def _filled(part: PatternTerm, terms: dict[str, Term | None], scope: str) -> Term | None:
    match part:
        case Variable(name) if part.is_anonymous:
            return BlankNode(f"c{scope}{name[2:].replace('.', 'g')}")
        case Variable():
            return terms.get(column(part))
        case TriplePattern(subject, predicate, object_):
            inner = [_filled(each, terms, scope) for each in (subject, predicate, object_)]
            if inner[0] is None or isinstance(inner[0], Literal) or inner[2] is None:
                return None
            if not isinstance(inner[1], Iri):
                return None
            return QuotedTriple(*inner)  # type: ignore[arg-type]  # none is missing
        case _:
            return part


# -- DESCRIBE --------------------------------------------------------------------------------


def described(
    targets: tuple[Variable | Iri, ...], found: Solutions, data: Data, dictionary: Dictionary
) -> Iterator[Quad]:
    """What is said of each resource, and of the blank nodes that are reached from it."""
    wanted: set[TermId] = set()
    for target in targets:
        if isinstance(target, Iri):
            wanted.add(dictionary.encode(target))
        elif found.has(target):
            wanted.update(found.frame[column(target)].drop_nulls().to_list())
    frame = data.statements()
    described: set[TermId] = set()
    while wanted - described:
        new = wanted - described
        described |= new
        about = frame.filter(pl.col(SUBJECT).is_in(list(new))).drop(GRAPH).unique()
        for statement in _statements(about.sort(SUBJECT, PREDICATE, OBJECT), dictionary):
            yield statement
            if isinstance(statement.object, BlankNode):
                wanted.add(dictionary.encode(statement.object))


def _statements(frame: pl.DataFrame, dictionary: Dictionary) -> Iterator[Quad]:
    columns = [dictionary.terms(frame[name]) for name in (SUBJECT, PREDICATE, OBJECT)]
    for subject, predicate, object_ in zip(*columns, strict=True):
        yield Quad(subject, predicate, object_)
