"""What a continuous query reports at an instant, with typed terms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from headrace.rdf.terms import Literal, Quad, Term
from headrace.rdf.vocabulary import XSD_BOOLEAN
from headrace.results.rows import LazyRows
from headrace.results.table import Row, Table
from headrace.results.text_columns import text_frame, typed_frame

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    import polars as pl
    import pyarrow as pa

Bounds = tuple[int | None, int | None]
"""The opening and the close of a window; a window may have none."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One evaluation of a query, and what it emitted. Times in microseconds since the epoch.

    Attributes:
        query: the name of the query.
        at: its instant.
        seq: which of the instants of the same time it is, from 0 on.
        windows: each window's opening and close.
        variables: the columns of a SELECT.
        rows: the rows of a SELECT, whose terms are made when one is looked at; None is unbound.
        quads: the statements of a CONSTRUCT or DESCRIBE.
        boolean: the truth of an ASK; None if it emits none.
        error: why there is no answer.
        skipped: whether the query was not evaluated at this instant, for want of time.
        accuracy: what share of the answer is estimated to be right, where remote data come from a
            local view; None if none do.
        completeness: what share of the rows that are expected the answer has, likewise.
        since: the first of the instants that it stands for, if windows hold the same at all of
            them; None if it stands for its own only.
        instants: how many instants it stands for.
    """

    query: str
    at: int
    seq: int = 0
    windows: Mapping[str, Bounds] = field(default_factory=dict)
    variables: tuple[str, ...] = ()
    rows: Sequence[Row] = ()
    quads: tuple[Quad, ...] = ()
    boolean: bool | None = None
    error: str | None = None
    skipped: bool = False
    accuracy: float | None = None
    completeness: float | None = None
    since: int | None = None
    instants: int = 1

    @property
    def time(self) -> datetime:
        """Its instant as a moment in UTC."""
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=self.at)

    @property
    def is_empty(self) -> bool:
        """Whether it was evaluated, and nothing was emitted."""
        answered = self.error is None and not self.skipped
        return answered and not self.rows and not self.quads and self.boolean is None

    def bindings(self) -> list[dict[str, Term]]:
        """The rows as mappings of what is bound."""
        return [
            {name: term for name, term in zip(self.variables, row, strict=True) if term is not None}
            for row in self.rows
        ]

    @property
    def table(self) -> Table:
        """The rows as a table."""
        return Table(self.variables, tuple(self.rows))

    @property
    def texts(self) -> pl.DataFrame:
        """What was emitted as columns of canonical N-Triples texts, without making terms.

        There is a column for each variable of a SELECT; `subject`, `predicate`, `object` and
        `graph` of a CONSTRUCT or DESCRIBE; and `boolean` of an ASK. Unbound is null.
        """
        if isinstance(self.rows, LazyRows) and self.rows.texts is not None:
            return self.rows.texts()
        return text_frame(self._columns())

    def to_polars(self) -> pl.DataFrame:
        """The columns of :attr:`texts` with typed values, as a Polars frame.

        A column whose terms all have one plain type has that type; any other column is text.
        """
        return typed_frame(self.texts)

    def to_arrow(self) -> pa.Table:
        """The same as an Arrow table."""
        return self.to_polars().to_arrow()

    def to_pandas(self) -> pd.DataFrame:
        """The same as a pandas frame."""
        return self.to_polars().to_pandas()

    def to_numpy(self) -> dict[str, np.ndarray[tuple[int], Any]]:
        """The same as NumPy arrays, by the names of the columns."""
        return {each.name: each.to_numpy() for each in self.to_polars().get_columns()}

    def _columns(self) -> Mapping[str, Sequence[Term | None]]:
        if self.boolean is not None:
            return {"boolean": [Literal(str(self.boolean).lower(), XSD_BOOLEAN)]}
        if self.quads:
            parts = ("subject", "predicate", "object", "graph")
            return {name: [getattr(quad, name) for quad in self.quads] for name in parts}
        return self.table.columns()
