"""The processes that evaluate queries of `/sparql`, and how the queries share them.

A query begins in any free worker. One that takes longer than a moment needs one of a few places for
long queries. Where they are taken, it is cancelled and begins again when one is free, so that short
queries do not wait for long ones.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from subprocess import PIPE, Popen
from threading import Lock
from typing import BinaryIO, Final, TypeVar, cast

import psutil

from headrace.metering import megabytes
from headrace.serve.problems import busy
from headrace.serve.sparql_messages import (
    Cancellation,
    Message,
    Refusal,
    SparqlAnswer,
    SparqlRequest,
    StaticSnapshot,
    WorkerSettings,
    packed,
    read_reply,
)

SHORT: Final = 1.0
"""Seconds after which a query is a long one."""
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
_SECRETS: Final = ("HEADRACE_TOKEN", "HEADRACE_READ_TOKEN")
_TOO_LATE: Final = 504
T = TypeVar("T")
_UNFIT: Final = 422


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
    """

    process: Popen[bytes]
    idle_since: float = 0.0
    version: int | None = None
    base: int = 0
    verdict: Refusal | None = None
    writing: Lock = field(default_factory=Lock)

    @property
    def memory(self) -> int:
        """The bytes that the process uses; zero if it has ended."""
        try:
            return int(psutil.Process(self.process.pid).memory_info().rss)
        except psutil.Error:
            return 0

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
        assert self.process.stdin is not None, "it is a pipe"
        with self.writing:
            self.process.stdin.write(packed(message))
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


@dataclass(eq=False)
class WorkerPool:
    """Workers, as many as are needed at once.

    Attributes:
        settings: what each of them is started with.
        places: how many long queries are evaluated at once; there is a place more for short ones.
        memory: the bytes that all of them may use together.
    """

    settings: WorkerSettings
    places: int
    memory: Callable[[], int]
    _idle: list[Worker] = field(default_factory=list)
    _busy: set[Worker] = field(default_factory=set)
    _slots: asyncio.Semaphore = field(init=False)
    _long: asyncio.Semaphore = field(init=False)
    _watcher: asyncio.Task[None] | None = None
    _threads: ThreadPoolExecutor = field(init=False)
    _closed: bool = False

    def __post_init__(self) -> None:
        """Begin without processes."""
        self._slots = asyncio.Semaphore(self.places + 1)
        self._long = asyncio.Semaphore(self.places)
        self._threads = ThreadPoolExecutor(2 * (self.places + 1), "sparql")

    @property
    def used(self) -> int:
        """The bytes that all processes use."""
        return sum(each.memory for each in [*self._idle, *self._busy])

    async def answered(
        self, request: SparqlRequest, static: StaticSnapshot
    ) -> SparqlAnswer | Refusal:
        """Have a request answered by a worker over some static graphs."""
        async with self._slots:
            worker = await self._taken(static)
            answering = asyncio.create_task(self._exchanged(worker, request))
            done, _ = await asyncio.wait({answering}, timeout=SHORT)
            if done:
                return answering.result()
            if not self._long.locked():
                async with self._long:
                    return await answering
            await self._cancelled(worker, answering)
        async with self._long, self._slots:
            return await self._exchanged(await self._taken(static), request)

    # -- processes -------------------------------------------------------------------------

    async def _taken(self, static: StaticSnapshot) -> Worker:
        """Take a worker with some static graphs; to read them takes no time of a query."""
        if self._watcher is None:
            self._watcher = asyncio.create_task(self._watch())
        while self._idle:
            worker = self._idle.pop()
            try:
                await self._in_thread(lambda: worker.load(static))  # noqa: B023 - it is awaited
            except (EOFError, OSError, ValueError):  # something has ended it
                self._threads.submit(worker.clear)
            else:
                self._busy.add(worker)
                return worker
        try:
            worker = await self._in_thread(lambda: self._started(static))
        except (EOFError, OSError, ValueError) as error:
            raise busy(f"no process can be started for the query: {error}") from None
        self._busy.add(worker)
        return worker

    async def _in_thread(self, function: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, function)

    def _started(self, static: StaticSnapshot | None) -> Worker:
        if self._closed:
            raise busy("the server is stopping")
        environment = {name: value for name, value in os.environ.items() if name not in _SECRETS}
        single = dict.fromkeys(
            ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"
        )
        command = [sys.executable, "-m", "headrace.serve.sparql_worker"]
        worker = Worker(Popen(command, stdin=PIPE, stdout=PIPE, env=environment | single))
        worker.send(self.settings)
        worker.receive()
        worker.base = worker.memory
        if static is not None:
            worker.load(static)
        return worker

    def _start_another(self) -> None:
        """Have a worker ready for the next request."""
        worker = self._started(None)
        if self._closed:
            worker.clear()
        else:
            self._idle.append(worker)

    def _released(self, worker: Worker) -> None:
        self._busy.discard(worker)
        if worker.process.poll() is None and worker.verdict is None and not self._closed:
            worker.idle_since = time.monotonic()
            self._idle.append(worker)
        elif not self._closed:
            self._threads.submit(worker.clear)
            if not self._idle:
                self._threads.submit(self._start_another)

    # -- requests --------------------------------------------------------------------------

    async def _exchanged(self, worker: Worker, request: SparqlRequest) -> SparqlAnswer | Refusal:
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
            self._released(worker)

    async def _cancelled(
        self, worker: Worker, answering: asyncio.Task[SparqlAnswer | Refusal]
    ) -> None:
        """Have a worker give up its request, or end it."""
        cancellation = Cancellation("the query waits for others")
        await self._in_thread(lambda: worker.send(cancellation))
        await asyncio.wait({answering}, timeout=_GRACE)
        if not answering.done():
            worker.end(Refusal(_UNFIT, "the query waits for others", "cannot be run"))
            await answering

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
        allowed = self.memory()
        if used and self.used > allowed:
            largest = max(used, key=lambda each: used[each])
            largest.end(_too_much(used[largest], allowed))

    def close(self) -> None:
        """End all processes."""
        self._closed = True
        if self._watcher is not None:
            self._watcher.cancel()
        workers = [*self._idle, *self._busy]
        for worker in workers:
            worker.end()
        self._threads.shutdown()  # what waits for their answers ends with them
        for worker in workers:
            worker.clear()


def _too_much(used: int, allowed: int) -> Refusal:
    return Refusal(
        _UNFIT,
        f"the query used {megabytes(used)} of memory and may use {megabytes(allowed)}; its process "
        "was ended (limit 'sparql_memory')",
        "cannot be run",
    )
