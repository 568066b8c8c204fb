"""The layers of the package: a list, and tests that read it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import headrace
from tests.shared import ROOT

PACKAGE = ROOT / "src" / "headrace"

# Each layer imports only from those on earlier lines, and from itself.
LAYERS = (
    {"version", "errors"},
    {"exits"},
    {"arrival_times", "durable", "freshness", "metering", "timed_waits"},
    {"rdf"},
    {"execution"},
    {"results"},
    {"algebra"},
    {"functions", "dialects", "reasoning"},
    {"rewrite"},
    {"planning"},
    {"diagnosis", "graphs"},
    {"kernel"},
    {"background"},
    {"sinks", "ingest"},
    {"pipeline"},
    {"inline", "spark", "schemas"},
    {
        "acceptance",
        "declared_sources",
        "store",
        "sources",
        "deploying",
        "fitting",
        "registered",
        "stream",
    },
    {"launching"},
    {"engine_runs"},
    {"engine"},
    {"testing"},
    {"scenarios"},
    {"answering", "demo", "doctor", "options", "progress", "running"},
    {"observing", "tracing"},
    {"explaining"},
    {"serve"},
    {"cli"},
    {"__main__"},
)
EXECUTION = ("relation", "operators", "aggregates", "output")
"""The layers of the package `execution`, each of which imports only from earlier ones."""
RANKS = {name: rank for rank, names in enumerate(LAYERS) for name in names}
DIALECTS = {"csparql", "cqels", "rspql", "sparkwave", "sparqlstream"}


CLOCKS_OF_THE_KERNEL = {
    "snapshot.py": "the figures of explain",
    "waiting.py": "when a costly condition is tested",
}
"""Which modules of the kernel measure durations themselves, and what for."""


def modules() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


def imports(module: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def layer(module: Path) -> str:
    return module.relative_to(PACKAGE).parts[0].removesuffix(".py")


@pytest.mark.parametrize("module", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_to_earlier_layers(module: Path) -> None:
    own = layer(module)
    for name in imports(module):
        parts = name.split(".")
        if parts[0] == "headrace" and len(parts) > 1:
            assert parts[1] == own or RANKS[parts[1]] < RANKS[own], f"{module} imports {name}"


def test_execution_has_layers_of_its_own() -> None:
    for module in (PACKAGE / "execution").rglob("*.py"):
        own = module.relative_to(PACKAGE / "execution").parts[0]
        for name in imports(module):
            parts = name.split(".")
            if parts[:2] == ["headrace", "execution"] and own in EXECUTION:
                assert EXECUTION.index(parts[2]) <= EXECUTION.index(own), f"{module}: {name}"


def test_only_the_spark_layer_imports_pyspark() -> None:
    importers = {
        layer(module)
        for module in modules()
        if any(name.split(".")[0] == "pyspark" for name in imports(module))
        and not _only_for_types(module)
    }
    assert importers <= {"spark"}


def _only_for_types(module: Path) -> bool:
    """Whether a module names pyspark only under TYPE_CHECKING."""
    tree = ast.parse(module.read_text("utf-8"))
    guarded = {
        inner
        for node in tree.body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    return not any(
        isinstance(node, ast.ImportFrom)
        and (node.module or "").startswith("pyspark")
        and node not in guarded
        for node in ast.walk(tree)
    )


def test_only_the_dialects_know_their_names() -> None:
    for module in modules():
        if layer(module) == "dialects":
            continue
        for node in ast.walk(ast.parse(module.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                assert node.value not in DIALECTS, f"{module}:{node.lineno} names a dialect"


def test_no_module_is_too_long() -> None:
    for module in modules():
        assert len(module.read_text("utf-8").splitlines()) <= 600, module


def test_the_public_names_are_the_documented_ones() -> None:
    public = {name for name in vars(headrace) if not name.startswith("_")} | set(headrace._HOMES)
    assert all(getattr(headrace, name) for name in headrace.__all__)
    submodules = {path.name.removesuffix(".py") for path in PACKAGE.iterdir()}
    assert sorted(public - submodules | {"__version__"}) == sorted(headrace.__all__)


def test_possessive_loops_are_those_of_regex() -> None:
    """Those of `re` match too much before Python 3.11.5, which Debian 12 does not have."""
    for module in modules():
        text = module.read_text("utf-8")
        if "import re\n" in text and module.name != "lexer.py":  # it has `*+,` as characters
            assert not any(loop in text for loop in (")*+", "]*+", "]++", ")++")), module


def test_only_two_modules_of_the_kernel_measure_time() -> None:
    found = {
        each.name
        for each in (PACKAGE / "kernel").rglob("*.py")
        if {"time", "datetime"} & set(imports(each)) and _measures(each)
    }
    assert found == set(CLOCKS_OF_THE_KERNEL)


def _measures(module: Path) -> bool:
    """Whether a module names a clock of the standard library."""
    clocks = {"perf_counter", "monotonic", "time_ns", "process_time", "now", "utcnow", "time"}
    names = set[str]()
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        match node:
            case ast.ImportFrom(module="time"):
                names.update(alias.name for alias in node.names)
            case ast.Attribute(value=ast.Name(id="time" | "datetime")):
                names.add(node.attr)
            case _:
                pass
    return bool(names & clocks)
