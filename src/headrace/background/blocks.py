"""Bindings that are sent along with a pattern, in blocks, so that only what fits comes back.

What comes back from all blocks together must be, once joined with the bindings, what the whole
answer would have given: no solution lost, and none twice. So:

* a variable that is unbound in some row is not sent at all, or a remote solution could fit two
  rows and come back twice;
* a term that means nothing elsewhere, such as a blank node, fits no solution that surely binds
  its variable, so its row is left out; if the pattern may leave the variable unbound, the
  variable is not sent.
"""

from __future__ import annotations

from collections.abc import Iterator

from headrace.algebra.expressions import Variable
from headrace.algebra.operators import Operator, Values
from headrace.algebra.scope import certain, possible
from headrace.background.text_terms import is_writable
from headrace.results.table import Row, Table


def blocks(pattern: Operator, bindings: Table, size: int) -> Iterator[Values | None]:
    """The bindings to send, a block at a time; None asks for everything.

    Without any row there is nothing to ask for; rows that bind no variable of the pattern ask for
    everything.
    """
    sure = {variable.name for variable in certain(pattern)}
    shared = {variable.name for variable in possible(pattern)}
    places = [place for place, name in enumerate(bindings.variables) if name in shared]
    columns = {place: bindings.variables[place] for place in places}
    rows = [row for row in bindings.rows if not _fits_nothing(row, columns, sure)]
    sent = [place for place in places if all(_can_be_sent(row[place]) for row in rows)]
    distinct = list(dict.fromkeys(tuple(row[place] for place in sent) for row in rows))
    if not distinct:
        return
    if not sent:
        yield None
        return
    variables = tuple(Variable(columns[place]) for place in sent)
    for start in range(0, len(distinct), size):
        yield Values(variables, tuple(distinct[start : start + size]))


def _can_be_sent(term: object) -> bool:
    return term is not None and is_writable(term)  # type: ignore[arg-type]  # a cell of a table


def _fits_nothing(row: Row, columns: dict[int, str], sure: set[str]) -> bool:
    return any(
        (term := row[place]) is not None and name in sure and not is_writable(term)
        for place, name in columns.items()
    )
