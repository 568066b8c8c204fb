"""The denotational graph (D-Graph) of a query: its terms, and which source each comes from.

It is drawn by six rules. Terms of patterns are vertices (1), and a pattern is two edges, from its
subject to its predicate and on to its object (2). Filter conditions are annotations on the vertices
of their variables (3). An aggregation is a hyper-node: a group inside it, a function, its
parameters, and the variable that it binds (4). Vertices of the result are filled (5). There is one
box for each source (6).

A variable is one vertex wherever it occurs, because that is where patterns join. A predicate with
a name is a vertex for each pattern that has it: with one for all, nobody could tell which subject
leads through it to which object. Other constants are one vertex for each source, because equal
constants join nothing. A vertex is in the box of a source if it comes from no other; what several
sources bind stands between their boxes.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from headrace.algebra.expressions import PatternTerm
from headrace.algebra.paths import Path


class Role(StrEnum):
    """What a vertex is in its patterns."""

    VARIABLE = "variable"
    CONSTANT = "constant"
    PREDICATE = "predicate"
    QUOTED = "quoted triple"


@dataclass(frozen=True, slots=True)
class Vertex:
    """A term of a query.

    Attributes:
        id: its place among the vertices.
        term: what it stands for.
        label: the same with short names.
        role: what it is in its patterns.
        sources: the boxes that its bindings come from; none if the query computes them.
        annotations: the conditions that its bindings meet, or how they are computed.
        in_result: whether the query answers with it.
    """

    id: int
    term: PatternTerm | Path
    label: str
    role: Role
    sources: tuple[int, ...] = ()
    annotations: tuple[str, ...] = ()
    in_result: bool = False

    @property
    def box(self) -> int | None:
        """The one source that it comes from, if it is one."""
        return self.sources[0] if len(self.sources) == 1 else None


@dataclass(frozen=True, slots=True)
class PatternPath:
    """A triple pattern or path pattern: the way from a subject through a predicate to an object.

    Attributes:
        subject: a vertex.
        predicate: a vertex.
        object: a vertex.
        box: the source that it is matched in.
        note: what it is needed for, if it is not simply required.
    """

    subject: int
    predicate: int
    object: int
    box: int
    note: str = ""


class LinkKind(StrEnum):
    """Why two vertices hang together that no pattern connects."""

    PART = "part of"
    COMPUTED = "computed from"


@dataclass(frozen=True, slots=True)
class Link:
    """A vertex that is a part of another one, or that it is computed from."""

    source: int
    target: int
    kind: LinkKind


@dataclass(frozen=True, slots=True)
class HyperNode:
    """An aggregation.

    Attributes:
        variable: the vertex that is bound.
        function: the call, with short names.
        parameters: the vertices it is computed from; none for `COUNT(*)`.
        group: the vertices that it groups by.
        keeps_solutions: whether every solution stays and gets the value of its group.
    """

    variable: int
    function: str
    parameters: tuple[int, ...]
    group: tuple[int, ...]
    keeps_solutions: bool = False


class BoxKind(StrEnum):
    """Static knowledge, streaming knowledge, one or the other, or an endpoint's."""

    STATIC = "static"
    STREAM = "stream"
    EITHER = "static or stream"
    SERVICE = "service"


@dataclass(frozen=True, slots=True)
class Box:
    """A source: its kind, its name, and lines that say more."""

    id: int
    kind: BoxKind
    title: str
    details: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DGraph:
    """Terms, the patterns that connect them, and the sources they come from.

    Attributes:
        vertices: by their ids.
        patterns: in the order of the query.
        links: what hangs together for other reasons.
        aggregations: the hyper-nodes.
        boxes: by their ids.
        prefixes: what the short names stand for.
    """

    vertices: tuple[Vertex, ...]
    patterns: tuple[PatternPath, ...]
    links: tuple[Link, ...] = ()
    aggregations: tuple[HyperNode, ...] = ()
    boxes: tuple[Box, ...] = ()
    prefixes: tuple[tuple[str, str], ...] = ()

    @property
    def edges(self) -> tuple[tuple[int, int], ...]:
        """The directed edges of the patterns, two for each."""
        return tuple(
            edge
            for path in self.patterns
            for edge in ((path.subject, path.predicate), (path.predicate, path.object))
        )

    def inside(self, box: Box) -> tuple[Vertex, ...]:
        """The vertices that come from one source only."""
        return tuple(vertex for vertex in self.vertices if vertex.box == box.id)

    @property
    def shared(self) -> tuple[Vertex, ...]:
        """The vertices on which sources are joined."""
        return tuple(vertex for vertex in self.vertices if len(vertex.sources) > 1)
