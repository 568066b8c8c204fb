"""Scan: statements of windows and static data as one set, and the columns that a pattern binds."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.execution.relation.coalesce import coalesce
from headrace.execution.relation.relation import Relation, concat_relations


def scan_statements(
    contents: Sequence[Relation], identity: Sequence[str], names: Sequence[str], instants: int
) -> Relation:
    """Unite the contents of windows and static data, then keep the columns that are bound.

    The pieces of each statement are united first: two statements that differ only in a dropped
    column are two rows.

    Args:
        contents: statements with intervals, and static ones without.
        identity: the columns that make a statement: graph, subject, predicate and object; with
            timed contents also the time.
        names: the columns to keep.
        instants: how many instants the step has.
    """
    every = concat_relations([each.select(identity) for each in contents], instants)
    return coalesce(every).select(names)
