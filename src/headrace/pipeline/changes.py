"""What is different from the last run of a deployment."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.pipeline.manifest import Manifest
from headrace.pipeline.setup import Setup


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
