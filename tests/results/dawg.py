"""Result sets written in RDF, as the SPARQL 1.0 evaluation tests have them."""

from __future__ import annotations

from pathlib import Path

from headrace.rdf.formats import format_of_path
from headrace.rdf.options import FILE_LIMITS, ReadOptions
from headrace.rdf.reading import read
from headrace.rdf.terms import Iri, Literal, Term
from headrace.rdf.vocabulary import RDF_TYPE
from headrace.results.table import Row, Table

RS = "http://www.w3.org/2001/sw/DataAccess/tests/result-set#"


class _Graph:
    def __init__(self, path: Path, base: str) -> None:
        options = ReadOptions(base=base, rdf_xml=True, limits=FILE_LIMITS)
        self._said: dict[tuple[Term, str], list[Term]] = {}
        self.subjects: list[Term] = []
        for quad in read(path.read_bytes(), format_of_path(path), name=path.name, options=options):
            assert isinstance(quad.predicate, Iri)
            self._said.setdefault((quad.subject, quad.predicate.value), []).append(quad.object)
            if quad.predicate.value == RDF_TYPE and quad.object == Iri(RS + "ResultSet"):
                self.subjects.append(quad.subject)

    def all(self, subject: Term, name: str) -> list[Term]:
        return self._said.get((subject, RS + name), [])

    def text(self, subject: Term, name: str) -> str | None:
        found = self.all(subject, name)
        if not found:
            return None
        [value] = found
        assert isinstance(value, Literal)
        return value.lexical


def read_result_set(path: Path, base: str | None = None) -> Table | bool:
    """The table or the truth value of a file, its rows by `rs:index` if they have one.

    IRIs are resolved against the base, or against the file itself.
    """
    graph = _Graph(path, base or path.as_uri())
    [result_set] = graph.subjects
    truth = graph.text(result_set, "boolean")
    if truth is not None:
        return truth in {"true", "1"}
    names = [name for name in graph.all(result_set, "resultVariable") if isinstance(name, Literal)]
    variables = tuple(dict.fromkeys(name.lexical for name in names))
    solutions = graph.all(result_set, "solution")
    if all(graph.all(solution, "index") for solution in solutions):
        solutions = sorted(solutions, key=lambda each: int(graph.text(each, "index") or 0))
    return Table(variables, tuple(_row(graph, each, variables) for each in solutions))


def has_index(path: Path) -> bool:
    """Whether the order of the rows of a file is part of the answer."""
    return "index" in path.read_text("utf-8")


def _row(graph: _Graph, solution: Term, variables: tuple[str, ...]) -> Row:
    bound: dict[str, Term] = {}
    for binding in graph.all(solution, "binding"):
        name = graph.text(binding, "variable")
        values = graph.all(binding, "value")
        assert name is not None
        assert name in variables, f"?{name} is not a variable of the result set"
        bound[name] = values[0]
    return tuple(bound.get(name) for name in variables)
