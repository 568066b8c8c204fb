"""Which sink an `--out` names."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from headrace.algebra.query import Form
from headrace.errors import SettingError, listing
from headrace.sinks.base import Sink

Show = Callable[[str], object]
"""Shows a text on the terminal."""


def _show(text: str) -> None:
    sys.stdout.write(text)


KNOWN = ("FILE.ndjson", "FILE.jsonl", "FILE.csv", "FILE.tnq", "DIRECTORY.parquet")
TERMINAL = "-"
KAFKA = "kafka://"


def open_sink(
    out: str, forms: Mapping[str, Form], *, show: Show = _show, deployment: str = ""
) -> Sink:
    """The sink that an option names, opened, so that a run is not for nothing.

    Args:
        out: a file by its extension, `kafka://BROKER/TOPIC`, or `-`.
        forms: those of the queries of the run, by name.
        show: how the terminal shows a text.
        deployment: what tells this run from others that write to the same broker.

    Raises:
        SettingError: there is no such sink, it cannot be written, or not with these queries.
    """
    if out == TERMINAL:
        from headrace.sinks.console import ConsoleSink  # noqa: PLC0415

        return ConsoleSink(forms, show)
    if out.startswith(KAFKA):
        from headrace.sinks.kafka import KafkaSink  # noqa: PLC0415

        return KafkaSink(out, forms, deployment=deployment)
    return _file_sink(Path(out), forms)


def _file_sink(path: Path, forms: Mapping[str, Form]) -> Sink:
    match path.suffix.lower():
        case ".ndjson" | ".jsonl":
            from headrace.sinks.ndjson import NdjsonSink  # noqa: PLC0415

            return NdjsonSink(path, forms)
        case ".csv":
            from headrace.sinks.csv import CsvSink  # noqa: PLC0415

            return CsvSink(path, forms)
        case ".tnq":
            from headrace.sinks.timed import TimedSink  # noqa: PLC0415

            return TimedSink(path, forms)
        case ".parquet":
            from headrace.sinks.parquet import ParquetSink  # noqa: PLC0415

            return ParquetSink(path, forms)
        case _:
            known = listing([*KNOWN, f"{KAFKA}BROKER/TOPIC", TERMINAL])
            raise SettingError(f"expected --out {known}, found '{path}'")


def open_sinks(
    outs: Sequence[str],
    forms: Mapping[str, Form],
    *,
    show: Show = _show,
    deployment: str = "",
) -> dict[str, Sink]:
    """The sinks that options name, by their places; none is opened in vain.

    Raises:
        SettingError: one of them cannot be opened, or two are the same.
    """
    sinks: dict[str, Sink] = {}
    places: dict[str, str] = {}
    try:
        for out in outs:
            place = _place(out)
            if place in places:
                raise SettingError(f"--out {places[place]} and --out {out} are the same")
            places[place] = out
            sinks[place] = open_sink(out, forms, show=show, deployment=deployment)
    except BaseException:
        for sink in sinks.values():
            sink.close()
        raise
    return sinks


def _place(out: str) -> str:
    """Where results go, however it is written."""
    return out if out == TERMINAL or out.startswith(KAFKA) else str(Path(out).resolve())
