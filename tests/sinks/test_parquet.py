from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest

from headrace.algebra.expressions import Variable
from headrace.algebra.query import Ask, Construct, Form, Select
from headrace.errors import InternalError, MachineError, SettingError
from headrace.functions.values import TRUE
from headrace.kernel.grid import NEVER
from headrace.rdf.terms import Iri, Literal, canonical
from headrace.sinks.parquet import ParquetSink
from tests.sinks.reports import SELECT, report

A, B = Iri("x:a"), Iri("x:b")
AT = datetime(1970, 1, 1, tzinfo=UTC)


def opened(path: Path, forms: dict[str, Form] | None = None) -> ParquetSink:
    sink = ParquetSink(path, forms or {"q": SELECT})
    sink.recover(None)
    return sink


def names(path: Path) -> list[str]:
    return sorted(each.name for each in path.iterdir())


def test_parts_are_one_table(tmp_path: Path) -> None:
    forms: dict[str, Form] = {"q": SELECT, "ask": Ask(), "graph": Construct(())}
    path = tmp_path / "out.parquet"
    sink = opened(path, forms)
    windows = [("w", [0, NEVER], [1_000_000, 1_500_001]), ("v", [0, 0], [NEVER, 5])]
    rows = [(0, (A, None)), (0, (None, Literal("é", language="en")))]
    sink.write("9", [report(SELECT, [1_000_000, 1_500_001], rows, windows=windows)])
    sink.write("10", [])
    ask = report(Ask(), [2_000_000], [(0, (TRUE,))], query="ask", seqs=[2])
    graph = report(Construct(()), [2_000_000], [(0, (A, B, B, None))], query="graph")
    failed = report(SELECT, [3_000_000], errors={0: "no"})
    sink.write("11", [ask, graph, failed])
    sink.close()
    assert names(path) == ["part-0000000009.parquet", "part-0000000011.parquet"]
    table = pl.read_parquet(path / "*.parquet")
    assert table.columns == [
        *("query", "at", "seq", "windows", "x", "y", "boolean"),
        *("subject", "predicate", "object", "graph", "empty", "error", "skipped"),
    ]
    assert table["skipped"].to_list() == [False] * 6
    assert table["at"].dtype == pl.Datetime("us", "UTC")
    shown = table.select("query", "seq", "x", "y", "boolean", "object", "graph", "empty", "error")
    assert shown.rows() == [
        ("q", 0, "<x:a>", None, None, None, None, False, None),
        ("q", 0, None, '"é"@en', None, None, None, False, None),
        ("q", 0, None, None, None, None, None, True, None),
        ("ask", 2, None, None, canonical(TRUE), None, None, False, None),
        ("graph", 0, None, None, None, "<x:b>", None, False, None),
        ("q", 0, None, None, None, None, None, False, "no"),
    ]
    first, empty, last = (table.row(place, named=True) for place in (0, 2, 5))
    assert first["at"] == AT.replace(second=1)
    assert first["windows"] == [
        {"name": "w", "opens": AT, "closes": AT.replace(second=1)},
        {"name": "v", "opens": AT, "closes": None},
    ]
    assert empty["at"] == AT.replace(second=1, microsecond=500_001)
    assert empty["windows"][0]["opens"] is None
    assert last["windows"] == []


def test_a_skipped_instant_is_neither_empty_nor_an_error(tmp_path: Path) -> None:
    sink = opened(tmp_path / "out.parquet")
    sink.write("0", [report(SELECT, [0, 1, 2], [(2, (A, B))], skipped=[0])])
    sink.close()
    table = pl.read_parquet(tmp_path / "out.parquet" / "*.parquet")
    assert table.select("x", "empty", "error", "skipped").rows() == [
        (None, False, None, True),
        (None, True, None, False),
        ("<x:a>", False, None, False),
    ]


def test_terms_are_dictionary_encoded(tmp_path: Path) -> None:
    sink = opened(tmp_path / "out.parquet")
    sink.write("0", [report(SELECT, [0], [(0, (A, B))] * 1_000)])
    sink.close()
    [part] = (tmp_path / "out.parquet").iterdir()
    columns = pq.read_metadata(part).row_group(0)
    found = {
        columns.column(n).path_in_schema: columns.column(n) for n in range(columns.num_columns)
    }
    assert "RLE_DICTIONARY" in found["x"].encodings


