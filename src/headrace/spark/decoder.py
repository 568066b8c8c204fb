"""Has tasks decode pieces of files, some of them before the batch that wants them begins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Final

from pyspark.sql import SparkSession

from headrace.pipeline.decode import Decoding, decoded
from headrace.pipeline.following import LogFollower
from headrace.pipeline.panes import Pane
from headrace.pipeline.pieces import Piece
from headrace.spark.failures import translating

_TASK: Final = 4 << 20
"""So many bytes are worth a task of their own, and so are this many small files:"""
_FILES: Final = 64
_JOBS_AHEAD: Final = 2
"""So many jobs are begun before anyone asks for what they bring."""


def in_tasks(pieces: Sequence[Piece]) -> Iterator[list[Piece]]:
    """Pieces in order, small ones together: a task costs more than reading a few lines."""
    held: list[Piece] = []
    size = 0
    for piece in pieces:
        if held and (size + piece.stop - piece.start > _TASK or len(held) == _FILES):
            yield held
            held, size = [], 0
        held.append(piece)
        size += piece.stop - piece.start
    if held:
        yield held


def decode_task(pieces: Sequence[Piece], decodings: Mapping[str, Decoding]) -> list[Pane]:
    """The panes of some pieces."""
    return [decoded(piece, decodings) for piece in pieces]


class Decoder:
    """The panes of a source log, by the numbers of its pieces.

    While the driver works on a batch, cores are idle, and what the next batches read is known if
    the input is complete: its panes are made meanwhile. A pane does not depend on when it is made.
    """

    def __init__(
        self,
        spark: SparkSession,
        log: LogFollower,
        decodings: Mapping[str, Decoding],
        pieces_per_job: int,
        *,
        is_live: bool,
    ) -> None:
        """Begin with nothing.

        Args:
            spark: the session.
            log: the pieces.
            decodings: how each stream is read.
            pieces_per_job: how many pieces a job decodes at most.
            is_live: whether somebody waits for each batch, and will not for a job with one task.
        """
        self._spark = spark
        self._log = log
        self._decode = partial(decode_task, decodings=decodings)
        self._pieces_per_job = pieces_per_job
        self._is_live = is_live
        self._jobs: dict[int, Future[list[Pane]]] = {}
        self._begun = 0
        self._known = 0
        self._threads = ThreadPoolExecutor(1, "decode")  # so that jobs run in their order

    def look_ahead(self, first: int, known: int) -> None:
        """Decode pieces from a number on; all that are known have been written to the log."""
        self._known = known
        self._begin(first, first + _JOBS_AHEAD * self._pieces_per_job)

    def panes(self, first: int, stop: int) -> list[Pane]:
        """The panes of the pieces from a number up to another; each is asked for once, in order.

        Raises:
            HeadraceError: one of them cannot be made.
        """
        self._known = max(self._known, stop)
        self._begin(first, stop)
        jobs = dict.fromkeys(self._jobs.pop(number) for number in range(first, stop))
        self._begin(stop, stop + _JOBS_AHEAD * self._pieces_per_job)
        found = {pane.ordinal: pane for job in jobs for pane in job.result()}
        return [found[number] for number in range(first, stop)]

    def close(self) -> None:
        """Begin nothing more, and wait for what was begun."""
        self._threads.shutdown(cancel_futures=True)

    def _begin(self, first: int, stop: int) -> None:
        """Have pieces decoded up to a number, those that are known and not begun."""
        first, stop = max(first, self._begun), min(stop, self._known)
        while first < stop:
            end = min(first + self._pieces_per_job, stop)
            job = self._threads.submit(self._run, self._log.pieces(first, end))
            self._jobs |= dict.fromkeys(range(first, end), job)
            self._begun = first = end

    def _run(self, pieces: Sequence[Piece]) -> list[Pane]:
        tasks = list(in_tasks(pieces))
        if self._is_live and len(tasks) == 1:
            return self._decode(tasks[0])
        with translating():
            asked = self._spark.sparkContext.parallelize(tasks, len(tasks))
            return asked.flatMap(self._decode).collect()
