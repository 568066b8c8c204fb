"""What a query means, shown: its profile, its windows, and its algebra."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final, assert_never

from headrace.algebra.display_names import choose_display_names, rename_for_display
from headrace.algebra.expressions import TriplePattern, Variable
from headrace.algebra.notation import show
from headrace.algebra.operators import Bgp, Operator
from headrace.algebra.paths import PathPattern
from headrace.algebra.query import Query
from headrace.algebra.reporting import (
    DAY,
    Consumption,
    Every,
    OnArrival,
    OnChange,
    OnClose,
    Report,
    Semantics,
    Strategy,
)
from headrace.algebra.scope import certain, possible
from headrace.algebra.windows import (
    AllWindow,
    CountWindow,
    NowWindow,
    TimeWindow,
    WindowDeclaration,
    WindowFrame,
)
from headrace.errors import listing
from headrace.planning.consuming import Consuming
from headrace.planning.contracts import Contract
from headrace.planning.estimates import Counts, estimated
from headrace.planning.partitioning import Partitioning, partitioning
from headrace.planning.pieces import pieces
from headrace.planning.plan import Plan, sketch_of
from headrace.planning.sharing import lifted
from headrace.planning.tree import text, tree
from headrace.rdf.terms import Iri
from headrace.rdf.times import milliseconds
from headrace.rewrite.optimise import SHARE, Stage, optimised
from headrace.rewrite.rule import Rule
from headrace.rewrite.sources import NOTHING_KNOWN, KnownPredicates

_UNITS = (
    (86_400_000_000, "d"),
    (3_600_000_000, "h"),
    (60_000_000, "m"),
    (1_000_000, "s"),
    (1_000, "ms"),
    (1, "us"),
)
_DURATIONS = ("delay", "max_ahead")


def length(microseconds: int) -> str:
    """A duration as a person writes it.

    >>> length(90_000_000), length(86_400_000_000), length(0)
    ('90s', '1d', '0s')
    """
    if microseconds == 0:
        return "0s"
    size, unit = next(each for each in _UNITS if microseconds % each[0] == 0)
    return f"{microseconds // size}{unit}"


def frame_text(frame: WindowFrame) -> str:
    """A window's frame in words.

    >>> frame_text(TimeWindow(600_000_000, 60_000_000))
    'the last 10m, every 1m'
    """
    match frame:
        case TimeWindow(width, slide):
            if slide is None:
                return f"the last {length(width)}, at every arrival"
            tumbling = " (tumbling)" if width == slide else ""
            return f"the last {length(width)}, every {length(slide)}{tumbling}"
        case CountWindow(size, step, counted):
            return f"the last {size} {counted}, every {step}"
        case NowWindow():
            return "the elements of the instant"
        case AllWindow():
            return "all elements so far"
        case _:
            assert_never(frame)


def report_text(report: Report) -> str:
    """A report policy by the name that `--set report=` takes."""
    match report:
        case OnClose():
            return "on-close"
        case Every(period):
            return f"every:{length(period)}"
        case OnChange():
            return "on-change"
        case OnArrival():
            return "on-arrival"
        case _:
            assert_never(report)


def default_graph_text(query: Query) -> str:
    """Say what patterns outside GRAPH see beside FROM NAMED; empty where the query has FROM too."""
    if not query.dataset.names_no_default:
        return ""
    return "the static default graph" if query.dataset.keeps_default else "no static data"


def semantics_rows(semantics: Semantics) -> Iterator[tuple[str, str]]:
    """Yield every choice of a query beyond its text, by the key that `--set` takes."""
    for each in fields(semantics):
        value = getattr(semantics, each.name)
        match each.name:
            case "report":
                yield "report", report_text(value)
            case "t0":
                yield "t0", value if isinstance(value, str) else milliseconds(value)
            case "stream_delays":
                yield from ((f"delay.{stream}", length(delay)) for stream, delay in value)
            case "switched_rules":
                yield from ((f"rules.{rule}", "on" if on else "off") for rule, on in value)
            case "max_ahead" if value is None:
                yield "max_ahead", f"{length(DAY)} in a live run, off in a replay"
            case name if name in _DURATIONS:
                yield name, length(value)
            case name:
                yield name, str(value).lower()


@dataclass(frozen=True, slots=True)
class Seen:
    """What was counted of an operator, over all evaluations.

    Attributes:
        times: in how many passes it was evaluated, each of which is for many instants.
        rows: how many solutions it had.
        seconds: how long that took, with what it reads.
    """

    times: int = 0
    rows: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Run:
    """A query that was looked at together with data.

    Attributes:
        pattern: what is evaluated.
        seen: what was seen of its operators and triple patterns, by their identities; nothing if
            it was not run.
        counts: how many static statements there are with each predicate.
        notes: what else was noticed, for who reads the figures.
        routes: the order in which what is new was joined, where it was evaluated so.
        known: which predicates occur in static data and in streams.
    """

    pattern: Operator
    seen: Mapping[int, Seen] = field(default_factory=dict)
    counts: Counts = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    routes: tuple[str, ...] = ()
    known: KnownPredicates = NOTHING_KNOWN


def as_text(query: Query, dialect: str, profile: str, run: Run | None = None) -> str:
    """Explain a query for a terminal.

    Args:
        query: what to explain.
        dialect: the language it is in.
        profile: the defaults that it has.
        run: what was seen of it, if it was run over data.
    """
    lines = [*_heading(query, dialect, profile)]
    if query.is_continuous:
        lines.append("")
        lines += [f"{'window':12}{_window_text(window)}" for window in query.windows]
        lines.append("")
        rows = list(semantics_rows(query.semantics))
        width = max(16, *(len(key) + 2 for key, _ in rows))
        for position, (key, value) in enumerate(rows):
            lines.append(f"{'' if position else 'profile':12}{key:{width}}{value}")
        plan = sketch_of(query, _known_predicates(run))
        lines += ["", f"{'strategy':12}{_strategy_text(plan)}"]
        if plan.consuming is not None:
            lines += [f"{'consumed':12}{_consumed_text(plan.consuming)}"]
        lines += [f"{'shared':12}{_shared_text(plan)}"]
        lines += [f"{'evaluated':12}{_parts_text(plan, partitioning(plan))}"]
        lines += [f"{'contract':12}<{_asked(each)}>: {each}" for each in plan.contracts]
    lines += ["", "parsed", show(rename_for_display(query.pattern))]
    stages, pattern = _stages(query, run)
    for stage in stages:
        lines += [
            "",
            f"{stage.rule.name}: {_said(stage.rule)}",
            show(rename_for_display(stage.pattern)),
        ]
    lines += ["", *_table(pattern, run)]
    if run is not None and run.routes:
        lines += ["", "routes of what is new", *(f"  {line}" for line in run.routes)]
    found = (
        list(pieces(rename_for_display(query), _known_predicates(run)))
        if query.is_continuous
        else []
    )
    if found:
        lines += ["", *(f"{name:16}{said}" for name, said in found)]
    return "\n".join(lines)


def _asked(contract: Contract) -> str:
    """The endpoint of a contract."""
    endpoint = contract.service.endpoint
    return endpoint.value if isinstance(endpoint, Iri) else endpoint.name


def _strategy_text(plan: Plan) -> str:
    """By what a query is evaluated, and why not by what is new where it cannot be."""
    whole = "snapshot: each evaluation looks at all that windows hold"
    new = "a match is found when its last triple comes, and kept as long as it lasts"
    obstacle, asked = plan.matching.obstacle, plan.semantics.strategy
    if asked is Strategy.SNAPSHOT:
        return f"{whole}, as it was told to"
    if obstacle is not None and asked is Strategy.INCREMENTAL:
        return f"incremental, which cannot be had: {obstacle}; a run is refused"
    if obstacle is not None:
        return f"{whole}, because {obstacle}"
    if asked is Strategy.INCREMENTAL or isinstance(plan.semantics.report, OnArrival):
        return f"incremental: {new}"
    return f"{whole};\n{'':12}incremental in a live run over large windows: {new}"


def _consumed_text(found: Consuming) -> str:
    """Which triples make the matches of a query."""
    if found.obstacle is not None:
        return f"nothing: {found.obstacle.problem}; a run is refused"
    matched = [(text(each.scanned.pattern), each.key) for each in found.patterns]
    if found.how is Consumption.RECENT:
        newest = [f"{pattern}{_for_each(key)}" for pattern, key in matched]
        return f"the newest triple of {listing(newest, 'and of')}"
    named = listing([pattern for pattern, _ in matched], "and")
    return f"each triple in one match at most, the oldest first, of {named}"


def _for_each(key: tuple[Variable, ...]) -> str:
    names = [f"?{each.name}" for each in key if not each.is_anonymous]
    hidden = ["blank node"] if len(names) < len(key) else []
    return f" for each {listing([*names, *hidden], 'and')}" if key else ""


def _shared_text(plan: Plan) -> str:
    """With which queries it is evaluated as one."""
    if not plan.applies(SHARE):
        return f"evaluated alone, because rules.{SHARE} is off"
    if plan.stream is not None:
        return "evaluated alone, because others can read it as a stream"
    found = lifted(plan)
    if found is None:
        return f"evaluated alone, because {plan.matching.obstacle or 'it has no matches to share'}"
    constants = list(dict.fromkeys(map(str, found.constants)))
    if not constants:
        return "evaluated as one with queries that are equal to it"
    return f"evaluated as one with queries that are equal but for {listing(constants, 'and')}"


def _stages(query: Query, run: Run | None) -> tuple[list[Stage], Operator]:
    stages: list[Stage] = []
    return stages, optimised(query, _known_predicates(run), stages.append)


def _known_predicates(run: Run | None) -> KnownPredicates | None:
    """Return the predicates that were seen in static data and in streams."""
    return None if run is None else run.known


def _said(rule: Rule) -> str:
    """What a rule says, in a sentence."""
    return rule.equation.partition("\n")[0]


def _table(pattern: Operator, run: Run | None) -> Iterator[str]:
    """The operators that are evaluated, with how many solutions are expected and were found."""
    lines = list(tree(pattern if run is None else run.pattern))
    shown = ["  " * line.depth + line.label for line in lines]
    width = min(max(map(len, shown)), _WIDEST) + 2
    seen = f"{'seen':>12}{'passes':>13}{'ms':>10}" if run is not None and run.seen else ""
    head = f"{'estimated':>10}{seen}"
    yield f"{'to be done':{width}}{head}"
    for line, name in zip(lines, shown, strict=True):
        operator = line.node if not isinstance(line.node, _PATTERNS) else Bgp((line.node,))
        figures = f"{estimated(operator, {} if run is None else run.counts):10,}"
        if run is not None:
            found = run.seen.get(id(line.node))
            if found is not None:  # else it was joined pattern by pattern
                figures += f"{found.rows:12,}{found.times:13,}{found.seconds * 1000:10,.1f}"
        yield f"{name:{width}}{figures}" if len(name) < width else f"{name}\n{'':{width}}{figures}"


_WIDEST: Final = 76
_PATTERNS: Final = (TriplePattern, PathPattern)


def _parts_text(plan: Plan, found: Partitioning) -> str:
    if found.is_whole:
        return f"as a whole: {found.reason}"
    branches = f"its {found.branches} branches, by stream"
    how = branches if found.key is None else f"by {_key_text(plan, found.key)}"
    if found.split is None:
        return f"in parts, if there are partitions: {how}"
    above = [line.label for line in tree(found.split.above) if line.node is not found.split.hole]
    rest = "; ".join(reversed(above))
    return f"in parts, if there are partitions: {how}; then, of what they found: {rest}"


def _heading(query: Query, dialect: str, profile: str) -> Iterator[str]:
    registration = query.registration
    if registration is not None:
        yield f"{'query':12}{registration.name} (registered as a {registration.kind})"
    yield f"{'dialect':12}{dialect}, with the profile {profile}"
    yield f"{'form':12}{show(rename_for_display(query.form))}"
    for title, graphs in (
        ("default", query.dataset.default),
        ("named", query.dataset.named),
        ("schema", query.dataset.schemas),
    ):
        for graph in graphs:
            yield f"{title:12}<{graph.value}>"
    beside = default_graph_text(query)
    if beside:
        yield f"{'default':12}{beside}, beside FROM NAMED"
    always = certain(query.pattern)
    sometimes = possible(query.pattern) - always
    yield f"{'always':12}{_names(always) or '-'}"
    if sometimes:
        yield f"{'sometimes':12}{_names(sometimes)}"


def _names(variables: frozenset[Variable]) -> str:
    return " ".join(f"?{name}" for name in _list_names(variables))


def _list_names(variables: frozenset[Variable]) -> list[str]:
    """Return the names that queries have for variables, in alphabetical order."""
    return sorted(each.name for each in variables if not each.is_anonymous)


def _key_text(plan: Plan, key: Variable) -> str:
    """Write a variable as the query shows it; that of a blank node by its label."""
    name = choose_display_names(plan.query.pattern).get(key, key).name
    return name if name.startswith("_:") else f"?{name}"


def _window_text(window: WindowDeclaration) -> str:
    where = ", also in the default graph" if window.in_default_graph else ""
    stream = f"<{window.stream.value}>" if isinstance(window.stream, Iri) else "every stream"
    named = f"<{window.name.value}> on {stream}" if window.name != window.stream else stream
    return f"{named}: {frame_text(window.frame)}{where}"


def _contracts_json(query: Query) -> dict[str, Any]:
    contracts = sketch_of(query).contracts if query.is_continuous else ()
    found = [{"endpoint": _asked(each), "contract": str(each)} for each in contracts]
    return {"contracts": found} if found else {}


def as_json(query: Query, dialect: str, profile: str, run: Run | None = None) -> dict[str, Any]:
    """Explain a query as JSON; times in milliseconds, patterns in the notation."""
    stages, pattern = _stages(query, run)
    registration = query.registration
    return {
        "name": None if registration is None else registration.name,
        "registered": None if registration is None else str(registration.kind),
        "dialect": dialect,
        "profile": profile,
        "continuous": query.is_continuous,
        "form": show(rename_for_display(query.form), width=1_000_000),
        "dataset": {
            "default": [graph.value for graph in query.dataset.default],
            "named": [graph.value for graph in query.dataset.named],
            "schemas": [graph.value for graph in query.dataset.schemas],
        },
        "windows": [_window_json(window) for window in query.windows],
        "semantics": dict(semantics_rows(query.semantics)),
        "variables": {
            "certain": _list_names(certain(query.pattern)),
            "possible": _list_names(possible(query.pattern)),
        },
        **_ways_json(query, run),
        **_contracts_json(query),
        "stages": [
            {
                "stage": "parsed",
                "algebra": show(rename_for_display(query.pattern), width=1_000_000),
            },
            *(_stage_json(stage) for stage in stages),
        ],
        "operators": list(_operators(pattern, run)),
        "routes": list(run.routes if run else ()),
        "pieces": [
            {"piece": name, "text": said}
            for name, said in pieces(rename_for_display(query), _known_predicates(run))
        ],
    }


def _stage_json(stage: Stage) -> dict[str, Any]:
    return {
        "stage": stage.rule.name,
        "equation": " ".join(stage.rule.equation.split()),
        "algebra": show(rename_for_display(stage.pattern), width=1_000_000),
    }


def _operators(pattern: Operator, run: Run | None) -> Iterator[dict[str, Any]]:
    for line in tree(pattern if run is None else run.pattern):
        operator = line.node if not isinstance(line.node, _PATTERNS) else Bgp((line.node,))
        found = None if run is None else run.seen.get(id(line.node))
        yield {
            "depth": line.depth,
            "operator": line.label,
            "estimated": estimated(operator, {} if run is None else run.counts),
            "seen": None if found is None else found.rows,
            "passes": None if found is None else found.times,
            "milliseconds": None if found is None else found.seconds * 1000,
        }


def _ways_json(query: Query, run: Run | None) -> dict[str, Any]:
    """Describe the strategy of a query and its parts."""
    if not query.is_continuous:
        unasked = ("strategy", "consumed", "shared", "evaluated", "partition_key")
        return dict.fromkeys(unasked)
    plan = sketch_of(query, _known_predicates(run))
    found = partitioning(plan)
    return {
        "strategy": " ".join(_strategy_text(plan).split()),
        "consumed": None if plan.consuming is None else _consumed_text(plan.consuming),
        "shared": _shared_text(plan),
        "evaluated": _parts_text(plan, found),
        "partition_key": None if found.key is None else _key_text(plan, found.key).lstrip("?"),
    }


def _window_json(window: WindowDeclaration) -> dict[str, Any]:
    stream = window.stream
    return {
        "name": window.name.value,
        "stream": stream.value if isinstance(stream, Iri) else f"?{stream.name}",
        "in_default_graph": window.in_default_graph,
        **_frame_json(window.frame),
    }


def _frame_json(frame: WindowFrame) -> dict[str, Any]:
    match frame:
        case TimeWindow(width, slide):
            step = None if slide is None else slide / 1000
            return {"kind": "time", "width": width / 1000, "slide": step}
        case CountWindow(size, step, counted):
            return {"kind": str(counted), "size": size, "step": step}
        case NowWindow():
            return {"kind": "now"}
        case AllWindow():
            return {"kind": "all"}
        case _:
            assert_never(frame)
