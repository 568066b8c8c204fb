"""Packages of the npm registry, fetched by their checksums without node or npm."""

from __future__ import annotations

import base64
import hashlib
import os
import tarfile
import urllib.request
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from tests.shared import ROOT

CACHE = ROOT / ".browser"
REGISTRY = os.environ.get("NPM_CONFIG_REGISTRY", "https://registry.npmjs.org").rstrip("/")
PATIENCE = 120.0


class CannotInstallError(Exception):
    """Something is not here and cannot be brought here, and this is why."""


SAFELY: Final[dict[str, Any]] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
"""How archives are unpacked: Python before 3.11.4 has no filter. Digests are checked anyway."""


def unpacked(name: str, version: str, sha512: str, wanted: tuple[str, ...]) -> Path:
    """The folder with the wanted files of a package, fetched once."""
    folder = CACHE / f"{name.replace('/', '-').removeprefix('@')}-{version}"
    if folder.exists():
        return folder
    data = _fetched(name, version, sha512)
    CACHE.mkdir(exist_ok=True)
    with tarfile.open(fileobj=BytesIO(data)) as archive, TemporaryDirectory(dir=CACHE) as made:
        for member in wanted:
            archive.extract(f"package/{member}", made, **SAFELY)
        with suppress(OSError):  # another run was faster
            (Path(made) / "package").rename(folder)
    return folder


def _fetched(name: str, version: str, sha512: str) -> bytes:
    url = f"{REGISTRY}/{name}/-/{name.rpartition('/')[2]}-{version}.tgz"
    try:
        with urllib.request.urlopen(url, timeout=PATIENCE) as response:
            data: bytes = response.read()
    except OSError as error:
        raise CannotInstallError(f"{url}: {error}") from None
    found = base64.b64encode(hashlib.sha512(data).digest()).decode()
    if found != sha512:
        raise CannotInstallError(f"{url} is not what it was: {found}")
    return data
