"""Change intervals of single keys, read from a file that declares them."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
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

_SEPARATORS: Final = {".csv": ",", ".tsv": "\t"}
_NUMBER: Final = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_HEADER: Final = ("key", "changes")


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
            key, time = (each.strip() for each in row)
            found[_key(key, place)] = _time(time, place)
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
    form, data = format_of_path(path), content(path)
    found: dict[Term, float] = {}
    for quad in read(data, form, name=str(path), scope=Scope("declared"), options=options):
        if quad.predicate not in (PERIODICITY, DYNAMICS):
            continue
        try:
            seconds = seconds_of(quad.object)
        except SettingError as error:
            raise SettingError(f"{path}: {error}") from None
        if seconds is not None:
            found[quad.subject] = seconds
    return found
