"""What a user reads for each kind of mistake, word by word.

A file of `errors/` holds a wrong query, a line of four dashes, and the whole text of its error.
`python -m tests.dialects.test_golden_errors --write` writes the texts anew; read the difference
as the user would: is it clear what is wrong, where, and what to do?
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from headrace.dialects import parse
from headrace.dialects.text import MAX_CHARACTERS
from headrace.errors import QueryError, TooLargeError

FOLDER = Path(__file__).parent / "errors"
FILES = sorted(FOLDER.glob("*.txt"))
SEPARATOR = "\n----\n"


def error_of(query: str) -> QueryError:
    with pytest.raises(QueryError) as raised:
        parse(query)
    return raised.value


@pytest.mark.parametrize("file", [pytest.param(file, id=file.stem) for file in FILES])
def test_the_text_of_an_error(file: Path) -> None:
    query, separator, golden = file.read_text("utf-8").partition(SEPARATOR)
    assert separator
    error = error_of(query)
    assert str(error) + "\n" == golden
    assert error.line is not None


@pytest.mark.parametrize("file", [pytest.param(file, id=file.stem) for file in FILES])
def test_the_first_line_of_an_error_is_one_short_sentence(file: Path) -> None:
    query = file.read_text("utf-8").partition(SEPARATOR)[0]
    problem = error_of(query).problem
    assert "\n" not in problem
    assert not problem.endswith(".")
    assert len(problem) < 160


def test_there_is_an_error_for_each_kind_of_mistake() -> None:
    assert len(FILES) >= 90


def test_the_name_of_a_query_stands_before_its_line() -> None:
    with pytest.raises(QueryError) as raised:
        parse("SELECT ?s, ?o { ?s ?p ?o }", name="cars.rq")
    assert "\ncars.rq, line 1, column 10\n" in str(raised.value)


def test_a_query_that_is_too_long_is_not_shown() -> None:
    error = error_of("SELECT ?s { ?s ?p ?o }" + " " * MAX_CHARACTERS)
    assert isinstance(error, TooLargeError)
    assert error.problem == "a query has at most 262,144 characters, and this one 262,166"
    assert len(str(error)) < 300


def write() -> None:
    """Write the errors of today into the files."""
    for file in FILES:
        query = file.read_text("utf-8").partition(SEPARATOR)[0]
        try:
            parse(query)
        except QueryError as error:
            file.write_text(f"{query}{SEPARATOR}{error}\n", "utf-8")
        else:
            sys.exit(f"{file} holds a right query")


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit("usage: python -m tests.dialects.test_golden_errors --write")
    write()