def test_parts_sort_as_batches_do(tmp_path: Path) -> None:
    sink = opened(tmp_path / "out.parquet")
    for place, label in enumerate(["8", "10", "10.final", "11"]):
        sink.write(label, [report(SELECT, [place])])
    sink.close()
    table = pl.read_parquet(tmp_path / "out.parquet" / "*.parquet")
    assert table["at"].is_sorted()


def test_the_same_batch_gives_the_same_bytes(tmp_path: Path) -> None:
    rows = [(place % 7, (Literal(str(place)), A)) for place in range(5_000)]
    found = report(SELECT, list(range(7)), rows, windows=[("w", range(7), range(7))])
    contents = []
    for name in ("one", "other"):
        sink = opened(tmp_path / f"{name}.parquet")
        sink.write("3", [found])
        sink.close()
        [part] = (tmp_path / f"{name}.parquet").iterdir()
        contents.append(part.read_bytes())
    assert contents[0] == contents[1]


def test_recovery_deletes_what_came_after_the_mark(tmp_path: Path) -> None:
    path = tmp_path / "out.parquet"
    sink = opened(path)
    assert sink.mark() is None
    marks = {}
    for label in ("0", "1", "2", "2.final"):
        sink.write(label, [] if label == "1" else [report(SELECT, [0])])
        marks[label] = sink.mark()
    sink.close()
    (path / ".part-0000000003.parquet.draft").write_bytes(b"torn")
    (path / "_notes").write_text("mine")
    for label, kept in [
        ("2", ["part-0000000000.parquet", "part-0000000002.parquet"]),
        ("1", ["part-0000000000.parquet"]),
    ]:
        sink = ParquetSink(path, {"q": SELECT})
        sink.recover(marks[label])
        assert sink.mark() == marks[label]
        sink.close()
        assert names(path) == ["_notes", *kept]
    opened(path).close()
    assert names(path) == ["_notes"]


def test_a_part_that_is_missing_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "out.parquet"
    sink = opened(path)
    sink.write("0", [report(SELECT, [0])])
    sink.write("1", [report(SELECT, [0])])
    mark = sink.mark()
    (path / "part-0000000000.parquet").unlink()
    with pytest.raises(MachineError, match=r"has 1 parts up to batch 1, and .* written 2"):
        sink.recover(mark)
    sink.close()
    assert names(path) == ["part-0000000001.parquet"]


def test_other_files_and_tables_are_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "file.parquet"
    file.write_bytes(b"PAR1")
    with pytest.raises(SettingError, match="it is a file"):
        ParquetSink(file, {"q": SELECT})
    table = tmp_path / "table.parquet"
    table.mkdir()
    (table / "part-00000-mine.parquet").write_bytes(b"PAR1")
    with pytest.raises(SettingError, match=r"'part-00000-mine\.parquet'"):
        ParquetSink(table, {"q": SELECT})
    assert names(table) == ["part-00000-mine.parquet"]


def test_marks_and_labels_of_others_are_refused(tmp_path: Path) -> None:
    sink = ParquetSink(tmp_path / "out.parquet", {"q": SELECT})
    with pytest.raises(InternalError, match="before it is known where to begin"):
        sink.write("0", [])
    with pytest.raises(SettingError, match="found '17'"):
        sink.recover(17)
    sink.recover(None)
    with pytest.raises(InternalError, match=r"found '\.\./1'"):
        sink.write("../1", [report(SELECT, [0])])
    sink.close()


def test_a_variable_like_a_column_of_the_table_keeps_its_question_mark(tmp_path: Path) -> None:
    form = Select((Variable("windows"), Variable("empty"), Variable("x")))
    sink = opened(tmp_path / "out.parquet", {"q": form})
    sink.write("0", [report(form, [0], [(0, (A, B, A))])])
    sink.close()
    table = pl.read_parquet(tmp_path / "out.parquet" / "*.parquet")
    assert table.select("?windows", "?empty", "x", "empty").rows() == [
        ("<x:a>", "<x:b>", "<x:a>", False)
    ]


def test_a_directory_goes_on_only_with_the_columns_that_it_has(tmp_path: Path) -> None:
    path = tmp_path / "out.parquet"
    sink = opened(path)
    sink.write("0", [report(SELECT, [0])])
    mark = sink.mark()
    sink.close()
    sink = ParquetSink(path, {"q": SELECT, "ask": Ask()})
    with pytest.raises(SettingError, match=r"out\.parquet was begun with other columns"):
        sink.recover(mark)
    assert names(path) == ["part-0000000000.parquet"]
    sink.recover(None)
    sink.close()
    assert names(path) == []
