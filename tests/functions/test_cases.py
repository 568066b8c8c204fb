"""Every function and operator, by cases: `expression => value`, or `=> error`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.functions.evaluate import _FORMS, _FROM_CONTEXT
from headrace.functions.table import BUILT_INS, OPERATORS
from headrace.rdf.terms import canonical
from tests.functions.language import value

FOLDER = Path(__file__).parent / "cases"


def cases() -> Iterator[tuple[str, str]]:
    for path in sorted(FOLDER.glob("*.txt")):
        for line in path.read_text("utf-8").splitlines():
            if line and not line.startswith("#"):
                text, _, expected = line.rpartition(" => ")
                yield text, expected


CASES = list(cases())


@pytest.mark.parametrize(("text", "expected"), CASES, ids=[text for text, _ in CASES])
def test_value(text: str, expected: str) -> None:
    found = value(text)
    if expected == "error":
        assert found is None, canonical(found)
    else:
        assert found is not None
        wanted = value(expected)
        assert wanted is not None
        assert canonical(found) == canonical(wanted)


def test_no_function_is_without_a_case() -> None:
    texts = " ".join(text.upper() for text, _ in CASES)
    for name in {*BUILT_INS, *_FORMS, *_FROM_CONTEXT} - {"RAND", "UUID", "STRUUID"}:
        assert f"{name}(" in texts or name == "TRIPLE", name
    for symbol in OPERATORS:
        assert symbol.removeprefix("u") in texts
