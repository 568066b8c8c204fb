"""CityBench's queries with FROM NAMED see the default data set, as in the engine of CQELS."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

import pytest

from headrace import Engine
from headrace.dialects import parse
from headrace.rdf.terms import Term
from tests.field.citybench import REPOSITORY, Element, Row, answers, elements, files, query, streams
from tests.shared import needs_data

pytestmark = needs_data("citybench")
READINGS: Final = 8
"""Of each sensor; the two car parks are read at the same times."""


def results(text: str, **settings: str) -> list[tuple[int, Counter[Row]]]:
    """What Headrace reports, in milliseconds."""
    engine = Engine(settings=settings)
    assert engine.static.load_text(REPOSITORY.read_text("utf-8")) == []
    for name, path in files(text).items():
        assert engine.static.load_text(path.read_text("utf-8"), name) == []
    declared = {iri: engine.stream(iri) for iri in streams(text)}
    registered = engine.register(text, dialect="cqels", name="q")
    for each in feed(text):
        declared[each.stream].push(each.text, at=each.time)
    engine.finish()
    return [
        (each.at // 1000, Counter(map(shown, each.rows)))  # in the order of the instants
        for each in registered.results()
    ]


def shown(row: Sequence[Term | None]) -> Row:
    return tuple(None if term is None else str(term) for term in row)


def feed(text: str) -> list[Element]:
    found = [each for iri in streams(text) for each in elements(iri, READINGS)]
    return sorted(found, key=lambda each: (each.time, each.stream))


@pytest.mark.parametrize("name", ["Q5", "Q8", "Q9"])
def test_the_rows_are_those_of_an_oracle_over_the_same_windows(name: str) -> None:
    text = query(name)
    wanted = list(answers(text, feed(text)))
    assert len(wanted) >= READINGS // 2
    assert results(text) == wanted


@pytest.mark.parametrize("name", ["Q5", "Q8", "Q9"])
def test_there_is_none_where_from_named_hides_the_default_graph(name: str) -> None:
    text = query(name)
    assert results(text, from_named="hides-default") == []
    [note] = parse(text, "cqels", settings={"from_named": "hides-default"}).notes
    assert "from_named=hides-default" in note.text
