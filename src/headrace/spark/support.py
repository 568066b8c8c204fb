"""Which plans the Spark runtime can run; the others are refused, never run wrongly."""

from __future__ import annotations

from headrace.algebra.query import Dataset, Select
from headrace.algebra.reporting import DAY, FIRST, Emit, NonEmpty, OnClose
from headrace.errors import UnsupportedError
from headrace.planning.plan import Plan


def check_supported(plan: Plan) -> None:
    """Refuse a plan that needs what this runtime does not have yet.

    Raises:
        UnsupportedError: naming it.
    """
    query, semantics = plan.query, plan.semantics
    problems = {
        "queries other than SELECT": not isinstance(query.form, Select),
        "static graphs": query.dataset != Dataset(),
        "queries registered as a stream": plan.stream is not None,
        "several windows": len(plan.windows) != 1,
        "windows without a slide": plan.windows[0].slide is None,
        "reports other than on-close": not isinstance(semantics.report, OnClose),
        "ISTREAM and DSTREAM": semantics.emit is not Emit.RSTREAM,
        "t0=first": semantics.t0 == FIRST,
        "max_ahead": semantics.max_ahead != DAY,
        "non_empty": semantics.non_empty is not NonEmpty.REPORT_ALL,
        "assert_quoted": semantics.assert_quoted,
        "SERVICE": plan.asks_services,
    }
    for what, present in problems.items():
        if present:
            raise UnsupportedError(
                f"the Spark runner cannot run {what} yet", hint="use --runner inline"
            )
