"""Query levels, taken apart into the clauses that SPARQL text has for them."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.algebra.expressions import Aggregate, Expression, Variable
from headrace.algebra.operators import (
    Distinct,
    Extend,
    Filter,
    Group,
    Operator,
    OrderBy,
    OrderKey,
    Project,
    Reduced,
    Slice,
)
from headrace.algebra.scope import mentioned, possible_in_order
from headrace.algebra.walk import rewritten


@dataclass(frozen=True, slots=True)
class Level:
    """A query level, taken apart: what is under it, and its modifiers from the outside in."""

    pattern: Operator
    columns: tuple[Variable, ...]
    quantifier: str = ""
    order: tuple[OrderKey, ...] = ()
    offset: int = 0
    limit: int | None = None

    @classmethod
    def of(cls, operator: Operator) -> Level:
        """Take a query level apart; without a projection, all variables are selected."""
        offset, quantifier = 0, ""
        limit: int | None = None
        match operator:
            case Slice(source, offset, limit):
                operator = source
        match operator:
            case Distinct(source) | Reduced(source):
                quantifier = f"{type(operator).__name__.upper()} "
                operator = source
        columns = possible_in_order(operator)
        if isinstance(operator, Project):
            operator = operator.input
        match operator:
            case OrderBy(source, keys):
                return cls(source, columns, quantifier, keys, offset, limit)
        return cls(operator, columns, quantifier, (), offset, limit)


@dataclass(frozen=True, slots=True)
class Grouping:
    """The part of a level that GROUP BY, HAVING and computed columns say."""

    group: Group
    having: Expression | None
    computed: tuple[tuple[Variable, Expression], ...]

    @classmethod
    def of(cls, level: Level) -> Grouping | None:
        """The grouping of a level, if all its columns can be said at that level."""
        operator, computed, having = level.pattern, list[tuple[Variable, Expression]](), None
        while isinstance(operator, Extend):
            computed.append((operator.variable, operator.expression))
            operator = operator.input
        if isinstance(operator, Filter):
            having, operator = operator.condition, operator.input
        if not isinstance(operator, Group):
            return None
        found = cls(operator, having, tuple(reversed(computed)))
        return found if found._can_be_said_at(level) else None

    def _can_be_said_at(self, level: Level) -> bool:
        """Whether the level selects what it computes, in order, and computes it from its groups."""
        names = [variable for variable, _ in self.computed]
        if not level.columns or names != [
            each for each in level.columns if each not in self.group.keys
        ]:
            return False
        aggregates = {variable for variable, _ in self.group.aggregates}
        known = {*self.group.keys, *aggregates}
        used = frozenset[Variable]() if self.having is None else mentioned(self.having)
        if not used <= known:
            return False
        for variable, expression in self.computed:
            used |= mentioned(expression)
            if not used <= known:
                return False
            known.add(variable)
        for key in level.order:
            used |= mentioned(key.expression)
        return used <= known and bool(self.group.keys or used & aggregates)

    def spelled(self, expression: Expression) -> Expression:
        """An expression with the aggregates in place of the variables that stand for them."""
        calls: dict[Expression, Aggregate] = dict(self.group.aggregates)
        return rewritten(expression, calls.get)
