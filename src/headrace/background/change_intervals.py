"""Change intervals of single keys, read from a file that declares them."""

from __future__ import annotations

import csv
import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from headrace.background.descriptions import DYNAMICS, PERIODICITY, seconds_of
from headrace.errors import DataError, HeadraceError, SettingError
from headrace.rdf.canonical import read_term
from headrace.rdf.files import content
from headrace.rdf.formats import format_of_path
from headrace.rdf.iri import is_absolute, is_well_formed
from headrace.rdf.options import FILE_LIMITS, ReadOptions
from headrace.rdf.reading import read
from headrace.rdf.scopes import Scope
from headrace.rdf.terms import Iri, Literal, Term

LOGGER: Final = logging.getLogger("headrace.service")
_SEPARATORS: Final = {".csv": ",", ".tsv": "\t"}
_NUMBER: Final = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_HEADER: Final = ("key", "changes")
_ENOUGH: Final = 100
"""After so many keys, one of which should have been declared, it is said that none was."""


@dataclass(slots=True)
class KeyChanges:
    """The seconds between changes of single keys, and whether views have such keys at all.

    Attributes:
        each: the seconds, by key.
    """

    each: Mapping[Term, float]
    _unknown: list[Term] = field(default_factory=list)
    _is_settled: bool = False

    def seconds(self, key: Term | None) -> float:
        """The seconds between changes of a key; 0 if they are not declared."""
        found = 0.0 if key is None else self.each.get(key, 0.0)
        if found:
            self._is_settled = True
        elif not self._is_settled and key is not None:
            self._unknown.append(key)
            if len(self._unknown) >= _ENOUGH:
                self.warn_unmatched()
        return found

    def warn_unmatched(self) -> None:
        """Log once that no key of a view is among those that are declared, if that is so."""
        if not self._is_settled and self._unknown and self.each:
            LOGGER.warning(
                "no view has one of the keys whose changes are declared (%s, such as %s): "
                "the first of its keys is %s",
                f"{len(self.each):,}",
                next(iter(self.each)),
                self._unknown[0],
            )
            self._is_settled = True


def read_change_intervals(*files: Path | str) -> Mapping[Term, float]:
    """Read the seconds between changes of each key from files; later files override earlier.

    A file of comma or tab separated values has a key and a time in each line: an IRI, or a term as
    N-Triples has it (whose quotes are doubled in a .csv), and seconds or a duration such as PT10M.
    A file of RDF has statements whose
    subject is the key, with dcterms:accrualPeriodicity or dady:dynamics.

    Raises:
        SettingError: a file is missing, cannot be read, or declares nothing.
    """
    found: dict[Term, float] = {}
    for path in map(Path, files):
        try:
            separator = _SEPARATORS.get(path.suffix.lower())
            own = _of_rdf(path) if separator is None else _of_table(path, separator)
        except OSError as error:
            raise SettingError(f"cannot read changes {path}: {error.strerror}") from None
        except UnicodeDecodeError as error:
            raise SettingError(f"{path} is not UTF-8: byte {error.start}") from None
        except DataError as error:
            raise SettingError(f"cannot read changes {error}") from None
        if not own:
            raise SettingError(
                f"{path} declares no changes: expected lines 'key,PT10M' in a .csv or .tsv, or "
                "statements with dcterms:accrualPeriodicity or dady:dynamics"
            )
        found |= own
    return found


def _of_table(path: Path, separator: str) -> dict[Term, float]:
    found: dict[Term, float] = {}
    with path.open(encoding="utf-8-sig", newline="") as file:
        # In tab separated values terms are as N-Triples has them, with their quotes.
        tabs = (line.rstrip("\r\n").split("\t") for line in file)
        lines = tabs if separator == "\t" else csv.reader(file)
        for number, row in enumerate(lines, start=1):
            if not any(row) or (number == 1 and tuple(map(str.lower, row)) == _HEADER):
                continue
            place = f"{path}, line {number}"
            if len(row) != len(_HEADER):
                raise SettingError(
                    f"{place}: expected a key and the time between its changes, found "
                    f"{len(row)} values"
                )
            key, time = _key(row[0].strip(), place), _time(row[1].strip(), place)
            if found.setdefault(key, time) != time:
                raise SettingError(
                    f"{place}: expected each key once, found {key} again with another time"
                )
    return found


def _key(text: str, place: str) -> Term:
    if text.startswith(("<", '"')):
        try:
            return read_term(text)
        except (HeadraceError, ValueError):
            pass
    elif is_absolute(text) and is_well_formed(text):
        return Iri(text)
    raise SettingError(f"{place}: expected an IRI or a term as N-Triples has it, found {text!r}")


def _time(text: str, place: str) -> float:
    try:
        seconds = float(text) if _NUMBER.fullmatch(text) else seconds_of(Literal(text))
    except SettingError:
        seconds = None
    if not seconds:
        raise SettingError(
            f"{place}: expected seconds or a duration such as PT10M, more than none, found {text!r}"
        )
    return seconds


def _of_rdf(path: Path) -> dict[Term, float]:
    options = ReadOptions(base=path.resolve().as_uri(), rdf_xml=True, limits=FILE_LIMITS)
    try:
        form = format_of_path(path)
    except SettingError as error:
        raise SettingError(f"cannot read changes: {error}; a table ends in .csv or .tsv") from None
    data = content(path)
    found: dict[Term, float] = {}
    for quad in read(data, form, name=str(path), scope=Scope("declared"), options=options):
        if quad.predicate not in (PERIODICITY, DYNAMICS):
            continue
        try:
            seconds = seconds_of(quad.object)
        except SettingError as error:
            raise SettingError(f"{path}, of {quad.subject}: {error}") from None
        if seconds is not None:  # of several times the shortest counts
            found[quad.subject] = min(seconds, found.get(quad.subject, seconds))
    return found
