"""Figures stand on the pages of figures, beside commands that exist; what pages name is there."""

from __future__ import annotations

import argparse
import ast
import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from typer.testing import CliRunner

from headrace.cli import app
from tests.documentation.pages import PAGES, name
from tests.shared import ROOT

OTHERS = ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md")
ALL_PAGES = sorted([*PAGES, *(ROOT / each for each in OTHERS)])
SOURCES = ROOT / "src" / "headrace"
PAPERS = ROOT / "docs" / "papers"
FIGURES = (ROOT / "docs" / "performance.md", ROOT / "docs" / "walk.md", *PAPERS.glob("*.md"))
"""The pages that may have measured figures."""

FENCED = re.compile(r"^ *(`{3,}).*?^ *\1 *$", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"`([^`\n]+)`")
BENCH = re.compile(r"headrace bench(?: ([a-z]+)(.*))?$")
MEASURED = re.compile(r"\b\d[\d,.]* (?:ms|microseconds|triples/s|offers/s)\b|\b\d[\d.]*x\b")
"""Durations of less than a second, rates and ratios: what pages say of measurements, not limits."""
PATH = re.compile(r"(?:tests|benchmarks|tools|examples|src|console|docs)/[\w./*-]+")
MODULE = re.compile(r"(?:headrace\.)?([a-z_]+(?:\.\w+)+)")
FILE = re.compile(r"(?:[a-z_]+/)+(?:[a-z_*]+\.py)?")


def prose(page: Path) -> str:
    """Leave out the snippets of a page; other tests try them."""
    return FENCED.sub("", page.read_text("utf-8"))


def sections(text: str) -> Iterator[str]:
    """Cut a page before each heading of the second level."""
    yield from re.split(r"^(?=## )", text, flags=re.MULTILINE)


# -- benchmarks ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Command:
    """A benchmark and its options, as a page has them."""

    page: str
    benchmark: str
    options: tuple[str, ...]

    def __str__(self) -> str:
        """The page, and what is typed."""
        return f"{self.page}: {' '.join([self.benchmark, *self.options])}"


def options_of(text: str) -> tuple[str, ...]:
    """Split what stands behind the name of a benchmark.

    >>> options_of(' --judge FILE ... --queries "6a early"')
    ('--judge', 'FILE', '--queries', '6a early')
    """
    return tuple(word for word in shlex.split(text) if word != "...")


def commands_of(page: Path) -> Iterator[Command]:
    """List the benchmarks that a page names, and the options in sections about one of them."""
    for section in sections(prose(page)):
        heading = section.partition("\n")[0]
        about = [found[1] for each in CODE.findall(heading) if (found := BENCH.match(each))]
        for code in CODE.findall(section):
            found = BENCH.match(code)
            if found is not None and found[1]:
                yield Command(name(page), found[1], options_of(found[2]))
            elif code.startswith("--") and about:
                yield Command(name(page), about[0], options_of(code))


COMMANDS = list(dict.fromkeys(each for page in ALL_PAGES for each in commands_of(page)))


class UnderstoodError(Exception):
    """The parser of a benchmark has taken its options: nothing is measured."""


def run(command: Command, monkeypatch: pytest.MonkeyPatch) -> tuple[BaseException | None, str]:
    """Run a benchmark by the command line until its own parser has read the options."""
    parse = argparse.ArgumentParser.parse_args
    parse_known = argparse.ArgumentParser.parse_known_args

    def parsed(self: argparse.ArgumentParser, args: Sequence[str] | None = None) -> None:
        with monkeypatch.context() as whole:  # what is unknown is an error here
            whole.setattr(argparse.ArgumentParser, "parse_known_args", parse_known)
            parse(self, args)
        raise UnderstoodError

    def parsed_in_part(self: argparse.ArgumentParser, args: Sequence[str] | None = None) -> None:
        parse_known(self, args)
        raise UnderstoodError

    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", parsed)
    monkeypatch.setattr(argparse.ArgumentParser, "parse_known_args", parsed_in_part)
    monkeypatch.setattr(sys, "argv", sys.argv)
    monkeypatch.setattr(sys, "path", [*sys.path])
    done = CliRunner().invoke(app, ["bench", command.benchmark, *command.options])
    return done.exception, done.output


