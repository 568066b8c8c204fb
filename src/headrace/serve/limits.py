"""How much one request, one client and one server may ask for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from headrace.arrival_times import CLOCK_SECONDS
from headrace.metering import BATCH_SECONDS, EvaluationLimits, Meter, machine_bytes

_KILO: Final = 1_000
_MEGA: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Limits:
    """What is refused because it is too much.

    Attributes:
        body: bytes of a body, decompressed.
        query: bytes of the text of a query.
        rows: rows that any part of an evaluation may make.
        answer_rows: rows of an answer of `/sparql`.
        kept_rows: rows of one evaluation of a continuous query that are kept and sent.
        seconds: how long an evaluation of `/sparql` may take.
        evaluations: how many of these are evaluated at once.
        waiting: how many more may wait.
        queries: how many queries may be registered.
        streams: how many streams there may be.
        subscribers: how many clients may follow results.
        connections: how many connections there may be; further ones are answered with 503.
        kept_evaluations: how many evaluations of each query are kept.
        kept_bytes: how many bytes of them.
        kept_seconds: how long an evaluation is kept, if it is not one of the last 100.
        log_bytes: how many bytes the log of a stream may have.
        current_elements: how many elements are the current contents of a stream.
        current_seconds: how old they may be, by the newest of them.
        head_seconds: how long a connection may take to send the head of a request.
        body_seconds: how long the next part of a body may take to come.
        body_rate: how many bytes of a body must come in a second, after these seconds.
        static_bytes: how many bytes of static graphs may be written through `/store`.
        bytes: bytes that any part of an evaluation may make, and all texts of its expressions.
        sparql_memory: bytes that an evaluation of `/sparql` may add to its process.
        memory: bytes of the server with all its processes; half of those of the machine if none.
        clock_seconds: how far the clock may jump ahead and times of arrival follow at once; they
            follow further when the clock has stayed there for as long.
        bodies: bytes of all bodies together, from when they come until they are on disk.
        bodies_seconds: how long a body may wait for room among these.
        message: bytes of a message of a WebSocket.
        batch_seconds: how long a batch evaluates queries before the others wait.
    """

    body: int = 32 * _MEGA
    query: int = 256 * _KILO
    rows: int = 5 * _MEGA
    answer_rows: int = 100 * _KILO
    kept_rows: int = 10 * _KILO
    seconds: float = 10.0
    evaluations: int = 2
    waiting: int = 16
    queries: int = 5 * _KILO
    streams: int = 500
    subscribers: int = 2 * _KILO
    connections: int = 5 * _KILO
    kept_evaluations: int = 1_000
    kept_bytes: int = 16 * _MEGA
    kept_seconds: float = 600.0
    log_bytes: int = 1 << 30
    current_elements: int = 10 * _KILO
    current_seconds: float = 300.0
    head_seconds: float = 30.0
    body_seconds: float = 30.0
    body_rate: int = 1 * _KILO
    static_bytes: int = 1 << 30
    bytes: int = 500 * _MEGA
    sparql_memory: int = 500 * _MEGA
    memory: int | None = None
    clock_seconds: float = CLOCK_SECONDS
    bodies: int = 128 * _MEGA
    bodies_seconds: float = 5.0
    message: int = 1 * _MEGA
    batch_seconds: float = BATCH_SECONDS

    @property
    def memory_bytes(self) -> int:
        """The bytes of memory, also where they follow from those of the machine."""
        return machine_bytes() // 2 if self.memory is None else self.memory

    def meter(self) -> Meter:
        """Return a meter of an evaluation, or of the planning of a query, that begins now."""
        return Meter(EvaluationLimits(self.rows, self.bytes, self.seconds))


DEFAULT: Final = Limits()
