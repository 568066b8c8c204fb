"""A crash at any point of a batch, then recovery: the output is as if there had been none."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from headrace.algebra.query import Construct, Form
from headrace.kernel.reports import Report
from headrace.rdf.terms import Iri, Literal
from headrace.sinks.base import Mark, Sink
from headrace.sinks.opening import open_sink
from tests.sinks.reports import SELECT, report

A, B, G = Iri("x:a"), Iri("x:b"), Iri("x:g")
CONSTRUCT = Construct(())
NAMES = ("out.ndjson", "out.csv", "out.tnq", "out.parquet")
CALLS = ("pwrite", "fsync", "ftruncate", "replace", "unlink")


class Crash(BaseException):
    """The process ends here; nothing may catch it."""


def form_for(name: str) -> Form:
    return CONSTRUCT if name.endswith(".tnq") else SELECT


def batches(name: str) -> dict[str, list[Report]]:
    form = form_for(name)

    def batch(number: int, rows: int) -> list[Report]:
        terms = (
            (A, B, Literal(f"é {number}"), G) if form == CONSTRUCT else (A, Literal(f"{number}"))
        )
        return [report(form, [number * 1_000_000, number * 1_000_000 + 5], [(0, terms)] * rows)]

    return {"0": batch(0, 3), "1": [], "2": batch(2, 2), "2.final": batch(3, 1)}


def opened(path: Path) -> Sink:
    return open_sink(str(path), {"q": form_for(path.name)})


def content(path: Path) -> dict[str, bytes]:
    files = path.iterdir() if path.is_dir() else [path]
    return {file.name: file.read_bytes() for file in files}


def run(path: Path, mark: Mark, labels: list[str]) -> Mark:
    """Write some batches from a mark on; the mark after them."""
    sink = opened(path)
    try:
        sink.recover(mark)
        for label in labels:
            sink.write(label, batches(path.name)[label])
        return sink.mark()
    finally:
        sink.close()  # as the system does when a process ends


@contextmanager
def crash(number: int, *, done: bool) -> Iterator[None]:
    """End at a call of the system, before it is made or when it is done, and make no more."""
    made = 0

    def ending(really: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            nonlocal made
            made += 1
            if made > number or (made == number and not done):
                raise Crash
            found = really(*arguments, **options)
            if made == number:
                raise Crash
            return found

        return call

    with ExitStack() as stack:
        for name in CALLS:
            stack.enter_context(mock.patch(f"os.{name}", ending(getattr(os, name))))
        yield


def crashed(number: int, done: bool, path: Path, mark: Mark, labels: list[str]) -> bool:
    """Whether there was a call to end at."""
    try:
        with crash(number, done=done):
            run(path, mark, labels)
    except Crash:
        return True
    return False


@pytest.mark.parametrize("done", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("name", NAMES)
def test_a_crash_at_any_call_of_the_system_leaves_no_trace(
    name: str, done: bool, tmp_path: Path
) -> None:
    labels = list(batches(name))
    whole = tmp_path / "whole" / name
    whole.parent.mkdir()
    run(whole, None, labels)
    points = 0
    for place, label in enumerate(labels):
        for number in count(1):
            path = tmp_path / f"{label} {number}" / name
            path.parent.mkdir()
            mark = run(path, None, labels[:place]) if place else None
            if not crashed(number, done, path, mark, [label]):
                break
            points += 1
            # The batch is written again, and a second crash on the way changes nothing.
            crashed(number, not done, path, mark, [label])
            run(path, mark, labels[place:])
            assert content(path) == content(whole), (label, number)
    assert points >= 2 * len(labels)


@pytest.mark.parametrize("name", NAMES)
def test_a_batch_that_was_whole_when_the_crash_came_is_there_once(
    name: str, tmp_path: Path
) -> None:
    labels = list(batches(name))
    whole, path = tmp_path / "whole" / name, tmp_path / "crashed" / name
    whole.parent.mkdir()
    path.parent.mkdir()
    run(whole, None, labels)
    mark: Mark = None
    for label in labels:
        before = mark
        mark = run(path, before, [label])
        assert run(path, before, [label]) == mark
    assert content(path) == content(whole)


@pytest.mark.parametrize("name", [name for name in NAMES if not name.endswith(".parquet")])
def test_a_batch_that_is_torn_at_any_byte_is_written_again(name: str, tmp_path: Path) -> None:
    labels = list(batches(name))
    path = tmp_path / name
    mark = run(path, None, labels[:2])
    run(path, mark, labels[2:3])
    whole = path.read_bytes()
    assert isinstance(mark, int)
    for torn in range(mark, len(whole) + 1):
        path.write_bytes(whole[:torn])
        run(path, mark, labels[2:3])
        assert path.read_bytes() == whole


def test_a_part_that_is_torn_at_any_byte_is_written_again(tmp_path: Path) -> None:
    path = tmp_path / "out.parquet"
    labels = list(batches(path.name))
    mark = run(path, None, labels[:2])
    run(path, mark, labels[2:])
    whole = content(path)
    part = "part-0000000002.parquet"
    for torn in range(0, len(whole[part]), 50):
        (path / part).unlink()
        (path / f".{part}.draft").write_bytes(whole[part][:torn])
        run(path, mark, labels[2:])
        assert content(path) == whole
