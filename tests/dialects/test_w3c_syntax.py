"""The W3C syntax tests for SPARQL 1.0, SPARQL 1.1 and SPARQL-star, all of them."""

from __future__ import annotations

import pytest

from headrace.dialects import parse
from headrace.errors import QueryError
from tests.manifests import Case, cases
from tests.shared import DATA, needs_data

POSITIVE = ("PositiveSyntaxTest", "PositiveSyntaxTest11")
EVALUATED = ("QueryEvaluationTest", "CSVResultFormatTest")
NEGATIVE = ("NegativeSyntaxTest", "NegativeSyntaxTest11")
SUITES = {
    "sparql10": DATA / "w3c-rdf-tests" / "sparql" / "sparql10",
    "sparql11": DATA / "w3c-rdf-tests" / "sparql" / "sparql11",
    "sparql-star": DATA / "w3c-rdf-star-cg" / "tests" / "sparql",
}
# How many tests there are, so that a suite that is not found cannot pass unseen.
EXPECTED = {"sparql10": (149, 50), "sparql11": (39, 25), "sparql-star": (30, 21)}


def found(suite: str, *kinds: str) -> list[Case]:
    return [
        case
        for manifest in sorted(SUITES[suite].rglob("manifest.ttl"))
        for case in cases(manifest, *kinds)
        if case.action.suffix == ".rq"
    ]


def params(*kinds: str) -> list[object]:
    return [
        pytest.param(case, id=f"{suite}/{case.id}", marks=needs_data("w3c-rdf-tests"))
        for suite in SUITES
        for case in found(suite, *kinds)
    ]


@pytest.mark.parametrize("case", params(*POSITIVE, *EVALUATED))
def test_a_right_query_is_accepted(case: Case) -> None:
    parse(case.action.read_text("utf-8"), "sparql", name=case.action.name)


@pytest.mark.parametrize("case", params(*NEGATIVE))
def test_a_wrong_query_is_refused(case: Case) -> None:
    with pytest.raises(QueryError) as raised:
        parse(case.action.read_text("utf-8"), "sparql", name=case.action.name)
    assert raised.value.line is not None


@needs_data("w3c-rdf-tests")
@pytest.mark.parametrize("suite", SUITES)
def test_no_test_of_a_suite_is_missing(suite: str) -> None:
    assert (len(found(suite, *POSITIVE)), len(found(suite, *NEGATIVE))) == EXPECTED[suite]
