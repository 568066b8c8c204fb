"""JSON that a deployment believes: with a format and a checksum, so that damage is found."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, Final

import xxhash

from headrace.errors import InternalError, MachineError
from headrace.pipeline.tables import damaged

FORMAT: Final = 1
"""Of the files of a deployment; another one cannot be gone on with."""


def sealed(record: object) -> bytes:
    """A record as a line of JSON that says how it was written and what its checksum is.

    >>> sealed({"id": "a"})
    b'{"format": 1, "checksum": "725192948591416d", "record": {"id": "a"}}'

    Args:
        record: a mapping, or a dataclass, of what JSON knows and of dataclasses.
    """
    text = json.dumps(record, default=_fields)
    checksum = xxhash.xxh3_64_hexdigest(text.encode())
    return f'{{"format": {FORMAT}, "checksum": "{checksum}", "record": {text}}}'.encode()


def read_record(path: Path) -> dict[str, Any]:
    """Read the record of a file.

    Raises:
        MachineError: it cannot be read, is not what was written, or is of another version.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise damaged(path, f"it cannot be read ({error.strerror})") from error
    return unsealed(content, path)


def _fields(record: object) -> dict[str, object]:
    if not is_dataclass(record):
        raise InternalError(f"a record has a {type(record).__name__}, which is not for JSON")
    return {each.name: getattr(record, each.name) for each in fields(record)}


def unsealed(content: bytes, path: Path, place: str = "it") -> dict[str, Any]:
    """The record in a line, if it is what was written to the last byte.

    Args:
        content: the line.
        path: the file in which it stands.
        place: what to call it there.

    Raises:
        MachineError: it is not, or was written by another version; the message says what to do.
    """
    try:
        found = json.loads(content)
        written, record = found["format"], found["record"]
    except (ValueError, TypeError, KeyError):
        raise damaged(path, f"{place} is not whole") from None
    if written != FORMAT:
        raise MachineError(
            f"{path} has format {written}, and this version of Headrace reads format {FORMAT}; go "
            "on with the version that wrote it, or start again in a new directory"
        )
    if sealed(record) != content:
        raise damaged(path, f"{place} is not what its checksum says")
    return dict(record)
