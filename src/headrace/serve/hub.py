"""What a server has, apart from HTTP: streams, queries, results and static graphs, at work."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, Final, TypeVar

from headrace.algebra.query import Ask, Registered
from headrace.arrival_times import SteadyClock, duration_text
from headrace.diagnosis import Note, NoteReporter
from headrace.dialects import Parsed
from headrace.errors import (
    HeadraceError,
    MachineError,
    SettingError,
    counted,
    with_limit_option,
)
from headrace.metering import MEMORY, megabytes, metered
from headrace.pipeline.manifest import QueryState, StreamState
from headrace.rdf.terms import Iri, Quad
from headrace.serve.asking import Asking
from headrace.serve.catalogue import ARRIVAL, QueryEntry, StreamEntry
from headrace.serve.deployed import Deployed, Needed
from headrace.serve.following import Following
from headrace.serve.place import Place
from headrace.serve.problems import Problem, busy
from headrace.serve.pushing import Inlet
from headrace.serve.retained import Retained
from headrace.serve.room import Room
from headrace.serve.settings import Settings
from headrace.serve.stall_reporter import LOGGER
from headrace.serve.static_graphs import StaticGraphs

T = TypeVar("T")
_NEARLY: Final = 0.9
_BEAT_SECONDS: Final = 0.5
_NOTE_SECONDS: Final = 5.0
"""Followers are sent a note once it has been true for so long."""
_WRITERS: Final = 4


class Hub:
    """All that requests are about. It belongs to the event loop that opened it."""

    def __init__(self, settings: Settings) -> None:
        """Open what is kept at a location, or begin.

        Raises:
            HeadraceError: it cannot be opened.
        """
        self.settings = settings
        self.limits = settings.limits
        self.place = Place(settings.location)
        self.place.make()
        self.place.check_deployment()
        self.began = time.monotonic()
        self.clock = SteadyClock(settings.clock, seconds=self.limits.clock_seconds)
        self.inlets: dict[str, Inlet] = {}
        self.answered: Counter[int] = Counter()
        # Who has the deployment has all of it: another server at the same place ends here.
        self.deployed = Deployed(settings, self.place, self._prune)
        self.catalogue = self.deployed.catalogue
        self.following = Following(self.limits.subscribers)
        try:
            self.place.check_graph_index()
            self.static, self.retained = self._opened_graphs(), self._opened_results()
        except BaseException:
            self.deployed.close()
            raise
        self._standing: list[Note] = []
        self._ahead: set[str] = set()
        self._reporter = NoteReporter(self._stand, time.monotonic, _NOTE_SECONDS)
        self.asking = Asking(self)
        self.room = Room(self.limits)
        self.reading = asyncio.Lock()
        self._unpruned: set[str] = set()
        self._writers = ThreadPoolExecutor(_WRITERS, "log")
        self._changing = asyncio.Lock()
        self.looking = asyncio.Lock()
        self._beating: asyncio.Task[None] | None = None

    def _opened_graphs(self) -> StaticGraphs:
        found = StaticGraphs(self.place.static, self.settings.static, self.limits.static_bytes)
        self.deployed.engine.static.add(found.all_quads())
        return found

    def _opened_results(self) -> Retained:
        hear = self.following.hear
        return Retained(self.place.results, self.limits, lambda: self.deployed.spoken, hear)

    async def open(self) -> None:
        """Begin to work."""
        self.following.loop = asyncio.get_running_loop()
        try:
            self.place.check_logs(self.catalogue.streams.values())
            for entry in self.catalogue.streams.values():
                self.inlets[entry.name] = self._inlet(entry)
        except BaseException:
            for inlet in self.inlets.values():
                inlet.log.close()
            self.deployed.close()
            self._writers.shutdown()
            self.retained.close()
            self.asking.close()
            raise
        self.deployed.start(self.retained)
        self._beating = asyncio.create_task(self._beat())

    def _inlet(self, entry: StreamEntry) -> Inlet:
        return Inlet(entry, self.place.log_of(entry), self.limits, self._writers, self.clock)

    async def close(self) -> None:
        """End after the batch that is being worked on."""
        if self._beating is not None:
            self._beating.cancel()
        self.following.end_all("shutdown")
        for inlet in self.inlets.values():
            await inlet.close()
        await asyncio.get_running_loop().run_in_executor(None, self.deployed.close)
        self._writers.shutdown()
        self.retained.close()
        self.asking.close()

    async def _beat(self) -> None:
        """Let time go on in streams that go by arrival, so that their windows close."""
        while True:
            await asyncio.sleep(_BEAT_SECONDS)
            self._look_at_notes()
            MEMORY.reserved = self.asking.memory
            MEMORY.sample(time.monotonic())
            self._look_at_arrivals()
            for inlet in list(self.inlets.values()):
                inlet.probe()
                read = self.deployed.readers.get(inlet.entry.iri)
                if inlet.entry.time == ARRIVAL and read:
                    try:
                        await inlet.beat()
                    except (HeadraceError, Problem):  # the log is full: there is enough to read
                        continue

    def _look_at_arrivals(self) -> None:
        """Log which streams have times of arrival that are far ahead of the clock."""
        ahead = {
            name: inlet.times.ahead
            for name, inlet in self.inlets.items()
            if inlet.times.ahead > self.clock.bound
        }
        new = ahead.keys() - self._ahead
        if new:
            most = max(new, key=lambda name: ahead[name])
            others = f" and {counted(len(new) - 1, 'other stream')}" if len(new) > 1 else ""
            LOGGER.warning(
                "times of arrival of stream '%s'%s are up to %s ahead of the clock, which was set "
                "back; they go on at half its speed until it has caught up. To begin anew, remove "
                "the stream and make it again",
                most,
                others,
                duration_text(ahead[most]),
            )
        self._ahead = set(ahead)

    def _look_at_notes(self) -> None:
        """Send notes to followers once they have been true for a while or are resolved."""
        notes = self.deployed.figures.notes
        known, keys = self._standing, {note.key for note in notes}
        self._standing = [note for note in known if note.key in keys]
        self._reporter.update(notes)
        if self._standing != known:
            self.following.wake(set(self.catalogue.queries))

    def _stand(self, note: Note) -> None:
        self._standing.append(note)

    def _prune(self, is_needed: Needed) -> None:
        for inlet in list(self.inlets.values()):
            try:
                inlet.prune(is_needed)
            except MachineError as error:  # the log only stays larger, and the next batch tries it
                if str(error) not in self._unpruned:
                    LOGGER.warning("%s", error)
                self._unpruned.add(str(error))

    async def change(self, command: Callable[[], T]) -> T:
        """Have something done by the deployment, between two batches.

        Raises:
            HeadraceError: it cannot be done.
        """
        return await asyncio.wrap_future(self.deployed.submit(command))

    # -- streams -------------------------------------------------------------------------------

    def stream(self, name: str) -> StreamEntry:
        """A stream by its name.

        Raises:
            Problem: 404.
        """
        entry = self.catalogue.streams.get(name)
        if entry is None:
            raise Problem(404, f"there is no stream '{name[:80]}'")
        return entry

    def inlet(self, name: str) -> Inlet:
        """The way into a stream.

        Raises:
            Problem: 404, or 405 if a query makes it.
        """
        inlet = self.inlets.get(name)
        if inlet is None:
            if self.derived(name) is not None:
                raise Problem(405, f"stream '{name}' is what a query makes; push to another one")
            self.stream(name)
            raise busy(f"stream '{name}' is not ready")
        return inlet

    def derived(self, name: str) -> str | None:
        """The IRI of the stream that a query of some name makes, if it makes one."""
        parsed = self.deployed.parsed.get(name)
        if parsed is None or name not in self.catalogue.queries:
            return None
        registration = parsed.query.registration
        if registration is None or registration.kind is not Registered.STREAM:
            return None
        return None if isinstance(parsed.query.form, Ask) else registration.name

    async def create_stream(self, entry: StreamEntry) -> bool:
        """Make a stream; whether it is new.

        Raises:
            Problem: 409 if there is another one, 429 if there are too many.
        """
        async with self._changing:
            known = self.catalogue.streams.get(entry.name)
            if known is not None and entry.says_the_same(known):
                return False
            if known is not None:
                raise Problem(409, f"there is another stream '{entry.name}' already")
            other = self.catalogue.stream_of(entry.iri)
            if other is not None:
                raise Problem(409, f"<{entry.iri}> is stream '{other.name}' already")
            if entry.iri in self.static.graphs:
                raise Problem(409, f"<{entry.iri}> is a static graph already")
            if len(self.catalogue.streams) >= self.limits.streams:
                raise busy(f"there are {self.limits.streams:,} streams already", 60, 429)

            def command() -> None:
                self.deployed.engine.stream(entry.iri, delay=entry.delay)
                try:
                    self.catalogue.put_stream(entry)
                except HeadraceError:
                    self.deployed.engine.undeclare(entry.iri)
                    raise

            try:
                await self.change(command)
            except SettingError as error:
                raise Problem(409, str(error)) from None
            self.inlets[entry.name] = self._inlet(entry)
            return True

    async def delete_stream(self, name: str) -> None:
        """Remove a stream and what was pushed to it.

        Raises:
            Problem: 404, or 409 while a query reads it.
        """
        async with self._changing:
            entry = self.stream(name)
            readers = self.deployed.readers.get(entry.iri)
            if readers:
                raise Problem(409, f"query '{readers[0]}' reads it; remove that one first")
            inlet = self.inlets.pop(name, None)
            if inlet is not None:
                await inlet.close()

            def command() -> None:
                self.deployed.engine.undeclare(entry.iri)
                try:
                    self.catalogue.drop_stream(name)
                except HeadraceError:
                    self.deployed.engine.stream(entry.iri, delay=entry.delay)
                    raise

            try:
                await self.change(command)
            except BaseException:
                self.inlets[name] = self._inlet(entry)
                raise
            shutil.rmtree(self.place.log_of(entry), ignore_errors=True)

    # -- queries -------------------------------------------------------------------------------

    def query(self, name: str) -> QueryEntry:
        """A query by its name.

        Raises:
            Problem: 404.
        """
        entry = self.catalogue.queries.get(name)
        if entry is None:
            raise Problem(404, f"there is no query '{name[:80]}'")
        return entry

    @property
    def memory_shortage(self) -> str | None:
        """Why new work is refused: the memory is nearly used up. None if it is not."""
        limit, used = MEMORY.limit, MEMORY.used + MEMORY.reserved
        if limit is None or used < _NEARLY * limit:
            return None
        return (
            f"the server uses {megabytes(used)} of {megabytes(limit)} (limit 'memory'); remove "
            "queries or static graphs, make windows smaller, or start it with a larger "
            "--limit memory="
        )

    def check_memory(self, more: int = 0) -> None:
        """Refuse new work where the memory is nearly used up.

        Args:
            more: bytes that it is going to need for long.

        Raises:
            Problem: 503, saying how much is used.
        """
        shortage, limit = self.memory_shortage, MEMORY.limit
        used = MEMORY.used + MEMORY.reserved
        if shortage is None and limit is not None and used + more > limit:
            shortage = (
                f"the server uses {megabytes(used)} of {megabytes(limit)}, and this would need "
                f"about {megabytes(more)} (limit 'memory')"
            )
        if shortage is not None:
            raise busy(shortage, 10)

    async def register(self, entry: QueryEntry, parsed: Parsed | None = None) -> QueryEntry:
        """Register a query, from the next batch on.

        Args:
            entry: the query.
            parsed: its text, if it has been parsed: that takes no time of the deployment then.

        Raises:
            Problem: 409 if the name is taken, 422 if it cannot be run, 429 if there are too many.
        """
        async with self._changing:
            if entry.name in self.catalogue.queries:
                raise Problem(409, f"there is a query '{entry.name}' already")
            self.check_memory()
            if len(self.catalogue.queries) >= self.limits.queries:
                raise busy(f"there are {self.limits.queries:,} queries already", 60, 429)

            registered = entry.renewed()
            await self._changed(lambda: self._register(registered, parsed))
            return registered

    def _register(self, entry: QueryEntry, parsed: Parsed | None = None) -> None:
        """Register a query and save it; if it cannot be saved, it is not registered."""
        with metered(self.limits.meter()):
            self.deployed.register(entry, parsed)
        try:
            self.catalogue.put_query(entry)
        except HeadraceError:
            self.deployed.unregister(entry.name)
            raise

    async def remove(self, name: str) -> None:
        """Remove a query and its results.

        Raises:
            Problem: 404, or 409 if another one reads what it makes.
        """
        async with self._changing:
            entry = self.query(name)

            def command() -> None:
                if not entry.paused:
                    self.deployed.check_removable(name)
                self.catalogue.drop_query(name)  # fails before anything has changed
                if not entry.paused:
                    self.deployed.unregister(name)
                self.deployed.parsed.pop(name, None)
                self.retained.forget(name)

            await self._changed(command, 409)
            self.following.end(name, "removed")

    async def pause(self, name: str) -> QueryEntry:
        """Do not evaluate a query for now.

        Raises:
            Problem: 404, or 409 if another one reads what it makes.
        """
        async with self._changing:
            entry = self.query(name)
            if entry.paused:
                return entry
            paused = replace(entry, paused=True)

            def command() -> None:
                self.deployed.check_removable(name)
                self.catalogue.put_query(paused)  # fails before anything has changed
                self.deployed.unregister(name)

            await self._changed(command, 409)
            self.following.end(name, "paused")
            return paused

    async def resume(self, name: str) -> QueryEntry:
        """Evaluate a query again, with what comes from now on.

        Raises:
            Problem: 404, 409 if it has stopped with an error, or 422 if it cannot be run any more.
        """
        async with self._changing:
            entry = self.query(name)
            if not entry.paused:
                self._check_not_stopped(name)
                return entry
            resumed = replace(entry, paused=False).renewed()

            await self._changed(lambda: self._register(resumed))
            self.following.end(name, "paused")
            return resumed

    def _check_not_stopped(self, name: str) -> None:
        """Check that a query has not stopped with an error.

        Raises:
            Problem: 409, with the error.
        """
        failure = self.failure(name)
        if failure is not None:
            problem = f"query '{name}' has stopped: {failure}"
            raise Problem(409, f"{problem}; pause it first to begin anew, or register it corrected")

    async def _changed(self, command: Callable[[], None], status: int = 422) -> None:
        try:
            await self.change(command)
        except SettingError as error:
            raise Problem(status, str(error)) from None

    def live(self, name: str) -> dict[str, Any]:
        """What a query does to the deployment just now."""
        figures = self.deployed.figures
        changes = [(at, number) for at, query, number in self.deployed.changes if query == name]
        return {
            "state_bytes": figures.state,
            "route_changes": figures.rerouted.get(name, 0),
            "routes": [{"at": at, "changes": number} for at, number in changes],
        }

    def notes(self, name: str) -> list[dict[str, str]]:
        """Return the notes on a query and its streams."""
        return self._shown(name, self.deployed.figures.notes)

    def _shown(self, name: str, notes: Sequence[Note]) -> list[dict[str, str]]:
        iris = [iri for iri, names in self.deployed.readers.items() if name in names]
        return [note.as_json() for note in notes if note.concerns(name, iris)]

    def standing_notes(self, name: str) -> list[dict[str, str]]:
        """Return the notes on a query that have been true for a while."""
        standing = {note.key for note in self._standing}
        return self._shown(name, [n for n in self.deployed.figures.notes if n.key in standing])

    def stream_notes(self, iri: str) -> list[dict[str, str]]:
        """Return the notes on a stream."""
        notes = self.deployed.figures.notes
        return [note.as_json() for note in notes if note.query is None and note.stream == iri]

    def query_state(self, name: str) -> QueryState | None:
        """Return how far a query has come; none before its first batch."""
        state = self.deployed.figures.manifest.queries.get(name)
        # The state of another query that had the same name stays until the next batch.
        is_own = state is not None and state.digest == self.deployed.digests.get(name)
        return state if is_own else None

    def failure(self, name: str) -> str | None:
        """Why a query has stopped, if it has."""
        state = self.query_state(name)
        failure = None if state is None else state.failure
        broken = self.deployed.broken.get(name)
        return broken or (None if failure is None else with_limit_option(failure))

    # -- static graphs -------------------------------------------------------------------------

    def has_graph(self, name: str | None) -> bool:
        """Whether there is a graph, static or of a stream; the default graph always is."""
        return (
            name is None or name in self.static.graphs or self.catalogue.stream_of(name) is not None
        )

    async def write_graph(
        self, name: str | None, change: Callable[[Sequence[Quad]], Sequence[Quad] | None]
    ) -> bool:
        """Change a static graph, durably; whether there was one before.

        Args:
            name: of the graph.
            change: makes its new statements of those that it has; none removes it.

        Raises:
            Problem: it cannot be written.
        """
        if self.catalogue.stream_of(name or "") is not None:
            raise Problem(403, "it is the graph of a stream; push to the stream instead")
        async with self._changing:

            def apply(graph: str | None, quads: Sequence[Quad]) -> None:
                named = None if graph is None else Iri(graph)
                self.deployed.engine.static.replace_graph(named, quads)

            def command() -> bool:
                known = self.static.graphs.get(name)
                before = () if known is None else known.quads
                return self.static.put(name, change(before), apply)

            return await self.change(command)

    def state_of_stream(self, iri: str) -> StreamState:
        """Return the state of a stream, with its counters."""
        state = self.deployed.figures.manifest.streams.get(iri, StreamState())
        entry = self.catalogue.stream_of(iri)
        return state if entry is None else state.read_from(entry.folder)

    @property
    def now(self) -> int:
        """The present in milliseconds."""
        return self.settings.clock() // 1000
