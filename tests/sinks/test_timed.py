from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given

from headrace.algebra.query import Ask, Construct, Describe, Form
from headrace.errors import SettingError
from headrace.kernel.evaluations import evaluations
from headrace.kernel.reports import Report
from headrace.rdf.scopes import UNSCOPED
from headrace.rdf.terms import BlankNode, Iri, Literal, Quad
from headrace.rdf.timed import read_timed
from headrace.sinks.timed import TimedSink
from tests.sinks.reports import SELECT, report, reports

A, B, G, H = Iri("x:a"), Iri("x:b"), Iri("x:g"), Iri("x:h")
CONSTRUCT = Construct(())


def written(forms: dict[str, Form], *found: Report) -> str:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "out.tnq"
        sink = TimedSink(path, forms)
        sink.recover(None)
        sink.write("0", found)
        sink.close()
        return path.read_bytes().decode()


def test_statements_stand_behind_their_instant() -> None:
    found = report(
        CONSTRUCT,
        [1_000_000, 2_000_500, 3_000_000],
        [(0, (A, B, Literal("é\n"), None)), (0, (A, B, A, G)), (1, (BlankNode("b"), B, A, G))],
        errors={2: "gone\naway"},
    )
    assert written({"q": CONSTRUCT}, found) == (
        '1000\t<x:a> <x:b> "é\\n" .\n'
        "1000\t<x:a> <x:b> <x:a> <x:g> .\n"
        "2000.5\t_:b <x:b> <x:a> <x:g> .\n"
        '# 3000: query "q" failed: "gone\\naway"\n'
    )


def test_a_skipped_instant_is_a_comment() -> None:
    found = report(CONSTRUCT, [1_000, 2_000, 3_000], [(2, (A, B, A, None))], skipped=[0])
    text = written({"q": CONSTRUCT}, found)
    assert text == '# 1: query "q" was skipped\n2\n3\t<x:a> <x:b> <x:a> .\n'
    assert [each.time for each in read_timed(text)] == [2_000, 3_000]


def test_a_graph_of_an_instant_is_read_again_as_one_element() -> None:
    rows = [(place, (A, B, Literal(str(number)), G)) for place in (0, 2) for number in range(3)]
    found = report(CONSTRUCT, [1_000, 2_000, 3_000], rows)
    elements = list(read_timed(written({"q": CONSTRUCT}, found)))
    assert [(each.time, len(each.quads)) for each in elements] == [
        (1_000, 3),
        (2_000, 0),
        (3_000, 3),
    ]


def test_queries_share_a_file_in_the_order_of_time() -> None:
    forms: dict[str, Form] = {"one": CONSTRUCT, "other": Describe(())}
    rows = [(place, (A, B, A, G)) for place in range(2)]
    one = report(CONSTRUCT, [1_000, 3_000], rows, query="one")
    other = report(CONSTRUCT, [2_000, 3_000], [(1, (A, B, B, H))], query="other")
    lines = written(forms, one, other).splitlines()
    assert [line.partition("\t")[0] for line in lines] == ["1", "2", "3", "3"]


@given(reports(CONSTRUCT))
def test_every_statement_is_read_again(found: Report) -> None:
    text = written({"q": CONSTRUCT}, found)
    read = [(each.time, quad) for each in read_timed(text, scope=UNSCOPED) for quad in each.quads]
    emitted: list[tuple[int, Quad]] = [
        (each.at, quad)
        for each in sorted(evaluations(found, CONSTRUCT), key=lambda each: each.at)
        if each.error is None
        for quad in each.quads
    ]
    assert read == emitted


@pytest.mark.parametrize("form", [SELECT, Ask()])
def test_what_gives_no_graph_is_refused_before_anything_is_opened(
    form: Form, tmp_path: Path
) -> None:
    with pytest.raises(SettingError, match=r"query 'rows' is a (SELECT|ASK); use CONSTRUCT"):
        TimedSink(tmp_path / "out.tnq", {"graph": CONSTRUCT, "rows": form})
    assert not list(tmp_path.iterdir())
