"""Small streams for kernel tests: timed triples as the frames that a step takes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import polars as pl

from headrace.algebra.expressions import Aggregate, TriplePattern, Variable
from headrace.algebra.operators import Annotate, Annotation, Bgp, Distinct, Operator, Project
from headrace.algebra.query import Query, Select
from headrace.algebra.reporting import Semantics
from headrace.algebra.windows import TimeWindow, WindowDeclaration
from headrace.kernel.arrivals import Arrivals
from headrace.kernel.columns import ARRIVALS, ID, POSITION, TERMS, TEXT
from headrace.kernel.data import NO_QUADS
from headrace.kernel.dictionary import Dictionary
from headrace.kernel.evaluation import Around
from headrace.kernel.evaluations import evaluations
from headrace.kernel.step import Kernel
from headrace.kernel.step_results import Results
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
    """Gives a kernel batches of timed triples, keeping the time as a source would."""

    def __init__(self, plan: Plan) -> None:
        self.kernel = Kernel([plan], Around(Dictionary(), NO_QUADS))
        self.high: int | None = None
        self.late = 0

    def push(self, batch: Sequence[tuple[int, Term, Term, Term]]) -> Answers:
        rows = []
        for position, (time, *statement) in enumerate(batch):
            rows.append((position, time, self.high, None, *(term_id(each) for each in statement)))
            self.high = time if self.high is None else max(self.high, time)
        self.kernel.around.dictionary.learn(
            terms(each for _, *statement in batch for each in statement)
        )
        frame = pl.DataFrame(rows, schema=ARRIVALS, orient="row")
        results = self.kernel.step({STREAM: Arrivals(frame, self.high)})
        self.kernel.forget()
        return self._answers(results)

    def finish(self) -> Answers:
        return self._answers(self.kernel.finish())

    def _answers(self, results: Results) -> Answers:
        assert not results.failed, results.failed
        self.late += sum(frame[POSITION].n_unique() for frame in results.late.values())
        answers: Answers = []
        for report in results.reports:
            for each in evaluations(report, self.kernel.queries[0].plan.query.form):
                answers.append((each.at, [tuple(map(text, row)) for row in each.rows]))
        return answers


def text(term: Term | None) -> str | None:
    return None if term is None else canonical(term)


def passages(batch: Iterable[Passage]) -> list[tuple[int, Term, Term, Term]]:
    return [(time, iri(gate), REGISTERS, iri(car)) for time, gate, car in batch]


def run(query: Query, *batches: Sequence[tuple[int, Term, Term, Term]]) -> Answers:
    feed = Feed(make_plan(query))
    answers = [answer for batch in batches for answer in feed.push(batch)]
    return answers + feed.finish()


def count(gate: str, number: int) -> tuple[str, str]:
    return (str(iri(gate)), f'"{number}"^^<http://www.w3.org/2001/XMLSchema#integer>')
