"""A worker of `/sparql` in this process: what its other thread and the server may do meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.kernel.dictionary import Dictionary
from headrace.metering import EvaluationLimits, Meter
from headrace.pipeline.tables import write_tables
from headrace.rdf.terms import Iri, Quad
from headrace.serve import sparql_worker
from headrace.serve.sparql_messages import (
    SparqlAnswer,
    SparqlRequest,
    StaticSnapshot,
    WorkerSettings,
)
from headrace.serve.sparql_worker import SparqlWorker

SETTINGS = WorkerSettings(1, None, (), (), EvaluationLimits(), 1 << 30, 1_000)
ANY = SparqlRequest("SELECT * { ?s ?p ?o }", "http://example.org/", (), (), None, None)


def snapshot(folder: Path) -> StaticSnapshot:
    dictionary = Dictionary(SETTINGS.seed)
    statements = dictionary.encode_quads([Quad(Iri("x:a"), Iri("x:b"), Iri("x:c"), None)])
    path = folder / "static.arrow"
    write_tables(path, [statements.to_arrow(), dictionary.known.to_arrow()], durable=False)
    return StaticSnapshot(1, path)


def test_a_worker_survives_that_its_snapshot_was_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = SparqlWorker(SETTINGS)
    worker.load(snapshot(tmp_path))
    assert isinstance(worker.answer(ANY), SparqlAnswer)
    monkeypatch.setattr(sparql_worker, "_MOST_TERMS", -1)
    worker.tidy()
    assert isinstance(worker.answer(ANY), SparqlAnswer)
    (tmp_path / "static.arrow").unlink()
    worker.tidy()
    worker.load(snapshot(tmp_path))
    assert isinstance(worker.answer(ANY), SparqlAnswer)


def test_a_request_that_ends_while_it_is_cancelled_does_no_harm() -> None:
    class EndingWorker(SparqlWorker):
        """Its evaluation ends as soon as somebody has looked for it."""

        looks = 0

        @property
        def meter(self) -> Meter | None:
            self.looks += 1
            return Meter(EvaluationLimits()) if self.looks == 1 else None

        @meter.setter
        def meter(self, meter: Meter | None) -> None:
            pass

    worker = EndingWorker(SETTINGS)
    worker.cancel("the client has gone")
    worker.cancel("the client has gone")
    assert worker.looks == 2
