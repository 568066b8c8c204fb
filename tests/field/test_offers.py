"""Offers of every type of product, beside a count that knows no query: the Sparkwave workload."""

from __future__ import annotations

import csv
import gzip
import os
from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import islice

import pytest

from headrace import Engine, Evaluation
from headrace.rdf.terms import Iri, Quad
from tests.shared import DATA, ROOT, needs_data

FOLDER = DATA / "sparkwave-bsbm"
pytestmark = [needs_data("sparkwave-bsbm"), pytest.mark.slow]
OFFERS = int(os.environ.get("HEADRACE_OFFERS", "1500"))
"""All of them are 200,000."""
STREAM = "http://bsbm.org/stream"
BSBM = "http://www4.wiwiss.fu-berlin.de/bizer/bsbm/v01/"
INSTANCES, VOCABULARY = f"{BSBM}instances/", f"{BSBM}vocabulary/"
TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
SUBCLASS = "http://www.w3.org/2000/01/rdf-schema#subClassOf"
DC, XSD = "http://purl.org/dc/elements/1.1/", "http://www.w3.org/2001/XMLSchema#"
GB, DE = (f"http://downlode.org/rdf/iso-3166/countries#{each}" for each in ("GB", "DE"))
Row = dict[str, str]


def rows(name: str) -> list[Row]:
    with (FOLDER / name).open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def offers() -> list[Row]:
    with gzip.open(FOLDER / "offers.csv.gz", "rt") as file:
        return list(islice(csv.DictReader(file), OFFERS))


def parents() -> dict[str, str]:
    """The type above each type, by number."""
    found = {}
    for line in (FOLDER / "product_type_hierarchy.nt").read_text("utf-8").splitlines():
        child, link, parent, _ = line.split(" ", 3)
        if link == f"<{SUBCLASS}>":
            found[number(child)] = number(parent)
    return found


def number(token: str) -> str:
    return token.rstrip(">").rpartition("ProductType")[2]


def kind(which: str) -> Iri:
    return Iri(f"{INSTANCES}ProductType{which}")


def vendor(row: Row) -> str:
    return f"{INSTANCES}dataFromVendor{row['vendor']}/Vendor{row['vendor']}"


def producer(which: str) -> str:
    return f"{INSTANCES}dataFromProducer{which}/Producer{which}"


def product(row: Row) -> str:
    return f"{INSTANCES}dataFromProducer{row['producer']}/Product{row['product']}"


def triples(row: Row) -> Iterator[str]:
    home = f"{INSTANCES}dataFromVendor{row['vendor']}/Offer{row['offer']}"
    literals = {
        "price": (row["price_usd"], f"{VOCABULARY}USD"),
        "validFrom": (row["valid_from"], f"{XSD}dateTime"),
        "validTo": (row["valid_to"], f"{XSD}dateTime"),
        "deliveryDays": (row["delivery_days"], f"{XSD}integer"),
    }
    yield f"<{home}> <{TYPE}> <{VOCABULARY}Offer> ."
    yield f"<{home}> <{VOCABULARY}product> <{product(row)}> ."
    yield f"<{home}> <{VOCABULARY}vendor> <{vendor(row)}> ."
    for name, (value, datatype) in literals.items():
        yield f'<{home}> <{VOCABULARY}{name}> "{value}"^^<{datatype}> .'
    yield f"<{home}> <{VOCABULARY}offerWebpage> <{home}/> ."
    yield f"<{home}> <{DC}publisher> <{vendor(row)}> ."
    yield f'<{home}> <{DC}date> "{row["date"]}"^^<{XSD}date> .'
    yield f"<{product(row)}> <{TYPE}> <{kind(row['product_type']).value}> ."


def static() -> Iterator[Quad]:
    country, made = Iri(f"{VOCABULARY}country"), Iri(f"{VOCABULARY}producer")
    for row in rows("vendor_country.csv"):
        yield Quad(Iri(vendor(row)), country, Iri(row["country_iri"]))
    for row in rows("producer_country.csv"):
        yield Quad(Iri(producer(row["producer"])), country, Iri(row["country_iri"]))
    for row in rows("product_producer_type.csv"):
        yield Quad(Iri(product(row)), made, Iri(producer(row["producer"])))


def counted(pattern: int) -> Counter[str]:
    """How many offers there are of each type, by the tables alone."""
    sells = {row["vendor"]: row["country_iri"] for row in rows("vendor_country.csv")}
    makes = {row["producer"]: row["country_iri"] for row in rows("producer_country.csv")}
    above, found = parents(), Counter[str]()
    for row in offers():
        wanted = pattern == 1 or sells[row["vendor"]] == GB
        if wanted and (pattern < 3 or makes[row["producer"]] == DE):
            of: str | None = row["product_type"]
            while of is not None:
                found[of] += 1
                of = above.get(of)
    return found


def text_of(pattern: int) -> str:
    [path] = (ROOT / "examples" / "papers").glob(f"sparkwave-listing2-pattern{pattern}-*")
    text = path.read_text("utf-8").replace("[RANGE 10s]", "[RANGE 10h]")
    return text.replace("FROM SCHEMA <http://members.sti2.at/~rdjank/ProductTypeHierarchy.rdf>", "")


@pytest.mark.parametrize("pattern", [1, 2, 3])
def test_every_type_has_its_offers(pattern: int) -> None:
    links = [Quad(kind(one), Iri(SUBCLASS), kind(other)) for one, other in parents().items()]
    engine = Engine(schema=links, settings={"profile": "sparkwave"}, clock=None)
    engine.static.add(static())
    stream = engine.stream(STREAM)
    found, text = Counter[str](), text_of(pattern)

    def count(which: str, told: Evaluation) -> None:
        found[which] += len(told.rows)

    for each in sorted({*parents(), *parents().values()}):
        own = text.replace("BSBSOfferDetection", f"type{each}")
        query = engine.register(own.replace("TargetProductType", f"ProductType{each}"))
        query.on_result(partial(count, each))
    lines = (line for row in offers() for line in triples(row))
    timed = "".join(f"{place}\t{line}\n" for place, line in enumerate(lines))
    stream.feed_timed(timed)
    engine.finish()
    assert found == counted(pattern)
    assert found["1"] == OFFERS or pattern > 1
