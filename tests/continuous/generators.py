"""Random streams, windows, reports and bodies: small vocabularies, so that much joins.

Times are milliseconds and small, so that the oracle can look at each of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from hypothesis import strategies as st

from headrace.rdf import terms as rdf
from headrace.rdf.vocabulary import XSD_STRING
from tests.continuous.described import Continuous, Event, Window

XSD: Final = "http://www.w3.org/2001/XMLSchema#"
STREAMS: Final = ("http://x/s", "http://x/t")
PREFIXES: Final = f"PREFIX : <http://x/> PREFIX xsd: <{XSD}>"
Streams = Mapping[str, Sequence[Event]]
Dialect = Literal["rspql", "csparql", "cqels"]
Report = Literal["on-close", "every", "on-change", "on-arrival"]

# -- streams -------------------------------------------------------------------------------------

nodes = st.sampled_from("abc").map(lambda name: rdf.Iri(f"http://x/{name}"))
properties = st.sampled_from("pq").map(lambda name: rdf.Iri(f"http://x/{name}"))
# pyoxigraph writes literals anew when it stores them, so all are as it writes them.
literals = st.sampled_from(
    [
        rdf.Literal("1", f"{XSD}integer"),
        rdf.Literal("2", f"{XSD}integer"),
        rdf.Literal("2.5", f"{XSD}decimal"),
        rdf.Literal("x", XSD_STRING),
    ]
)
triples = st.builds(rdf.Quad, nodes, properties, st.one_of(nodes, literals))
graphs = st.sampled_from("gh").map(lambda name: rdf.Iri(f"http://x/{name}"))


@st.composite
def named_elements(draw: st.DrawFn) -> tuple[rdf.Quad, ...]:
    """One to three triples in a named graph."""
    graph = draw(graphs)
    found = draw(st.lists(triples, min_size=1, max_size=3, unique=True))
    return tuple(rdf.Quad(q.subject, q.predicate, q.object, graph) for q in found)


@st.composite
def events(draw: st.DrawFn, *, named: bool = False, most: int = 16) -> list[Event]:
    """Mostly forward, sometimes at rest, now and then far ahead or back; some heartbeats."""
    now = draw(st.integers(-6, 12))
    elements = named_elements() if named else triples.map(lambda triple: (triple,))
    found = list[Event]()
    for _ in range(draw(st.sampled_from([2, 0, most // 2, most // 2, most, most, most]))):
        now += draw(st.sampled_from([2, 1, 3, 0, 5, 1, 0, 2, 19]))
        time = now - draw(st.sampled_from([0, 0, 0, 0, 1, 2, 4, 9]))
        beats = draw(st.sampled_from([False] * 7 + [True]))
        event = Event(time, () if beats else draw(elements))
        if not (found and _one_when_read_again(found[-1], event)):
            found.append(event)
    return found


def _one_when_read_again(before: Event, event: Event) -> bool:
    """Whether timed N-Quads has no way to tell two elements from one."""
    return (
        before.time == event.time
        and bool(before.quads and event.quads)
        and event.quads[0].graph is not None
        and before.quads[0].graph == event.quads[0].graph
    )


def lines(event: Event) -> list[str]:
    """An element as timed N-Quads."""
    if not event.quads:
        return [f"{event.time}\n"]
    return [f"{event.time}\t{_statement(quad)}\n" for quad in event.quads]


def timed(found: Sequence[Event]) -> str:
    """A stream as timed N-Quads."""
    return "".join(line for event in found for line in lines(event))


def _statement(quad: rdf.Quad) -> str:
    parts = (quad.subject, quad.predicate, quad.object, quad.graph)
    return " ".join(str(part) for part in parts if part is not None) + " ."


# -- windows -------------------------------------------------------------------------------------

widths = st.integers(1, 12)


def frames(name: str, stream: str, *, in_default: bool = False) -> st.SearchStrategy[Window]:
    """Windows of every kind; half of them close by time."""

    def of(kind: Literal["time", "triples", "elements", "now", "all"]) -> st.SearchStrategy[Window]:
        size: st.SearchStrategy[int] = widths
        step: st.SearchStrategy[int | None] = widths
        if kind in {"triples", "elements"}:
            size, step = st.integers(1, 5), st.integers(1, 3)
        elif kind in {"now", "all"}:
            size, step = st.just(0), st.none()
        built = st.builds(Window, st.just(name), st.just(stream), st.just(kind), size, step)
        return built.map(lambda w: Window(w.name, w.stream, w.kind, w.width, w.slide, in_default))

    tumbling = of("time").map(
        lambda w: Window(w.name, w.stream, w.kind, w.width, w.width, in_default)
    )
    moving = of("time").map(lambda w: Window(w.name, w.stream, w.kind, w.width, None, in_default))
    others = st.one_of(moving, of("triples"), of("elements"), of("now"), of("all"))
    return st.one_of(of("time"), tumbling, of("time"), others)


def frame_text(window: Window) -> str:
    """A window as every dialect writes it."""
    match window.kind:
        case "time":
            step = "" if window.slide is None else f" {window.slide}ms"
            return f"[RANGE {window.width}ms STEP{step}]"
        case "triples" | "elements":
            return f"[{window.kind.upper()} {window.width} STEP {window.slide}]"
        case "now" | "all":
            return f"[{window.kind.upper()}]"


# -- bodies --------------------------------------------------------------------------------------

VARIABLES: Final = ("?x", "?y", "?z")
variables = st.sampled_from(VARIABLES)
constants = st.sampled_from([":a", ":b", "1", "2", '"x"'])
conditions = st.one_of(
    st.builds("{} {} {}".format, variables, st.sampled_from(["=", "!=", "<", ">"]), constants),
    st.builds("{} != {}".format, variables, variables),
    st.builds("BOUND({})".format, variables),
    st.builds("!BOUND({})".format, variables),
    st.builds("isIRI({})".format, variables),
    st.builds("({} > 1 || isIRI({}))".format, variables, variables),
)


def patterns(window: str) -> st.SearchStrategy[str]:
    """A triple pattern, marked with its window as the oracle wants it."""
    return st.builds(
        f"[{window}| {{}} {{}} {{}} ]".format,
        st.sampled_from(["?x", "?x", "?x", "?y", "?z", ":a"]),
        st.sampled_from([":p", ":p", ":q", "?z"]),
        st.sampled_from(["?y", "?y", "?y", "?z", "?x", "1", ":b"]),
    )


def basic(window: str) -> st.SearchStrategy[str]:
    """One to three patterns."""
    sizes = st.sampled_from([1, 1, 1, 2, 2, 3])
    return sizes.flatmap(lambda n: st.lists(patterns(window), min_size=n, max_size=n)).map(" ".join)


@st.composite
def groups(draw: st.DrawFn, window: str, depth: int = 1) -> str:
    """What stands in braces and is read from one window."""
    first = draw(basic(window))
    if depth == 0:
        return first
    inner = groups(window, depth - 1)
    kinds = ["filter", "optional", "union", "minus", "not exists", "exists", "select", "count"]
    for kind in draw(st.lists(st.sampled_from(kinds), max_size=2)):
        match kind:
            case "filter":
                first += f" FILTER ({draw(conditions)})"
            case "optional":
                test = draw(st.one_of(st.just(""), conditions.map("FILTER ({})".format)))
                first += f" OPTIONAL {{ {draw(inner)} {test} }}"
            case "union":
                first = f"{{ {first} }} UNION {{ {draw(inner)} }}"
            case "minus":
                first += f" MINUS {{ {draw(inner)} }}"
            case "not exists" | "exists":
                # In EXISTS pyoxigraph deviates for MINUS, so there are only patterns.
                first += f" FILTER {kind.upper()} {{ {draw(basic(window))} }}"
            case "select":
                shown = draw(st.sampled_from(["?x", "?x ?y", "DISTINCT ?x", "DISTINCT ?y ?z"]))
                first += f" {{ SELECT {shown} {{ {draw(inner)} }} }}"
            case "count":
                inside = draw(inner)
                first += f" {{ SELECT ?x (COUNT(?y) AS ?n) {{ {inside} }} GROUP BY ?x }}"
    return first


@st.composite
def combined(draw: st.DrawFn, blocks: Sequence[str]) -> str:
    """One block, or two in one of the ways in which patterns are put together."""
    if len(blocks) == 1:
        return blocks[0]
    one, other = blocks
    if draw(st.booleans()):
        one, other = other, one
    shape = draw(
        st.sampled_from(
            [
                "{} {}",
                "{} {}",
                "{} OPTIONAL {{ {} }}",
                "{{ {} }} UNION {{ {} }}",
                "{} MINUS {{ {} }}",
                "{} FILTER NOT EXISTS {{ {} }}",
            ]
        )
    )
    # In EXISTS pyoxigraph deviates for MINUS.
    if "EXISTS" in shape and "MINUS" in other:
        shape = "{} {}"
    return shape.format(one, other)


aggregates = st.sampled_from(
    [
        "COUNT(*)",
        "COUNT(?y)",
        "COUNT(DISTINCT ?y)",
        "SUM(?y)",
        "SUM(DISTINCT ?z)",
        "AVG(?y)",
        # In which order terms of different kinds stand is left to each engine.
        "MIN(COALESCE(IF(DATATYPE(?y) = xsd:integer, ?y, 0), 0))",
        "MAX(COALESCE(IF(DATATYPE(?z) = xsd:integer, ?z, 0), 0))",
    ]
)


EVERYTHING: Final = "SELECT ?x ?y ?z ?n ?g ?r ?u ?v ?w ?b ?c"
"""All columns that a group can have, which is what a CONSTRUCT makes its graph of."""
MADE: Final = rdf.Iri("http://x/made")


@st.composite
def queries(draw: st.DrawFn, group: str) -> str:
    """A SELECT or ASK around a group, with all columns named."""
    some = st.sampled_from(["?x", "?y", "?x ?y", "?x ?y ?z", "?z ?x"])
    kinds = ["some", "some", "distinct", "grouped", "grouped", "ask", "construct"]
    match draw(st.sampled_from(kinds)):
        case "construct":
            return f"{PREFIXES} {EVERYTHING} WHERE {{ {group} }}"
        case "distinct":
            return f"{PREFIXES} SELECT DISTINCT {draw(some)} WHERE {{ {group} }}"
        case "grouped":
            calls = draw(st.lists(aggregates, min_size=1, max_size=2, unique=True))
            made = " ".join(f"({call} AS ?made{at})" for at, call in enumerate(calls))
            keys = draw(st.sampled_from(["", "?x", "?x ?y"]))
            by = f"GROUP BY {keys}" if keys else ""
            having = draw(st.sampled_from(["", "", "HAVING (COUNT(*) > 1)"]))
            return f"{PREFIXES} SELECT {keys} {made} WHERE {{ {group} }} {by} {having}"
        case "ask":
            return f"{PREFIXES} ASK WHERE {{ {group} }}"
        case _:
            return f"{PREFIXES} SELECT {draw(some)} WHERE {{ {group} }}"


# -- whole cases ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A query as data and as text, with the streams that it reads.

    Attributes:
        query: as data.
        dialect: of its text.
        streams: what it reads.
        registered: whether its text says when it reports and what it emits. Then all else that
            can be chosen is as the profile of the dialect has it.
    """

    query: Continuous
    dialect: Dialect
    streams: Streams
    registered: bool = False

    @property
    def text(self) -> str:
        """The query in its dialect."""
        body = self.query.body
        for window in self.query.windows:
            # The marks of the patterns are for the oracle.
            body = body.replace(f"[{window.name}| ", "[| ")
        body = body.replace("[| ", "").replace(" ]", " .")
        if self.query.made is not None:
            body = body.replace(EVERYTHING, f"CONSTRUCT {{ ?x {MADE} ?y }}", 1)
        text = _in_dialect(body, self.query.windows, self.dialect)
        if not self.registered:
            return text
        every = f" COMPUTED EVERY {self.query.period}ms" if self.query.report == "every" else ""
        kind = "QUERY" if self._asks else self.query.emit.upper()
        return f"REGISTER {kind} q{every} AS {text}"

    @property
    def _asks(self) -> bool:
        """Whether it is an ASK: that is no stream, and does not say in its text what it emits."""
        return " ASK WHERE" in self.query.body

    @property
    def settings(self) -> dict[str, str]:
        """What the text does not say, as of `--set`."""
        query = self.query
        report = f"every:{query.period}ms" if query.report == "every" else query.report
        settings = {
            "bounds": query.bounds,
            "align": query.align,
            "t0": str(query.t0),
            "report": report,
            "emit": query.emit,
            "contents": query.contents,
            "non_empty": query.non_empty,
            "pick": query.pick,
            "order": query.order,
        }
        if self.registered:
            settings = {"emit": query.emit} if self._asks else {}
        if query.max_ahead is not None:
            settings["max_ahead"] = f"{query.max_ahead}ms"
        return settings | {
            f"delay.{s}": f"{delay}ms" for s, delay in query.delays.items() if s in self.streams
        }

    @property
    def inputs(self) -> dict[str, str]:
        """The streams as timed N-Quads."""
        return {stream: timed(found) for stream, found in self.streams.items()}

    @property
    def static(self) -> dict[str | None, str] | None:
        """The static data as Turtle."""
        if not self.query.static:
            return None
        return {None: "\n".join(_statement(quad) for quad in self.query.static)}

    def __repr__(self) -> str:
        """Show what can be played."""
        parts = [self.text, repr(self.settings), *(f"{k}\n{v}" for k, v in self.inputs.items())]
        return "\n".join(["", self.dialect, *parts, repr(self.static)])


