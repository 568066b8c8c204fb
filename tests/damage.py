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


def first_flipped(path: Path) -> None:
    _flip(path, 0)


def last_flipped(path: Path) -> None:
    _flip(path, -1)


def _flip(path: Path, place: int) -> None:
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)


def zeroed(path: Path) -> None:
    path.write_bytes(bytes(path.stat().st_size))


def half_zeroed(path: Path) -> None:
    content = path.read_bytes()
    half = len(content) // 2
    path.write_bytes(content[:half] + bytes(len(content) - half))


def last_byte_lost(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def last_line_lost(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: content.rfind(b"\n", 0, -1) + 1])


def grown_by_zeros(path: Path) -> None:
    path.write_bytes(path.read_bytes() + bytes(100))


def grown_by_a_line(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b'{"x":1}\n')


def replaced_by_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


MORE = (
    first_flipped,
    last_flipped,
    zeroed,
    half_zeroed,
    last_byte_lost,
    last_line_lost,
    grown_by_zeros,
    grown_by_a_line,
    replaced_by_a_folder,
)


def named(choice: object) -> str:
    return getattr(choice, "__name__", str(choice))
