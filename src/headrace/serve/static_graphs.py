"""Static graphs that clients write: a file for each, durable before a change is confirmed.

The index names the file of each graph with its checksum, and the files that may be deleted. A file
is a draft until the index names it, so a file that the index does not know belongs to another one.

Files that the server was started with can be read and not be written: they belong to the user.
"""

from __future__ import annotations

import logging
import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import xxhash

from headrace.errors import DamagedError, DataError
from headrace.pipeline.records import read_record, sealed
from headrace.pipeline.tables import private, unwritable
from headrace.rdf.files import content
from headrace.rdf.formats import Format, format_of_path
from headrace.rdf.options import FILE_LIMITS, ReadOptions
from headrace.rdf.reading import read
from headrace.rdf.scopes import Scope
from headrace.rdf.terms import Iri, Quad
from headrace.rdf.writing import to_ntriples
from headrace.serve.catalogue import replace_file
from headrace.serve.problems import Problem, place_of

LOGGER: Final = logging.getLogger("headrace.serve")
_MOST_TOLD: Final = 20


@dataclass(frozen=True, slots=True)
class Graph:
    """A static graph.

    Attributes:
        quads: its statements, each once.
        file: where they are stored; none if the server was started with them.
        checksum: of that file; none if an older version has written it.
    """

    quads: tuple[Quad, ...]
    file: str | None = None
    checksum: str | None = None

    def placed(self, name: str | None) -> Iterator[Quad]:
        """Return its statements with the name of the graph."""
        named = None if name is None else Iri(name)
        for quad in self.quads:
            yield Quad(quad.subject, quad.predicate, quad.object, named)


class StaticGraphs:
    """The static graphs of a server, by their names; no name is the default graph."""

    def __init__(
        self, folder: Path, files: Sequence[tuple[str | None, Path]], most_bytes: int
    ) -> None:
        """Read what is there.

        Args:
            folder: where those are kept that are written.
            files: those that the server is started with, with the names of their graphs.
            most_bytes: how much may be written.

        Raises:
            HeadraceError: a file cannot be read.
        """
        self._folder = folder
        self._index = folder / INDEX
        self._most_bytes = most_bytes
        self.version = 0
        self.graphs: dict[str | None, Graph] = {}
        for name, path in files:
            for graph, quads in _of_file(name, path).items():
                before = self.graphs.get(graph, Graph(()))
                self.graphs[graph] = Graph(tuple(dict.fromkeys((*before.quads, *quads))))
        self._removed: tuple[str, ...] = ()
        self._open()

    def _open(self) -> None:
        index = _checked_index(self._folder)
        if not self._index.exists():  # a later loss of all graphs is noticed by it
            write_empty_index(self._folder)
        self._removed = index.removed
        for name, file, checksum in index.graphs:
            if name not in self.graphs:
                self.graphs[name] = self._read(file, checksum)
        self._sweep()

    def _read(self, file: str, checksum: str | None) -> Graph:
        path = self._folder / file
        if not path.exists():  # the index was the last to be written
            try:
                _draft_of(path).replace(path)
            except OSError as error:
                raise unwritable(path, error) from error
        data = path.read_bytes()
        return Graph(tuple(read(data, Format.N_TRIPLES, options=_OPTIONS)), file, checksum)

    def __len__(self) -> int:
        """How many statements there are."""
        return sum(len(each.quads) for each in self.graphs.values())

    def all_quads(self) -> Iterable[Quad]:
        """All statements, with the names of their graphs."""
        for name, graph in self.graphs.items():
            yield from graph.placed(name)

    def is_given(self, name: str | None) -> bool:
        """Whether the server was started with a graph, so that it cannot be written."""
        graph = self.graphs.get(name)
        return graph is not None and graph.file is None

    def put(
        self,
        name: str | None,
        quads: Iterable[Quad] | None,
        apply: Callable[[str | None, Sequence[Quad]], None],
    ) -> bool:
        """Have statements in place of those of a graph, or remove it.

        Args:
            name: of the graph.
            quads: the statements; a graph may have none. Not given, the graph is removed.
            apply: makes queries see them.

        Returns:
            Whether there was such a graph before.

        Raises:
            Problem: 403 if it cannot be written, 413 if it is too much.
        """
        if self.is_given(name):
            raise Problem(
                403, "the server was started with this graph; change its file, and start it again"
            )
        known = self.graphs.get(name)
        plain = tuple(dict.fromkeys(Quad(q.subject, q.predicate, q.object) for q in quads or ()))
        others = {key: each for key, each in self.graphs.items() if key != name}
        new = others if quads is None else {**others, name: self._written(plain)}
        gone = () if known is None or known.file is None else (known.file,)
        self._save(new, (*self._removed, *gone))
        apply(name, plain)
        self.graphs = new
        self.version += 1
        self._sweep()
        return known is not None

    def _written(self, quads: Sequence[Quad]) -> Graph:
        text = to_ntriples(quads).encode()
        if self.size() + len(text) > self._most_bytes:
            raise Problem(413, f"static graphs may have {self._most_bytes:,} bytes in all")
        file = f"{secrets.token_hex(8)}{_SUFFIX}"
        path = _draft_of(self._folder / file)
        try:
            with private(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL) as out:
                out.write(text)
                out.flush()
                os.fsync(out.fileno())
        except OSError as error:
            raise unwritable(path, error) from error
        return Graph(tuple(quads), file, xxhash.xxh3_64_hexdigest(text))

    def size(self) -> int:
        """The bytes of what was written."""
        return sum(path.stat().st_size for path in self._folder.glob(f"*{_SUFFIX}"))

    def _save(self, graphs: dict[str | None, Graph], removed: tuple[str, ...]) -> None:
        named = [
            [name, each.file, each.checksum]
            for name, each in graphs.items()
            if each.file is not None
        ]
        left = [file for file in removed if (self._folder / file).exists()]
        replace_file(self._index, sealed({"graphs": named, "removed": left}))
        self._removed = tuple(left)
        for each in graphs.values():
            if each.file is not None and not (self._folder / each.file).exists():
                path = self._folder / each.file
                with suppress(OSError):  # the next opening does it
                    _draft_of(path).replace(path)

    def _sweep(self) -> None:
        """Delete files of graphs that were removed, and drafts that no index names."""
        used = {each.file for each in self.graphs.values()}
        drafts = self._folder.glob(f"*{_SUFFIX}{_DRAFT}")
        unused = [path for path in drafts if path.name.removesuffix(_DRAFT) not in used]
        for path in (*(self._folder / file for file in self._removed), *unused):
            try:
                path.unlink(missing_ok=True)
            except OSError as error:  # the index names it, and the next change tries it again
                LOGGER.warning("cannot delete %s, which nothing needs: %s", path, error.strerror)


