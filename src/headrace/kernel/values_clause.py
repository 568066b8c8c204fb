"""The solutions of VALUES."""

from __future__ import annotations

import polars as pl

from headrace.algebra.operators import Values
from headrace.kernel.columns import INSTANT, column
from headrace.kernel.dictionary import Dictionary
from headrace.kernel.members import table_of
from headrace.kernel.solutions import Solutions
from headrace.planning.sharing import Parameters


def values_of(operator: Values, dictionary: Dictionary) -> Solutions:
    """The rows of a table, which are the same at every instant."""
    if isinstance(operator, Parameters):
        return table_of(operator, dictionary)
    columns = [
        dictionary.encode_all([row[place] for row in operator.rows]).alias(column(variable))
        for place, variable in enumerate(operator.variables)
    ]
    zeros = pl.repeat(0, len(operator.rows), dtype=pl.Int64, eager=True).alias(INSTANT)
    return Solutions(pl.DataFrame([zeros, *columns]))
