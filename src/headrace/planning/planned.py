"""A window as it is planned: of one stream of the deployment."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.algebra.windows import TimeWindow, WindowFrame
from headrace.rdf.terms import Iri


@dataclass(frozen=True, slots=True)
class PlannedWindow:
    """A window on one stream.

    Attributes:
        name: what WINDOW and GRAPH call it; several may share it, and are read as one then.
        stream: the stream it is on.
        frame: which of its elements are in.
        in_default_graph: whether patterns outside any GRAPH or WINDOW see its contents too.
    """

    name: Iri
    stream: Iri
    frame: WindowFrame
    in_default_graph: bool = False

    @property
    def slide(self) -> int | None:
        """How far apart its closes are, if they lie on a grid."""
        return self.frame.slide if isinstance(self.frame, TimeWindow) else None
