"""Short names for the IRIs of a query: prefixes made from the namespaces it uses."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, fields, is_dataclass
from typing import Final
from unicodedata import category

from headrace.algebra.operators import Operator
from headrace.algebra.query import Query
from headrace.errors import Span
from headrace.rdf.terms import Iri, Literal
from headrace.rdf.vocabulary import WELL_KNOWN_PREFIXES, XSD_STRING

_USUAL: Final = {
    **{namespace: prefix for prefix, namespace in WELL_KNOWN_PREFIXES.items()},
    "http://purl.org/dc/elements/1.1/": "dc",
    "http://purl.org/dc/terms/": "dcterms",
    "http://www.w3.org/2003/01/geo/wgs84_pos#": "geo",
    "http://www.w3.org/2004/02/skos/core#": "skos",
    "http://www.w3.org/ns/ssn/": "ssn",
    "https://schema.org/": "schema",
}
_LOCAL: Final = re.compile(r"[\w.~%-]*\Z")
_VERSION: Final = re.compile(r"v?[\d.]+")
_LONGEST: Final = 48
_UNSEEN: Final = {"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"}
_JOINERS: Final = {"\N{ZERO WIDTH JOINER}", "\N{ZERO WIDTH NON-JOINER}"}


@dataclass(frozen=True, slots=True)
class Names:
    """Prefixes by namespace, in the order in which the query uses them.

    >>> names = Names.among([Iri("http://ex.org/cars#Car"), Iri("http://ex.org/gates/north")])
    >>> names.short(Iri("http://ex.org/cars#Car")), names.short(Iri("w1"))
    ('cars:Car', '<w1>')
    """

    prefixes: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, query: Query, pattern: Operator) -> Names:
        """The names for all that a query holds, with the pattern that is shown of it."""
        held = (query.dataset, query.windows, pattern, query.form)
        return cls.among(iri for part in held for iri in _iris(part))

    @classmethod
    def among(cls, iris: Iterable[Iri]) -> Names:
        """The names for some IRIs."""
        taken: dict[str, str] = {}
        for namespace in dict.fromkeys(_split(iri.value)[0] for iri in iris):
            if namespace:
                taken[_free(_prefix(namespace), taken)] = namespace
        return cls(tuple(taken.items()))

    def short(self, iri: Iri) -> str:
        """An IRI as `prefix:name`, or in brackets where it has no namespace."""
        namespace, name = _split(iri.value)
        for prefix, known in self.prefixes:
            if namespace and known == namespace:
                return visible(f"{prefix}:{clipped(name)}")
        return visible(f"<{clipped(iri.value)}>")

    def used_in(self, lines: Iterable[str]) -> tuple[tuple[str, str], ...]:
        """The prefixes that some of the lines have, with their namespaces."""
        seen = set(re.findall(r"(?<!\w)(\w+):", "\n".join(lines)))
        return tuple(each for each in self.prefixes if each[0] in seen)


def clipped(text: str, longest: int = _LONGEST) -> str:
    """A text, cut in its middle where it is too long to be shown.

    >>> clipped("abcdefghij", 5)
    'ab…ij'
    """
    if len(text) <= longest:
        return text
    kept = longest // 2
    return f"{text[:kept]}…{text[-kept:]}"


def visible(text: str) -> str:
    r"""A text with codes for what has no shape of its own or changes how the rest is shown.

    >>> visible("a\u202eb\tc")
    'a\\u202Eb\\u0009c'
    """
    return "".join(
        f"\\u{ord(each):04X}" if category(each) in _UNSEEN and each not in _JOINERS else each
        for each in text
    )


def _iris(value: object) -> Iterable[Iri]:
    """The IRIs inside an algebra value, in the order of its text."""
    match value:
        case Iri():
            yield value
        case Literal(_, datatype, None) if datatype != XSD_STRING:
            yield Iri(datatype)
        case tuple():
            for part in value:
                yield from _iris(part)
        case _ if is_dataclass(value) and not isinstance(value, Span):
            for field in fields(value):
                yield from _iris(getattr(value, field.name))


def _split(iri: str) -> tuple[str, str]:
    """The namespace and the name in it; no namespace where the IRI does not fall apart well."""
    at = max(iri.rfind("#"), iri.rfind("/"))
    if at < 0:
        at = iri.rfind(":")
    namespace, name = iri[: at + 1], iri[at + 1 :]
    if ":" not in namespace or namespace.endswith("://") or not _LOCAL.match(name):
        return "", iri
    return namespace, name


def _prefix(namespace: str) -> str:
    """A prefix that reminds of a namespace: its last word, or its host.

    >>> _prefix("http://xmlns.com/friends/0.1/"), _prefix("http://www.example.org/")
    ('friends', 'example')
    """
    if namespace in _USUAL:
        return _USUAL[namespace]
    scheme, _, rest = namespace.partition(":")
    segments = [part for part in re.split(r"[/#:]+", rest) if part]
    host, *path = segments or [scheme]
    words = [part for part in path if not _VERSION.fullmatch(part)]
    chosen = words[-1] if words else _host_word(host)
    return re.sub(r"\W+", "", chosen.partition(".")[0]).lower() or "ns"


def _host_word(host: str) -> str:
    """The telling part of a host: not `www`, not `org`."""
    labels = host.split(".")
    return labels[-2] if len(labels) > 1 else host


def _free(prefix: str, taken: dict[str, str]) -> str:
    number = 1
    chosen = prefix
    while chosen in taken:
        number += 1
        chosen = f"{prefix}{number}"
    return chosen