def _in_dialect(body: str, windows: Sequence[Window], dialect: Dialect) -> str:
    if dialect == "cqels":
        for window in windows:
            stream = f"STREAM <{window.stream}> {frame_text(window)} {{"
            body = body.replace(f"WINDOW <{window.name}> {{", stream)
        return body
    if dialect == "rspql":
        clauses = [f"FROM NAMED WINDOW <{w.name}> ON <{w.stream}> {frame_text(w)}" for w in windows]
    else:
        body = body.replace("WINDOW <", "GRAPH <")
        clauses = [
            f"FROM {'' if w.in_default else 'NAMED '}STREAM <{w.stream}> {frame_text(w)}"
            for w in windows
        ]
    return body.replace(" WHERE {", f" {' '.join(clauses)} WHERE {{", 1)


@st.composite
def cases(draw: st.DrawFn, *, most: int = 16) -> Case:
    """A query of any dialect over random streams."""
    dialect: Dialect = draw(st.sampled_from(["rspql", "rspql", "csparql", "cqels"]))
    number = draw(st.sampled_from([1, 1, 2]))
    named = number == 1 and dialect != "csparql" and draw(st.sampled_from([False, False, True]))
    on = [draw(st.sampled_from(STREAMS)) for _ in range(number)]
    windows = tuple(
        draw(_windows(dialect, place, stream, windows_before=on[:place]))
        for place, stream in enumerate(on)
    )
    group = draw(_bodies(dialect, windows, named=named))
    static: tuple[rdf.Quad, ...] = ()
    if not named and dialect != "cqels" and draw(st.sampled_from([False, False, True])):
        static = tuple(draw(st.lists(triples, min_size=1, max_size=3, unique=True)))
        group = draw(combined([group, draw(basic(""))]))
    query = draw(_reporting(windows, draw(queries(group)), static, plain=not named))
    streams = {stream: draw(events(named=named, most=most)) for stream in sorted(set(on))}
    return Case(query, dialect, streams)


