"""Whole expressions: solutions, contexts, extension functions, determinism."""

from __future__ import annotations

import pickle
import subprocess
import sys
from dataclasses import replace

import pytest

from headrace.algebra.expressions import (
    Aggregate,
    BuiltIn,
    Exists,
    FunctionCall,
    Operation,
    Timestamp,
    TriplePattern,
    Variable,
)
from headrace.algebra.operators import Bgp, Operator
from headrace.errors import InternalError, SettingError
from headrace.functions.errors import ExpressionError
from headrace.functions.evaluate import (
    EvaluationContext,
    Solution,
    evaluate,
    evaluator,
    holds,
    is_volatile,
)
from headrace.functions.strings import upper
from headrace.functions.table import Functions
from headrace.functions.values import FALSE, TRUE, literal_of, number_of
from headrace.rdf.terms import BlankNode, Iri, Literal, QuotedTriple, Term
from tests.functions.language import CONTEXT, bindings, expression, value

X = Variable("x")
TWICE = "http://example.org/twice"


def twice(term: Term) -> Term:
    return literal_of(int(number_of(term).value) * 2)


# -- solutions ---------------------------------------------------------------------------------


def test_a_variable_has_its_value() -> None:
    assert value("?x + 1", solution=bindings(x=literal_of(2))) == literal_of(3)
    assert value("BOUND(?x)", solution=bindings(x=literal_of(2))) == TRUE


def test_an_unbound_variable_is_an_error_that_names_it() -> None:
    with pytest.raises(ExpressionError, match=r"\?x is unbound"):
        evaluate(X, {}, CONTEXT)


def test_a_quoted_pattern_is_a_term() -> None:
    pattern = TriplePattern(Iri("x:s"), Iri("x:p"), X)
    assert evaluate(pattern, bindings(x=Literal("o")), CONTEXT) == QuotedTriple(
        Iri("x:s"), Iri("x:p"), Literal("o")
    )
    with pytest.raises(ExpressionError):
        evaluate(pattern, {}, CONTEXT)


def test_an_evaluator_serves_many_solutions() -> None:
    compiled = evaluator(expression("?x > 1 && ?x < 3"), Functions())
    kept = [
        number for number in range(5) if holds(compiled, bindings(x=literal_of(number)), CONTEXT)
    ]
    assert kept == [2]


def test_a_filter_drops_errors() -> None:
    assert not holds(evaluator(expression("?x > 1"), Functions()), {}, CONTEXT)


def test_deep_expressions_are_evaluated() -> None:
    deep: Operation | Literal = literal_of(0)
    for _ in range(300):
        deep = Operation("+", (deep, literal_of(1)))
    assert evaluate(deep, {}, CONTEXT) == literal_of(300)


# -- contexts ----------------------------------------------------------------------------------


def test_now_is_the_instant() -> None:
    assert value("NOW()") == CONTEXT.now


def test_the_base_of_the_context_or_of_the_call_resolves_iris() -> None:
    context = replace(CONTEXT, base="http://base.org/a/b")
    assert value('IRI("c")', context) == Iri("http://base.org/a/c")
    carried = BuiltIn("IRI", (Literal("c"), Iri("http://other.org/")))
    assert evaluate(carried, {}, context) == Iri("http://other.org/c")


def test_exists_asks_the_context() -> None:
    seen: list[tuple[Operator, Solution]] = []

    def exists(pattern: Operator, solution: Solution) -> bool:
        seen.append((pattern, solution))
        return True

    context, solution = replace(CONTEXT, exists=exists), bindings(x=Literal("a"))
    assert evaluate(Exists(Bgp()), solution, context) == TRUE
    assert evaluate(Exists(Bgp(), negated=True), solution, context) == FALSE
    assert seen == [(Bgp(), solution)] * 2
    with pytest.raises(InternalError):
        evaluate(Exists(Bgp()), {}, CONTEXT)


def test_timestamps_ask_the_context() -> None:
    context = replace(CONTEXT, timestamp=lambda _call, solution: solution.get(X))
    assert evaluate(Timestamp((X,)), bindings(x=CONTEXT.now), context) == CONTEXT.now
    with pytest.raises(ExpressionError):
        evaluate(Timestamp((X,)), {}, context)
    with pytest.raises(ExpressionError):
        evaluate(Timestamp((X,)), {}, CONTEXT)


def test_an_aggregate_outside_a_group_is_our_error() -> None:
    with pytest.raises(InternalError, match="SUM"):
        evaluate(Aggregate("SUM", X), {}, CONTEXT)


# -- chance that is none -----------------------------------------------------------------------

