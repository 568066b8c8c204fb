"""The parser of a dialect, from its grammar files, kept on disk once it has been built.

Building the tables takes a quarter of a second, loading them a tenth of that: the difference
between a command that answers at once and one that does not.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from contextlib import suppress
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final

import lark
from lark import Lark

from headrace.dialects.lexer import SparqlLexer
from headrace.version import __version__

_PRIVATE: Final = 0o700


@cache
def parser(grammar: tuple[str, ...]) -> Lark:
    """The parser for the rules of some grammar files together."""
    kept = _kept(_text(grammar))
    found = None if kept is None else _loaded(kept)
    if found is not None:
        return found
    built = build(grammar)
    if kept is not None:
        _keep(built, kept)
    return built


def build(grammar: tuple[str, ...]) -> Lark:
    """The same, built from its rules."""
    return Lark(_text(grammar), parser="lalr", lexer=SparqlLexer, maybe_placeholders=True)


def _text(grammar: tuple[str, ...]) -> str:
    folder = files("headrace.dialects").joinpath("grammar")
    return "\n".join(folder.joinpath(f"{name}.lark").read_text("utf-8") for name in grammar)


def _kept(text: str) -> Path | None:
    """Where the tables of a grammar are kept: a folder that only this user can write."""
    home = os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()
    folder = Path(home) / "headrace"
    try:
        folder.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
        status = folder.stat()
    except (OSError, RuntimeError):
        return None
    if status.st_uid != os.getuid() or status.st_mode & 0o022:
        return None
    versions = (__version__, lark.__version__, sys.version)
    digest = hashlib.blake2b("\0".join((text, *versions)).encode(), digest_size=12).hexdigest()
    return folder / f"grammar-{digest}"


def _loaded(path: Path) -> Lark | None:
    """The kept tables; a file that is missing or damaged is as good as none."""
    try:
        with path.open("rb") as file:
            return Lark.load(file)
    except Exception:  # noqa: BLE001 - whatever is wrong with the file, building anew mends it
        return None


def _keep(built: Lark, path: Path) -> None:
    """Write the tables whole or not at all; a full or read-only disk costs only time."""
    with suppress(OSError):
        descriptor, temporary = tempfile.mkstemp(dir=path.parent)
        try:
            with os.fdopen(descriptor, "wb") as file:
                built.save(file)
            Path(temporary).replace(path)
        except OSError:
            Path(temporary).unlink(missing_ok=True)
