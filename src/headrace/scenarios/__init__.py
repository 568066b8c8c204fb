"""Scenarios: files that say what queries emit, and when, for streams written out by hand.

``docs/scenarios.md`` describes the format. ``read_scenario`` reads a file, ``played`` runs it, and
``problems`` says where what came out differs.
"""

from __future__ import annotations

from headrace.scenarios.comparing import problems
from headrace.scenarios.playing import played, pushed
from headrace.scenarios.reading import read_scenario
from headrace.scenarios.values import Counts, Emission, Instant, Scenario, ScenarioQuery

__all__ = [
    "Counts",
    "Emission",
    "Instant",
    "Scenario",
    "ScenarioQuery",
    "played",
    "problems",
    "pushed",
    "read_scenario",
]
