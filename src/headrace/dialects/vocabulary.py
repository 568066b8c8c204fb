"""The functions of the language and how many arguments each takes."""

from __future__ import annotations

from typing import Final

from headrace.algebra.operators import Relation

MANY: Final = 1_000_000

FUNCTIONS: Final[dict[str, tuple[int, int]]] = {
    # functional forms
    "BOUND": (1, 1),
    "IF": (3, 3),
    "COALESCE": (0, MANY),
    "SAMETERM": (2, 2),
    # terms
    "ISIRI": (1, 1),
    "ISURI": (1, 1),
    "ISBLANK": (1, 1),
    "ISLITERAL": (1, 1),
    "ISNUMERIC": (1, 1),
    "STR": (1, 1),
    "LANG": (1, 1),
    "DATATYPE": (1, 1),
    "IRI": (1, 1),
    "URI": (1, 1),
    "BNODE": (0, 1),
    "STRDT": (2, 2),
    "STRLANG": (2, 2),
    "UUID": (0, 0),
    "STRUUID": (0, 0),
    # strings
    "STRLEN": (1, 1),
    "SUBSTR": (2, 3),
    "UCASE": (1, 1),
    "LCASE": (1, 1),
    "STRSTARTS": (2, 2),
    "STRENDS": (2, 2),
    "CONTAINS": (2, 2),
    "STRBEFORE": (2, 2),
    "STRAFTER": (2, 2),
    "ENCODE_FOR_URI": (1, 1),
    "CONCAT": (0, MANY),
    "LANGMATCHES": (2, 2),
    "REGEX": (2, 3),
    "REPLACE": (3, 4),
    # numbers
    "ABS": (1, 1),
    "ROUND": (1, 1),
    "CEIL": (1, 1),
    "FLOOR": (1, 1),
    "RAND": (0, 0),
    # times
    "NOW": (0, 0),
    "YEAR": (1, 1),
    "MONTH": (1, 1),
    "DAY": (1, 1),
    "HOURS": (1, 1),
    "MINUTES": (1, 1),
    "SECONDS": (1, 1),
    "TIMEZONE": (1, 1),
    "TZ": (1, 1),
    # hashes
    "MD5": (1, 1),
    "SHA1": (1, 1),
    "SHA256": (1, 1),
    "SHA384": (1, 1),
    "SHA512": (1, 1),
    # quoted triples
    "TRIPLE": (3, 3),
    "SUBJECT": (1, 1),
    "PREDICATE": (1, 1),
    "OBJECT": (1, 1),
    "ISTRIPLE": (1, 1),
    # streams
    "TIMESTAMP": (1, 3),
    "STARTTIME": (0, 0),
    "ENDTIME": (0, 0),
    "DURATION": (0, 0),
    "GETSTARTTIME": (0, 0),
    "GETENDTIME": (0, 0),
    "GETDURATION": (0, 0),
}
"""Least and greatest number of arguments, by upper-case name."""

AGGREGATE_FUNCTIONS: Final = ("COUNT", "SUM", "MIN", "MAX", "AVG", "SAMPLE", "GROUP_CONCAT")

RELATIONS: Final[dict[str, tuple[Relation, bool]]] = {
    relation.upper(): (relation, False) for relation in Relation
} | {
    "SEQ": (Relation.BEFORE, False),
    "OPTIONALSEQ": (Relation.BEFORE, True),
    "EQUALSOPTIONAL": (Relation.EQUALS, True),
}
"""The temporal operators, and whether their right side is always optional; the last three are those
of EP-SPARQL."""
