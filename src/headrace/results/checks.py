"""What makes a term of an answer that came from elsewhere one that we can keep."""

from __future__ import annotations

import re
from typing import Final

from headrace.errors import DataError
from headrace.rdf.iri import is_well_formed
from headrace.rdf.scopes import Scope
from headrace.rdf.terms import BlankNode, Iri, Literal, QuotedTriple, Term
from headrace.rdf.texts import decoded
from headrace.rdf.vocabulary import RDF_LANG_STRING, XSD_STRING
from headrace.results.table import ResultLimits

_SHOWN: Final = 60
_LANGUAGE: Final = re.compile(r"[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*")
_PLAIN_LABEL: Final = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_-])?")
_ENCODED: Final = "hex-"


def shown(found: object) -> str:
    """Something of an answer as an error shows it: short, on one line.

    >>> shown("a" * 100)[-3:]
    "a…'"
    """
    text = found if isinstance(found, str) else repr(found)
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")


class TooManyRowsError(DataError):
    """A result has more rows than are allowed."""


class Checked:
    """Makes terms of the parts that a format gives, and refuses what is none."""

    def __init__(self, scope: Scope, limits: ResultLimits) -> None:
        """Read the terms of one answer, whose blank nodes are those of a scope."""
        self._scope = scope
        self._limits = limits
        self._iris: dict[str, Iri] = {}

    def iri(self, value: str) -> Iri:
        """An IRI.

        Raises:
            DataError: if there is a character in it that no IRI has.
        """
        known = self._iris.get(value)
        if known is None:
            self._check_text(value)
            if not is_well_formed(value):
                raise DataError(f"expected an IRI, found {shown(value)}")
            known = self._iris.setdefault(value, Iri(value))
        return known

    def blank(self, label: str) -> BlankNode:
        """A blank node; a label that N-Triples could not write is encoded.

        Some servers use IRIs as labels, which is their right.
        """
        self._check_text(label)
        if not _PLAIN_LABEL.fullmatch(label) or label.startswith(_ENCODED):
            label = _ENCODED + label.encode().hex()
        return BlankNode(self._scope.labelled(label))

    def literal(self, lexical: str, datatype: str | None, language: str | None) -> Literal:
        """A literal.

        Raises:
            DataError: if it is too long, or its language or datatype is none.
        """
        self._check_text(lexical)
        if language is not None:
            if datatype not in (None, RDF_LANG_STRING):
                raise DataError(f"expected no datatype beside a language, found {shown(datatype)}")
            if not _LANGUAGE.fullmatch(language):
                raise DataError(f"expected a language, found {shown(language)}")
            return Literal(lexical, language=language)
        if datatype == RDF_LANG_STRING:
            raise DataError(f"expected a language for the text {shown(lexical)}, found none")
        return Literal(lexical, XSD_STRING if datatype is None else self.iri(datatype).value)

    def quoted(self, subject: Term, predicate: Term, object_: Term) -> QuotedTriple:
        """A quoted triple.

        Raises:
            DataError: if its subject is a literal, or its predicate is not an IRI.
        """
        if isinstance(subject, Literal):
            raise DataError(f"expected the subject of a triple, found the literal {shown(subject)}")
        if not isinstance(predicate, Iri):
            raise DataError(f"expected an IRI as predicate of a triple, found {shown(predicate)}")
        return QuotedTriple(subject, predicate, object_)

    def check_level(self, level: int) -> None:
        """Refuse triples within triples that go too deep."""
        if level > self._limits.quoted:
            most = f"at most {self._limits.quoted} levels of triples within triples"
            raise DataError(f"expected {most}, found more")

    def check_columns(self, names: list[str]) -> tuple[str, ...]:
        """The variables of a table.

        Raises:
            DataError: if there are too many, or two of the same name.
        """
        if len(names) > self._limits.columns:
            most = f"at most {self._limits.columns:,} variables"
            raise DataError(f"expected {most}, found {len(names):,}")
        for name in names:
            self._check_text(name)
            if not name:
                raise DataError("expected the name of a variable, found ''")
        if len(set(names)) != len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise DataError(f"expected each variable once, found {shown(twice)} twice")
        return tuple(names)

    def check_rows(self, count: int) -> None:
        """Refuse a table of too many rows."""
        if count > self._limits.rows:
            raise TooManyRowsError(f"expected at most {self._limits.rows:,} rows, found more")

    def _check_text(self, text: str) -> None:
        if len(text) > self._limits.literal:
            most = f"at most {self._limits.literal:,} characters in a value"
            raise DataError(f"expected {most}, found {len(text):,}")
        decoded(text)
