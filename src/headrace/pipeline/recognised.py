"""Whether a file is the one that was read before, without reading it again.

What a file system says of a file (size, times, inode) is remembered beside a digest of what is in
it. That is the same again only if the content is, with one exception: a file may change twice
within one tick of the clock that its times are told by. So it is trusted only if the last change
was long over when the digest was begun; else the content is read again the next time.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final
from uuid import uuid4

import xxhash

from headrace.errors import DataError, MachineError, SettingError
from headrace.pipeline.records import sealed, unsealed
from headrace.pipeline.tables import private

TICK: Final = 3_000_000_000
"""No clock of a file system is coarser than these nanoseconds: that of FAT has two seconds."""
_BLOCK: Final = 1 << 22
_TRIES: Final = 5
_MOST: Final = 10_000
"""So many files are remembered; the first are forgotten first."""


@dataclass(frozen=True, slots=True)
class FileState:
    """What a file system says of a file. Nobody can set the time of the last alteration.

    Attributes:
        size: in bytes.
        changed: when its content was changed, as far as that was not set otherwise.
        altered: when anything about it was changed.
        inode: which file it is.
        device: and where.
    """

    size: int
    changed: int
    altered: int
    inode: int
    device: int

    @classmethod
    def of(cls, path: Path) -> FileState:
        """Ask for it.

        Raises:
            SettingError: there is no such file, or it cannot be read.
        """
        try:
            state = path.stat()
        except OSError as error:
            raise _unreadable(path, error) from None
        return cls(state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino, state.st_dev)

    def settled_at(self, now: int) -> bool:
        """Whether a change from now on would give it other times."""
        return now - max(self.changed, self.altered) > TICK


@dataclass(frozen=True, slots=True)
class Seen:
    """What a file held.

    Attributes:
        digest: of its content.
        state: before and after it was read.
        settled: whether the same state means the same content from then on.
    """

    digest: str
    state: FileState
    settled: bool


class Recognised:
    """Files that were read before, as a folder remembers them."""

    def __init__(self, folder: Path, seed: int, clock: Callable[[], int] = time.time_ns) -> None:
        """Use what a folder remembers.

        Args:
            folder: where.
            seed: of the digests, which nobody else should know.
            clock: the present in nanoseconds, by the clock of file systems.
        """
        self._path = folder / f"files-{xxhash.xxh3_64_hexdigest(str(seed).encode())}.json"
        self._seed = seed & (2**63 - 1)
        self._clock = clock
        self._known = self._remembered()

    def look(self, path: Path, *, anew: bool = False) -> Seen:
        """What is in a file: remembered if it is the same file, else read.

        Args:
            path: the file.
            anew: whether it is read in any case.

        Raises:
            SettingError: it cannot be read.
            DataError: it changes all the time.
        """
        place = str(path.resolve())
        for _ in range(_TRIES):
            state = FileState.of(path)
            known = self._known.get(place)
            if not anew and known is not None and known.state == state:
                return known
            began = self._clock()
            digest = self._digest(path)
            if FileState.of(path) == state:
                seen = Seen(digest, state, state.settled_at(began))
                if seen.settled:
                    self._remember(place, seen)
                return seen
        raise DataError("it changes while it is read; put it there when it is complete", str(path))

    def now(self) -> int:
        """The present, as it is compared with the times of files."""
        return self._clock()

    def _digest(self, path: Path) -> str:
        digest = xxhash.xxh3_128(seed=self._seed)
        block = bytearray(_BLOCK)
        try:
            with path.open("rb", buffering=0) as file:
                while size := file.readinto(block):
                    digest.update(memoryview(block)[:size])
        except OSError as error:
            raise _unreadable(path, error) from None
        return digest.hexdigest()

    def _remember(self, place: str, seen: Seen) -> None:
        self._known.pop(place, None)
        # Another process may have remembered other files since.
        self._known = {**self._remembered(), **self._known, place: seen}
        while len(self._known) > _MOST:
            self._known.pop(next(iter(self._known)))
        said = [[place, each.digest, asdict(each.state)] for place, each in self._known.items()]
        draft = self._path.with_suffix(f".{uuid4().hex}.draft")
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with private(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL) as file:
                file.write(sealed({"files": said}))
            draft.replace(self._path)
        except OSError:
            draft.unlink(missing_ok=True)  # then the file is read again the next time

    def _remembered(self) -> dict[str, Seen]:
        """What stands in the file; nothing if it is not as it was written."""
        try:
            said = unsealed(self._path.read_bytes(), self._path)
        except (OSError, MachineError):
            return {}
        return {
            place: Seen(digest, FileState(**state), settled=True)
            for place, digest, state in said["files"]
        }


def _unreadable(path: Path, error: OSError) -> SettingError:
    return SettingError(f"cannot read {path}: {error.strerror or os.strerror(error.errno or 0)}")
