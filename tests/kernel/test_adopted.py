"""Terms that last as long as static data: never forgotten with those of streams."""

from __future__ import annotations

import polars as pl
import pytest

from headrace.errors import DataError
from headrace.kernel.columns import ID, TERMS
from headrace.kernel.dictionary import Dictionary, in_id_order
from headrace.rdf.terms import Iri, QuotedTriple


def terms_of(*names: str, seed: int = 3) -> pl.DataFrame:
    dictionary = Dictionary(seed)
    for name in names:
        dictionary.encode(Iri(f"x:{name}"))
    return in_id_order(dictionary.known)


def texts(dictionary: Dictionary, terms: pl.DataFrame) -> list[str]:
    return dictionary.texts(terms[ID]).to_list()


def test_what_was_known_before_is_known_afterwards() -> None:
    dictionary = Dictionary(3)
    ours = dictionary.encode(Iri("x:ours")), dictionary.encode(Iri("x:both"))
    static = terms_of("both", "theirs", "more")
    assert dictionary.adopt(static)
    assert dictionary.passing == 1
    assert texts(dictionary, static) == static["text"].to_list()
    assert dictionary.terms(pl.Series(ours)) == [Iri("x:ours"), Iri("x:both")]


def test_only_other_terms_are_forgotten() -> None:
    dictionary = Dictionary(3)
    static = terms_of(*map(str, range(20)))
    dictionary.adopt(static)
    streams = [terms_of(f"s{number}", f"t{number}") for number in range(20)]
    for each in streams:
        dictionary.learn(each)
    assert dictionary.passing == 40
    dictionary.forget_all_but([streams[0][ID], streams[7][ID]])
    assert dictionary.passing == 4
    assert texts(dictionary, static) == static["text"].to_list()
    assert texts(dictionary, streams[7]) == streams[7]["text"].to_list()
    assert not dictionary.knows(streams[1][ID])
    dictionary.learn(streams[1])
    assert dictionary.knows(streams[1][ID])


def test_others_that_are_adopted_take_their_place() -> None:
    dictionary = Dictionary(3)
    first, second = terms_of("a", "b", "c"), terms_of("b", "c", "d")
    dictionary.adopt(first)
    dictionary.adopt(second)
    assert dictionary.passing == 1
    assert texts(dictionary, first) == first["text"].to_list()
    dictionary.forget_all_but([pl.Series(ID, [], pl.Int64)])
    assert not dictionary.knows(first[ID])
    assert dictionary.knows(second[ID])


def test_a_collision_changes_nothing() -> None:
    dictionary = Dictionary(3)
    known = terms_of("a", "b")
    dictionary.adopt(known)
    own = dictionary.encode(Iri("x:own"))
    other = known.with_columns(pl.lit("<x:other>").alias("text"))[:1]
    with pytest.raises(DataError, match="have the same id"):
        dictionary.adopt(other)
    assert texts(dictionary, known) == known["text"].to_list()
    assert dictionary.terms(pl.Series([own])) == [Iri("x:own")]
    assert dictionary.passing == 1


def test_quoted_triples_do_not_last() -> None:
    source = Dictionary(3)
    source.encode(QuotedTriple(Iri("x:a"), Iri("x:b"), Iri("x:c")))
    dictionary = Dictionary(3)
    assert not dictionary.adopt(in_id_order(source.known))
    assert dictionary.passing == dictionary.known.height
    assert dictionary.quoted.height == 1
    assert set(TERMS) <= set(dictionary.known.columns)


@pytest.mark.parametrize("count", [1, 1000])
def test_texts_are_a_column_of_texts_however_many_there_are(count: int) -> None:
    dictionary = Dictionary(3)
    ids = [dictionary.encode(Iri(f"x:{number}")) for number in range(count)]
    frame = pl.DataFrame([pl.Series(ID, ids), dictionary.texts(pl.Series(ID, ids))])
    assert frame.columns == list(TERMS)
