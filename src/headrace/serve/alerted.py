"""Contracts with endpoints that are not kept: those that stand, and the latest changes."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Mapping
from itertools import count
from typing import Any, Final

from headrace.background.errors import public
from headrace.kernel.alerts import Alert, Alerts
from headrace.kernel.remote import Contracted

LOGGER: Final = logging.getLogger("headrace.serve")
_REMEMBERED: Final = 1_000


class Alerted:
    """What the deployment says of contracts, for whoever follows. It is heard in any thread."""

    def __init__(self) -> None:
        """Begin with all contracts kept."""
        self._alerts = Alerts(LOGGER.warning)
        self._alerts.on_change(self._note)
        self._numbers = count(1)
        self._changes: deque[tuple[int, Alert]] = deque(maxlen=_REMEMBERED)

    def hear(self, contracts: Mapping[str, Contracted]) -> None:
        """Take note of how queries stand with endpoints."""
        self._alerts.hear(contracts)

    def _note(self, alert: Alert) -> None:
        self._changes.append((next(self._numbers), alert))

    def forget(self, query: str) -> None:
        """A query has been removed, and its contracts with it."""
        for key in list(self._alerts.raised):
            if key[0] == query:
                del self._alerts.raised[key]

    def standing(self, query: str) -> list[dict[str, Any]]:
        """The contracts of a query that are not kept."""
        raised = list(self._alerts.raised.values())
        return [_shown(each) for each in raised if each.query == query]

    @property
    def newest(self) -> int:
        """The number of the latest change; 0 if there was none."""
        changes = list(self._changes)
        return changes[-1][0] if changes else 0

    def after(self, number: int) -> list[tuple[int, dict[str, Any]]]:
        """The changes after a number, each with its own."""
        return [
            (each, {"query": alert.query, **_shown(alert), "says": str(alert)})
            for each, alert in list(self._changes)
            if each > number
        ]


def _shown(alert: Alert) -> dict[str, Any]:
    return {
        "endpoint": public(alert.endpoint),
        "at": alert.at / 1000,
        "problem": alert.problem,
        "accuracy": round(alert.accuracy, 4),
        "completeness": round(alert.completeness, 4),
    }
