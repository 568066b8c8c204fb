"""The last evaluations of each query, on disk and at hand, for whoever asks or follows.

One file has those of all queries, a line each. The ids of evaluations grow, and the mark of this
sink is the next id: after a crash, whatever has a greater id is cut off and comes again.
"""

from __future__ import annotations

import json
import logging
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Any, Final

import xxhash

from headrace.algebra.query import Construct, Describe, Form, Select
from headrace.durable import AppendFile
from headrace.errors import DamagedError, MachineError
from headrace.kernel.evaluations import evaluations
from headrace.kernel.reports import Report, slices_of
from headrace.pipeline.tables import unwritable
from headrace.rdf.terms import Quad, Term
from headrace.results.evaluations import Evaluation
from headrace.results.json_format import term_to_json
from headrace.serve.catalogue import replace_file
from headrace.serve.limits import Limits
from headrace.sinks.base import Mark

LOGGER: Final = logging.getLogger("headrace.serve")
_LEAST_COMPACTED: Final = 1 << 20
_LEAST_KEPT: Final = 100
"""So many evaluations of a query are kept however old they are, if their size allows."""


@dataclass(slots=True)
class Kept:
    """An evaluation that is kept.

    Attributes:
        id: its number among those of all queries.
        query: the name of its query.
        line: as it stands in the file, and as clients are sent it.
        rows: how many rows or statements it has.
        at: its instant, in milliseconds.
        number: of its query, counted from 1.
        taken: when it was taken, in seconds of a clock that never goes back.
        events: the same as events, made when somebody follows.
    """

    id: int
    query: str
    line: bytes
    rows: int
    at: float
    number: int
    taken: float = field(default_factory=monotonic, compare=False, repr=False)
    events: bytes | None = field(default=None, repr=False)

    def said(self) -> dict[str, Any]:
        """What it says."""
        found: dict[str, Any] = json.loads(self.line)
        return found


@dataclass(frozen=True, slots=True)
class Spoken:
    """What the sink must know of a query.

    Attributes:
        form: what it answers with.
        emits: which of its answers, as in `rstream`.
    """

    form: Form
    emits: str


