"""What is different from the last run of a deployment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from headrace.errors import SettingError
from headrace.kernel.reports import Report
from headrace.pipeline.manifest import Manifest
from headrace.pipeline.results import Told
from headrace.pipeline.setup import Setup
from headrace.planning.plan import Plan


def changes(last: Manifest, setup: Setup) -> Iterator[str]:
    """What is different from the last run, for the user to know."""
    for iri in setup.decodings:
        if iri not in last.streams:
            yield f"stream <{iri}> is new"
    for iri in last.streams:
        if iri not in setup.decodings:
            yield f"stream <{iri}> is no longer read: what windows held of it is forgotten"
    if last.schema != setup.schema:
        yield f"{_changed_schema(last, setup)}: queries begin anew with what comes from now on"
    known = {name: state.digest for name, state in last.queries.items()}
    for plan in setup.plans:
        if plan.name not in known:
            yield f"query '{plan.name}' is new: it sees what comes from now on"
        elif known[plan.name] != plan.digest and last.schema == setup.schema:
            yield f"query '{plan.name}' has changed: it begins anew with what comes from now on"
    names = {plan.name for plan in setup.plans}
    for name in known:
        if name not in names:
            yield f"query '{name}' is no longer run: what it remembered is forgotten"


def _changed_schema(last: Manifest, setup: Setup) -> str:
    if not last.schema:
        return "data were read without a schema, and now there is one"
    return "the schema has changed" if setup.schema else "data are no longer read under a schema"


def known_reports(told: Told, last: Manifest, plans: Sequence[Plan]) -> list[Report]:
    """Keep the reports of queries that are still as they were."""
    digests = {plan.name: plan.digest for plan in plans}
    known = {name for name, each in last.queries.items() if digests.get(name) == each.digest}
    return [each for each in told.reports if each.query in known]


def check_known(told: Told, last: Manifest, plans: Sequence[Plan]) -> None:
    """Refuse to publish what queries have to tell that are not known any more."""
    digests = {plan.name: plan.digest for plan in plans}
    for report in told.reports:
        if digests.get(report.query) != last.queries[report.query].digest:
            raise SettingError(
                f"the last run did not end well, and may not have told all that query "
                f"'{report.query}' had found, which has changed or is gone; run it as it was once "
                "more, stop it with Ctrl-C, and change it then"
            )
