"""A registered query as its users meet it: where its results come out."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Hashable, Iterator, Mapping, Sequence

from headrace.diagnosis import Note
from headrace.dialects import Parsed
from headrace.functions.value_failures import ValueFailure
from headrace.planning.plan import Plan
from headrace.results.evaluations import Evaluation
from headrace.rewrite.sources import KnownPredicates


class Query:
    """A registered query and what it has reported.

    Attributes:
        name: what it is called.
        registration_id: what tells it from others under the same name; none if empty.
        error: why it has stopped, if it has.
        failures: what its expressions could not compute so far, by cause and subject.
    """

    def __init__(
        self,
        name: str,
        parsed: Parsed,
        settings: Mapping[str, str],
        remove: Callable[[str], None] | None = None,
        notes: Callable[[str], Sequence[Note]] = lambda _name: (),
        registration_id: str = "",
    ) -> None:
        """Begin with no results."""
        self._remove = remove
        self._notes = notes
        self.name = name
        self.settings = settings
        self.registration_id = registration_id
        self.parsed = parsed
        self.error: str | None = None
        self.failures: tuple[ValueFailure, ...] = ()
        self._results: deque[Evaluation] = deque()
        self._callbacks: list[Callable[[Evaluation], None]] = []
        self._news = asyncio.Event()
        self._ended = False
        self._plan: tuple[Hashable, Plan] | None = None
        self._known: KnownPredicates | None = None

    def expects(self, known: KnownPredicates, runs: bool) -> KnownPredicates:
        """Declare which predicates of static data its plan expects; ignored once it runs."""
        expected = self._known or known
        if runs:
            self._known = expected
        return expected

    def planned(self, given: Hashable, make: Callable[[], Plan]) -> Plan:
        """Its plan, which is made once as long as the same is given."""
        if self._plan is None or self._plan[0] != given:
            self._plan = (given, make())
        return self._plan[1]

    def remove(self) -> None:
        """Take it out, after what has come so far: it reports no more."""
        if self._remove is not None:
            self._remove(self.name)

    @property
    def notes(self) -> Sequence[Note]:
        """The notes on the query and its streams."""
        return self._notes(self.name)

    def on_result(self, callback: Callable[[Evaluation], None]) -> Query:
        """Call a function with each evaluation from now on, instead of keeping it."""
        self._callbacks.append(callback)
        return self

    def results(self) -> Iterator[Evaluation]:
        """The evaluations that have been reported and not been taken yet, in order."""
        while self._results:
            yield self._results.popleft()

    async def __aiter__(self) -> AsyncIterator[Evaluation]:
        """The evaluations as they come, until the input ends."""
        while True:
            for evaluation in self.results():
                yield evaluation
            if self._ended:
                return
            self._news.clear()
            await self._news.wait()

    def report(self, evaluation: Evaluation) -> None:
        """Hand over an evaluation."""
        if not self._callbacks:
            self._results.append(evaluation)
        for callback in self._callbacks:
            callback(evaluation)
        self._news.set()

    def end(self) -> None:
        """Say that there will be no more."""
        self._ended = True
        self._news.set()


def note_problems(
    queries: Mapping[str, Query],
    errors: Mapping[str, str | None],
    failures: Mapping[str, Sequence[ValueFailure]],
) -> None:
    """Store the errors and value failures of queries with them."""
    for name in errors.keys() & queries.keys():
        queries[name].error = errors[name]
    for name in failures.keys() & queries.keys():
        queries[name].failures = tuple(failures[name])
