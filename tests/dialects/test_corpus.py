"""The queries of the field: each is accepted in its dialect, or refused for a reason given."""

from __future__ import annotations

import tomllib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from headrace.dialects import parse
from headrace.errors import QueryError
from tests.dialects.corpus import Found, queries
from tests.shared import DATA, needs_data

# How many queries there are, so that a folder that is not found cannot pass unseen.
EXPECTED = {
    "citybench": 37,
    "cqels-wiki": 5,
    "csrbench": 7,
    "lsbench-wiki": 12,
    "rsp4j": 110,
    "rspqlstar": 7,
    "rspu": 16,
    "srbench-morph": 26,
    "srbench-sparql2stream": 14,
    "yabench": 18,
    "yabench-one": 16,
}


@dataclass(frozen=True)
class Rejected:
    """A query that is really wrong: where it is refused, and why."""

    file: str
    line: int
    column: int
    reason: str


def rejected() -> dict[str, Rejected]:
    """The list of wrong queries, by file."""
    table = tomllib.loads((Path(__file__).parent / "rejected.toml").read_text("utf-8"))
    return {each["file"]: Rejected(**each) for each in table["rejected"]}


REJECTED = rejected()
CORPUS = list(queries())


def accepted() -> list[object]:
    return [pytest.param(each, id=each.file) for each in CORPUS if each.file not in REJECTED]


def refused() -> list[object]:
    return [pytest.param(each, id=each.file) for each in CORPUS if each.file in REJECTED]


@pytest.mark.parametrize("query", accepted())
def test_a_query_of_the_field_is_accepted_in_its_dialect(query: Found) -> None:
    found = parse(query.text, name=query.file)
    assert found.dialect == query.dialect


@pytest.mark.parametrize("query", refused())
def test_a_wrong_query_of_the_field_is_refused_where_it_is_wrong(query: Found) -> None:
    expected = REJECTED[query.file]
    with pytest.raises(QueryError) as raised:
        parse(query.text, name=query.file)
    assert (raised.value.line, raised.value.column) == (expected.line, expected.column)


@needs_data("rspu")
def test_the_template_of_the_join_experiment_is_right_once_filled_in() -> None:
    template = (DATA / "rspu/resources/queries/Q-part2.rspqlstar").read_text("utf-8")
    text = template.replace(":$JOIN", ":cardinality1").replace("$THRESHOLD", "0.5")
    assert parse(text).dialect == "rspql"


@pytest.mark.parametrize(
    "folder", [pytest.param(each, marks=needs_data(each)) for each in EXPECTED]
)
def test_no_query_of_a_folder_is_missing(folder: str) -> None:
    assert Counter(each.folder for each in CORPUS)[folder] == EXPECTED[folder]


@pytest.mark.parametrize("file", REJECTED)
def test_a_listed_query_is_there(file: str) -> None:
    folder = file.partition("/")[0]
    if not (DATA / folder).is_dir():
        pytest.skip(f"no test data at {DATA / folder}")
    assert file in {each.file for each in CORPUS}


@pytest.mark.parametrize("each", REJECTED.values(), ids=lambda each: each.file)
def test_a_rejection_has_a_reason(each: Rejected) -> None:
    assert len(each.reason.split()) > 3
