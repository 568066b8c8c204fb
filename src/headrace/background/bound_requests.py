"""The requests of a SERVICE that is joined by blocks of bindings or by a nested loop.

A request of a nested loop has the terms of one binding in the place of the variables, and no
VALUES. Where a term in the place of its variable would change the meaning of the pattern (inside a
subquery, a MINUS, a path), the pattern stays as it is and a FILTER compares the variable.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import reduce

from headrace.algebra.expressions import BuiltIn, Expression, Operation, Variable
from headrace.algebra.operators import Filter, Operator, Values
from headrace.algebra.scope import certain
from headrace.algebra.substitution import is_substitutable, substituted, without_impossible
from headrace.background.blocks import blocks
from headrace.background.responses import arranged
from headrace.background.text import query_text
from headrace.rdf.terms import Term
from headrace.results.table import Row, Table


@dataclass(frozen=True, slots=True)
class BoundRequest:
    """A request for the solutions that fit some bindings.

    Attributes:
        text: the query.
        given: the terms of the binding if it is one, by the names of their variables.
        replaced: whether the query has these terms in the place of the variables.
    """

    text: str
    given: dict[str, Term | None] = field(default_factory=dict)
    replaced: bool = False

    def restore(self, table: Table, variables: tuple[str, ...]) -> list[Row]:
        """Restore the terms of the binding in the rows of the answer.

        Raises:
            DataError: the answer has a column that was not asked for.
        """
        asked = tuple(name for name in variables if not (self.replaced and name in self.given))
        rows = arranged(table, asked).rows if asked else tuple(() for _ in table.rows)
        answers = (dict(zip(asked, row, strict=True)) | self.given for row in rows)
        return [tuple(answer[name] for name in variables) for answer in answers]


def block_requests(pattern: Operator, bindings: Table | None, size: int) -> Iterator[BoundRequest]:
    """Write a request for each block of bindings; without bindings, one for all solutions."""
    for values in [None] if bindings is None else blocks(pattern, bindings, size):
        yield BoundRequest(query_text(pattern, values))


def nested_requests(pattern: Operator, bindings: Table | None) -> Iterator[BoundRequest]:
    """Write a request for each binding; without bindings, one for all solutions."""
    for values in [None] if bindings is None else blocks(pattern, bindings, 1):
        if values is None:
            yield BoundRequest(query_text(pattern))
        elif (request := _single_request(pattern, values)) is not None:
            yield request


def _single_request(pattern: Operator, values: Values) -> BoundRequest | None:
    """Write the request for one binding; None if no data can have a solution that fits it."""
    (row,) = values.rows
    bindings = {
        variable: term
        for variable, term in zip(values.variables, row, strict=True)
        if term is not None
    }
    given: dict[str, Term | None] = {variable.name: term for variable, term in bindings.items()}
    if not is_substitutable(pattern, frozenset(bindings)):
        return BoundRequest(query_text(_compare(pattern, bindings)), given, replaced=False)
    possible = without_impossible(substituted(pattern, bindings))
    if possible is None:
        return None
    return BoundRequest(query_text(possible), given, replaced=True)


def _compare(pattern: Operator, bindings: dict[Variable, Term]) -> Operator:
    sure = certain(pattern)
    tests: list[Expression] = []
    for variable, term in bindings.items():
        same: Expression = BuiltIn("SAMETERM", (variable, term))
        unbound = Operation("!", (BuiltIn("BOUND", (variable,)),))
        tests.append(same if variable in sure else Operation("||", (unbound, same)))
    return Filter(reduce(lambda one, other: Operation("&&", (one, other)), tests), pattern)
