"""What the experiments of the Sparkwave paper share: patterns, streams, schemas, static data."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from time import perf_counter

import numpy as np
from _bsbm import DATA, PER_OFFER, QUERY, STREAM, statements

from headrace import Engine
from headrace.rdf.columns import TimedColumns, read_timed_columns
from headrace.rdf.terms import Iri, Quad
from headrace.registered import Query

_BSBM = "http://www4.wiwiss.fu-berlin.de/bizer/bsbm/v01/"
_INSTANCES, _VOCABULARY = f"{_BSBM}instances/", f"{_BSBM}vocabulary/"
_COUNTRY = "http://downlode.org/rdf/iso-3166/countries#"
_TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
_SUBCLASS = Iri("http://www.w3.org/2000/01/rdf-schema#subClassOf")
PATTERNS = {
    1: "",
    2: f"?vendor bsbm-voc:country <{_COUNTRY}GB> .",
    3: (
        f"?vendor bsbm-voc:country <{_COUNTRY}GB> . ?product bsbm-voc:producer ?producer . "
        f"?producer bsbm-voc:country <{_COUNTRY}DE> ."
    ),
}
"""What each pattern asks beside the first."""
RATE = 10_000
"""Triples a second of event time."""
Parents = Mapping[int, int]


def pattern(number: int, target: int, window: str) -> str:
    """One of the paper's patterns, for products of a type."""
    text = QUERY.replace("[RANGE 5s TUMBLING]", f"[RANGE {window}]")
    return text.replace("ProductType255\n", f"ProductType{target} .\n  {PATTERNS[number]}\n")


# -- the hierarchy of types ------------------------------------------------------------------


@cache
def parents() -> Parents:
    """The type above each type."""
    found = {}
    for line in (DATA / "product_type_hierarchy.nt").read_text("utf-8").splitlines():
        child, link, parent, _ = line.split(" ", 3)
        if link == f"<{_SUBCLASS.value}>":
            found[_number(child)] = _number(parent)
    return found


def _number(name: str) -> int:
    return int(name.rstrip(">").rpartition("ProductType")[2])


def above(number: int) -> Iterator[int]:
    """The types above one, from the nearest on."""
    while number in parents():
        number = parents()[number]
        yield number


def target(subtypes: int) -> int:
    """A type whose number of subtypes, direct and others, is nearest to one."""
    below: dict[int, int] = {}
    for each in parents():
        for other in above(each):
            below[other] = below.get(other, 0) + 1
    return min(below, key=lambda each: (abs(below[each] - subtypes), each))


def schema(classes: int) -> list[Quad]:
    """The hierarchy of the products, with more types below it until there are so many."""
    chance = np.random.default_rng(classes)
    links = dict(parents())
    known = sorted({*links, *links.values()})
    for number in range(10_000_000, 10_000_000 + max(0, classes - len(known))):
        links[number] = known[int(chance.integers(len(known)))]
    return [Quad(_type(child), _SUBCLASS, _type(parent)) for child, parent in links.items()]


def _type(number: int) -> Iri:
    return Iri(f"{_INSTANCES}ProductType{number}")


# -- static data -----------------------------------------------------------------------------


def static(triples: int) -> list[Quad]:
    """Where vendors and producers are, who made what, and others like these up to a number."""
    if not triples:
        return []
    found = [
        *_countries("vendor", "dataFromVendor{0}/Vendor{0}"),
        *_countries("producer", "dataFromProducer{0}/Producer{0}"),
        *_makers(),
    ]
    country = Iri(f"{_VOCABULARY}country")
    for number in range(max(0, triples - len(found))):
        who = Iri(f"{_INSTANCES}dataFromVendor{number + 1_000_000}/Vendor{number + 1_000_000}")
        found.append(Quad(who, country, Iri(f"{_COUNTRY}{('GB', 'DE', 'US')[number % 3]}")))
    return found


