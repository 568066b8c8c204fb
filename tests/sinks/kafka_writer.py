"""A process that writes batches to a topic as the driver does, and may die at a named point.

python -m tests.sinks.kafka_writer URL DIRECTORY [METHOD WHEN CALL]

It dies before or after the given call of a method of Kafka's producer. What it has to know after a
crash, it keeps in the directory. It prints a line when its sink is open.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import confluent_kafka

from headrace.kernel.reports import Report
from headrace.rdf.terms import Iri
from headrace.sinks.kafka import KafkaSink
from tests.sinks.reports import SELECT, report

LABELS = [*map(str, range(50)), "49.final"]
FORMS = {"q": SELECT, "r": SELECT}


def reports(label: str) -> list[Report]:
    """What a batch reports: always the same, of different sizes, and sometimes nothing."""
    place = LABELS.index(label)
    if place % 7 == 3:
        return []
    rows = [(instant, (Iri(f"http://x/{label}/{instant}"), None)) for instant in (0, 0, 1)]
    times = [1_000_000 * place, 1_000_000 * place + 500]
    return [report(SELECT, times, rows * (place % 5 + 1), query=query) for query in FORMS]


def run(url: str, directory: Path) -> None:
    """Write all batches that are not written yet, the last of them perhaps again."""
    sink = KafkaSink(url, FORMS, deployment=directory.name)
    manifest = directory / "manifest.json"
    label, mark = json.loads(manifest.read_text()) if manifest.exists() else (LABELS[0], None)
    sink.recover(mark)
    print("open", flush=True)  # noqa: T201  # the test waits for it
    for each in LABELS[LABELS.index(label) :]:
        draft = manifest.with_suffix(".draft")
        draft.write_text(json.dumps([each, sink.mark() if each != label else mark]))
        draft.replace(manifest)
        sink.write(each, reports(each))
    sink.close()


def die_at(method: str, when: str, call: int) -> None:
    """Let processes of this kind be killed by the call of a method of the producer."""
    calls = 0
    original: Callable[..., Any] = getattr(confluent_kafka.Producer, method)

    def replacement(self: confluent_kafka.Producer, *arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == call and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        result = original(self, *arguments)
        if calls == call:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    mortal = type("Mortal", (confluent_kafka.Producer,), {method: replacement})
    confluent_kafka.Producer = mortal  # type: ignore[assignment, misc]  # the sink imports it from there


if __name__ == "__main__":
    url, directory, *point = sys.argv[1:]
    if point:
        die_at(point[0], point[1], int(point[2]))
    run(url, Path(directory))
