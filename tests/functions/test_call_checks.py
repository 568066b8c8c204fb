"""Calls that can never have a result are refused before a query runs, with the reason."""

from __future__ import annotations

import pytest

from headrace import Engine
from headrace.dialects import parse
from headrace.errors import QueryError
from headrace.functions.call_checks import find_call_problems
from headrace.functions.table import Functions
from headrace.functions.values import literal_of
from headrace.rdf.vocabulary import RSPU
from headrace.store import Store

PREFIX = f"PREFIX rspu: <{RSPU}>\n"
WRONG = {
    'REGEX(?o, "(a)\\\\1")': ("a back-reference, \\1, at character 4", "STRBEFORE"),
    'REGEX(?o, "a(?=b)", "i")': ("a look-ahead, (?=, at character 2", "REGEX(...) && REGEX"),
    'REGEX(?o, "a(?!b)")': ("a negative look-ahead", "REGEX(...) && !REGEX"),
    'REGEX(?o, "(?<=a)b")': ("a look-behind", "STRAFTER"),
    'REGEX(?o, "(?<!a)b")': ("a negative look-behind", "!REGEX"),
    'REGEX(?o, "(?>a)b")': ("an atomic group", "(?:"),
    'REGEX(?o, "[a-z-[aeiou]]")': ("a subtraction of classes", "list what is left"),
    'REGEX(?o, "\\\\p{IsGreek}")': ("a Unicode block", "\\p{Greek}"),
    'REGEX(?o, "[\\\\I]")': ("\\I inside a class", "outside of the class"),
    'REGEX(?o, "a(")': ("RE2 does not accept the pattern 'a(': missing )", "the flag 'q'"),
    'REGEX(?o, "a{2000}")': ("RE2 does not accept the pattern", "the flag 'q'"),
    'REGEX(?o, "a\\\\")': ("trailing \\", "the flag 'q'"),
    'REGEX(?o, "a", "g")': ("'g' is not a flag; the flags are i, m, q, s and x", None),
    'REGEX(?o, ?o, "g")': ("'g' is not a flag", None),
    "REGEX(?o, 5)": ("not a string without a language", None),
    'REGEX(?o, "a"@en)': ("not a string without a language", None),
    'REPLACE(?o, "(a", "b") = "c"': ("REPLACE(): RE2 does not accept", "the flag 'q'"),
    'REPLACE(?o, "a*", "b") = "c"': ("matches the empty string", "write +"),
    'REPLACE(?o, "a", "$b") = "c"': ("$ before a digit", None),
    'REPLACE(?o, ?o, "$b") = "c"': ("$ before a digit", None),
    "rspu:lesthan(?o, 1) > 0.5": ("no function rspu:lesthan; did you mean rspu:lessThan?", "add,"),
    "rspu:mean(rspu:sum(?o, 1)) > 0.5": ("no function rspu:sum; did you mean rspu:add?", "add,"),
    "rspu:belief(?o) > 0.5": ("there is no function rspu:belief", "the functions of this"),
    'rspu:lessThan(?o, "N(1)"^^rspu:distribution) > 0.5': ("expected N(mean, variance)", None),
    'rspu:lessThan("Normal(1,2)", ?o) > 0.5': ("neither a distribution nor a number", None),
    "rspu:mean(rspu:mean) > 1": ("neither a distribution nor a number", None),
    "rspu:between(?o, 5, 2) > 0.5": ("the lower limit 5.0 is above the upper limit 2.0", None),
    "rspu:between(?o, 1e0/0, 2) > 0.5": ("the lower limit inf is above", None),
    "rspu:quantile(?o, 1.5) > 1": ("1.5 is no probability", None),
    'rspu:quantile(?o, "N(0,1)"^^rspu:distribution) > 1': ("expected a number", None),
    'rspu:mean(rspu:add(?o, 1, "rough")) > 1': ("'normal' or 'histogram', not 'rough'", None),
    'rspu:add("U(0,1)"^^rspu:distribution, 1e300) = 1': ("less than the second", None),
    "rspu:mean(1 / 0) > 1": ("rspu:mean(): an argument has no value: ", None),
    'rspu:lessThan(?o, -"N(0,1)"^^rspu:distribution) > 1': ("an argument has no value", None),
    "REGEX(?o, 1 / 0)": ("REGEX(): ", None),
    '?o = "U(2,1)"^^rspu:distribution': ("less than the second", None),
}
RIGHT = [
    'REGEX(?o, "a(b", "q")',
    'REGEX(?o, "\\\\(?=")',
    'REGEX(?o, "[(?=]")',
    "REGEX(?o, ?o)",
    'REGEX(?o, "a", ?o)',
    'REPLACE(?o, "a", "$b", "q") = "c"',
    'REPLACE(?o, ?o, "$1") = "c"',
    "rspu:between(?o, -1e0/0, 5) > 0.5",
    "rspu:between(?o, 5, 5) > 0.5",
    'rspu:between(?o, "N(5,1)"^^rspu:distribution, 2) > 0.5',
    'rspu:mean(rspu:add(?o, "Uniform(0,1)"^^rspu:distribution, "normal")) > 1',
    'rspu:quantile(?o, "P(0.5)"^^rspu:distribution) > 1',
]
STREAM = "FROM STREAM <http://example.org/s> [RANGE 10s STEP 5s]"


