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
RDF_PROPERTY: Final = RDF + "Property"

RDFS_CLASS: Final = RDFS + "Class"
RDFS_RESOURCE: Final = RDFS + "Resource"
RDFS_LITERAL: Final = RDFS + "Literal"
RDFS_DATATYPE: Final = RDFS + "Datatype"
RDFS_MEMBER: Final = RDFS + "member"
RDFS_CONTAINER_MEMBERSHIP: Final = RDFS + "ContainerMembershipProperty"
RDFS_SUB_CLASS_OF: Final = RDFS + "subClassOf"
RDFS_SUB_PROPERTY_OF: Final = RDFS + "subPropertyOf"
RDFS_DOMAIN: Final = RDFS + "domain"
RDFS_RANGE: Final = RDFS + "range"

OWL_CLASS: Final = OWL + "Class"
OWL_INVERSE_OF: Final = OWL + "inverseOf"
OWL_EQUIVALENT_CLASS: Final = OWL + "equivalentClass"
OWL_EQUIVALENT_PROPERTY: Final = OWL + "equivalentProperty"
OWL_RESTRICTION: Final = OWL + "Restriction"
OWL_ON_PROPERTY: Final = OWL + "onProperty"
OWL_SYMMETRIC: Final = OWL + "SymmetricProperty"
OWL_PROPERTIES: Final = tuple(
    OWL + name
    for name in (
        "ObjectProperty",
        "DatatypeProperty",
        "AnnotationProperty",
        "FunctionalProperty",
        "InverseFunctionalProperty",
        "TransitiveProperty",
        "SymmetricProperty",
    )
)
"""What a property may be called besides rdf:Property."""

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
