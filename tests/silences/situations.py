"""Situations in which a query gives no rows, and what each front end says about them.

A file has `queries`, the `streams` as timed N-Quads, perhaps `static` graphs and `options` of the
command line, and in `[expected]` the exit code and the notes. `only` lists the front ends to which
the situation applies. `python -m tests.silences.situations` writes what is expected anew; the diff
is what a reviewer reads.
"""

from __future__ import annotations

import json
import sys
import tempfile
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from headrace import Engine
from headrace.cli import app
from headrace.rdf.times import microseconds
from tests.serve.clients import TIMED, register, served, until

FOLDER = Path(__file__).parent
FRONT_ENDS = ("cli", "python", "http", "spark")


@dataclass(frozen=True)
class Situation:
    """Queries over streams that give no rows, or not all that they should."""

    name: str
    queries: Sequence[str]
    streams: Mapping[str, str]
    static: Mapping[str, str] = field(default_factory=dict)
    options: Sequence[str] = ()
    only: Sequence[str] = FRONT_ENDS
    expected: Mapping[str, Any] = field(default_factory=dict)

    def notes(self, front_end: str) -> list[str]:
        """The notes that a front end is expected to give."""
        found: list[str] = self.expected.get(front_end, self.expected["notes"])
        return found


@dataclass(frozen=True)
class Heard:
    """What a front end said: its notes, how they are labelled, and the exit code."""

    notes: list[str]
    exit: int = 0


def situations() -> list[Situation]:
    """All situations, by their files."""
    return [
        Situation(path.stem, **tomllib.loads(path.read_text("utf-8")))
        for path in sorted(FOLDER.glob("*.toml"))
    ]


# -- front ends --------------------------------------------------------------------------------


def by_command(situation: Situation, folder: Path, runner: str = "inline") -> Heard:
    """Run the command line, and look at standard error and at the results."""
    out = folder / "out.ndjson"
    arguments = ["--runner", runner, "--once", "--out", str(out), *situation.options]
    for number, (iri, text) in enumerate(situation.streams.items()):
        source = folder / f"s{number}.tnq"
        source.write_text(text, "utf-8")
        arguments += ["--stream", f"{iri}={source}"]
    for number, (iri, text) in enumerate(situation.static.items()):
        source = folder / f"g{number}.ttl"
        source.write_text(text, "utf-8")
        arguments += ["--static", f"{iri}={source}" if iri else str(source)]
    result = CliRunner().invoke(app, ["run", *situation.queries, *arguments])
    lines = result.stderr.replace(f"{folder}/", "").splitlines()
    notes = [line for line in lines if line.startswith(("note: ", "error: "))]
    if out.exists() and result.exit_code != 2:
        _check_results(out, notes)
    return Heard(notes, result.exit_code)


def _check_results(out: Path, notes: Sequence[str]) -> None:
    """The notes in the results are those on standard error, at the end of the file."""
    lines = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    kinds = ["notes" in line for line in lines]
    assert kinds == sorted(kinds), "notes stand after all results"
    texts = {note["text"] for line in lines if "notes" in line for note in line["notes"]}
    said = {note.partition(": ")[2] for note in notes}
    assert {text.replace(f"{out.parent}/", "") for text in texts} <= said


def on_spark(situation: Situation, folder: Path) -> Heard:
    """Run the command line on Spark."""
    return by_command(situation, folder, "spark")


def in_python(situation: Situation, folder: Path) -> Heard:  # noqa: ARG001
    """Push everything, end the input, and look at the notes."""
    engine = Engine()
    for iri, text in situation.static.items():
        engine.static.load_text(text, iri or None)
    streams = {iri: engine.stream(iri) for iri in situation.streams}
    for text in situation.queries:
        engine.register(text)
    for iri, text in situation.streams.items():
        streams[iri].feed_timed(text)
    engine.finish()
    for query in engine.queries.values():
        assert set(query.notes) <= set(engine.notes)
    return Heard([_labelled(str(note.severity), note.text) for note in engine.notes])


