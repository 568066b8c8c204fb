"""The queries of the five papers, as corrected: each is accepted, and means what its paper says."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from headrace.algebra.expressions import Aggregate, Operation, Timestamp, Variable
from headrace.algebra.operators import (
    Annotate,
    Annotation,
    Budget,
    Distinct,
    Extend,
    Filter,
    Graph,
    Group,
    Operator,
    Service,
    Union,
    Window,
)
from headrace.algebra.query import Construct, Registered, Registration, Select
from headrace.algebra.reporting import Emit, Every, OnArrival, OnClose, Report, Scope
from headrace.algebra.walk import parts, within
from headrace.algebra.windows import NowWindow, TimeWindow, WindowFrame
from headrace.dialects import Parsed, parse
from headrace.errors import QueryError
from headrace.rdf.terms import Iri
from tests.shared import ROOT

FOLDER = ROOT / "examples" / "papers"
DIALECTS = {"rq": "sparql", "csparql": "csparql", "cqels": "cqels", "rspql": "rspql"}

SECOND = 1_000_000
MINUTE = 60 * SECOND
DAY = 24 * 60 * MINUTE

TOLLGATES = "http://streams.org/citytollgates.trdf"
CAMERAS = "http://streams.org/citycameras.trdf"
MARKET = "http://stockexchange.org/market.trdf"
OFFERS = "http://bsbm.org/stream"
OFFER = "offer product vendor price from to delivery webpage publisher date"
HALF_MINUTE = TimeWindow(30 * SECOND)
MEETING: dict[str, WindowFrame] = {"lsnow": NowWindow(), "ls30": HALF_MINUTE}


@dataclass(frozen=True)
class Facts:
    """What is known of a query: its columns, windows by name, registration, report and emission."""

    columns: str | None = None
    windows: dict[str, WindowFrame] = field(default_factory=dict)
    registration: Registration | None = None
    report: Report = field(default_factory=OnClose)
    emit: Emit = Emit.RSTREAM


def query(name: str) -> Registration:
    return Registration(name, Registered.QUERY)


def stream(name: str) -> Registration:
    return Registration(name, Registered.STREAM)


def arriving(
    columns: str, windows: dict[str, WindowFrame], registration: Registration | None = None
) -> Facts:
    return Facts(columns, windows, registration, OnArrival(), Emit.ISTREAM)


def tunnel(name: str, columns: str, widths: tuple[int, ...], period: int) -> Facts:
    return Facts(
        columns,
        {
            f"http://example.org/data/w{number}": TimeWindow(width * SECOND, SECOND)
            for number, width in enumerate(widths, 1)
        },
        stream(f"http://example.org/data/{name}"),
        Every(period * SECOND),
    )


FACTS = {
    "csparql-2.2-sensors-per-street.csparql": Facts("street total_sensor"),
    "csparql-2.3-cars-per-tollgate.csparql": Facts(
        "tollgate passages", {TOLLGATES: TimeWindow(10 * MINUTE, MINUTE)}
    ),
    "csparql-2.4-cars-per-district.csparql": Facts(
        "district passages",
        {TOLLGATES: TimeWindow(30 * MINUTE, 5 * MINUTE)},
        query("CarsEnteringCityCenterPerDistrict"),
        Every(5 * MINUTE),
    ),
    "csparql-2.5-cars-per-district-stream.csparql": Facts(
        None,
        {TOLLGATES: TimeWindow(30 * MINUTE, 5 * MINUTE)},
        stream("CarsEnteringCityCenterPerDistrict"),
        Every(5 * MINUTE),
    ),
    "csparql-2.6-full-streets.csparql": Facts(
        "street passages",
        {
            TOLLGATES: TimeWindow(5 * MINUTE, 5 * MINUTE),
            CAMERAS: TimeWindow(5 * MINUTE, 5 * MINUTE),
        },
        query("FullStreets"),
    ),
    "csparql-2.7-turning-cars.csparql": Facts(
        "car1",
        {CAMERAS: TimeWindow(5 * MINUTE, MINUTE)},
        stream("AllCarsTurningFromPalmIntoOak"),
        Every(MINUTE),
    ),
    "csparql-3.4-amount-per-broker.csparql": Facts(
        "broker total", {MARKET: TimeWindow(DAY, DAY)}, query("TotalAmountPerDayAndBroker")
    ),
    "csparql-4-brokers.rq": Facts("broker country"),
    "csparql-5.2-movements-per-seller.csparql": Facts(
        "seller market tot", {MARKET: TimeWindow(DAY, DAY)}, query("SellerMarketMovementsPerDay")
    ),
    "cqels-q1-locations.cqels": arriving("name locName", {"ls30": HALF_MINUTE}),
    "cqels-q1-locations-stream-form.cqels": arriving(
        "name locName", {"http://deri.org/locstreams": HALF_MINUTE}
    ),
    "cqels-q2-coauthors.cqels": arriving("author1Name author2Name locName", MEETING),
    "cqels-q3-citations.cqels": arriving("author1Name author2Name locName", MEETING),
    "cqels-q4-most-cited.cqels": arriving("person1 person2 max_numPub", MEETING),
    "cqels-q1p-own-location.cqels": arriving("locName", {"ls30": HALF_MINUTE}),
    "cqels-q2p-cited-nearby.cqels": arriving("citedAuthorName", MEETING),
    "cqels-q3p-interested-nearby.cqels": arriving("interestedAuthorName locName", MEETING),
    "cqels-q4p-best-place.cqels": arriving(
        "locName max_count_citedAuthor", {"ls15": TimeWindow(15 * SECOND)}
    ),
    "sparkwave-4b-same-place.sparkwave": arriving(
        "tweet fbpost user",
        {
            "http://facebook.example.org/update/stream": TimeWindow(5 * MINUTE),
            "http://twitter.example.org/update/stream": TimeWindow(5 * MINUTE),
        },
        query("MultiplePlaceNotification"),
    ),
    **{
        f"sparkwave-listing2-pattern{number}-{topic}.sparkwave": arriving(
            OFFER, {OFFERS: TimeWindow(10 * SECOND)}, query("BSBSOfferDetection")
        )
        for number, topic in enumerate(("offers", "offers-by-vendor", "offers-by-producer"), 1)
    },
    "acqua-listing1.1-influential-users.rspql": Facts(
        None,
        {"http://acme.example.org/ns#mentions": TimeWindow(200 * MINUTE, 20 * MINUTE)},
        stream("http://acme.example.org/influential"),
    ),
    "rspu-listing1-oxygen.rspql": Facts(
        "value",
        {"w": TimeWindow(10 * SECOND, 10 * SECOND)},
        stream("warning/oxygen"),
        Every(10 * SECOND),
    ),
    "rspu-listing2-tunnel.rspql": Facts(
        "location oxValue tempValue",
        {
            "w1": TimeWindow(10 * SECOND, SECOND),
            "w2": TimeWindow(10 * SECOND, SECOND),
        },
        stream("warning/tvs"),
        Every(4 * SECOND),
    ),
    **{
        f"rspu-{name}{letter}.rspql": tunnel(f"{name}{letter}", columns, widths, period)
        for letter in "ab"
        for name, columns, widths, period in (
            ("q1", "location value1 value2", (10, 10), 4),
            ("q2", "location value1 value2 value3 value4", (5, 5, 5, 5), 8),
            ("q3", "location value1 value2 value3", (1, 1, 1), 4),
            ("q4", "location value1 value2 p", (10, 10), 4),
            ("q5", "location value1 value2 value3 value4 p1 p2 p3 p4", (5, 5, 5, 5), 8),
            ("q6", "location value1 value2 value3 p1 p2", (1, 1, 1), 4),
        )
    },
    "rspu-followup.rspql": tunnel("followup", "value1 value2", (10, 10), 4),
}


def text_of(name: str) -> str:
    return (FOLDER / name).read_text("utf-8")


def read(name: str) -> Parsed:
    extension = name.rpartition(".")[2]
    return parse(text_of(name), DIALECTS.get(extension, extension), name=name)


def operators(name: str) -> list[Operator]:
    return list(within(read(name).query.pattern))


def annotated(name: str) -> tuple[Annotation, ...]:
    (annotate,) = (each for each in operators(name) if isinstance(each, Annotate))
    return annotate.annotations


def variables(names: str) -> tuple[Variable, ...]:
    return tuple(Variable(name) for name in names.split())


def test_every_file_has_its_facts() -> None:
    assert sorted(path.name for path in FOLDER.iterdir()) == sorted(FACTS)


@pytest.mark.parametrize("name", FACTS)
def test_a_query_means_what_its_paper_says(name: str) -> None:
    facts, found = FACTS[name], read(name).query
    if facts.columns is None:
        assert isinstance(found.form, Construct)
    else:
        assert found.form == Select(variables(facts.columns))
    assert {each.name.value: each.frame for each in found.windows} == facts.windows
    assert found.registration == facts.registration
    assert found.semantics.report == facts.report
    assert found.semantics.emit == facts.emit


@pytest.mark.parametrize("name", FACTS)
def test_a_query_says_first_what_it_asks(name: str) -> None:
    first = text_of(name).splitlines()[0]
    assert first.startswith("# ")
    assert len(first.split()) > 5


@pytest.mark.parametrize("name", [name for name in FACTS if not name.endswith(".sparkwave")])
def test_the_dialect_of_a_query_is_found_in_its_text(name: str) -> None:
    assert parse(text_of(name)).dialect == DIALECTS[name.rpartition(".")[2]]


@pytest.mark.parametrize("name", [name for name in FACTS if name.endswith(".sparkwave")])
def test_a_sparkwave_query_looks_like_c_sparql_without_step(name: str) -> None:
    with pytest.raises(QueryError, match="a time window needs STEP or TUMBLING") as raised:
        parse(text_of(name))
    assert raised.value.hint is not None
    assert "sparkwave" in raised.value.hint
    assert raised.value.line is not None
    assert "[RANGE" in text_of(name).splitlines()[raised.value.line - 1]


# -- C-SPARQL ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "variable", "aggregate", "keys"),
    [
        ("2.2-sensors-per-street", "total_sensor", Aggregate("COUNT"), "street"),
        ("2.3-cars-per-tollgate", "passages", Aggregate("COUNT"), "tollgate"),
        ("2.4-cars-per-district", "passages", Aggregate("COUNT"), "district"),
        ("2.5-cars-per-district-stream", "passages", Aggregate("COUNT"), "district"),
        ("2.6-full-streets", "passages", Aggregate("COUNT"), "street"),
        ("3.4-amount-per-broker", "total", Aggregate("SUM", Variable("amount")), "broker"),
        ("5.2-movements-per-seller", "tot", Aggregate("SUM", Variable("amount")), "seller market"),
    ],
)
def test_aggregate_annotates_and_never_groups(
    name: str, variable: str, aggregate: Aggregate, keys: str
) -> None:
    file = f"csparql-{name}.csparql"
    assert annotated(file) == (Annotation(Variable(variable), aggregate, variables(keys)),)
    assert not any(isinstance(each, Group) for each in operators(file))


def test_the_filter_of_an_aggregate_stands_above_it() -> None:
    filtered = [
        each.condition
        for each in operators("csparql-2.6-full-streets.csparql")
        if isinstance(each, Filter) and isinstance(each.input, Annotate)
    ]
    assert list(map(_names, filtered)) == [{"passages", "capacity"}]


def _names(condition: object) -> set[str]:
    assert isinstance(condition, Operation)
    return {each.name for each in parts(condition) if isinstance(each, Variable)}


def test_static_patterns_of_full_streets_stand_outside_the_streams() -> None:
    in_streams = [
        str(each.input)
        for each in operators("csparql-2.6-full-streets.csparql")
        if isinstance(each, Window)
    ]
    assert len(in_streams) == 2
    assert all("registers" in inner for inner in in_streams)
    assert not any("placed" in inner or "crossing" in inner for inner in in_streams)


def test_turning_cars_compares_two_timestamps() -> None:
    (condition,) = (
        each.condition
        for each in operators("csparql-2.7-turning-cars.csparql")
        if isinstance(each, Filter)
    )
    times = [each for each in parts(condition) if isinstance(each, Timestamp)]
    assert times == [Timestamp((Variable("car1"),)), Timestamp((Variable("car2"),))]


def test_a_select_registered_as_a_stream_is_a_stream_of_rows() -> None:
    notes = [note.text for note in read("csparql-2.7-turning-cars.csparql").notes]
    assert len(notes) == 1
    assert "stream of rows" in notes[0]


def test_the_market_is_a_graph_or_a_stream() -> None:
    (union,) = (
        each
        for each in operators("csparql-5.2-movements-per-seller.csparql")
        if isinstance(each, Union)
    )
    inner = [each.input if isinstance(each, Filter) else each for each in union.branches]
    assert {type(branch) for branch in inner} == {Graph, Window}


@pytest.mark.parametrize(
    "name", [name for name in FACTS if name.startswith("csparql") and "2.5" not in name]
)
def test_every_select_of_the_c_sparql_paper_is_distinct(name: str) -> None:
    assert isinstance(operators(name)[0], Distinct)


# -- CQELS ------------------------------------------------------------------------------------


def test_both_forms_of_a_window_mean_the_same() -> None:
    def shape(name: str) -> list[type]:
        return [type(each) for each in operators(name)]

    assert shape("cqels-q1-locations.cqels") == shape("cqels-q1-locations-stream-form.cqels")


def test_the_most_cited_is_who_reaches_the_maximum_of_the_person() -> None:
    name = "cqels-q4-most-cited.cqels"
    (annotation,) = annotated(name)
    assert annotation.aggregate == Aggregate("MAX", Variable("numPub"))
    assert annotation.keys == (Variable("person1"),)
    assert _reached(name) == Operation("=", (Variable("numPub"), annotation.variable))
    (group,) = (each for each in operators(name) if isinstance(each, Group))
    assert group.keys == variables("person1 person2")
    assert [each for _, each in group.aggregates] == [Aggregate("COUNT", Variable("p2"))]


def test_the_best_place_is_the_group_with_the_largest_count() -> None:
    name = "cqels-q4p-best-place.cqels"
    (annotation,) = annotated(name)
    (group,) = (each for each in operators(name) if isinstance(each, Group))
    ((counted, aggregate),) = group.aggregates
    assert aggregate == Aggregate("COUNT", Variable("citedAuthor"))
    assert group.keys == variables("loc locName")
    assert annotation.aggregate == Aggregate("MAX", counted)
    assert annotation.keys == ()
    assert _reached(name) == Operation("=", (counted, annotation.variable))


def _reached(name: str) -> object:
    """The condition of the filter right above the annotation: the row reaches the extreme."""
    (condition,) = (
        each.condition
        for each in operators(name)
        if isinstance(each, Filter) and isinstance(each.input, Annotate)
    )
    return condition


@pytest.mark.parametrize("number", "1234")
def test_the_name_to_fill_in_is_in_every_variant(number: str) -> None:
    (name,) = (name for name in FACTS if name.startswith(f"cqels-q{number}p"))
    assert '"$Author Name$"' in text_of(name)


# -- Sparkwave, ACQUA, RSPU -------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in FACTS if name.endswith(".sparkwave")])
def test_sparkwave_bounds_the_span_of_a_match(name: str) -> None:
    assert read(name).query.semantics.scope is Scope.MATCH


def test_the_product_types_are_a_schema() -> None:
    dataset = read("sparkwave-listing2-pattern3-offers-by-producer.sparkwave").query.dataset
    hierarchy = Iri("http://members.sti2.at/~rdjank/ProductTypeHierarchy.rdf")
    assert dataset.schemas == (hierarchy,)
    assert dataset.default == ()


def test_influential_users_are_counted_first_and_asked_under_a_budget() -> None:
    name = "acqua-listing1.1-influential-users.rspql"
    (service,) = (each for each in operators(name) if isinstance(each, Service))
    assert service.budget == Budget(0.75, 2 * SECOND, "WBM", 5)
    (group,) = (each for each in operators(name) if isinstance(each, Group))
    assert group.keys == variables("user")
    assert isinstance(group.input, Window)


def test_uncertainty_is_computed_where_its_variables_are_bound() -> None:
    graphs = [
        each.input for each in operators("rspu-listing1-oxygen.rspql") if isinstance(each, Graph)
    ]
    assert len(graphs) == 1
    assert any(isinstance(each, Extend) for each in within(graphs[0]))
    assert not any(
        "never bound" in note.text
        for name in ("rspu-listing1-oxygen.rspql", "rspu-listing2-tunnel.rspql")
        for note in read(name).notes
    )
