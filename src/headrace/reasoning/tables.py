"""The epsilon network as tables of ids: a batch is entailed by lookups of whole columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from headrace.rdf.ids import term_id
from headrace.rdf.terms import Iri, canonical
from headrace.rdf.vocabulary import RDF_PROPERTY, RDF_TYPE, RDFS_RESOURCE
from headrace.reasoning.effects import Effects
from headrace.reasoning.schema import Node

Ids: TypeAlias = npt.NDArray[np.int64]
Flags: TypeAlias = npt.NDArray[np.bool_]
IsLiteral: TypeAlias = Callable[[Ids], Flags]
"""Says of terms by id which are literals, which are no subjects."""

_FEW: Final = 4
"""So many keys are compared one by one; more are searched for."""
_ROW, _SUBJECT, _PREDICATE, _OBJECT = "row", "subject", "predicate", "object"
_NONE: Final = np.zeros(0, np.int64)


@dataclass(frozen=True, eq=False)
class Lookup:
    """What some ids lead to.

    Attributes:
        keys: those that lead to something, in order.
        starts: where what each leads to begins, and the end of all.
        values: what they lead to, key by key.
    """

    keys: Ids
    starts: Ids
    values: Ids

    @classmethod
    def of(cls, pairs: Iterable[tuple[int, int]]) -> Lookup:
        """The lookup of pairs of a key and a value."""
        table = np.array(sorted(set(pairs)), np.int64).reshape(-1, 2)
        keys, starts = np.unique(table[:, 0], return_index=True)
        ends = np.append(starts, table.shape[0])
        return cls(keys, ends.astype(np.int64), np.ascontiguousarray(table[:, 1]))

    def among(self, ids: Ids) -> Ids:
        """The rows whose id leads to something."""
        if self.keys.size == 0:
            return _NONE
        if self.keys.size <= _FEW:
            known = ids == self.keys[0]
            for key in self.keys[1:]:
                known |= ids == key
            return np.flatnonzero(known)
        return np.flatnonzero(self.keys[self._places(ids)] == ids)

    def __call__(self, ids: Ids) -> tuple[Ids, Ids]:
        """The rows whose id leads to something, once for each value, and the values.

        >>> [each.tolist() for each in Lookup.of([(3, 7), (3, 8)])(np.array([3, 4, 3]))]
        [[0, 0, 2, 2], [7, 8, 7, 8]]
        """
        rows = self.among(ids)
        if rows.size == 0:
            return _NONE, _NONE
        places = self._places(ids[rows])
        first, counts = self.starts[places], np.diff(self.starts)[places]
        before = np.cumsum(counts) - counts
        inside = np.arange(int(counts.sum())) - np.repeat(before, counts)
        return np.repeat(rows, counts), self.values[np.repeat(first, counts) + inside]

    def _places(self, ids: Ids) -> npt.NDArray[np.intp]:
        return np.minimum(np.searchsorted(self.keys, ids), self.keys.size - 1)


@dataclass(frozen=True, slots=True)
class Entailed:
    """Statements that follow from others.

    Attributes:
        rows: which statement each follows from, by its place.
        subjects: their subjects, by id.
        predicates: their predicates.
        objects: their objects.
    """

    rows: Ids
    subjects: Ids
    predicates: Ids
    objects: Ids

    def __len__(self) -> int:
        """How many there are."""
        return self.rows.size


@dataclass(frozen=True, eq=False)
class Tables:
    """What follows from statements, by the ids of a seed; a value that is shipped to tasks.

    Attributes:
        straight: from a predicate to those that hold of the same subject and object.
        around: to more of them, unless the object is a literal.
        swapped: to those that hold the other way round, unless the object is a literal.
        subjects: from a predicate to the classes of the subject.
        subjects_around: to more of them, unless the object is a literal.
        objects: to the classes of the object, unless that is a literal.
        classes: from a class to those above it.
        type_id: of rdf:type.
        recursive: whether what is entailed may entail more.
        resource: the id of rdfs:Resource, if everything is one.
        property_class: the id of rdf:Property, if every predicate is one.
        texts: of the terms that entailed statements may bring, by their ids.
    """

    straight: Lookup
    around: Lookup
    swapped: Lookup
    subjects: Lookup
    subjects_around: Lookup
    objects: Lookup
    classes: Lookup
    type_id: int
    recursive: bool
    resource: int | None
    property_class: int | None
    texts: Mapping[int, str]

    @cached_property
    def digest(self) -> str:
        """What tells these tables from others."""
        lookups = (*self._by_predicate, self.classes)
        shown = sha256(repr((self.recursive, self.resource, self.property_class)).encode())
        for lookup in lookups:
            for array in (lookup.keys, lookup.starts, lookup.values):
                shown.update(array.tobytes())
                shown.update(b"|")
        return shown.hexdigest()[:16]

    @cached_property
    def known(self) -> Ids:
        """The ids of the terms that entailed statements may bring."""
        return np.array(list(self.texts), np.int64)

    @property
    def _by_predicate(self) -> tuple[Lookup, ...]:
        direct = (self.straight, self.subjects)
        return (*direct, self.around, self.swapped, self.subjects_around, self.objects)

    @cached_property
    def _properties(self) -> Lookup:
        """The predicates from which something follows."""
        keys = np.unique(np.concatenate([each.keys for each in self._by_predicate]))
        return Lookup(keys, np.arange(keys.size + 1), keys)

    @cached_property
    def brought(self) -> Ids:
        """The ids of the predicates of entailed statements."""
        lookups = (self.straight, self.around, self.swapped)
        found = np.concatenate([each.values for each in lookups])
        return np.unique(np.append(found, self.type_id))

    def entailed(
        self, subjects: Ids, predicates: Ids, objects: Ids, is_literal: IsLiteral
    ) -> Entailed:
        """What follows from statements, which may hold what is stated, and the same twice.

        Args:
            subjects: of the statements, by id.
            predicates: of the statements.
            objects: of the statements.
            is_literal: says which objects cannot be subjects.
        """
        given = Entailed(np.arange(subjects.size), subjects, predicates, objects)
        if not self.recursive:
            return self._once(given, is_literal)
        return self._until_nothing_is_new(given, is_literal)

    def _once(self, given: Entailed, is_literal: IsLiteral) -> Entailed:
        """What follows in one step: tables lead to the end of all links."""
        parts = [
            *self._by_property(given, is_literal),
            self._by_class(given),
            *self._always(given, is_literal),
        ]
        found = [part for part in parts if len(part)]
        if len(found) == 1:
            return found[0]
        names = Entailed.__slots__
        return Entailed(
            *(np.concatenate([_NONE, *(getattr(each, name) for each in found)]) for name in names)
        )

    def _by_property(self, given: Entailed, is_literal: IsLiteral) -> list[Entailed]:
        rows = self._properties.among(given.predicates)
        if rows.size == 0:
            return []
        some = _chosen(given, rows)
        nodes = _Once(lambda: ~is_literal(some.objects))
        found = []
        for at, to in (self.straight(some.predicates), nodes.kept(self.around(some.predicates))):
            found.append(Entailed(some.rows[at], some.subjects[at], to, some.objects[at]))
        at, to = nodes.kept(self.swapped(some.predicates))
        found.append(Entailed(some.rows[at], some.objects[at], to, some.subjects[at]))
        around = nodes.kept(self.subjects_around(some.predicates))
        for at, to in (self.subjects(some.predicates), around):
            found.append(self._typed(some.rows[at], some.subjects[at], to))
        at, to = nodes.kept(self.objects(some.predicates))
        found.append(self._typed(some.rows[at], some.objects[at], to))
        return found

    def _by_class(self, given: Entailed) -> Entailed:
        if self.classes.keys.size == 0:
            return _NOTHING
        rows = np.flatnonzero(given.predicates == self.type_id)
        at, to = self.classes(given.objects[rows])
        return self._typed(given.rows[rows[at]], given.subjects[rows[at]], to)

    def _always(self, given: Entailed, is_literal: IsLiteral) -> list[Entailed]:
        """rdfs4a, rdfs4b and rdf1, if somebody asks."""
        found = []
        if self.resource is not None:
            nodes = np.flatnonzero(~is_literal(given.objects))
            for rows, terms in (
                (given.rows, given.subjects),
                (given.rows[nodes], given.objects[nodes]),
            ):
                found.append(self._typed(rows, terms, np.full(rows.size, self.resource)))
        if self.property_class is not None:
            classes = np.full(given.rows.size, self.property_class)
            found.append(self._typed(given.rows, given.predicates, classes))
        return found

    def _typed(self, rows: Ids, terms: Ids, classes: Ids) -> Entailed:
        return Entailed(rows, terms, np.full(rows.size, self.type_id), classes)

    def _until_nothing_is_new(self, given: Entailed, is_literal: IsLiteral) -> Entailed:
        new = _frame(given).unique(maintain_order=True)
        known, found = new, new.clear()
        while not new.is_empty():
            next_ones = self._once(_arrays(new), is_literal)
            new = _frame(next_ones).unique(maintain_order=True)
            new = new.join(known, on=new.columns, how="anti", maintain_order="left")
            known, found = pl.concat([known, new]), pl.concat([found, new])
        return _arrays(found)


_NOTHING: Final = Entailed(_NONE, _NONE, _NONE, _NONE)


class _Once:
    """Which rows have an object that may become a subject; looked at when first asked for."""

    def __init__(self, look: Callable[[], Flags]) -> None:
        self._look = look
        self._known: Flags | None = None

    def kept(self, found: tuple[Ids, Ids]) -> tuple[Ids, Ids]:
        """Those of what was looked up that are of such rows."""
        at, to = found
        if at.size == 0:
            return found
        if self._known is None:
            self._known = self._look()
        kept = self._known[at]
        return at[kept], to[kept]


def _chosen(given: Entailed, rows: Ids) -> Entailed:
    return Entailed(*(getattr(given, name)[rows] for name in Entailed.__slots__))


def _frame(given: Entailed) -> pl.DataFrame:
    names = (_ROW, _SUBJECT, _PREDICATE, _OBJECT)
    arrays = (getattr(given, name) for name in Entailed.__slots__)
    return pl.DataFrame(
        dict(zip(names, arrays, strict=True)), schema=dict.fromkeys(names, pl.Int64)
    )


def _arrays(frame: pl.DataFrame) -> Entailed:
    return Entailed(*(frame[name].to_numpy() for name in frame.columns))


def compiled(effects: Effects, seed: int) -> Tables | None:
    """The tables of some effects by the ids of a seed; None if nothing is entailed."""
    if effects.is_nothing:
        return None
    ids: dict[Node, int] = {}

    def id_of(node: Node) -> int:
        if node not in ids:
            ids[node] = term_id(node, seed)
        return ids[node]

    def lookup(table: Mapping[Node, tuple[Node, ...]]) -> Lookup:
        return Lookup.of(
            (id_of(one), id_of(each)) for one, others in table.items() for each in others
        )

    lookups = [
        lookup(each)
        for each in (
            effects.straight,
            effects.around,
            effects.swapped,
            effects.subjects,
            effects.subjects_around,
            effects.objects,
            effects.classes,
        )
    ]
    type_id = id_of(Iri(RDF_TYPE))
    resource = id_of(Iri(RDFS_RESOURCE)) if effects.resources else None
    property_class = id_of(Iri(RDF_PROPERTY)) if effects.predicates else None
    values = {int(each) for table in lookups for each in table.values}
    brought = values | {type_id, *(each for each in (resource, property_class) if each is not None)}
    texts = {number: canonical(node) for node, number in ids.items() if number in brought}
    straight, around, swapped, subjects, subjects_around, objects, classes = lookups
    return Tables(
        straight,
        around,
        swapped,
        subjects,
        subjects_around,
        objects,
        classes,
        type_id,
        effects.recursive,
        resource,
        property_class,
        texts,
    )
