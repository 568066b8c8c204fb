"""How a query is evaluated at some instants, and what becomes of what goes wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import polars as pl

from headrace.algebra.scope import possible
from headrace.errors import HeadraceError, InternalError, LimitError, QueryError
from headrace.functions.calls import Calls
from headrace.functions.evaluate import EvaluationContext
from headrace.functions.table import Functions
from headrace.functions.times import date_time
from headrace.functions.value_failures import FailuresByQuery, Recorder
from headrace.kernel.answer import active_data
from headrace.kernel.budget import Budget
from headrace.kernel.columns import INSTANT, column
from headrace.kernel.contents import Held
from headrace.kernel.data import Data, Quads, WindowContents, united
from headrace.kernel.dictionary import Dictionary
from headrace.kernel.fetching import Fetch
from headrace.kernel.forms import answer_frame
from headrace.kernel.incremental import Matched, left_in_windows
from headrace.kernel.instants import Instants
from headrace.kernel.members import Apart, told_apart
from headrace.kernel.needed import Moment
from headrace.kernel.remote import Remote, Viewing
from headrace.kernel.scan import Share
from headrace.kernel.snapshot import evaluate
from headrace.kernel.solutions import Solutions, complete
from headrace.kernel.surroundings import CallService, Observe, Surroundings, no_service
from headrace.kernel.table import Table
from headrace.kernel.unexpected import note_unexpected
from headrace.metering import SECONDS, UNLIMITED, Meter, current, metered
from headrace.planning.plan import Plan
from headrace.planning.splitting import Split
from headrace.rdf.terms import Literal
from headrace.reasoning.tables import Tables
from headrace.rewrite.optimise import CACHE, CHOOSE, PRECOMPUTE


class InstantError(HeadraceError):
    """An evaluation failed and the next one may not; the query goes on."""


@dataclass(frozen=True)
class Around:
    """What all queries of a deployment share.

    Attributes:
        dictionary: the terms.
        static: the statements that are the same at every instant.
        service: how remote endpoints are asked.
        functions: the functions that can be called by IRI.
        budget: makes the limits of the operators of one evaluation.
        meter: makes the meter of one query in one step.
        observe: told what each operator of a query has found.
        tables: what follows from the statements of streams, where queries have a schema.
        fetch: how the mappings of local views are fetched.
        failures: what expressions of the queries could not compute.
    """

    dictionary: Dictionary
    static: Quads
    service: CallService = no_service
    functions: Functions = field(default_factory=Functions)
    budget: Callable[[], Budget] = Budget
    meter: Callable[[], Meter] = lambda: UNLIMITED
    observe: Observe | None = None
    tables: Tables | None = None
    fetch: Fetch | None = None
    failures: FailuresByQuery = field(default_factory=FailuresByQuery, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What went wrong at some instants.

    Attributes:
        errors: where there is no answer, and why.
        failed: the instant at which the query had to stop, and why.
    """

    errors: tuple[tuple[int, str], ...] = ()
    failed: tuple[int, str] | None = None

    def and_then(self, other: Outcome, base: int) -> Outcome:
        """What went wrong here and at the instants from a number on."""
        moved = tuple((base + place, text) for place, text in other.errors)
        failed = None if other.failed is None else (base + other.failed[0], other.failed[1])
        return Outcome((*self.errors, *moved), failed)


@dataclass(frozen=True, slots=True)
class Answered:
    """Answers at some instants: `instant` and ids, and what went wrong."""

    frame: pl.DataFrame
    outcome: Outcome


def evaluate_held(
    held: Held | Matched,
    around: Around,
    publish: Callable[[int, int, pl.DataFrame], None],
    share: Share | None = None,
    remote: Remote | None = None,
) -> Outcome:
    """Evaluate a query at all instants, a run of them at a time.

    Args:
        held: what its windows hold, and when.
        around: what it shares with others.
        publish: takes the answers of each run, from one number to before another.
        share: the part of the solutions that is looked for.
        remote: its local views of remote data, if it has any.
    """
    evaluation = _Evaluation(held, around, publish, share, remote)
    for start, stop in held.blocks():
        failed = evaluation.run(start, stop)
        if failed is not None:
            return Outcome(tuple(evaluation.errors.items()), failed)
    return Outcome(tuple(evaluation.errors.items()))


