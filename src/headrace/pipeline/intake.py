"""What a batch brings, put in the order of its streams: positions, times, and what is refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import numpy as np
import polars as pl

from headrace.diagnosis.probes import Tally
from headrace.errors import DataError
from headrace.kernel.arrivals import Arrivals
from headrace.kernel.arriving import Gate
from headrace.kernel.columns import GRAPH, ID, OBJECT, PREDICATE, STATEMENT, SUBJECT, TEXT, TIME
from headrace.kernel.grid import NEVER
from headrace.kernel.log import Elements
from headrace.kernel.stream_counters import Counters, counters_of
from headrace.pipeline.manifest import StreamState
from headrace.pipeline.panes import ENTAILED, MESSAGE, PLACE, SIZE, Columns, Pane, arrivals
from headrace.pipeline.results import LATE, REJECTED
from headrace.pipeline.time_jumps import find_line, follow_time_jump

MOST_FILES: Final = 64
"""The line numbers of so many files are remembered, of each stream."""

Loaded = tuple[Pane, Columns]
Rejection = tuple[str, str, int | None, list[str], str | None]
"""A stream, a reason, and the time and the statements or the text of what was not taken."""


@dataclass(frozen=True, slots=True)
class Intake:
    """A batch in order.

    Attributes:
        panes: with what they hold.
        streams: how far each stream has come with it.
        rejected: what could not be taken, and why.
    """

    panes: tuple[Loaded, ...]
    streams: Mapping[str, StreamState]
    rejected: pl.DataFrame


def taken_in(
    panes: Iterable[Pane],
    streams: Mapping[str, StreamState],
    first: int,
    load: Callable[[Pane], Columns],
    gate: Callable[[str], Gate],
) -> Intake:
    """Put panes in order, and refuse the elements whose times cannot be right.

    Args:
        panes: what tasks have decoded, in any order.
        streams: how far each stream had come before.
        first: the position of the first element.
        load: reads a pane.
        gate: what is refused, by stream.
    """
    after = dict(streams)
    found: list[Loaded] = []
    rejected: list[Rejection] = []
    for pane in sorted(panes, key=lambda each: (each.ordinal, each.partition)):
        state = after[pane.stream]
        placed = replace(pane, before=state.highs.get(pane.partition), first=first)
        columns = load(placed)
        placed = _through(placed, columns, gate(pane.stream))
        line = state.lines.get(pane.piece.path, 0) if pane.piece else 0
        known = len(rejected)
        rejected += _unreadable(placed, columns, line)
        rejected += _refused(placed, columns, gate(pane.stream))
        after[pane.stream] = _advanced(state, placed, columns, rejected[known:])
        found.append((replace(placed, tally=None), columns))
        first += pane.elements
    return Intake(tuple(found), after, pl.DataFrame(rejected, schema=REJECTED, orient="row"))


def _through(pane: Pane, columns: Columns, gate: Gate) -> Pane:
    """A pane without the elements that a gate does not let pass."""
    if pane.within(gate):
        return pane
    times = columns.elements[TIME].to_numpy()
    taken, _ = gate.passed(times, pane.before)
    return replace(
        pane,
        refused=tuple(np.flatnonzero(~taken).tolist()),
        high=int(times[taken].max()) if taken.any() else None,
    )


def _advanced(
    state: StreamState, pane: Pane, columns: Columns, rejected: Sequence[Rejection]
) -> StreamState:
    before = state.highs.get(pane.partition)
    known = [time for time in (before, pane.high) if time is not None]
    lines = dict(state.lines)
    if pane.piece is not None:  # the last file read is the last one remembered
        lines[pane.piece.path] = lines.pop(pane.piece.path, 0) + pane.lines
    return replace(
        state.with_counts(_counters(pane, columns.elements)),
        highs={**state.highs, pane.partition: max(known, default=None)},
        lines=dict(list(lines.items())[-MOST_FILES:]),
        reason=state.reason or next((reason for _, reason, *_ in rejected), None),
        tally=_add_tally(state.tally, pane),
    )


def _counters(pane: Pane, elements: pl.DataFrame) -> Counters:
    """Count what a pane holds, and what of it is taken."""
    if not pane.refused:
        rejected, beats = pane.rejected, pane.elements - pane.counted
        return Counters(pane.counted + rejected, 0, rejected, pane.messages, beats, pane.unread)
    taken = np.ones(elements.height, np.bool_)
    taken[list(pane.refused)] = False
    return counters_of(
        elements[SIZE].to_numpy(),
        messages=elements[MESSAGE].to_numpy() if MESSAGE in elements.columns else None,
        taken=taken,
        unread=pane.unread,
        problems=pane.rejected,
    )


def _add_tally(tally: Tally | None, pane: Pane) -> Tally | None:
    """Add the tally of a pane to another."""
    if tally is None or pane.tally is None:
        return None if tally is None else replace(tally, partial=True)
    return tally.plus(replace(pane.tally, least=pane.least))


def _unreadable(pane: Pane, columns: Columns, line: int) -> Iterator[Rejection]:
    for name, own, column, problem, text in columns.problems.iter_rows():
        place = None if own is None else own + line
        yield pane.stream, str(DataError(problem, name, place, column)), None, [], text


def _refused(pane: Pane, columns: Columns, gate: Gate) -> Iterator[Rejection]:
    if not pane.refused:
        return
    times = columns.elements[TIME].to_numpy()
    _, highs = gate.passed(times, pane.before)
    texts = quads_of(columns, pane.refused)
    for place in pane.refused:
        high = int(highs[place])
        reason = gate.reason(int(times[place]), None if high == NEVER else high)
        yield pane.stream, str(reason), int(times[place]), texts.get(place, []), None


def follow_time_jumps(
    intake: Intake, late: Mapping[str, Sequence[int]], gate: Callable[[str], Gate]
) -> dict[str, StreamState]:
    """Update the time jumps of the streams of a replay.

    Args:
        intake: the batch.
        late: the positions of late elements, by stream.
        gate: what is refused, by stream; where the clock decides, nothing is ahead.
    """
    streams, left = dict(intake.streams), Counter[tuple[str, str]]()
    for pane, _ in intake.panes:
        if pane.piece is not None:
            left[pane.stream, pane.piece.path] += pane.lines
    for pane, columns in intake.panes:
        if gate(pane.stream).now is not None:
            continue
        state = streams[pane.stream]
        line = 0
        if pane.piece is not None:
            known = pane.stream, pane.piece.path
            line = state.lines.get(pane.piece.path, 0) - left[known]
            left[known] -= pane.lines
        taken = np.ones(columns.elements.height, np.bool_)
        taken[list(pane.refused)] = False
        places = np.flatnonzero(taken)
        found = follow_time_jump(
            state.jump,
            columns.elements[TIME].to_numpy()[places],
            pane.before,
            np.isin(places + pane.first, np.array(late.get(pane.stream, ()), np.int64)),
            partial(_where, pane, columns.elements[TIME], places.tolist(), line),
        )
        streams[pane.stream] = replace(state, jump=found)
    return streams


def _where(pane: Pane, times: pl.Series, places: Sequence[int], first_line: int, place: int) -> str:
    """Describe the place of an element of a pane in its source."""
    at = places[place]
    if pane.piece is None:
        return f"element {at + 1:,} of {pane.partition} from offset {pane.ordinal:,}"
    path = pane.piece.path
    try:
        line = find_line(pane.piece.content(), pane.piece.form, times[at])
    except DataError:  # the file is gone, and so is the line
        line = None
    if line is not None:
        return f"{path}, line {line + first_line:,}"
    return path if pane.elements == 1 else f"{path}, element {at + 1:,}"


def quads_of(columns: Columns, places: Sequence[int]) -> dict[int, list[str]]:
    """The statements of some elements as N-Quads, as they came, by their places in the pane."""
    found: dict[int, list[str]] = {}
    chosen = columns.statements.filter(pl.col(PLACE).is_in(list(places)))
    if ENTAILED in chosen.columns:
        chosen = chosen.filter(~pl.col(ENTAILED))
    texts = chosen.select(PLACE, *(_texts(chosen[name], columns.terms) for name in STATEMENT))
    for place, *terms in texts.select(PLACE, SUBJECT, PREDICATE, OBJECT, GRAPH).iter_rows():
        statement = " ".join(term for term in terms if term is not None)
        found.setdefault(place, []).append(f"{statement} .")
    return found


def _texts(ids: pl.Series, terms: pl.DataFrame) -> pl.Series:
    known = terms.select(ID, TEXT)
    joined = ids.rename(ID).to_frame().join(known, on=ID, how="left", maintain_order="left")
    return joined[TEXT].alias(ids.name)


def batch_of(intake: Intake, base: int, whole: Container[str] | None = None) -> dict[str, Arrivals]:
    """What has come on each stream; positions count from a base.

    Args:
        intake: the batch.
        base: the position that counts as 0.
        whole: the streams whose statements are needed; of the others, elements are.
    """
    parts: dict[str, list[Arrivals]] = {iri: [] for iri in intake.streams}
    for pane, columns in intake.panes:
        if whole is not None and pane.stream not in whole:
            columns = replace(columns, statements=columns.statements.clear())  # noqa: PLW2901
        parts[pane.stream].append(arrivals(pane, columns, base))
    return {iri: united(each, intake.streams[iri].high) for iri, each in parts.items()}


def united(parts: Sequence[Arrivals], high: int | None) -> Arrivals:
    """What has come on a stream, piece by piece, as one."""
    if not parts:
        return Arrivals(high=high)
    statements = [part.statements for part in parts]
    elements = [part.elements for part in parts if part.elements is not None]
    arrays = ([getattr(each, name) for each in elements] for name in Elements.__dataclass_fields__)
    return Arrivals(
        pl.concat(statements) if len(statements) > 1 else statements[0],
        high,
        Elements(*map(np.concatenate, arrays)) if len(elements) > 1 else elements[0],
    )


def late_rows(
    positions: Mapping[str, Sequence[int]],
    panes: Sequence[Pane],
    whole: Callable[[Pane], Columns],
) -> pl.DataFrame:
    """The statements of the elements that missed a window.

    Args:
        positions: which elements, by stream.
        panes: where they may be.
        whole: reads all that was in a pane, also what no query asks for.
    """
    rows: list[tuple[str, int, str]] = []
    for stream, wanted in positions.items():
        for pane in panes:
            inside = [at - pane.first for at in wanted if 0 <= at - pane.first < pane.elements]
            if pane.stream != stream or not inside:
                continue
            columns = whole(pane)
            times = columns.elements[TIME]
            for place, quads in quads_of(columns, inside).items():
                rows += [(stream, times[place], quad) for quad in quads]
    return pl.DataFrame(rows, schema=LATE, orient="row")
