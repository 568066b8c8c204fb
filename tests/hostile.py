"""Queries that ask for more than any machine has, each in another way."""

from __future__ import annotations

from dataclasses import dataclass
from string import ascii_lowercase
from typing import Final

ALL: Final = "?a ?b ?c"
TWO: Final = "?a ?b ?c . ?d ?e ?f"
THREE: Final = "?a ?b ?c . ?d ?e ?f . ?g ?h ?i"


@dataclass(frozen=True, slots=True)
class Hostile:
    """A query, without the data that it is asked over."""

    select: str
    where: str
    construct: bool = False

    def plain(self) -> str:
        """Over static data."""
        return f"{self._form} {{ {self.where} }}"

    def continuous(self, stream: str, window: str = "RANGE 10s STEP 1s") -> str:
        """Over the window of a stream."""
        return f"{self._form} FROM STREAM <{stream}> [{window}] WHERE {{ {self.where} }}"

    @property
    def _form(self) -> str:
        return f"CONSTRUCT {self.select}" if self.construct else f"SELECT {self.select}"


def chained(start: str, step: str, times: int) -> str:
    """BINDs of which each is made of the one before: `%s` in a step stands for that."""
    names = [f"?{one}{two}" for one in "vw" for two in ascii_lowercase]
    binds = [f"BIND({start} AS {names[0]})"]
    binds += [f"BIND({step.replace('%s', names[n])} AS {names[n + 1]})" for n in range(times)]
    return " ".join([*binds, f"BIND({names[times]} AS ?z)"])


NUMBERS: Final = " ".join(map(str, range(20_000)))
TEXTS: Final = ", ".join(f"'{number}'" for number in range(20_000))
BOTH: Final = "CONCAT(STR(?a), STR(?d))"
LONG: Final = "long" * 20_000
FAILING: Final = ", ".join(["1/0"] * 3_000)
RANDOM: Final = "SHA512(CONCAT(STRUUID(), STR(RAND())))"
NESTED: Final = "".join(f" OPTIONAL {{ ?a{n} ?b{n} ?c{n}" for n in range(60)) + "}" * 60
SUB_SELECTS: Final = [f"{{ SELECT * {{ ?s{n} ?p{n} ?o{n} }} }}" for n in range(7)]
MANY_TEXTS: Final = "CONCAT(STR(?a), STR(?d), STR(?g))"
MATCHED: Final = f"REGEX(CONCAT({BOTH}, '{'a' * 20_000}'), '(.*a){{20}}b')"
INNER: Final = "SELECT * { ?g ?h ?i FILTER(?i != ?c && CONCAT(STR(?f), STR(?a)) = STR(?i)) }"
PATH: Final = "(<x:p>|^<x:p>)*"


def _texts(where: str, start: str, step: str, times: int) -> Hostile:
    return Hostile("?z", f"{where} {chained(start, step, times)}")


HOSTILE: Final = {
    "closure of a closure": Hostile("*", "?a (<x:p>*)* ?b . ?c (<x:p>*)* ?d"),
    "closure of closures": Hostile("*", f"?a ({PATH}/{PATH})* ?b"),
    "closures one after the other": Hostile("*", f"?a {'/'.join(['<x:p>*'] * 20)} ?b"),
    "closure of alternatives": Hostile("*", f"?a ({'|'.join(['(<x:p>+)'] * 300)})+ ?b"),
    "closures from everywhere": Hostile("*", " . ".join(f"?s{n} <x:p>+ ?o{n}" for n in range(9))),
    "product": Hostile("*", " . ".join(f"?a{n} ?b{n} ?c{n}" for n in range(10))),
    "product of sub-selects": Hostile("*", " ".join(SUB_SELECTS)),
    "distinct over a product": Hostile("DISTINCT ?a ?d ?g", THREE),
    "count over a product": Hostile("(COUNT(DISTINCT *) AS ?n)", THREE),
    "order of a product": Hostile("*", f"{THREE} }} ORDER BY ?c ?f ?i #"),
    "groups of a product": Hostile("?a ?d (SAMPLE(?c) AS ?n)", f"{THREE} }} GROUP BY ?a ?d ?g #"),
    "everything in one text": Hostile(f"(GROUP_CONCAT({MANY_TEXTS}) AS ?n)", THREE),
    "texts that double": _texts(ALL, "STR(?a)", "CONCAT(%s, %s)", 40),
    "texts that quadruple": _texts(ALL, "STR(?a)", "REPLACE(%s, '.', '$0$0$0$0')", 30),
    "texts by groups": _texts(TWO, BOTH, "REPLACE(%s, '(.)', '$1$1')", 20),
    "texts that are encoded": _texts(TWO, BOTH, "ENCODE_FOR_URI(CONCAT(%s, '%%'))", 30),
    "texts that are hashed": _texts(TWO, BOTH, "CONCAT(%s, SHA512(%s), %s)", 30),
    "a long text in every row": Hostile("*", f"{TWO} BIND('{LONG}' AS ?z)"),
    "a long text in every statement": Hostile(
        f"{{ ?a <x:q> '{LONG}' . ?d <x:r> ?c }}", THREE, construct=True
    ),
    "values": Hostile("*", f"VALUES ?x {{ {NUMBERS} }} VALUES ?y {{ {NUMBERS} }} {ALL}"),
    "unions": Hostile("*", " UNION ".join(["{ ?a <x:p>* ?b }"] * 3_000)),
    "unions of products": Hostile("*", " UNION ".join([f"{{ {TWO} }}"] * 3_000)),
    "nested optionals": Hostile("*", ALL + NESTED),
    "random numbers": Hostile("(SUM(?x) AS ?n)", f"{THREE} BIND(RAND() AS ?x)"),
    "random texts": Hostile("*", f"{TWO} FILTER(STRSTARTS({RANDOM}, 'abcdef'))"),
    "coalesce": Hostile("*", f"{TWO} FILTER(COALESCE({FAILING}, RAND()) < 0)"),
    "a long list": Hostile("*", f"{TWO} FILTER({BOTH} IN ({TEXTS}))"),
    "patterns": Hostile("*", f"{TWO} FILTER({MATCHED})"),
    "exists": Hostile("*", f"{TWO} FILTER NOT EXISTS {{ {INNER} }}"),
    "minus": Hostile("*", f"{TWO} MINUS {{ ?a ?h ?i . ?g ?x ?d . ?k ?l ?m }}"),
}  # fmt: skip
"""By what they do."""


def circle(size: int) -> str:
    """A circle of nodes, as N-Triples."""
    return "".join(f"<x:n{n}> <x:p> <x:n{(n + 1) % size}> .\n" for n in range(size))


MANY_ROWS: Final = {
    "distinct": Hostile("DISTINCT *", TWO),
    "count": Hostile("(COUNT(DISTINCT *) AS ?n)", TWO),
    "minus": Hostile("(COUNT(*) AS ?n)", f"{TWO} MINUS {{ ?d ?e ?f . ?a ?b ?c }}"),
    "order": Hostile("*", f"{TWO} }} ORDER BY ?b LIMIT 3 #"),
    "construct": Hostile("{ ?a ?e ?f . ?d ?b ?c }", TWO, construct=True),
    "join": Hostile(
        "(COUNT(*) AS ?n)",
        f"{{ SELECT * {{ {TWO} }} }} {{ SELECT ?a ?c ?d ?f ?x {{ ?a ?y ?c . ?d ?z ?f "
        "BIND(1 AS ?x) } }",
    ),
}  # fmt: skip
"""Queries whose rows are within the limit, over 2,000 statements; to hash or sort them is not."""
