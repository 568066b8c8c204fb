"""The scenario that a file describes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, NoReturn, TypeVar

from headrace.dialects import DIALECTS, parse
from headrace.dialects.settings import duration
from headrace.errors import DataError, HeadraceError, SettingError, listing, nearest
from headrace.rdf.elements import Element
from headrace.rdf.formats import Format
from headrace.rdf.reading import read
from headrace.rdf.terms import Quad
from headrace.rdf.times import microseconds
from headrace.rdf.vocabulary import XSD_DATE_TIME
from headrace.scenarios.values import (
    NOTHING,
    UNBOUND,
    UNREADABLE,
    Counts,
    Emission,
    Entry,
    Instant,
    Row,
    Scenario,
    ScenarioQuery,
)

_IRI: Final = r"<[^<>\s]*>"
_STRING: Final = r'"(?:[^"\\]|\\.)*"'
_COMMENT: Final = re.compile(rf"({_STRING}|{_IRI})|(?:(?<=\s)|^)#.*")
_BAR: Final = re.compile(rf"({_STRING}|{_IRI})|\s\|\s")
_HEAD: Final = re.compile(r"([a-z]+)(?:\s+(.*))?")
_PREFIX: Final = re.compile(rf"([\w-]*):\s*({_IRI})")
_QUERY: Final = re.compile(r"(?P<dialect>\w+)(?: as (?P<name>\S+))?(?: file (?P<file>\S+))?")
_EMITS: Final = re.compile(r"(?P<name>(?!in order)\S+)?(?:\s*(?P<order>in order))?")
_TIME: Final = re.compile(r"-?(?:[0-9.]+(?:us|ms|[smhd]))+")
_TIME_PART: Final = re.compile(r"[0-9.]+[a-z]+")
_WINDOW: Final = re.compile(r"([^\s\[=]+)?\[([^,\]]+),\s*([^,\]]+)\]\s*")
_QUOTED: Final = r"<<(?:(?!<<|>>).)*>>"
_TYPED: Final = rf"{_STRING}(?:@[\w-]+|\^\^\S+)?"
_COLUMN: Final = re.compile(rf"(\w+)=({_QUOTED}|{_IRI}|{_TYPED}|\S+)(?:\s+|$)")
_DATE_TIME: Final = re.compile(r"-?[0-9]{4,}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z?")
_KINDS: Final = (
    "prefix", "set", "live", "query", "static", "schema", "stream",
    "emits", "late", "rejected", "counters", "refused",
)  # fmt: skip
_Value = TypeVar("_Value")


def read_scenario(text: str, name: str, folder: Path | None = None) -> Scenario:
    """The scenario that a text describes.

    Args:
        text: what stands in the file.
        name: what errors call it.
        folder: where files that it names are.

    Raises:
        DataError: with the line and what was expected there.
    """
    reader = _Reader(name, folder)
    for number, line in enumerate(text.splitlines(), 1):
        reader.take(number, line.rstrip())
    return reader.scenario()


@dataclass(slots=True)
class _Section:
    number: int
    kind: str
    rest: str
    lines: list[tuple[int, str]] = field(default_factory=list)


class _Reader:
    """Cuts a text into sections, and makes each a part of the scenario."""

    def __init__(self, name: str, folder: Path | None) -> None:
        self._name = name
        self._folder = folder
        self._title = list[str]()
        self._sections = list[_Section]()
        self._prefixes = dict[str, str]()
        self._queries = list[ScenarioQuery]()
        self._settings = dict[str, str]()

    def take(self, number: int, line: str) -> None:
        """Read one more line: a head begins a section, and what is indented belongs to it."""
        if line.startswith("#") and not self._sections:
            self._title.append(line.lstrip("# "))
        elif line[:1].isspace() and not self._sections:
            self._wrong(number, f"expected {listing(_KINDS)} at the start of a line")
        elif line[:1].isspace():
            self._sections[-1].lines.append((number, line))
        elif line and not line.startswith("#"):
            self._sections.append(self._section(number, _uncommented(line)))

    def _section(self, number: int, line: str) -> _Section:
        match = _HEAD.fullmatch(line)
        if match is None or match[1] not in _KINDS:
            near = nearest(line.split(maxsplit=1)[0], _KINDS)
            hint = f"; did you mean {near!r}?" if near else ""
            self._wrong(number, f"expected {listing(_KINDS)}, found {line!r}{hint}")
        return _Section(number, match[1], match[2] or "")

    def scenario(self) -> Scenario:
        """What all sections say together."""
        if not self._title:
            self._wrong(1, "expected a comment that says what the scenario shows")
        for section in self._of("prefix"):
            match = self._match(_PREFIX, section, "a prefix such as 'ex: <http://example.org/>'")
            self._prefixes[match[1]] = match[2][1:-1]
        for section in self._of("set"):
            self._settings |= dict(self._setting(section, each) for each in section.rest.split())
        for section in self._of("query"):
            self._queries.append(self._query(section))
        return Scenario(
            name=self._name,
            title=" ".join(self._title),
            prefixes=self._prefixes,
            queries=tuple(self._queries),
            settings=self._settings,
            static=dict(map(self._turtle, self._of("static"))),
            schemas=dict(map(self._turtle, self._of("schema"))),
            streams=self._by_stream("stream", self._script),
            live=any(True for _ in self._of("live")),
            emits=tuple(map(self._emission, self._of("emits"))),
            late=self._by_stream("late", self._elements),
            rejected=self._by_stream("rejected", self._rejected),
            counts=self._by_stream("counters", self._counts),
            refused=tuple(
                text for section in self._of("refused") for _, text in self._body(section)
            ),
        )

    def _of(self, kind: str) -> Iterator[_Section]:
        return (section for section in self._sections if section.kind == kind)

    def _by_stream(self, kind: str, value: Callable[[_Section], _Value]) -> dict[str, _Value]:
        return {self._iri(each.number, each.rest): value(each) for each in self._of(kind)}

    @staticmethod
    def _body(section: _Section) -> Iterator[tuple[int, str]]:
        """The lines of a section that say something, without their comments."""
        for number, line in section.lines:
            if text := _uncommented(line):
                yield number, text

    # Each section

    def _setting(self, section: _Section, text: str) -> tuple[str, str]:
        key, equals, value = text.partition("=")
        if not equals:
            self._wrong(section.number, f"expected settings such as 'bounds=[)', found {text!r}")
        return key, value

    def _query(self, section: _Section) -> ScenarioQuery:
        match = self._match(_QUERY, section, "a dialect, 'as' and a name, 'file' and a path")
        if match["dialect"] not in DIALECTS:
            known = listing(DIALECTS)
            self._wrong(section.number, f"expected the dialect {known}, found {match['dialect']!r}")
        body = "\n".join(line for _, line in section.lines)
        if match["file"]:
            text = ((self._folder or Path()) / match["file"]).read_text("utf-8")
        else:
            declared = (f"PREFIX {each}: <{iri}>" for each, iri in self._prefixes.items())
            text = " ".join([*declared, body.lstrip()])
        given = match["name"] or self._registered(text, match["dialect"])
        return ScenarioQuery(given or f"q{len(self._queries) + 1}", match["dialect"], text)

    def _registered(self, text: str, dialect: str) -> str | None:
        """The name that a query gives itself."""
        try:
            registration = parse(text, dialect, settings=self._settings).query.registration
        except HeadraceError:
            return None  # whoever plays the scenario is told, and it may be meant
        return None if registration is None else registration.name

    def _turtle(self, section: _Section) -> tuple[str | None, str]:
        graph = self._iri(section.number, section.rest) if section.rest else None
        lines = "\n".join(line for _, line in section.lines)
        text = f"{self._declarations()}\n{lines}\n"
        try:
            list(read(text, Format.TURTLE))
        except DataError as error:
            self._wrong(section.number + (error.line or 2) - 1, error.problem)
        return graph, text

    def _script(self, section: _Section) -> tuple[Entry, ...]:
        return tuple(self._entry(*each) for each in self._body(section))

    def _entry(self, number: int, text: str) -> Entry:
        if text.startswith("raw "):
            return text.removeprefix("raw ").replace("\\t", "\t")
        return self._element(number, text)

    def _elements(self, section: _Section) -> tuple[Element, ...]:
        return tuple(self._element(*each) for each in self._body(section))

    def _element(self, number: int, text: str) -> Element:
        time, _, statements = text.partition(" ")
        return Element(self._time(number, time), self._quads(number, statements.strip()))

    def _rejected(self, section: _Section) -> tuple[int | None, ...]:
        return tuple(
            None if text == UNREADABLE else self._element(number, text).time
            for number, text in self._body(section)
        )

    def _counts(self, section: _Section) -> Counts:
        counts = Counts()
        for number, text in self._body(section):
            for each in text.split():
                name, _, value = each.partition("=")
                if name not in Counts.__dataclass_fields__ or not value.isdecimal():
                    known = listing(f"{each}=NUMBER" for each in Counts.__dataclass_fields__)
                    self._wrong(number, f"expected {known}, found {each!r}")
                counts = replace(counts, **{name: int(value)})
        return counts

    def _emission(self, section: _Section) -> Emission:
        match = self._match(_EMITS, section, "the name of a query, or nothing, and 'in order'")
        names = [query.name for query in self._queries]
        if match["name"] is None and len(names) != 1:
            self._wrong(section.number, f"expected which query emits it: {listing(names)}")
        query = match["name"] or names[0]
        if query.startswith("<") or ":" in query:
            query = self._iri(section.number, query)
        if query not in names:
            self._wrong(section.number, f"expected the query {listing(names)}, found {query!r}")
        instants = dict[tuple[int, int], Instant]()
        for number, text in self._body(section):
            found = self._instant(number, text)
            before = instants.get((found.at, found.seq))
            instants[found.at, found.seq] = _both(before, found) if before else found
        return Emission(query, tuple(instants.values()), match["order"] is not None)

    def _instant(self, number: int, text: str) -> Instant:
        when, _, rest = text.partition(" ")
        time, _, seq = when.partition("#")
        if seq and not seq.isdecimal():
            self._wrong(number, f"expected a number after '#', found {seq!r}")
        instant = Instant(number, self._time(number, time), int(seq or 0))
        rest = rest.strip()
        while match := _WINDOW.match(rest):
            name = None if match[1] is None else self._iri(number, match[1])
            bounds = (self._bound(number, match[2]), self._bound(number, match[3]))
            instant = replace(instant, windows=(*instant.windows, (name, bounds)))
            rest = rest[match.end() :]
        return self._answer(number, rest, instant)

    def _answer(self, number: int, text: str, instant: Instant) -> Instant:
        if text == NOTHING:
            return instant
        if text == UNBOUND:
            return replace(instant, rows=((),))
        if text in ("true", "false"):
            return replace(instant, boolean=text == "true")
        if text.startswith("error"):
            return replace(instant, error=text.removeprefix("error").strip())
        if text.endswith("}"):
            return replace(instant, quads=self._quads(number, text))
        return replace(instant, rows=tuple(self._row(number, each) for each in _split(text)))

    def _row(self, number: int, text: str) -> Row:
        columns = list[tuple[str, str]]()
        position = 0
        while position < len(text):
            match = _COLUMN.match(text, position)
            if match is None:
                expected = f"a row such as 'x=:a n=2', triples in {{}}, true, false or {NOTHING}"
                self._wrong(number, f"expected {expected}, found {text[position:]!r}")
            columns.append((match[1], match[2]))
            position = match.end()
        typed = (f'"{value}"^^<{XSD_DATE_TIME}>' if _DATE_TIME.fullmatch(value) else value
                 for _, value in columns)  # fmt: skip
        quads = self._quads(number, " . ".join(f"[] <x:is> {value}" for value in typed))
        names = (name for name, _ in columns)
        return tuple(sorted(zip(names, (quad.object for quad in quads), strict=True)))

    # What lines are made of

    def _quads(self, number: int, text: str) -> tuple[Quad, ...]:
        if not text:
            return ()
        ended = text.endswith(".") or (text.endswith("}") and not text.endswith("|}"))
        document = f"{self._declarations()}\n{text}{'' if ended else ' .'}\n"
        try:
            return tuple(read(document, Format.TRIG))
        except DataError as error:
            self._wrong(number, f"expected statements, found {text!r}: {error.problem}")

    def _declarations(self) -> str:
        return " ".join(f"@prefix {name}: <{iri}> ." for name, iri in self._prefixes.items())

    def _iri(self, number: int, text: str) -> str:
        if re.fullmatch(_IRI, text):
            return text[1:-1]
        prefix, colon, local = text.partition(":")
        if not colon or prefix not in self._prefixes:
            self._wrong(number, f"expected an IRI such as <s> or ex:s, found {text!r}")
        return self._prefixes[prefix] + local

    def _bound(self, number: int, text: str) -> int | None:
        return None if text.strip() == "-" else self._time(number, text.strip())

    def _time(self, number: int, text: str) -> int:
        try:
            if not _TIME.fullmatch(text):
                return microseconds(text)
            length = sum(duration(part) for part in _TIME_PART.findall(text))
        except (ValueError, SettingError):
            self._wrong(number, f"expected a time such as 5s, 1m30s, 250 or ISO 8601, not {text!r}")
        return -length if text.startswith("-") else length

    def _match(self, pattern: re.Pattern[str], section: _Section, what: str) -> re.Match[str]:
        match = pattern.fullmatch(section.rest)
        if match is None:
            self._wrong(section.number, f"expected {what}, found {section.rest!r}")
        return match

    def _wrong(self, number: int, problem: str) -> NoReturn:
        raise DataError(problem, self._name, number) from None


def _split(text: str) -> list[str]:
    """The rows of a line, which bars separate."""
    marked = _BAR.sub(lambda match: match[1] or "\0", text)
    return [row.strip() for row in marked.split("\0")]


def _uncommented(line: str) -> str:
    return _COMMENT.sub(lambda match: match[1] or "", line).strip()


def _both(one: Instant, other: Instant) -> Instant:
    """Two lines about the same instant."""
    return replace(
        one,
        windows=one.windows + other.windows,
        rows=one.rows + other.rows,
        quads=one.quads + other.quads,
    )
