"""Random groups of queries of equal shape over streams of observations with many-valued predicates.

Everything follows from a seed and an index, so that each run can be repeated by itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Final, Literal

from headrace.rdf import terms as rdf
from headrace.rdf.vocabulary import XSD_STRING
from tests.continuous.described import Continuous, Event, Window
from tests.continuous.generators import (
    EVERYTHING,
    MADE,
    PREFIXES,
    STREAMS,
    XSD,
    Case,
    Dialect,
    Report,
)

Emit = Literal["rstream", "istream", "dstream"]

REFUSED: Final = "bad"
"""The word for which the function of the tests fails, on some terms."""
FUNCTION: Final = "http://x/f"
_CALL: Final = re.compile(r"<http://x/f>\((\?\w+), [^)]*\)")
"""The function is true of every term, and an error where there is none."""
_BOTH: Final = re.compile(r"\[(\S*)\| \?x \(:tag\|:tag\) \?z \]")
"""Both ways give the same solution, which counts twice; pyoxigraph gives it once."""
_REDUCED: Final = "SELECT REDUCED"
"""It removes nothing here; pyoxigraph may."""
_HOLE: Final = re.compile("«([a-z]+)»")
_MOST_WORK: Final = 200_000
"""Members times evaluations times elements."""
_MOST_FAILING: Final = 20
_SIZES: Final[tuple[int, ...]] = (
    *(2, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4),
    *(5, 6, 8, 12, 20, 60, 100, 300),
)
_SMALL_SIZES: Final[tuple[int, ...]] = (2, 2, 2, 3, 3, 4, 5)
"""Of groups: most are small, so that many are made."""
_LARGE_SIZES: Final[tuple[int, ...]] = (2, 3, 8, 60, 150, 300, 300, 300)
_MANY_GROUPS: Final = 100
"""After so many groups, they are large more often, as each takes about as long."""
_LITTLE: Final = 120
"""Up to so many elements, a triple may be there once for each of its times."""
_FEW: Final = 60
"""Up to so many elements, patterns may be joined that share no subject."""


@dataclass(frozen=True)
class Member:
    """A query of a group.

    Attributes:
        body: as the engine reads it.
        asked: as pyoxigraph reads it; equal but for what SPARQL does not have.
        may_fail: whether it calls the function with the word for which that fails.
    """

    body: str
    asked: str
    may_fail: bool = False


@dataclass(frozen=True)
class Course:
    """When queries come and go.

    Attributes:
        comes: before which step each query is registered.
        goes: before which step it is removed, if it is.
    """

    comes: tuple[int, ...]
    goes: tuple[int | None, ...]


@dataclass(frozen=True)
class RandomGroup:
    """Queries that differ in constants only, and how they are run.

    Attributes:
        case: what they have in common.
        members: the queries.
        settings: how they are run.
        cut: how many elements of each stream come in a step; None for all of them.
        live: whether the input goes on.
        max_rows: what an evaluation may cost, if that is limited.
        course: when they come and go, if they do.
    """

    case: Case
    members: tuple[Member, ...]
    settings: dict[str, str]
    cut: int | None
    live: bool
    max_rows: int | None
    course: Course | None

    @property
    def texts(self) -> list[str]:
        """The queries in their dialect."""
        return [self.text(each.body) for each in self.members]

    def text(self, body: str) -> str:
        """A query in its dialect."""
        return replace(self.case, query=replace(self.case.query, body=body)).text

    @property
    def names(self) -> list[str]:
        """The names of the queries."""
        return [f"m{number}" for number in range(len(self.members))]

    def __repr__(self) -> str:
        """Show what can be played."""
        shown = [*self.texts[:4], "..."] if len(self.members) > 5 else self.texts
        run = (self.settings, self.cut, self.live, self.max_rows, self.course)
        return "\n".join([repr(self.case), *shown, repr(run)])


# -- streams -------------------------------------------------------------------------------------


def _iri(name: str) -> rdf.Iri:
    return rdf.Iri(f"http://x/{name}")


def _number(random: Random) -> rdf.Literal:
    if random.random() < 0.2:
        return rdf.Literal(random.choice(["0.5", "2.5", "3.25"]), f"{XSD}decimal")
    return rdf.Literal(str(random.randint(0, 9)), f"{XSD}integer")


TAGS: Final = ("t1", "t2", "t3", "t4")
SENSORS: Final = ("s1", "s2", "s3")


def _observation(random: Random, number: int, subjects: int) -> list[rdf.Quad]:
    """What is known of one observation: some predicates have several values."""
    own = _iri(f"o{number % subjects}")
    found = [rdf.Quad(own, _iri("sensor"), _iri(random.choice(SENSORS)))]
    for tag in random.sample(TAGS, random.choice([0, 1, 2, 2, 3])):
        found.append(rdf.Quad(own, _iri("tag"), _iri(tag)))
    for _ in range(random.choice([0, 1, 1, 2])):
        found.append(rdf.Quad(own, _iri("val"), _number(random)))
    if random.random() < 0.2:
        other = _iri(f"o{random.randrange(subjects)}")
        found.append(rdf.Quad(own, _iri("next"), other))
    if random.random() < 0.05:
        found.append(rdf.Quad(own, _iri("tag"), rdf.Literal("text", XSD_STRING)))
    return found


def _events(random: Random, size: int, delay: int) -> list[Event]:
    """So many elements of one statement each, mostly in order; some come again, some late.

    Between them are some heartbeats.
    """
    furthest = delay + random.choice([0, 1, 5, 30]) if delay or random.random() < 0.3 else 0
    subjects = random.choice([size, size, max(1, size // 6), 4])
    statements: list[rdf.Quad] = []
    number = random.randrange(subjects)
    while len(statements) < size:
        statements += _observation(random, number, subjects)
        number += 1
        if random.random() < 0.1:
            statements.append(random.choice(statements))
    steps = random.choice([[0, 0, 0, 1], [0, 1], [1], [0, 0, 1, 3]])
    beats = random.choice([0, 0, 0, 0.02])
    now, found = random.randint(1, 5), list[Event]()
    for quad in statements[:size]:
        now += random.choice(steps)
        back = random.randint(0, furthest) if random.random() < 0.2 else 0
        found.append(Event(max(0, now - back), (quad,)))
        if random.random() < beats:
            found.append(Event(now + random.choice([0, 0, 1])))
    return found


# -- bodies --------------------------------------------------------------------------------------

_CONSTANTS: Final[dict[str, Callable[[Random], str]]] = {
    "tag": lambda random: f":{random.choice(TAGS)}",
    "sensor": lambda random: f":{random.choice(SENSORS)}",
    "room": lambda random: random.choice([":r1", ":r2"]),
    "num": lambda random: str(random.randint(0, 9)),
    "few": lambda random: str(random.randint(0, 3)),
    "re": lambda random: random.choice(["1", "2", "t", "[13]", "3$", "/t"]),
    "word": lambda random: REFUSED if random.random() < 0.15 else random.choice(["a", "b", "c"]),
}

_ON_TAGS: Final = (
    *("?z != «tag»", "?z != «tag»", "?z != «tag»", "?z = «tag»", "«tag» != ?z"),
    *("?z IN («tag», «tag»)", "?z NOT IN («tag», :t1)", "?z NOT IN («tag»)"),
    *('regex(STR(?z), "«re»")', '!regex(STR(?z), "«re»", "i")', 'CONTAINS(STR(?z), "«re»")'),
    *("sameTerm(?z, «tag»)", "!sameTerm(?z, «tag»)", "STR(?z) > STR(«tag»)"),
    *("?z != «tag» && ?y != «sensor»", "?z = «tag» || ?y = «sensor»", "!(?z = «tag»)"),
    *("IF(?z = «tag», false, true)", "COALESCE(?u, ?z) != «tag»", "isIRI(?z) && ?z != «tag»"),
    *("STRLEN(STR(?z)) + «num» > 14", "?z != ?y && ?z != «tag»", "!BOUND(?u) || ?z != «tag»"),
    *("BOUND(?z)", "<http://x/f>(?z, '«word»')", "<http://x/f>(?x, '«word»') && ?z != «tag»"),
    *("STRSTARTS(STR(?z), STR(«tag»))", 'STRENDS(STR(?z), "«re»")', "isLiteral(?z) || ?z = «tag»"),
    *('SUBSTR(STR(?z), 10) != "t«few»"', 'STRAFTER(STR(?z), "/x/") IN ("t«few»", "text")'),
    *('REPLACE(STR(?z), "«re»", "-") != STR(?z)', "UCASE(STR(?z)) != UCASE(STR(«tag»))"),
    *('CONCAT(STR(?z), "«few»") < STR(«tag»)', "DATATYPE(?z) = xsd:string || ?z != «tag»"),
    *('LANG(?z) = "" || ?z = «tag»', "«tag» IN (?z, ?y)", "?z NOT IN (?y, «tag»)"),
)
_ON_NUMBERS: Final = (
    *("?z < «num»", "?z > «num»", "?z <= «num»", "?z >= «num»", "?z = «num»", "?z != «num»"),
    *("?z IN («num», «num»)", "?z NOT IN («num», 3)", "?z + 1 > «num»", "ABS(?z - «num») < 2"),
    *("?z > «num» && ?z < 8", "!(?z > «num»)", "FLOOR(?z) = «num»", "?z * 2 != «num»"),
    *('regex(STR(?z), "[«num»5]")', "?z > «num» || ?y = «sensor»", "?y != «sensor»"),
    *("?z != «num» && ?y != «sensor»", "BOUND(?u) && ?z > «num»", "COALESCE(?u, ?z) > «num»"),
    *("<http://x/f>(?z, '«word»')", "ROUND(?z) != «num»", "CEIL(?z) > «num»", "?z - «num» < 2"),
    *("-?z < -«num»", "?z / 2 >= «few»", "DATATYPE(?z) = xsd:decimal || ?z = «num»"),
    *("xsd:integer(?z) = «num»", "isNumeric(?z) && ?z != «num»", "IF(?z > 4, ?z, «num») > «few»"),
)
_TAGGED: Final = (
    *("?x :sensor ?y . ?x :tag ?z",) * 4,
    "?x :tag ?z . ?x :sensor ?y . ?x :val ?n",
    "?x :sensor «sensor» . ?x :tag ?z . ?x :sensor ?y",
    "?x :tag ?y . ?x :tag ?z",
    "?x :tag ?z . ?x :sensor ?y . ?x :tag «tag»",
    "?x :tag|:sensor ?z . ?x :sensor ?y",
    "?x (:tag|:tag) ?z . ?x :sensor ?y",
    "?x :next/:tag ?z . ?x :sensor ?y",
    "?x !(:sensor|:val) ?z . ?x :sensor ?y",
    "?x ?y ?z",
)
_TAGGED_WIDELY: Final = (
    "?x :sensor ?y . ?w :sensor ?y . ?w :tag ?z",
    "?x :tag ?z . ?w :tag ?z . ?w :sensor ?y",
    "?x :next+ ?y . ?y :tag ?z",
)
_PATHS: Final = (":next*", ":next?", "^:next", "^:next/:next", "(:next|^:next)?")
_NUMBERED: Final = (
    *("?x :sensor ?y . ?x :val ?z",) * 4,
    "?x :val ?z . ?x :tag ?y",
    "?x :val ?z . ?x :sensor ?y . ?x :tag «tag»",
    "?x :sensor «sensor» . ?x :val ?z . ?x :tag ?y",
    "?x :val ?z . ?x :val ?y",
)


@dataclass
class _Bodies:
    """Writes what stands in braces and is read from one window.

    Attributes:
        random: chooses.
        window: where patterns are read; "" for the default graph.
        numeric: whether ?z is a number.
        wide: whether joins may be large.
        plain: whether there is only what queries of a group have in common.
    """

    random: Random
    window: str
    numeric: bool
    wide: bool
    plain: bool

    def patterns(self, text: str) -> str:
        """Triple patterns, marked with their window as the oracle wants it."""
        return " ".join(f"[{self.window}| {each} ]" for each in text.split(" . "))

    def core(self) -> str:
        """Patterns that bind ?x, ?y and ?z."""
        if self.numeric:
            return self.patterns(self.random.choice(_NUMBERED))
        cores = (*_TAGGED, *_TAGGED_WIDELY) if self.wide else _TAGGED
        return self.patterns(self.random.choice(cores))

    def condition(self) -> str:
        """A condition of any kind."""
        if not self.plain and self.random.random() < 0.2:
            inside = self.random.choice(
                ["?x :tag «tag»", "?x :sensor «sensor»", "?x :val «num»", "?x :next ?v"]
            )
            return f"{self.random.choice(['', 'NOT '])}EXISTS {{ {self.patterns(inside)} }}"
        return f"({self.random.choice(_ON_NUMBERS if self.numeric else _ON_TAGS)})"

    def block(self, depth: int = 1) -> str:
        """Patterns with conditions and whatever else a group may hold."""
        found = self.core()
        kinds = ["filter"] * 4 + ["union", "select", "joined select", "other value"]
        kinds += ["optional", "minus"]
        if not self.plain:
            kinds += ["optional", "minus", "count", "bind", "values", "optional", "minus"]
            kinds += ["path", "met by chance"]
        for kind in self.random.sample(kinds, self.random.choice([1, 1, 2, 3])):
            if kind == "filter" or depth:
                found = self._with(found, kind, depth)
        return found

    def _with(self, found: str, kind: str, depth: int) -> str:
        random = self.random
        test = f" FILTER {self.condition()}"
        match kind:
            case "filter":
                return found + test
            case "optional" if "?u" not in found:
                inside = self.patterns(random.choice(["?x :val ?u", "?x :next ?u", "?x :tag ?u"]))
                return f"{found} OPTIONAL {{ {inside}{random.choice(['', test])} }}"
            case "union":
                return f"{{ {found} }} UNION {{ {self.block(depth - 1)} }}"
            case "minus":
                inside = random.choice(["?x :tag «tag»", "?x :val «num»", "?x :sensor «sensor»"])
                return f"{found} MINUS {{ {self.patterns(inside)} }}"
            case "select":
                shown = random.choice(["?x ?y", "?y ?z", "?y", "?x ?y ?z", "DISTINCT ?y ?z"])
                return f"{{ SELECT {shown} WHERE {{ {found}{test} }} }}"
            case "joined select":
                shown = random.choice(["?x", "?x", "?x ?y", "DISTINCT ?x"])
                inside = f"{self.core()}{test}"
                return f"{found} {{ SELECT {shown} WHERE {{ {inside} }} }}"
            case "count":
                inside = f"{self.core()}{test}"
                return f"{found} {{ SELECT ?x (COUNT(?z) AS ?c) WHERE {{ {inside} }} GROUP BY ?x }}"
            case "bind" if "?b" not in found:
                return f"{found} BIND (STRLEN(STR(?z)) AS ?b) FILTER (?b != «num»)"
            case "values":
                value = "«num»" if self.numeric else "«tag»"
                if random.random() < 0.4:
                    rows = f"(UNDEF {value}) (UNDEF {value}) (:o«few» UNDEF)"
                    return f"{found} VALUES (?x ?z) {{ {rows} }}"
                rows = random.choice([f"{value}", f"{value} {value}", f"{value} {value} {value}"])
                return f"{found} VALUES ?z {{ {rows} }}"
            case "path" if "?w" not in found:
                path = random.choice(_PATHS)
                return f"{found} {self.patterns(f'?x {path} ?w')}"
            case "met by chance" if "?u" not in found:
                inside = self.patterns(random.choice(["?x :next ?u", "?x :tag ?u", "?x :val ?u"]))
                other = self.patterns(random.choice(["?x :tag ?u", "?w :val ?u . ?w :tag ?z"]))
                return f"{{ {found} OPTIONAL {{ {inside} }} }} {{ {other} }}"
            case "other value" if "?v" not in found:
                return f"{found} {self.patterns('?x :tag ?v')} FILTER (?v != «tag»)"
            case _:
                return found


# -- whole queries -------------------------------------------------------------------------------

_SOME: Final = """COUNT(IF(REGEX(STR(?x), "[13579]$"), ?x, ?none))"""
"""Where the expression is an error, there is nothing to count."""
_COUNTS: Final = (
    *("COUNT(*)",) * 4,
    *("COUNT(?z)", "COUNT(DISTINCT ?z)", "COUNT(DISTINCT ?x)", _SOME),
)
_OPTIONAL: Final = ("COUNT(?u)", "COUNT(DISTINCT ?u)", "SUM(?u)", "AVG(?u)", "COUNT(?u)")
"""Of what may be unbound."""
_JOINED: Final = ("GROUP_CONCAT(STR(?y))", 'GROUP_CONCAT(DISTINCT STR(?y); separator=" ")')
_SUMS: Final = (
    *("SUM(?z)", "SUM(DISTINCT ?z)", "AVG(?z)", "AVG(DISTINCT ?z)"),
    *("MIN(COALESCE(IF(isNumeric(?z), ?z, 0), 0))", "MAX(COALESCE(IF(isNumeric(?z), ?z, 0), 0))"),
)
_TEXTS: Final = ("MIN(STR(?z))", "MAX(STR(?z))", "SUM(STRLEN(STR(?z)))")


def _grouped(random: Random, block: str, *, numeric: bool, joins: bool) -> str:
    keys = random.choice(["?y", "?y", "?y", "?y", "", "?x", "?x ?y", "?z"])
    calls = [*_COUNTS, *(_SUMS if numeric else _TEXTS), *(_JOINED if joins else ())]
    calls += [f"SAMPLE({key})" for key in keys.split()]
    calls += _OPTIONAL if "?u" in block else ()
    chosen = random.sample(calls, random.choice([1, 1, 2, 3]))
    made = " ".join(f"({call} AS ?made{at})" for at, call in enumerate(chosen))
    having = ["COUNT(*) > 1", "COUNT(*) > «few»", "COUNT(DISTINCT ?z) >= «few»"]
    having += ["SUM(?z) > «num»"] if numeric else []
    also = f" HAVING ({random.choice(having)})" if random.random() < 0.3 else ""
    by = f" GROUP BY {keys}" if keys else ""
    return f"SELECT {keys} {made} WHERE {{ {block} }}{by}{also}"


def _annotated(random: Random, block: str) -> tuple[str, str]:
    """An AGGREGATE clause, and the same as a join with a subquery; the key is always bound."""
    shown = random.choice(["?x ?y ?m", "?y ?m", "?m", "DISTINCT ?y ?m"])
    calls = [("COUNT", "*"), ("COUNT(?y)", "?y"), ("MAX(STR(?y))", "STR(?y)")]
    if "SELECT" not in block:
        calls += [
            ("COUNT(?z)", "?z"),
            ("MAX(STR(?z))", "STR(?z)"),
            ("SUM(STRLEN(STR(?z)))", "STRLEN(STR(?z))"),
        ]
    call, said = random.choice(calls)
    name = call.partition("(")[0]
    test = f" FILTER(?m > {repr('http://x/t1') if name == 'MAX' else '1'})"
    also = random.choice(["", test])
    body = f"SELECT {shown} WHERE {{ {block} }}"
    inner = f"{{ SELECT ?y ({name}({said}) AS ?m) WHERE {{ {block} }} GROUP BY ?y }}"
    asked = f"SELECT {shown} WHERE {{ {block} {inner}{also} }}"
    return f"{body} AGGREGATE {{ (?m, {call}, {{?y}}){also} }}", asked


def _part(random: Random) -> str:
    """A part of an ordered answer."""
    return f"LIMIT {random.randint(1, 3)}{random.choice(['', '', ' OFFSET 1', ' OFFSET 2'])}"


def _ordered(random: Random, block: str) -> str:
    """A part of an answer in an order that leaves no choice but between equal rows."""
    way = random.choice(["{}", "DESC({})"])
    by, other = way.format("?shown"), random.choice(["?many", "DESC(?many)"])
    text = random.choice(["?x", "?y", "?z"])
    match random.choice(["rows", "rows", "distinct", "groups", "groups"]):
        case "groups":
            return (
                f"SELECT (STR({text}) AS ?shown) (COUNT(*) AS ?many) WHERE {{ {block} }} "
                f"GROUP BY {text} ORDER BY {other} {by} {_part(random)}"
            )
        case "distinct":
            order = way.format(f"STR({text})")
            return f"SELECT DISTINCT {text} WHERE {{ {block} }} ORDER BY {order} {_part(random)}"
        case _:
            return (
                f"SELECT (STR({text}) AS ?shown) (STRLEN(STR(?y)) AS ?many) WHERE {{ {block} }} "
                f"ORDER BY {by} {other} {_part(random)}"
            )


def _described(block: str, windows: Sequence[Window]) -> tuple[str, str]:
    """A DESCRIBE, and the statements about its resources in any of its windows and outside."""
    about = [f"WINDOW <{each.name}> {{ [{each.name}| ?of ?p ?o ] }}" for each in windows]
    every = " UNION ".join(f"{{ {each} }}" for each in [*about, "[| ?of ?p ?o ]"])
    known = f"{{ {block} }} FILTER (BOUND(?x))"
    asked = f"{{ SELECT DISTINCT (?x AS ?of) WHERE {{ {known} }} }}"
    return (
        f"DESCRIBE ?x WHERE {{ {block} }}",
        f"SELECT DISTINCT ?of ?p ?o WHERE {{ {asked} {every} }}",
    )


def _query(random: Random, block: str, *, numeric: bool, joins: bool) -> str:
    forms = [*["some"] * 3, "distinct", *["grouped"] * 5, "ask", "made", "first", "first"]
    form = random.choice([*forms, "by length"])
    shown = random.choice(["?y", "?y", "?y", "?x ?y", "?x", "?z", "?x ?y ?z"])
    match form:
        case "some":
            return f"SELECT {shown} WHERE {{ {block} }}"
        case "distinct":
            return f"SELECT DISTINCT {shown} WHERE {{ {block} }}"
        case "first":
            return _ordered(random, block)
        case "by length":
            key = random.choice(["STRLEN(STR(?z))", "?z = «tag»", "isIRI(?y)"])
            call = random.choice(["COUNT(*)", "COUNT(DISTINCT ?x)", "SUM(STRLEN(STR(?z)))"])
            return f"SELECT ?k ({call} AS ?many) WHERE {{ {block} }} GROUP BY ({key} AS ?k)"
        case "ask":
            return f"ASK WHERE {{ {block} }}"
        case "made":
            return f"{EVERYTHING} WHERE {{ {block} }}"
        case _:
            return _grouped(random, block, numeric=numeric, joins=joins)


def _static(random: Random) -> tuple[rdf.Quad, ...]:
    """Rooms of sensors; some have two."""
    return tuple(
        rdf.Quad(_iri(sensor), _iri("room"), _iri(room))
        for sensor in SENSORS
        for room in random.sample(["r1", "r2", "r3"], random.choice([1, 2]))
    )


def _simple(random: Random, windows: Sequence[Window], dialect: Dialect) -> str:
    """Two patterns and a condition on a value that nobody asks for, which stays hidden."""
    [window] = windows
    default = dialect == "csparql"
    bodies = _Bodies(random, "" if default else window.name, random.random() < 0.4, False, True)
    one, other = ("?x :sensor ?y", "?x :val ?z" if bodies.numeric else "?x :tag ?z")
    order = random.choice([f"{one} . {other}", f"{other} . {one}"])
    block = f"{bodies.patterns(order)} FILTER {bodies.condition()}"
    if not default:
        block = f"WINDOW <{window.name}> {{ {block} }}"
    form = random.choice([*["SELECT ?y (COUNT(*) AS ?n) WHERE {} GROUP BY ?y"] * 3, *_HIDING])
    return f"{PREFIXES} {form.replace('{}', f'{{ {block} }}')}"


_HIDING: Final = (
    "SELECT ?y WHERE {}",
    "SELECT ?x WHERE {}",
    "SELECT (COUNT(?x) AS ?n) WHERE {}",
    "SELECT ?x (COUNT(?y) AS ?n) WHERE {} GROUP BY ?x HAVING (COUNT(*) > 1)",
    "SELECT ?y (SUM(STRLEN(STR(?x))) AS ?n) (AVG(STRLEN(STR(?x))) AS ?m) WHERE {} GROUP BY ?y",
    "SELECT ?y (COUNT(DISTINCT ?x) AS ?n) (COUNT(?x) AS ?m) WHERE {} GROUP BY ?y",
    "SELECT ?y (COUNT(DISTINCT *) AS ?n) WHERE {} GROUP BY ?y",
    f"SELECT ?y ({_SOME} AS ?n) WHERE {{}} GROUP BY ?y",
    "SELECT REDUCED ?y WHERE {}",
    "SELECT ?y WHERE {} ORDER BY STR(?y) LIMIT 5 OFFSET 2",
)


def _body(
    random: Random,
    windows: Sequence[Window],
    dialect: Dialect,
    *,
    size: int,
    joins: bool,
    plain: bool,
) -> tuple[str, str]:
    """A query with holes for constants: for the engine, and for pyoxigraph."""
    numeric, wide = random.random() < 0.4, size <= _FEW
    default = dialect == "csparql"
    blocks = []
    for window in windows:
        inner = _Bodies(random, "" if default else window.name, numeric, wide, plain).block()
        blocks.append(inner if default else f"WINDOW <{window.name}> {{ {inner} }}")
    block = blocks[0]
    if len(blocks) > 1:
        shapes = ["{} {}"] if wide else []
        shapes += ["{} OPTIONAL {{ {} }}"] if wide else []
        shapes += ["{{ {} }} UNION {{ {} }}", "{} MINUS {{ {} }}"]
        if not any(word in blocks[1] for word in ("MINUS", "*", "+", "SELECT")):
            shapes.append("{} FILTER NOT EXISTS {{ {} }}")
        block = random.choice(shapes).format(*blocks)
    if not default and random.random() < 0.2:
        block += " [| ?y :room ?r ]" + random.choice(["", " FILTER (?r != «room»)"])
    if default and random.random() < 0.5:
        body, asked = _annotated(random, block)
    elif joins and random.random() < 0.06:
        body, asked = _described(block, windows)
    else:
        body = asked = _query(random, block, numeric=numeric, joins=joins)
        if body.startswith("SELECT ?") and random.random() < 0.1:
            body = asked = body.replace("SELECT", _REDUCED, 1)
    return f"{PREFIXES} {body}", f"{PREFIXES} {asked}"


def _members(random: Random, body: str, asked: str, number: int) -> tuple[Member, ...]:
    """Fill the holes of a query differently for each member; some stay the same for all."""
    numbered = list(_HOLE.finditer(asked))
    kinds = dict.fromkeys(each[1] for each in numbered)
    fixed = {kind for kind in kinds if kind != "word" and random.random() < 0.15}
    same = {kind: _CONSTANTS[kind](random) for kind in kinds}
    found = []
    for _ in range(number):
        # A hole has one value in both texts: they have the same block, maybe twice.
        values: dict[int, str] = {}

        def value(place: int, kind: str, values: dict[int, str] = values) -> str:
            if kind in fixed:
                return same[kind]
            return values.setdefault(place, _CONSTANTS[kind](random))

        one = _filled(body, value)
        other = one if asked == body else _filled_twice(asked, body, value)
        found.append(Member(one, _for_oracle(other), REFUSED in one))
    return tuple(found)


def _for_oracle(text: str) -> str:
    """A query without calls of the function, and with a union for the alternative of a path."""
    text = text.replace(_REDUCED, "SELECT")
    text = _BOTH.sub(r"{ [\1| ?x :tag ?z ] } UNION { [\1| ?x :tag ?z ] }", text)
    return _CALL.sub(r"(STR(\1) != '')", text)


def _filled(text: str, value: Callable[[int, str], str]) -> str:
    places = iter(range(len(text)))
    return _HOLE.sub(lambda hole: value(next(places), hole[1]), text)


def _filled_twice(asked: str, body: str, value: Callable[[int, str], str]) -> str:
    """Fill a text in which the holes of another one stand twice."""
    holes = len(_HOLE.findall(body))
    places = iter(range(len(asked)))
    return _HOLE.sub(lambda hole: value(next(places) % max(holes, 1), hole[1]), asked)


# -- groups --------------------------------------------------------------------------------------


def _windows(random: Random, span: int, dialect: Dialect, number: int) -> tuple[Window, ...]:
    found = []
    for place in range(number):
        stream = random.choice(STREAMS)
        if dialect == "csparql":
            stream = STREAMS[place]
        slide: int | None = max(1, span // random.choice([1, 1, 2, 3, 5, 8]))
        width = max(1, (slide or 1) * random.choice([1, 1, 1, 2, 3]) // random.choice([1, 1, 1, 2]))
        name = stream if dialect == "csparql" else f"http://x/w{place}"
        found.append(Window(name, stream, "time", width, slide, dialect == "csparql"))
    return tuple(found)


def _counting(random: Random, window: Window) -> Window:
    """The same over so many triples or elements."""
    kind: Literal["triples", "elements"] = random.choice(["triples", "elements"])
    size, step = random.choice([1, 3, 10, 40]), random.choice([1, 5, 12])
    return replace(window, kind=kind, width=size, slide=step)


_WHOLE: Final = re.compile(r":\w+[*+?/|]|[!^(]:|DESCRIBE|DISTINCT \*|:room")
"""A path, static data, and what looks at solutions or statements as a whole."""


def _can_be_timed(body: str, windows: Sequence[Window]) -> bool:
    """Whether the oracle can look at a triple at each of its times by itself."""
    return len(windows) == 1 and not _WHOLE.search(body)


def random_group(seed: int | str, index: int) -> RandomGroup:
    """A group that follows from a seed and an index."""
    random = Random(f"{seed} {index}")
    dialect: Dialect = random.choice(["rspql", "rspql", "rspql", "csparql", "cqels"])
    report = random.choice(_REPORTS)
    waits = report in {"on-close", "every"}
    sizes = [8, 16, 30, 60, 60, 120, 120, 250, 500] if waits else [6, 10, 20, 40]
    size, delay = random.choice(sizes), random.choice([0, 0, 0, 3])
    number = random.choice([1, 1, 1, 2])
    emit = random.choice(_EMITS)
    streams = {stream: _events(random, size, delay) for stream in STREAMS[:2]}
    span = max(event.time for events in streams.values() for event in events)
    windows = _windows(random, span, dialect, number)
    if number == 1 and report == "on-close" and size <= _FEW and random.random() < 0.1:
        windows = (_counting(random, windows[0]),)
    static = _static(random) if dialect == "rspql" else ()
    plain = report != "on-change" and random.random() < 0.7
    joins = emit == "rstream"
    body, asked = _body(random, windows, dialect, size=size, joins=joins, plain=plain)
    if number == 1 and plain and random.random() < 0.6:
        body = asked = _simple(random, windows, dialect)
    timed = size <= _LITTLE and random.random() < 0.15 and _can_be_timed(body, windows)
    as_they_come = report == "on-arrival" and number == 1 and random.random() < 0.2
    query = Continuous(
        windows,
        body,
        made=(0, MADE, 1) if EVERYTHING in body else None,
        report=report,
        period=max(1, span // random.choice([1, 2, 4])),
        emit=emit,
        bounds=random.choice(["(]", "(]", "[)", "[)", "[]"]),
        align=random.choice(["close", "close", "close", "open"]),
        t0=random.choice([0, 0, 1, "first"]),
        contents="timed" if timed else "set",
        non_empty=random.choice(["off", "off", "content", "answer"]),
        pick=random.choice(["latest", "latest", "strict"]),
        order="arrival" if as_they_come else "event-time",
        delays=dict.fromkeys(STREAMS, delay),
        static=() if timed else static,
    )
    instants = _instants(query, span) if waits else size * number
    most = max(2, _MOST_WORK // max(1, instants * size))
    sizes_of_groups = _SIZES if index < _MANY_GROUPS else _LARGE_SIZES
    sizes_of_groups = sizes_of_groups if plain else _SMALL_SIZES
    members = min(
        most,
        random.choice(sizes_of_groups),
    )
    limited = random.random() < 0.05
    if limited or "«word»" in body:  # who fails is looked for by evaluating them apart
        members = min(members, _MOST_FAILING)
    read = {window.stream for window in windows}
    case = Case(query, dialect, {s: found for s, found in streams.items() if s in read})
    return RandomGroup(
        case,
        _members(random, body, asked, members),
        _settings(random),
        random.choice([None, None, size // 3 + 1, size // 10 + 1, 1 if size <= _FEW else None]),
        random.random() < 0.2,
        random.choice([size // 2, 2 * size, 6 * size]) if limited else None,
        _course(random, members) if random.random() < 0.15 else None,
    )


_REPORTS: Final[tuple[Report, ...]] = (
    *("on-close", "on-close", "on-close", "on-close", "on-close", "on-close"),
    *("every", "on-change", "on-arrival"),
)
_EMITS: Final[tuple[Emit, ...]] = ("rstream", "rstream", "istream", "dstream")


def _instants(query: Continuous, span: int) -> int:
    if query.windows[0].counts:
        return _FEW
    if query.report == "every":
        return 2 + span // query.period
    return sum(2 + (span + window.width) // (window.slide or 1) for window in query.windows)


_SWITCHES: Final = ("choose_filters", "precompute_static", "filter_while_decoding", "adapt_routes")
_MORE_SWITCHES: Final = ("lazy_variables", "cache_calls", "push_filter_into_join")


def _settings(random: Random) -> dict[str, str]:
    found = {"strategy": random.choice(["auto", "auto", "snapshot", "snapshot", "incremental"])}
    for name in (*_SWITCHES, *_MORE_SWITCHES):
        if random.random() < 0.08:
            found[f"rules.{name}"] = "off"
    return found


def _course(random: Random, number: int) -> Course:
    comes = tuple(random.choice([0, 0, 0, 1, 2]) for _ in range(number))
    goes = (random.choice([None, None, 1, 3, 5]) for _ in range(number))
    pairs = zip(comes, goes, strict=True)
    return Course(comes, tuple(None if g is None or g <= c else g for c, g in pairs))
