"""The reporter of notes: each is reported once, and again only after it was resolved."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from headrace.diagnosis.note import Note, NoteKey


class NoteReporter:
    """A reporter of notes: once each, after they have been true for a while."""

    def __init__(
        self, report: Callable[[Note], object], clock: Callable[[], float], grace: float
    ) -> None:
        """Begin with no notes.

        Args:
            report: called with each new note.
            clock: seconds of a clock that never goes back.
            grace: for how many seconds a note must be true before it is reported.
        """
        self._report = report
        self._clock = clock
        self._grace = grace
        self._since: dict[NoteKey, float] = {}
        self._reported: set[NoteKey] = set()

    def update(self, notes: Iterable[Note]) -> None:
        """Compare with the notes that are true now, and report the new ones."""
        now = self._clock()
        current = {note.key: note for note in notes}
        self._since = {key: self._since.get(key, now) for key in current}
        self._reported &= current.keys()
        for key, note in current.items():
            if key not in self._reported and now - self._since[key] >= self._grace:
                self._reported.add(key)
                self._report(note)
