"""The pipeline in this process, without Spark: the same files, commits and sinks."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Final

from headrace.pipeline.batches import Batches
from headrace.pipeline.decode import decoded
from headrace.pipeline.manifest import Manifest
from headrace.pipeline.panes import Pane
from headrace.pipeline.pieces import Piece, SourceLog, within
from headrace.pipeline.static import StaticPiece, encode_in_turn
from headrace.pipeline.streams import Sources
from headrace.timed_waits import wait_for_event

MOST_BYTES: Final = 32_000_000
"""So many bytes are read in a batch, or one piece: what is read of them takes many times more."""


class LocalRunner:
    """A deployment at work in this process, until its input ends or it is stopped."""

    def __init__(
        self,
        batches: Batches,
        sources: Sources,
        pieces_per_batch: int = 1,
        interval: float | None = None,
        log: SourceLog | None = None,
        rests: Callable[[], None] = lambda: None,
    ) -> None:
        """Make ready to run.

        Args:
            batches: what to run.
            sources: what to read.
            pieces_per_batch: how many pieces of files are read at a time.
            interval: seconds from look to look, for a run that goes on until it is stopped.
            log: what has been found so far, if it need not be read again.
            rests: called whenever all that was found has been read.
        """
        self.batches = batches
        self.sources = sources
        self.pieces_per_batch = pieces_per_batch or 1 << 30
        self.interval = interval
        self._log = log
        self._read = 0, 0
        self._rests = rests
        self._stopping = threading.Event()

    def stop(self) -> None:
        """End the run after the batch that is being worked on."""
        self._stopping.set()

    def encode(self, pieces: Sequence[StaticPiece]) -> None:
        """Have static data encoded."""
        encode_in_turn(pieces)

    @property
    def tasks(self) -> None:
        """Nobody else works on anything."""
        return

    def run(self) -> Manifest:
        """Run until the input ends, or until the run is stopped; the last manifest.

        Raises:
            HeadraceError: the run failed; the message says what to do.
        """
        last = self.read()
        ends = self.interval is None and not self._stopping.is_set()
        return self.batches.finish() if ends else last

    def read(self) -> Manifest:
        """Read what there is, or until the run is stopped, and close no window by it."""
        log = self._log
        if log is None:
            log = SourceLog(self.batches.layout.source_log, self.batches.last().pieces)
        if not self._stopping.is_set():
            self.sources.look(log, complete=self.interval is None)
        while not self._stopping.is_set():
            if self.step(log):
                continue
            if self.interval is None:
                break
            self.pass_time()
            self._rests()
            if not self.batches.last().is_behind:
                wait_for_event(self._stopping, self.interval)
            self.sources.look(log, complete=False)
        return self.batches.last()

    def step(self, log: SourceLog) -> bool:
        """Work on the next batch, if there is one."""
        last = self.batches.last()
        if last.pieces > self._read[1]:
            self._read = self._read[1], last.pieces
        # Should its manifest be damaged, the last batch is read again.
        log.forget(self._read[0])
        log.shorten()
        pieces = within(log.between(last.pieces, last.pieces + self.pieces_per_batch), MOST_BYTES)
        if pieces:
            offsets = sha256(f"{pieces[0].ordinal}-{pieces[-1].ordinal}".encode()).hexdigest()
            self.batches.process(
                last.batch + 1,
                offsets,
                self._decoder(pieces),
                reads_all=pieces[-1].ordinal + 1 == log.count,
            )
        return bool(pieces)

    def pass_time(self) -> bool:
        """Work on a batch that reads nothing, if one is due."""
        if not self.batches.is_due_without_input:
            return False
        batch = self.batches.last().batch + 1
        offsets = sha256(f"nothing in batch {batch}".encode()).hexdigest()
        self.batches.process(batch, offsets, list, reads_all=True)
        return True

    def _decoder(self, pieces: list[Piece]) -> Callable[[], list[Pane]]:
        decodings, keep = self.batches.setup.decodings, self.batches.keep
        return lambda: [decoded(piece, decodings, keep) for piece in pieces]