def as_registered(case: Case) -> Case:
    """The same windows and body, with the defaults of the dialect."""
    query = case.query
    closes = any(window.slides or window.counts for window in query.windows)
    report: Report = "on-close" if closes else "on-arrival"
    if query.report == "every":
        report = "every"
    default = Continuous(
        query.windows,
        query.body,
        query.made,
        report,
        query.period,
        query.emit,
        non_empty="answer" if report == "on-arrival" else "off",
        delays=query.delays,
        max_ahead=query.max_ahead,
        static=query.static,
    )
    return Case(default, case.dialect, case.streams, registered=True)


def _windows(
    dialect: Dialect, place: int, stream: str, windows_before: Sequence[str]
) -> st.SearchStrategy[Window]:
    if dialect != "csparql":
        return frames(f"http://x/w{place}", stream)
    # Two windows on a stream have one name, and are their union.
    in_default = st.just(True) if stream in windows_before else st.booleans()
    return in_default.flatmap(lambda inside: frames(stream, stream, in_default=inside))


@st.composite
def _bodies(draw: st.DrawFn, dialect: Dialect, windows: Sequence[Window], *, named: bool) -> str:
    if named:
        [window] = windows
        inner = draw(groups(window.name, 1))
        return f"WINDOW <{window.name}> {{ GRAPH ?g {{ {draw(basic(window.name))} }} }}" + (
            f" OPTIONAL {{ WINDOW <{window.name}> {{ GRAPH ?g {{ {inner} }} }} }}"
            if draw(st.booleans()) and "SELECT" not in inner
            else ""
        )
    blocks = list[str]()
    for window in windows:
        if dialect == "csparql" and window.in_default and draw(st.booleans()):
            blocks.append(draw(groups("")))
        else:
            blocks.append(f"WINDOW <{window.name}> {{ {draw(groups(window.name))} }}")
    return draw(combined(blocks))


