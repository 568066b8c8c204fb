"""What the Sparkwave paper prints, and what its authors have published."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from headrace import Engine
from headrace.cli import app
from headrace.testing import play
from tests.reasoning.social_media import (
    FACEBOOK,
    ONTOLOGY,
    POSTS,
    QUERY,
    STATIC,
    TWEETS,
    TWITTER,
    iri,
    n_triples,
)
from tests.shared import DATA, ROOT, needs_data

MATCH = (iri("twd:tweet456"), iri("fb:post123"), iri("foaf:JohnDoe"))
BSBM = DATA / "sparkwave" / "spark-wave" / "src" / "test" / "resources" / "BSBM"
LISTING_1 = """
10  t11 a b
20  t21 m n
40  t12 a b
60  t11 c t21
60  t22 m n
70  t21 l o
80  t12 c t22
90  t22 l o
120 t31 p q
170 t32 p q
"""


def test_listing_1_has_its_two_matches_when_their_last_triples_come() -> None:
    query = (
        "SELECT ?x ?y FROM STREAM <s> [RANGE 1s] { ?x <x:a> <x:b> . ?x <x:c> ?y . ?y <x:m> <x:n> }"
    )
    lines = [line.split() for line in LISTING_1.split("\n") if line]
    stream = "".join(f"{time}\t{' '.join(f'<x:{t}>' for t in terms)} .\n" for time, *terms in lines)
    played = play([query], {"s": stream}, dialect="sparkwave")
    found = [
        (each.at // 1000, [str(term) for term in row])
        for each in played.evaluations
        for row in each.rows
    ]
    assert found == [(60, ["<x:t11>", "<x:t21>"]), (80, ["<x:t12>", "<x:t22>"])]


@needs_data("fixtures")
def test_the_same_person_talks_about_the_same_place() -> None:
    engine = Engine(schema=ONTOLOGY)
    engine.static.load_text(n_triples(*STATIC))
    facebook, twitter = engine.stream(FACEBOOK), engine.stream(TWITTER)
    query = engine.register(QUERY)
    for number, (post, tweet) in enumerate(zip(POSTS, TWEETS, strict=True)):
        facebook.push(n_triples(post), at=1000 + number)
        twitter.push(n_triples(tweet), at=2000 + number)
    engine.finish()
    assert [each.rows for each in query.results()] == [(MATCH,)] * 5


@needs_data("fixtures")
def test_the_query_as_printed_matches_when_the_last_triple_comes() -> None:
    engine = Engine(schema=ONTOLOGY)
    friends = "http://foaf.example.org/friends.rdf"
    engine.static.load_text(n_triples(*STATIC), friends)
    facebook, twitter = engine.stream(FACEBOOK), engine.stream(TWITTER)
    printed = ROOT / "examples" / "papers" / "sparkwave-4b-same-place.sparkwave"
    query = engine.register(printed.read_text("utf-8"), dialect="sparkwave")
    for number, (post, tweet) in enumerate(zip(POSTS, TWEETS, strict=True)):
        facebook.push(n_triples(post), at=1000 + number)
        twitter.push(n_triples(tweet), at=2000 + number)
    engine.finish()
    assert [(each.at, each.rows) for each in query.results()] == [(2_001_000, (MATCH,))]


@needs_data("fixtures")
def test_without_the_schema_there_is_no_match() -> None:
    engine = Engine()
    engine.static.load_text(n_triples(*STATIC))
    facebook, twitter = engine.stream(FACEBOOK), engine.stream(TWITTER)
    query = engine.register(QUERY)
    for post, tweet in zip(POSTS, TWEETS, strict=True):
        facebook.push(n_triples(post), at=1000)
        twitter.push(n_triples(tweet), at=2000)
    engine.finish()
    assert all(not each.rows for each in query.results())


def _files(folder: Path) -> list[str]:
    """The example as files, and the options that name them."""
    parts = {FACEBOOK: POSTS, TWITTER: TWEETS}
    options = ["--schema", str(ONTOLOGY)]
    for number, (stream, statements) in enumerate(parts.items()):
        path = folder / f"{number}.tnq"
        path.write_text("".join(f"1000\t{n_triples(each)}" for each in statements))
        options += ["--stream", f"{stream}={path}"]
    (folder / "static.nt").write_text(n_triples(*STATIC))
    (folder / "query.csparql").write_text(QUERY)
    return [str(folder / "query.csparql"), *options, "--static", str(folder / "static.nt")]


@needs_data("fixtures")
@pytest.mark.parametrize("partitions", ["1", "2"])
def test_in_a_pipeline(tmp_path: Path, partitions: str) -> None:
    options = ["--once", "--runner", "inline", "--partitions", partitions]
    done = CliRunner().invoke(
        app, ["run", *_files(tmp_path), *options, "--out", str(tmp_path / "out.ndjson")]
    )
    assert done.exit_code == 0, done.output
    rows = io.StringIO((tmp_path / "out.ndjson").read_text()).readlines()
    assert sum(str(MATCH[0].value) in row for row in rows) == 5


@pytest.mark.spark
@needs_data("fixtures")
def test_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    assert spark.version
    done = CliRunner().invoke(
        app, ["run", *_files(tmp_path), "--once", "--out", str(tmp_path / "out.ndjson")]
    )
    assert done.exit_code == 0, done.output
    rows = io.StringIO((tmp_path / "out.ndjson").read_text()).readlines()
    assert sum(str(MATCH[0].value) in row for row in rows) == 5


@needs_data("sparkwave")
@pytest.mark.parametrize("contents", ["set", "timed"])
def test_the_published_stream_has_two_matches(contents: str) -> None:
    query = """
    PREFIX bsbm: <http://www4.wiwiss.fu-berlin.de/bizer/bsbm/v01/vocabulary/>
    PREFIX inst: <http://www4.wiwiss.fu-berlin.de/bizer/bsbm/v01/instances/>
    SELECT ?offer ?product FROM STREAM <s> [RANGE 1s]
    { ?offer a bsbm:Offer ; bsbm:product ?product . ?product a inst:ProductType2 }
    """
    engine = Engine(schema=BSBM / "epsilon-PT2-DS329.owl", settings={"contents": contents})
    stream = engine.stream("s")
    matches = engine.register(query, dialect="sparkwave")
    lines = (BSBM / "offers-trunc_10.nt").read_text("utf-8").splitlines()
    stream.feed_timed("".join(f"{at}\t{line}\n" for at, line in enumerate(lines) if line.strip()))
    engine.finish()
    assert sum(len(each.rows) for each in matches.results()) == 2
