"""The papers' queries as printed: each slip is refused where it stands.

`printed/` holds the texts, cut to what shows the slip; the corrected ones are in `examples/papers`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.dialects import parse
from headrace.errors import QueryError

FOLDER = Path(__file__).parent / "printed"

# file, line, column, how the problem begins, a word of the hint
SLIPS = [
    # a variable has no '-' in its name
    ("csparql-2.2", 3, 31, "expected FROM, WHERE, a variable", "?total_sensor"),
    ("csparql-2.2-clause", 5, 21, "expected ','", "?total_sensor"),
    # the prefixes are left out "for brevity"
    ("csparql-2.4", 7, 19, "prefix 't:' is not declared", "PREFIX t:"),
    ("cqels-q1", 4, 24, "prefix 'loc:' is not declared", "PREFIX loc:"),
    ("rspu-listing1", 7, 10, "prefix 'sosa:' is not declared", "http://www.w3.org/ns/sosa/"),
    # FROM before SELECT, then commas between columns
    ("csparql-5.2", 5, 1, "expected ASK, BASE, CONSTRUCT", "FROM stands after"),
    ("csparql-5.2-from-moved", 3, 24, "expected FROM, WHERE, a variable", "separated by spaces"),
    # the GROUP BY of a subquery outside it
    ("cqels-q4", 12, 3, "expected UNION, a temporal operator, a pattern", None),
    # prefixes end in dots, as in Turtle
    ("sparkwave-4b", 2, 45, "expected ASK, BASE, CONSTRUCT", "no '.'"),
    # a stream without a window, a bare IRI, patterns without dots
    ("sparkwave-listing2-pattern1", 5, 1, "expected '['", None),
    ("sparkwave-listing2-pattern2", 7, 26, "expected a pattern", "between < and >"),
    ("sparkwave-listing2-pattern3", 7, 1, "expected a pattern", "'.' or a ';'"),
    # a sketch, not a query
    ("acqua-listing1.1", 1, 20, "expected AS or COMPUTED", None),
    ("acqua-listing1.1-named", 3, 3, "expected SELECT, a pattern", None),
    ("acqua-listing1.1-service", 6, 11, "expected SILENT, a variable or an IRI", None),
    ("acqua-listing1.1-dots", 5, 42, "expected a pattern", None),
]
ACCEPTED = ["csparql-5.2-commas-gone"]


def read(name: str) -> str:
    return (FOLDER / f"{name}.txt").read_text("utf-8")


def dialect(name: str) -> str | None:
    return "sparkwave" if name.startswith("sparkwave") else None


@pytest.mark.parametrize(("name", "line", "column", "problem", "hint"), SLIPS)
def test_a_slip_is_refused_where_it_stands(
    name: str, line: int, column: int, problem: str, hint: str | None
) -> None:
    with pytest.raises(QueryError) as raised:
        parse(read(name), dialect(name))
    assert (raised.value.line, raised.value.column) == (line, column)
    assert raised.value.problem.startswith(problem)
    if hint is not None:
        assert hint in (raised.value.hint or "")


def test_a_column_that_nothing_binds_is_noted() -> None:
    """The paper selects ?Tot and computes ?tot: of the language, but surely not meant."""
    notes = [note.text for note in parse(read("csparql-5.2-commas-gone")).notes]
    assert any("?Tot" in note for note in notes)


def test_every_printed_text_is_tested() -> None:
    assert {file.stem for file in FOLDER.iterdir()} == {name for name, *_ in SLIPS} | set(ACCEPTED)