@dataclass(frozen=True, slots=True)
class _Index:
    """The graphs with their files and checksums, and the files that may be deleted."""

    graphs: Sequence[tuple[str | None, str, str | None]] = ()
    removed: tuple[str, ...] = ()


def write_empty_index(folder: Path) -> None:
    """Write an index that names no graph.

    Raises:
        MachineError: it cannot be written.
    """
    replace_file(folder / INDEX, sealed({"graphs": [], "removed": []}))


def check_graphs(folder: Path) -> None:
    """Check the index of static graphs and the files that it names.

    Raises:
        DamagedError: one of them is missing or not what was written, or is of another index.
    """
    _checked_index(folder)


def _checked_index(folder: Path) -> _Index:
    path = folder / INDEX
    found = _Index()
    if path.exists():
        said = _read_index(path)
        # An older version has written no checksums.
        graphs = [(name, file, *(rest or [None])) for name, file, *rest in said["graphs"]]
        found = _Index(graphs, tuple(said.get("removed", ())))
    files = {each.name for each in folder.glob(f"*{_SUFFIX}")}
    known = {file for _, file, _ in found.graphs}
    unknown = sorted(files.difference(known, found.removed))
    if unknown:
        raise DamagedError(
            f"{path} does not name the graph in {unknown[0]}: it is missing or an older one; "
            "put it back from a backup, or move that file out of the folder"
        )
    for _, file, checksum in found.graphs:
        _check_file(folder / file, checksum)
    return found


def _read_index(path: Path) -> dict[str, Any]:
    """Read the record of an index, which nothing else has.

    Raises:
        MachineError: it cannot be read, is not what was written, or is of another version.
    """
    try:
        return read_record(path)
    except DamagedError as error:
        problem = str(error).partition("; ")[0]
        raise DamagedError(f"{problem}; put it back from a backup") from error


def _check_file(path: Path, checksum: str | None) -> None:
    try:
        data = (path if path.exists() else _draft_of(path)).read_bytes()
    except OSError as error:
        raise DamagedError(
            f"{path} cannot be read ({error.strerror}), and {INDEX} names it; put it back from a "
            "backup"
        ) from error
    if checksum is not None and xxhash.xxh3_64_hexdigest(data) != checksum:
        raise DamagedError(
            f"{path} is damaged: its checksum is not {checksum}; put it back from a backup"
        )


INDEX: Final = "index.json"
_SUFFIX: Final = ".nt"
_DRAFT: Final = ".draft"


def _draft_of(path: Path) -> Path:
    return path.with_name(path.name + _DRAFT)


_OPTIONS: Final = ReadOptions(limits=FILE_LIMITS)


def _of_file(name: str | None, path: Path) -> dict[str | None, list[Quad]]:
    """The statements of a file, by graph; those without a graph are of the one that it is for."""
    try:
        data = content(path)
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", str(path)) from None
    options = ReadOptions(base=path.resolve().as_uri(), limits=FILE_LIMITS)
    found: dict[str | None, list[Quad]] = {}
    for quad in read(data, format_of_path(path), name=str(path), options=options):
        graph = name if quad.graph is None else getattr(quad.graph, "value", None)
        found.setdefault(graph, []).append(Quad(quad.subject, quad.predicate, quad.object))
    return found


def read_graph(data: bytes, form: Format, base: str | None) -> list[Quad]:
    """The statements of a body.

    Raises:
        Problem: 400, with what is wrong and where.
    """
    problems: list[DataError] = []
    # Blank nodes of one body are never those of another one.
    scope = Scope(f"g{secrets.token_hex(6)}")
    options = ReadOptions(base=base)
    found = list(read(data, form, scope=scope, options=options, on_error=problems.append))
    if problems:
        raise Problem(
            400,
            problems[0].problem,
            title="wrong data",
            errors=[place_of(each) for each in problems[:_MOST_TOLD]],
        )
    return found
