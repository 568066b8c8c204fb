"""Which format a text is in, by its file name or its media type."""

from __future__ import annotations

from enum import Enum
from pathlib import PurePath

from headrace.errors import SettingError, listing, nearest


class Format(Enum):
    """A way to write RDF down."""

    N_TRIPLES = "N-Triples"
    N_QUADS = "N-Quads"
    TURTLE = "Turtle"
    TRIG = "TriG"
    RDF_XML = "RDF/XML"
    JSON_LD = "JSON-LD"
    TIMED_N_QUADS = "timed N-Quads"
    NDJSON = "NDJSON"

    @property
    def by_line(self) -> bool:
        """Whether lines are read one by one, so that a bad one leaves the others readable."""
        return self in (Format.N_TRIPLES, Format.N_QUADS, Format.TIMED_N_QUADS, Format.NDJSON)

    @property
    def media_type(self) -> str:
        """The type to announce it by."""
        return _ANNOUNCED[self]


EXTENSIONS = {
    ".nt": Format.N_TRIPLES,
    ".nts": Format.N_TRIPLES,
    ".ntstar": Format.N_TRIPLES,
    ".nq": Format.N_QUADS,
    ".nqs": Format.N_QUADS,
    ".nqstar": Format.N_QUADS,
    ".ttl": Format.TURTLE,
    ".ttls": Format.TURTLE,
    ".ttlstar": Format.TURTLE,
    ".trig": Format.TRIG,
    ".trigs": Format.TRIG,
    ".trigstar": Format.TRIG,
    ".rdf": Format.RDF_XML,
    ".owl": Format.RDF_XML,
    ".jsonld": Format.JSON_LD,
    ".tnq": Format.TIMED_N_QUADS,
    ".ndjson": Format.NDJSON,
    ".jsonl": Format.NDJSON,
}
"""The plain ones first; those in -s and -star are what RDF-star tools write."""

MEDIA_TYPES = {
    "application/n-triples": Format.N_TRIPLES,
    "application/n-triples-star": Format.N_TRIPLES,
    "application/n-quads": Format.N_QUADS,
    "application/n-quads-star": Format.N_QUADS,
    "text/turtle": Format.TURTLE,
    "text/turtle-star": Format.TURTLE,
    "application/x-turtle": Format.TURTLE,
    "application/x-turtlestar": Format.TURTLE,
    "application/trig": Format.TRIG,
    "application/trig-star": Format.TRIG,
    "application/x-trigstar": Format.TRIG,
    "application/rdf+xml": Format.RDF_XML,
    "application/ld+json": Format.JSON_LD,
    "application/vnd.headrace.timed-n-quads": Format.TIMED_N_QUADS,
    "application/x-ndjson": Format.NDJSON,
}
"""The one to announce first; the others are accepted."""

_ANNOUNCED = {form: name for name, form in reversed(MEDIA_TYPES.items())}


_PLAIN_JSON = (
    "plain JSON has no statements by itself; send RDF such as N-Quads or Turtle, or NDJSON with "
    "an envelope on each line, or put a JSON-LD '@context' into each message"
)
"""The advice for JSON that no context makes RDF."""


def format_of_path(path: str | PurePath) -> Format:
    """Return the format that the name of a file implies, also if it is compressed.

    >>> format_of_path("data/sensors.tnq.gz")
    <Format.TIMED_N_QUADS: 'timed N-Quads'>

    Raises:
        SettingError: if the name does not say.
    """
    suffixes = [suffix.lower() for suffix in PurePath(path).suffixes]
    if suffixes and suffixes[-1] == ".gz":
        suffixes.pop()
    suffix = suffixes[-1] if suffixes else ""
    if suffix in EXTENSIONS:
        return EXTENSIONS[suffix]
    if suffix == ".json":
        raise SettingError(f"cannot tell what is in {str(path)!r}: {_PLAIN_JSON}")
    found = f"expected a name that ends in {listing(EXTENSIONS)}, found {str(path)!r}"
    raise SettingError(_with_suggestion(found, nearest(suffix, EXTENSIONS)))


def format_of_media_type(media_type: str) -> Format:
    """Return the format of a media type, whatever its parameters are.

    >>> format_of_media_type("text/turtle; charset=utf-8")
    <Format.TURTLE: 'Turtle'>

    Raises:
        SettingError: if it stands for none.
    """
    essence = media_type.partition(";")[0].strip().lower()
    if essence in MEDIA_TYPES:
        return MEDIA_TYPES[essence]
    if "json" in essence and "ld+json" not in essence:
        raise SettingError(f"cannot read {media_type!r} as RDF: {_PLAIN_JSON}")
    known = listing(form.media_type for form in Format)
    found = f"expected the media type {known}, found {media_type!r}"
    raise SettingError(_with_suggestion(found, nearest(essence, MEDIA_TYPES)))


def _with_suggestion(problem: str, suggestion: str | None) -> str:
    return f"{problem}; did you mean {suggestion!r}?" if suggestion else problem
