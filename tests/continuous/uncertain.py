"""Random queries about values that are not known exactly, and streams that say how exact they are.

Few things and few places, so that much joins; each value is annotated, or is a distribution.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from hypothesis import strategies as st

from headrace.rdf.vocabulary import RSPU

STREAMS: Final = ("http://x/s", "http://x/t")
PREFIXES: Final = f"PREFIX : <http://x/> PREFIX rspu: <{RSPU}>"
VARIABLES: Final = ("?x", "?v", "?d", "?e", "?place")
MADE: Final = ("?k0", "?k1", "?k2")


@dataclass(frozen=True)
class Script:
    """A query in parts, so that they can stand in another order, and all that it reads.

    Attributes:
        head: what is asked for, and of which windows.
        parts: what is joined, in any order.
        rest: what must come after them.
        end: what is done with solutions.
        streams: timed N-Quads of each stream.
        static: Turtle.
    """

    head: str
    parts: tuple[str, ...]
    rest: str
    end: str
    streams: dict[str, str]
    static: str

    def text(self, *, reverse: bool = False) -> str:
        """The query, with its parts as they are or the other way round."""
        parts = self.parts[::-1] if reverse else self.parts
        return f"{PREFIXES} {self.head} WHERE {{ {' '.join(parts)} {self.rest} }} {self.end}"


def _written(text: str) -> str:
    return f'"{text}"^^rspu:distribution'


errors = st.sampled_from(
    ["N(0,1)", "N(1,1)", "U(-1,1)", "U(0,2)", "P(0)", "E(1)", "H(-1,1,0,2,1)", "no"]
)
spread = st.sampled_from(["N(2,1)", "N(1,0.5)", "U(0,3)", "U(1,2)", "P(2)", "LN(0,1)"])
things = st.sampled_from("ab")
places = st.sampled_from("mn")


# -- data --------------------------------------------------------------------------------------


@st.composite
def said(draw: st.DrawFn) -> list[str]:
    """What one element says: where a thing is, how much it has, how exact that is."""
    thing = f"<http://x/{draw(things)}>"
    value = f'"{draw(st.integers(1, 3))}"^^<http://www.w3.org/2001/XMLSchema#integer>'
    stated = f"{thing} <http://x/has> {value}"
    of = f'"{draw(errors)}"^^<{RSPU}distribution>'
    whole = f'"{draw(spread)}"^^<{RSPU}distribution>'
    kinds = {
        "value": [stated, f"<< {stated} >> <{RSPU}uncertainty> {of}"],
        "whole": [f"{thing} <http://x/is> {whole}"],
        "place": [f"{thing} <http://x/at> <http://x/{draw(places)}>"],
    }
    chosen = st.lists(st.sampled_from(sorted(kinds)), min_size=2, max_size=3, unique=True)
    return [line for kind in draw(chosen) for line in kinds[kind]]


@st.composite
def streams(draw: st.DrawFn) -> str:
    """Some elements, in the order of their times."""
    lines, now = [], 0
    for _ in range(draw(st.integers(6, 14))):
        now += draw(st.sampled_from([1, 1, 0, 2]))
        lines += [f"{now}\t{each} .\n" for each in draw(said())]
    return "".join(lines)


@st.composite
def statics(draw: st.DrawFn) -> str:
    """How exact things are, and where."""
    lines = [
        f'<http://x/{thing}> <http://x/error> "{draw(errors)}"^^<{RSPU}distribution> .'
        for thing in draw(st.lists(things, max_size=2, unique=True))
    ]
    lines += [f"<http://x/{thing}> <http://x/at> <http://x/m> ." for thing in draw(st.sets(things))]
    return "\n".join(lines)


# -- queries -----------------------------------------------------------------------------------


def about(text: str) -> tuple[str, ...]:
    """Mostly the variables of a part that can be values, now and then others."""
    have = [name for name in ("?v", "?d", "?e") if f"{name} " in text]
    return (*have * 8, *VARIABLES[:4]) if have else ("1", "?x", _written("U(0,3)"))


@st.composite
def sums(draw: st.DrawFn, text: str) -> str:
    """The sum or difference of what is known and what is not."""
    first = draw(st.sampled_from(about(text)))
    second = draw(st.sampled_from(("1.5", "1", "?v", _written("N(2,1)"), first)))
    return f"rspu:{draw(st.sampled_from(['add', 'subtract']))}({first}, {second})"


@st.composite
def numbers(draw: st.DrawFn, text: str) -> str:
    """A probability, or a number that tells of a distribution."""
    first = draw(st.sampled_from(about(text)))
    second = draw(st.sampled_from((*about(text), "1.5", "2", "2", "2", _written("U(0,3)"))))
    if draw(st.booleans()):
        first = draw(sums(text))
    match draw(st.sampled_from(["compared", "compared", "compared", "between", "mean", "cdf"])):
        case "between":
            return f"rspu:between({first}, 1, {second})"
        case "mean":
            return f"rspu:{draw(st.sampled_from(['mean', 'variance']))}({first})"
        case "cdf":
            return f"rspu:cdf({first}, {draw(st.sampled_from(['1', '2', '?v']))})"
        case _:
            name = draw(st.sampled_from(["lessThan", "greaterThan", "greaterThanOrEqual"]))
            return f"rspu:{name}({first}, {second})"


@st.composite
def filters(draw: st.DrawFn, text: str) -> str:
    """A filter about what a part binds."""
    one, other = draw(numbers(text)), draw(numbers(text))
    return draw(
        st.sampled_from(
            [
                f"FILTER({one} >= 0.4)",
                f"FILTER({one} >= 0.2)",
                f"FILTER({one} >= 0)",
                f"FILTER({one} < 0.9)",
                f"FILTER({one} <= ?v)",
                f"FILTER({one} >= 0.5 || {other} < 0.6)",
                f"FILTER({one} >= 0.2 && {other} < 0.9)",
                f"FILTER(COALESCE({one} > 0.5, true))",
                f"FILTER(!({one} > 0.5))",
                f"FILTER(BOUND(?d) || {one} > 0.5)",
            ]
        )
    )


plain = st.lists(
    st.sampled_from(
        [
            "?x :has ?v .",
            "?x :has ?v . << ?x :has ?v >> rspu:uncertainty ?d .",
            "?x :has ?v . << ?x :has ?v >> rspu:uncertainty ?d .",
            "?x :is ?e .",
            "?x :at ?place .",
        ]
    ),
    min_size=1,
    max_size=2,
    unique=True,
).map(" ".join)
names = st.sampled_from(["WINDOW :w", "WINDOW :u"])


@st.composite
def windows(draw: st.DrawFn) -> str:
    """What is looked for in a window, with a filter in it, after it, or without one."""
    found = draw(plain)
    match draw(st.sampled_from(["none", "in", "in", "after"])):
        case "in":
            return f"{draw(names)} {{ {found} {draw(filters(found))} }}"
        case "after":
            return f"{draw(names)} {{ {found} }} {draw(filters(found))}"
        case _:
            return f"{draw(names)} {{ {found} }}"


fixed = st.sampled_from(["?x :error ?d .", "?x :at ?place ."])
basic = st.one_of(windows(), windows(), windows(), fixed)


@st.composite
def bound(draw: st.DrawFn) -> str:
    """A group with values of its own."""
    name = draw(st.sampled_from(["?p", "?q"]))
    after = draw(st.sampled_from(["", "", f"FILTER({name} >= 0.5)"]))
    found = draw(windows())
    call = draw(st.one_of(numbers(found), numbers(found), sums(found)))
    return f"{{ {found} BIND({call} AS {name}) {after} }}"


@st.composite
def selected(draw: st.DrawFn) -> str:
    """A subquery, which hides some of what its filters read."""
    kept = draw(st.sampled_from(["?x", "?x ?place", "?x ?d", "?x ?v ?e"]))
    distinct = draw(st.sampled_from(["", "", "DISTINCT"]))
    found = f"{draw(windows())} {draw(st.one_of(st.just(''), basic))}"
    body = f"{found} {draw(filters(found))}"
    made = draw(st.sampled_from(["", "", f"({draw(numbers(found))} AS ?s)"]))
    end = draw(st.sampled_from(["", "", "", f"ORDER BY {draw(numbers(found))} ?x LIMIT 2"]))
    return f"{{ SELECT {distinct} {kept} {made} {{ {body} }} {end} }}"


@st.composite
def united(draw: st.DrawFn) -> str:
    """Two branches, of which one is filtered again."""
    one, other = draw(basic), draw(basic)
    return f"{{ {one} }} UNION {{ {other} {draw(filters(other))} }}"


parts = st.one_of(basic, basic, basic, bound(), selected(), united())


@st.composite
def rests(draw: st.DrawFn, text: str) -> str:
    """What stands at the end of a group: its place matters."""
    kinds = ["optional", "optional", "filtered", "minus", "exists", "filter", "filter", "bind"]
    found = ""
    for place, kind in enumerate(draw(st.lists(st.sampled_from([*kinds, "bind"]), max_size=3))):
        other, all_of_it = draw(st.one_of(basic, bound())), text + found
        inside = f"{{ {other} {draw(filters(other + text))} }}"
        match kind:
            case "optional":
                found += f" OPTIONAL {{ {other} }}"
            case "filtered":
                found += f" OPTIONAL {inside}"
            case "minus":
                found += f" MINUS {inside}"
            case "exists":
                found += f" FILTER {draw(st.sampled_from(['', 'NOT']))} EXISTS {inside}"
            case "filter":
                found += f" {draw(filters(all_of_it))}"
            case _:
                call = draw(st.one_of(numbers(all_of_it), numbers(all_of_it), sums(all_of_it)))
                found += f" BIND({call} AS {MADE[place]})"
    return found


@st.composite
def asked(draw: st.DrawFn, text: str) -> tuple[str, str]:
    """What is asked for, and how solutions end."""
    match draw(st.sampled_from(["all", "some", "some", "grouped", "ordered"])):
        case "all":
            return "SELECT *", ""
        case "grouped":
            call = draw(st.one_of(numbers(text), st.sampled_from(["?d", "?e", "?k0"])))
            function = draw(st.sampled_from(["SUM", "AVG", "MAX", "COUNT", "SAMPLE", "MIN"]))
            having = draw(st.sampled_from(["", "", "HAVING(COUNT(*) > 1)"]))
            head = f"SELECT ?place ({function}({call}) AS ?n)"
            return head, f"GROUP BY ?place {having}"
        case "ordered":
            key = draw(st.one_of(numbers(text), st.sampled_from(["?k0", "?p"])))
            end = draw(st.sampled_from(["LIMIT 3", "LIMIT 2 OFFSET 1", ""]))
            return "SELECT ?x ?v ?k0", f"ORDER BY DESC({key}) ?x ?v ?k0 {end}"
        case _:
            distinct = draw(st.sampled_from(["", "DISTINCT"]))
            names = draw(st.sampled_from(["?x ?k0", "?x ?p ?q", "?place ?d ?k1", "?x ?v ?s ?k0"]))
            return f"SELECT {distinct} {names}", ""


@st.composite
def scripts(draw: st.DrawFn) -> Script:
    """Two windows of two streams, static data, and a body that looks into some of it."""
    sizes = st.sampled_from(
        [
            "[RANGE 8ms STEP 4ms]",
            "[RANGE 8ms STEP 4ms]",
            "[RANGE 6ms STEP 6ms]",
            "[ELEMENTS 3 STEP 2]",
        ]
    )
    joined = tuple(draw(st.lists(parts, min_size=1, max_size=3)))
    rest = draw(rests(" ".join(joined)))
    head, end = draw(asked(" ".join((*joined, rest))))
    froms = [
        f"FROM NAMED WINDOW :{name} ON <{stream}> {draw(sizes)}"
        for name, stream in zip("wu", STREAMS, strict=True)
    ]
    return Script(
        f"{head} {' '.join(froms)}",
        joined,
        rest,
        end,
        {stream: draw(streams()) for stream in STREAMS},
        draw(statics()),
    )