@dataclass(frozen=True, slots=True)
class _Failure:
    """Why some instants cannot be evaluated at once.

    Attributes:
        problem: what is wrong.
        is_slow: whether they take too long.
    """

    problem: str
    is_slow: bool = False


@dataclass(frozen=True, slots=True)
class _Evaluation:
    """A query being evaluated at some instants."""

    held: Held | Matched
    around: Around
    publish: Callable[[int, int, pl.DataFrame], None]
    share: Share | None
    remote: Remote | None = None
    errors: dict[int, str] = field(default_factory=dict)

    def run(self, start: int, stop: int) -> tuple[int, str] | None:
        """Evaluate a run of instants; where one stops the query, which, and why.

        A run that fails is evaluated in parts: what the first instants give is reported, and what
        a budget allows to each does not depend on how many are evaluated at once. A run that takes
        too long goes on with its first instant alone: the time that is left suffices for one.
        """
        most = size = 1 if self.held.plan.asks_services else stop - start
        while start < stop:
            end = min(start + size, stop)
            failure = self._failure(start, end)
            if failure is None:
                start, size = end, min(2 * size, most)
                continue
            if end - start == 1:
                return start, failure.problem
            most = (end - start) // 2
            size = 1 if failure.is_slow else most
        return None

    def _failure(self, start: int, stop: int) -> _Failure | None:
        """Evaluate some instants at once and publish their answers; why that fails, if it does."""
        alone, meter = stop - start == 1, current()
        try:
            with metered(meter.for_one() if alone else meter.for_several()):
                self.publish(start, stop, self._answers(start, stop))
        except InstantError as error:
            self.errors[start] = str(error)
        except LimitError as error:
            return _Failure(str(error), error.limit == SECONDS)
        except HeadraceError as error:
            return _Failure(error.problem if isinstance(error, QueryError) else str(error))
        except (Exception, pl.exceptions.PanicException) as error:  # noqa: BLE001
            # A bug must not stop the other queries.
            note_unexpected(self.held.plan.name, error)
            return _Failure(f"{type(error).__name__}: {error}")
        meter.restart()
        return None

    def _answers(self, start: int, stop: int) -> pl.DataFrame:
        """The answers at a run of instants, which are numbered from 0."""
        plan, around = self.held.plan, self.around
        began = 0.0 if around.fetch is None else around.fetch.clock()
        windows = self.held.windows(start, stop)
        static = active_data(plan.query.dataset, around.static, around.dictionary)
        pairs = zip(plan.windows, windows, strict=True)
        seen = [contents.quads for window, contents in pairs if window.in_default_graph]
        surroundings = self._surroundings(start, stop, windows)
        surroundings = replace(surroundings, given=self.held.given(start, stop))
        if self.remote is None:
            found = evaluate(plan.pattern, data_of(seen, static), surroundings)
        else:
            found = self._viewed(self.remote, start, began, data_of(seen, static), surroundings)
        instants = range(len(surroundings.instants))
        frame = answer_frame(plan.query, found, instants, around.dictionary)
        return told_apart(frame, len(plan.members)) if plan.members else frame

    def _viewed(
        self, remote: Remote, start: int, began: float, data: Data, surroundings: Surroundings
    ) -> Solutions:
        """Return the solutions at an instant, with local views in the place of endpoints."""
        instants, fetch = self.held.instants, self.around.fetch
        if fetch is None:
            raise InternalError("SERVICE stands where no endpoint can be asked")
        now = int(instants.times[start])
        pairs = zip(self.held.plan.windows, instants.spans, strict=True)
        bounds = tuple((window, int(span.closes[start])) for window, span in pairs)
        moment = Moment(surroundings.windows, now, self.around.dictionary.encode, bounds)
        remote.begin()
        remote.take_replies(fetch)
        views = Viewing(remote, moment, fetch)
        found = evaluate(self.held.plan.pattern, data, replace(surroundings, views=views))
        remote.answered((now, int(instants.seqs[start])), found, fetch.clock() - began, fetch)
        return found

    def _surroundings(
        self, start: int, stop: int, windows: tuple[WindowContents, ...]
    ) -> Surroundings:
        plan, around, times = self.held.plan, self.around, self.held.instants.times
        members = max(1, len(plan.members))
        return Surroundings(
            around.dictionary,
            range((stop - start) * members),
            around.budget(),
            context_of(plan, date_time(int(times[start])), around.functions, around.failures),
            lambda number: date_time(int(times[start + number // members])),
            label_of(plan, self.held.instants, start),
            around.service,
            windows,
            plan.streams,
            self.share,
            plan.applies(PRECOMPUTE),
            around.observe,
            apart=Apart.of(plan, range(stop - start)),
            chooses=plan.applies(CHOOSE) and not plan.late,
        )


def lasting_answers(matched: Matched, matches: pl.DataFrame, around: Around) -> pl.DataFrame:
    """The answers of matches that each make their own: `first`, `last`, maybe `member`, and ids."""
    given, lasting = matched.each(matches)
    frame = answers_given(matched.plan, given, range(lasting.height), around)
    numbers = lasting[frame[INSTANT]]
    others = [frame[name] for name in frame.columns if name != INSTANT]
    return pl.DataFrame([*numbers.get_columns(), *others])


def own_answers(plan: Plan, matches: Table, around: Around) -> pl.DataFrame:
    """The answers of matches that each make their own: the number of the match, and ids."""
    [core] = plan.matching.cores
    rows = pl.int_range(matches.height, dtype=pl.Int64, eager=True).alias(INSTANT)
    names = [name for name in map(column, possible(core.operator)) if name in matches.columns]
    terms = [pl.Series(name, matches[name]) for name in names]
    given = Solutions(pl.DataFrame([rows, *terms]), keyed=True)
    return answers_given(plan, {id(core.operator): given}, range(matches.height), around)


def answers_given(
    plan: Plan, given: Mapping[int, Solutions], instants: range, around: Around
) -> pl.DataFrame:
    """Return the answers that follow from solutions of cores, where nothing depends on the time."""
    moment = date_time(0)
    surroundings = Surroundings(
        around.dictionary,
        instants,
        around.budget(),
        context_of(plan, moment, around.functions, around.failures),
        lambda _: moment,
        windows=left_in_windows(plan, len(instants)),
        streams=plan.streams,
        precomputes=plan.applies(PRECOMPUTE),
        given=given,
    )
    static = active_data(plan.query.dataset, around.static, around.dictionary)
    found = evaluate(plan.pattern, static, surroundings)
    return answer_frame(plan.query, found, instants, around.dictionary)


def finished(
    plan: Plan, split: Split, instants: Instants, found: Answered, around: Around
) -> Answered:
    """What a query makes of what parts of it found below a cut."""
    number = len(instants) if found.outcome.failed is None else found.outcome.failed[0]
    rows = found.frame.filter(pl.col(INSTANT) < number)
    evaluation = _Evaluation(Held(plan, (), instants), around, lambda *_: None, None)
    surroundings = evaluation._surroundings(0, len(instants), ())
    names = [column(variable) for variable in split.hole.variables]
    given = {id(split.hole): Solutions(complete(rows, names), keyed=True)}
    try:
        answer = evaluate(split.above, Data(), replace(surroundings, given=given))
        frame = answer_frame(plan.query, answer, range(len(instants)), around.dictionary)
    except HeadraceError as error:
        failure = error.problem if isinstance(error, QueryError) else str(error)
        return Answered(rows.clear(), Outcome(found.outcome.errors, (0, failure)))
    return Answered(frame.filter(pl.col(INSTANT) < number), found.outcome)


def context_of(
    plan: Plan, moment: Literal, functions: Functions, failures: FailuresByQuery | None = None
) -> EvaluationContext:
    """Build the context of the expressions of one evaluation."""
    recorder = Recorder() if failures is None else failures.recorder(plan.members or (plan.name,))
    calls = Calls(plan.applies(CACHE), functions.tally, recorder)
    return EvaluationContext(moment, functions=functions, calls=calls)


def label_of(plan: Plan, instants: Instants, start: int) -> Callable[[int], bytes]:
    """What tells an instant of a query from any other; instants are numbered from a start."""
    names = plan.members or (plan.name,)

    def label(number: int) -> bytes:
        place, member = divmod(number, len(names))
        time, seq = instants.times[start + place], instants.seqs[start + place]
        return f"{names[member]} {time} {seq}".encode()

    return label


def data_of(contents: list[Quads], static: Data) -> Data:
    """What patterns outside any WINDOW see: static data, and windows in the default graph."""
    if not contents:
        return static
    below = None if static.quads.frame.is_empty() else static
    return Data(united(contents), beneath=below)