@st.composite
def _reporting(
    draw: st.DrawFn,
    windows: tuple[Window, ...],
    body: str,
    static: tuple[rdf.Quad, ...],
    *,
    plain: bool,
) -> Continuous:
    kinds = {window.kind for window in windows}
    reports: list[Report] = ["every", "on-change", "on-arrival"]
    if any(window.slides or window.counts for window in windows):
        reports = ["on-close", "on-close", *reports]
    report = draw(st.sampled_from(reports))
    # A [) window is over before the elements of its close: what NOW and ALL are then is not said.
    before = report in {"on-close", "every"} and bool(kinds & {"now", "all"})
    before = before or (report == "every" and any(window.counts for window in windows))
    # Between several streams there is no order of arrival that a test could count on.
    alone = report == "on-arrival" and len({window.stream for window in windows}) == 1
    alone = alone and ("now" not in kinds or len(windows) == 1)
    return Continuous(
        windows,
        body,
        made=(0, MADE, 1) if EVERYTHING in body else None,
        report=report,
        period=draw(widths),
        emit=draw(st.sampled_from(["rstream", "rstream", "istream", "dstream"])),
        bounds=draw(st.sampled_from(["(]", "[]"] if before else ["(]", "[)", "[]"])),
        align=draw(st.sampled_from(["close", "close", "open"])),
        t0=draw(st.one_of(st.just(0), st.integers(-20, 50), st.just("first"))),
        contents=draw(_contents(windows, plain=plain and not static)),
        non_empty=draw(st.sampled_from(["off", "off", "content", "answer"])),
        pick=draw(st.sampled_from(["latest", "strict"])),
        order=draw(st.sampled_from(["event-time", "event-time", *(["arrival"] * alone)])),
        delays=draw(st.dictionaries(st.sampled_from(STREAMS), st.integers(0, 8))),
        max_ahead=draw(st.sampled_from([None, None, 20])),
        static=static,
    )


def _contents(
    windows: Sequence[Window], *, plain: bool
) -> st.SearchStrategy[Literal["set", "timed"]]:
    several = sum(window.in_default for window in windows) > 1
    if several or not plain:
        return st.just("set")
    return st.sampled_from(["set", "set", "set", "timed"])