CALLS = ["RAND()", "UUID()", "STRUUID()", "BNODE()", 'BNODE("a")']


@pytest.mark.parametrize("call", CALLS)
def test_the_seed_decides(call: str) -> None:
    assert value(call) is not None
    assert value(call) == value(call)
    assert value(call) != value(call, replace(CONTEXT, seed=b"other"))


@pytest.mark.parametrize("call", CALLS[:4])
def test_two_calls_differ(call: str) -> None:
    assert value(f"SAMETERM({call}, {call})") == FALSE


def test_a_label_means_one_blank_node_within_a_solution() -> None:
    assert value('SAMETERM(BNODE("a"), BNODE("a"))') == TRUE
    assert value('SAMETERM(BNODE("a"), BNODE("b"))') == FALSE
    assert isinstance(value('BNODE("a")'), BlankNode)
    assert value("BNODE(1)") is None


def test_chance_has_the_form_that_sparql_asks_for() -> None:
    assert value("RAND() >= 0 && RAND() < 1 && DATATYPE(RAND()) = xsd:double") == TRUE
    form = "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
    assert value(f'REGEX(STR(UUID()), "^urn:uuid:{form}$")') == TRUE
    assert value(f'REGEX(STRUUID(), "^{form}$")') == TRUE
    assert value("ISIRI(UUID()) && ISLITERAL(STRUUID())") == TRUE


def test_volatile_expressions_are_told_apart() -> None:
    assert is_volatile(expression("1 + RAND()"))
    assert is_volatile(expression('IF(?x, BNODE("a"), ?y)'))
    assert not is_volatile(expression("?x + 1 < YEAR(NOW())"))


# -- extension functions -----------------------------------------------------------------------


def test_an_extension_is_called_by_its_iri() -> None:
    functions = Functions().with_function(TWICE, twice, arity=1)
    context = replace(CONTEXT, functions=functions)
    assert value(":twice(21)", context) == literal_of(42)
    assert value(':twice("a")', context) is None
    assert value(":twice(1/0)", context) is None
    assert value(":twice(21)") is None


def test_an_extension_may_take_any_number_of_arguments() -> None:
    functions = Functions().with_function(TWICE, lambda *terms: literal_of(len(terms)))
    context = replace(CONTEXT, functions=functions)
    assert value(":twice()", context) == literal_of(0)
    assert value(":twice(1, 2, 3)", context) == literal_of(3)


def test_a_function_is_added_to_a_new_value() -> None:
    functions = Functions()
    assert functions.with_function(TWICE, twice) != functions
    assert functions.find(TWICE) is None


def test_a_name_has_one_function() -> None:
    functions = Functions().with_function(TWICE, twice)
    with pytest.raises(SettingError, match="already"):
        functions.with_function(TWICE, upper)
    with pytest.raises(SettingError, match="already"):
        functions.with_function("http://www.w3.org/2001/XMLSchema#integer", upper)
    with pytest.raises(SettingError, match="absolute"):
        functions.with_function("twice", twice)


def test_a_call_that_cannot_work_is_explained() -> None:
    functions = Functions().with_function(TWICE, twice, arity=1)
    one = (literal_of(1),)
    assert functions.problem(FunctionCall(Iri(TWICE), one)) is None
    unknown = functions.problem(FunctionCall(Iri("http://example.org/twise"), one))
    assert unknown is not None
    assert "did you mean <http://example.org/twice>?" in unknown
    wrong = functions.problem(FunctionCall(Iri(TWICE), one * 2))
    assert wrong == f"<{TWICE}> takes 1 argument, found 2"
    assert functions.problem(FunctionCall(Iri("x:y"), one)) == "there is no function <x:y>"


def test_a_failing_extension_is_not_hidden() -> None:
    def broken(_term: Term) -> Term:
        raise KeyError("bug")

    context = replace(CONTEXT, functions=Functions().with_function(TWICE, broken))
    with pytest.raises(KeyError):
        evaluate(expression("COALESCE(:twice(1), 2)"), {}, context)


def test_functions_and_contexts_travel_to_other_processes() -> None:
    functions = Functions().with_function(TWICE, twice, arity=1)
    context = EvaluationContext(CONTEXT.now, functions=functions)
    assert pickle.loads(pickle.dumps(context)) == context


def test_importing_the_functions_imports_no_heavy_library() -> None:
    code = (
        "import sys, headrace.functions.evaluate, headrace.functions.aggregates\n"
        "print(sorted({'polars', 'pyspark', 'numpy', 'pandas', 'pyarrow'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"