def over_http(situation: Situation, folder: Path) -> Heard:
    """Push everything to a server, and look at its streams and queries."""
    with served(folder) as client:
        for iri, text in situation.static.items():
            params = {"graph": iri} if iri else {"default": ""}
            answer = client.put(
                "/store", params=params, content=text, headers={"Content-Type": "text/turtle"}
            )
            assert answer.status_code < 300, answer.text
        for number, iri in enumerate(situation.streams):
            made = client.put(f"/streams/s{number}", json={"iri": iri, "time": "said"})
            assert made.status_code == 201, made.text
        names = [register(client, text)["name"] for text in situation.queries]
        for number, text in enumerate(situation.streams.values()):
            _push(client, f"s{number}", text)
        paths = [*(f"/streams/s{n}" for n in range(len(situation.streams)))]
        paths += [f"/queries/{name}" for name in names]
        notes = until(lambda: _settled_notes(client, paths, names))
    return Heard(list(notes[0].values()))


def _settled_notes(
    client: Any, paths: Sequence[str], names: Sequence[str]
) -> tuple[dict[str, str]] | None:
    """Read the notes of a server, if no batch has changed them meanwhile."""

    def read() -> dict[str, str]:
        found = [note for path in paths for note in client.get(path).json()["notes"]]
        return {note["text"]: _labelled(note["severity"], note["text"]) for note in found}

    def batches() -> int:
        number: int = client.get("/status").json()["batches"]
        return number

    before, notes = batches(), read()
    metrics = client.get("/metrics").text
    results = [client.get(f"/queries/{name}/results").json()["notes"] for name in names]
    own = [client.get(f"/queries/{name}").json()["notes"] for name in names]
    if batches() != before or read() != notes:
        return None
    assert results == own
    assert metrics.count("headrace_notes{") >= len(notes)
    return (notes,)


def _push(client: Any, name: str, text: str) -> None:
    """Push timed N-Quads and an hour without elements, and wait until they are worked on."""
    answer = client.post(f"/streams/{name}", content=text, headers={"Content-Type": TIMED})
    if answer.status_code != 200 or not text:
        return
    times = [microseconds(line.partition("\t")[0]) for line in text.splitlines()]
    end = (max(times) + 3_600_000_000) // 1000
    beat = client.post(f"/streams/{name}/heartbeat", params={"at": str(end)})
    assert beat.status_code == 200, beat.text
    until(lambda: client.get(f"/streams/{name}").json()["high"] == end)


def _labelled(severity: str, text: str) -> str:
    return f"{'error' if severity == 'error' else 'note'}: {text}"


HEARING: Mapping[str, Callable[[Situation, Path], Heard]] = {
    "cli": by_command,
    "python": in_python,
    "http": over_http,
    "spark": on_spark,
}


# -- writing what is expected --------------------------------------------------------------------


def main() -> None:
    """Write what the front ends say into the files."""
    for situation in situations():
        if len(sys.argv) > 1 and situation.name not in sys.argv[1:]:
            continue
        heard = {}
        for name in ("cli", "python", "http"):
            if name in situation.only:
                with tempfile.TemporaryDirectory() as folder:
                    heard[name] = HEARING[name](situation, Path(folder))
        first = heard["cli"]
        lines = [f"exit = {first.exit}", _toml("notes", first.notes)]
        lines += [
            _toml(name, each.notes) for name, each in heard.items() if each.notes != first.notes
        ]
        path = FOLDER / f"{situation.name}.toml"
        before = path.read_text("utf-8").partition("[expected]")[0]
        path.write_text(before + "[expected]\n" + "\n".join(lines) + "\n", "utf-8")


def _toml(name: str, notes: Sequence[str]) -> str:
    if not notes:
        return f"{name} = []"
    texts = [f"  {json.dumps(note, ensure_ascii=False)}," for note in notes]
    return "\n".join([f"{name} = [", *texts, "]"])


if __name__ == "__main__":
    main()
