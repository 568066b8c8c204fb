"""What pyoxigraph answers, and where its answers are known to differ from the standard."""

from __future__ import annotations

import pyoxigraph as ox

from headrace.rdf.options import DEFAULT_OPTIONS
from headrace.rdf.oxigraph import Terms
from headrace.rdf.scopes import UNSCOPED
from headrace.rdf.terms import Term
from headrace.results.table import Table


def oracle(data: str, query: str) -> Table | bool:
    """The answer of pyoxigraph to a query over some TriG."""
    store = ox.Store()
    store.load(data.encode(), format=ox.RdfFormat.TRIG)
    found = store.query(query)
    if isinstance(found, ox.QueryBoolean):
        return bool(found)
    assert isinstance(found, ox.QuerySolutions)
    names = [variable.value for variable in found.variables]
    terms = Terms(UNSCOPED, DEFAULT_OPTIONS.limits)
    rows = [tuple(_term(solution[name], terms) for name in names) for solution in found]
    return Table(tuple(names), tuple(rows))


def _term(found: object, terms: Terms) -> Term | None:
    return None if found is None else terms.term(found)  # type: ignore[arg-type]  # a term of ox
