"""Queries that tests draw: those of the papers, and some with everything in them."""

from __future__ import annotations

from pathlib import Path

from headrace.algebra.query import Query
from headrace.dialects import EXTENSIONS, parse
from headrace.observing import known_predicates
from headrace.rewrite.sources import KnownPredicates
from tests.shared import ROOT

PAPERS = sorted(
    path for path in (ROOT / "examples" / "papers").iterdir() if path.suffix in {*EXTENSIONS, ".rq"}
)

STATIC = ROOT / "examples" / "papers_data"

TWELVE_PATTERNS = """
PREFIX : <http://example.org/shop#>
PREFIX foaf: <http://xmlns.com/foaf/0.1/>
SELECT ?person ?name ?city ?price
FROM <http://example.org/people.ttl>
FROM STREAM <http://shop.example.com/sales> [RANGE 1h STEP 5m]
WHERE {
  ?person a foaf:Person ; foaf:name ?name ; :livesIn ?city ; foaf:knows ?friend .
  ?city :inCountry ?country .
  ?country :partOf :Europe .
  ?friend :livesIn ?place .
  ?maker :basedIn ?city .
  ?person <http://shop.example.com/terms#bought> ?item .
  ?item <http://shop.example.com/terms#costs> ?price ;
    <http://shop.example.com/terms#madeBy> ?maker ;
    <http://shop.example.com/terms#reviewedBy> ?friend .
  FILTER (?price > 100 && ?name != "Nobody")
}
"""

EVERYTHING = """
PREFIX : <http://ex.org/>
SELECT ?g (SUM(?a * 2) + 1 AS ?n) (COUNT(*) AS ?c) {
  ?g :p/:q* ?a
  OPTIONAL { ?a :r 'x'@en FILTER (?a > 3) }
  BIND (?a + 1 AS ?b)
  VALUES ?a { 1 2 }
  SERVICE SILENT <http://s.org/sparql> { ?a :z ?y }
  _:x :k [ :l 3 ]
  MINUS { ?g a :Bad }
  { ?a :u ?v } UNION { GRAPH ?gg { ?a :w ?v } }
  ?k ?k ?v . ?v :loop ?v . ?v !(:no|^:never) ?b
  FILTER (EXISTS { ?a :e ?z } || ?v = "no")
  { SELECT DISTINCT ?a { ?a :q ?g FILTER NOT EXISTS { ?a :r ?k } } OFFSET 1 LIMIT 3 }
} GROUP BY ?g HAVING (COUNT(*) > 2) ORDER BY DESC(?n)
"""

HOSTILE = r"""
PREFIX : <http://ex.org/p#>
SELECT ?s {
  ?s :é日本語 "</text><script>alert(1)</script>" ;
    :lines "one\ntwo]]>" ; :marks "#quot; #35; `x` %%{init}%% & \"" ; :link <javascript:alert(2)> ;
    :unseen "\u0000\u0001\uFFFE \u202Egnp.exe" ; :empty "" ; :spaces "a  b   c" ;
    <http://ex.org/a-name-that-is-much-longer-than-any-name-that-people-would-give-to-a-thing> ?o .
  FILTER (?o = "end" || CONTAINS(STR(?s), "---") || ?o IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12))
}
"""

MADE = {"twelve": TWELVE_PATTERNS, "everything": EVERYTHING, "hostile": HOSTILE}


def of_paper(path: Path) -> Query:
    return parse(path.read_text("utf-8"), EXTENSIONS.get(path.suffix)).query


def known_of(section: str) -> KnownPredicates:
    """What is known of the static data of a section of the C-SPARQL paper."""
    if section in {"3.4", "5.2"}:
        graph = "http://brokerscentral.org/brokers.rdf"
        return known_predicates((), [f"{graph}={STATIC / 'brokers.ttl'}"])
    return known_predicates((), [str(STATIC / "city.ttl")])


def drawn_queries() -> dict[str, Query]:
    papers = {path.stem: of_paper(path) for path in PAPERS}
    return papers | {name: parse(text).query for name, text in MADE.items()}
