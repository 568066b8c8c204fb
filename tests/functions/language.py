"""Expressions from their text, so that tests read like queries."""

from __future__ import annotations

from functools import cache

from headrace.algebra.expressions import Expression, Variable
from headrace.algebra.operators import Extend, Project
from headrace.dialects import parse
from headrace.functions.errors import ExpressionError
from headrace.functions.evaluate import EvaluationContext, Solution, evaluate
from headrace.rdf.terms import Literal, Term
from headrace.rdf.vocabulary import XSD_DATE_TIME

PREFIXES = (
    "PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> "
    "PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> "
    "PREFIX : <http://example.org/> "
)
CONTEXT = EvaluationContext(Literal("2024-01-01T00:00:00Z", XSD_DATE_TIME), seed=b"seed")


@cache
def expression(text: str) -> Expression:
    """The algebra of an expression."""
    pattern = parse(f"{PREFIXES}SELECT ({text} AS ?result) {{}}", "sparql").query.pattern
    assert isinstance(pattern, Project)
    assert isinstance(pattern.input, Extend)
    return pattern.input.expression


def value(
    text: str, context: EvaluationContext = CONTEXT, solution: Solution | None = None
) -> Term | None:
    """The value of an expression; None if it is an error."""
    try:
        return evaluate(expression(text), solution or {}, context)
    except ExpressionError:
        return None


def bindings(**terms: Term) -> Solution:
    """A solution."""
    return {Variable(name): term for name, term in terms.items()}
