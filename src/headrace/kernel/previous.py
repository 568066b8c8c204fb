"""What the next answer of a query is compared with, made only when somebody asks for it."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from headrace.algebra.reporting import Emit
from headrace.kernel.emission import changes
from headrace.kernel.evaluation import Around, lasting_answers
from headrace.kernel.incremental import Matched
from headrace.metering import UNLIMITED, metered


@dataclass(slots=True)
class Previous:
    """The last answer of a query.

    Attributes:
        rows: each solution once with how often it is there, once that is known; none if there was
            no answer.
        told: the matches whose answers it is, where it follows from them.
        around: how answers are made of them.
    """

    rows: pl.DataFrame | None = None
    told: Matched | None = None
    around: Around | None = None

    def answer(self) -> pl.DataFrame | None:
        """The answer; none if there was none."""
        if self.rows is None and self.told is not None and self.around is not None:
            [matches] = self.told.found.values()
            # It was allowed when it was told; who asks now must not be refused.
            with metered(UNLIMITED):
                rows = lasting_answers(self.told, matches, self.around)
            _, self.rows = changes(rows, 1, Emit.ISTREAM, None)
        return self.rows
