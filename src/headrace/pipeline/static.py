"""Static data: files of RDF, encoded once, kept by their content, and read again when they change.

Encoding is cut into pieces that tasks can do side by side. What they find is kept by the content of
the files, so that the next run, or a file that has been put back, finds it there, and uses it where
it lies.
"""

from __future__ import annotations

import mmap
import re
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final
from uuid import uuid4

import polars as pl
import xxhash

from headrace.durable import os_errors
from headrace.errors import DataError, MachineError, SettingError
from headrace.kernel.columns import GRAPH, ID, PREDICATE, QUADS, TERMS
from headrace.kernel.data import Quads
from headrace.kernel.dictionary import Dictionary, in_id_order
from headrace.kernel.keeping import KeptTable
from headrace.kernel.values import VALUES, values
from headrace.pipeline.cutting import PIECE, cut
from headrace.pipeline.keeper import Cache, VersionKeeper, scratch, statements_of, terms_of
from headrace.pipeline.recognised import FileState, Recognised, Seen
from headrace.pipeline.static_parts import Tasks
from headrace.rdf.columns import read_timed_columns
from headrace.rdf.columns_lines import distinct_terms
from headrace.rdf.files import content
from headrace.rdf.formats import Format, format_of_path
from headrace.rdf.ids import term_id
from headrace.rdf.lines import with_newlines
from headrace.rdf.options import FILE_LIMITS, ReadOptions
from headrace.rdf.reading import read
from headrace.rdf.scopes import Scope
from headrace.rdf.terms import Iri, Quad

_COMMENT: Final = re.compile(rb"^[ \t]*#.*$", re.MULTILINE)
LOOK: Final = 1.0
"""Seconds from one look at the files to the next."""
_TRIES: Final = 5


@dataclass(frozen=True, slots=True)
class StaticFile:
    """A file of static data, and the graph that it is of; none is the default graph."""

    path: Path
    graph: str | None = None


@dataclass(frozen=True, slots=True)
class StaticPiece:
    """Some lines of a file, or all of it, on the way to the task that encodes them.

    Attributes:
        path: the file.
        graph: the graph that statements without one are of.
        start: where it begins there.
        stop: where it ends; none is the end of the file.
        scope: what its blank nodes are called after.
        seed: of the ids.
        folder: where to write what it says.
    """

    path: str
    graph: str | None
    start: int
    stop: int | None
    scope: str
    seed: int
    folder: str


Encode = Callable[[Sequence[StaticPiece]], None]
"""Has pieces encoded."""


def encode_piece(piece: StaticPiece) -> None:
    """Write what a piece says to two new files: statements, and their terms.

    Raises:
        DataError: it cannot be read.
    """
    statements, terms = _read(piece)
    graph = None if piece.graph is None else term_id(Iri(piece.graph), piece.seed)
    if graph is not None:
        statements = statements.with_columns(pl.col(GRAPH).fill_null(graph))
        named = pl.DataFrame([(graph, f"<{piece.graph}>")], schema=TERMS, orient="row")
        terms = distinct_terms(pl.concat([terms, named]))
    name = uuid4().hex
    folder = Path(piece.folder)
    with os_errors():
        statements.unique(maintain_order=True).write_parquet(folder / f"quads-{name}.parquet")
        terms.hstack(values(terms["text"])).write_parquet(folder / f"terms-{name}.parquet")


def _read(piece: StaticPiece) -> tuple[pl.DataFrame, pl.DataFrame]:
    path = Path(piece.path)
    form = format_of_path(path)
    try:
        if piece.stop is None:
            data = content(path)
        else:
            with path.open("rb") as file:
                file.seek(piece.start)
                data = file.read(piece.stop - piece.start)
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", piece.path) from None
    if form in (Format.N_TRIPLES, Format.N_QUADS):
        return _lines(data, piece)
    options = ReadOptions(base=path.resolve().as_uri(), limits=FILE_LIMITS)
    quads = read(data, form, name=piece.path, scope=Scope(piece.scope), options=options)
    return _encoded(quads, piece.seed)


