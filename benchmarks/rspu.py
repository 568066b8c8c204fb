"""The experiments of the paper on RSP-QL* with uncertainty: how seldom dear functions are called.

The tunnel ventilation scenario: sensors of oxygen and temperature in each sector of a tunnel. One
evaluation of a query over full windows is counted and timed, by how calls are kept few:

* `base`: filters as early as possible (H3), values where they are written, nothing remembered
* `cache`: no call twice for the same terms
* `H4`: filters with such calls as late as possible, with the cache
* `lazy`: values only where somebody reads them; `lazy+cache` both
* `chosen`: both, and each filter where it costs least: what a query has unless it is told otherwise

First calls are counted, which no machine changes. Then evaluations are timed, with the functions as
they are and with functions that take 100 microseconds each. Figure 3 varies how many partners an
event has and how many pass the filter. Before anything is timed, all ways must give equal answers.

Ways are timed in turns, and ratios are medians of ratios within a turn: whatever else the machine
does falls on all of them. `--judge FILE ...` reads figures that were written by `--json` before,
and says again what they show.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import product
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Final, TypeAlias

import _tvs
import polars as pl

from headrace.algebra.windows import TimeWindow
from headrace.dialects import parse
from headrace.functions.table import Functions
from headrace.functions.times import date_time
from headrace.functions.uncertainty.calls import FUNCTIONS
from headrace.kernel.answer import active_data
from headrace.kernel.columns import CONTENTS, FIRST, LAST, QUADS, STATEMENT, STREAM, TIME
from headrace.kernel.data import Quads, WindowContents
from headrace.kernel.dictionary import Dictionary
from headrace.kernel.evaluation import context_of, data_of
from headrace.kernel.forms import answer_frame
from headrace.kernel.snapshot import evaluate
from headrace.kernel.surroundings import Surroundings
from headrace.planning.plan import Plan, make_plan
from headrace.rdf.columns import read_timed_columns
from headrace.rdf.formats import Format
from headrace.rdf.reading import read
from headrace.rdf.terms import Term
from headrace.rewrite.optimise import CACHE, CHOOSE, LAZY, PRECOMPUTE

OFF = {f"rules.{name}": "off" for name in (CACHE, LAZY, CHOOSE)}
WAYS: dict[str, dict[str, str]] = {
    "base": OFF,
    "cache": {**OFF, "rules.cache_calls": "on"},
    "H4": {**OFF, "rules.cache_calls": "on", "rules.pull_costly_filters": "on"},
    "lazy": {**OFF, "rules.lazy_variables": "on"},
    "lazy+cache": {**OFF, "rules.lazy_variables": "on", "rules.cache_calls": "on"},
    "chosen": {},
}
FILTERS = ("cache", "H4", "chosen")
BINDS = ("base", "lazy", "cache", "lazy+cache", "chosen")
EXPERIMENTS = ["filters", "binds", "joins"]
THRESHOLDS = (0, 0.2, 0.4, 0.6, 0.8, 1)
SELECTIVITIES = (1, 10, 50, 90, 99)
SECOND = 1_000_000
INSTANT = 10 * SECOND
"""When queries are evaluated: windows of ten seconds are full then."""
WARM = 6
EARLY = "6a early"
"""Query 6a, whose values are bound before the last window is joined."""
SLOW = "http://example.org/slow#"
SLOW_SECONDS = 100e-6


def slowly(function: Callable[..., Term], *terms: Term) -> Term:
    """What a function gives, after as long as a dear one would take."""
    until = perf_counter() + SLOW_SECONDS
    result = function(*terms)
    while perf_counter() < until:
        pass
    return result


def slow_functions() -> Functions:
    """The functions under other names, at which each takes 100 microseconds."""
    functions = Functions()
    for iri, function in FUNCTIONS.items():
        functions = functions.with_function(
            SLOW + iri.rpartition("#")[2], partial(slowly, function)
        )
    return functions


def slow(text: str) -> str:
    """A query with the slow functions in place of the real ones."""
    for name in ("add", "lessThan", "greaterThan"):
        text = text.replace(f"rspu:{name}(", f"<{SLOW}{name}>(")
    return text


@dataclass
class World:
    """Static data and streams, encoded: what an evaluation looks at."""

    dictionary: Dictionary = field(default_factory=Dictionary)
    static: Quads = field(default_factory=lambda: Quads(QUADS.to_frame()))
    streams: dict[str, pl.DataFrame] = field(default_factory=dict)

    def add_static(self, text: str) -> None:
        """Take static data, as N-Triples."""
        self.static = Quads(self.dictionary.encode_quads(read(text, Format.N_TRIPLES)))

    def add_stream(self, iri: str, text: str) -> None:
        """Take a stream, as timed N-Quads."""
        columns = read_timed_columns(text.encode())
        self.dictionary.learn(columns.terms)
        self.streams[iri] = columns.statements

    def contents(self, plan: Plan) -> tuple[WindowContents, ...]:
        """What the windows of a query hold at the instant: (close - width, close]."""
        found = []
        for window in plan.windows:
            assert isinstance(window.frame, TimeWindow), "the queries have no other"
            after = INSTANT - window.frame.width
            held = self.streams[window.stream.value].filter(
                (pl.col(TIME) > after) & (pl.col(TIME) <= INSTANT)
            )
            frame = held.select(
                pl.lit(0, pl.Int64).alias(FIRST),
                pl.lit(0, pl.Int64).alias(LAST),
                TIME,
                pl.lit(plan.streams.index(window.stream), pl.Int64).alias(STREAM),
                *STATEMENT,
            ).select(*CONTENTS)
            found.append(WindowContents(window.name, window.stream, Quads(frame, range(1))))
        return tuple(found)


@dataclass
class Asked:
    """A query that is evaluated one way."""

    world: World
    plan: Plan
    functions: Functions
    windows: tuple[WindowContents, ...]

    @classmethod
    def of(cls, world: World, text: str, way: str, functions: Functions) -> Asked:
        """A query as it is written."""
        plan = make_plan(parse(text, "rspql", settings=WAYS[way]).query)
        # Each way learns what functions cost by itself.
        own = replace(functions, costs=type(functions.costs)())
        return cls(world, plan, own, world.contents(plan))

    def answers(self, tally: Counter[str] | None = None) -> pl.DataFrame:
        """One evaluation."""
        functions = self.functions if tally is None else self.functions.counted(tally)
        plan, moment = self.plan, date_time(INSTANT)
        around = Surroundings(
            self.world.dictionary,
            range(1),
            context=context_of(plan, moment, functions),
            moment=lambda _: moment,
            windows=self.windows,
            streams=plan.streams,
            precomputes=plan.applies(PRECOMPUTE),
            chooses=plan.applies(CHOOSE) and not plan.late,
        )
        static = active_data(plan.query.dataset, self.world.static, self.world.dictionary)
        found = evaluate(plan.pattern, data_of([], static), around)
        return answer_frame(plan.query, found, range(1), self.world.dictionary)


Cell: TypeAlias = tuple[World, str, str, float]
"""What a query is evaluated over, its name and text, and what was set in it."""


@dataclass(frozen=True, slots=True)
class Figure:
    """What was found out about one cell: calls of one evaluation, and seconds that it takes."""

    experiment: str
    query: str
    setting: float
    way: str
    functions: str
    rows: int
    calls: int
    times: tuple[float, ...]

    @property
    def seconds(self) -> float:
        """What an evaluation takes."""
        return median(self.times)

    def against(self, other: Figure) -> float:
        """How many times as long as another way it takes, turn by turn."""
        return median(ours / theirs for ours, theirs in zip(self.times, other.times, strict=True))


def measured(
    experiment: str, cells: Sequence[Cell], ways: Sequence[str], runs: int
) -> Iterator[Figure]:
    """Evaluate versions of a query in all ways, in turns: what else is done falls on all."""
    is_slow = experiment.endswith("slow")
    asked: dict[tuple[str, str], Asked] = {}
    counted: dict[tuple[str, str], tuple[int, int]] = {}
    expected: list[str] | None = None
    for (world, name, text, setting), way in product(cells, ways):
        functions, written = (slow_functions(), slow(text)) if is_slow else (Functions(), text)
        each = asked[name, way] = Asked.of(world, written, way, functions)
        for _ in range(WARM):  # what is static is remembered, what functions cost is known
            each.answers()
        tally: Counter[str] = Counter()
        found = each.answers(tally)
        rows = sorted(map(str, found.iter_rows()))
        assert expected is None or rows == expected, (name, setting, way)
        expected = rows if expected is None else expected
        counted[name, way] = (found.height, tally.total())
    times: dict[tuple[str, str], list[float]] = {key: [] for key in asked}
    order = list(asked)
    for turn in range(runs):
        first = turn % len(order)
        for key in (*order[first:], *order[:first]):
            began = perf_counter()
            asked[key].answers()
            times[key].append(perf_counter() - began)
    kind = "100 us" if is_slow else "real"
    for (_, name, _, setting), way in product(cells, ways):
        height, calls = counted[name, way]
        taken = tuple(times[name, way])
        yield Figure(experiment, name, setting, way, kind, height, calls, taken)


def with_twins(cells: Iterable[Cell]) -> Iterator[list[Cell]]:
    """Cells, those together that are the same query either way round."""
    groups: dict[tuple[str, float], list[Cell]] = {}
    for cell in cells:
        _, name, _, setting = cell
        groups.setdefault((name.rstrip("ab"), setting), []).append(cell)
    yield from groups.values()


def tunnel(sectors: int) -> World:
    """The scenario with so many sectors."""
    world = World()
    world.add_static(_tvs.static(sectors))
    texts: dict[str, list[str]] = {}
    for observation in _tvs.made(sectors, INSTANT // SECOND + 1):
        texts.setdefault(observation.stream, []).append(_tvs.timed(observation))
    for stream, lines in texts.items():
        world.add_stream(f"http://example.org/{stream}", "".join(lines))
    return world


FILTERED: Final = ("q1a", "q1b", "q2a", "q2b", "q3a", "q3b")
BOUND: Final = ("q4a", "q4b", "q5a", "q5b", "q6a", "q6b")


def cells_of_filters(world: World) -> Iterator[Cell]:
    """Figure 1: queries 1 to 3, either way round, by threshold."""
    for name, threshold in product(FILTERED, THRESHOLDS):
        yield world, name, _tvs.query(name, threshold), threshold


def cells_of_binds(world: World) -> Iterator[Cell]:
    """Figure 2: queries 4 to 6, either way round."""
    for name in BOUND:
        yield world, name, _tvs.query(name), 0
    yield world, EARLY, _tvs.early_binds(_tvs.query("q6a")), 0


def cells_of_joins(events: int) -> Iterator[Cell]:
    """Figure 3: how many partners an event has, and how many events pass."""
    world = World()
    first, second = _tvs.events(events, INSTANT // SECOND + 1)
    world.add_stream("http://example.org/events1", first)
    world.add_stream("http://example.org/events2", second)
    written = _tvs.query("followup")
    for join in _tvs.CARDINALITIES:
        for selectivity in SELECTIVITIES:
            text = written.replace(":join_1 ", f":{join} ").replace(", 50)", f", {selectivity})")
            yield world, join, text, selectivity


def cells_of(experiment: str, world: World, events: int) -> Iterator[Cell]:
    """What an experiment measures."""
    match experiment:
        case "filters":
            return cells_of_filters(world)
        case "binds":
            return cells_of_binds(world)
        case _:
            return cells_of_joins(events)


def shown(figures: Sequence[Figure], ways: Sequence[str]) -> Iterator[str]:
    """A table of calls and milliseconds: a line for each cell."""
    yield f"{'query':10} {'set':>5} {'rows':>7} | " + " | ".join(f"{way:>19}" for way in ways)
    cells: dict[tuple[str, float], dict[str, Figure]] = {}
    for each in figures:
        cells.setdefault((each.query, each.setting), {})[each.way] = each
    for (query, setting), found in cells.items():
        parts = [f"{found[way].calls:8} {found[way].seconds * 1e3:7.1f} ms" for way in ways]
        rows = next(iter(found.values())).rows
        yield f"{query:10} {setting:5g} {rows:7} | " + " | ".join(parts)


Cells: TypeAlias = dict[tuple[str, str, float], dict[str, Figure]]


def conclusions(figures: Sequence[Figure]) -> Iterator[str]:
    """What the figures show, as ratios, each beside what it should be."""
    cells: Cells = {}
    for each in figures:
        cells.setdefault((each.experiment, each.query, each.setting), {})[each.way] = each
    chosen = [
        (found["chosen"].against(better), key)
        for key, found in cells.items()
        if {"chosen", "cache", "H4"} <= set(found)
        for better in [min(found["cache"], found["H4"], key=lambda each: each.seconds)]
    ]
    if chosen:
        yield _judged("chosen against the better of H3 and H4", chosen, at_most=1.15)
        calls = [
            (found["chosen"].calls / max(1, min(found["cache"].calls, found["H4"].calls)), key)
            for key, found in cells.items()
            if {"chosen", "cache", "H4"} <= set(found)
        ]
        yield _judged("the same, calls", calls)
    twins = [
        (max(ratio, 1 / ratio), key)
        for key, found in cells.items()
        if key[1].endswith("a") and "chosen" in found
        for twin in [cells.get((key[0], key[1][:-1] + "b", key[2]), {}).get("chosen")]
        if twin is not None
        for ratio in [found["chosen"].against(twin)]
    ]
    if twins:
        yield _judged("versions a and b, chosen", twins, at_most=1.2)
    yield from _lazy_conclusions(cells)
    whole = [
        (found["chosen"].seconds * 1e3, key)
        for key, found in cells.items()
        if found["chosen"].functions == "real" and not key[0].startswith("joins")
    ]
    if whole:
        yield _judged("an evaluation, chosen, in ms", whole, at_most=100)


def _lazy_conclusions(cells: Cells) -> Iterator[str]:
    """What lazy values gain, and what they cost where there is nothing to gain."""
    pairs = [("lazy", "base"), ("lazy+cache", "cache")]
    losses = [
        (found[lazy].against(found[other]), key)
        for key, found in cells.items()
        for lazy, other in pairs
        if {lazy, other} <= set(found)
    ]
    if losses:
        yield _judged("lazy against not lazy", losses, at_most=1.05)
    gains = [
        f"{found[other].against(found[lazy]):.1f}x ({lazy})"
        for key, found in cells.items()
        for lazy, other in pairs
        if key[1] == EARLY and {lazy, other} <= set(found)
    ]
    if gains:
        yield f"gained by lazy values in {EARLY}: {', '.join(gains)}"


def _judged(what: str, found: Sequence[tuple[float, object]], at_most: float | None = None) -> str:
    worst, where = max(found, key=lambda each: each[0])
    shown = f"{what}: median {median(each for each, _ in found):.2f}, at worst {worst:.2f} {where}"
    if at_most is None:
        return shown
    beyond = sum(each > at_most for each, _ in found)
    return f"{shown}; of {len(found)} cells {beyond} are above {at_most:g}"


def draw(figures: Sequence[Figure], file: Path) -> None:
    """The figures of the paper, a panel for each experiment and kind of function."""
    import matplotlib.pyplot as plt  # noqa: PLC0415 - only who draws needs it

    names = list(dict.fromkeys(each.experiment for each in figures))
    figure, panels = plt.subplots(len(names), 1, figsize=(11, 3.2 * len(names)), squeeze=False)
    for panel, name in zip(panels[:, 0], names, strict=True):
        of_it = [each for each in figures if each.experiment == name]
        cells = list(dict.fromkeys(f"{each.query} {each.setting:g}" for each in of_it))
        for way in dict.fromkeys(each.way for each in of_it):
            times = {f"{e.query} {e.setting:g}": e.seconds * 1e3 for e in of_it if e.way == way}
            panel.plot(cells, [times[cell] for cell in cells], marker=".", label=way)
        panel.set(title=name, ylabel="ms", yscale="log")
        panel.tick_params(axis="x", rotation=90, labelsize=6)
        panel.legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(file)


def tell(figures: Sequence[Figure]) -> None:
    """Print figures that were found, and what they show."""
    for name in dict.fromkeys(each.experiment for each in figures):
        found = [each for each in figures if each.experiment == name]
        print(f"\n{name}: calls and time of one evaluation")
        print("\n".join(shown(found, BINDS if name.startswith("binds") else FILTERS)))
        print("\n".join(conclusions(found)))


def main() -> None:
    """Print the figures, and write or draw them where asked."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--sectors", type=int, default=1000, help="of the tunnel")
    options.add_argument("--slow-sectors", type=int, default=50, help="with slow functions")
    options.add_argument("--events", type=int, default=400, help="of figure 3, a second")
    # An event has at most all events of a second as partners: 100 of them need as many.
    options.add_argument("--slow-events", type=int, default=100, help="with slow functions")
    options.add_argument("--runs", type=int, default=20, help="of each cell; the median counts")
    options.add_argument(
        "--only", nargs="*", default=EXPERIMENTS, choices=EXPERIMENTS, help="some of them"
    )
    names = (*FILTERED, *BOUND, EARLY, *_tvs.CARDINALITIES)
    options.add_argument("--queries", nargs="*", choices=names, help="some of their queries")
    options.add_argument("--real", action="store_true", help="without the slow functions")
    options.add_argument("--slow", action="store_true", help="only with the slow functions")
    options.add_argument("--json", type=Path, help="where to write the figures")
    options.add_argument("--plot", type=Path, help="where to draw them, as PNG or SVG")
    options.add_argument("--judge", type=Path, nargs="*", help="figures written before")
    asked = options.parse_args()
    if asked.judge:
        told = [figure for file in asked.judge for figure in json.loads(file.read_text())]
        figures = [Figure(**each) for each in told]
        tell(figures)
        if asked.plot:
            draw(figures, asked.plot)
        return
    figures = []
    kinds = ("real",) if asked.real else ("slow",) if asked.slow else ("real", "slow")
    for kind in kinds:
        sectors = asked.sectors if kind == "real" else asked.slow_sectors
        events = asked.events if kind == "real" else asked.slow_events
        world = tunnel(sectors)
        for name in asked.only:
            ways = BINDS if name == "binds" else FILTERS
            cells = (
                cell
                for cell in cells_of(name, world, events)
                if not asked.queries or cell[1] in asked.queries
            )
            size = f"{events} events/s" if name == "joins" else f"{sectors} sectors"
            how = "as they are" if kind == "real" else f"{SLOW_SECONDS * 1e6:.0f} us each"
            print(f"\n{name}, functions {how}, {size}: calls and time of one evaluation")
            found = [
                each
                for twins in with_twins(cells)
                for each in measured(f"{name} {kind}", twins, ways, asked.runs)
            ]
            figures += found
            print("\n".join(shown(found, ways)))
            print("\n".join(conclusions(found)), flush=True)
    if asked.json:
        asked.json.write_text(json.dumps([asdict(each) for each in figures], indent=1))
    if asked.plot:
        draw(figures, asked.plot)


if __name__ == "__main__":
    main()
