"""Static tables that are made of those of another version are what they would be made anew."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.algebra.expressions import Variable
from headrace.algebra.notation import read
from headrace.algebra.scope import possible
from headrace.kernel import mapped, tables
from headrace.kernel.budget import Budget
from headrace.kernel.columns import column
from headrace.kernel.data import Data, Quads
from headrace.kernel.dictionary import Dictionary
from headrace.kernel.keeping import KeptTable
from headrace.kernel.snapshot import evaluate
from headrace.kernel.solutions import Solutions
from headrace.kernel.surroundings import Surroundings
from headrace.kernel.table import Table
from headrace.kernel.tables import StaticTable, Wish, static_tables
from headrace.pipeline import static
from headrace.pipeline.keeper import Cache, VersionKeeper
from headrace.pipeline.static import StaticFile, StaticFiles
from headrace.planning.matching import StaticPart
from headrace.rdf.terms import Iri, Literal, Quad
from headrace.rdf.vocabulary import XSD_INTEGER

BY, CITES, YEAR = "<http://x/by>", "<http://x/cites>", "<http://x/year>"
ZERO = "<http://x/0>"
ONE = f'"1"^^<{XSD_INTEGER}>'
NOTHING = KeptTable(pl.DataFrame())
PATTERNS = {
    "a pattern": [f"(bgp [(triple ?p {BY} ?a)])"],
    "a star": [f"(bgp [(triple ?p {BY} ?a) (triple ?p {BY} ?b)])"],
    "a chain": [f"(bgp [(triple ?p {BY} ?a) (triple ?p {CITES} ?q) (triple ?q {BY} ?b)])"],
    "equal solutions": [f"(project (bgp [(triple ?p {BY} ?a) (triple ?p {CITES} ?q)]) [?a])"],
    "alternatives": [
        f"(join (bgp [(triple ?p {BY} ?a)]) (union [(bgp [(triple ?p {CITES} ?q)]) "
        f"(bgp [(triple ?q {CITES} ?p)])]))"
    ],
    "a filter": [f"(filter (> ?y {ONE}) (bgp [(triple ?p {BY} ?a) (triple ?p {YEAR} ?y)]))"],
    "a graph": [f"(graph <http://x/g> (bgp [(triple ?p {BY} ?a) (triple ?p {BY} ?b)]))"],
    "any predicate": ["(bgp [(triple ?p ?r ?a) (triple ?a ?s ?b)])"],
    "the same twice": [f"(bgp [(triple ?p {CITES} ?p)])"],
    "whether it is there": [
        f"(bgp [(triple <http://x/0> {CITES} <http://x/1>) (triple ?p {BY} ?a)])"
    ],
    "values": [f"(join (bgp [(triple ?p {BY} ?a)]) (values [?a] [[<http://x/0>] [<http://x/1>]]))"],
    "several parts": [
        f"(bgp [(triple ?p {BY} ?a)])",
        f"(bgp [(triple ?q {BY} ?b)])",
        f"(union [(bgp [(triple ?p {CITES} ?q)]) (bgp [(triple ?q {CITES} ?p)])])",
    ],
    "parts apart": [f"(bgp [(triple ?p {BY} ?a)])", f"(bgp [(triple ?x {CITES} ?y)])"],
    "counts, anew": [
        f"(group (bgp [(triple ?p {BY} ?a)]) [?a] [[?n (aggregate 'COUNT' ?p)]])",
    ],
    "distinct, anew": [f"(distinct (project (bgp [(triple ?p {BY} ?a)]) [?a]))"],
}

names = st.integers(0, 3).map(lambda number: Iri(f"http://x/{number}"))
links = st.builds(
    Quad,
    names,
    st.sampled_from([Iri(text[1:-1]) for text in (BY, CITES)]),
    names,
    st.sampled_from([None, Iri("http://x/g")]),
)
years = st.builds(
    Quad,
    names,
    st.just(Iri(YEAR[1:-1])),
    st.integers(0, 3).map(lambda number: Literal(str(number), XSD_INTEGER)),
)
statements = st.lists(st.one_of(links, links, years), max_size=25)


@dataclass(frozen=True)
class Looking:
    """How static data of one version are looked at."""

    dictionary: Dictionary
    static: Data
    budget: Budget = Budget()  # noqa: RUF009 - it is frozen

    @property
    def solve(self) -> Callable[[StaticPart], Solutions]:
        data = replace(self.static, quads=Quads(self.static.quads.frame))
        around = Surroundings(self.dictionary)
        return lambda part: evaluate(part.operator, data, around)


def wish_of(patterns: Sequence[str], asked: Sequence[str]) -> Wish:
    parts = [StaticPart(read(each)) for each in patterns]
    every = frozenset(column(each) for part in parts for each in possible(part.operator))
    kept = frozenset(f"?{name}" for name in asked) & every
    return Wish(parts, kept or None, frozenset({"?a"}) & every)


def product(
    found: Sequence[StaticTable], dictionary: Dictionary
) -> Counter[tuple[str | None, ...]]:
    """All solutions of all tables together, however they are put together."""
    frame = pl.DataFrame({"?": [0]})
    for each in found:
        shared = [name for name in each.frame.columns if name in frame.columns]
        other = each.frame
        frame = frame.join(other, on=shared) if shared else frame.join(other, how="cross")
    columns = sorted(name for name in frame.columns if name != "?" and "row" not in name)
    texts = [dictionary.texts(frame[name]) for name in columns]
    return Counter(zip(*texts, strict=True)) if texts else Counter({(): frame.height})


def check_orders(table: StaticTable) -> None:
    """Rows are found by any column, and by all of them."""
    columns = sorted(table.frame.columns)
    if table.frame.is_empty():
        return  # nobody looks there
    for on in [*([name] for name in columns), columns]:
        wanted = Table.of_frame(table.frame.select(on).unique())
        ours, theirs = table.meeting(wanted, on, lambda _: None)
        assert sorted(theirs.tolist()) == list(range(table.frame.height))
        for name in on:
            assert (wanted[name][ours] == table.table[name][theirs]).all()


@pytest.mark.parametrize("patterns", PATTERNS)
def test_refreshed_is_made_anew(
    patterns: str, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "_MUCH", 0)  # whatever differs
    monkeypatch.setattr(mapped, "_MANY", 0)  # by several columns too
    refreshed = 0

    @settings(max_examples=40, deadline=None)
    @given(statements, statements, statements, st.sampled_from(["", "a", "ab", "abq"]))
    def check(stays: list[Quad], goes: list[Quad], comes: list[Quad], asked: str) -> None:
        nonlocal refreshed
        dictionary = Dictionary(1)
        cache = Cache(tmp_path_factory.mktemp("kept"), least=0)
        wish = wish_of(PATTERNS[patterns], asked)
        old = dictionary.encode_quads([*stays, *goes])
        new = dictionary.encode_quads([*stays, *comes])
        before = Quads(old, keeper=VersionKeeper(cache, "1", 1, NOTHING, NOTHING))
        for each in static_tables(wish, Looking(dictionary, Data(before))):
            check_orders(each)
        keeper = VersionKeeper(cache, "2", 1, NOTHING, NOTHING)
        keeper.follow(before)
        after = Looking(dictionary, Data(Quads(new, keeper=keeper)))
        called = tables.called_by(wish, after.static)
        assert called is not None
        refreshed += tables.refreshed(wish, called, after) is not None
        found = static_tables(wish, after)
        expected = static_tables(wish, Looking(dictionary, Data(Quads(new))))
        assert product(found, dictionary) == product(expected, dictionary)
        for each in found:
            check_orders(each)
        again = Quads(new, keeper=VersionKeeper(cache, "2", 1, NOTHING, NOTHING))
        kept = static_tables(wish, Looking(dictionary, Data(again)))
        assert product(kept, dictionary) == product(expected, dictionary)

    check()
    assert bool(refreshed) is not patterns.endswith("anew")


def test_what_is_kept_follows_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A change of a file is a difference to what was there before, and only to that."""
    monkeypatch.setattr(static, "LOOK", 0)
    path = tmp_path / "a.nt"
    path.write_text(f"<x:1> {BY} <x:a> .\n<x:2> {BY} <x:a> .\n<x:2> {BY} <x:b> .\n")
    files = StaticFiles([StaticFile(path)], Cache(tmp_path / "cache", least=0), 7)
    dictionary = Dictionary(7)
    wish = wish_of(PATTERNS["a star"], "ab")
    made: list[int] = []
    original = tables.refreshed

    def counted(*asked: object) -> object:
        found = original(*asked)  # type: ignore[arg-type]  # passed on
        made.append(found is not None)
        return found

    monkeypatch.setattr(tables, "refreshed", counted)
    monkeypatch.setattr(tables, "_MUCH", 0)
    versions: list[Quads] = []
    for more in ("", f"<x:1> {BY} <x:c> .\n", f"<x:3> {BY} <x:b> .\n"):
        path.write_text(path.read_text() + more)
        data = files.current()
        dictionary.adopt(data.terms)
        versions.append(data.statements())
        found = static_tables(wish, Looking(dictionary, Data(versions[-1])))
        plain = static_tables(wish, Looking(dictionary, Data(Quads(data.quads))))
        assert product(found, dictionary) == product(plain, dictionary)
    assert made == [False, True, True]
    keepers = [each.keeper for each in versions]
    befores = [keeper.before for keeper in keepers if keeper is not None]
    assert [each is None for each in befores] == [True, True, False]