def _lines(data: bytes, piece: StaticPiece) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Lines of N-Quads, by the reader of timed ones, which reads columns: all have one time."""
    # A byte order mark is one at the start of a file only.
    data = with_newlines(data) if piece.start == 0 else with_newlines(b"\n" + data)[1:]
    if b"#" in data:
        data = _COMMENT.sub(b"", data)
    timed = b"0\t" + data.removesuffix(b"\n").replace(b"\n", b"\n0\t")

    def bad(error: DataError) -> None:
        column = None if error.column is None else max(1, error.column - 2)
        line = error.line if piece.start == 0 else None
        raise DataError(error.problem, piece.path, line, column)

    found = read_timed_columns(
        timed, seed=piece.seed, prefix=piece.scope, per_stream=True, on_error=bad
    )
    return found.statements.select(*QUADS), found.terms.select(*TERMS)


def _encoded(quads: Iterable[Quad], seed: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    dictionary = Dictionary(seed)
    statements = dictionary.encode_quads(quads)
    return statements, dictionary.known.select(*TERMS)


@dataclass(frozen=True, slots=True)
class StaticData:
    """Static data of one version: statements, and their terms with what they are worth.

    Attributes:
        version: what tells it from any other.
        quads: the statements, each once; those with a predicate stand together.
        terms: their terms, each once, in the order of their ids.
        keeper: keeps what follows from them; none if nothing is kept.
    """

    version: str
    quads: pl.DataFrame
    terms: pl.DataFrame
    keeper: VersionKeeper | None = None

    def statements(self, *, lasting: bool = False) -> Quads:
        """The statements as patterns are matched against them.

        Args:
            lasting: whether a dictionary has adopted their terms.
        """
        return Quads(self.quads, keeper=self.keeper, lasting=lasting)


class StaticFiles:
    """Files of static data, and what was in them when they were last looked at."""

    def __init__(
        self,
        files: Sequence[StaticFile],
        folder: Path | Cache,
        seed: int,
        encode: Encode | None = None,
    ) -> None:
        """Keep what is encoded in a folder.

        Args:
            files: what is read.
            folder: where it is kept, encoded, with what follows from it.
            seed: of the ids.
            encode: has pieces encoded; in this process if not given.
        """
        self.files = files
        self.cache = folder if isinstance(folder, Cache) else Cache(folder)
        self.seed = seed
        self.encode: Encode = encode or encode_in_turn
        self.tasks: Tasks | None = None
        self.data: StaticData | None = None
        self.problem: str | None = None
        self._looked = float("-inf")
        self._recognised = Recognised(self.cache.folder, seed)
        self._seen: Sequence[Seen] = ()

    def current(self) -> StaticData:
        """What is in the files now; if they cannot be read any more, what was there before.

        Raises:
            SettingError: a file is missing at the first look.
            DataError: a file cannot be read at the first look.
        """
        now = time.monotonic()
        if self.data is not None and now - self._looked < LOOK:
            return self.data
        self._looked = now
        try:
            if self.data is None or self._may_differ():
                self.data = self._loaded()
                self.problem = None
        except (DataError, SettingError, MachineError) as error:
            if self.data is None:
                raise
            self.problem = f"{error}; going on with what was there before"
        return self.data

    def _may_differ(self) -> bool:
        """Whether a file is not the one that was read, or cannot be told from another yet."""
        states = [FileState.of(each.path) for each in self.files]
        if self.problem is not None or states != [each.state for each in self._seen]:
            return True
        now = self._recognised.now()
        return any(not each.settled and each.state.settled_at(now) for each in self._seen)

    def _loaded(self) -> StaticData:
        if not self.files:
            return StaticData("none", QUADS.to_frame(), pl.DataFrame(schema={**TERMS, **VALUES}))
        for _ in range(_TRIES):
            seen = [self._recognised.look(each.path) for each in self.files]
            version = self._version(seen)
            if self.data is not None and self.data.version == version:
                self._seen = seen
                return self.data
            found = self._kept(version)
            if found is None:
                found = self._encoded(seen, version)
            if found is not None:
                self._seen = seen
                earlier = self.data
                if earlier is not None and earlier.keeper is not None and found.keeper is not None:
                    found.keeper.follow(earlier.statements())
                return found
        where = str(self.files[0].path)
        raise DataError("it, or another static file, changes while it is read", where)

    def _version(self, seen: Sequence[Seen]) -> str:
        """What the content of all files is, in a word."""
        digest = xxhash.xxh3_128(seed=self.seed & (2**63 - 1))
        for each, known in zip(self.files, seen, strict=True):
            digest.update(f"{each.graph}\0{each.path.name}\0{known.digest}\0".encode())
        return digest.hexdigest()

    def _kept(self, version: str) -> StaticData | None:
        quads = self.cache.tables.get(statements_of(version))
        terms = self.cache.tables.get(terms_of(version))
        return None if quads is None or terms is None else self._data(version, quads, terms)

    def _data(self, version: str, quads: KeptTable, terms: KeptTable) -> StaticData:
        keeper = VersionKeeper(self.cache, version, self.seed, quads, terms)
        keeper.tasks = self.tasks
        return StaticData(version, quads.frame, terms.frame, keeper)

    def _encoded(self, seen: Sequence[Seen], version: str) -> StaticData | None:
        """Encode all files, and keep what they say; nothing if they were changed meanwhile."""
        with scratch(self.cache.folder) as folder:
            pieces = [
                piece
                for number, each in enumerate(self.files)
                for piece in _pieces(each, number, self.seed, folder)
            ]
            self.encode(pieces)
            if not self._is_as_it_was(seen):
                return None
            quads = pl.read_parquet(sorted(folder.glob("quads-*.parquet"))).select(*QUADS)
            quads = quads.unique(maintain_order=True).sort(PREDICATE, maintain_order=True)
            kept_quads = self.cache.tables.put(statements_of(version), quads)
            del quads
            terms = _once(pl.read_parquet(sorted(folder.glob("terms-*.parquet"))))
            terms = in_id_order(terms.select(*TERMS, *VALUES))
            kept_terms = self.cache.tables.put(terms_of(version), terms)
        return self._data(version, kept_quads, kept_terms)

    def _is_as_it_was(self, seen: Sequence[Seen]) -> bool:
        """Whether no file was changed since it was looked at."""
        for each, known in zip(self.files, seen, strict=True):
            if FileState.of(each.path) != known.state:
                return False
            again = known if known.settled else self._recognised.look(each.path, anew=True)
            if again.digest != known.digest:
                return False
        return True


def encode_in_turn(pieces: Sequence[StaticPiece]) -> None:
    """Encode pieces in this process."""
    for piece in pieces:
        encode_piece(piece)


def _pieces(file: StaticFile, number: int, seed: int, folder: Path) -> list[StaticPiece]:
    path, scope = str(file.path), f"f{number + 1}"
    form = format_of_path(file.path)
    size = file.path.stat().st_size
    in_lines = form in (Format.N_TRIPLES, Format.N_QUADS) and file.path.suffix.lower() != ".gz"
    if not in_lines or size <= PIECE:
        return [StaticPiece(path, file.graph, 0, None, scope, seed, str(folder))]
    with (
        file.path.open("rb") as opened,
        mmap.mmap(opened.fileno(), size, access=mmap.ACCESS_READ) as data,
    ):
        ends = cut(data, PIECE, form)
    return [
        StaticPiece(path, file.graph, start, stop, scope, seed, str(folder))
        for start, stop in pairwise([0, *ends])
    ]


def _once(terms: pl.DataFrame) -> pl.DataFrame:
    """Each term once.

    Raises:
        DataError: two different terms have the same id.
    """
    once = terms.unique(subset=[*TERMS], maintain_order=True)
    if once[ID].n_unique() < once.height:
        distinct_terms(once.select(*TERMS))
    return once
