"""The Java libraries that Spark does not bring along: fetched once, and only as they were pinned.

They come from Maven Central, or from the mirror that HEADRACE_MAVEN_URL names (https, http or
file). Where they come from need not be trusted, because each must have the digest written here.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from http.client import HTTPException
from pathlib import Path
from typing import Final
from urllib.request import urlopen

from headrace.errors import MachineError

CENTRAL: Final = "https://repo1.maven.org/maven2"
MIRROR: Final = "HEADRACE_MAVEN_URL"
PATIENCE: Final = 60.0
"""So many seconds without a byte are too many."""


@dataclass(frozen=True, slots=True)
class Jar:
    """A library by its Maven coordinates, and the SHA-256 that its file must have."""

    group: str
    artifact: str
    version: str
    digest: str

    @property
    def name(self) -> str:
        """The name of its file."""
        return f"{self.artifact}-{self.version}.jar"

    @property
    def path(self) -> str:
        """Where it is in a Maven repository."""
        return f"{self.group.replace('.', '/')}/{self.artifact}/{self.version}/{self.name}"


# What else the connector needs, Spark has. Of the connector, 4.2.0 was the newest release on Maven
# Central when Spark 4.3 came out, and of the token provider 4.0.0; both were tried with Spark 4.3.
# Every client is configured through the token provider, though we ask for no tokens.
KAFKA: Final = (
    Jar(
        "org.apache.spark",
        "spark-sql-kafka-0-10_2.13",
        "4.2.0",
        "64539c45e5d39f7ddb747312c239f38f5208d08c1a0ddf7d70beb2fbd9373705",
    ),
    Jar(
        "org.apache.spark",
        "spark-token-provider-kafka-0-10_2.13",
        "4.0.0",
        "f2be3b76f9e6cbe63379d4e4e0dc14f59dbf056ae2ad16ff15ac108004c86767",
    ),
    Jar(
        "org.apache.kafka",
        "kafka-clients",
        "3.9.2",
        "014b4ef36884478a932641818b080c36a8f8e2e92dc771e800c9d2694f4f83d8",
    ),
    Jar(
        "org.apache.commons",
        "commons-pool2",
        "2.13.1",
        "f77a5060d6936a9144023584232f9de3f2248f1abfe156e9d31795f18770674f",
    ),
)


def kafka_jars(cache: Path) -> list[Path]:
    """The libraries with which Spark reads Kafka, for the setting `spark.jars`.

    Args:
        cache: where they are kept; what is there is not fetched again.

    Raises:
        MachineError: one is not there and cannot be fetched.
    """
    return fetch(KAFKA, cache)


def fetch(jars: Iterable[Jar], cache: Path) -> list[Path]:
    """The files of libraries in a folder, after fetching those that are missing or damaged.

    Raises:
        MachineError: one cannot be fetched, or is not what was pinned.
    """
    return [_fetched(jar, cache) for jar in jars]


def _fetched(jar: Jar, cache: Path) -> Path:
    file = cache / jar.name
    if file.exists() and _digest(file.read_bytes()) == jar.digest:
        return file
    url = f"{(os.environ.get(MIRROR) or CENTRAL).rstrip('/')}/{jar.path}"
    try:
        with urlopen(url, timeout=PATIENCE) as answer:
            content = answer.read()
    except (OSError, HTTPException, ValueError) as error:
        raise MachineError(f"cannot fetch {url}: {error}\n{_remedy(jar, file)}") from error
    if _digest(content) != jar.digest:
        raise MachineError(
            f"{url} is not the library it should be: its SHA-256 is {_digest(content)}, "
            f"and {jar.digest} was expected\n{_remedy(jar, file)}"
        )
    _keep(content, file)
    return file


def _remedy(jar: Jar, file: Path) -> str:
    return (
        f"set {MIRROR} to a Maven repository that this machine reaches, or get {jar.name} "
        f"({CENTRAL}/{jar.path}) elsewhere and put it at {file}"
    )


def _keep(content: bytes, file: Path) -> None:
    """Write a file at once: another process may be fetching it too."""
    draft = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        draft.write_bytes(content)
        draft.replace(file)
    except OSError as error:
        raise MachineError(f"cannot keep a library in {file.parent}: {error}") from error


def _digest(content: bytes) -> str:
    return sha256(content).hexdigest()
