"""Static data: files of RDF, encoded once, kept by their content, and read again when they change.

Encoding is cut into pieces that tasks can do side by side. What they find is kept in a folder that
is called after the content of the files, so that the next run, or a file that has been put back,
finds it there.
"""

from __future__ import annotations

import json
import mmap
import re
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final
from uuid import uuid4

import polars as pl
import xxhash

from headrace.durable import sync_directory
from headrace.errors import DataError, MachineError, SettingError
from headrace.kernel.columns import GRAPH, ID, QUADS, TERMS
from headrace.kernel.dictionary import Dictionary
from headrace.kernel.values import VALUES, values
from headrace.pipeline.cutting import PIECE, cut
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
_DONE: Final = "done.json"
_LOOK: Final = 1.0
"""Seconds from one look at the files to the next."""


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
    """Static data of one version: statements, and their terms with what they are worth."""

    version: str
    quads: pl.DataFrame
    terms: pl.DataFrame


class StaticFiles:
    """Files of static data, and what was in them when they were last looked at."""

    def __init__(
        self, files: Sequence[StaticFile], folder: Path, seed: int, encode: Encode | None = None
    ) -> None:
        """Keep what is encoded in a folder.

        Args:
            files: what is read.
            folder: where it is kept, encoded.
            seed: of the ids.
            encode: has pieces encoded; in this process if not given.
        """
        self.files = files
        self.folder = folder
        self.seed = seed
        self.encode: Encode = encode or encode_in_turn
        self.data: StaticData | None = None
        self.problem: str | None = None
        self._looked = float("-inf")
        self._states: object = None

    def current(self) -> StaticData:
        """What is in the files now; if they cannot be read any more, what was there before.

        Raises:
            SettingError: a file is missing at the first look.
            DataError: a file cannot be read at the first look.
        """
        now = time.monotonic()
        if self.data is not None and now - self._looked < _LOOK:
            return self.data
        self._looked = now
        try:
            states = [_state(each.path) for each in self.files]
            if self.data is None or states != self._states:
                self.data = self._loaded()
                self._states, self.problem = states, None
        except (DataError, SettingError, MachineError) as error:
            if self.data is None:
                raise
            self.problem = f"{error}; going on with what was there before"
        return self.data

    def _loaded(self) -> StaticData:
        if not self.files:
            return StaticData("none", QUADS.to_frame(), pl.DataFrame(schema={**TERMS, **VALUES}))
        version = self._version()
        if self.data is not None and self.data.version == version:
            return self.data
        folder = self.folder / version
        if not (folder / _DONE).exists():
            self._write(folder)
        quads = pl.read_parquet(sorted(folder.glob("quads-*.parquet")))
        terms = pl.read_parquet(sorted(folder.glob("terms-*.parquet")))
        return StaticData(
            version,
            quads.select(*QUADS).unique(maintain_order=True),
            _once(terms).select(*TERMS, *VALUES),
        )

    def _version(self) -> str:
        """What the content of all files is, in a word."""
        digest = xxhash.xxh3_128(seed=self.seed & (2**63 - 1))
        for each in self.files:
            digest.update(f"{each.graph}\0{each.path.name}\0".encode())
            try:
                with each.path.open("rb") as file:
                    while block := file.read(1 << 22):
                        digest.update(block)
            except OSError as error:
                raise SettingError(f"cannot read {each.path}: {error.strerror}") from None
        return digest.hexdigest()

    def _write(self, folder: Path) -> None:
        """Encode all files; the folder counts when the last file is there."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for left in folder.iterdir():
            left.unlink()
        pieces = [
            piece
            for number, each in enumerate(self.files)
            for piece in _pieces(each, number, self.seed, folder)
        ]
        self.encode(pieces)
        draft = folder / f".{_DONE}"
        draft.write_text(json.dumps([asdict(piece) for piece in pieces]))
        draft.replace(folder / _DONE)
        sync_directory(folder)


def encode_in_turn(pieces: Sequence[StaticPiece]) -> None:
    """Encode pieces in this process."""
    for piece in pieces:
        encode_piece(piece)


def _state(path: Path) -> tuple[int, int]:
    """What changes when a file changes."""
    try:
        state = path.stat()
    except OSError as error:
        raise SettingError(f"cannot read {path}: {error.strerror}") from None
    return state.st_mtime_ns, state.st_size


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
