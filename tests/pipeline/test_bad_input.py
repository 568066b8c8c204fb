"""Bad input: every bad element is rejected with its reason and place, the others count as ever."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from headrace.dialects import parse
from headrace.launching import RunnerKind
from headrace.running import Job, Voice, run_job

STREAM = "http://example.org/s"
QUERY = (
    f"REGISTER QUERY q AS SELECT ?s (COUNT(*) AS ?n) FROM STREAM <{STREAM}>"
    " [RANGE 10s STEP 10s] WHERE { ?s <x:p> ?o } GROUP BY ?s"
)
DEEP = "<< " * 100_000 + "<x:a> <x:p> <x:b> >> <x:p> <x:b> ."
GOOD = '<x:s{k}> <x:p> "{n}"^^<http://www.w3.org/2001/XMLSchema#integer> .'

BAD_LINES = {
    "truncated UTF-8": b'{t}\t<x:a> <x:p> "caf\xc3" .',
    "bad escape": rb'{t}	<x:a> <x:p> "\q" .',
    "huge literal": b'{t}\t<x:a> <x:p> "' + b"x" * 1_100_000 + b'" .',
    "no end": b"{t}\t<x:a> <x:p> <x:b>",
    "literal as subject": b'{t}\t"a" <x:p> <x:b> .',
    "deep nesting": b"{t}\t" + DEEP.encode(),
    "no time": b"yesterday\t<x:a> <x:p> <x:b> .",
    "far in the future": b"9999-12-31T23:59:59Z\t<x:a> <x:p> <x:b> .",
    "NUL": b"{t}\t<x:a\x00> <x:p> <x:b> .",
    "a space for a tab": b"{t} <x:a> <x:p> <x:b> .",
    "lone surrogate": rb'{t}	<x:a> <x:p> "\uD800" .',
    "unknown text": b"\xff\xfe\x00garbage",
}
BAD_ENVELOPES = {
    "not JSON": b'{"time": {t}, "data"',
    "not an object": b"[1, 2, 3]",
    "wrong content type": b'{"time": {t}, "data": "<x:a> <x:p> <x:b> .", "type": "image/png"}',
    "type and text differ": b'{"time": {t}, "data": "@prefix : <x:> .", "type": "text/n3"}',
    "no time": b'{"data": "<x:a> <x:p> <x:b> ."}',
    "a time that is none": b'{"time": "soon", "data": "<x:a> <x:p> <x:b> ."}',
    "far in the future": b'{"time": 253402300799000, "data": "<x:a> <x:p> <x:b> ."}',
    "deep JSON": b'{"time": {t}, "x": ' + b"[" * 50_000 + b"]" * 50_000 + b"}",
    "deep quotes": b'{"time": {t}, "data": "' + DEEP.encode() + b'"}',
    "bad base64": b'{"time": {t}, "base64": "%%%"}',
    "truncated UTF-8": b'{"time": {t}, "data": "<x:a> <x:p> \xc3 ."}',
    "bad escape in the data": rb'{"time": {t}, "data": "<x:a> <x:p> \"\\q\" ."}',
}


@dataclass
class Input:
    """A stream with bad elements, and the same without them."""

    mixed: list[bytes] = field(default_factory=list)
    good: list[bytes] = field(default_factory=list)
    bad: list[tuple[str, int]] = field(default_factory=list)


def made(suffix: str, count: int = 1_200) -> Input:
    chance = random.Random(5)
    kinds = BAD_LINES if suffix == ".tnq" else BAD_ENVELOPES
    names, found = sorted(kinds), Input()
    for number in range(count):
        time = 100 * number
        if number % 20 == 7:
            name = names[(number // 20) % len(names)]
            found.bad.append((name, len(found.mixed) + 1))
            found.mixed.append(kinds[name].replace(b"{t}", str(time).encode()))
        statement = GOOD.format(k=chance.randrange(9), n=number)
        line = f"{time}\t{statement}"
        if suffix == ".ndjson":
            line = json.dumps({"time": time, "data": statement})
        found.mixed.append(line.encode())
        found.good.append(line.encode())
    return found


def run(source: Path, folder: Path, runner: RunnerKind, partitions: int) -> list[dict[str, Any]]:
    """What is rejected; the results are in a file beside it."""
    job = Job(
        [parse(QUERY, settings={"max_ahead": "1d"})],
        {STREAM: [str(source)]},
        outs=[str(folder / "out.ndjson")],
        rejected=folder / "rejected.ndjson",
        runner=runner,
        pieces=1,
        partitions=partitions,
    )
    run_job(job, Voice(lambda _: None, lambda _: None))
    text = (folder / "rejected.ndjson").read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


def check(suffix: str, tmp_path: Path, runner: RunnerKind, partitions: int) -> None:
    found = made(suffix)
    for name, lines in (("mixed", found.mixed), ("good", found.good)):
        (tmp_path / name).mkdir()
        (tmp_path / f"{name}{suffix}").write_bytes(b"\n".join(lines) + b"\n")
    rejected = run(tmp_path / f"mixed{suffix}", tmp_path / "mixed", runner, partitions)
    assert run(tmp_path / f"good{suffix}", tmp_path / "good", RunnerKind.INLINE, 1) == []
    results = [(tmp_path / name / "out.ndjson").read_bytes() for name in ("mixed", "good")]
    assert results[0] == results[1]
    path = str(tmp_path / f"mixed{suffix}")
    ahead = [each for each in rejected if "time" in each]
    assert len(ahead) == sum(name == "far in the future" for name, _ in found.bad)
    assert all("max_ahead" in each["reason"] for each in ahead)
    places = {each["reason"].split(": ")[0] for each in rejected if "time" not in each}
    rows = {int(place.removeprefix(f"{path}:").split(":")[0]) for place in places}
    assert rows == {line for name, line in found.bad if name != "far in the future"}
    assert len(rejected) == len(found.bad)
    for each in rejected:
        if "time" not in each:
            row = int(each["reason"].removeprefix(f"{path}:").split(":")[0])
            line = found.mixed[row - 1]
            shown = line[:65_536].decode(errors="backslashreplace")
            cut = "" if len(line) <= 65_536 else f"… ({len(line):,} bytes)"
            assert each["text"] == shown + cut


@pytest.mark.parametrize("partitions", [1, 2])
@pytest.mark.parametrize("suffix", [".tnq", ".ndjson"])
def test_bad_elements_are_rejected_and_the_rest_is_exact(
    suffix: str, partitions: int, tmp_path: Path
) -> None:
    check(suffix, tmp_path, RunnerKind.INLINE, partitions)


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_so_it_is_on_spark(tmp_path: Path) -> None:
    check(".tnq", tmp_path, RunnerKind.SPARK, 2)
