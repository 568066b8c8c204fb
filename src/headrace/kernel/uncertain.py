"""Calls of uncertainty functions on columns: from the ids of terms to numbers and distributions.

What this needs takes time to load, and few queries ask for it: it is imported when one does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from headrace.algebra.expressions import Expression, FunctionCall, Variable
from headrace.algebra.scope import mentioned
from headrace.algebra.uncertainty import is_columnar
from headrace.algebra.walk import rewritten
from headrace.functions.calls import Calls
from headrace.functions.errors import ExpressionError, UnreadableValueError
from headrace.functions.uncertainty import columns as codes
from headrace.functions.uncertainty.columns import VECTORISED, Operands
from headrace.functions.uncertainty.literals import canonical, distribution_of
from headrace.functions.value_failures import Cause
from headrace.functions.values import is_distribution
from headrace.kernel.columns import ID, INSTANT, column
from headrace.kernel.dictionary import Dictionary
from headrace.kernel.solutions import Solutions
from headrace.kernel.values import KIND, NUMBER, Kind, double_texts
from headrace.rdf.terms import Iri, Literal
from headrace.rdf.vocabulary import RSPU_DISTRIBUTION, XSD_DOUBLE

_ROW = "row of the result"


@dataclass(frozen=True, slots=True)
class Uncertain:
    """Evaluates calls of uncertainty functions.

    Attributes:
        dictionary: gives values for ids, and ids for new terms.
        calls: what was computed before in this evaluation.
        value: the ids of any other expression.
    """

    dictionary: Dictionary
    calls: Calls
    value: Callable[[Expression, Solutions], pl.Series]

    def worth(self, call: FunctionCall, solutions: Solutions) -> pl.DataFrame:
        """Id, kind and number of what a call gives; the id only says that there is something."""
        found, places = self._results(call, solutions)
        if places is not None:
            found = found.at(places)
        number = pl.Series(NUMBER, found.first).set(pl.Series(found.codes != codes.NUMBER), None)
        kind = np.where(found.codes == codes.NUMBER, Kind.DOUBLE, Kind.OTHER).astype(np.uint8)
        there = pl.Series(found.codes != codes.NONE)
        return pl.DataFrame(
            [
                pl.Series(ID, np.zeros(len(found), np.int64)).set(~there, None),
                pl.Series(KIND, kind).set(~there, None),
                number,
            ]
        )

    def ids(self, call: FunctionCall, solutions: Solutions) -> pl.Series:
        """The terms that a call gives, by id; null where it is an error."""
        found, places = self._results(call, solutions)
        ids = self._encoded(found)
        return ids if places is None else ids.gather(places)

    def _encoded(self, found: Operands) -> pl.Series:
        ids = pl.Series(ID, [None], dtype=pl.Int64).new_from_index(0, len(found))
        numbers = found.codes == codes.NUMBER
        if numbers.any():
            # To write a number down takes longer than to compute it.
            # A negative zero is the same number, and must not decide how all zeros are written.
            distinct, places = np.unique(found.first[numbers] + 0.0, return_inverse=True)
            texts = '"' + double_texts(pl.Series(distinct)) + f'"^^<{XSD_DOUBLE}>'
            encoded = self.dictionary.encode_texts(texts.to_list())
            ids = ids.scatter(np.flatnonzero(numbers), encoded.gather(places))
        others = np.flatnonzero(~numbers & (found.codes != codes.NONE))
        if others.size:
            written = [self._written(found, row) for row in others.tolist()]
            ids = ids.scatter(others, self.dictionary.encode_texts(written))
        return ids.alias(ID)

    def _written(self, found: Operands, row: int) -> str:
        distribution = found.value(row, self.calls.columns.shelf)
        assert distribution is not None, "there is a value"
        return f'"{canonical(distribution)}"^^<{RSPU_DISTRIBUTION}>'

    def _results(
        self, call: FunctionCall, solutions: Solutions
    ) -> tuple[Operands, npt.NDArray[np.intp] | None]:
        """What a call gives for distinct inputs, and which of it each solution has.

        Where there is nothing to look up, each solution has its own.
        """
        call, solutions = self._settled(call, solutions)
        inputs = sorted(mentioned(call), key=lambda each: each.name)
        key = [column(each) for each in inputs if solutions.has(each)]
        frame = solutions.frame
        if not self.calls.cached:
            return self._operands(call, solutions), None
        if not key:
            one = self._operands(call, solutions.with_frame(frame.head(1)))
            return one, np.zeros(frame.height, np.intp)
        distinct = frame.select(INSTANT, *key).unique(key, keep="first", maintain_order=True)
        if distinct.height == frame.height:
            return self._operands(call, solutions), None
        found = self._operands(call, Solutions(distinct, keyed=solutions.keyed))
        numbered = distinct.select(key).with_row_index(_ROW)
        places = frame.select(key).join(
            numbered, on=key, how="left", nulls_equal=True, maintain_order="left"
        )
        return found, places[_ROW].to_numpy().astype(np.intp)

    def _settled(self, call: FunctionCall, solutions: Solutions) -> tuple[FunctionCall, Solutions]:
        """A call of variables and constants only: what else it takes is computed beforehand.

        That may differ between solutions with equal inputs: RAND(), NOW() and EXISTS do.
        """
        named: dict[Variable, Expression] = {}

        def settled(part: Expression) -> Expression | None:
            if isinstance(part, Variable | Iri | Literal) or is_columnar(part):
                return None
            variable = Variable(f"_:.argument{len(named)}")
            named[variable] = part
            return variable

        plain = rewritten(call, settled)
        assert isinstance(plain, FunctionCall), "only its arguments are replaced"
        if not named:
            return call, solutions
        columns = [
            self.value(part, solutions).alias(column(variable)) for variable, part in named.items()
        ]
        return plain, solutions.with_frame(solutions.frame.with_columns(columns))

    def _operands(self, expression: Expression, solutions: Solutions) -> Operands:
        if not is_columnar(expression):
            return self._read(self.value(expression, solutions))
        arguments = [self._operands(each, solutions) for each in expression.arguments]
        iri = expression.function.value
        return self.calls.columns.results(iri, VECTORISED[iri, len(arguments)], arguments)

    def _read(self, ids: pl.Series) -> Operands:
        """Read a column of terms as numbers and distributions."""
        numbers = self.dictionary.values_of(ids)[NUMBER]
        plain = numbers.is_not_null() & numbers.is_not_nan()
        found = Operands.limits(
            numbers.fill_null(0.0).to_numpy(), plain.fill_null(value=False).to_numpy()
        )
        open_rows = np.flatnonzero((numbers.is_null() & ids.is_not_null()).to_numpy())
        if not open_rows.size:
            return found
        distinct = ids.gather(open_rows).unique(maintain_order=True)
        read = Operands.none(distinct.len())
        for row, term in enumerate(self.dictionary.terms(distinct)):
            assert term is not None, "it is bound"
            try:
                value = distribution_of(term)
            except UnreadableValueError as error:
                self.calls.failures.note(Cause.VALUE, error.datatype, str(error))
                continue
            except ExpressionError:
                continue
            # A number that columns do not hold is still no distribution.
            read.put(
                row, value if is_distribution(term) else float(value.mean), self.calls.columns.shelf
            )
        rows = pl.DataFrame({ID: ids.gather(open_rows)}).join(
            pl.DataFrame([distinct.alias(ID)]).with_row_index(_ROW),
            on=ID,
            how="left",
            maintain_order="left",
        )[_ROW]
        chosen = read.at(rows.to_numpy().astype(np.intp))
        found.codes[open_rows] = chosen.codes
        found.first[open_rows] = chosen.first
        found.second[open_rows] = chosen.second
        return found
