"""What is kept on disk: tables, panes, manifests, and the identity of a deployment."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from headrace.algebra.reporting import BlankNodes
from headrace.errors import DataError, MachineError, SettingError
from headrace.kernel.columns import HIGH, POSITION, TEXT, TIME
from headrace.kernel.progress import Progress
from headrace.pipeline.decode import Decoding, decode_piece, load
from headrace.pipeline.deployment import Deployment, open_deployment
from headrace.pipeline.manifest import (
    NOTHING,
    File,
    Manifest,
    QueryState,
    commit,
    read_manifest,
    sweep,
)
from headrace.pipeline.panes import Pane, arrivals
from headrace.pipeline.pieces import Piece
from headrace.pipeline.tables import read_tables, write_tables
from headrace.planning.wanted import Shape
from headrace.rdf.terms import Iri

S = "http://example.org/s"


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    with open_deployment(tmp_path / "deployment") as found:
        yield found


@pytest.fixture
def decoding(deployment: Deployment) -> Decoding:
    return Decoding(S, deployment.seed, deployment.layout.panes)


def decoded(decoding: Decoding, file: Path, text: str, number: int = 0) -> Pane:
    file.write_text(text)
    return decode_piece(Piece(0, S, str(file), 0, file.stat().st_size, number), decoding)


def test_tables_come_back_as_they_were_written(tmp_path: Path) -> None:
    one, other = pa.table({"a": [1, None]}), pa.table({"b": ["x"], "c": [2.5]})
    checksum = write_tables(tmp_path / "t.arrow", [one, other])
    assert read_tables(tmp_path / "t.arrow", checksum) == [one, other]


def test_a_damaged_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    path = tmp_path / "t.arrow"
    checksum = write_tables(path, [pa.table({"a": [1, 2, 3]})])
    path.write_bytes(path.read_bytes().replace(b"\x02", b"\x07", 1))
    with pytest.raises(MachineError, match=r"t\.arrow is damaged"):
        read_tables(path, checksum)
    with pytest.raises(MachineError, match=r"none\.arrow"):
        read_tables(tmp_path / "none.arrow", checksum)


def test_a_name_is_never_used_twice(tmp_path: Path) -> None:
    write_tables(tmp_path / "t.arrow", [pa.table({"a": [1]})])
    with pytest.raises(FileExistsError):
        write_tables(tmp_path / "t.arrow", [pa.table({"a": [1]})])


LINES = "5\t<x:a> <x:p> <x:b> .\n9\n7\t<x:a> <x:q> <x:c> .\n8\t<x:a> <x:p> <x:b> .\n"


def test_each_element_of_a_pane_knows_the_greatest_time_before_it(
    decoding: Decoding, tmp_path: Path
) -> None:
    pane = decoded(decoding, tmp_path / "s.tnq", LINES)
    assert (pane.counted, pane.elements, pane.high, pane.rejected) == (3, 4, 9_000, 0)
    columns = load(pane, decoding)
    assert sorted(columns.terms[TEXT]) == ["<x:a>", "<x:b>", "<x:c>", "<x:p>", "<x:q>"]
    found = arrivals(pane, columns).statements
    assert found[TIME].to_list() == [5_000, 7_000, 8_000]
    assert found[POSITION].to_list() == [0, 2, 3]
    assert found[HIGH].to_list() == [None, 9_000, 9_000]
    later = arrivals(replace(pane, before=8_700, first=10), columns)
    assert later.statements[HIGH].to_list() == [8_700, 9_000, 9_000]
    assert later.elements is not None
    assert later.elements.positions.tolist() == [10, 12, 13]


def test_what_no_query_asks_for_is_left_out_and_still_counts(
    decoding: Decoding, tmp_path: Path
) -> None:
    wanted = replace(decoding, shapes=(Shape(predicate=Iri("x:q")),), delay=10_000)
    pane = decoded(wanted, tmp_path / "s.tnq", LINES)
    assert pane.filtered
    columns = load(pane, wanted)
    assert sorted(columns.terms[TEXT]) == ["<x:a>", "<x:c>", "<x:q>"]
    found = arrivals(pane, columns)
    assert found.statements[POSITION].to_list() == [2]
    assert found.elements is not None
    assert found.elements.positions.tolist() == [0, 2, 3]
    # An element that may be late may have to be written out in full.
    assert not decoded(replace(wanted, delay=0), tmp_path / "s.tnq", LINES).filtered


def test_a_lost_pane_is_made_again_from_its_piece(decoding: Decoding, tmp_path: Path) -> None:
    pane = decoded(decoding, tmp_path / "s.tnq", LINES)
    before = load(pane, decoding)
    (decoding.panes / pane.name).unlink()
    assert load(pane, decoding).statements.equals(before.statements)
    with pytest.raises(MachineError, match="start again in a new directory"):
        load(replace(pane, piece=None), decoding)


def test_bad_lines_are_counted_and_the_others_are_read(decoding: Decoding, tmp_path: Path) -> None:
    pane = decoded(decoding, tmp_path / "s.tnq", "1\toops\n2\t<x:a> <x:p> <x:b> .\nx\ty\n")
    assert (pane.counted, pane.rejected) == (1, 2)
    assert load(pane, decoding).problems["line"].to_list() == [1, 3]


def test_an_empty_pane_is_a_pane(decoding: Decoding, tmp_path: Path) -> None:
    pane = decoded(decoding, tmp_path / "s.tnq", "# nothing\n")
    assert (pane.elements, pane.high) == (0, None)
    assert arrivals(pane, load(pane, decoding)).statements.is_empty()


def test_blank_nodes_are_told_apart_unless_the_stream_shares_them(
    decoding: Decoding, tmp_path: Path
) -> None:
    text = "1\t_:b <x:p> _:b .\n2\t_:b <x:p> << _:b <x:p> _:b >> .\n"
    labels = {}
    for scope in BlankNodes:
        nodes = set[str]()
        own = replace(decoding, blank_nodes=scope)
        for number, file in enumerate(("s", "t")):
            pane = decoded(own, tmp_path / f"{file}.tnq", text, number)
            again = decoded(own, tmp_path / f"{file}.tnq", text, number)
            terms = load(pane, own).terms
            assert terms.equals(load(again, own).terms)
            nodes |= {term for term in terms[TEXT] if term.startswith("_:")}
        labels[scope] = len(nodes)
    assert labels == {BlankNodes.ELEMENT: 4, BlankNodes.STREAM: 1}


def test_a_file_that_lost_bytes_cannot_be_replayed(decoding: Decoding, tmp_path: Path) -> None:
    (tmp_path / "s.tnq").write_text("1\n")
    with pytest.raises(DataError, match="shorter"):
        decode_piece(Piece(0, S, str(tmp_path / "s.tnq"), 0, 99), decoding)


def manifest(batch: int, *panes: str, result: str | None = None) -> Manifest:
    pane = Pane(S, "", 0, "", "sum", 1, 1, 0, 1, 2, 2, filtered=False)
    return replace(
        NOTHING,
        batch=batch,
        panes=tuple(replace(pane, name=name, piece=Piece(0, S, "f", 0, 1)) for name in panes),
        queries={"q": QueryState("digest", Progress(1, 2, counted=(0,)))},
        told=None if result is None else File(result, "sum"),
    )


def test_a_manifest_is_read_as_it_was_committed(deployment: Deployment) -> None:
    written = manifest(0, "p", result="r")
    assert read_manifest(deployment.layout, 0) is None
    commit(deployment.layout, written)
    assert read_manifest(deployment.layout, 0) == written


def test_a_manifest_is_committed_at_most_once(deployment: Deployment) -> None:
    commit(deployment.layout, manifest(0, "mine"))
    with pytest.raises(FileExistsError):
        commit(deployment.layout, manifest(0, "yours"))
    assert read_manifest(deployment.layout, 0) == manifest(0, "mine")
    assert [file.name for file in deployment.layout.manifests.iterdir()] == ["0.json"]


def test_sweeping_keeps_what_manifests_need(deployment: Deployment) -> None:
    layout = deployment.layout
    for name in ("old", "before", "now", "orphan"):
        (layout.panes / name).touch()
    for name in ("first", "last", "orphan"):
        (layout.results / name).touch()
    manifests = [
        manifest(0, "old", result="first"),
        manifest(1, "before"),
        manifest(2, "before", "now", result="last"),
    ]
    for each in manifests:
        commit(layout, each)
    sweep(layout, manifests[-2:])
    assert {file.name for file in layout.panes.iterdir()} == {"before", "now"}
    assert {file.name for file in layout.results.iterdir()} == {"last"}
    assert {file.name for file in layout.manifests.iterdir()} == {"1.json", "2.json"}


def test_a_deployment_keeps_its_seed_and_is_used_by_one_run_at_a_time(tmp_path: Path) -> None:
    with open_deployment(tmp_path / "d") as first:
        assert first.layout.panes.stat().st_mode & 0o077 == 0
        with pytest.raises(SettingError, match="in use by another run"):
            open_deployment(tmp_path / "d")
    with open_deployment(tmp_path / "d") as again:
        assert (again.id, again.seed) == (first.id, first.seed)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").touch()
    with pytest.raises(SettingError, match="is no checkpoint of Headrace"):
        open_deployment(tmp_path / "other")
