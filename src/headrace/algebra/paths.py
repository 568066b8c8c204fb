"""Property paths: ways from one node to another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from headrace.algebra.expressions import PatternTerm
from headrace.rdf.terms import Iri


@dataclass(frozen=True, slots=True)
class Inverse:
    """A path walked backwards."""

    path: Path


@dataclass(frozen=True, slots=True)
class Sequence:
    """One path after the other."""

    steps: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class Alternative:
    """One of several paths."""

    choices: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class ZeroOrOne:
    """A path, or staying where one is."""

    path: Path


@dataclass(frozen=True, slots=True)
class ZeroOrMore:
    """A path, any number of times."""

    path: Path


@dataclass(frozen=True, slots=True)
class OneOrMore:
    """A path, at least once."""

    path: Path


@dataclass(frozen=True, slots=True)
class NegatedSet:
    """One step by any property but these, forwards and backwards."""

    forward: tuple[Iri, ...]
    backward: tuple[Iri, ...]


Path: TypeAlias = (
    Iri | Inverse | Sequence | Alternative | ZeroOrOne | ZeroOrMore | OneOrMore | NegatedSet
)


@dataclass(frozen=True, slots=True)
class PathPattern:
    """A subject and an object that a path connects."""

    subject: PatternTerm
    path: Path
    object: PatternTerm