@pytest.mark.parametrize("command", COMMANDS, ids=str)
def test_a_benchmark_takes_the_options_that_a_page_gives_it(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    error, said = run(command, monkeypatch)
    assert isinstance(error, UnderstoodError), f"{command}\n{said}"


@pytest.mark.parametrize(
    "command",
    [Command("", "windows", ("--sizes", "huge")), Command("", "nothing", ())],
    ids=["an option", "a benchmark"],
)
def test_what_no_benchmark_takes_is_found(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    error, _ = run(command, monkeypatch)
    assert isinstance(error, SystemExit)


def test_pages_name_benchmarks() -> None:
    assert {each.benchmark for each in COMMANDS} == {
        each.stem for each in (ROOT / "benchmarks").glob("[a-z]*.py")
    }


# -- figures ------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", sorted(set(ALL_PAGES) - set(FIGURES)), ids=name)
def test_measured_figures_stand_on_the_pages_of_figures(page: Path) -> None:
    text = re.sub(CODE, "", prose(page))
    assert not MEASURED.findall(text), f"{name(page)}: say it on a page of figures, and link to it"


@pytest.mark.parametrize("page", FIGURES, ids=name)
def test_a_section_with_figures_names_the_command_that_prints_them(page: Path) -> None:
    text = prose(page)
    for section in sections(text):
        if MEASURED.search(re.sub(CODE, "", section)):
            named = any((found := BENCH.match(each)) and found[1] for each in CODE.findall(section))
            heading = section.partition("\n")[0]
            assert named or "`make walk`" in text, f"{name(page)}: {heading}"


# -- what pages name ------------------------------------------------------------------------------


@pytest.mark.parametrize("page", ALL_PAGES, ids=name)
def test_files_that_a_page_names_are_there(page: Path) -> None:
    for code in CODE.findall(prose(page)):
        if PATH.fullmatch(code) and not code.startswith("docs/*"):
            assert list(ROOT.glob(code.rstrip("/"))), f"{name(page)}: {code}"


@cache
def functions_of_tests() -> frozenset[str]:
    """List the names of all tests."""
    return frozenset(
        found
        for file in (ROOT / "tests").rglob("*.py")
        for found in re.findall(r"def (test_\w+)", file.read_text("utf-8"))
    )


@pytest.mark.parametrize("page", ALL_PAGES, ids=name)
def test_tests_that_a_page_names_are_there(page: Path) -> None:
    for code in CODE.findall(prose(page)):
        if re.fullmatch(r"test_\w+", code):
            assert code in functions_of_tests(), f"{name(page)}: {code}"
        elif re.fullmatch(r"test_\w+\.py", code):
            assert list((ROOT / "tests").rglob(code)), f"{name(page)}: {code}"


def module_of(parts: Sequence[str]) -> tuple[Path, Sequence[str]]:
    """Find the module that a dotted name begins with, and what is left of the name."""
    place = SOURCES
    for number, part in enumerate(parts):
        if (place / part).is_dir():
            place /= part
        elif (place / f"{part}.py").is_file():
            return place / f"{part}.py", parts[number + 1 :]
        else:
            return place / "__init__.py", parts[number:]
    return place / "__init__.py", ()


@cache
def names_in(module: Path) -> frozenset[str]:
    """List what a module defines or imports, with what its classes define."""
    found = set[str]()
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        match node:
            case ast.FunctionDef() | ast.ClassDef() | ast.AsyncFunctionDef():
                found.add(node.name)
            case ast.alias():
                found.add(node.asname or node.name)
            case ast.Name(ctx=ast.Store()):
                found.add(node.id)
            case _:
                pass
    return frozenset(found)


@pytest.mark.parametrize("page", ALL_PAGES, ids=name)
def test_modules_that_a_page_names_are_there(page: Path) -> None:
    packages = {each.name for each in SOURCES.iterdir() if each.is_dir()} - {"spark"}
    for code in CODE.findall(prose(page)):
        found = MODULE.fullmatch(code)
        if found is None or found[1].split(".")[0] not in packages:
            continue
        module, left = module_of(found[1].split("."))
        assert module.is_file(), f"{name(page)}: {code}"
        assert not left or left[0] in names_in(module), f"{name(page)}: {code}"


def test_modules_of_the_architecture_are_there() -> None:
    page = ROOT / "ARCHITECTURE.md"
    known = {each.stem for each in SOURCES.rglob("*.py")}
    known |= {each.name for each in SOURCES.rglob("*") if each.is_dir()}
    known |= {each.stem for each in (ROOT / "console").rglob("*.ts")}
    kinds = {"local", "placed", "whole"}
    """Kinds of rules, which are functions and no modules."""
    for code in CODE.findall(prose(page)):
        if re.fullmatch(r"[a-z_]+", code):
            assert code in known | kinds, code
        elif FILE.fullmatch(code):
            assert list(SOURCES.glob(code)) or list(SOURCES.rglob(code)) or (ROOT / code).exists()


@cache
def metrics() -> frozenset[str]:
    """List the metrics that the sources name."""
    texts = (each.read_text("utf-8") for each in SOURCES.rglob("*.py"))
    return frozenset(found for text in texts for found in re.findall(r'"(headrace_\w+)"', text))


@pytest.mark.parametrize("page", ALL_PAGES, ids=name)
def test_metrics_that_a_page_names_are_counted(page: Path) -> None:
    for metric in re.findall(r"`(headrace_\w+)`", prose(page)):
        assert metric in metrics(), f"{name(page)}: {metric}"
