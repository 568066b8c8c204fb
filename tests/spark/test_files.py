"""What is kept on disk: tables, panes, manifests, and the identity of a deployment."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

from headrace.algebra.reporting import BlankNodes
from headrace.errors import DataError, MachineError, SettingError
from headrace.kernel.columns import HIGH, POSITION, TEXT, TIME
from headrace.kernel.progress import Progress
from headrace.planning.plan import make_plan
from headrace.spark.decode import decode_piece
from headrace.spark.layout import Deployment, open_deployment
from headrace.spark.manifest import (
    NOTHING,
    Manifest,
    Report,
    commit,
    read_manifest,
    read_manifests,
    sweep,
)
from headrace.spark.panes import Pane, read_pane
from headrace.spark.run import in_stream_order
from headrace.spark.sources import Piece
from headrace.spark.tables import read_tables, write_tables

from ..kernel.streams import tollgate_query


@pytest.fixture
def deployment(tmp_path: Path) -> Deployment:
    return open_deployment(tmp_path / "deployment", make_plan(tollgate_query()))


def decoded(deployment: Deployment, file: Path, text: str) -> Pane:
    file.write_text(text)
    return decode_piece(Piece(0, str(file), 0, file.stat().st_size), deployment, batch=0)


def frames(deployment: Deployment, pane: Pane) -> tuple[pl.DataFrame, pl.DataFrame]:
    return read_pane(deployment.layout.panes, pane)


def test_tables_come_back_as_they_were_written(tmp_path: Path) -> None:
    one, other = pa.table({"a": [1, None]}), pa.table({"b": ["x"], "c": [2.5]})
    checksum = write_tables(tmp_path / "t.arrow", one, other)
    assert read_tables(tmp_path / "t.arrow", checksum) == [one, other]


def test_a_damaged_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    path = tmp_path / "t.arrow"
    checksum = write_tables(path, pa.table({"a": [1, 2, 3]}))
    path.write_bytes(path.read_bytes().replace(b"\x02", b"\x07", 1))
    with pytest.raises(MachineError, match=r"t\.arrow is damaged"):
        read_tables(path, checksum)
    with pytest.raises(MachineError, match=r"none\.arrow cannot be read"):
        read_tables(tmp_path / "none.arrow", checksum)


def test_a_name_is_never_used_twice(tmp_path: Path) -> None:
    write_tables(tmp_path / "t.arrow", pa.table({"a": [1]}))
    with pytest.raises(FileExistsError):
        write_tables(tmp_path / "t.arrow", pa.table({"a": [1]}))


def test_each_element_of_a_pane_knows_the_greatest_time_before_it(
    deployment: Deployment, tmp_path: Path
) -> None:
    lines = ["5\t<x:a> <x:p> <x:b> .", "9", "7\t<x:a> <x:p> <x:c> .", "8\t<x:a> <x:p> <x:b> ."]
    pane = decoded(deployment, tmp_path / "s.tnq", "\n".join(lines))
    assert (pane.rows, pane.elements, pane.high, pane.rejected) == (3, 4, 9_000, 0)
    elements, terms = frames(deployment, pane)
    assert elements[TIME].to_list() == [5_000, 7_000, 8_000]
    assert elements[POSITION].to_list() == [0, 2, 3]
    assert elements[HIGH].to_list() == [None, 9_000, 9_000]
    assert sorted(terms[TEXT]) == ["<x:a>", "<x:b>", "<x:c>", "<x:p>"]
    elements, _ = frames(deployment, replace(pane, before=8_700))
    assert elements[HIGH].to_list() == [8_700, 9_000, 9_000]


def test_bad_lines_are_counted_and_the_others_are_read(
    deployment: Deployment, tmp_path: Path
) -> None:
    pane = decoded(deployment, tmp_path / "s.tnq", "1\toops\n2\t<x:a> <x:p> <x:b> .\nx\ty\n")
    assert (pane.rows, pane.rejected) == (1, 2)
    assert pane.reason is not None
    assert "s.tnq:1" in pane.reason


def test_an_empty_pane_is_a_pane(deployment: Deployment, tmp_path: Path) -> None:
    pane = decoded(deployment, tmp_path / "s.tnq", "# nothing\n")
    assert (pane.rows, pane.high) == (0, None)
    elements, terms = frames(deployment, pane)
    assert elements.is_empty()
    assert terms.is_empty()


def test_blank_nodes_are_told_apart_unless_the_stream_shares_them(tmp_path: Path) -> None:
    text = "1\t_:b <x:p> _:b .\n2\t_:b <x:p> << _:b <x:p> _:b >> .\n"
    plan = make_plan(tollgate_query())
    labels = {}
    for scope in BlankNodes:
        directory = tmp_path / scope
        semantics = replace(plan.semantics, blank_nodes=scope)
        query = replace(plan.query, semantics=semantics)
        deployment = open_deployment(directory, replace(plan, query=query))
        nodes = set[str]()
        for file in ("s", "t"):
            pane = decoded(deployment, tmp_path / f"{file}.tnq", text)
            again = decoded(deployment, tmp_path / f"{file}.tnq", text)
            _, terms = frames(deployment, pane)
            assert terms.sort("id").equals(frames(deployment, again)[1].sort("id"))
            nodes |= {term for term in terms[TEXT] if term.startswith("_:")}
        labels[scope] = len(nodes)
    assert labels == {BlankNodes.ELEMENT: 4, BlankNodes.STREAM: 1}


def test_a_file_that_lost_bytes_cannot_be_replayed(deployment: Deployment, tmp_path: Path) -> None:
    (tmp_path / "s.tnq").write_text("1\n")
    with pytest.raises(DataError, match="shorter"):
        decode_piece(Piece(0, str(tmp_path / "s.tnq"), 0, 99), deployment, batch=0)


def test_each_pane_knows_how_far_the_stream_was_before_it() -> None:
    panes = [Pane(n, "", "", 1, 1, high) for n, high in enumerate([5, None, 3, 9])]
    ordered, high = in_stream_order(panes, None)
    assert [pane.before for pane in ordered] == [None, 5, 5, 5]
    assert high == 9
    assert [pane.before for pane in in_stream_order(panes, 7)[0]] == [7, 7, 7, 7]
    assert in_stream_order([], None) == ((), None)


def manifest(batch: int, *panes: str, result: str | None = None) -> Manifest:
    return replace(
        NOTHING,
        batch=batch,
        panes=tuple(Pane(0, name, "sum", 1, 1, 2) for name in panes),
        progress=Progress(1, 2, counted=(0,)),
        report=Report(result, "sum"),
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
    commit(layout, manifest(0, "old", result="first"))
    commit(layout, manifest(1, "before"))
    commit(layout, replace(manifest(2, "before", "now", result="last")))
    sweep(layout)
    assert {file.name for file in layout.panes.iterdir()} == {"before", "now"}
    assert {file.name for file in layout.results.iterdir()} == {"first", "last"}
    assert [each.batch for each in read_manifests(layout)] == [0, 1, 2]


def test_a_deployment_keeps_its_seed_and_refuses_another_plan(tmp_path: Path) -> None:
    plan = make_plan(tollgate_query())
    first = open_deployment(tmp_path, plan)
    assert open_deployment(tmp_path, plan) == first
    assert first.layout.panes.stat().st_mode & 0o077 == 0
    with pytest.raises(SettingError, match="another query"):
        open_deployment(tmp_path, make_plan(tollgate_query(width=1)))
