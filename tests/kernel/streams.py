"""Small streams for kernel tests: timed triples as the frames that a step takes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import polars as pl

from headrace.algebra.expressions import Aggregate, TriplePattern, Variable
from headrace.algebra.operators import Annotate, Annotation, Bgp, Distinct, Operator, Project
from headrace.algebra.query import Query, Select
from headrace.algebra.reporting import Semantics
from headrace.algebra.windows import TimeWindow, WindowDeclaration
from headrace.kernel.columns import ELEMENTS, ID, TERMS, TEXT
from headrace.kernel.step import Kernel
from headrace.planning.plan import Plan, make_plan
from headrace.rdf.ids import term_id
from headrace.rdf.terms import Iri, Term, canonical

STREAM = Iri("http://streams.org/citytollgates.trdf")
REGISTERS = Iri("http://linkedurbandata.org/traffic#registers")
TOLLGATE, CAR, PASSAGES = Variable("tollgate"), Variable("car"), Variable("passages")
PASSES = Bgp((TriplePattern(TOLLGATE, REGISTERS, CAR),))

Passage = tuple[int, str, str]
Answers = list[tuple[int, list[tuple[str | None, ...]]]]


def tollgate_query(width: int = 600_000_000, slide: int = 60_000_000, delay: int = 0) -> Query:
    """Section 2.3 of the C-SPARQL paper: passages of each tollgate."""
    counted = Annotate(PASSES, (Annotation(PASSAGES, Aggregate("COUNT"), (TOLLGATE,)),))
    return select(
        (TOLLGATE, PASSAGES), Distinct(Project(counted, (TOLLGATE, PASSAGES))), width, slide, delay
    )


def select(
    variables: tuple[Variable, ...], pattern: Operator, width: int, slide: int, delay: int = 0
) -> Query:
    return Query(
        form=Select(variables),
        pattern=pattern,
        windows=(WindowDeclaration(STREAM, STREAM, TimeWindow(width, slide), True),),
        semantics=Semantics(delay=delay),
    )


def iri(name: str) -> Iri:
    return Iri(f"http://example.org/{name}")


def terms(values: Iterable[Term]) -> pl.DataFrame:
    known = {term_id(value): canonical(value) for value in values}
    return pl.DataFrame({ID: list(known), TEXT: list(known.values())}, schema=TERMS)


class Feed:
    """Gives a kernel batches of timed triples, keeping the watermark as a source would."""

    def __init__(self, plan: Plan) -> None:
        self.kernel = Kernel(plan)
        self.delay = plan.delay
        self.high: int | None = None
        self.late = 0

    def push(self, batch: Sequence[tuple[int, Term, Term, Term]]) -> Answers:
        rows = []
        for time, *statement in batch:
            watermark = None if self.high is None else self.high - self.delay
            rows.append((time, watermark, None, *(term_id(each) for each in statement)))
            self.high = time if self.high is None else max(self.high, time)
        if self.high is None:
            return []
        results = self.kernel.step(
            pl.DataFrame(rows, schema=ELEMENTS, orient="row"),
            self.high - self.delay,
            terms(each for _, *statement in batch for each in statement),
        )
        self.late += results.late
        return list(results.rows())

    def finish(self) -> Answers:
        return list(self.kernel.finish().rows())


def passages(batch: Iterable[Passage]) -> list[tuple[int, Term, Term, Term]]:
    return [(time, iri(gate), REGISTERS, iri(car)) for time, gate, car in batch]


def run(query: Query, *batches: Sequence[tuple[int, Term, Term, Term]]) -> Answers:
    feed = Feed(make_plan(query))
    answers = [answer for batch in batches for answer in feed.push(batch)]
    return answers + feed.finish()


def count(gate: str, number: int) -> tuple[str, str]:
    return (str(iri(gate)), f'"{number}"^^<http://www.w3.org/2001/XMLSchema#integer>')
