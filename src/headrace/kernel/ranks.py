"""In which order queries are stepped and told of: each after those whose streams it reads."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.kernel.reports import Report
from headrace.kernel.standing import Standing
from headrace.planning.network import in_step_order
from headrace.planning.plan import Plan


class StepOrder:
    """The order of queries, which is that of their registration where none reads another."""

    def __init__(self) -> None:
        """Begin with none."""
        self._plans: dict[str, Plan] = {}
        self._ranks: dict[str, int] = {}
        self._known = True
        self._next = 0

    def add(self, plan: Plan) -> None:
        """Take one more, after all others."""
        self._plans[plan.name] = plan
        self._ranks[plan.name] = self._next
        self._next += 1
        self._known = False

    def remove(self, name: str) -> None:
        """Forget one."""
        del self._plans[name], self._ranks[name]

    def sorted(self, queries: Iterable[Standing]) -> list[Standing]:
        """Queries in order; members of a group read the same streams, so any of them will do."""
        self._arrange()
        return sorted(queries, key=lambda query: self._ranks[query.name])

    def of_report(self, report: Report) -> int:
        """Where a report stands among others."""
        return self._ranks[report.query]

    def _arrange(self) -> None:
        if self._known:
            return
        self._known = True
        if any(plan.stream is not None for plan in self._plans.values()):
            plans = list(self._plans.values())
            for rank, place in enumerate(in_step_order(plans)):
                self._ranks[plans[place].name] = rank
            self._next = len(plans)
