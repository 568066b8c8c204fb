"""Updates of the states of streams and queries in a manifest, after a step of the kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from headrace.kernel.step import Kernel
from headrace.kernel.step_results import Results
from headrace.pipeline.manifest import QueryState, StreamState


def count_late(
    streams: Mapping[str, StreamState], late: Mapping[str, Sequence[int]]
) -> dict[str, StreamState]:
    """Add the late elements of a step to the counters of streams."""
    return {
        iri: replace(state, late=state.late + len(late.get(iri, ())))
        for iri, state in streams.items()
    }


def update_query_states(
    before: Mapping[str, QueryState], kernel: Kernel, results: Results
) -> dict[str, QueryState]:
    """Add the reports of a step to the states of queries."""
    reports = {report.query: report for report in results.reports}
    states = {}
    at_work = [(query, plan) for query in kernel.queries for plan in query.plans]
    for standing, plan in at_work:
        name, digest = plan.name, plan.digest
        known = before.get(name)
        state = QueryState(digest, standing.progress, offered=0)
        if known is not None and known.digest == digest:
            state = known
        report = reports.get(name)
        state = state.offering(*results.placed.get(standing.name, (0, 0)))
        states[name] = replace(
            state if report is None else state.having(report),
            progress=standing.progress,
            since=standing.since,
            failure=standing.failure,
            pace=standing.pace,
        )
    return states
