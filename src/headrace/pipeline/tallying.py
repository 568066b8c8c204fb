"""Count the statements of a stream that notes may be about."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

import polars as pl

from headrace.diagnosis.demands import demand_of, statements_of
from headrace.diagnosis.probes import Probe, Tally, chosen_probes, first_names
from headrace.kernel.columns import GRAPH, OBJECT, PREDICATE, SUBJECT
from headrace.planning.plan import Plan
from headrace.rdf.ids import term_id

_MOST_LOOKED_UP: Final = 1_000
"""With more distinct names than these, no examples are collected."""
_COUNT: Final = "count"
_NAMED: Final = "named"

Texts = Callable[[Sequence[int]], Sequence[str]]
"""The canonical texts of some ids."""


def probes_of(plans: Iterable[Plan], stream: str) -> tuple[Probe, ...]:
    """What is counted of a stream for the queries that read it."""
    readers = [plan for plan in plans if any(each.value == stream for each in plan.streams)]
    return chosen_probes(
        statement.probe for plan in readers for statement in statements_of(demand_of(plan))
    )


def tally_statements(
    statements: pl.DataFrame, probes: Sequence[Probe], seed: int, texts: Texts
) -> Tally:
    """Count statements, all of those that came.

    Args:
        statements: columns of ids.
        probes: what is counted.
        seed: of the ids.
        texts: looks up the texts of ids.
    """
    if not probes or statements.is_empty():
        return Tally(dict.fromkeys((each.key for each in probes), 0))
    groups = statements.group_by(PREDICATE, pl.col(GRAPH).is_not_null().alias(_NAMED)).agg(
        pl.len().alias(_COUNT)
    )
    plain = [each for each in probes if each.is_plain]
    others = [each for each in probes if not each.is_plain]
    counts = {each.key: _plain_count(groups, each, seed) for each in plain}
    if others:
        counted = statements.select(
            _matches(each, seed).sum().alias(str(place)) for place, each in enumerate(others)
        )
        counts |= {
            each.key: int(number) for each, number in zip(others, counted.row(0), strict=True)
        }
    return Tally(
        counts,
        _names(groups[PREDICATE].unique(), texts),
        _names(statements[GRAPH].drop_nulls().unique(), texts) if groups[_NAMED].any() else (),
    )


def _plain_count(groups: pl.DataFrame, probe: Probe, seed: int) -> int:
    chosen = groups.filter(pl.col(_NAMED) == probe.named)
    if probe.predicate is not None:
        chosen = chosen.filter(pl.col(PREDICATE) == term_id(probe.predicate, seed))
    return int(chosen[_COUNT].sum())


def _matches(probe: Probe, seed: int) -> pl.Expr:
    """Whether a statement matches a probe."""
    graph = pl.col(GRAPH)
    if probe.graph is not None:
        found = (graph == term_id(probe.graph, seed)).fill_null(value=False)
    else:
        found = graph.is_not_null() if probe.named else graph.is_null()
    terms = {SUBJECT: probe.subject, PREDICATE: probe.predicate, OBJECT: probe.object}
    for name, term in terms.items():
        if term is not None:
            found &= pl.col(name) == term_id(term, seed)
    return found


def _names(ids: pl.Series, texts: Texts) -> tuple[str, ...]:
    if ids.len() > _MOST_LOOKED_UP:
        return ()
    return first_names(texts(ids.to_list()))
