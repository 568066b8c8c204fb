"""Queries 1 to 6 of the RSP-QL* paper over observations, beside plain Python over the same file."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from headrace.algebra.reporting import Bounds
from headrace.dialects import parse
from headrace.functions.table import Functions
from headrace.functions.values import number_of
from headrace.kernel import waiting
from headrace.rdf.terms import Iri, Literal, Term
from headrace.testing import Played, play, static_quads
from tests.field.tunnel import (
    OBSERVATIONS,
    THRESHOLDS,
    expected,
    experiments,
    hot,
    oxygen_low,
    scenario,
    streams,
    uniform_below_normal,
)
from tests.shared import DATA, needs_data

pytestmark = needs_data("rspu-tvs")


def played(queries: dict[str, str], settings: dict[str, str]) -> Played:
    found = play(queries, streams(), static={None: scenario().static(100)}, settings=settings)
    assert not found.errors
    return found


def plain(row: tuple[Term | None, ...]) -> tuple[str, ...]:
    place, *values = row
    assert isinstance(place, Iri)
    return (place.value.rpartition("/")[2], *(_text(each) for each in values))


def _text(term: Term | None) -> str:
    assert isinstance(term, Literal)
    return term.lexical


@pytest.mark.parametrize("strategy", ["snapshot", "auto"])
@pytest.mark.parametrize("bounds", [Bounds.OPEN_CLOSED, Bounds.CLOSED_OPEN])
def test_rows_of_queries_1_to_3_for_all_thresholds(bounds: Bounds, strategy: str) -> None:
    asked = {
        f"{name}{letter} {threshold}": scenario().query(f"{name}{letter}", threshold)
        for name in ("q1", "q2", "q3")
        for letter in "ab"
        for threshold in THRESHOLDS
    }
    found = played(asked, {"bounds": str(bounds), "strategy": strategy})
    counted: Counter[str] = Counter()
    for each in found.evaluations:
        name, _, threshold = each.query.partition(" ")
        instant = each.at // 1_000_000
        rows = Counter(map(plain, each.rows))
        assert rows == expected(name[:2], float(threshold), instant, bounds), (each.query, instant)
        counted[each.query] += sum(rows.values())
    for name in ("q1", "q2", "q3"):
        for tried in THRESHOLDS:
            assert counted[f"{name}a {tried}"] == counted[f"{name}b {tried}"]
        assert counted[f"{name}a 0"] > 0


def test_probabilities_that_queries_4_to_6_report() -> None:
    asked = {name: scenario().query(name) for name in ("q4a", "q4b", "q5a", "q5b", "q6a", "q6b")}
    found = played(asked, {})
    checked: Counter[str] = Counter()
    for each in found.evaluations:
        for _, *terms in each.rows:
            numbers = [float(number_of(term).value) for term in terms if term is not None]
            assert _probabilities(each.query, numbers) == pytest.approx(
                numbers[_VALUES[each.query[:2]] :], abs=1e-12
            )
            checked[each.query] += 1
    assert checked["q4a"] == checked["q4b"] > 0
    assert checked["q5a"] == checked["q5b"] > 0
    assert checked["q6a"] == checked["q6b"] > 0


_VALUES = {"q4": 2, "q5": 4, "q6": 3}


def _probabilities(query: str, values: list[float]) -> list[float]:
    match query[:2]:
        case "q4":
            return [oxygen_low("ox2", values[0])]
        case "q5":
            return [
                oxygen_low("ox1", values[0]),
                oxygen_low("ox2", values[1]),
                hot("temp1", values[2]),
                hot("temp2", values[3]),
            ]
        case _:
            less = uniform_below_normal(values[0] - 0.01, values[0] + 0.01, values[1], 0.005)
            return [less, 1 - less]


def inputs_of(query: str, found: pl.DataFrame) -> int:
    """Of how many distinct inputs of functions the rows of a query report something."""
    if query[:2] in {"q4", "q5"}:  # add and a comparison of each value
        names = [f"value{place}" for place in range(1, 2 if query[:2] == "q4" else 5)]
        return sum(2 * found.select(f"?{name}").n_unique() for name in names)
    one, other = "?value1", "?value2"
    pairs = found.select(one, other).n_unique()
    return found[one].n_unique() + found[other].n_unique() + 2 * pairs


@pytest.mark.parametrize("name", ["q4a", "q4b", "q5a", "q5b", "q6a", "q6b", "q6a early"])
def test_values_are_computed_for_what_is_reported_and_once(name: str) -> None:
    bench, made = experiments(), scenario()
    world = bench.tunnel(40)
    text = made.query(name[:3])
    text = made.early_binds(text) if name.endswith("early") else text
    counted = {}
    for way in ("base", "lazy", "cache", "lazy+cache", "chosen"):
        tally: Counter[str] = Counter()
        found = bench.Asked.of(world, text, way, Functions()).answers(tally)
        counted[way] = tally.total()
    assert found.height > 0
    inputs = inputs_of(name, found)
    assert counted["lazy+cache"] == counted["chosen"] == inputs <= counted["cache"]
    # Without a cache a row is a row; each of them asks for as much.
    per_row = {"q4": 2, "q5": 8, "q6": 6}[name[:2]]
    assert counted["lazy"] == per_row * found.height <= counted["base"]
    if name in {"q4a", "q4b", "q6a early"}:
        assert counted["lazy"] < counted["base"]


@pytest.mark.parametrize("threshold", [0, 0.4, 1])
@pytest.mark.parametrize("name", ["q1", "q2", "q3"])
def test_either_order_of_windows_costs_the_same_where_filters_are_chosen(
    name: str, threshold: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench, made = experiments(), scenario()
    world = bench.tunnel(40)
    calls = {}
    total: Counter[str] = Counter()
    # A clock that only calls move on: what is chosen depends on no machine.
    monkeypatch.setattr(waiting, "perf_counter", lambda: total.total() * 100e-6)
    for version in "ab":
        text = bench.slow(made.query(f"{name}{version}", threshold))
        for way in ("cache", "H4", "chosen"):
            asked = bench.Asked.of(world, text, way, bench.slow_functions())
            for _ in range(6):  # what each filter costs and lets pass is found out meanwhile
                before = total.total()
                asked.answers(total)
            calls[way, version] = total.total() - before
    for version in "ab":
        least = min(calls["cache", version], calls["H4", version])
        # Of filters that let nothing pass any one may be the first.
        assert calls["chosen", version] <= 1.35 * least


@needs_data("rspu")
@pytest.mark.parametrize("name", [f"Q{n}{letter}" for n in range(1, 7) for letter in "ab"])
def test_check_warns_where_the_printed_form_cannot_bind_a_variable(name: str) -> None:
    text = (DATA / "rspu" / "resources" / "queries" / f"{name}.rspqlstar").read_text("utf-8")
    text = text.replace("$QUERY_NAME", name).replace("$P", "0.8")
    unbound = [note.text for note in parse(text, "rspql").notes if "never bound" in note.text]
    assert bool(unbound) == (name[1] in "2356")
    mended = parse(scenario().query(name.lower()), "rspql")
    assert not [note for note in mended.notes if "never bound" in note.text]


@needs_data("rspu")
def test_what_check_says_of_the_printed_forms() -> None:
    said = []
    for name in (f"Q{n}{letter}" for n in range(1, 7) for letter in "ab"):
        text = (DATA / "rspu" / "resources" / "queries" / f"{name}.rspqlstar").read_text("utf-8")
        text = text.replace("$QUERY_NAME", name).replace("$P", "0.8")
        notes = [note for note in parse(text, "rspql", name=name).notes if "never" in note.text]
        said += [f"{note.at.partition(chr(10))[0]}: {note.text}" for note in notes]
    golden = Path(__file__).with_name("printed_forms.txt").read_text("utf-8")
    assert "\n".join(said) + "\n" == golden


def test_the_generator_has_the_parameters_of_the_paper() -> None:
    made = scenario()
    assert len(list(static_quads(made.static(), None))) == 23_006
    observed = list(made.made(sectors=1000, seconds=2))
    assert len(observed) == 2 * 4 * 1000
    for stream, (_, _, kind) in made.SENSORS.items():
        low, high = made.ALLOWED[kind]
        values = [float(each.value) for each in observed if each.stream == stream]
        assert sum(low <= value <= high for value in values) / len(values) == pytest.approx(
            0.95, abs=0.02
        )
    assert OBSERVATIONS.exists()
