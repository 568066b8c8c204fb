"""Where a deployment keeps its files."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from headrace.durable import sync_directory
from headrace.errors import SettingError
from headrace.pipeline.faults import reach
from headrace.pipeline.tables import IDENTITY, private, unwritable


@dataclass(frozen=True, slots=True)
class Layout:
    """The directories of a deployment."""

    directory: Path

    @property
    def panes(self) -> Path:
        """What batches brought, one Arrow file for each piece of a source."""
        return self.directory / "panes"

    @property
    def memories(self) -> Path:
        """What kernels remember from step to step."""
        return self.directory / "memory"

    @property
    def results(self) -> Path:
        """What steps reported, until it is published."""
        return self.directory / "results"

    @property
    def manifests(self) -> Path:
        """The commits: a file is part of the deployment if and only if one of these names it."""
        return self.directory / "manifest"

    @property
    def logs(self) -> Path:
        """What came from sources that cannot be read again, one folder for each stream."""
        return self.directory / "logs"

    @property
    def static(self) -> Path:
        """Static data, encoded."""
        return self.directory / "static"

    @property
    def spark(self) -> Path:
        """Spark's own checkpoint."""
        return self.directory / "spark"

    @property
    def spark_began(self) -> bool:
        """Whether Spark has planned a batch."""
        return any(self.spark.glob("offsets/[0-9]*"))

    @property
    def topics(self) -> Path:
        """Which topics of Kafka are read, in which order."""
        return self.directory / "topics.json"

    @property
    def source_log(self) -> Path:
        """Which bytes of which files were given which ordinal."""
        return self.directory / "source.log"

    @property
    def tick(self) -> Path:
        """The number of a batch that Spark is asked for though there is nothing to read."""
        return self.directory / "tick"

    @property
    def identity(self) -> Path:
        """What the deployment must never forget."""
        return self.directory / IDENTITY

    @property
    def settled(self) -> Path:
        """Which commit has been published, if the last run ended well."""
        return self.directory / "settled.json"

    @property
    def committed(self) -> Path:
        """An empty file that says that there was a commit, so that a loss of all is noticed."""
        return self.directory / "committed"

    @property
    def folders(self) -> tuple[Path, ...]:
        """Those that every deployment has."""
        return (self.panes, self.memories, self.results, self.manifests)

    def make(self) -> None:
        """Make the directories that are missing, for the owner's eyes only.

        Raises:
            SettingError: this cannot be a directory of ours.
        """
        for each in (self.directory, *self.folders):
            try:
                each.mkdir(mode=0o700, parents=True, exist_ok=True)
            except OSError as error:
                raise SettingError(f"cannot use {each} as a checkpoint: {error.strerror}") from None


def create(path: Path, content: bytes) -> None:
    """Write a whole file durably, or fail because it is there: it never exists in part.

    Raises:
        FileExistsError: another writer was first.
        MachineError: there is no space for it.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with private(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        reach("manifest-drafted")
        os.link(draft, path)
        sync_directory(path.parent)
    except FileExistsError:
        raise
    except OSError as error:
        raise unwritable(path, error) from error
    finally:
        draft.unlink(missing_ok=True)