def raised(condition: str) -> QueryError:
    engine = Engine()
    with pytest.raises(QueryError) as found:
        engine.register(f"{PREFIX}SELECT ?s {STREAM} {{ ?s ?p ?o\nFILTER({condition}) }}")
    return found.value


@pytest.mark.parametrize(("condition", "said"), WRONG.items(), ids=WRONG)
def test_what_never_has_a_result_is_refused_at_its_place(
    condition: str, said: tuple[str, str | None]
) -> None:
    error = raised(condition)
    problem, hint = said
    assert problem in error.problem
    assert hint is None or hint in (error.hint or "")
    assert error.line == 3
    assert "\n" not in error.problem
    with Store() as store, pytest.raises(QueryError) as plain:
        store.query(f"{PREFIX}SELECT ?s {{ ?s ?p ?o\nFILTER({condition}) }}")
    assert plain.value.problem == error.problem


@pytest.mark.parametrize("condition", RIGHT)
def test_what_may_have_a_result_is_not_refused(condition: str) -> None:
    parsed = parse(f"{PREFIX}SELECT ?s {{ ?s ?p ?o FILTER({condition}) }}")
    assert list(find_call_problems(parsed.query.pattern, Functions())) == []


def test_the_place_is_that_of_the_call() -> None:
    error = raised('?s = ?o && REGEX(?o, "a(?=b)")')
    assert (error.line, error.column) == (3, 19)


def test_a_malformed_constant_is_refused_where_values_are_made_but_not_where_data_are_matched() -> (
    None
):
    wrong = '"U(2,1)"^^rspu:distribution'
    for pattern in (f"BIND({wrong} AS ?d)", f"VALUES ?d {{ {wrong} }}"):
        parsed = parse(f"{PREFIX}SELECT ?s {{ ?s ?p ?o {pattern} }}")
        [problem] = find_call_problems(parsed.query.pattern, Functions())
        assert problem.certain
        assert problem.error(parsed.source).line == 2
    parsed = parse(f"{PREFIX}SELECT ?s {{ ?s ?p {wrong} }}")
    assert not list(find_call_problems(parsed.query.pattern, Functions()))


def test_what_an_endpoint_evaluates_is_its_own_affair() -> None:
    text = '{ ?s ?p ?o SERVICE <http://e.example/> { ?s ?q ?o FILTER REGEX(?o, "(a)\\\\1") } }'
    assert not list(find_call_problems(parse(f"SELECT ?s {text}").query.pattern, Functions()))


def test_a_program_may_add_functions_of_any_namespace() -> None:
    functions = Functions().with_function(RSPU + "belief", lambda *_: literal_of(1))
    parsed = parse(f"{PREFIX}SELECT ?s {{ ?s ?p ?o FILTER(rspu:belief(?o) > 0.5) }}")
    assert not list(find_call_problems(parsed.query.pattern, functions))
    other = parse("SELECT ?s { ?s ?p ?o FILTER(<http://e.example/f>(?o)) }")
    [problem] = find_call_problems(other.query.pattern, Functions())
    assert not problem.certain
