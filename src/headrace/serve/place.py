"""The files of a server: where each is, and whether they belong together."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from headrace.errors import DamagedError, SettingError
from headrace.ingest.log import segments_of
from headrace.ingest.log_repair import LostEnd, misplaced_folders
from headrace.pipeline.layout import Layout
from headrace.pipeline.log_ends import lost_ends
from headrace.pipeline.tables import (
    CATALOGUE,
    CATALOGUE_COPY,
    GRAPHS,
    IDENTITY,
    LOGS,
    SERVED,
    home_of,
)
from headrace.serve.catalogue import Catalogue, StreamEntry, checked_catalogue, read_catalogue
from headrace.serve.static_graphs import INDEX


@dataclass(frozen=True, slots=True)
class Place:
    """Where a server keeps things."""

    location: Path

    @property
    def deployment(self) -> Path:
        """The deployment: commits, panes, memory."""
        return self.location / SERVED

    @property
    def catalogue(self) -> Path:
        """Which streams and queries there are."""
        return self.location / CATALOGUE

    @property
    def catalogue_copy(self) -> Path:
        """The copy of the catalogue."""
        return self.location / CATALOGUE_COPY

    @property
    def results(self) -> Path:
        """The last evaluations of queries."""
        return self.location / "results.ndjson"

    @property
    def logs(self) -> Path:
        """What was pushed, a folder for each stream."""
        return self.location / LOGS

    @property
    def static(self) -> Path:
        """Static graphs that were written through the server."""
        return self.location / GRAPHS

    def log_of(self, entry: StreamEntry) -> Path:
        """The log of a stream."""
        return self.logs / entry.folder

    def open_catalogue(self) -> Catalogue:
        """Open the catalogue, and delete the logs of streams that were removed.

        Raises:
            MachineError: it is damaged, or is not the one that belongs to what is here.
        """
        self.check_catalogue()
        found = Catalogue(self.catalogue, self.catalogue_copy)
        for folder in found.removed:
            shutil.rmtree(self.logs / folder, ignore_errors=True)
        return found

    def check_catalogue(self) -> None:
        """Check that the catalogue is the one that belongs to what is here.

        Raises:
            MachineError: it is damaged, missing, or older than its copy or than the logs.
        """
        found = checked_catalogue(self.catalogue, self.catalogue_copy, is_new=self._is_new())
        known = {*(each.folder for each in found.streams), *found.removed}
        logs = self.logs.iterdir() if self.logs.is_dir() else ()
        unknown = sorted(each.name for each in logs if each.name not in known)
        if unknown:
            raise DamagedError(
                f"{self.catalogue} does not name the stream whose log is {self.logs / unknown[0]}: "
                "it is an older one; put back the newest, or move that folder out of the directory"
            )

    def check_graph_index(self) -> None:
        """Check that the index of static graphs is there if one was written.

        Raises:
            DamagedError: it is missing, and all static graphs with it.
        """
        if self.lacks_graph_index:
            raise DamagedError(
                f"{self.static / INDEX} is missing; put all of {self.static} back from a backup, "
                f"or let `headrace doctor --checkpoint {self.location} --repair` write an empty "
                "one, and write the static graphs again"
            )

    @property
    def lacks_graph_index(self) -> bool:
        """Test whether the index of static graphs was written and is missing."""
        found = read_catalogue(self.catalogue)
        return found is not None and found.has_graphs and not (self.static / INDEX).exists()

    def check_deployment(self) -> None:
        """Check that the deployment is there if streams were pushed to.

        Raises:
            DamagedError: it is missing, so that a new one would read all logs again.
        """
        identity = Layout(self.deployment).identity
        logs = self.logs.iterdir() if self.logs.is_dir() else ()
        if not identity.exists() and any(map(segments_of, logs)):
            raise DamagedError(
                f"{identity} is missing, and this directory has logs of streams: put it back from "
                "a backup with all of its folder, or start in an empty directory"
            )

    def check_logs(self, entries: Iterable[StreamEntry]) -> None:
        """Check that the logs of some streams have all that was read of them.

        Raises:
            DamagedError: one has lost its end, and what is appended now would not be read.
        """
        for lost in self.lost_ends(map(self.log_of, entries)):
            raise DamagedError(
                f"{lost.text()}; put the file back from a backup, or let `headrace doctor "
                f"--checkpoint {self.location} --repair` put a rejected record there"
            )

    def lost_ends(self, folders: Iterable[Path]) -> Iterator[LostEnd]:
        """Find the newest segment of each of some logs that has lost its end."""
        readable = (each for each in folders if not misplaced_folders(each))
        return lost_ends(Layout(self.deployment).source_log, readable)

    def _is_new(self) -> bool:
        """Whether nothing was ever pushed or evaluated here."""
        manifests = Layout(self.deployment).manifests
        logs = self.logs.iterdir() if self.logs.is_dir() else ()
        return not any(logs) and not any(manifests.glob("*.json"))

    def make(self) -> None:
        """Make the directories, for the owner's eyes only.

        Raises:
            SettingError: it cannot be done, or the location has other files.
        """
        self._check_location()
        for each in (self.location, self.logs, self.static):
            try:
                each.mkdir(mode=0o700, parents=True, exist_ok=True)
            except OSError as error:
                raise SettingError(f"cannot use {each}: {error.strerror}") from None

    def _check_location(self) -> None:
        """Check that the location is empty or the directory of a server.

        Raises:
            SettingError: it has other files only.
        """
        own = {*_OWN, self.results.name}
        try:
            names = {path.name for path in self.location.iterdir()}
        except OSError:  # it is not there yet, or making it says what is wrong
            return
        others = sorted(name for name in names if not name.startswith("."))
        if others and own.isdisjoint(names):
            raise SettingError(
                f"{self.location} has other files, such as '{others[0]}', and none of a server; "
                "choose an empty directory with --location"
            )


_OWN: Final = frozenset({SERVED, CATALOGUE, CATALOGUE_COPY, LOGS, GRAPHS})


def is_location(directory: Path) -> bool:
    """Whether a directory is that of a server."""
    is_checkpoint = (directory / IDENTITY).exists()
    return not is_checkpoint and home_of(Place(directory).deployment) == directory
