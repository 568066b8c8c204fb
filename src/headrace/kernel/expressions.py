"""What expressions give on columns of solutions.

Comparisons of numbers and of names are done on whole columns. Everything else is evaluated once
for each distinct combination of its inputs, by the function table, and joined back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, reduce
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

import polars as pl

from headrace.algebra.expressions import (
    BuiltIn,
    Exists,
    Expression,
    FunctionCall,
    Membership,
    Moment,
    Operation,
    Timestamp,
    Variable,
)
from headrace.algebra.operators import Operator
from headrace.algebra.scope import mentioned
from headrace.algebra.uncertainty import is_columnar
from headrace.algebra.walk import parts, rewritten
from headrace.functions.dependence import is_costly, uses_time
from headrace.functions.errors import ExpressionError
from headrace.functions.evaluate import EvaluationContext, Evaluator, evaluator, is_volatile
from headrace.functions.logic import truth
from headrace.functions.times import date_time, length
from headrace.functions.values import FALSE, TRUE
from headrace.kernel.budget import Budget, first_rows
from headrace.kernel.columns import INSTANT, column, kind_of, number_of
from headrace.kernel.dictionary import Dictionary
from headrace.kernel.solutions import Solutions
from headrace.kernel.stamps import Stamps
from headrace.kernel.values import KIND, NUMBER, TRUTH, Kind
from headrace.rdf.terms import Iri, Literal, Term

if TYPE_CHECKING:
    from headrace.kernel.uncertain import Uncertain

ExistsTest = Callable[[Operator, Solutions], pl.Series]
"""Which of some solutions have a compatible solution of a pattern."""

_COMPARED: Final[dict[str, Callable[[pl.Expr, pl.Expr], pl.Expr]]] = {
    "=": pl.Expr.__eq__,
    "!=": pl.Expr.__ne__,
    "<": pl.Expr.__lt__,
    "<=": pl.Expr.__le__,
    ">": pl.Expr.__gt__,
    ">=": pl.Expr.__ge__,
}
# Two different terms of these kinds are never equal, whatever they are.
_NAMES: Final = [int(Kind.IRI), int(Kind.BLANK)]
_RESULT: Final = "result"
_TERM: Final = 150
"""Bytes of a term besides its text."""
_SEED: Final = 10
"""Numbers that take as many bytes as a term of a row, or what its random values follow from."""
_RESULT_ROW: Final = "row of the result"


@dataclass(frozen=True, slots=True)
class Expressions:
    """Evaluates expressions on solutions.

    Attributes:
        dictionary: gives terms and values for ids, and ids for new terms.
        context: what expressions depend on besides their inputs.
        moment: the time of an instant, as NOW() gives it.
        label: what tells an instant from any other, wherever it is evaluated.
        exists: tests the pattern of an EXISTS.
        stamps: knows the times that timestamp() gives.
        budget: says when there is no time left.
    """

    dictionary: Dictionary
    context: EvaluationContext
    moment: Callable[[int], Literal]
    label: Callable[[int], bytes]
    exists: ExistsTest
    stamps: Stamps
    budget: Budget

    # -- truth -----------------------------------------------------------------------------

    def condition(self, expression: Expression, solutions: Solutions) -> pl.Series:
        """The truth of an expression on each solution; null where it is an error."""
        solutions = solutions.at_no_instant()
        expression, solutions = self._without_timestamps(expression, solutions)
        match expression:
            case Operation("&&", arguments):
                return reduce(lambda a, b: a & b, self._conditions(arguments, solutions))
            case Operation("||", arguments):
                return reduce(lambda a, b: a | b, self._conditions(arguments, solutions))
            case Operation("!", (argument,)):
                return ~self.condition(argument, solutions)
            case BuiltIn("BOUND", (Variable() as variable,)):
                return self._ids(variable, solutions).is_not_null()
            case Exists(pattern, negated):
                found = self.exists(pattern, solutions)
                return ~found if negated else found
            case Operation(symbol, (left, right)) if symbol in _COMPARED:
                return self._compared(expression, symbol, left, right, solutions)
            case Variable():
                return self._truth_of(self._ids(expression, solutions), solutions)
            case _:
                return self._truth_of(self.value(expression, solutions), solutions)

    def _conditions(
        self, arguments: tuple[Expression, ...], solutions: Solutions
    ) -> list[pl.Series]:
        found = []
        for argument in arguments:
            found.append(self.condition(argument, solutions))
            self.budget.check(len(found[-1]), "a condition of many parts")
        return found

    def _truth_of(self, ids: pl.Series, solutions: Solutions) -> pl.Series:
        """Effective boolean values: from the dictionary where it has them, else looked up."""
        found = self.dictionary.values_of(ids)[TRUTH]
        if found.null_count() == ids.null_count():
            return found
        variable = Variable("_:.truth")
        frame = pl.DataFrame({INSTANT: solutions.frame[INSTANT], column(variable): ids})
        return found.fill_null(self._true_by_distinct(variable, Solutions(frame)))

    def _compared(
        self,
        expression: Expression,
        symbol: str,
        left: Expression,
        right: Expression,
        solutions: Solutions,
    ) -> pl.Series:
        """A comparison, on columns for the rows where both sides are plain enough."""
        if not _is_plain(left) or not _is_plain(right):
            return self._true_by_distinct(expression, solutions)
        sides = [self._side(left, solutions), self._side(right, solutions)]
        both = pl.DataFrame(
            [
                part.alias(f"{place} {part.name}")
                for place, side in enumerate(sides)
                for part in side
            ]
        )
        decided, open_rows = both.select(*_decided(symbol))
        if not open_rows.any():
            return decided
        undecided = solutions.with_frame(solutions.frame.filter(open_rows))
        answers = self._true_by_distinct(expression, undecided)
        rows = open_rows.arg_true()
        return decided.scatter(rows, answers)

    def _side(self, expression: Expression, solutions: Solutions) -> pl.DataFrame:
        if isinstance(expression, Variable):
            return self.worth(expression, solutions)
        if isinstance(expression, FunctionCall):
            return self._uncertain().worth(expression, solutions)
        assert isinstance(expression, Iri | Literal), "nothing else is plain"
        one = pl.Series("id", [self.dictionary.encode(expression)], dtype=pl.Int64)
        constant = [one, *self.dictionary.values_of(one)]
        return pl.DataFrame([each.new_from_index(0, solutions.height) for each in constant])

    def worth(self, variable: Variable, solutions: Solutions) -> pl.DataFrame:
        """The id, kind and number of a variable in each solution."""
        name, frame = column(variable), solutions.frame
        if number_of(name) in frame.columns:
            return pl.DataFrame(
                {"id": frame[name], KIND: frame[kind_of(name)], NUMBER: frame[number_of(name)]}
            )
        ids = self._ids(variable, solutions)
        worth = self.dictionary.values_of(ids)
        return pl.DataFrame([ids.alias("id"), worth[KIND], worth[NUMBER]])

    # -- values ----------------------------------------------------------------------------

    def value(
        self, expression: Expression, solutions: Solutions, seeds: list[bytes] | None = None
    ) -> pl.Series:
        """The term that an expression gives on each solution, by id; null where it is an error.

        Args:
            expression: what to compute.
            solutions: what for.
            seeds: what RAND() and its like follow from in each solution; else from its values.
        """
        solutions = solutions.at_no_instant()
        expression, solutions = self._without_timestamps(expression, solutions)
        if isinstance(expression, Variable | Iri | Literal):
            return self._ids(expression, solutions)
        if is_columnar(expression):
            return self._uncertain(seeds).ids(expression, solutions)
        terms = self._by_distinct(expression, solutions, lambda evaluate: evaluate, seeds)
        return self.dictionary.encode_all(terms)  # type: ignore[arg-type]  # an evaluator gives terms

    def _uncertain(self, seeds: list[bytes] | None = None) -> Uncertain:
        from headrace.kernel.uncertain import Uncertain  # noqa: PLC0415 - it takes time to load

        def value(argument: Expression, solutions: Solutions) -> pl.Series:
            return self.value(argument, solutions, seeds)

        return Uncertain(self.dictionary, self.context.calls, value)

    def _ids(self, expression: Variable | Iri | Literal, solutions: Solutions) -> pl.Series:
        if isinstance(expression, Variable):
            name = column(expression)
            if name in solutions.frame.columns:
                return solutions.frame[name]
            return pl.Series(name, [None] * solutions.height, dtype=pl.Int64)
        identity = self.dictionary.encode(expression)
        return pl.repeat(identity, solutions.height, dtype=pl.Int64, eager=True)

    def _true_by_distinct(self, expression: Expression, solutions: Solutions) -> pl.Series:
        def test(
            evaluate: Evaluator,
        ) -> Callable[[dict[Variable, Term], EvaluationContext], object]:
            return lambda solution, context: truth(evaluate(solution, context))

        found = self._by_distinct(expression, solutions, test)
        return pl.Series(_RESULT, found, dtype=pl.Boolean)

    def _by_distinct(
        self,
        expression: Expression,
        solutions: Solutions,
        made: Callable[[Evaluator], Callable[[dict[Variable, Term], EvaluationContext], object]],
        seeds: list[bytes] | None = None,
    ) -> list[object]:
        """A result for each solution, computed once for those with equal inputs."""
        expression, solutions = self._without_exists(expression, solutions)
        expression, solutions = self._without_calls(expression, solutions, seeds)
        frame = solutions.frame
        inputs = sorted(mentioned(expression), key=lambda each: each.name)
        present = [each for each in inputs if solutions.has(each)]
        evaluate = made(evaluator(expression, self.context.functions))
        if is_volatile(expression):
            return self._results(evaluate, present, frame, seeds or self.seeds(frame))
        if not self.context.calls.cached and is_costly(expression):
            return self._results(evaluate, present, frame, None)
        key = [column(each) for each in present]
        if solutions.keyed and uses_time(expression):
            key = [INSTANT, *key]
        distinct = frame.select(INSTANT, *_but(key))
        distinct = first_rows(distinct, key, "an expression") if key else distinct.head(1)
        results = self._results(evaluate, present, distinct, None)
        return self._spread(results, key, distinct, solutions.frame)

    def _results(
        self,
        evaluate: Callable[[dict[Variable, Term], EvaluationContext], object],
        inputs: list[Variable],
        distinct: pl.DataFrame,
        seeds: list[bytes] | None,
    ) -> list[object]:
        columns = [self.dictionary.terms(distinct[column(each)]) for each in inputs]
        rows = zip(*columns, strict=True) if columns else (() for _ in range(distinct.height))
        results: list[object] = []
        meter = self.budget.meter
        for position, (instant, row) in enumerate(zip(distinct[INSTANT], rows, strict=True)):
            context = replace(self.context, now=self.moment(instant))
            if seeds is not None:
                context = replace(context, seed=self.context.seed + seeds[position])
            solution = {
                variable: term
                for variable, term in zip(inputs, row, strict=True)
                if term is not None
            }
            meter.step()
            try:
                result = evaluate(solution, context)
            except ExpressionError:
                result = None
            if isinstance(result, Literal):
                meter.make_text(_TERM + 2 * len(result.lexical))  # the dictionary has it too
            results.append(result)
        return results

    def _spread(
        self, results: list[object], key: list[str], distinct: pl.DataFrame, frame: pl.DataFrame
    ) -> list[object]:
        """Results of distinct inputs, for every row with these inputs."""
        if not key:
            return results * frame.height if frame.height else []
        numbered = distinct.select(key).with_row_index(_RESULT_ROW)
        found = frame.select(key).join(
            numbered, on=key, how="left", nulls_equal=True, maintain_order="left"
        )
        return [results[row] for row in found[_RESULT_ROW]]

    def seeds(self, frame: pl.DataFrame) -> list[bytes]:
        """Bytes for each row that follow from its terms and its instant, and differ for each."""
        names = sorted(name for name in frame.columns if name.startswith("?"))
        self.budget.check(frame.height, "a value by chance", _SEED + _SEED * len(names))
        columns = [self.dictionary.texts(frame[name]).to_list() for name in names]
        rows = zip(*columns, strict=True) if columns else (() for _ in range(frame.height))
        seen: dict[tuple[object, ...], int] = {}
        seeds = []
        meter = self.budget.meter
        for instant, row in zip(frame[INSTANT].to_list(), rows, strict=True):
            # What is unbound has no say: which columns there are depends on the other rows.
            bound = [(name, text) for name, text in zip(names, row, strict=True) if text]
            key = (self.label(instant), *bound)
            count = seen[key] = seen.get(key, -1) + 1
            meter.step()
            seeds.append(blake2b(repr((key, count)).encode(), digest_size=16).digest())
        return seeds

    def _without_timestamps(
        self, expression: Expression, solutions: Solutions
    ) -> tuple[Expression, Solutions]:
        """The expression with each timestamp() replaced by a variable that holds its value."""
        calls = dict.fromkeys(part for part in parts(expression) if isinstance(part, Timestamp))
        if not calls:
            return expression, solutions
        named: dict[Expression, Variable] = {}
        frame = solutions.frame
        for position, call in enumerate(calls):
            variable = named[call] = Variable(f"_:.stamp{position}")
            times = self._times(call, solutions)
            distinct = times.unique().drop_nulls()
            literal = length if call.moment is Moment.DURATION else date_time
            ids = self.dictionary.encode_all([literal(time) for time in distinct])
            stamps = times.replace_strict(distinct, ids, default=None, return_dtype=pl.Int64)
            frame = frame.with_columns(stamps.alias(column(variable)))
        return rewritten(expression, named.get), solutions.with_frame(frame)

    def _times(self, call: Timestamp, solutions: Solutions) -> pl.Series:
        if call.moment is not None:
            return self.stamps.of_solution(call, solutions)
        if len(call.arguments) == 1:
            return self.stamps.of_variable(call, solutions, self.dictionary)
        triple = [self.value(part, solutions) for part in call.arguments]
        return self.stamps.of_triple(call, solutions, triple)

    def _without_calls(
        self, expression: Expression, solutions: Solutions, seeds: list[bytes] | None
    ) -> tuple[Expression, Solutions]:
        """The expression with each call that columns have replaced by a variable with its value.

        What may not be asked for at all, in IF and its like, stays.
        """
        named: dict[FunctionCall, Variable] = {}

        def swapped(part: Expression) -> Expression | None:
            if not is_columnar(part):
                return part if _may_be_skipped(part) else None
            if part not in named:
                named[part] = Variable(f"_:.call{len(named)}")
            return named[part]

        rest = rewritten(expression, swapped)
        frame = solutions.frame
        for call, variable in named.items():
            ids = self._uncertain(seeds).ids(call, solutions)
            frame = frame.with_columns(ids.alias(column(variable)))
        return (rest, solutions.with_frame(frame)) if named else (expression, solutions)

    def _without_exists(
        self, expression: Expression, solutions: Solutions
    ) -> tuple[Expression, Solutions]:
        """The expression with each EXISTS in it replaced by a variable that holds its truth."""
        tests = [part for part in parts(expression) if isinstance(part, Exists)]
        if not tests:
            return expression, solutions
        truths = {False: self.dictionary.encode(FALSE), True: self.dictionary.encode(TRUE)}
        named: dict[Exists, Variable] = {}
        frame = solutions.frame
        for position, each in enumerate(tests):
            variable = Variable(f"_:.exists{position}")
            answers = self.condition(each, solutions)
            ids = answers.replace_strict(truths, return_dtype=pl.Int64)
            frame = frame.with_columns(ids.alias(column(variable)))
            named[each] = variable
        swapped = rewritten(
            expression, lambda part: named.get(part) if isinstance(part, Exists) else None
        )
        return swapped, solutions.with_frame(frame)


@cache
def _decided(symbol: str) -> tuple[pl.Expr, pl.Expr]:
    """What a comparison gives where both are numbers, or names that are or are not the same.

    The second column tells where that is not enough, and both sides are bound.
    """
    ours, theirs = _Side(0), _Side(1)
    numbers = _COMPARED[symbol](ours.beside(theirs), theirs.beside(ours))
    if symbol in {"=", "!="}:
        same = ours.id == theirs.id
        named = ours.kind.is_in(_NAMES) & theirs.kind.is_not_null()
        named = named | (theirs.kind.is_in(_NAMES) & ours.kind.is_not_null())
        numbers = pl.when(named).then(same if symbol == "=" else ~same).otherwise(numbers)
    unsure = numbers.is_null() & ours.id.is_not_null() & theirs.id.is_not_null()
    return numbers.alias("decided"), unsure.alias("open")


def _may_be_skipped(expression: Expression) -> bool:
    """Whether not every part of an expression is looked at."""
    match expression:
        case BuiltIn("IF" | "COALESCE") | Operation("||" | "&&") | Membership():
            return True
        case _:
            return False


def _is_plain(expression: Expression) -> bool:
    """Whether a side of a comparison has a column of numbers."""
    return isinstance(expression, Variable | Iri | Literal) or is_columnar(expression)


class _Side:
    """The columns of one side of a comparison."""

    def __init__(self, place: int) -> None:
        self.id, self.kind, self.number = (pl.col(f"{place} {n}") for n in ("id", KIND, NUMBER))

    def beside(self, other: _Side) -> pl.Expr:
        """Numbers to compare with others; an xsd:float is compared with those of its precision.

        A number that has more digits than that would have to be rounded first: it is left open.
        """
        exact = [int(Kind.INTEGER), int(Kind.DECIMAL)]
        rounded = (other.kind == Kind.FLOAT) & self.kind.is_in(exact)
        fits = self.number.cast(pl.Float32).cast(pl.Float64) == self.number
        return pl.when(~rounded | fits).then(self.number)


def _but(key: list[str]) -> list[str]:
    return [name for name in key if name != INSTANT]