def test_terms_that_were_forgotten_are_not_guessed(tmp_path: Path) -> None:
    """Conditions on what is gone cannot be looked at without its terms: it is made anew."""
    dictionary, cache = Dictionary(1), Cache(tmp_path, least=0)
    wish = wish_of(PATTERNS["a filter"], "a")
    year = Iri(YEAR[1:-1])
    old = dictionary.encode_quads(
        [
            Quad(Iri("x:p"), Iri(BY[1:-1]), Iri("x:a")),
            Quad(Iri("x:p"), year, Literal("3", XSD_INTEGER)),
        ]
    )
    new = old[:1]
    before = Quads(old, keeper=VersionKeeper(cache, "1", 1, NOTHING, NOTHING))
    static_tables(wish, Looking(dictionary, Data(before)))
    dictionary.forget_all_but([new[name].drop_nulls() for name in new.columns])
    for constant in (BY, YEAR):
        dictionary.encode(Iri(constant[1:-1]))
    keeper = VersionKeeper(cache, "2", 1, NOTHING, NOTHING)
    keeper.follow(before)
    after = Looking(dictionary, Data(Quads(new, keeper=keeper)))
    called = tables.called_by(wish, after.static)
    assert called is not None
    assert tables.refreshed(wish, called, after) is None
    assert [each.frame.height for each in static_tables(wish, after)] == [0]
    assert Variable("a") in possible(wish.parts[0].operator)
