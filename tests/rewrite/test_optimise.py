"""The driver: it checks each step, comes to rest, obeys switches, and tells what it does."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from headrace.algebra.expressions import Variable
from headrace.algebra.notation import read
from headrace.algebra.operators import (
    Bgp,
    Distinct,
    Extend,
    Filter,
    Join,
    LeftJoin,
    Operator,
    Project,
    Slice,
    Union,
)
from headrace.algebra.query import Query, Select
from headrace.algebra.walk import within
from headrace.cli import app
from headrace.dialects import parse
from headrace.engine import Engine
from headrace.errors import InternalError, SettingError
from headrace.kernel.order import is_ordered
from headrace.planning.plan import make_plan
from headrace.planning.templates import Templates
from headrace.rdf.terms import Iri
from headrace.rewrite.optimise import Stage, optimised
from headrace.rewrite.rule import local
from headrace.rewrite.rules import RULES
from headrace.rewrite.rules.fold_constants import fold_constants
from headrace.rewrite.rules.push_filter_into_join import push_filter_into_join
from headrace.rewrite.rules.push_filter_into_optional import push_filter_into_optional
from headrace.rewrite.rules.split_filters import split_filters

TEXT = """
PREFIX : <http://x/>
SELECT ?x FROM STREAM <http://x/s> [RANGE 5s TUMBLING]
WHERE { ?x :p ?y FILTER (1 = 1 && ?y > 2) }
"""


def query(**settings: str) -> Query:
    given = {f"rules.{name}": switch for name, switch in settings.items()}
    return parse(TEXT, "csparql", settings=given).query


def asked(pattern: Operator) -> Query:
    return Query(Select(()), pattern)


def filters(pattern: Operator) -> list[Operator]:
    return [each for each in within(pattern) if isinstance(each, Filter)]


# -- Each step is checked -------------------------------------------------------------------------


def forget_a_variable(operator: Operator) -> Operator:
    return Project(operator, ()) if isinstance(operator, Bgp) else operator


def invent_a_variable(operator: Operator) -> Operator:
    new = Variable("new")
    return Extend(operator, new, Iri("x:a")) if isinstance(operator, Bgp) else operator


def make_it_optional(operator: Operator) -> Operator:
    return LeftJoin(Bgp(()), operator) if isinstance(operator, Bgp) else operator


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        (forget_a_variable, "other variables"),
        (invent_a_variable, "other variables"),
        (make_it_optional, "variables that may be unbound"),
    ],
)
def test_a_wrong_rule_is_named(wrong: Any, problem: str) -> None:
    rules = (local(split_filters), local(wrong), local(fold_constants))
    pattern = read("(bgp [(triple ?x <x:p> ?y)])")
    with pytest.raises(InternalError, match=f"rule {wrong.__name__} made .* {problem}"):
        optimised(asked(pattern), rules=rules)


def turn(operator: Operator) -> Operator:
    return Union(operator.branches[::-1]) if isinstance(operator, Union) else operator


def test_rules_that_never_rest_are_an_error_of_ours() -> None:
    pattern = read("(union [(bgp [(triple ?x <x:p> ?y)]) (bgp [(triple ?x <x:q> ?y)])])")
    with pytest.raises(InternalError, match="never come to rest"):
        optimised(asked(pattern), rules=(local(turn),))


def test_a_deep_pattern_comes_to_rest() -> None:
    """A filter goes down by a level in each pass, where the levels are of changing kinds."""
    pattern: Operator = read("(bgp [(triple ?x <x:p> ?y)])")
    for _ in range(50):
        pattern = LeftJoin(Join(pattern, Bgp(())), read("(bgp [(triple ?y <x:r> ?z)])"))
    rules = (local(push_filter_into_join), local(push_filter_into_optional))
    made = optimised(asked(Filter(read("(ISIRI ?x)"), pattern)), rules=rules)
    [found] = filters(made)
    assert found == read("(filter (ISIRI ?x) (bgp [(triple ?x <x:p> ?y)]))")


def test_one_value_in_two_places_is_two_operands() -> None:
    """Rules copy parts of patterns, so that a part can be joined with the very same object."""
    once = read("(values [?x] [[<x:a>] [<x:a>]])")
    made = optimised(asked(Join(Join(once, read("(graph ?g (bgp))")), once)))
    assert list(within(made)).count(once) == 2


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_alone_comes_to_rest(rule: Any) -> None:
    """What it has made, it leaves."""
    made = optimised(query(), rules=(replace(rule, on=True),))
    assert optimised(replace(query(), pattern=made), rules=(replace(rule, on=True),)) == made


def test_what_is_at_rest_stays_so() -> None:
    made = optimised(query())
    assert optimised(replace(query(), pattern=made)) == made


# -- What is left alone --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "pattern",
    [
        "(filter (exists (filter (&& (= ?y ?x) (ISIRI ?y)) (bgp [(triple ?x <x:p> ?y)]))) (bgp))",
        "(service <x:e> (filter (&& (> ?x ?y) (ISIRI ?y)) (bgp [(triple ?x <x:p> ?y)])))",
        "(filter (&& (> (RAND) ?y) (ISIRI ?y)) (bgp [(triple ?x <x:p> ?y)]))",
    ],
)
def test_exists_services_and_chance_are_not_rewritten(pattern: str) -> None:
    assert optimised(asked(read(pattern))) == read(pattern)


def test_what_stands_below_chance_is_rewritten() -> None:
    before = "(extend (distinct (distinct (bgp [(triple ?x <x:p> ?y)]))) ?v (RAND))"
    after = optimised(asked(read(before)))
    assert sum(isinstance(each, Distinct) for each in within(after)) == 1
    assert isinstance(after, Extend)


def test_a_continuous_query_is_evaluated_as_rewritten() -> None:
    plan = make_plan(query())
    assert plan.pattern == optimised(query())
    assert plan.query.pattern == query().pattern
    assert make_plan(query(), rewriting=Templates(())).pattern == query().pattern


ORDERED = "{ SELECT ?x ?v { ?x <x:p> ?v } ORDER BY DESC(?v) }"


@pytest.mark.parametrize("form", ["SELECT *", "CONSTRUCT { ?x <x:q> ?v }", "DESCRIBE ?x"])
@pytest.mark.parametrize("rest", ["", "FILTER (1 = 1)", "FILTER (?v > 0)", "BIND (1 AS ?k)"])
def test_limit_never_takes_its_order_from_a_subquery(form: str, rest: str) -> None:
    found = parse(f"{form} WHERE {{ {ORDERED} {rest} }} LIMIT 1", "sparql").query
    for pattern in (found.pattern, optimised(found)):
        assert isinstance(pattern, Slice)
        assert not is_ordered(pattern.input)


@pytest.mark.parametrize("form", ["SELECT *", "CONSTRUCT { ?x <x:q> ?v }", "DESCRIBE ?x"])
def test_limit_takes_its_order_from_its_own_query(form: str) -> None:
    found = parse(f"{form} WHERE {{ ?x <x:p> ?v }} ORDER BY ?v LIMIT 1", "sparql").query
    for pattern in (found.pattern, optimised(found)):
        assert isinstance(pattern, Slice)
        assert is_ordered(pattern.input)


# -- Switches ------------------------------------------------------------------------------------


def test_a_rule_can_be_switched_off() -> None:
    assert len(filters(optimised(query()))) == 1
    assert len(filters(optimised(query(fold_constants="off")))) == 2
    [kept] = filters(optimised(query(fold_constants="off", split_filters="off")))
    assert kept == filters(query().pattern)[0]


def test_a_rule_that_is_off_can_be_switched_on() -> None:
    text = TEXT.replace("1 = 1 && ?y > 2", "?y > 2 || ?y < 1")
    plain = parse(text, "csparql").query
    switched = parse(text, "csparql", settings={"rules.split_disjunctions": "on"}).query
    assert not any(isinstance(each, Union) for each in within(optimised(plain)))
    assert any(isinstance(each, Union) for each in within(optimised(switched)))


def test_the_last_switch_counts() -> None:
    both = replace(
        query().semantics,
        switched_rules=(("fold_constants", False), ("fold_constants", True)),
    )
    assert optimised(replace(query(), semantics=both)) == optimised(query())


def test_a_rule_that_there_is_not_is_refused_with_the_names_of_those_that_are() -> None:
    with pytest.raises(SettingError, match="there is no rule 'fold_constant'") as raised:
        optimised(query(fold_constant="off"))
    assert "did you mean 'fold_constants'?" in str(raised.value)
    assert all(rule.name in str(raised.value) for rule in RULES)


def test_so_it_is_at_registration() -> None:
    engine = Engine(settings={"rules.nonsense": "off"}, clock=None)
    engine.stream("http://x/s")
    with pytest.raises(SettingError, match="there is no rule 'nonsense'"):
        engine.register(TEXT, dialect="csparql")
    assert not engine.queries


@pytest.mark.parametrize("text", [TEXT, "ASK { ?x ?y ?z }"], ids=["continuous", "plain"])
@pytest.mark.parametrize("command", ["check", "explain"])
def test_so_it_is_on_the_command_line(command: str, text: str) -> None:
    result = CliRunner().invoke(app, [command, text, "--set", "rules.nonsense=off"])
    assert result.exit_code == 2
    assert "there is no rule 'nonsense'" in result.stderr
    assert "push_projections" in result.stderr


def test_so_it_is_in_a_run(tmp_path: Path) -> None:
    stream = tmp_path / "s.tnq"
    stream.write_text("1000\t<http://x/a> <http://x/p> <http://x/b> .\n")
    options = ["--stream", f"http://x/s={stream}", "--once", "--runner", "inline"]
    result = CliRunner().invoke(app, ["run", TEXT, *options, "--set", "rules.nonsense=off"])
    assert result.exit_code == 2
    assert "there is no rule 'nonsense'" in result.stderr


def test_a_switch_is_on_or_off() -> None:
    with pytest.raises(SettingError, match="is on or off, not 'perhaps'"):
        query(fold_constants="perhaps")


# -- What is told --------------------------------------------------------------------------------


def test_the_observer_sees_each_step_that_changes_something() -> None:
    stages: list[Stage] = []
    made = optimised(query(), observe=stages.append)
    names = [stage.rule.name for stage in stages]
    assert names[:3] == ["fold_constants", "split_filters", "fold_constants"]
    assert stages[-1].pattern == made
    patterns = [query().pattern, *(stage.pattern for stage in stages)]
    assert all(one != next_ for one, next_ in pairwise(patterns))


def test_the_observer_sees_nothing_of_rules_that_change_nothing() -> None:
    stages: list[Stage] = []
    optimised(asked(Bgp(())), observe=stages.append)
    assert stages == []
