"""The processes that evaluate queries of `/sparql`, and how the queries share them.

There are a few places for queries of each length. Every query begins as a short one. One that takes
longer goes on in a place for longer ones. Where none is free, it is cancelled and begins again when
one is, so that short queries do not wait for long ones.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from subprocess import PIPE, Popen
from threading import Lock
from typing import BinaryIO, Final, TypeVar, cast

import psutil

from headrace.metering import megabytes
from headrace.serve.problems import Problem, busy
from headrace.serve.sparql_messages import (
    Cancellation,
    Message,
    Refusal,
    SparqlAnswer,
    SparqlRequest,
    StaticSnapshot,
    WorkerSettings,
    pack,
    read_reply,
)

SHORT: Final = 0.2
"""Seconds after which a query is no longer a short one."""
LONG: Final = 1.0
"""Seconds after which a query is a long one."""
_SHORT_PLACES: Final = 2
"""How many short queries there may be besides all longer ones."""
_MEDIUM_PLACES: Final = 1
"""How many queries that are neither short nor long there may be besides the long ones."""
_REMEMBERED: Final = 1_000
"""How many texts of long queries are remembered."""
_GRACE: Final = 0.7
"""Seconds after a limit in which a worker can stop by itself, before its process is ended."""
_WATCHING: Final = 0.05
"""Seconds between two looks at the memory of workers."""
_IDLE: Final = 30.0
"""Seconds after which a worker that is not needed is ended, but for one."""
_MARGIN: Final = 1.25
"""A worker that uses so many times what it may is ended: it did not stop by itself."""
_LEFT: Final = 2
"""An idle worker that uses so many times what it did before its request is ended."""
_NICER: Final = 5
"""How much greater the niceness of workers is than that of the server, which goes first."""
_LOWEST: Final = 19
"""The niceness of a worker with a long query beside other queries."""
_STOPPING: Final = "the server is stopping"
_UNFIT: Final = 422
_NOT_READY: Final = 503
_TOO_LATE: Final = 504
T = TypeVar("T")


@dataclass(eq=False, slots=True)
class Worker:
    """A process, and what it was before its request.

    Attributes:
        process: the process.
        idle_since: when its last request ended.
        version: of the static graphs that it has; none if it has none yet.
        base: the bytes that it used before its request.
        verdict: why it was ended, if the server did it.
        writing: is locked while a message is sent to it.
        request: the last that was sent to it.
        is_long: whether its request is a long query.
        is_lowered: whether it has a lower priority than others, which cannot be taken back.
    """

    process: Popen[bytes]
    idle_since: float = 0.0
    version: int | None = None
    base: int = 0
    verdict: Refusal | None = None
    writing: Lock = field(default_factory=Lock)
    request: SparqlRequest | None = None
    is_long: bool = False
    is_lowered: bool = False

    @property
    def memory(self) -> int:
        """The bytes that the process uses; zero if it has ended."""
        try:
            return int(psutil.Process(self.process.pid).memory_info().rss)
        except psutil.Error:
            return 0

    def lower_priority(self) -> None:
        """Let all others have the processor first."""
        self.is_lowered = True
        _set_niceness(self.process.pid, _LOWEST)

    def end(self, verdict: Refusal | None = None) -> None:
        """End the process now."""
        self.verdict = self.verdict or verdict
        if self.process.poll() is None:
            self.process.kill()

    def clear(self) -> None:
        """Wait for the end of the process, and close the pipes."""
        self.end()
        with self.process:  # it closes them and waits
            pass

    def send(self, message: Message) -> None:
        """Send a message.

        Raises:
            OSError: the process has ended.
        """
        with self.writing:
            if isinstance(message, SparqlRequest):
                self.request = message
            self._write(message)

    def cancel(self, request: SparqlRequest, reason: str) -> None:
        """Have the process give up a request, unless it was sent another one since."""
        with self.writing, suppress(OSError):  # it has ended
            if self.request is request:
                self._write(Cancellation(reason))

    def _write(self, message: Message) -> None:
        assert self.process.stdin is not None, "it is a pipe"
        self.process.stdin.write(pack(message))
        self.process.stdin.flush()

    def answer(self, request: SparqlRequest) -> SparqlAnswer | Refusal:
        """Send a request, and wait for the answer.

        Raises:
            OSError: the process has ended.
            EOFError: likewise.
        """
        self.send(request)
        found = self.receive()
        assert found is not None, "it says that it is ready only once"
        return found

    def load(self, static: StaticSnapshot) -> None:
        """Have it read static graphs, if it has others, and wait until it has.

        Raises:
            OSError: the process has ended.
            EOFError: likewise.
        """
        if self.version != static.version:
            self.send(static)
            self.receive()
            self.version = static.version
        self.base = self.memory

    def receive(self) -> SparqlAnswer | Refusal | None:
        """Wait for the next reply of the process.

        Raises:
            EOFError: it has ended.
        """
        assert self.process.stdout is not None, "it is a pipe"
        return read_reply(cast(BinaryIO, self.process.stdout))


@dataclass(frozen=True, slots=True)
class _Level:
    """Places for queries of some length or longer.

    A query has a place of its level and one of each level for shorter queries.

    Attributes:
        seconds: the time after which a query needs a place of the next level; none in the last.
        places: one for each query that can be evaluated at once.
    """

    seconds: float | None
    places: asyncio.Semaphore


@dataclass(eq=False)
class WorkerPool:
    """Workers, as many as are needed at once, and one more that is ready.

    Attributes:
        settings: what each of them is started with.
        places: how many long queries are evaluated at once; others are beside them.
        memory: the bytes that all of them may use together.
    """

    settings: WorkerSettings
    places: int
    memory: Callable[[], int]
    _idle: list[Worker] = field(default_factory=list)
    _busy: set[Worker] = field(default_factory=set)
    _preparing: set[Worker] = field(default_factory=set)
    _levels: tuple[_Level, ...] = field(init=False)
    _long_texts: dict[str, None] = field(default_factory=dict)
    _returned: asyncio.Event = field(default_factory=asyncio.Event)
    _starting: asyncio.Task[str | None] | None = None
    _static: StaticSnapshot | None = None
    _watcher: asyncio.Task[None] | None = None
    _threads: ThreadPoolExecutor = field(init=False)
    _closed: bool = False

    def __post_init__(self) -> None:
        """Begin without processes."""
        most = self.places + _SHORT_PLACES + _MEDIUM_PLACES
        self._levels = (
            _Level(SHORT, asyncio.Semaphore(most)),
            _Level(LONG, asyncio.Semaphore(self.places + _MEDIUM_PLACES)),
            _Level(None, asyncio.Semaphore(self.places)),
        )
        self._threads = ThreadPoolExecutor(2 * most + 2, "sparql")

    @property
    def used(self) -> int:
        """The bytes that all processes use."""
        return sum(each.memory for each in [*self._idle, *self._busy, *self._preparing])

    async def answer(
        self, request: SparqlRequest, static: StaticSnapshot
    ) -> SparqlAnswer | Refusal:
        """Have a request answered by a worker over some static graphs.

        A request that is cancelled is given up.

        Raises:
            Problem: 503 if no process can be started.
        """
        level = len(self._levels) - 1 if request.text in self._long_texts else 0
        while True:
            async with AsyncExitStack() as stack:
                for each in reversed(self._levels[: level + 1]):
                    await stack.enter_async_context(each.places)
                worker, answering = await stack.enter_async_context(
                    self._answering(request, static)
                )
                started = time.monotonic()
                level = await self._wait(worker, answering, level)
                if answering.done():
                    self._remember(request.text, time.monotonic() - started)
                    return answering.result()

    async def _wait(
        self, worker: Worker, answering: asyncio.Task[SparqlAnswer | Refusal], level: int
    ) -> int:
        """Wait for an answer in a place of a level, and then in places for longer queries.

        Returns:
            The level of the next place that it needs, if there is no answer yet.
        """
        worker.is_long = level == len(self._levels) - 1
        self._lower_long()
        await asyncio.wait({answering}, timeout=self._levels[level].seconds)
        if answering.done() or self._levels[level + 1].places.locked():
            return level + 1
        async with self._levels[level + 1].places:
            return await self._wait(worker, answering, level + 1)

    def _lower_long(self) -> None:
        """Let short queries go before long ones, and all long ones have the same priority."""
        long = [each for each in self._busy if each.is_long]
        if len(long) < len(self._busy) or any(each.is_lowered for each in long):
            for each in long:
                if not each.is_lowered:
                    each.lower_priority()

    def _remember(self, text: str, seconds: float) -> None:
        """Remember whether a query is a long one, for when it is asked again."""
        self._long_texts.pop(text, None)
        if seconds > LONG:
            self._long_texts[text] = None
            if len(self._long_texts) > _REMEMBERED:
                del self._long_texts[next(iter(self._long_texts))]

    @asynccontextmanager
    async def _answering(
        self, request: SparqlRequest, static: StaticSnapshot
    ) -> AsyncIterator[tuple[Worker, asyncio.Task[SparqlAnswer | Refusal]]]:
        """Send a request to a worker, which gives it up at the end of the block."""
        worker = await self._take(static)
        answering = asyncio.create_task(self._exchange(worker, request))
        try:
            yield worker, answering
        finally:
            if not answering.done():
                await self._give_up(worker, request, answering)

    # -- processes -------------------------------------------------------------------------

    async def _take(self, static: StaticSnapshot) -> Worker:
        """Take a worker with some static graphs; to read them takes no time of a query."""
        if self._watcher is None:
            self._watcher = asyncio.create_task(self._watch())
        if self._static is None or static.version > self._static.version:
            self._static = static
        while True:
            if self._closed:
                raise busy(_STOPPING)
            if not self._idle:
                await self._wait_for_worker()
                continue  # another request may have taken it
            worker = self._idle.pop()
            self._start_spare()
            if await self._load(worker, static):
                self._busy.add(worker)
                return worker
            self._discard(worker)

    async def _wait_for_worker(self) -> None:
        """Wait until a worker has started or has answered a request.

        Raises:
            Problem: 503 if none can be started.
        """
        starting = self._start_spare()
        self._returned.clear()
        returned = asyncio.create_task(self._returned.wait())
        try:
            await asyncio.wait({starting, returned}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            returned.cancel()
        if self._closed:
            raise busy(_STOPPING)
        if self._idle:
            return
        if starting.done() and (reason := starting.result()) is not None:
            raise busy(f"no process can be started for the query: {reason}")

    def _start_spare(self) -> asyncio.Task[str | None]:
        """Start a worker, unless one is idle or is being started already.

        Returns:
            The start, which returns why there is no worker, if there is none.
        """
        if self._starting is None or (self._starting.done() and not self._idle):
            self._starting = asyncio.create_task(self._start_another())
        return self._starting

    async def _start_another(self) -> str | None:
        try:
            worker = await self._in_thread(self._start)
        except (EOFError, OSError, ValueError, Problem) as error:
            return str(error) or "it has ended"
        self._preparing.discard(worker)
        static = self._static
        if self._closed or (static is not None and not await self._load(worker, static)):
            self._discard(worker)
            # The file of an older version may have been removed meanwhile: then another is started.
            return "it has ended" if static is self._static else None
        self._make_available(worker)
        return None

    async def _load(self, worker: Worker, static: StaticSnapshot) -> bool:
        """Have an idle worker read static graphs; whether it has not ended."""
        if worker.process.poll() is not None:
            return False
        self._preparing.add(worker)
        try:
            await self._in_thread(lambda: worker.load(static))
        except (EOFError, OSError, ValueError):  # something has ended it
            return False
        except BaseException:  # the request is given up
            self._discard(worker)
            raise
        finally:
            self._preparing.discard(worker)
        return True

    def _discard(self, worker: Worker) -> None:
        worker.end()
        with suppress(RuntimeError):  # the server has stopped
            self._threads.submit(worker.clear)

    async def _in_thread(self, function: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, function)

    def _start(self) -> Worker:
        """Start a worker, which is left among those that are being prepared."""
        single = dict.fromkeys(
            ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"
        )
        command = [sys.executable, "-m", "headrace.serve.sparql_worker"]
        worker = Worker(Popen(command, stdin=PIPE, stdout=PIPE, env=os.environ | single))
        _set_niceness(worker.process.pid, min(_own_niceness() + _NICER, _LOWEST))
        self._preparing.add(worker)
        try:
            if self._closed:
                raise busy(_STOPPING)
            worker.send(self.settings)
            worker.receive()
        except (EOFError, OSError, ValueError, Problem):
            worker.clear()
            self._preparing.discard(worker)
            raise
        worker.base = worker.memory
        return worker

    def _make_available(self, worker: Worker) -> None:
        worker.idle_since = time.monotonic()
        self._idle.append(worker)
        self._returned.set()

    def _release(self, worker: Worker) -> None:
        if self._closed:  # it is cleared with the others
            return
        self._busy.discard(worker)
        if worker.process.poll() is None and worker.verdict is None and not worker.is_lowered:
            worker.is_long = False
            self._make_available(worker)
        else:
            self._discard(worker)
            self._start_spare()

    # -- requests --------------------------------------------------------------------------

    async def _exchange(self, worker: Worker, request: SparqlRequest) -> SparqlAnswer | Refusal:
        """Send a request, and wait for the answer or for the end of the process."""
        seconds = self.settings.limits.seconds
        try:
            limit = None if seconds is None else seconds + _GRACE
            async with asyncio.timeout(limit):
                return await self._in_thread(lambda: worker.answer(request))
        except TimeoutError:
            late = Refusal(
                _TOO_LATE,
                f"the query took longer than {seconds:g} s, and its process was ended "
                "(limit 'seconds')",
                "took too long",
            )
            worker.end(late)
            return late
        except (EOFError, OSError, ValueError):
            ended = worker.verdict or Refusal(
                _UNFIT, "the process that evaluated the query has ended", "cannot be run"
            )
            worker.end(ended)
            return ended
        except BaseException:  # the server is stopping
            worker.end(Refusal(_UNFIT, "the request was given up", "cannot be run"))
            raise
        finally:
            self._release(worker)

    async def _give_up(
        self,
        worker: Worker,
        request: SparqlRequest,
        answering: asyncio.Task[SparqlAnswer | Refusal],
    ) -> None:
        """Have a worker give up a request, or end it."""
        reason = "the query waits for others, or its client has gone"
        await self._in_thread(lambda: worker.cancel(request, reason))
        await asyncio.wait({answering}, timeout=_GRACE)
        if not answering.done():
            worker.end(Refusal(_UNFIT, reason, "cannot be run"))
            await asyncio.wait({answering})

    # -- memory ----------------------------------------------------------------------------

    async def _watch(self) -> None:
        """End workers that use too much memory, and those that are not needed."""
        while True:
            await asyncio.sleep(_WATCHING if self._busy else SHORT)
            now = time.monotonic()
            for worker in self._idle[:-1]:
                if now - worker.idle_since > _IDLE:
                    self._end_idle(worker)
            # What evaluations have left behind must not keep others out.
            for worker in [each for each in self._idle if each.memory > _LEFT * each.base]:
                self._end_idle(worker)
            large = sorted(self._idle, key=lambda each: each.memory)
            while large and self.used > self.memory():
                self._end_idle(large.pop())
            self._check_memory()

    def _end_idle(self, worker: Worker) -> None:
        self._idle.remove(worker)
        self._threads.submit(worker.clear)

    def _check_memory(self) -> None:
        most = int(self.settings.memory * _MARGIN)
        used = {worker: worker.memory for worker in self._busy}
        for worker, size in used.items():
            if size - worker.base > most:
                worker.end(_too_much(size - worker.base, self.settings.memory))
        allowed, together = self.memory(), self.used
        if used and together > allowed:
            largest = max(used, key=lambda each: used[each])
            largest.end(_too_much_together(together, used[largest], allowed))

    def stop(self) -> None:
        """End what is being evaluated, and begin nothing more."""
        self._closed = True
        for worker in [*self._busy, *self._preparing]:
            worker.end(Refusal(_NOT_READY, _STOPPING, "not ready"))

    def close(self) -> None:
        """End all processes."""
        self.stop()
        for task in filter(None, (self._watcher, self._starting)):
            task.cancel()
        workers = [*self._idle, *self._busy, *self._preparing]
        for worker in workers:
            worker.end()
        self._threads.shutdown()  # what waits for their answers ends with them
        for worker in workers:
            worker.clear()


def _set_niceness(pid: int, niceness: int) -> None:
    """Lower the priority of a process, if it has not ended and the system can do it."""
    with suppress(OSError, AttributeError):
        os.setpriority(os.PRIO_PROCESS, pid, niceness)
    if sys.platform == "linux":  # there each thread has a priority of its own
        with suppress(OSError, psutil.Error):
            for thread in psutil.Process(pid).threads():
                os.setpriority(os.PRIO_PROCESS, thread.id, niceness)


def _own_niceness() -> int:
    with suppress(OSError, AttributeError):
        return os.getpriority(os.PRIO_PROCESS, 0)
    return 0


def _too_much(used: int, allowed: int) -> Refusal:
    return Refusal(
        _UNFIT,
        f"the query used {megabytes(used)} of memory and may use {megabytes(allowed)}; its process "
        "was ended (limit 'sparql_memory')",
        "cannot be run",
    )


def _too_much_together(together: int, used: int, allowed: int) -> Refusal:
    return Refusal(
        _UNFIT,
        f"the processes for /sparql used {megabytes(together)} of memory and may use "
        f"{megabytes(allowed)}, half of that of the server; the one of this query, with "
        f"{megabytes(used)} the largest, was ended (limit 'memory')",
        "cannot be run",
    )
