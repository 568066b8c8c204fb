"""Static patterns that are solved in parts: the same solutions as in one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

from headrace.algebra.notation import read
from headrace.algebra.scope import possible
from headrace.kernel.columns import column
from headrace.kernel.data import Data, Quads
from headrace.kernel.dictionary import Dictionary
from headrace.kernel.keeping import Asked
from headrace.kernel.snapshot import evaluate
from headrace.kernel.solutions import complete
from headrace.kernel.surroundings import Surroundings
from headrace.pipeline.keeper import Cache
from headrace.pipeline.static import StaticData, StaticFile, StaticFiles
from headrace.pipeline.static_parts import StaticRequest, Tasks, solve_part
from headrace.planning.cut import cut_by

SEED = 5
BY, CITES = "<http://x/by>", "<http://x/cites>"
WHOLE = {
    "a star": f"(bgp [(triple ?p {BY} ?a) (triple ?p {BY} ?b)])",
    "a chain": f"(bgp [(triple ?p {BY} ?a) (triple ?p {CITES} ?q) (triple ?q {BY} ?b)])",
    "a union": f"(join (bgp [(triple ?p {BY} ?a)]) (union [(bgp [(triple ?p {CITES} ?q)]) "
    f"(bgp [(triple ?q {CITES} ?p)])]))",
    "a filter": f"(filter (!= ?a ?b) (bgp [(triple ?p {BY} ?a) (triple ?p {BY} ?b)]))",
    "counts": f"(group (bgp [(triple ?p {BY} ?a) (triple ?p {BY} ?b)]) [?a] "
    "[[?n (aggregate 'COUNT' ?b)]])",
    "distinct": f"(distinct (project (bgp [(triple ?p {BY} ?a) (triple ?p {CITES} ?q)]) [?a]))",
    "a graph": f"(graph <http://x/g> (bgp [(triple ?p {BY} ?a) (triple ?p {CITES} ?q)]))",
    "values": f"(join (bgp [(triple ?p {BY} ?a)]) (values [?x] [[<x:1>] [<x:2>]]))",
    "a hidden variable": f"(join (bgp [(triple ?p {CITES} ?q)]) "
    f"(project (bgp [(triple ?p {BY} ?a)]) [?a]))",
    "a product": f"(join (bgp [(triple ?p {BY} ?a)]) (bgp [(triple ?q {CITES} ?r)]))",
    "a sum": f'(extend (bgp [(triple ?p {BY} ?a) (triple ?p {BY} ?b)]) ?s (CONCAT "x" "y"))',
}
NOT_CUT = {
    "no variable": f"(bgp [(triple <x:a> {BY} <x:b>)])",
    "a hidden variable of that name": f"(join (bgp [(triple ?p {BY} <x:a>)]) "
    f"(project (bgp [(triple ?p {BY} <x:b>)]) []))",
    "alternatives of different variables": f"(union [(bgp [(triple ?p {BY} <x:a>)]) "
    f"(bgp [(triple ?q {BY} <x:a>)])])",
    "sums, which depend on the order": f"(group (bgp [(triple ?p {BY} ?a)]) [?a] "
    "[[?n (aggregate 'SUM' ?p)]])",
    "groups by nothing": f"(group (bgp [(triple ?p {BY} ?a)]) [] [[?n (aggregate 'COUNT' ?p)]])",
    "an optional part": f"(left-join (bgp [(triple ?p {BY} ?a)]) (bgp [(triple ?p {CITES} ?q)]))",
}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> StaticData:
    folder = tmp_path_factory.mktemp("static")
    lines = []
    for number in range(60):
        for graph in ("", "<http://x/g>"):
            lines.append(f"<x:p{number}> {BY} <x:a{number * 7 % 11}> {graph} .")
            lines.append(f"<x:p{number}> {BY} <x:a{number * 5 % 9}> {graph} .")
            lines.append(f"<x:p{number}> {CITES} <x:p{number * 3 % 60}> {graph} .")
    (folder / "a.nq").write_text("\n".join(lines))
    files = StaticFiles([StaticFile(folder / "a.nq")], Cache(folder / "cache", large=0), SEED)
    return files.current()


def in_turn(requests: Sequence[StaticRequest]) -> None:
    for each in requests:
        solve_part(each)


def texts(frame: pl.DataFrame, dictionary: Dictionary) -> Counter[tuple[str, ...]]:
    names = sorted(name for name in frame.columns if name.startswith("?"))
    columns = [dictionary.texts(frame[name]) for name in names]
    return Counter(zip(*columns, strict=True))


@pytest.mark.parametrize("pattern", WHOLE)
@pytest.mark.parametrize("parts", [1, 2, 5])
def test_the_same_as_in_one(pattern: str, parts: int, data: StaticData) -> None:
    operator = read(WHOLE[pattern])
    assert cut_by(operator) is not None
    dictionary = Dictionary(SEED)
    dictionary.adopt(data.terms)
    found = evaluate(operator, Data(Quads(data.quads)), Surroundings(dictionary))
    names = sorted(map(column, possible(operator)))
    expected = texts(complete(found.frame, names), dictionary)
    assert expected
    keeper = data.keeper
    assert keeper is not None
    keeper.tasks = Tasks(parts, in_turn)
    solved = keeper.solved(Asked(operator, (None,), None, 1_000_000))
    assert solved is not None
    frame, terms = solved
    own = Dictionary(SEED)
    own.adopt(data.terms)
    own.learn(terms)
    assert texts(frame, own) == expected
    assert not list(keeper.cache.folder.glob("scratch-*"))


@pytest.mark.parametrize("pattern", NOT_CUT)
def test_what_cannot_be_cut_is_solved_here(pattern: str, data: StaticData) -> None:
    operator = read(NOT_CUT[pattern])
    assert cut_by(operator) is None
    keeper = data.keeper
    assert keeper is not None
    keeper.tasks = Tasks(2, in_turn)
    assert keeper.solved(Asked(operator, (None,), None, 1_000_000)) is None


def test_what_is_small_is_solved_here(tmp_path: Path) -> None:
    (tmp_path / "a.nt").write_text(f"<x:p> {BY} <x:a> .")
    files = StaticFiles([StaticFile(tmp_path / "a.nt")], tmp_path / "cache", SEED)
    files.tasks = Tasks(2, in_turn)
    keeper = files.current().keeper
    assert keeper is not None
    assert keeper.solved(Asked(read(WHOLE["a star"]), (None,), None, 1_000_000)) is None
