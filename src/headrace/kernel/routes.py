"""Which routes new matches take, and why they were changed, in words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from headrace.algebra.notation import show
from headrace.kernel.matches import HUB_ROUTE, STATIC_ROUTE, Matches
from headrace.planning.planned import PlannedWindow
from headrace.planning.routing import Change, Route

_HIDING: Final = re.compile(r"_:\.within\d+\.")
"""What tells the variables of a subquery from others of the same name."""


def changes_of(matches: Sequence[Matches]) -> int:
    """How often routes were changed."""
    return sum(each.router.changed for each in matches)


def route_lines(matches: Sequence[Matches], windows: Sequence[PlannedWindow]) -> Iterator[str]:
    """The route from each pattern, and the last change of it with the figures that caused it."""
    for each in matches:
        parts = _Parts(each, windows)
        for pattern, route in sorted(each.router.routes.items()):
            yield f"from {parts.start(pattern)}: {parts.along(pattern, route)}"
            changes = [change for change in each.router.changes if change.pattern == pattern]
            if changes:
                yield f"  last changed with {_figures(changes[-1], parts)}"
        if each.router.changed:
            yield f"  changed {each.router.changed:,} times in all"


class _Parts:
    """What the parts of a branch are called."""

    def __init__(self, matches: Matches, windows: Sequence[PlannedWindow]) -> None:
        self._matches, self._windows = matches, windows

    def start(self, number: int) -> str:
        hub = self._matches.hub
        if number == HUB_ROUTE and hub is not None:
            return f"the terms of {hub.name} of which something is new"
        return "static data alone" if number == STATIC_ROUTE else self.pattern(number)

    def pattern(self, number: int) -> str:
        scanned = self._matches.patterns[number].scanned
        names = [f"<{self._windows[each].name.value}>" for each in scanned.windows]
        return f"{_HIDING.sub('', show(scanned.pattern))} in {' and '.join(names)}"

    def _leg(self, start: int, number: int) -> str:
        """Legs are the other patterns, and then the static tables."""
        hub = self._matches.hub
        # In static data alone, it begins with the first pattern.
        own = hub.spokes if start == HUB_ROUTE and hub is not None else (max(start, 0),)
        others = [each for each in range(len(self._matches.patterns)) if each not in own]
        if number < len(others):
            return self.pattern(others[number])
        table = self._matches.static[number - len(others)]
        shown = sorted(_HIDING.sub("", name) for name in table.names)
        return f"static ({' '.join(name for name in shown if not name.startswith('?_:'))})"

    def along(self, start: int, route: Route) -> str:
        return f"{', then '.join(self._leg(start, each) for each in route.legs)}; {_cost(route)}"


def _cost(route: Route) -> str:
    return f"cost {route.cost:,.0f}"


def _figures(change: Change, parts: _Parts) -> str:
    met = ", ".join(f"{each:,.1f}" for each in change.met)
    before = parts.along(change.pattern, change.before)
    return f"{change.rows:,.0f} new that meet {met} on the way; before: {before}"
