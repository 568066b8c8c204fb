"""A cache of static data that runs share: the same answers, with a schema too."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from headrace.dialects import parse
from headrace.doctor.cache import main
from headrace.launching import RunnerKind
from headrace.pipeline.keeper import Cache
from headrace.running import Job, Voice, run_job

RDFS = "http://www.w3.org/2000/01/rdf-schema#"
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
QUERY = (
    "PREFIX : <http://x/> SELECT * FROM NAMED <http://x/s> [NOW] AS ?w "
    "WHERE { GRAPH ?w { ?a :at ?r } ?a a :Person . ?a :knows ?b }"
)


def answers(folder: Path, name: str, *, schema: bool) -> list[str]:
    (folder / "s.tnq").write_text("1000\t<http://x/a> <http://x/at> <http://x/r> .\n")
    (folder / "a.nt").write_text(
        f"<http://x/a> {TYPE} <http://x/Author> .\n<http://x/a> <http://x/knows> <http://x/b> .\n"
    )
    (folder / "schema.nt").write_text(f"<http://x/Author> <{RDFS}subClassOf> <http://x/Person> .\n")
    out = folder / f"{name}.ndjson"
    job = Job(
        [parse(QUERY)],
        {"http://x/s": [str(folder / "s.tnq")]},
        [(None, folder / "a.nt")],
        outs=[str(out)],
        checkpoint=folder / name,
        runner=RunnerKind.INLINE,
        static_cache=folder / "cache",
        schemas=[(None, folder / "schema.nt")] if schema else [],
    )
    assert not run_job(job, Voice(lambda _: None, lambda _: None)).stopped
    return [line for line in out.read_text().splitlines() if '"notes"' not in line]


def test_deployments_share_a_cache_and_not_what_a_schema_adds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Job, "cache", lambda self, own: Cache(self.static_cache or own, least=1))
    plain = answers(tmp_path, "plain", schema=False)
    tables = Cache(tmp_path / "cache").tables
    first = {each.key for each in tables.entries()}
    assert any(key.endswith(" statements") for key in first)
    under = answers(tmp_path, "under", schema=True)
    assert len(under) > len(plain)
    second = {each.key for each in tables.entries()}
    assert {key for key in second if key.endswith(" statements")} <= first
    assert answers(tmp_path, "under-again", schema=True) == under
    assert answers(tmp_path, "plain-again", schema=False) == plain
    assert {each.key for each in tables.entries()} == second
    output = io.StringIO()
    assert main(tmp_path / "cache", 0.0, Console(file=output, width=200)) == 0
    assert "0 tables" in output.getvalue()
    assert answers(tmp_path, "after", schema=True) == under
