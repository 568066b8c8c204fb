"""A sample of the predicates of static files, for plans that are made before the files are loaded.

Plans are made before static data are encoded, which may take minutes. What is put together in a
plan follows from an expectation only, for which a sample is enough.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Final

from headrace.errors import DataError
from headrace.rdf.files import content
from headrace.rdf.formats import Format, format_of_path
from headrace.rdf.options import FILE_LIMITS, ReadOptions
from headrace.rdf.reading import read
from headrace.rdf.scopes import Scope
from headrace.rdf.terms import Iri, Quad
from headrace.rewrite.sources import KnownPredicates

_STATEMENTS: Final = 20_000
"""The most statements of one file in the sample."""
_BYTES: Final = 4 << 20
"""The most bytes of one file of lines in the sample; larger files of other formats are left out."""


def sample_predicates(files: Sequence[tuple[str | None, Path]]) -> KnownPredicates:
    """Read the beginnings of static files; loading them reports what cannot be read.

    Args:
        files: each with the name of the graph of its statements, if it has one.
    """
    found: set[tuple[Iri | None, Iri]] = set()
    is_all = True
    for name, path in files:
        whole = False
        with suppress(DataError, OSError):
            data, is_whole = _beginning(path)
            options = ReadOptions(base=path.resolve().as_uri(), limits=FILE_LIMITS)
            statements = read(
                data, format_of_path(path), name=str(path), scope=Scope("sample"), options=options
            )
            graph = None if name is None else Iri(name)
            count = _collect(islice(statements, _STATEMENTS), graph, found)
            whole = is_whole and count < _STATEMENTS
        is_all = is_all and whole
    return KnownPredicates(frozenset(found), is_all)


def _beginning(path: Path) -> tuple[bytes, bool]:
    """Read the beginning of a file, and return whether it is the whole file."""
    in_lines = format_of_path(path) in {Format.N_TRIPLES, Format.N_QUADS}
    if path.stat().st_size <= _BYTES:
        data = content(path)  # unpacked, if it is packed
        if len(data) <= _BYTES:
            return data, True
    elif in_lines and path.suffix.lower() != ".gz":
        with path.open("rb") as file:
            data = file.read(_BYTES)
    else:
        return b"", False
    return (data[:_BYTES].rpartition(b"\n")[0] + b"\n" if in_lines else b""), False


def _collect(
    statements: Iterable[Quad], graph: Iri | None, found: set[tuple[Iri | None, Iri]]
) -> int:
    count = 0
    for quad in statements:
        count += 1
        if isinstance(quad.predicate, Iri):
            own = quad.graph if isinstance(quad.graph, Iri) else graph
            found.add((own, quad.predicate))
    return count
