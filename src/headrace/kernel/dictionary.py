"""Which term an id stands for, and what it is worth.

A dictionary never mixes two terms up: an id that two terms share is found when the second is
learnt, and is a loud error.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice
from typing import Final

import numpy as np
import polars as pl

from headrace.errors import DataError, InternalError
from headrace.kernel.budget import check_listing
from headrace.kernel.columns import ID, OBJECT, PREDICATE, QUADS, QUOTED, SUBJECT, TERMS, TEXT
from headrace.kernel.places import Places
from headrace.kernel.shelf import Shelves, has_quoted
from headrace.kernel.values import KIND, VALUES, Kind, values
from headrace.metering import current
from headrace.rdf.canonical import read_term
from headrace.rdf.ids import TermId, quoted_id, text_id, text_ids
from headrace.rdf.options import OnError, report
from headrace.rdf.terms import Quad, QuotedTriple, Term, canonical

_KNOWN: Final = pl.Schema({**TERMS, **VALUES})
_FEW: Final = 1_000
_MOST_RECENT: Final = 50_000
_MOST_NEW: Final = 2_000
"""Terms that come a few at a time wait until they are so many before they are put in order."""
_MANY: Final = 10
_WORTH_A_LOOK: Final = 10_000
_MOST_CHUNKS: Final = 8
"""With more of them, whoever takes rows of a frame first copies all of it."""
_SMALL: Final = 1_000
_MOST_SMALL: Final = 250
"""After so many appends of few terms, their texts are packed: each keeps kilobytes of its own."""


class Dictionary:
    """The terms that were seen: their ids, texts and values, and the parts of quoted triples."""

    def __init__(self, seed: int = 0) -> None:
        """Start with no terms; the seed is that of the deployment."""
        self.seed = seed
        self._known = _KNOWN.to_frame()
        self._lasting = 0
        self._small = 0
        self._standing = Places()
        self._quoted = QUOTED.to_frame()
        self._terms: dict[TermId, Term] = {}
        self._ids: dict[Term, TermId] = {}
        self._new: dict[TermId, str] = {}
        self._recent: dict[int, str] = {}
        self._made: set[TermId] = set()
        self._new_quoted: list[tuple[TermId, TermId, TermId, TermId]] = []
        self._shelves = Shelves()

    # -- encoding --------------------------------------------------------------------------

    def encode(self, term: Term) -> TermId:
        """The id of a term, learnt if it is new.

        Raises:
            DataError: another term has the same id.
        """
        found = self._ids.get(term)
        if found is not None:
            return found
        text = canonical(term)
        if isinstance(term, QuotedTriple):
            subject, predicate = self.encode(term.subject), self.encode(term.predicate)
            object_ = self.encode(term.object)
            identity = quoted_id(subject, predicate, object_, self.seed)
            self._new_quoted.append((identity, subject, predicate, object_))
        else:
            identity = text_id(text.encode(), self.seed)
        earlier = self._terms.setdefault(identity, term)
        if earlier != term:
            raise _collision(canonical(earlier), text)
        self._ids[term] = identity
        self._new[identity] = text
        return identity

    def encode_all(self, terms: Sequence[Term | None]) -> pl.Series:
        """The ids of many terms; what is unbound stays so."""
        encode, counted = self.encode, current().steps(terms)
        ids = [None if term is None else encode(term) for term in counted]
        return pl.Series(ID, ids, dtype=pl.Int64)

    def encode_texts(self, texts: Sequence[str]) -> pl.Series:
        """The ids of terms by their canonical texts, none of which is a quoted triple."""
        ids = text_ids([text.encode() for text in texts], self.seed)
        made = dict(zip(ids.tolist(), texts, strict=True))
        for identity in made.keys() - self._made:
            self._new[identity] = made[identity]
        self._made |= made.keys()
        return pl.Series(ID, ids)

    def encode_quads(self, quads: Iterable[Quad], on_error: OnError = None) -> pl.DataFrame:
        """Statements as columns of ids, each once; a null graph is the default graph.

        Who is told of errors keeps the other statements; else the first error is raised.
        """
        encode = self.encode
        rows = []
        for quad in quads:
            graph = quad.graph
            try:
                row = (
                    None if graph is None else encode(graph),
                    encode(quad.subject),
                    encode(quad.predicate),
                    encode(quad.object),
                )
            except DataError as error:
                report(error, on_error)
            else:
                rows.append(row)
        return pl.DataFrame(rows, schema=QUADS, orient="row").unique(maintain_order=True)

    def learn(self, terms: pl.DataFrame) -> None:
        """Add terms by id and text, of which some may be known; also what they are worth, if known.

        Raises:
            DataError: two different terms have the same id.
        """
        if set(VALUES) <= set(terms.columns):
            fresh = terms.select(*_KNOWN)
        elif terms.height <= _FEW and (few := _by_id(terms)) is not None:
            self.learn_texts(few)
            return
        else:
            fresh = pl.DataFrame([terms[name] for name in TERMS])
            if 0 < len(self._new) <= _FEW:
                fresh = self._with_new(fresh)
        self._flush()
        ordered = np.sort(fresh[ID].to_numpy())
        if (ordered[1:] == ordered[:-1]).any():
            fresh = fresh.unique(maintain_order=True)
            twice = fresh.filter(pl.col(ID).is_duplicated()).sort(ID, TEXT)
            if not twice.is_empty():
                raise _collision(*twice[TEXT].head(2))
        self._add(fresh)

    def learn_texts(self, texts: Mapping[int, str]) -> None:
        """Add terms by their ids, of which some may be known, and none is a quoted triple.

        Raises:
            DataError: two different terms have the same id.
        """
        if len(texts) > _FEW:
            columns = {ID: list(texts), TEXT: list(texts.values())}
            self.learn(pl.DataFrame(columns, schema=TERMS))
            return
        recent = self._recent
        pairs = zip(texts.items(), map(recent.get, texts), strict=True)
        new = {identity: text for (identity, text), earlier in pairs if earlier != text}
        for identity, text in new.items():
            if identity in recent:
                raise _collision(recent[identity], text)
        if new:
            self._add_few(new)

    def _add_few(self, new: dict[int, str]) -> None:
        ids = np.fromiter(new, np.int64, len(new))
        places = self._standing.of(ids)
        there = np.flatnonzero(places >= 0)
        texts = self._known[TEXT]
        # One by one, because to take several out of a column in pieces copies all of it.
        earlier = {int(ids[row]): texts[int(places[row])] for row in there.tolist()}
        for identity, text in new.items():
            known = earlier.get(identity) or self._new.setdefault(TermId(identity), text)
            if known != text:
                raise _collision(known, text)
        self._note(new)
        if len(self._new) > _MOST_NEW:
            self._flush()

    def _note(self, texts: dict[int, str]) -> None:
        """Have the texts of known terms at hand; the latest stay so longest."""
        recent = self._recent
        recent.update(texts)
        if len(recent) > _MOST_RECENT:
            self._recent = dict(islice(recent.items(), len(recent) // 2, None))

    def adopt(self, terms: pl.DataFrame) -> bool:
        """Know terms until others take their place, however long nothing refers to them.

        They are used where they are. Those that were adopted before may be forgotten now.

        Args:
            terms: with what they are worth, each once, in the order of their ids.

        Returns:
            Whether they last: with quoted triples among them, they are learnt as all others.

        Raises:
            DataError: two different terms have the same id.
        """
        self._flush()
        if has_quoted(terms):
            self._lasting = 0
            self.learn(terms)  # patterns look into them, and their parts are terms too
            return False
        were = self._known, self._standing, self._lasting
        self._known, self._lasting = terms.select(*_KNOWN), terms.height
        self._standing = Places(terms[ID].to_numpy())
        try:
            others = self._unknown(were[0])
        except DataError:
            self._known, self._standing, self._lasting = were
            raise
        self._append(others)
        return True

    @property
    def passing(self) -> int:
        """How many terms it knows that may be forgotten."""
        return self.known.height - self._lasting

    @property
    def most_passing(self) -> int:
        """The same, or more if terms came twice that still wait to be put in order."""
        return self._known.height + len(self._new) - self._lasting

    def knows(self, ids: pl.Series) -> bool:
        """Whether all terms of a column are known."""
        self._flush()
        return self._positions(ids).null_count() == ids.null_count()

    def shelve(self, name: str, terms: pl.DataFrame) -> None:
        """Have terms at hand, each with its own id and what it is worth, until asked for.

        Raises:
            DataError: two different terms have the same id.
        """
        if has_quoted(terms):
            self.learn(terms)  # patterns look into them
            return
        self._flush()
        self._unknown(terms)
        clash = self._shelves.put(name, terms)
        if clash is not None:
            raise _collision(*clash)

    def keep_shelves(self, names: Collection[str]) -> None:
        """Put all terms away but those under some names."""
        self._shelves.keep(names)

    def _fetch(self, ids: pl.Series) -> None:
        """Learn those of some terms that are only at hand."""
        if self._shelves.is_empty:
            return
        self._flush()
        missing = ids.filter(self._positions(ids).is_null()).drop_nulls().unique()
        if missing.len():
            self.learn(self._shelves.find(missing))

    def _with_new(self, fresh: pl.DataFrame) -> pl.DataFrame:
        """Terms together with the few that came one by one, so that all are added at once."""
        both = fresh.filter(pl.col(ID).is_in(list(self._new)))
        for identity, text in both.iter_rows():
            earlier = self._new.pop(identity, text)
            if earlier != text:
                raise _collision(earlier, text)
        new, self._new = self._new, {}
        own = pl.DataFrame({ID: list(new), TEXT: list(new.values())}, schema=TERMS)
        return pl.concat([own, fresh])

    def _add(self, fresh: pl.DataFrame) -> None:
        """Add terms whose ids differ from each other."""
        self._take(self._unknown(fresh))

    def _unknown(self, fresh: pl.DataFrame) -> pl.DataFrame:
        """Those of some terms that are not known; all others must be what is known by their ids."""
        if self._known.is_empty():
            return fresh
        places = self._positions(fresh[ID])
        if places.null_count() == fresh.height:
            return fresh
        rows = places.is_not_null().arg_true() if places.null_count() else None
        again = fresh if rows is None else fresh[rows]
        earlier = self._known[TEXT][places if rows is None else places[rows]]
        if not earlier.equals(again[TEXT]):
            different = earlier != again[TEXT]
            raise _collision(earlier.filter(different)[0], again[TEXT].filter(different)[0])
        return fresh.clear() if rows is None else fresh[places.is_null().arg_true()]

    def _take(self, new: pl.DataFrame) -> None:
        """Add terms that are not known."""
        if new.is_empty():
            return
        valued = new if KIND in new.columns else new.hstack(values(new[TEXT]))
        self._append(pl.DataFrame([valued[name] for name in _KNOWN]))
        quoted = np.flatnonzero(valued[KIND].to_numpy() == Kind.QUOTED)
        for text in valued[TEXT].gather(quoted) if quoted.size else ():
            self.encode(read_term(text))

    def _append(self, new: pl.DataFrame) -> None:
        if new.is_empty():
            return
        self._small += new.height < _SMALL
        self._standing.add(new[ID].to_numpy(), self._known.height)
        self._known = pl.concat([self._known, new]) if self._known.height else new
        if self._known.n_chunks() > _MOST_CHUNKS:
            # What stays is large, or mapped from a file: only the rest is copied.
            stays, rest = self._known[: self._lasting], self._known[self._lasting :].rechunk()
            if self._small > _MOST_SMALL:
                rest, self._small = _packed(rest), 0
            self._known = pl.concat([stays, rest]) if self._lasting else rest

    def _flush(self) -> None:
        """Put terms that came one by one with the others."""
        if self._new:
            new, self._new = self._new, {}
            frame = pl.DataFrame({ID: list(new), TEXT: list(new.values())}, schema=TERMS)
            self._add(frame)

    @property
    def known(self) -> pl.DataFrame:
        """All terms: id, text, kind, number and truth."""
        self._flush()
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
        passing = self.known[self._lasting :]
        known = passing.join(kept, on=ID, how="semi", maintain_order="left")
        self._quoted = self.quoted.join(kept, on=ID, how="semi", maintain_order="left")
        self._known = self._known[: self._lasting]
        self._standing.forget()
        self._terms, self._ids, self._made, self._recent = {}, {}, set(), {}
        self._append(known)

    # -- decoding --------------------------------------------------------------------------

    def _positions(self, ids: pl.Series) -> pl.Series:
        """Where the terms of a column stand; null for what is unbound or not known."""
        unbound = ids.null_count() > 0
        found = self._standing.of((ids.fill_null(0) if unbound else ids).to_numpy())
        if unbound:
            found[ids.is_null().to_numpy()] = -1
        positions = pl.Series(found)
        return positions.set(positions < 0, None) if (found < 0).any() else positions

    def _known_for(self, ids: pl.Series) -> pl.DataFrame:
        """All terms; in one piece if many are asked for, because to take from several is slow."""
        known = self.known
        if known.n_chunks() > 1 and _MANY * ids.len() > known.height:
            self._known = known = known.rechunk()
        return known

    def values_of(self, ids: pl.Series) -> pl.DataFrame:
        """Kind, number and truth of each id of a column; all null where it is unbound."""
        if ids.len() >= _WORTH_A_LOOK and ids[:_FEW].n_unique() < _FEW // 2:
            return self._values_by_distinct(ids)
        self._fetch(ids)
        known = self._known_for(ids)
        places = self._positions(ids)
        return pl.DataFrame([known[name].gather(places) for name in VALUES])

    def _values_by_distinct(self, ids: pl.Series) -> pl.DataFrame:
        """The same for a column with few different terms: each is looked up once."""
        distinct = ids.drop_nulls().unique().alias(ID)
        self._fetch(distinct)
        known, places = self.known, self._positions(distinct)
        worth = pl.DataFrame([distinct, *(known[name].gather(places) for name in VALUES)])
        column = ids.to_frame(ID)
        return column.join(worth, on=ID, how="left", maintain_order="left").drop(ID)

    def texts(self, ids: pl.Series) -> pl.Series:
        """The canonical forms of terms; an unbound value has none."""
        if ids.len() > _FEW:
            return self._texts(ids)
        wanted = ids.to_list()
        missing = {each for each in wanted if each not in self._recent} - {None}
        if missing:
            new = pl.Series(ID, list(missing), dtype=pl.Int64)
            self._note(dict(zip(new.to_list(), self._texts(new).to_list(), strict=True)))
        texts = [None if each is None else self._recent.get(each) for each in wanted]
        if texts.count(None) > wanted.count(None):  # some were forgotten for others
            return self._texts(ids)
        return pl.Series(TEXT, texts, dtype=pl.String)

    def few_texts(self, ids: Sequence[int]) -> list[str]:
        """The canonical forms of a few terms."""
        try:
            return [self._recent[each] for each in ids]
        except KeyError:  # some are not at hand
            return self.texts(pl.Series(ID, ids, dtype=pl.Int64)).to_list()

    def _texts(self, ids: pl.Series) -> pl.Series:
        self._fetch(ids)
        known = self._known_for(ids)
        places = self._positions(ids)
        if places.null_count() != ids.null_count():
            raise InternalError("a solution has a term that no dictionary holds")
        return known[TEXT].gather(places) if places.null_count() else known[TEXT][places]

    def texts_of(self, columns: Sequence[pl.Series]) -> list[pl.Series]:
        """The same for columns of the same length; of few rows, all are looked up at once."""
        height = columns[0].len() if columns else 0
        if len(columns) <= 1 or height > _FEW:
            return [self.texts(each).alias(each.name) for each in columns]
        every = self.texts(pl.concat([each.rename(ID) for each in columns]))
        return [
            every[place * height : (place + 1) * height].alias(each.name)
            for place, each in enumerate(columns)
        ]

    def terms(self, ids: pl.Series) -> list[Term | None]:
        """The terms of a column of ids; what is unbound is None."""
        check_listing(ids.len(), "terms")
        terms = self._terms
        wanted = ids.to_list()
        missing = list({identity for identity in wanted if identity not in terms} - {None})
        if missing:
            column = pl.Series(ID, missing, dtype=pl.Int64)
            meter = current()
            for identity, text in zip(missing, self.texts(column), strict=True):
                meter.step()
                terms[identity] = read_term(text)
        return [None if identity is None else terms[identity] for identity in wanted]


def _by_id(terms: pl.DataFrame) -> dict[int, str] | None:
    """The texts of terms by their ids, if no id is there twice and there are no quoted triples."""
    texts = dict(zip(terms[ID].to_list(), terms[TEXT].to_list(), strict=True))
    quoted = any(text.startswith("<<") for text in texts.values())  # patterns look into these
    return None if quoted or len(texts) < terms.height else texts


def _packed(terms: pl.DataFrame) -> pl.DataFrame:
    """Copy the texts of terms into one buffer of the size that they need.

    A column of Polars shares the buffers of all columns that it was put together from.
    """
    texts = terms[TEXT].to_arrow(compat_level=pl.CompatLevel.oldest())
    return terms.with_columns(pl.Series(TEXT, texts))


def in_id_order(terms: pl.DataFrame) -> pl.DataFrame:
    """Terms as an index looks them up: by their ids as unsigned numbers."""
    if terms[ID].reinterpret(signed=False).is_sorted():
        return terms
    return terms.sort(pl.col(ID).reinterpret(signed=False))


def _collision(one: str, other: str) -> DataError:
    return DataError(
        f"{one} and {other} have the same id; start again with a new deployment, "
        "which will have another seed"
    )
