"""Which term an id stands for, and what it is worth.

A dictionary never mixes two terms up: an id that two terms share is found when the second is
learnt, and is a loud error.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import polars as pl

from headrace.errors import DataError, InternalError
from headrace.kernel.columns import ID, OBJECT, PREDICATE, QUADS, QUOTED, SUBJECT, TERMS, TEXT
from headrace.kernel.texts import read_term
from headrace.kernel.values import VALUES, values
from headrace.rdf.ids import TermId, quoted_id, text_id
from headrace.rdf.terms import Quad, QuotedTriple, Term, canonical

KNOWN = pl.Schema({**TERMS, **VALUES})


class Dictionary:
    """The terms that were seen: their ids, texts and values, and the parts of quoted triples."""

    def __init__(self, seed: int = 0) -> None:
        """Start with no terms; the seed is that of the deployment."""
        self.seed = seed
        self._known = KNOWN.to_frame()
        self._quoted = QUOTED.to_frame()
        self._terms: dict[TermId, Term] = {}
        self._ids: dict[Term, TermId] = {}
        self._new: dict[TermId, str] = {}
        self._new_quoted: list[tuple[TermId, TermId, TermId, TermId]] = []

    # -- encoding --------------------------------------------------------------------------

    def encode(self, term: Term) -> TermId:
        """The id of a term, learnt if it is new.

        Raises:
            DataError: another term has the same id.
        """
        found = self._ids.get(term)
        if found is not None:
            return found
        if isinstance(term, QuotedTriple):
            subject, predicate = self.encode(term.subject), self.encode(term.predicate)
            object_ = self.encode(term.object)
            identity = quoted_id(subject, predicate, object_, self.seed)
            self._new_quoted.append((identity, subject, predicate, object_))
        else:
            identity = text_id(canonical(term).encode(), self.seed)
        earlier = self._terms.setdefault(identity, term)
        if earlier != term:
            raise _collision(canonical(earlier), canonical(term))
        self._ids[term] = identity
        self._new[identity] = canonical(term)
        return identity

    def encode_all(self, terms: Sequence[Term | None]) -> pl.Series:
        """The ids of many terms; what is unbound stays so."""
        encode = self.encode
        return pl.Series(
            ID, [None if term is None else encode(term) for term in terms], dtype=pl.Int64
        )

    def encode_quads(self, quads: Iterable[Quad]) -> pl.DataFrame:
        """Statements as columns of ids, each once; a null graph is the default graph."""
        encode = self.encode
        rows = [
            (
                None if quad.graph is None else encode(quad.graph),
                encode(quad.subject),
                encode(quad.predicate),
                encode(quad.object),
            )
            for quad in quads
        ]
        return pl.DataFrame(rows, schema=QUADS, orient="row").unique(maintain_order=True)

    def learn(self, terms: pl.DataFrame) -> None:
        """Add terms by id and text, of which some may be known.

        Raises:
            DataError: two different terms have the same id.
        """
        fresh = terms.select(*TERMS).unique(maintain_order=True)
        both = fresh.join(self.known.select(*TERMS), on=ID, how="inner")
        differing = both.filter(pl.col(TEXT) != pl.col(f"{TEXT}_right"))
        twice = fresh.filter(pl.col(ID).is_duplicated()).sort(ID, TEXT)
        if not differing.is_empty():
            raise _collision(*differing.select(f"{TEXT}_right", TEXT).row(0))
        if not twice.is_empty():
            raise _collision(*twice[TEXT].head(2))
        new = fresh.join(self.known, on=ID, how="anti", maintain_order="left")
        self._known = pl.concat([self._known, new.hstack(values(new[TEXT]))])
        for text in new.filter(pl.col(TEXT).str.starts_with("<<"))[TEXT]:
            self.encode(read_term(text))

    @property
    def known(self) -> pl.DataFrame:
        """All terms: id, text, kind, number and truth."""
        if self._new:
            new = pl.DataFrame(
                {ID: list(self._new), TEXT: list(self._new.values())}, schema=TERMS
            ).join(self._known, on=ID, how="anti", maintain_order="left")
            self._new = {}
            self._known = pl.concat([self._known, new.hstack(values(new[TEXT]))])
        return self._known

    @property
    def quoted(self) -> pl.DataFrame:
        """The parts of all quoted triples, by id."""
        if self._new_quoted:
            new = pl.DataFrame(self._new_quoted, schema=QUOTED, orient="row")
            self._quoted = pl.concat([self._quoted, new]).unique(maintain_order=True)
            self._new_quoted = []
        return self._quoted

    def forget_all_but(self, ids: Iterable[pl.Series]) -> None:
        """Drop the terms that nothing refers to any more."""
        used = pl.concat([series.rename(ID) for series in ids]).unique().to_frame()
        kept = used
        quoted = self.quoted.join(used, on=ID, how="semi")
        while not quoted.is_empty():
            parts = pl.concat([quoted[name].rename(ID) for name in (SUBJECT, PREDICATE, OBJECT)])
            new = parts.unique().to_frame().join(kept, on=ID, how="anti")
            kept = pl.concat([kept, new])
            quoted = self.quoted.join(new, on=ID, how="semi")
        self._known = self.known.join(kept, on=ID, how="semi", maintain_order="left")
        self._quoted = self.quoted.join(kept, on=ID, how="semi", maintain_order="left")
        self._terms, self._ids = {}, {}

    # -- decoding --------------------------------------------------------------------------

    def values_of(self, ids: pl.Series) -> pl.DataFrame:
        """Kind, number and truth of each id of a column; all null where it is unbound."""
        frame = ids.rename(ID).to_frame()
        return frame.join(
            self.known.select(ID, *VALUES), on=ID, how="left", maintain_order="left"
        ).drop(ID)

    def texts(self, ids: pl.Series) -> pl.Series:
        """The canonical forms of terms; an unbound value has none."""
        frame = ids.rename(ID).to_frame()
        found = frame.join(self.known.select(*TERMS), on=ID, how="left", maintain_order="left")
        if found[TEXT].null_count() != ids.null_count():
            raise InternalError("a solution has a term that no dictionary holds")
        return found[TEXT]

    def terms(self, ids: pl.Series) -> list[Term | None]:
        """The terms of a column of ids; what is unbound is None."""
        distinct = ids.drop_nulls().unique()
        missing = [identity for identity in distinct.to_list() if identity not in self._terms]
        if missing:
            column = pl.Series(ID, missing, dtype=pl.Int64)
            for identity, text in zip(missing, self.texts(column), strict=True):
                self._terms[identity] = read_term(text)
        terms = self._terms
        return [None if identity is None else terms[identity] for identity in ids.to_list()]


def _collision(one: str, other: str) -> DataError:
    return DataError(
        f"{one} and {other} have the same id; start again with a new deployment, "
        "which will have another seed"
    )
