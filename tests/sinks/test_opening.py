from __future__ import annotations

from pathlib import Path

import pytest

from headrace.algebra.query import Construct, Form
from headrace.errors import SettingError
from headrace.rdf.terms import Iri
from headrace.results.evaluations import Evaluation
from headrace.results.terminal import evaluation_text
from headrace.sinks.console import ConsoleSink
from headrace.sinks.csv import CsvSink
from headrace.sinks.memory import MemorySink
from headrace.sinks.ndjson import NdjsonSink
from headrace.sinks.opening import open_sink, open_sinks
from headrace.sinks.parquet import ParquetSink
from headrace.sinks.timed import TimedSink
from tests.sinks.reports import SELECT, report

CONSTRUCT = Construct(())
A, B = Iri("x:a"), Iri("x:b")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("out.ndjson", NdjsonSink),
        ("out.JSONL", NdjsonSink),
        ("out.csv", CsvSink),
        ("out.parquet", ParquetSink),
        ("out.tnq", TimedSink),
    ],
)
def test_the_extension_decides(name: str, kind: type, tmp_path: Path) -> None:
    sink = open_sink(str(tmp_path / name), {"q": CONSTRUCT})
    assert isinstance(sink, kind)
    assert (tmp_path / name).exists()
    sink.close()


def test_others_are_refused_with_those_that_there_are(tmp_path: Path) -> None:
    with pytest.raises(SettingError) as refused:
        open_sink(str(tmp_path / "out.xlsx"), {})
    for known in (".ndjson", ".jsonl", ".csv", ".tnq", ".parquet", "kafka://", " -,", "out.xlsx"):
        assert known in str(refused.value)


def test_a_place_that_cannot_be_written_is_said_before_the_run(tmp_path: Path) -> None:
    for name in ("out.ndjson", "out.csv", "out.tnq", "out.parquet"):
        with pytest.raises(SettingError, match=r"cannot write .*No such file or directory"):
            open_sink(str(tmp_path / "nowhere" / name), {})


def test_several_are_opened_or_none(tmp_path: Path) -> None:
    outs = [str(tmp_path / "one.ndjson"), str(tmp_path / "two.csv")]
    sinks = open_sinks(outs, {"q": SELECT})
    assert list(sinks) == outs
    for sink in sinks.values():
        sink.close()
    with pytest.raises(SettingError, match=r"two\.tnq"):
        open_sinks([*outs, str(tmp_path / "two.tnq")], {"q": SELECT})
    for sink in open_sinks(outs, {"q": SELECT}).values():  # they were let go of
        sink.close()


def test_no_two_are_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for outs in (["a.csv", "./a.csv"], ["-", "-"]):
        with pytest.raises(SettingError, match="are the same"):
            open_sinks(outs, {"q": SELECT})


def test_a_file_has_one_writer(tmp_path: Path) -> None:
    for name in ("out.ndjson", "out.parquet"):
        sink = open_sink(str(tmp_path / name), {"q": SELECT})
        with pytest.raises(SettingError, match="another run writes it"):
            open_sink(str(tmp_path / name), {"q": SELECT})
        sink.close()
        open_sink(str(tmp_path / name), {"q": SELECT}).close()


def test_the_terminal_shows_evaluations(capsys: pytest.CaptureFixture[str]) -> None:
    forms: dict[str, Form] = {"q": SELECT}
    found = report(SELECT, [0, 1_000_000], [(0, (A, B))])
    seen: list[Evaluation] = []
    memory = MemorySink(forms, seen.append)
    shown: list[str] = []
    sinks = [memory, open_sink("-", forms, show=shown.append), open_sink("-", forms)]
    for sink in sinks:
        sink.recover(sink.mark())
        sink.write("0", [found])
        sink.close()
    assert isinstance(sinks[1], ConsoleSink)
    assert [(each.at, each.rows) for each in seen] == [(0, ((A, B),)), (1_000_000, ())]
    assert shown == [evaluation_text(each) for each in seen]
    assert capsys.readouterr().out == "".join(shown)
