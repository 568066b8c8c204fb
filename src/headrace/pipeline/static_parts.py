"""Static patterns whose solutions tasks find, each those of its part."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl

from headrace.algebra.expressions import Variable
from headrace.algebra.operators import Operator
from headrace.algebra.scope import possible
from headrace.kernel.budget import Budget
from headrace.kernel.columns import ID, TERMS, TEXT, column
from headrace.kernel.data import Data, Quads
from headrace.kernel.dictionary import Dictionary
from headrace.kernel.keeping import computed
from headrace.kernel.scan import BUCKETS, Share
from headrace.kernel.snapshot import evaluate
from headrace.kernel.solutions import complete
from headrace.kernel.surroundings import Surroundings
from headrace.pipeline.kept import map_columns, write_columns
from headrace.rdf.ids import TermId

MOST_PARTS: Final = BUCKETS


@dataclass(frozen=True, slots=True)
class StaticRequest:
    """What one part is asked.

    Attributes:
        operator: the pattern.
        default: the graphs that are the default graph.
        named: the named graphs that are seen.
        key: the variable by which it is cut.
        part: which part.
        parts: how many there are.
        seed: of the ids.
        rows: how many rows any step may make.
        quads: the file of the statements.
        terms: the file of their terms.
        folder: where to write what is found.
    """

    operator: Operator
    default: tuple[TermId | None, ...]
    named: tuple[TermId, ...] | None
    key: Variable
    part: int
    parts: int
    seed: int
    rows: int
    quads: str
    terms: str
    folder: str


@dataclass(frozen=True, slots=True)
class Tasks:
    """Who works on parts.

    Attributes:
        parts: how many at a time.
        work: has each request answered by a task of its own.
    """

    parts: int
    work: Callable[[Sequence[StaticRequest]], None]


def solve_part(request: StaticRequest) -> None:
    """Find the solutions of a part, and write them and the terms that are new."""
    worker = _worker(request.quads, request.terms, request.seed)
    share = Share(request.key, request.part, request.parts)
    around = Surroundings(
        worker.dictionary, budget=Budget(request.rows), share=share, precomputes=False
    )
    data = Data(worker.statements, request.default, request.named)
    found = evaluate(request.operator, data, around)
    frame = complete(found.frame, sorted(map(column, possible(request.operator))))
    columns, terms = _files(request)
    write_columns(terms, _terms(frame, request.operator, worker.dictionary))
    write_columns(columns, frame)


def read_parts(requests: Sequence[StaticRequest]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """What all parts have found, and the terms that are new."""
    files = [_files(request) for request in requests]
    frame = pl.concat([map_columns(columns) for columns, _ in files])
    return frame, pl.concat([map_columns(terms) for _, terms in files]).unique()


def _files(request: StaticRequest) -> tuple[Path, Path]:
    folder = Path(request.folder)
    return folder / f"{request.part}.arrow", folder / f"{request.part}-terms.arrow"


def _terms(frame: pl.DataFrame, operator: Operator, dictionary: Dictionary) -> pl.DataFrame:
    """The terms of columns that are computed, and may stand in no statement."""
    names = {column(each) for each in computed(operator)}
    ids = [frame[name].alias(ID) for name in frame.columns if name in names]
    if not ids:
        return TERMS.to_frame()
    every = pl.concat(ids).unique().drop_nulls()
    return pl.DataFrame([every, dictionary.texts(every).alias(TEXT)])


# -- in a worker -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Worker:
    """Static data where they lie."""

    statements: Quads
    dictionary: Dictionary


_workers: dict[tuple[str, str, int], _Worker] = {}


def _worker(quads: str, terms: str, seed: int) -> _Worker:
    key = (quads, terms, seed)
    if key not in _workers:
        _workers.clear()  # of another version
        dictionary = Dictionary(seed)
        dictionary.adopt(map_columns(Path(terms)))
        _workers[key] = _Worker(Quads(map_columns(Path(quads))), dictionary)
    return _workers[key]
