"""Reports as a directory of Parquet files, one for each batch that reported something.

Columns: `query`, `at` and `seq`; `windows`, a list of names with openings and closes; a column of
canonical N-Triples texts for each variable of any query of the run, in the order in which they
first appear; `empty`, whether a row stands for an evaluation that emitted nothing; `error`; and
`skipped`, whether it stands for an instant at which the query was not evaluated. The column of an
ASK is `boolean`, those of a CONSTRUCT or DESCRIBE are `subject`, `predicate`, `object` and `graph`;
a variable that is called like another column here keeps its question mark: `?at`.

A part is written under a name that readers pass over and then renamed, so that it is there as a
whole or not at all. A mark is the label of the last batch and how many parts there are.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import BinaryIO, Final

import polars as pl

from headrace.algebra.query import Form
from headrace.durable import claim, sync_directory
from headrace.errors import InternalError, MachineError, SettingError
from headrace.kernel.columns import INSTANT
from headrace.kernel.reports import Report, slices_of
from headrace.sinks.base import Mark
from headrace.sinks.files import claimed, put_written, unwritten
from headrace.sinks.frames import (
    EMPTY,
    ERROR,
    SKIPPED,
    bounds,
    emitted,
    names_of_all,
    term_columns,
)

_LABEL: Final = re.compile(r"([0-9]{1,10})(?:\.([a-z]+))?")
_PART: Final = re.compile(r"part-([0-9]{10})(?:_([a-z]+))?\.parquet")
_DRAFT: Final = re.compile(r"\.part-[^/]*\.draft")
_MARK: Final = re.compile(r"([0-9a-z.]+)/([0-9]+)")

_MOMENT: Final = pl.Datetime("us", "UTC")
_WINDOW: Final = pl.Struct({"name": pl.String(), "opens": _MOMENT, "closes": _MOMENT})
_WHEN: Final = {
    "query": pl.String(),
    "at": _MOMENT,
    "seq": pl.Int64(),
    "windows": pl.List(_WINDOW),
}
_WITHOUT_ROW: Final = (EMPTY, ERROR, SKIPPED)

Order = tuple[int, str]
"""The parts of a label, which stand in the order in which batches are written."""
_START: Final = (-1, "")


class ParquetSink:
    """A directory of parts."""

    def __init__(self, path: Path, forms: Mapping[str, Form]) -> None:
        """Open or make the directory, and leave what is in it until it is known where to begin.

        Raises:
            SettingError: it cannot be written, holds other tables, or another run writes it.
        """
        self._path = path
        self._forms = forms
        self._columns = names_of_all(forms.values(), (*_WHEN, *_WITHOUT_ROW))
        self._header = [*_WHEN, *self._columns.values(), *_WITHOUT_ROW]
        self._last: str | None = None
        self._parts: set[str] | None = None
        self._directory = _opened(path)

    def mark(self) -> Mark:
        """The label of the last batch, and the number of parts; none at the start."""
        parts = self._written()
        return None if self._last is None else f"{self._last}/{len(parts)}"

    def recover(self, mark: Mark) -> None:
        """Delete the parts of later batches, and what was to become one.

        Raises:
            MachineError: parts of earlier batches are missing, or parts cannot be deleted.
            SettingError: the mark is not one of a directory of parts, or they have other columns.
        """
        label, count = self._meant(mark)
        end = _START if label is None else _order(_LABEL, label)
        names = [each.name for each in self._path.iterdir()]
        parts = {name for name in names if _PART.fullmatch(name)}
        kept = {name for name in parts if _order(_PART, name) <= end}
        if len(kept) < count:
            raise MachineError(
                f"{self._path} has {len(kept)} parts up to batch {label}, and the run had written "
                f"{count}: results are missing; put them back, or start again in a new checkpoint "
                "directory"
            )
        if kept and list(pl.read_parquet_schema(self._path / max(kept))) != self._header:
            raise SettingError(
                f"{self._path} was begun with other columns than these queries have; choose "
                "another directory, or start again in a new checkpoint directory"
            )
        drafts = {name for name in names if _DRAFT.fullmatch(name)}
        try:
            for name in (parts - kept) | drafts:
                (self._path / name).unlink()
            sync_directory(self._path)
        except OSError as error:
            raise unwritten(self._path, error) from None
        self._last, self._parts = label, kept

    def write(self, label: str, reports: Sequence[Report]) -> None:
        """Write the part of a batch, if there is something to write."""
        found = map(self._table_of, slices_of(reports))
        tables = (table for table in found if table is not None)
        first, second = next(tables, None), next(tables, None)
        parts = self._written()
        if first is not None:
            name = _part_of(label)
            if second is None:
                put_written(self._path / name, first.write_parquet)
            else:
                every = chain((first, second), tables)
                put_written(self._path / name, partial(_write_groups, every))
            parts.add(name)
        self._last = label

    def close(self) -> None:
        """Let go of the directory."""
        os.close(self._directory)

    def _written(self) -> set[str]:
        if self._parts is None:
            raise InternalError(f"{self._path} is used before it is known where to begin")
        return self._parts

    def _meant(self, mark: Mark) -> tuple[str | None, int]:
        if not mark:
            return None, 0
        found = _MARK.fullmatch(str(mark))
        if found is None:
            raise SettingError(f"expected a batch as the mark of {self._path}, found '{mark}'")
        return found[1], int(found[2])

    def _table_of(self, reports: Sequence[Report]) -> pl.DataFrame | None:
        frames = [self._table(report) for report in reports if len(report)]
        return pl.concat(frames) if frames else None

    def _table(self, report: Report) -> pl.DataFrame:
        form = self._forms[report.query]
        lines = emitted(report, form)
        when = _when(report).select(pl.all().gather(lines[INSTANT]))
        places = {shown: name for name, shown in term_columns(form).items()}
        terms = [
            lines[places[shown]].alias(name)
            if shown in places
            else pl.repeat(None, lines.height, dtype=pl.String, eager=True).alias(name)
            for shown, name in self._columns.items()
        ]
        return when.with_columns(*terms, *(lines[name] for name in _WITHOUT_ROW))


def _write_groups(tables: Iterator[pl.DataFrame], file: BinaryIO) -> None:
    """Write tables one after the other, because they need not fit into memory together."""
    from pyarrow import parquet  # noqa: PLC0415  # seldom needed, and slow to load

    first = next(tables).to_arrow()
    with parquet.ParquetWriter(file, first.schema) as writer:
        writer.write_table(first)
        for table in tables:
            writer.write_table(table.to_arrow().cast(first.schema))


def _opened(path: Path) -> int:
    """A handle of a directory that holds parts, and nothing that could be taken for one."""
    if path.exists() and not path.is_dir():
        raise SettingError(f"cannot write {path}: it is a file, and parts need a directory")
    try:
        path.mkdir(exist_ok=True)
        sync_directory(path.parent)
        tables = sorted(each.name for each in path.glob("*.parquet"))
        handle = os.open(path, os.O_RDONLY)
    except OSError as error:
        raise SettingError(f"cannot write {path}: {error.strerror}") from None
    try:
        others = [name for name in tables if not _PART.fullmatch(name)]
        if others:
            raise SettingError(f"cannot write {path}: it holds '{others[0]}', which is not ours")
        claim(handle, claimed(path))
    except SettingError:
        os.close(handle)
        raise
    return handle


def _order(pattern: re.Pattern[str], text: str) -> Order:
    found = pattern.fullmatch(text)
    if found is None:
        raise InternalError(f"expected a batch as in '12' or '12.final', found '{text}'")
    return int(found[1]), found[2] or ""


def _part_of(label: str) -> str:
    """The name of a part; names sort as batches do.

    >>> _part_of("12"), _part_of("12.final")
    ('part-0000000012.parquet', 'part-0000000012_final.parquet')
    """
    number, suffix = _order(_LABEL, label)
    return f"part-{number:010}{suffix and '_'}{suffix}.parquet"


def _when(report: Report) -> pl.DataFrame:
    """Each evaluation of a report: its query, its instant, and its windows."""
    windows = [
        pl.struct(
            pl.lit(name).alias("name"),
            pl.lit(opens.cast(_MOMENT)).alias("opens"),
            pl.lit(closes.cast(_MOMENT)).alias("closes"),
        )
        for name, (opens, closes) in bounds(report).items()
    ]
    listed = pl.concat_list(windows) if windows else pl.lit([], pl.List(_WINDOW))
    frame = pl.DataFrame({"at": report.times, "seq": report.seqs})
    return frame.with_columns(pl.lit(report.query).alias("query"), listed.alias("windows")).select(
        pl.col(name).cast(kind) for name, kind in _WHEN.items()
    )
