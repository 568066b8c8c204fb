"""The rules, in the order in which they are tried until none changes anything.

What is fixed comes first, so that the others see less; then patterns of one place are brought
together, then conditions go down to where their variables are bound, and computed values come up to
where they are needed. What is narrowed is narrowed last, when nothing moves any more.
"""

from __future__ import annotations

from typing import Final

from headrace.rewrite.rule import Rule, local, placed, whole
from headrace.rewrite.rules.aggregates_as_groups import aggregates_as_groups
from headrace.rewrite.rules.associate_joins import associate_joins
from headrace.rewrite.rules.drop_needless_distinct import drop_needless_distinct
from headrace.rewrite.rules.drop_nothing import drop_nothing
from headrace.rewrite.rules.factor_optionals import factor_optionals
from headrace.rewrite.rules.factor_unions import factor_unions
from headrace.rewrite.rules.flatten_unions import flatten_unions
from headrace.rewrite.rules.fold_constants import fold_constants
from headrace.rewrite.rules.merge_graphs import merge_graphs
from headrace.rewrite.rules.merge_patterns import merge_patterns
from headrace.rewrite.rules.merge_projections import merge_projections
from headrace.rewrite.rules.merge_windows import merge_windows
from headrace.rewrite.rules.order_alternatives import order_alternatives
from headrace.rewrite.rules.order_filters import order_filters
from headrace.rewrite.rules.order_joins import order_joins
from headrace.rewrite.rules.order_patterns import order_patterns
from headrace.rewrite.rules.order_unions import order_unions
from headrace.rewrite.rules.prune_binds import prune_binds
from headrace.rewrite.rules.pull_bind_out_of_graph import pull_bind_out_of_graph
from headrace.rewrite.rules.pull_bind_out_of_join import pull_bind_out_of_join
from headrace.rewrite.rules.pull_bind_out_of_optional import pull_bind_out_of_optional
from headrace.rewrite.rules.pull_bind_out_of_window import pull_bind_out_of_window
from headrace.rewrite.rules.pull_costly_filters import pull_costly_filters
from headrace.rewrite.rules.push_aggregates_into_union import push_aggregates_into_union
from headrace.rewrite.rules.push_distinct_into_union import push_distinct_into_union
from headrace.rewrite.rules.push_filter_below_aggregates import push_filter_below_aggregates
from headrace.rewrite.rules.push_filter_below_bind import push_filter_below_bind
from headrace.rewrite.rules.push_filter_below_distinct import push_filter_below_distinct
from headrace.rewrite.rules.push_filter_below_projection import push_filter_below_projection
from headrace.rewrite.rules.push_filter_into_graph import push_filter_into_graph
from headrace.rewrite.rules.push_filter_into_join import push_filter_into_join
from headrace.rewrite.rules.push_filter_into_minus import push_filter_into_minus
from headrace.rewrite.rules.push_filter_into_optional import push_filter_into_optional
from headrace.rewrite.rules.push_filter_into_temporal import push_filter_into_temporal
from headrace.rewrite.rules.push_filter_into_union import push_filter_into_union
from headrace.rewrite.rules.push_filter_into_window import push_filter_into_window
from headrace.rewrite.rules.push_filter_to_static import push_filter_to_static
from headrace.rewrite.rules.push_filter_to_streams import push_filter_to_streams
from headrace.rewrite.rules.push_projections import push_projections
from headrace.rewrite.rules.separate_sources import separate_sources
from headrace.rewrite.rules.split_disjunctions import split_disjunctions
from headrace.rewrite.rules.split_filters import split_filters
from headrace.rewrite.rules.spread_windows import spread_windows

RULES: Final[tuple[Rule, ...]] = (
    local(fold_constants),
    local(drop_nothing),
    whole(prune_binds),
    # Patterns of one place meet.
    local(flatten_unions),
    local(order_unions),
    local(factor_unions),
    local(factor_optionals),
    local(associate_joins),
    local(pull_bind_out_of_graph),
    local(pull_bind_out_of_window),
    local(pull_bind_out_of_join),
    local(pull_bind_out_of_optional),
    local(merge_graphs),
    local(merge_windows),
    placed(merge_patterns),
    placed(separate_sources),
    # Conditions go down.
    local(split_filters),
    local(split_disjunctions, on=False),
    local(push_filter_below_aggregates),
    local(push_filter_below_distinct),
    local(push_filter_below_projection),
    local(push_filter_below_bind),
    local(push_filter_into_union),
    local(push_filter_into_minus),
    local(push_filter_into_optional, pushes=True),
    local(push_filter_into_join, pushes=True),
    local(push_filter_into_temporal, pushes=True),
    local(push_filter_into_window, pushes=True),
    local(push_filter_into_graph, pushes=True),
    placed(push_filter_to_streams, pushes=True),
    placed(push_filter_to_static, pushes=True),
    local(pull_costly_filters, on=False),
    # Aggregates go down to the streams.
    local(aggregates_as_groups),
    placed(spread_windows),
    local(push_aggregates_into_union),
    local(push_distinct_into_union),
    local(drop_needless_distinct),
    # What is cheap or selective comes first.
    local(order_alternatives),
    local(order_filters),
    local(order_joins),
    local(order_patterns),
    # What nobody asks for is dropped.
    whole(push_projections),
    local(merge_projections),
)
