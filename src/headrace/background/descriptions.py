"""How often the data of endpoints change, as descriptions of datasets declare it.

A description is RDF, as publishers put it beside their data: a dataset has `void:sparqlEndpoint`,
and a frequency by `dcterms:accrualPeriodicity` (a word of Dublin Core's, SDMX's or the European
Union's list, or a duration) or by `dady:dynamics` (dataset dynamics). A `void:propertyPartition`
may have a frequency of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from headrace.algebra.expressions import TriplePattern
from headrace.algebra.operators import Bgp, Operator
from headrace.algebra.walk import everywhere
from headrace.background.urls import Url, UrlError, normal
from headrace.errors import DataError, SettingError
from headrace.rdf.files import content
from headrace.rdf.formats import format_of_path
from headrace.rdf.options import FILE_LIMITS, ReadOptions
from headrace.rdf.reading import read
from headrace.rdf.scopes import Scope
from headrace.rdf.terms import Iri, Literal, Quad, Term
from headrace.rdf.vocabulary import RDF_TYPE

_VOID: Final = "http://rdfs.org/ns/void#"
_ENDPOINT: Final = Iri(f"{_VOID}sparqlEndpoint")
_PARTITION: Final = Iri(f"{_VOID}propertyPartition")
_PROPERTY: Final = Iri(f"{_VOID}property")
PERIODICITY: Final = Iri("http://purl.org/dc/terms/accrualPeriodicity")
DYNAMICS: Final = Iri("http://purl.org/NET/dady#dynamics")
_TYPE: Final = Iri(RDF_TYPE)

_MINUTE: Final = 60.0
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR
_WEEK: Final = 7 * _DAY
_YEAR: Final = 365.25 * _DAY
_MONTH: Final = _YEAR / 12
_NEVER: Final = 1000 * _YEAR

_DUBLIN_CORE: Final[dict[str, float | None]] = {
    "continuous": None,
    "daily": _DAY,
    "threeTimesAWeek": _WEEK / 3,
    "semiweekly": _WEEK / 2,
    "weekly": _WEEK,
    "biweekly": 2 * _WEEK,
    "threeTimesAMonth": _MONTH / 3,
    "semimonthly": _MONTH / 2,
    "monthly": _MONTH,
    "bimonthly": 2 * _MONTH,
    "quarterly": _YEAR / 4,
    "threeTimesAYear": _YEAR / 3,
    "semiannual": _YEAR / 2,
    "annual": _YEAR,
    "biennial": 2 * _YEAR,
    "triennial": 3 * _YEAR,
    "irregular": None,
}
_SDMX: Final[dict[str, float | None]] = {
    "freq-N": _MINUTE,
    "freq-H": _HOUR,
    "freq-D": _DAY,
    "freq-W": _WEEK,
    "freq-M": _MONTH,
    "freq-Q": _YEAR / 4,
    "freq-S": _YEAR / 2,
    "freq-A": _YEAR,
}
_EUROPEAN: Final[dict[str, float | None]] = {
    "UPDATE_CONT": None,
    "CONT": None,
    "HOURLY": _HOUR,
    "BIHOURLY": 2 * _HOUR,
    "TRIHOURLY": 3 * _HOUR,
    "DAILY_2": _DAY / 2,
    "DAILY": _DAY,
    "WEEKLY_3": _WEEK / 3,
    "WEEKLY_2": _WEEK / 2,
    "WEEKLY": _WEEK,
    "BIWEEKLY": 2 * _WEEK,
    "MONTHLY_3": _MONTH / 3,
    "MONTHLY_2": _MONTH / 2,
    "MONTHLY": _MONTH,
    "BIMONTHLY": 2 * _MONTH,
    "QUARTERLY": _YEAR / 4,
    "ANNUAL_3": _YEAR / 3,
    "ANNUAL_2": _YEAR / 2,
    "ANNUAL": _YEAR,
    "BIENNIAL": 2 * _YEAR,
    "TRIENNIAL": 3 * _YEAR,
    "NEVER": _NEVER,
    "IRREG": None,
    "UNKNOWN": None,
}
_DATASET_DYNAMICS: Final[dict[str, float | None]] = {
    "HighFrequentUpdates": _DAY,
    "MidFrequentUpdates": _WEEK,
    "LowFrequentUpdates": _YEAR,
    "NoUpdates": _NEVER,
    "RegularUpdates": None,
    "IrregularUpdates": None,
    "UpdateDynamics": None,
    "UpdateFrequency": None,
    "UpdateRegularity": None,
}
_WORDS: Final = {
    f"{prefix}{word}": seconds
    for prefix, words in (
        ("http://purl.org/cld/freq/", _DUBLIN_CORE),
        ("http://purl.org/linked-data/sdmx/2009/code#", _SDMX),
        ("http://publications.europa.eu/resource/authority/frequency/", _EUROPEAN),
        ("http://purl.org/NET/dady#", _DATASET_DYNAMICS),
    )
    for word, seconds in words.items()
}
"""Seconds between changes, of each word; None where it does not say how many."""
_NUMBER: Final = r"(\d+(?:\.\d+)?)"
_DURATION: Final = re.compile(
    rf"(?:R/)?P(?:{_NUMBER}Y)?(?:{_NUMBER}M)?(?:{_NUMBER}W)?(?:{_NUMBER}D)?"
    rf"(?:T(?:{_NUMBER}H)?(?:{_NUMBER}M)?(?:{_NUMBER}S)?)?"
)
_UNITS: Final = (_YEAR, _MONTH, _WEEK, _DAY, _HOUR, _MINUTE, 1.0)


@dataclass(frozen=True, slots=True)
class Dynamics:
    """How often the data of an endpoint change.

    Attributes:
        endpoint: its IRI.
        seconds: between two changes of a value.
        property: of this property only; None is all that nothing else is said of.
    """

    endpoint: str
    seconds: float
    property: str | None = None

    def __post_init__(self) -> None:
        """Refuse what could never be."""
        try:
            normal(self.endpoint)
        except UrlError as error:
            raise SettingError(f"expected an endpoint with changes: {error}") from None
        if self.seconds <= 0:
            raise SettingError(f"expected a positive time between changes, found {self.seconds}")


def described(*files: Path | str) -> tuple[Dynamics, ...]:
    """What the descriptions of datasets in some files declare.

    Raises:
        SettingError: a file is missing or cannot be read, has a frequency that is not known, or
            says nothing of any endpoint.
    """
    return tuple(each for file in files for each in _of_file(Path(file)))


def _of_file(path: Path) -> tuple[Dynamics, ...]:
    options = ReadOptions(base=path.resolve().as_uri(), rdf_xml=True, limits=FILE_LIMITS)
    try:
        form, data = format_of_path(path), content(path)
        quads = list(read(data, form, name=str(path), scope=Scope("described"), options=options))
    except OSError as error:
        raise SettingError(f"cannot read description {path}: {error.strerror}") from None
    except DataError as error:
        raise SettingError(f"cannot read description {error}") from None
    try:
        found = dynamics_of(quads)
    except SettingError as error:
        raise SettingError(f"{path}: {error}") from None
    if not found:
        raise SettingError(
            f"{path} describes no endpoint: expected a dataset with void:sparqlEndpoint, and with "
            "dcterms:accrualPeriodicity or dady:dynamics"
        )
    return found


def dynamics_of(quads: Iterable[Quad]) -> tuple[Dynamics, ...]:
    """What statements declare of endpoints; the same from static data as from a file.

    Raises:
        SettingError: a frequency is not known.
    """
    stated = _Stated(tuple(quads))
    found: dict[Dynamics, None] = {}
    for dataset, endpoint in stated.pairs(_ENDPOINT):
        name = endpoint.value if isinstance(endpoint, Iri) else _text(endpoint)
        found.update((Dynamics(name, each), None) for each in stated.seconds(dataset))
        for part in stated.objects(dataset, _PARTITION):
            for each in stated.objects(part, _PROPERTY):
                for seconds in stated.seconds(part):
                    found[Dynamics(name, seconds, _text(each))] = None
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Stated:
    """The statements of a description, in whatever graphs."""

    quads: Sequence[Quad]

    def pairs(self, predicate: Iri) -> Iterator[tuple[Term, Term]]:
        return ((each.subject, each.object) for each in self.quads if each.predicate == predicate)

    def objects(self, subject: Term, predicate: Iri) -> list[Term]:
        return [object_ for one, object_ in self.pairs(predicate) if one == subject]

    def seconds(self, dataset: Term) -> Iterator[float]:
        """Return the times between changes of a dataset: one, if its description is consistent."""
        said = [seconds_of(each) for each in self.objects(dataset, PERIODICITY)]
        for each in self.objects(dataset, DYNAMICS):
            kinds = self.objects(each, _TYPE)
            said += [seconds_of(kind) for kind in kinds or [each]]
        return (each for each in said if each is not None)


def seconds_of(frequency: Term) -> float | None:
    """Read the seconds that a word or a duration says; None where it does not say how often.

    >>> seconds_of(Literal("R/PT10M")), seconds_of(Iri("http://purl.org/cld/freq/daily"))
    (600.0, 86400.0)
    """
    text = _text(frequency)
    if isinstance(frequency, Iri) and text in _WORDS:
        return _WORDS[text]
    matched = _DURATION.fullmatch(text) if isinstance(frequency, Literal) else None
    parts = [] if matched is None else [float(each or 0) for each in matched.groups()]
    seconds = sum(part * unit for part, unit in zip(parts, _UNITS, strict=False))
    if seconds <= 0:
        raise SettingError(
            f"expected a frequency of Dublin Core, SDMX, the European Union or dataset dynamics, "
            f"or a duration such as PT10M, found {frequency}"
        )
    return seconds


def _text(term: Term) -> str:
    match term:
        case Iri(value):
            return value
        case Literal(lexical):
            return lexical
        case _:
            return str(term)


def time_between_changes(
    declared: Sequence[Dynamics], endpoint: Url, pattern: Operator
) -> float | None:
    """Seconds until something changes of what a pattern asks an endpoint for, if it is declared.

    What a mapping says changes whenever one of its values does, so the shortest time counts.
    """
    ours = [each for each in declared if normal(each.endpoint) == endpoint]
    by_property = {each.property: each.seconds for each in ours if each.property is not None}
    whole = [each.seconds for each in ours if each.property is None]
    asked = _properties(pattern)
    if asked is None:
        times = [*by_property.values(), *whole]
    else:
        times = [by_property[each] for each in asked if each in by_property]
        times += whole if asked - by_property.keys() else []
    return min(times, default=None)


def _properties(pattern: Operator) -> frozenset[str] | None:
    """The properties that a pattern asks for; None if they may be any."""
    found = set[str]()
    for operator in everywhere(pattern):
        for each in operator.patterns if isinstance(operator, Bgp) else ():
            if not isinstance(each, TriplePattern) or not isinstance(each.predicate, Iri):
                return None
            found.add(each.predicate.value)
    return frozenset(found)
