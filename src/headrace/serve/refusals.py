"""What a server refuses now, and why: one list for its status, the console and `/readyz`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headrace.serve.hub import Hub
    from headrace.serve.pushing import Inlet


@dataclass(frozen=True, slots=True)
class StandingRefusal:
    """A kind of request that is refused until its reason is gone.

    Attributes:
        requests: which requests, in the plural.
        reason: why, with the remedy.
        status: the status of their answers.
        limit: the name of the limit that is reached; None if the reason is another one.
        is_ready: whether the server counts as ready nonetheless: it is at work, and has as much
            as it may have.
    """

    requests: str
    reason: str
    status: int
    limit: str | None = None
    is_ready: bool = False

    @property
    def text(self) -> str:
        """The sentence for people.

        >>> StandingRefusal("new queries", "there are 5 already", 429, "queries").text
        'new queries are refused: there are 5 already'
        """
        return f"{self.requests} are refused: {self.reason}"

    def as_json(self) -> dict[str, Any]:
        """Return its values for an answer."""
        return asdict(self)


def standing_refusals(hub: Hub) -> list[StandingRefusal]:
    """List what a server refuses now, with what keeps it from being ready first."""
    found = [*_of_deployment(hub), *_of_logs(hub), *_of_limits(hub)]
    return sorted(found, key=lambda each: each.is_ready)


async def probe_logs(hub: Hub) -> None:
    """Find out whether disks that took no writes do so again, and wait for it."""
    probes = [inlet.probe() for inlet in list(hub.inlets.values())]
    await asyncio.gather(*(asyncio.shield(each) for each in probes if each is not None))


def _of_deployment(hub: Hub) -> Iterator[StandingRefusal]:
    problem, shortage = hub.deployed.problem, hub.memory_shortage
    if problem is not None:
        yield StandingRefusal("changes of streams, queries and static graphs", problem, 503)
    if shortage is not None:
        requests = "new queries, new static graphs and requests to /sparql"
        yield StandingRefusal(requests, shortage, 503, "memory")


def _of_logs(hub: Hub) -> Iterator[StandingRefusal]:
    for inlet in list(hub.inlets.values()):
        requests = f"pushes to stream '{inlet.entry.name}'"
        if inlet.problem is not None:
            yield StandingRefusal(requests, inlet.problem, 503)
        elif inlet.is_full:
            yield StandingRefusal(requests, _full_text(inlet), 429, "log_bytes", is_ready=True)


def _full_text(inlet: Inlet) -> str:
    return (
        f"its log has {inlet.size:,} of {inlet.quota:,} bytes (limit 'log_bytes'); there is room "
        "again when more of it has been read and the windows over it have closed, which a "
        "heartbeat brings about where no element does"
    )


def _of_limits(hub: Hub) -> Iterator[StandingRefusal]:
    limits = hub.limits
    full = (
        ("new queries", len(hub.catalogue.queries), limits.queries, "queries", 429),
        ("new streams", len(hub.catalogue.streams), limits.streams, "streams", 429),
        ("new followers of results", hub.following.count, limits.subscribers, "subscribers", 503),
    )
    for requests, number, limit, name, status in full:
        if number >= limit:
            reason = f"there may be {limit:,} of them, and there are {number:,} (limit '{name}')"
            yield StandingRefusal(requests, reason, status, name, is_ready=True)
    waiting = limits.evaluations + limits.waiting
    if hub.asking.under_way >= waiting:
        reason = f"{waiting:,} are under way (limits 'evaluations' and 'waiting')"
        yield StandingRefusal("requests to /sparql", reason, 503, "waiting", is_ready=True)
