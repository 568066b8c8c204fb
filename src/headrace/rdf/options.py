"""What a reader is told beside the text: its limits, its star mode and its base."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias

from headrace.errors import DataError


class StarMode(Enum):
    """What ``<< s p o >>`` means."""

    COMMUNITY = "community"
    """A quoted triple, a term, as in the report of the RDF-star community group."""

    RDF12 = "rdf12"
    """A reifier, a blank node that ``rdf:reifies`` a triple term, as in RDF 1.2."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How large and how deep data may be; more is refused before it is parsed.

    Attributes:
        size: bytes (of text: characters) of a document, or of one line of timed N-Quads.
        line: bytes of a line of NDJSON.
        literal: characters of a literal.
        quoted: levels of triples within triples.
        nested: levels of blank nodes and lists, of JSON and of XML.
        errors: problems reported in one document before the rest of it is given up.
    """

    size: int | None = 16_000_000
    line: int | None = 16_000_000
    literal: int = 1_000_000
    quoted: int = 16
    nested: int = 64
    errors: int = 100


ELEMENT_LIMITS: Final = Limits()
LOG_LIMITS: Final = Limits(line=None)
"""A line of an ingest log has what was accepted, which may be longer in JSON than by itself."""
FILE_LIMITS: Final = Limits(size=None, line=None)
"""A file the user names may be of any size; what is in it may not be of any depth."""


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How data are read, whatever their format.

    Attributes:
        star: what ``<< s p o >>`` means.
        base: the IRI that relative ones are resolved against.
        rdf_xml: whether RDF/XML is read at all; off, because XML can be made to explode.
        limits: what is refused.
    """

    star: StarMode = StarMode.COMMUNITY
    base: str | None = None
    rdf_xml: bool = False
    limits: Limits = ELEMENT_LIMITS


DEFAULT_OPTIONS: Final = ReadOptions()

OnError: TypeAlias = Callable[[DataError], None] | None
"""Who is told of bad data. Nobody means strict: the first problem is raised."""


def report(error: DataError, on_error: OnError) -> None:
    """Tell of bad data, or raise it if there is nobody to tell."""
    if on_error is None:
        raise error
    on_error(error)
