"""The workload of the Sparkwave paper as a stream of timed N-Quads: offers of an online market."""

from __future__ import annotations

import csv
import gzip
import os
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

_SHARED: Final = Path(__file__).parents[2] / "shared" / "data"
DATA: Final = Path(os.environ.get("HEADRACE_DATA", _SHARED)) / "sparkwave-bsbm"
STREAM: Final = "http://bsbm.org/stream"
_BSBM: Final = "http://www4.wiwiss.fu-berlin.de/bizer/bsbm/v01/"
_VOCABULARY: Final = f"{_BSBM}vocabulary/"
_INSTANCES: Final = f"{_BSBM}instances/"
_XSD: Final = "http://www.w3.org/2001/XMLSchema#"
_TYPE: Final = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
_DC: Final = "http://purl.org/dc/elements/1.1/"
PER_OFFER: Final = 11

QUERY: Final = f"""\
PREFIX bsbm-voc: <{_VOCABULARY}>
PREFIX bsbm-inst: <{_INSTANCES}>
PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
PREFIX dc: <{_DC}>
SELECT ?offer ?product ?vendor ?price ?from ?to ?delivery ?webpage ?publisher ?date
FROM STREAM <{STREAM}> [RANGE 5s TUMBLING]
WHERE {{
  ?offer rdf:type bsbm-voc:Offer .
  ?offer bsbm-voc:product ?product .
  ?offer bsbm-voc:vendor ?vendor .
  ?offer bsbm-voc:price ?price .
  ?offer bsbm-voc:validFrom ?from .
  ?offer bsbm-voc:validTo ?to .
  ?offer bsbm-voc:deliveryDays ?delivery .
  ?offer bsbm-voc:offerWebpage ?webpage .
  ?offer dc:publisher ?publisher .
  ?offer dc:date ?date .
  ?product rdf:type bsbm-inst:ProductType255
}}
"""
"""Pattern 1 of the paper for a type without subtypes, so that there is nothing to infer."""


def statements() -> Iterator[str]:
    """The triples of all offers, eleven for each."""
    if not DATA.exists():
        sys.exit(f"there are no offers in {DATA}: HEADRACE_DATA says where test data are")
    with gzip.open(DATA / "offers.csv.gz", "rt") as file:
        for row in csv.DictReader(file):
            yield from _offer(row)


def _offer(row: dict[str, str]) -> Iterator[str]:
    vendor = f"{_INSTANCES}dataFromVendor{row['vendor']}/"
    offer = f"<{vendor}Offer{row['offer']}>"
    maker = f"<{vendor}Vendor{row['vendor']}>"
    product = f"<{_INSTANCES}dataFromProducer{row['producer']}/Product{row['product']}>"
    yield f"{offer} {_TYPE} <{_VOCABULARY}Offer> ."
    yield f"{offer} <{_VOCABULARY}product> {product} ."
    yield f"{offer} <{_VOCABULARY}vendor> {maker} ."
    yield f'{offer} <{_VOCABULARY}price> "{row["price_usd"]}"^^<{_VOCABULARY}USD> .'
    yield f'{offer} <{_VOCABULARY}validFrom> "{row["valid_from"]}"^^<{_XSD}dateTime> .'
    yield f'{offer} <{_VOCABULARY}validTo> "{row["valid_to"]}"^^<{_XSD}dateTime> .'
    yield f'{offer} <{_VOCABULARY}deliveryDays> "{row["delivery_days"]}"^^<{_XSD}integer> .'
    yield f"{offer} <{_VOCABULARY}offerWebpage> <{vendor}Offer{row['offer']}/> ."
    yield f"{offer} <{_DC}publisher> {maker} ."
    yield f'{offer} <{_DC}date> "{row["date"]}"^^<{_XSD}date> .'
    yield f"{product} {_TYPE} <{_INSTANCES}ProductType{row['product_type']}> ."


def write_stream(path: Path, per_second: int = 100_000, offers: int | None = None) -> int:
    """Write offers as timed N-Quads at a rate of event time; how many triples there are.

    Args:
        path: where to.
        per_second: how many triples a second of event time has.
        offers: how many; all if not given.
    """
    count = 0
    with path.open("w", encoding="utf-8") as file:
        for statement in islice(statements(), None if offers is None else offers * PER_OFFER):
            file.write(f"{count * 1000 // per_second}\t{statement}\n")
            count += 1
    return count
