"""A query evaluated in parts: what each of them is asked, and what it finds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from headrace.functions.value_failures import ValueFailure
from headrace.kernel.arrivals import Arrivals
from headrace.kernel.columns import ID, INSTANT, STATEMENT, TERMS
from headrace.kernel.contents import Held
from headrace.kernel.dictionary import Dictionary
from headrace.kernel.element_release import Reached
from headrace.kernel.evaluation import Answered, Around, Outcome, evaluate_held
from headrace.kernel.grid import Times
from headrace.kernel.instants import Instants
from headrace.kernel.log import StreamLog
from headrace.kernel.progress import Progress
from headrace.kernel.scan import Share
from headrace.kernel.schedule import Schedule
from headrace.planning.partitioning import Partitioning, part_of, streams_of
from headrace.planning.plan import Plan
from headrace.rdf.terms import Iri


@dataclass(frozen=True, slots=True)
class Due:
    """A query that is to be evaluated in parts.

    Attributes:
        plan: the query.
        partitioning: how.
        origin: t0.
        since: the position after which it sees elements.
        times: when.
        seqs: which of the evaluations of the same time.
    """

    plan: Plan
    partitioning: Partitioning
    origin: int
    since: int
    times: Times
    seqs: Times

    def share(self, part: int, parts: int) -> Share | None:
        """The solutions that fall to one of the parts; None is all of what is left of the query."""
        key = self.partitioning.key
        return None if key is None else Share(key, part, parts)

    def of_part(self, part: int, parts: int) -> Due:
        """What is left of the query for one of the parts."""
        return replace(self, plan=part_of(self.plan, self.partitioning, part, parts))

    def streams(self) -> frozenset[Iri]:
        """The streams whose statements are needed."""
        whole = self.partitioning.key is not None
        return frozenset(self.plan.streams) if whole else streams_of(self.plan)


@dataclass(frozen=True, slots=True)
class PartFound:
    """What a part finds of a query: answers as ids, the terms in them, and what went wrong."""

    frame: pl.DataFrame
    terms: pl.DataFrame
    outcome: Outcome
    failures: tuple[ValueFailure, ...] = ()


def owned(statements: pl.DataFrame, due: Due, share: Share | None) -> pl.DataFrame:
    """The statements that a part needs: those with an own term where the key may stand."""
    if share is None:
        return statements
    mine = [share.owns(pl.col(place)) for place in due.partitioning.places]
    return statements.filter(pl.any_horizontal(mine))


def found_by_part(
    due: Due, share: Share | None, streams: Mapping[Iri, Arrivals], around: Around
) -> PartFound:
    """Evaluate a query for one part.

    Args:
        due: the query, and when.
        share: the part of the solutions; None is all of them.
        streams: what windows may hold, with all elements but only the statements that it needs.
        around: what the query shares with others; its dictionary knows the terms.
    """
    logs = [_log(streams[stream]) for stream in due.plan.streams]
    seen = [log.elements for log in logs]
    if due.since >= 0:
        seen = [elements.where(elements.positions > due.since) for elements in seen]
    progress = Progress(origin=due.origin)
    schedule = Schedule(due.plan, progress, seen, Reached(None))
    instants = Instants(due.times, due.seqs, schedule.spans(due.times))
    held = Held(due.plan, list(zip(logs, seen, strict=True)), instants)
    frames: list[pl.DataFrame] = []

    def keep(start: int, _stop: int, frame: pl.DataFrame) -> None:
        frames.append(frame.with_columns(pl.col(INSTANT) + start))

    outcome = evaluate_held(held, around, keep, share)
    frame = pl.concat(frames) if frames else pl.DataFrame(schema={INSTANT: pl.Int64})
    failures = around.failures.by_query().get(due.plan.name, ())
    return PartFound(frame, _terms(frame, around.dictionary), outcome, failures)


def _log(arrivals: Arrivals) -> StreamLog:
    log = StreamLog()
    log.append(arrivals.statements, arrivals.high, arrivals.elements)
    return log


def _terms(frame: pl.DataFrame, dictionary: Dictionary) -> pl.DataFrame:
    names = [name for name in frame.columns if name.startswith("?")]
    if not names:
        return TERMS.to_frame()
    ids = pl.concat([frame[name].rename(ID) for name in names]).drop_nulls().unique()
    return pl.DataFrame([ids, dictionary.texts(ids)]).select(*TERMS)


def put_together(found: Sequence[PartFound], dictionary: Dictionary) -> Answered:
    """The answers of a query, from those of its parts."""
    for each in found:
        dictionary.learn(each.terms)
    frames = [each.frame for each in found if each.frame.height]
    frame = pl.concat(frames) if frames else found[0].frame
    failures = [each.outcome.failed for each in found if each.outcome.failed is not None]
    errors = {place: text for each in found for place, text in each.outcome.errors}
    return Answered(frame, Outcome(tuple(errors.items()), min(failures, default=None)))


def used_ids(statements: pl.DataFrame) -> pl.DataFrame:
    """The ids of the terms in some statements, each once."""
    ids = [statements[name].rename(ID) for name in STATEMENT]
    return pl.concat(ids).drop_nulls().unique().to_frame()
