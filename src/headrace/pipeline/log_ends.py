"""Ingest logs that have lost records which a deployment has read of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from headrace.ingest.log import segments_of
from headrace.ingest.log_repair import LostEnd, end_of_records
from headrace.pipeline.pieces import Piece, read_pieces


def lost_ends(source_log: Path, folders: Iterable[Path]) -> Iterator[LostEnd]:
    """Find the newest segment of each of some logs, if it is shorter than what was read of it.

    What is appended to such a segment would never be read.

    Raises:
        MachineError: the source log, or a segment, cannot be read.
    """
    wanted, newest = set(folders), dict[Path, Piece]()
    log = read_pieces(source_log)
    for piece in (*log.before, *log.pieces):
        path = Path(piece.path)
        known = newest.get(path.parent)
        if path.parent in wanted and (known is None or piece.path >= known.path):
            newest[path.parent] = piece
    for folder, piece in newest.items():
        path = Path(piece.path)
        goes_on = any(each.name > path.name for each in segments_of(folder))
        end = 0 if goes_on else end_of_records(path)
        if end < piece.stop and not goes_on:
            yield LostEnd(path, end, piece.stop)
