"""From what in the data a triple follows, and by which statements of a schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl

from headrace.engine import Engine
from headrace.errors import DataError, SettingError
from headrace.kernel.columns import OBJECT, PREDICATE, STATEMENT, SUBJECT, TIME
from headrace.kernel.dictionary import Dictionary
from headrace.options import named_file, push_files
from headrace.rdf.formats import Format
from headrace.rdf.reading import read
from headrace.rdf.terms import Iri, Quad, Term, Triple
from headrace.rdf.times import iso_text
from headrace.reasoning.derivation import OF_EVERYTHING, Rules, Step
from headrace.reasoning.schema import Schema

_MOST: Final = 10
"""So many causes are told."""
_EXAMPLE: Final = "; for example --why '<x:s> a <x:C>'"


@dataclass(frozen=True, slots=True)
class Cause:
    """A statement of the data that a triple follows from.

    Attributes:
        statement: what was stated.
        steps: how the triple follows; none if it is what was stated.
        stream: the stream it came on; none if it is static.
        time: when, in microseconds.
    """

    statement: Quad
    steps: tuple[Step, ...]
    stream: str | None = None
    time: int | None = None


def triple_of(text: str, prefixes: Mapping[str, str]) -> Triple:
    """A triple as users write it: N-Triples or Turtle, with or without a full stop.

    >>> print(triple_of("<x:a> a v:C", {"v": "x:"}).object)
    <x:C>

    Args:
        text: the triple.
        prefixes: those of the query, which need not be declared again.

    Raises:
        SettingError: it is none, or more than one.
    """
    known = "".join(f"@prefix {name}: <{iri}> . " for name, iri in prefixes.items())
    try:
        found = list(read(f"{known}{text.strip().removesuffix('.')} .", Format.TURTLE))
    except DataError as error:
        # The full stop that is in the way is not the user's.
        why = "it ends too early" if error.problem.startswith(". ") else error.problem
        problem = f"expected --why TRIPLE, found '{text}': {why}{_EXAMPLE}"
        raise SettingError(problem) from None
    if len(found) != 1:
        number = len(found)
        raise SettingError(f"expected --why with one triple, found {number} in '{text}'{_EXAMPLE}")
    return found[0].triple


def causes(
    goal: Triple, schema: Schema | None, streams: Sequence[str], static: Sequence[str]
) -> list[Cause]:
    """What in the data a triple follows from, the first ones found, static data first.

    Args:
        goal: the triple.
        schema: what the data are read under.
        streams: what is read, as the option `--stream` has it.
        static: static data, as the option `--static` has them.

    Raises:
        HeadraceError: something cannot be read.
    """
    rules = Rules(schema or Schema())
    # Only where types follow from types may the subject be a class of the schema alone.
    anywhere = rules.schema.links_type or goal.object in OF_EVERYTHING
    found: list[Cause] = []
    for cause in _candidates(None if anywhere else goal.subject, streams, static):
        steps = rules.derivation(cause.statement.triple, goal)
        if steps is not None:
            found.append(Cause(cause.statement, steps, cause.stream, cause.time))
            if len(found) == _MOST:
                break
    return found


def _candidates(
    term: Term | None, streams: Sequence[str], static: Sequence[str]
) -> Iterator[Cause]:
    """The statements that speak of a term, or all."""
    engine = Engine()
    for graph, path in map(named_file, static):
        engine.static.load(path, graph)
    dictionary = engine.static.dictionary
    for quad, _ in _among(engine.static.quads, term, dictionary):
        yield Cause(quad, ())
    for feed in push_files(engine, streams):
        while feed.pending:
            for quad, time in _among(feed.pending.pop(0), term, dictionary):
                yield Cause(quad, (), feed.stream.value, time)


def _among(
    statements: pl.DataFrame, term: Term | None, dictionary: Dictionary
) -> Iterator[tuple[Quad, int | None]]:
    """Statements that speak of a term, in whatever place, or all."""
    chosen = statements
    if term is not None:
        places = [pl.col(name) == dictionary.encode(term) for name in (SUBJECT, PREDICATE, OBJECT)]
        chosen = statements.filter(pl.any_horizontal(places))
    terms = [dictionary.terms(chosen[name]) for name in STATEMENT]
    times: Sequence[int | None] = [None] * chosen.height
    if TIME in chosen.columns:
        times = chosen[TIME].to_list()
    for graph, subject_, predicate, object_, time in zip(*terms, times, strict=True):
        yield Quad(subject_, predicate, object_, graph), time


def as_text(goal: Triple, found: Sequence[Cause]) -> str:
    """Causes for a person."""
    if not found:
        return f"{_shown(goal)}\n  is not stated in the data, and does not follow from them\n"
    lines = [_shown(goal)]
    for cause in found:
        verb = "follows from what is stated" if cause.steps else "is stated"
        lines.append(f"  {verb} {_place(cause)}")
        if cause.steps:
            lines.append(f"    {_shown(cause.statement.triple)}")
        for step in cause.steps:
            by = step.rule if step.because is None else f"{step.rule}, {_shown(step.because)}"
            lines += [f"    by {by}", f"      {_shown(step.then)}"]
    return "\n".join(lines) + "\n"


def as_json(goal: Triple, found: Sequence[Cause]) -> Mapping[str, object]:
    """Causes for a program; times in milliseconds."""
    return {
        "triple": _terms(goal),
        "causes": [
            {
                "stream": cause.stream,
                "at": None if cause.time is None else cause.time / 1000,
                "graph": None if cause.statement.graph is None else str(cause.statement.graph),
                "triple": _terms(cause.statement.triple),
                "steps": [
                    {
                        "rule": step.rule,
                        "schema": None if step.because is None else _terms(step.because),
                        "triple": _terms(step.then),
                    }
                    for step in cause.steps
                ],
            }
            for cause in found
        ],
    }


def _place(cause: Cause) -> str:
    graph = cause.statement.graph
    inside = f", graph {graph}" if isinstance(graph, Iri) else ""
    if cause.stream is None:
        return f"in static data{inside}"
    at = "" if cause.time is None else f" at {iso_text(cause.time)}Z"
    return f"on <{cause.stream}>{at}{inside}"


def _terms(triple: Triple) -> list[str]:
    terms: tuple[Term, ...] = (triple.subject, triple.predicate, triple.object)
    return [str(term) for term in terms]


def _shown(triple: Triple) -> str:
    return " ".join(_terms(triple))