def _countries(kind: str, name: str) -> Iterator[Quad]:
    with (DATA / f"{kind}_country.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            who = Iri(_INSTANCES + name.format(row[kind]))
            yield Quad(who, Iri(f"{_VOCABULARY}country"), Iri(row["country_iri"]))


def _makers() -> Iterator[Quad]:
    with (DATA / "product_producer_type.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            home = f"{_INSTANCES}dataFromProducer{row['producer']}/"
            product, producer = (
                Iri(f"{home}Product{row['product']}"),
                Iri(f"{home}Producer{row['producer']}"),
            )
            yield Quad(product, Iri(f"{_VOCABULARY}producer"), producer)


# -- the stream ------------------------------------------------------------------------------


def lines(offers: int, *, materialised: bool = False, rate: int = RATE) -> list[bytes]:
    """The triples of offers as timed N-Quads.

    Args:
        offers: how many.
        materialised: whether products also have the types above theirs, as who does not reason
            needs them; an offer then takes as long in event time as without.
        rate: triples of offers as they are, in a second.
    """
    found = []
    for number, statement in enumerate(islice(statements(), offers * PER_OFFER)):
        time = number * 1000 // rate
        found.append(f"{time}\t{statement}\n".encode())
        if materialised and (number + 1) % PER_OFFER == 0:
            product, _, kind, _ = statement.split(" ", 3)
            for other in above(_number(kind)):
                line = f"{time}\t{product} {_TYPE} <{_INSTANCES}ProductType{other}> .\n"
                found.append(line.encode())
    return found


def in_chunks(text: Sequence[bytes], size: int) -> list[bytes]:
    """Lines in parts of so many."""
    return [b"".join(text[start : start + size]) for start in range(0, len(text), size)]


def encoded(chunks: Sequence[bytes]) -> list[TimedColumns]:
    """Parts of a stream as they are after reading."""
    return [read_timed_columns(chunk) for chunk in chunks]


# -- engines ---------------------------------------------------------------------------------


@dataclass
class Watching:
    """An engine with one of the patterns, at work in this process."""

    engine: Engine
    query: Query
    matches: int = 0

    @classmethod
    def of(
        cls,
        text: str,
        schema: Sequence[Quad] | None = None,
        static: Sequence[Quad] = (),
        settings: Mapping[str, str] | None = None,
    ) -> Watching:
        """Register a pattern; without settings it is as the paper has it."""
        engine = Engine(schema=schema, settings=settings or {"profile": "sparkwave"}, clock=None)
        engine.static.add(static)
        engine.stream(STREAM)
        found = cls(engine, engine.register(text))
        found.query.on_result(lambda each: found._count(len(each.rows)))
        return found

    def _count(self, rows: int) -> None:
        self.matches += rows

    def take(self, columns: TimedColumns) -> None:
        """Take elements that have been read."""
        runner = self.engine.runner
        runner.push_columns(runner.feed(Iri(STREAM)), columns)
        self.engine.step()

    def take_text(self, data: bytes) -> None:
        """Take elements as they are written."""
        self.engine.stream(STREAM).feed_timed(data)
        self.engine.step()

    def timed(self, parts: Sequence[TimedColumns], warm: int) -> float:
        """The seconds that all but the first parts take."""
        for part in parts[:warm]:
            self.take(part)
        began = perf_counter()
        for part in parts[warm:]:
            self.take(part)
        taken = perf_counter() - began
        assert self.query.error is None, self.query.error
        return taken

    @property
    def state(self) -> int:
        """The bytes of what windows hold, and of what matches patterns."""
        kernel = self.engine.runner.kernel
        logs = sum(int(log.statements.estimated_size()) for log in kernel.logs.values())
        columns = [
            column
            for query in kernel.queries
            for matches in query.matching.matches
            for each in matches.patterns
            for column in each.memory.table.columns.values()
        ]
        return logs + sum(each.nbytes for each in columns)
