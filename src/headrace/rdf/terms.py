"""RDF terms and statements as values, and their canonical N-Triples form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, TypeAlias, assert_never

from headrace.rdf.vocabulary import (
    RDF_LANG_STRING,
    XSD,
    XSD_BOOLEAN,
    XSD_DECIMAL,
    XSD_DOUBLE,
    XSD_FLOAT,
    XSD_INTEGER,
    XSD_STRING,
)


@dataclass(frozen=True, slots=True)
class Iri:
    """A name on the web."""

    value: str

    def __str__(self) -> str:
        """Show it in canonical N-Triples form."""
        return canonical(self)


@dataclass(frozen=True, slots=True)
class BlankNode:
    """A node without a name; the label says which one it is within its scope."""

    label: str

    def __str__(self) -> str:
        """Show it in canonical N-Triples form."""
        return canonical(self)


@dataclass(frozen=True, slots=True)
class Literal:
    """A value written down: its lexical form, its datatype and, for text, its language."""

    lexical: str
    datatype: str = XSD_STRING
    language: str | None = None

    def __post_init__(self) -> None:
        """Text with a language is rdf:langString; tags that differ in case are one language."""
        if self.language is not None:
            object.__setattr__(self, "datatype", RDF_LANG_STRING)
            object.__setattr__(self, "language", self.language.lower())

    def __str__(self) -> str:
        """Show it in canonical N-Triples form."""
        return canonical(self)

    @property
    def value(self) -> int | float | bool | Decimal | str:
        """What it is worth in Python: a number or a truth value, else its text.

        >>> Literal("7", XSD + "integer").value, Literal("1.50", XSD + "decimal").value
        (7, Decimal('1.50'))
        """
        make = _WORTH.get(self.datatype)
        try:
            return self.lexical if make is None else make(self.lexical)
        except (ValueError, ArithmeticError, KeyError):
            return self.lexical  # it is not what its datatype says


_WORTH: Final[dict[str, Callable[[str], int | float | bool | Decimal]]] = {
    XSD_INTEGER: int,
    **{f"{XSD}{name}": int for name in ("long", "int", "short", "byte", "nonNegativeInteger")},
    XSD_DECIMAL: Decimal,
    XSD_DOUBLE: float,
    XSD_FLOAT: float,
    XSD_BOOLEAN: {"true": True, "1": True, "false": False, "0": False}.__getitem__,
}


@dataclass(frozen=True, slots=True)
class QuotedTriple:
    """A triple that is spoken about, used as a term; quoting it does not assert it."""

    subject: Term
    predicate: Term
    object: Term

    def __str__(self) -> str:
        """Show it in canonical N-Triples form."""
        return canonical(self)


Term: TypeAlias = Iri | BlankNode | Literal | QuotedTriple


@dataclass(frozen=True, slots=True)
class Triple:
    """One statement."""

    subject: Term
    predicate: Term
    object: Term


@dataclass(frozen=True, slots=True)
class Quad:
    """One statement and the named graph it stands in; no graph is the default graph."""

    subject: Term
    predicate: Term
    object: Term
    graph: Term | None = None

    @property
    def triple(self) -> Triple:
        """The statement without its graph."""
        return Triple(self.subject, self.predicate, self.object)


# Canonical N-Triples escapes these in strings and nothing else that is printable.
_STRING_ESCAPES = {
    0x22: '\\"',
    0x5C: "\\\\",
    0x08: "\\b",
    0x09: "\\t",
    0x0A: "\\n",
    0x0C: "\\f",
    0x0D: "\\r",
} | {code: f"\\u{code:04X}" for code in [*range(0x08), 0x0B, *range(0x0E, 0x20), 0x7F]}
_IRI_ESCAPES = {code: f"\\u{code:04X}" for code in [*range(0x21), *map(ord, '<>"{}|^`\\')]}


def canonical(term: Term) -> str:
    r"""The one N-Triples text of a term, from which its id is made.

    >>> canonical(Literal("a\tb", language="en"))
    '"a\\tb"@en'
    >>> canonical(QuotedTriple(Iri("x:s"), Iri("x:p"), Literal("1")))
    '<< <x:s> <x:p> "1" >>'
    """
    match term:
        case Iri(value):
            return f"<{value.translate(_IRI_ESCAPES)}>"
        case BlankNode(label):
            return f"_:{label}"
        case Literal(lexical, datatype, language):
            text = f'"{lexical.translate(_STRING_ESCAPES)}"'
            if language is not None:
                return f"{text}@{language}"
            return text if datatype == XSD_STRING else f"{text}^^{canonical(Iri(datatype))}"
        case QuotedTriple(subject, predicate, object_):
            return f"<< {canonical(subject)} {canonical(predicate)} {canonical(object_)} >>"
        case _:
            assert_never(term)
