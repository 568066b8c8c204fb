"""Which solutions an EXISTS pattern is true for.

A pattern of joins, unions and filters is evaluated once, and the solutions compatible with one of
its own are found by a semi-join. In any other pattern the values of the solution are put in the
place of its variables first, as the standard says, once for each distinct combination.
"""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from headrace.algebra.expressions import Variable
from headrace.algebra.operators import Operator
from headrace.algebra.scope import mentioned, possible
from headrace.algebra.substitution import is_plain, substituted
from headrace.algebra.walk import expressions, within
from headrace.kernel.budget import first_rows
from headrace.kernel.columns import INSTANT, column
from headrace.kernel.dictionary import Dictionary
from headrace.kernel.join import semi_join
from headrace.kernel.solutions import Solutions
from headrace.rdf.terms import Term

Evaluate = Callable[[Operator], Solutions]


def exists(
    pattern: Operator,
    solutions: Solutions,
    evaluate: Evaluate,
    dictionary: Dictionary,
    instants: range | tuple[int, ...],
) -> pl.Series:
    """Whether each solution has a compatible solution of the pattern."""
    if solutions.height == 0:
        return pl.Series("exists", [], dtype=pl.Boolean)
    if is_plain(pattern):
        return semi_join(solutions, evaluate(pattern), instants)
    return _one_by_one(pattern, solutions, evaluate, dictionary)


def _one_by_one(
    pattern: Operator, solutions: Solutions, evaluate: Evaluate, dictionary: Dictionary
) -> pl.Series:
    inputs = [each for each in sorted(_all_variables(pattern), key=_name) if solutions.has(each)]
    names = [column(each) for each in inputs]
    key = [INSTANT, *names]
    distinct = first_rows(solutions.frame.select(key), None, "exists")
    columns = [dictionary.terms(distinct[name]) for name in names]
    answers: dict[tuple[Term | None, ...], tuple[bool, frozenset[int]]] = {}
    found = []
    for row, instant in enumerate(distinct[INSTANT]):
        values = tuple(terms[row] for terms in columns)
        if values not in answers:
            bindings = {
                variable: term
                for variable, term in zip(inputs, values, strict=True)
                if term is not None
            }
            answers[values] = _answer(evaluate(substituted(pattern, bindings)))
        everywhere, at = answers[values]
        found.append(everywhere or instant in at)
    marked = distinct.with_columns(pl.Series("exists", found, dtype=pl.Boolean))
    joined = solutions.frame.select(key).join(
        marked, on=key, how="left", nulls_equal=True, maintain_order="left"
    )
    return joined["exists"]


def _answer(solutions: Solutions) -> tuple[bool, frozenset[int]]:
    """Whether there is a solution at every instant, and else at which."""
    if solutions.keyed:
        return False, frozenset(solutions.frame[INSTANT].unique().to_list())
    return solutions.height > 0, frozenset()


def _all_variables(pattern: Operator) -> frozenset[Variable]:
    found: set[Variable] = set()
    for operator in within(pattern):
        found |= possible(operator)
        for expression in expressions(operator):
            found |= mentioned(expression)
    return frozenset(found)


def _name(variable: Variable) -> str:
    return variable.name
