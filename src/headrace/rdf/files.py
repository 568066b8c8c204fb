"""The content of a file, compressed or not."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

from headrace.errors import DataError
from headrace.rdf.options import FILE_LIMITS, Limits


def content(path: Path, limits: Limits = FILE_LIMITS) -> bytes:
    """The bytes of a file; the limit on size is for what a compressed one contains.

    Raises:
        DataError: if it is too large, or is not what its name says.
        OSError: if it cannot be read at all.
    """
    most = -1 if limits.size is None else limits.size + 1
    try:
        with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as file:
            data = file.read(most)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"expected a file compressed by gzip: {error}", str(path)) from None
    if limits.size is not None and len(data) > limits.size:
        raise DataError(f"expected at most {limits.size:,} bytes, found more", str(path))
    return data
