"""Windows: which elements of a stream a query sees. Durations are whole microseconds."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from headrace.algebra.expressions import Variable
from headrace.errors import Span
from headrace.rdf.terms import Iri


class Counted(StrEnum):
    """What a count window counts."""

    TRIPLES = "triples"
    ELEMENTS = "elements"


@dataclass(frozen=True, slots=True)
class TimeWindow:
    """The elements of the last `width`; no slide means that every arrival moves it."""

    width: int
    slide: int | None = None


@dataclass(frozen=True, slots=True)
class CountWindow:
    """The last `size` triples or elements, moving by `step` of them."""

    size: int
    step: int = 1
    counted: Counted = Counted.TRIPLES


@dataclass(frozen=True, slots=True)
class NowWindow:
    """The elements of the instant itself."""


@dataclass(frozen=True, slots=True)
class AllWindow:
    """All elements so far."""


WindowFrame: TypeAlias = TimeWindow | CountWindow | NowWindow | AllWindow


@dataclass(frozen=True, slots=True)
class WindowDeclaration:
    """A window by its name, the stream it is on, and its frame.

    Attributes:
        name: what WINDOW and GRAPH call it.
        stream: the stream's IRI, or a variable for every stream of the deployment.
        frame: which of its elements are in.
        in_default_graph: whether patterns outside any GRAPH or WINDOW see its contents too.
        span: where the query declares it.
    """

    name: Iri
    stream: Variable | Iri
    frame: WindowFrame
    in_default_graph: bool = False
    span: Span | None = field(default=None, compare=False, repr=False)
