"""All result files of the W3C suites are read, and written back to an equal answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.rdf.terms import BlankNode
from headrace.results.formats import EXTENSIONS, ResultFormat
from headrace.results.reading import read_result
from headrace.results.table import Table
from headrace.results.writing import result_text
from tests.results.dawg import has_index, read_result_set
from tests.shared import DATA, needs_data

SUITES = ("w3c-rdf-tests", "w3c-rdf-star-cg")
SUFFIXES = (".srx", ".srj", ".csv", ".tsv")
TESTS_10 = DATA / "w3c-rdf-tests" / "sparql" / "sparql10"


def result_files() -> list[Path]:
    found = (path for suite in SUITES for path in (DATA / suite).rglob("*"))
    return sorted(path for path in found if path.suffix in SUFFIXES)


def result_sets() -> list[Path]:
    found = (path for path in TESTS_10.rglob("*") if path.suffix in {".ttl", ".rdf"})
    return sorted(path for path in found if "ResultSet" in path.read_text("utf-8"))


def short_name(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


@needs_data("w3c-rdf-tests")
@pytest.mark.parametrize("path", result_files(), ids=short_name)
def test_result_files_come_back(path: Path) -> None:
    syntax = EXTENSIONS[path.suffix]
    result = read_result(path.read_bytes(), syntax, name=path.name)
    assert read_result(result_text(result, syntax), syntax) == result
    if syntax is not ResultFormat.CSV:  # it does not say what its terms are
        assert read_result(result_text(result, ResultFormat.JSON), ResultFormat.JSON) == result


@needs_data("w3c-rdf-tests")
def test_there_are_as_many_files_as_there_were() -> None:
    assert len(result_files()) >= 300
    assert len(result_sets()) >= 75


@needs_data("w3c-rdf-tests")
@pytest.mark.parametrize("path", result_sets(), ids=short_name)
def test_result_sets_in_rdf_are_read(path: Path) -> None:
    result = read_result_set(path)
    assert isinstance(result, Table | bool)
    assert read_result(result_text(result, ResultFormat.JSON), ResultFormat.JSON) == result


@needs_data("w3c-rdf-tests")
def test_rows_of_a_result_set_are_in_the_order_of_their_index() -> None:
    path = TESTS_10 / "sort" / "result-sort-2.rdf"
    result = read_result_set(path)
    assert isinstance(result, Table)
    assert has_index(path)
    names = [str(name) for name in result.columns()["name"]]
    assert names == sorted(names, reverse=names[0] > names[-1])
    assert len(names) > 2


@needs_data("w3c-rdf-tests")
def test_csv_and_tsv_of_the_same_answer_agree() -> None:
    folder = DATA / "w3c-rdf-tests" / "sparql" / "sparql11" / "csv-tsv-res"
    csv = read_result((folder / "csvtsv02.csv").read_bytes(), ResultFormat.CSV)
    tsv = read_result((folder / "csvtsv02.tsv").read_bytes(), ResultFormat.TSV)
    assert isinstance(csv, Table)
    assert isinstance(tsv, Table)
    assert csv.variables == tsv.variables
    assert [[cell is None for cell in row] for row in csv.rows] == [
        [cell is None for cell in row] for row in tsv.rows
    ]
    assert isinstance(csv.rows[-1][2], BlankNode)
