"""What a log holds is what readers of NDJSON read."""

from __future__ import annotations

from pathlib import Path

from headrace.errors import DataError
from headrace.ingest.log import IngestLog
from headrace.ingest.records import Record
from headrace.rdf.formats import Format
from headrace.rdf.streams import read_stream

NQ = "application/n-quads"
TIMED = Format.TIMED_N_QUADS.media_type


def test_records_are_elements_with_the_times_they_say(tmp_path: Path) -> None:
    refused: list[DataError] = []
    with IngestLog(tmp_path) as log:
        log.append(
            [
                Record(7, NQ, b"<x:a> <x:b> <x:c> .", "1970-01-01T00:00:01.5Z", "7-1-1-ab"),
                Record(8, NQ, b"<x:a> <x:b> <x:c> .", "soon"),
                Record(9, TIMED, b"2000\t<x:a> <x:b> <x:c> <x:g> .\n" * 2 + b"3000\n"),
                Record(9, TIMED, b'4000\t<x:a> <x:b> "\xff" .\n5000\t<x:a> <x:b> <x:c> .\n'),
            ]
        )
        text = (tmp_path / log.segments[0]).read_bytes()
    found = read_stream(text, Format.NDJSON, on_error=refused.append)
    assert found.elements["time"].to_list() == [1_500_000, 2_000_000, 3_000_000, 5_000_000]
    assert [error.line for error in refused] == [2, 4]
