"""Ways to damage a file."""

from __future__ import annotations

from pathlib import Path


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def deleted(path: Path) -> None:
    path.unlink()


def flipped(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)


ALL = (truncated, emptied, deleted, flipped)


def named(choice: object) -> str:
    return getattr(choice, "__name__", str(choice))
