"""The site has every page, every link leads somewhere, and what is generated is current."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from tools import cli_reference, pictures, python_reference

import headrace
from tests.documentation.pages import PAGES, name
from tests.shared import ROOT

LINK = re.compile(r"(?<!`)\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")


def listed(entries: object) -> Iterator[str]:
    """The pages of a navigation."""
    match entries:
        case str():
            yield entries
        case list():
            for each in entries:
                yield from listed(each)
        case dict():
            for each in entries.values():
                yield from listed(each)
        case _:
            raise TypeError(entries)


def test_every_page_is_in_the_navigation_once() -> None:
    nav = yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))["nav"]
    docs = ROOT / "docs"
    there = [each.relative_to(docs).as_posix() for each in PAGES if each.is_relative_to(docs)]
    assert sorted(listed(nav)) == sorted(there)


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_links_lead_to_files(path: Path) -> None:
    inside = ROOT / "docs" if path.is_relative_to(ROOT / "docs") else ROOT
    for target in LINK.findall(path.read_text("utf-8")):
        if "://" in target:
            continue
        found = (path.parent / target).resolve()
        assert found.exists(), f"{name(path)}: {target}"
        assert found.is_relative_to(inside), f"{name(path)}: {target} is no part of the site"


@pytest.mark.slow
def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    program = Path(sys.executable).with_name("zensical")
    done = subprocess.run(
        [program, "build", "--strict"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "build" / "site" / "tutorial" / "index.html").is_file()


def test_the_reference_of_commands_is_current() -> None:
    assert cli_reference.PAGE.read_text("utf-8") == cli_reference.page(), "make reference"


def test_the_reference_of_python_is_current_and_has_every_name() -> None:
    page = python_reference.PAGE.read_text("utf-8")
    assert page == python_reference.page(), "make reference"
    for each in headrace.__all__:
        assert each in page


@pytest.mark.parametrize("kind", list(python_reference.INNER))
def test_what_the_reference_leaves_out_is_there(kind: str) -> None:
    assert python_reference.INNER[kind] <= set(vars(getattr(headrace, kind)))


@pytest.mark.parametrize("picture", list(pictures.PICTURES))
def test_a_picture_is_current_and_shown(picture: str) -> None:
    drawn = pictures.PICTURES[picture]().svg()
    assert (pictures.FOLDER / picture).read_text("utf-8") == drawn, "make pictures"
    assert f"img/{picture}" in (ROOT / "docs" / "concepts.md").read_text("utf-8")
