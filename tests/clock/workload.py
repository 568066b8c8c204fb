"""Queries over streams that go on while clocks are set, and their answers by window arithmetic.

Streams `x:a` and `x:b` have times of arrival, which the logs say; elements of `x:said` say theirs.
The elements of all three have numbers, and those of one number come at about the same time.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias

from headrace.ingest.log import segments_of
from headrace.ingest.records import record_of_line

SECOND: Final = 1_000_000
STEP: Final = SECOND
"""All windows slide by a second."""
PACE: Final = 0.05
"""Seconds from one element to the next, also by the times that elements say."""
_READ: Final = "FROM NAMED WINDOW <x:{0}w> ON <x:{0}> [RANGE {1}s STEP 1s] "
_IN: Final = "WINDOW <x:{0}w> {{ {1} }} "
WIDTHS: Final = {"tumbling": 1, "sliding": 4, "begun": 4, "joined": 2, "said": 2}
"""The seconds that windows of the queries are wide."""
QUERIES: Final = {
    "tumbling": "REGISTER QUERY tumbling AS SELECT (COUNT(*) AS ?n) "
    "FROM STREAM <x:a> [RANGE 1s STEP 1s] WHERE { ?x <x:p> ?v }",
    "sliding": "REGISTER QUERY sliding AS SELECT (COUNT(*) AS ?n) "
    "FROM STREAM <x:a> [RANGE 4s STEP 1s] WHERE { ?x <x:p> ?v }",
    "begun": "REGISTER ISTREAM begun AS SELECT ?v "
    + _READ.format("a", 4)
    + f"WHERE {{ {_IN.format('a', '?x <x:p> ?v')}}}",
    "joined": "REGISTER RSTREAM joined AS SELECT ?v "
    + _READ.format("a", 2)
    + _READ.format("b", 2)
    + f"WHERE {{ {_IN.format('a', '?x <x:p> ?v')}{_IN.format('b', '?y <x:p> ?v')}}}",
    "said": "REGISTER QUERY said AS SELECT (COUNT(*) AS ?n) "
    "FROM STREAM <x:said> [RANGE 2s STEP 1s] WHERE { ?x <x:p> ?v }",
}
_ELEMENT: Final = re.compile(r"<x:([a-z]+)(\d+)> <x:p>")

Times: TypeAlias = Mapping[int, int]
"""The microseconds of elements, by their numbers."""
Answer: TypeAlias = int | tuple[int, ...]
"""A number of elements, or the numbers of elements."""
Answers: TypeAlias = dict[int, Answer]
"""What a query answers, by instant in milliseconds; without instants that have none."""


def statement(stream: str, number: int) -> str:
    """Write an element of a stream."""
    return f"<x:{stream}{number}> <x:p> <x:v{number}> .\n"


def logged_times(logs: Path) -> Mapping[str, Times]:
    """The times of arrival of the elements of each stream, which rise in each log."""
    found: dict[str, dict[int, int]] = {}
    for folder in logs.iterdir():
        last = 0
        for segment in segments_of(folder):
            for line in segment.read_bytes().splitlines():
                record = record_of_line(line)
                assert record is not None, line
                assert record.received >= last, line
                last = record.received
                for stream, number in _ELEMENT.findall(record.data.decode()):
                    times = found.setdefault(stream, {})
                    assert int(number) not in times, line
                    times[int(number)] = record.received
    return found


def expected_answers(a: Times, b: Times, said: Times) -> dict[str, Answers]:
    """Compute what the windows hold that end at an instant: (instant - width, instant]."""
    sources = {"tumbling": a, "sliding": a, "begun": a, "joined": a, "said": said}
    found: dict[str, Answers] = {}
    for query, times in sources.items():
        width = WIDTHS[query] * SECOND
        windows: dict[int, list[int]] = {}
        for number, moment in times.items():
            first = -(-moment // STEP) * STEP
            for instant in range(first, moment + width, STEP):
                windows.setdefault(instant, []).append(number)
        match query:
            case "begun":
                windows = {
                    at: [each for each in held if times[each] > at - STEP]
                    for at, held in windows.items()
                }
            case "joined":
                windows = {
                    at: [each for each in held if each in b and at - width < b[each] <= at]
                    for at, held in windows.items()
                }
        found[query] = {
            at // 1000: tuple(sorted(held)) if query in ("begun", "joined") else len(held)
            for at, held in windows.items()
            if held
        }
    return found


def answers_of(query: str, lines: Iterable[tuple[int, Sequence[Mapping[str, Any]]]]) -> Answers:
    """Collect what a query has answered; its instants never go back.

    Args:
        query: its name.
        lines: instants, with the rows of each.
    """
    found: Answers = {}
    last = None
    for at, rows in lines:
        assert last is None or at > last, f"'{query}' goes back from {last} to {at}"
        last = at
        if query in ("begun", "joined"):
            numbers = [int(each["v"]["value"].removeprefix("x:v")) for each in rows]
            answer: Answer = tuple(sorted(numbers))
        else:
            answer = sum(int(each["n"]["value"]) for each in rows)
        if answer:
            found[at] = answer
    return found


def check_answers(query: str, found: Answers, expected: Answers) -> None:
    """Compare answers up to the last instant that has one, if they hold every element."""
    assert found, query
    reached = max(found)
    assert found == {at: each for at, each in expected.items() if at <= reached}, query


def written_answers(path: Path) -> dict[str, Answers]:
    """Collect the answers in a file of results."""
    lines: dict[str, dict[int, list[Mapping[str, Any]]]] = {query: {} for query in QUERIES}
    order: dict[str, list[int]] = {query: [] for query in QUERIES}
    for line in path.read_text().split("\n")[:-1] if path.exists() else []:
        each = json.loads(line)
        if "at" not in each:
            continue
        query, at = each["query"], each["at"]
        if not order[query] or order[query][-1] != at:
            order[query].append(at)
        lines[query].setdefault(at, []).extend([each["row"]] if each.get("row") else [])
    return {
        query: answers_of(query, [(at, lines[query][at]) for at in order[query]])
        for query in QUERIES
    }


@dataclass
class Pulse:
    """The longest time without anything new, by a clock that cannot be set."""

    longest: float = 0.0
    _last: object = None
    _since: float = field(default_factory=time.monotonic)

    def note(self, state: object) -> None:
        """Take note of a state; a new one ends a time without anything new."""
        now = time.monotonic()
        self.longest = max(self.longest, now - self._since)
        if state != self._last:
            self._last, self._since = state, now


def hold(seconds: float, work: Callable[[], None]) -> None:
    """Do something again and again for some seconds."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        work()
