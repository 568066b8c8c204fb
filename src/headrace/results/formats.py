"""How answers can be written, by the name that a user gives or the type that HTTP announces."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from headrace.errors import SettingError, listing, nearest


class ResultFormat(StrEnum):
    """A way to write an answer down; the value is what `--format` and `?format` call it."""

    TABLE = "table"
    JSON = "json"
    XML = "xml"
    CSV = "csv"
    TSV = "tsv"
    TURTLE = "turtle"
    NTRIPLES = "ntriples"
    NQUADS = "nquads"

    @property
    def media_type(self) -> str:
        """The type to announce it by."""
        return MEDIA_TYPES[self]

    @property
    def is_graph(self) -> bool:
        """Whether it is for what CONSTRUCT and DESCRIBE answer."""
        return self in GRAPH_FORMATS


MEDIA_TYPES: Final = {
    ResultFormat.TABLE: "text/plain",
    ResultFormat.JSON: "application/sparql-results+json",
    ResultFormat.XML: "application/sparql-results+xml",
    ResultFormat.CSV: "text/csv",
    ResultFormat.TSV: "text/tab-separated-values",
    ResultFormat.TURTLE: "text/turtle",
    ResultFormat.NTRIPLES: "application/n-triples",
    ResultFormat.NQUADS: "application/n-quads",
}
GRAPH_FORMATS: Final = frozenset(
    {ResultFormat.TURTLE, ResultFormat.NTRIPLES, ResultFormat.NQUADS},
)
EXTENSIONS: Final = {
    ".srj": ResultFormat.JSON,
    ".srx": ResultFormat.XML,
    ".csv": ResultFormat.CSV,
    ".tsv": ResultFormat.TSV,
    ".ttl": ResultFormat.TURTLE,
    ".nt": ResultFormat.NTRIPLES,
    ".nq": ResultFormat.NQUADS,
}
_ALSO_KNOWN_AS: Final = {
    "application/json": ResultFormat.JSON,
    "application/xml": ResultFormat.XML,
    "text/xml": ResultFormat.XML,
}
"""What servers that do not know better call them."""


def format_named(name: str) -> ResultFormat:
    """The format that a user names.

    >>> format_named("CSV")
    <ResultFormat.CSV: 'csv'>

    Raises:
        SettingError: if there is none of that name.
    """
    try:
        return ResultFormat(name.lower())
    except ValueError:
        near = nearest(name, ResultFormat)
        hint = f"; did you mean '{near}'?" if near else ""
        known = listing(ResultFormat)
        raise SettingError(f"expected the format {known}, found '{name}'{hint}") from None


def format_of_media_type(media_type: str) -> ResultFormat | None:
    """The format that HTTP announces, or None if it is not one of ours.

    >>> format_of_media_type("application/sparql-results+json; charset=utf-8")
    <ResultFormat.JSON: 'json'>
    """
    announced = media_type.partition(";")[0].strip().lower()
    known = {name: each for each, name in MEDIA_TYPES.items()} | _ALSO_KNOWN_AS
    return known.get(announced)


TABLE_TYPES: Final = (
    ResultFormat.JSON.media_type,
    ResultFormat.XML.media_type,
    ResultFormat.CSV.media_type,
    ResultFormat.TSV.media_type,
)
"""The types of tables of results, by preference; only the first two can say true or false."""
