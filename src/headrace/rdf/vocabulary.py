"""The IRIs that Headrace itself needs to know."""

from __future__ import annotations

from typing import Final

RDF: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS: Final = "http://www.w3.org/2000/01/rdf-schema#"
XSD: Final = "http://www.w3.org/2001/XMLSchema#"
OWL: Final = "http://www.w3.org/2002/07/owl#"
PROV: Final = "http://www.w3.org/ns/prov#"
SOSA: Final = "http://www.w3.org/ns/sosa/"
FOAF: Final = "http://xmlns.com/foaf/0.1/"
RSPU: Final = "http://w3id.org/rsp/rspu#"
RSPU_DISTRIBUTION: Final = RSPU + "distribution"
"""The datatype of distributions."""

RDF_TYPE: Final = RDF + "type"
RDF_FIRST: Final = RDF + "first"
RDF_REST: Final = RDF + "rest"
RDF_NIL: Final = RDF + "nil"
RDF_LANG_STRING: Final = RDF + "langString"
RDF_REIFIES: Final = RDF + "reifies"

XSD_STRING: Final = XSD + "string"
XSD_BOOLEAN: Final = XSD + "boolean"
XSD_INTEGER: Final = XSD + "integer"
XSD_DECIMAL: Final = XSD + "decimal"
XSD_DOUBLE: Final = XSD + "double"
XSD_FLOAT: Final = XSD + "float"
XSD_DATE_TIME: Final = XSD + "dateTime"

GENERATED_AT: Final = PROV + "generatedAtTime"

WELL_KNOWN_PREFIXES: Final = {
    "rdf": RDF,
    "rdfs": RDFS,
    "xsd": XSD,
    "owl": OWL,
    "prov": PROV,
    "sosa": SOSA,
    "foaf": FOAF,
    "rspu": RSPU,
}
"""Offered in hints when a query uses one of them without declaring it; never assumed."""