class Retained:
    """Keeps the last evaluations; a sink of the pipeline."""

    def __init__(
        self,
        path: Path,
        limits: Limits,
        spoken: Callable[[], Mapping[str, Spoken]],
        tell: Callable[[Sequence[Kept]], None],
    ) -> None:
        """Read what is there.

        Args:
            path: the file.
            limits: how many are kept.
            spoken: the queries by name.
            tell: called with what is new, in the thread of the pipeline.

        Raises:
            MachineError: the file cannot be read.
        """
        self._path = path
        self._limits = limits
        self._spoken = spoken
        self._tell = tell
        self._guard = Lock()
        self._kept: dict[str, deque[Kept]] = {}
        self._bytes: dict[str, int] = {}
        self._numbers: dict[str, int] = {}
        self._dropped: dict[str, int] = {}
        self._next = 1
        self._file = self._opened()

    def _opened(self) -> AppendFile:
        found = read_results(self._path)
        self._found = found if self._path.exists() else None
        for said, line in found.evaluations:
            self._take(_kept(said, line))
        self._next = found.next_id
        for name, kept in self._kept.items():
            if kept[0].number > 1:
                self._dropped[name] = max(self._dropped.get(name, 0), kept[0].id - 1)
        try:
            return AppendFile(self._path, found.length)
        except OSError as error:
            raise unwritable(self._path, error) from error

    # -- a sink ------------------------------------------------------------------------------

    def mark(self) -> Mark:
        """The next id."""
        return self._next

    def recover(self, mark: Mark) -> None:
        """Cut off what was written after a mark.

        Raises:
            DamagedError: the file has lost evaluations before the mark.
        """
        following = mark if isinstance(mark, int) else 1
        if self._found is None and following > self._next:
            LOGGER.warning("%s is missing: results from before now are gone", self._path)
            self._dropped = dict.fromkeys(self._spoken(), following - 1)
        if self._found is not None:
            self._found.check_end(self._path, mark)
            self._found = None  # later marks are those of what was written since
        if following == self._next:
            return
        if following > self._next:
            self._next = following
            self._compact()  # ids of a file that was taken away are not used again
            return
        with self._guard:
            for name, kept in self._kept.items():
                while kept and kept[-1].id >= following:
                    gone = kept.pop()
                    self._bytes[name] -= len(gone.line)
                    self._numbers[name] = gone.number - 1
        self._next = following
        self._compact()

    def write(self, label: str, reports: Sequence[Report]) -> None:  # noqa: ARG002
        """Keep what a batch reported, durably, and tell those who follow."""
        for some in slices_of(reports):
            self._write(some)

    def _write(self, reports: Sequence[Report]) -> None:
        spoken = self._spoken()
        made = _Numbering(self._next, dict(self._numbers))
        new = [
            self._made(evaluation, spoken[report.query], made)
            for report in reports
            if report.query in spoken
            for evaluation in evaluations(report, spoken[report.query].form)
        ]
        if not new:
            return
        try:
            self._file.append(b"".join(_checked(each.line) for each in new))
        except OSError as error:
            raise unwritable(self._path, error) from error
        with self._guard:
            for each in new:
                self._take(each)
        if self._file.length > _LEAST_COMPACTED and self._file.length > 2 * self.size:
            self._compact()
        self._tell(new)

    def close(self) -> None:
        """Release the file."""
        self._file.close()

    def _made(self, evaluation: Evaluation, spoken: Spoken, numbering: _Numbering) -> Kept:
        id_, number = numbering.following(evaluation.query)
        said = _said(evaluation, id_, number, spoken, self._limits.kept_rows)
        line = json.dumps(said, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        return _kept(said, line)

    def _take(self, each: Kept) -> None:
        kept = self._kept.setdefault(each.query, deque())
        kept.append(each)
        size = self._bytes.get(each.query, 0) + len(each.line)
        while self._is_too_much(kept, size, each.taken):
            gone = kept.popleft()
            size -= len(gone.line)
            self._dropped[each.query] = gone.id
        self._bytes[each.query] = size
        self._numbers[each.query] = each.number
        self._next = max(self._next, each.id + 1)

    def _is_too_much(self, kept: deque[Kept], size: int, now: float) -> bool:
        """Test whether the oldest evaluation of a query is not kept any longer."""
        if len(kept) == 1:
            return False
        if len(kept) > self._limits.kept_evaluations or size > self._limits.kept_bytes:
            return True
        return len(kept) > _LEAST_KEPT and now - kept[0].taken > self._limits.kept_seconds

    def _compact(self) -> None:
        """Write what is kept to a new file in place of the old one."""
        with self._guard:
            every = sorted((each for kept in self._kept.values() for each in kept), key=_by_id)
        # The newest evaluations may be those of a query that is gone, and their ids stay used.
        numbering = json.dumps({_NEXT: self._next}).encode() + b"\n"
        content = b"".join(map(_checked, (numbering, *(each.line for each in every))))
        replace_file(self._path, content)
        self._file.close()
        try:
            self._file = AppendFile(self._path, len(content))
        except OSError as error:
            raise unwritable(self._path, error) from error

    # -- for those who ask -------------------------------------------------------------------

    @property
    def size(self) -> int:
        """The bytes of all that is kept."""
        return sum(self._bytes.values())

    def last(self, query: str, number: int, after: int = 0) -> list[Kept]:
        """The last evaluations of a query, of those after an id."""
        with self._guard:
            kept = self._kept.get(query, ())
            found = [each for each in reversed(kept) if each.id > after][:number]
        return found[::-1]

    def after(self, query: str, id_: int, most: int) -> list[Kept]:
        """The first evaluations of a query after an id."""
        with self._guard:
            kept = self._kept.get(query)
            if not kept or kept[-1].id <= id_:
                return []
            found: deque[Kept] = deque()
            for each in reversed(kept):
                if each.id <= id_:
                    break
                found.appendleft(each)
        return list(found)[:most]

    def ends(self, query: str) -> tuple[Kept, Kept] | None:
        """The oldest and the newest evaluation that is kept of a query."""
        with self._guard:
            kept = self._kept.get(query)
            return (kept[0], kept[-1]) if kept else None

    def dropped(self, query: str) -> int:
        """The id of the last evaluation of a query that is no longer kept; 0 if all are."""
        return self._dropped.get(query, 0)

    @property
    def newest(self) -> int:
        """The greatest id so far."""
        return self._next - 1

    def forget(self, query: str) -> None:
        """Drop what is kept of a query; in the thread of the pipeline."""
        with self._guard:
            gone = self._kept.pop(query, None)
            for of_query in (self._bytes, self._numbers, self._dropped):
                of_query.pop(query, None)
        if gone:
            self._compact()


def _by_id(kept: Kept) -> int:
    return kept.id


@dataclass(slots=True)
class _Numbering:
    """The ids and numbers of new evaluations; those of a batch that fails are not used up."""

    next_id: int
    numbers: dict[str, int]

    def following(self, query: str) -> tuple[int, int]:
        """Return the next id, and the next number of a query."""
        id_, number = self.next_id, self.numbers.get(query, 0) + 1
        self.next_id += 1
        self.numbers[query] = number
        return id_, number


@dataclass(frozen=True, slots=True)
class ResultsFile:
    """The good content of a file of results.

    Attributes:
        evaluations: each with its line.
        length: how many bytes all lines have.
        next_id: the id of the next evaluation, as far as the lines tell.
        is_numbered: whether the lines tell it surely; those of an older version do not.
    """

    evaluations: list[tuple[dict[str, Any], bytes]]
    length: int
    next_id: int
    is_numbered: bool = True

    def check_end(self, path: Path, mark: Mark | None) -> None:
        """Check that no evaluation before a mark is missing.

        Raises:
            DamagedError: one is.
        """
        if self.is_numbered and isinstance(mark, int) and mark > self.next_id:
            raise DamagedError(f"{path} is damaged: evaluation {mark - 1} is missing; {_REMEDY}")


def read_results(path: Path) -> ResultsFile:
    """Read a file of results; a torn end is left out.

    Raises:
        DamagedError: a line is not what was written.
    """
    try:
        content = path.read_bytes() if path.exists() else b""
    except OSError as error:
        problem = f"{path} cannot be read ({error.strerror}); {_REMEDY}"
        raise DamagedError(problem) from error
    length = content.rfind(b"\n") + 1
    found, next_id, is_numbered = [], 1, True
    for number, line in enumerate(content[:length].split(b"\n")[:-1], 1):
        read = _read_line(line)
        if read is None:
            problem = f"{path} is damaged: line {number} is not what was written"
            raise DamagedError(f"{problem}; {_REMEDY}")
        said, text = read
        is_numbered = is_numbered and line[:1] != b"{"
        next_id = max(next_id, said[_NEXT] if _NEXT in said else said["id"] + 1)
        if _NEXT not in said:
            found.append((said, text + b"\n"))
    return ResultsFile(found, length, next_id, is_numbered)


def _read_line(line: bytes) -> tuple[dict[str, Any], bytes] | None:
    """Read a line of results and its text; None if it is not what was written."""
    # An older version has written lines without checksums.
    checksum, text = (None, line) if line[:1] == b"{" else (line[:_HEX], line[_HEX + 1 :])
    if checksum is not None and xxhash.xxh3_64_hexdigest(text).encode() != checksum:
        return None
    try:
        said: dict[str, Any] = json.loads(text)
        numbered = isinstance(said[_NEXT] if _NEXT in said else said["id"], int)
    except (ValueError, TypeError, KeyError):
        return None
    return (said, text) if numbered else None


def write_whole_end(source: Path, path: Path, mark: Mark | None) -> int:
    """Write the evaluations after the last damaged line of a file of results to a new file.

    There is no gap among them: if the end is lost, none is written.

    Args:
        source: the damaged file.
        path: the new one.
        mark: the next id, as far as a deployment knows it.

    Returns:
        How many evaluations there are.

    Raises:
        MachineError: the file cannot be written.
    """
    content = b"" if source.is_dir() else source.read_bytes()
    whole, next_id, is_broken = list[bytes](), 1, False
    for line in content[: content.rfind(b"\n") + 1].split(b"\n")[:-1]:
        read = _read_line(line)
        if read is None:
            is_broken = True
            continue
        if is_broken:
            whole.clear()
            is_broken = False
        said, text = read
        next_id = max(next_id, said[_NEXT] if _NEXT in said else said["id"] + 1)
        if _NEXT not in said:
            whole.append(text + b"\n")
    known = mark if isinstance(mark, int) else next_id
    if next_id < known:
        whole.clear()
    numbering = json.dumps({_NEXT: known}).encode() + b"\n"
    replace_file(path, b"".join(map(_checked, (numbering, *whole))))
    return len(whole)


def check_results(path: Path, mark: Mark | None) -> None:
    """Check a file of results against the mark that a deployment has of it.

    Raises:
        DamagedError: a line is not what was written, or evaluations before the mark are missing.
    """
    if path.exists():
        read_results(path).check_end(path, mark)


def _checked(line: bytes) -> bytes:
    """Write a line with its checksum before it."""
    return xxhash.xxh3_64_hexdigest(line[:-1]).encode() + b" " + line


SINK: Final = "server"
"""The name of this sink in a deployment."""
_HEX: Final = 16
_NEXT: Final = "next"
"""The member of a line that says which id is the next."""
_REMEDY: Final = (
    "it has old results only: move it out of the way, and the server goes on without; `headrace "
    "doctor --checkpoint LOCATION --repair` keeps those after the damage"
)


def _kept(said: Mapping[str, Any], line: bytes) -> Kept:
    try:
        number = said.get("count", 0)
        return Kept(said["id"], said["query"], line, number, said["at"], said["number"])
    except (KeyError, TypeError) as error:
        raise MachineError("the file of results is damaged; remove it to go on") from error


def _said(
    evaluation: Evaluation, id_: int, number: int, spoken: Spoken, most: int
) -> dict[str, Any]:
    """Write an evaluation for JSON."""
    said: dict[str, Any] = {
        "id": id_,
        "query": evaluation.query,
        "number": number,
        "at": _milliseconds(evaluation.at),
        "seq": evaluation.seq,
        "windows": {
            name: {"open": _moment(opens), "close": _moment(closes)}
            for name, (opens, closes) in evaluation.windows.items()
        },
        "op": spoken.emits,
    }
    if evaluation.accuracy is not None:
        said["accuracy"] = round(evaluation.accuracy, 4)
    if evaluation.completeness is not None:
        said["completeness"] = round(evaluation.completeness, 4)
    if evaluation.since is not None:
        said["since"], said["instants"] = _milliseconds(evaluation.since), evaluation.instants
    if evaluation.error is not None:
        return said | {"error": evaluation.error, "count": 0}
    if evaluation.skipped:
        return said | {"skipped": True, "count": 0}
    if evaluation.boolean is not None:
        return said | {"boolean": evaluation.boolean, "count": 1}
    return said | _content(evaluation, spoken.form, most)


def _content(evaluation: Evaluation, form: Form, most: int) -> dict[str, Any]:
    total = max(len(evaluation.rows), len(evaluation.quads))
    said: dict[str, Any] = {"count": total}
    if total > most:
        said["truncated"] = most
    if isinstance(form, Construct | Describe):
        said["triples"] = [
            [term_to_json(term) for term in _parts(quad)] for quad in evaluation.quads[:most]
        ]
    elif isinstance(form, Select):
        names = evaluation.variables
        said["rows"] = [
            {
                name: term_to_json(term)
                for name, term in zip(names, row, strict=True)
                if term is not None
            }
            for row in evaluation.rows[:most]
        ]
    return said


def _parts(quad: Quad) -> Iterable[Term]:
    spoken = (quad.subject, quad.predicate, quad.object)
    return spoken if quad.graph is None else (*spoken, quad.graph)


def _moment(time: int | None) -> int | float | None:
    return None if time is None else _milliseconds(time)


def _milliseconds(time: int) -> int | float:
    return time // 1000 if time % 1000 == 0 else time / 1000
