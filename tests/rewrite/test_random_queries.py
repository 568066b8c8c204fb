"""Random queries: rewritten or not, with all rules or one alone, they have the same answers.

`make fuzz` runs ten thousand of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from headrace.algebra.query import Query
from headrace.dialects import parse
from headrace.errors import QueryError
from headrace.kernel.answer import Truth, answer
from headrace.kernel.dictionary import Dictionary
from headrace.kernel.order import is_ordered
from headrace.kernel.surroundings import Surroundings
from headrace.rdf.formats import Format
from headrace.rdf.reading import read
from headrace.results.table import Table
from headrace.testing import Played
from tests.continuous.ways import play_every_way
from tests.differential.generators import datasets
from tests.fuzzing import repeat
from tests.rewrite.choosing import Rules, choices, switched
from tests.rewrite.queries import Script, queries, scripts

pytestmark = pytest.mark.slow

randoms = st.randoms(use_true_random=False)
often = repeat(300)


def parsed(text: str, dialect: str) -> Query:
    """The query of a text; some that are made are none, as when BIND binds a variable twice."""
    try:
        return parse(text, dialect).query
    except QueryError:
        assume(condition=False)
        raise


def sample(query: Query, random: Random) -> Iterator[tuple[str, Rules]]:
    """All rules, and one alone: in thousands of queries each of them has its turn."""
    together, *alone = choices([query])
    yield together
    if alone:
        yield random.choice(alone)


def answers(query: Query, data: str, rules: Rules) -> object:
    """What can be compared of an answer: rows in order if the query has one, else a bag."""
    dictionary = Dictionary()
    quads = dictionary.encode_quads(read(data, Format.TRIG))
    found = answer(query, quads, Surroundings(dictionary), rules)
    if isinstance(found, Truth):
        return found
    assert isinstance(found, Table)
    return found.rows if is_ordered(query.pattern) else Counter(found.rows)


@often
@given(datasets(), queries, randoms)
def test_a_query_over_static_data_has_the_same_answer(data: str, text: str, random: Random) -> None:
    query = parsed(text, "sparql")
    expected = answers(query, data, ())
    for name, rules in sample(query, random):
        assert answers(query, data, rules) == expected, name


def played(script: Script, rules: Rules) -> Played:
    found = play_every_way(
        script.text,
        script.streams,
        static=script.static,
        settings={**script.settings, **switched(rules)},
        dialect=script.dialect,
    )
    assert not found.errors
    return found


@repeat(30)
@given(scripts(), randoms)
def test_a_continuous_query_emits_the_same(script: Script, random: Random) -> None:
    query = parsed(script.text, script.dialect)
    expected = played(script, ()).evaluations
    for name, rules in sample(query, random):
        assert played(script, rules).evaluations == expected, name
