"""Which term an id stands for."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from headrace.errors import DataError, InternalError
from headrace.kernel.columns import ID, TERMS, TEXT
from headrace.rdf.ids import text_id
from headrace.rdf.vocabulary import XSD_INTEGER


class Dictionary:
    """The terms that were seen, by id; ids that are not unique are a loud error."""

    def __init__(self, seed: int = 0) -> None:
        """Start with no terms; the seed is that of the deployment."""
        self.seed = seed
        self.known = TERMS.to_frame()

    def learn(self, terms: pl.DataFrame) -> None:
        """Add terms, of which some may be known.

        Raises:
            DataError: two different terms have the same id.
        """
        self.known = pl.concat([self.known, terms.select(*TERMS)]).unique(maintain_order=True)
        twice = self.known.filter(pl.col(ID).is_duplicated()).sort(ID, TEXT)
        if not twice.is_empty():
            one, other = twice[TEXT].head(2)
            raise DataError(
                f"{one} and {other} have the same id; start again with a new deployment, "
                "which will have another seed"
            )

    def forget_all_but(self, ids: Iterable[pl.Series]) -> None:
        """Drop the terms that nothing refers to any more."""
        used = pl.concat([series.rename(ID) for series in ids]).unique()
        self.known = self.known.join(used.to_frame(), on=ID, how="semi", maintain_order="left")

    def integers(self, numbers: pl.Series) -> pl.Series:
        """The ids of whole numbers, learnt on the way."""
        distinct = numbers.unique()
        texts = [f'"{number}"^^<{XSD_INTEGER}>' for number in distinct]
        ids = pl.Series(ID, [text_id(text.encode(), self.seed) for text in texts], dtype=pl.Int64)
        self.learn(pl.DataFrame({ID: ids, TEXT: texts}, schema=TERMS))
        return numbers.replace_strict(distinct, ids, return_dtype=pl.Int64)

    def texts(self, ids: pl.Series) -> pl.Series:
        """The canonical forms of terms; an unbound value has none."""
        known = self.known
        found = ids.replace_strict(known[ID], known[TEXT], default=None, return_dtype=pl.String)
        if found.null_count() != ids.null_count():
            raise InternalError("a solution has a term that no dictionary holds")
        return found
