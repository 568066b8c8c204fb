"""Reports of files, folders and patterns that a live run waits for, at growing intervals."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from headrace.diagnosis import Code, Note
from headrace.errors import HeadraceError
from headrace.pipeline.streams import Declared, files_of
from headrace.timed_waits import wait_for_event

FIRST: Final = 5.0
"""Seconds before the first report; each further one takes twice as long as the one before."""
_LONGEST: Final = 600.0
_LOOK: Final = 0.5


@dataclass
class MissingSources:
    """The file sources of a run that have no file yet.

    Attributes:
        waiting: the stream and the place of each source, with the seconds of its next report and
            of the wait after it.
    """

    waiting: dict[tuple[str, str], tuple[float, float]] = field(default_factory=dict)

    @classmethod
    def of(cls, sources: Mapping[str, Sequence[Declared]], now: float) -> MissingSources:
        """Collect the file sources of streams, at a moment in seconds."""
        places = [(iri, each.place) for iri, of in sources.items() for each in of if _is_file(each)]
        return cls(dict.fromkeys(places, (now + FIRST, 2 * FIRST)))

    def report_due(self, now: float) -> Iterator[str]:
        """Yield a message for each missing source whose next report is due."""
        for (iri, place), (due, wait) in list(self.waiting.items()):
            if _is_there(place):
                del self.waiting[iri, place]
            elif now >= due:
                self.waiting[iri, place] = (now + wait, min(2 * wait, _LONGEST))
                yield f"waiting for '{place}' of stream <{iri}>: {_describe(place)}"


def _is_file(source: Declared) -> bool:
    return source.kind == "file"


def is_absent(source: Declared) -> bool:
    """Whether a source is files, and there is none of them yet."""
    return _is_file(source) and not _is_there(source.place)


def is_absence(note: Note, sources: Mapping[str, Sequence[Declared]]) -> bool:
    """Whether a note says of a source that is waited for that nothing was read from it."""
    silent = sources.get(note.stream or "", ()) if note.code == Code.NO_ELEMENTS else ()
    return any(is_absent(source) for source in silent)


def _is_there(place: str) -> bool:
    try:
        return bool(files_of(place, there=False))
    except (HeadraceError, OSError):  # the run itself says what is wrong with it
        return True


def _describe(place: str) -> str:
    if Path(place).is_dir():
        return "there is no file with RDF in the folder yet"
    pattern = any(character in place for character in "*?[")
    return "no file has such a name yet" if pattern else "there is no such file or folder yet"


@contextmanager
def report_missing_sources(
    sources: Mapping[str, Sequence[Declared]],
    note: Callable[[str], None],
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[None]:
    """Report missing sources from a thread while a run goes on.

    Args:
        sources: those of each stream.
        note: shows a message to the user.
        clock: seconds that never go back.
    """
    absent, ended = MissingSources.of(sources, clock()), threading.Event()

    def look() -> None:
        while absent.waiting and not wait_for_event(ended, _LOOK):
            for text in absent.report_due(clock()):
                note(text)

    thread = threading.Thread(target=look, name="wait for sources", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
