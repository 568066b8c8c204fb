"""When a contract with an endpoint is broken, and when it is kept again: each told once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from headrace.kernel.remote import Contracted


@dataclass(frozen=True, slots=True)
class Alert:
    """A contract that is not met, or is met again.

    Attributes:
        query: whose.
        endpoint: with whom.
        at: the instant, in microseconds.
        problem: why it is not met; None if it is met again.
        accuracy: of the answer, as estimated.
        absent: how many mappings of its windows are not in the view, so that rows are missing.
        completeness: what share of the expected rows the answer has, as estimated.
    """

    query: str
    endpoint: str
    at: int
    problem: str | None
    accuracy: float
    absent: int = 0
    completeness: float = 1.0

    def __str__(self) -> str:
        """What a log says."""
        if self.problem is None:
            return f"'{self.query}' meets its contract with <{self.endpoint}> again"
        return (
            f"'{self.query}' cannot meet its contract with <{self.endpoint}>: {self.problem}; "
            f"its answers go on, {self._quality}"
        )

    @property
    def _quality(self) -> str:
        right = f"estimated to be {self.accuracy:.0%} accurate and {self.completeness:.0%} complete"
        if not self.absent:
            return right
        mappings = "1 mapping" if self.absent == 1 else f"{self.absent} mappings"
        return f"without the rows of {mappings} that are not known yet, {right}"


class Alerts:
    """The contracts that are not met, and who wants to know."""

    def __init__(self, log: Callable[[str], object]) -> None:
        """Begin with all of them met."""
        self.raised: dict[tuple[str, str], Alert] = {}
        self._log = log
        self._callbacks: list[Callable[[Alert], None]] = []

    def on_change(self, callback: Callable[[Alert], None]) -> None:
        """Call a function with each alert that is raised or cleared."""
        self._callbacks.append(callback)

    def hear(self, contracts: Mapping[str, Contracted]) -> None:
        """Tell what has changed, in order, now that queries stand so."""
        for query, contracted in contracts.items():
            for standing in (*contracted.earlier, contracted):
                self._hear(query, standing)

    def _hear(self, query: str, standing: Contracted) -> None:
        quality = standing.accuracy, standing.absent, standing.completeness
        for (name, endpoint), alert in list(self.raised.items()):
            if name == query and endpoint not in standing.alerts:
                del self.raised[name, endpoint]
                self._tell(Alert(query, alert.endpoint, standing.at, None, *quality))
        for endpoint, problem in standing.alerts.items():
            if (query, endpoint) not in self.raised:
                alert = Alert(query, endpoint, standing.at, problem, *quality)
                self.raised[query, endpoint] = alert
                self._tell(alert)

    def _tell(self, alert: Alert) -> None:
        self._log(str(alert))
        for callback in self._callbacks:
            callback(alert)
