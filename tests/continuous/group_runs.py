"""Runs of random groups: what the engine reports, and whether it is what the oracle reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from random import Random
from typing import Final

from headrace import Engine
from headrace.errors import SettingError
from headrace.functions.table import Functions
from headrace.functions.values import TRUE
from headrace.kernel.budget import Budget
from headrace.rdf.terms import Literal, Term
from headrace.results.evaluations import Evaluation
from headrace.testing import in_elements, static_quads
from tests.continuous.grouped import FUNCTION, REFUSED, RandomGroup
from tests.continuous.oracle import Oracle, Reported
from tests.continuous.snapshots import Row
from tests.w3c.isomorphism import same

BOOLEAN: Final = "http://www.w3.org/2001/XMLSchema#boolean"
_LAST_STEP: Final = 6


@dataclass(frozen=True)
class Ran:
    """What queries have reported, by name, and why they stopped."""

    evaluations: Mapping[str, list[Evaluation]]
    errors: Mapping[str, str | None]


def _refusing(term: Term, word: Term) -> Term:
    if isinstance(word, Literal) and word.lexical == REFUSED and str(term)[-2:-1] in {"2", "7"}:
        raise RuntimeError("the function was refused")
    return TRUE


FUNCTIONS: Final = Functions().with_function(FUNCTION, _refusing, arity=2)


def run(group: RandomGroup, numbers: Sequence[int], *, shared: bool) -> Ran:
    """Run some of the queries of a group in one engine."""
    own = dict(group.settings)
    try:
        return _run(group, numbers, {**own, "rules.share_shapes": "on" if shared else "off"})
    except SettingError:  # what cannot be matched incrementally
        own["strategy"] = "auto"
        return _run(group, numbers, {**own, "rules.share_shapes": "on" if shared else "off"})


def _run(group: RandomGroup, numbers: Sequence[int], settings: Mapping[str, str]) -> Ran:
    case, course = group.case, group.course
    engine = Engine(
        settings={**case.settings, **settings},
        live=group.live,
        clock=None,
        functions=FUNCTIONS,
        max_rows=group.max_rows or Budget().rows,
    )
    for graph, text in (case.static or {}).items():
        engine.static.add(static_quads(text, graph))
    for iri in case.inputs:
        engine.stream(iri)
    found: dict[str, list[Evaluation]] = {group.names[number]: [] for number in numbers}
    errors = dict[str, str | None]()
    for step, elements in enumerate(_steps(group)):
        for number in numbers:
            name = group.names[number]
            if step == (0 if course is None else course.comes[number]):
                text = group.text(group.members[number].body)
                query = engine.register(text, name=name, dialect=case.dialect)
                query.on_result(found[name].append)
            if course is not None and step == course.goes[number]:
                errors[name] = engine.queries[name].error
                engine.remove(name)
        for iri, lines in elements.items():
            engine.stream(iri).feed_timed("".join(lines))
        engine.step()
    if not group.live:
        engine.finish()
    errors |= {name: query.error for name, query in engine.queries.items()}
    return Ran(found, errors)


def _steps(group: RandomGroup) -> list[dict[str, list[str]]]:
    """What comes in each step; as many as queries need to come and go."""
    scripts = {
        iri: ["".join(lines) for lines in in_elements(text)]
        for iri, text in group.case.inputs.items()
    }
    longest, cut = max(map(len, scripts.values())), _cut(group)
    number = max(-(-longest // cut), 1 if group.course is None else _LAST_STEP)
    return [
        {iri: lines[step * cut : (step + 1) * cut] for iri, lines in scripts.items()}
        for step in range(number)
    ]


def _cut(group: RandomGroup) -> int:
    """How many elements of each stream come in a step."""
    longest = max(map(len, group.case.streams.values()))
    return group.cut or (longest if group.course is None else longest // _LAST_STEP + 1)


_APART: Final = 3
"""So many queries are enough of those that are evaluated one by one: planning them takes long."""


def without_most(group: RandomGroup) -> RandomGroup:
    """Leave out most queries of a group that cannot be evaluated as one."""
    if len(group.members) <= _APART:
        return group
    engine = Engine(settings=group.case.settings, clock=None, functions=FUNCTIONS)
    for iri in group.case.inputs:
        engine.stream(iri)
    for name, text in zip(group.names[:2], group.texts[:2], strict=True):
        engine.register(text, name=name, dialect=group.case.dialect)
    engine.step()
    return group if engine.shared else replace(group, members=group.members[:_APART])


# -- comparisons ---------------------------------------------------------------------------------


def compare(group: RandomGroup, random: Random, alone: int = 1) -> None:
    """Compare each query of a group with the oracle, and some with themselves run alone."""
    every = range(len(group.members))
    together = run(group, every, shared=True)
    expected = _expected(group)
    failed = [number for number in every if together.errors[group.names[number]] is not None]
    for number in every:
        name = group.names[number]
        ours, theirs = _answered(together, name), expected.get(number)
        if theirs is None:
            continue
        stopped = number in failed or _leaves(group, number)
        assert len(ours) == len(theirs) or (stopped and len(ours) < len(theirs)), (
            f"{name}: {_instants(ours)} instead of {[(e.at, e.seq) for e in theirs]}"
        )
        for one, other in zip(ours, theirs, strict=False):
            _agree(name, one, other)
    assert all(group.members[each].may_fail or group.max_rows is not None for each in failed), {
        group.names[each]: together.errors[group.names[each]] for each in failed
    }
    sampled = random.sample(every, min(alone, len(every)))
    comers = [] if group.course is None else [n for n in every if group.course.comes[n]]
    for number in {*sampled, *failed[:alone], *comers[: 2 * alone]}:
        _same_alone(group, number, together)


def _expected(group: RandomGroup) -> dict[int, list[Reported]]:
    """What the oracle reports of each query; of those that come later, where it can know it."""
    comes = (0,) * len(group.members) if group.course is None else group.course.comes
    found = dict[int, list[Reported]]()
    for step in sorted(set(comes)):
        if step and not _is_plain(group):
            continue
        numbers = [number for number in range(len(group.members)) if comes[number] == step]
        # A query that comes later has not seen what came before.
        first = step * _cut(group)
        streams = {iri: events[first:] for iri, events in group.case.streams.items()}
        bodies = [group.members[number].asked for number in numbers]
        reports = Oracle(group.case.query, streams).reports(bodies, live=group.live)
        found |= dict(zip(numbers, reports, strict=True))
    return found


def _is_plain(group: RandomGroup) -> bool:
    """Whether it makes no difference to later elements which ones came before."""
    in_order = all(
        earlier.time <= later.time
        for events in group.case.streams.values()
        for earlier, later in pairwise(events)
    )
    return in_order and group.case.query.t0 != "first" and not group.live


def _answered(ran: Ran, name: str) -> list[Evaluation]:
    """The evaluations of a query but for the last one, if it failed."""
    found = ran.evaluations[name]
    if found and found[-1].error is not None and ran.errors[name] is not None:
        return found[:-1]
    return found


def _leaves(group: RandomGroup, number: int) -> bool:
    return group.course is not None and group.course.goes[number] is not None


def _same_alone(group: RandomGroup, number: int, together: Ran) -> None:
    """Compare a query of a group with itself, run by itself."""
    name = group.names[number]
    by_itself = run(group, [number], shared=True)
    ours, alone = together.evaluations[name], by_itself.evaluations[name]
    if together.errors[name] is None and by_itself.errors[name] is None:
        assert len(ours) == len(alone), f"{name} alone"
        assert [_shown(each) for each in ours] == [_shown(each) for each in alone], f"{name} alone"
    elif together.errors[name] is not None and not group.members[number].may_fail:
        # Queries of a group may use together what all of them may use.
        assert by_itself.errors[name] is not None, f"{name} fails in a group only"


def _shown(found: Evaluation) -> object:
    return found.at, found.seq, Counter(map(_normal_row, rows_of(found)))


def _instants(found: Sequence[Evaluation]) -> list[tuple[int, int]]:
    return [(each.at // 1000, each.seq) for each in found]


def _agree(name: str, ours: Evaluation, theirs: Reported) -> None:
    assert (ours.at, ours.seq) == (1_000 * theirs.at, theirs.seq), name
    assert ours.error is None, name
    one = Counter(map(_normal_row, rows_of(ours)))
    other = Counter[Row]()
    for row, number in theirs.rows.items():
        other[_normal_row(row)] += number
    # Sums and means may be written with more or fewer digits.
    if one != other and not same(one.elements(), other.elements()):
        more, fewer = dict(one - other), dict(other - one)
        raise AssertionError(f"{name} at {theirs.at}: too many {more}, too few {fewer}")


def rows_of(evaluation: Evaluation) -> list[Row]:
    """The rows of an evaluation of any form."""
    if evaluation.boolean is not None:
        return [(Literal("true" if evaluation.boolean else "false", BOOLEAN),)]
    if evaluation.quads:
        return [(quad.subject, quad.predicate, quad.object) for quad in evaluation.quads]
    return list(evaluation.rows)


def _normal_row(row: Row) -> Row:
    return tuple(map(_normal, row))


@lru_cache(100_000)
def _normal(term: Term | None) -> Term | None:
    """A term in which words that were put together stand in one order: no order was asked for."""
    if isinstance(term, Literal) and " " in term.lexical:
        return Literal(" ".join(sorted(term.lexical.split(" "))), term.datatype)
    return term
