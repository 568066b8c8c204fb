"""A home for Spark from which workers start in half the time.

The home inside the package of PySpark has an archive of PySpark's sources, and Spark lets every
worker import from it. Python compiles what it imports from an archive again in each process: the
best part of a second, which a run pays several times before its first batch. A home without the
archive lets workers import the package itself, which is compiled.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Final

VARIABLE: Final = "SPARK_HOME"
_PARTS: Final = ("bin", "jars")
"""What Spark needs of its home to run on this machine."""


@contextmanager
def light_home(cache: Path) -> Iterator[None]:
    """Let Spark start from a home without the archive, unless the user has chosen one.

    Args:
        cache: where the home is kept; if it cannot be, Spark starts as it would anyway.
    """
    package = _package()
    if VARIABLE in os.environ or package is None:
        yield
        return
    with suppress(OSError):
        os.environ[VARIABLE] = str(_made(package, cache))
    try:
        yield
    finally:
        os.environ.pop(VARIABLE, None)


def _package() -> Path | None:
    """The folder of PySpark, if it brings all of Spark along."""
    found = find_spec("pyspark")
    if found is None or found.origin is None:
        return None
    folder = Path(found.origin).parent
    return folder if all((folder / part).is_dir() for part in _PARTS) else None


def _made(package: Path, cache: Path) -> Path:
    home = cache / f"spark-home-{sha256(os.fsencode(package)).hexdigest()[:16]}"
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    for part in _PARTS:
        with suppress(FileExistsError):  # perhaps by another process, just now
            (home / part).symlink_to(package / part)
    return home
